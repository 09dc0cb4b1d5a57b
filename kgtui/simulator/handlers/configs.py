"""DescribeConfigs: of groups (KIP-848), and enough of topics and brokers for Kafka's tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kgtui.protocol.error_codes import lookup
from kgtui.simulator.handlers.call import (
    GROUP_AUTHORIZATION_FAILED,
    INVALID_REQUEST,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from kgtui.simulator.handlers.cluster import INVALID_TOPIC, TOPIC_NAME

if TYPE_CHECKING:
    from kgtui.simulator.handlers.call import Call
    from kgtui.simulator.releases import Release

TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32
DYNAMIC_TOPIC, DEFAULT, DYNAMIC_GROUP = 1, 5, 8
BOOLEAN, STRING, INT, LONG, LIST = 1, 2, 3, 5, 7
FIRST_WITH_TYPE = 3
FIRST_WITH_GROUPS = (4, 0)
UNKNOWN_KIND = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)
"""What 3.9.2 says of a resource of type GROUP."""


class Default(NamedTuple):
    """A config, its default and its type."""

    name: str
    value: str
    type: int
    synonym: str = ""


def _group(name: str, value: str, kind: int, *, same: bool = False) -> Default:
    return Default(name, value, kind, name if same else f"group.{name}")


GROUP_DEFAULTS = (
    _group("consumer.assignment.interval.ms", "1000", INT),
    _group("consumer.heartbeat.interval.ms", "5000", INT),
    _group("consumer.session.timeout.ms", "45000", INT),
    _group("share.assignment.interval.ms", "1000", INT),
    _group("share.auto.offset.reset", "latest", STRING, same=True),
    _group("share.delivery.count.limit", "5", INT),
    _group("share.heartbeat.interval.ms", "5000", INT),
    _group("share.isolation.level", "read_uncommitted", STRING, same=True),
    _group("share.partition.max.record.locks", "2000", INT),
    _group("share.record.lock.duration.ms", "30000", INT),
    _group("share.renew.acknowledge.enable", "true", BOOLEAN, same=True),
    _group("share.session.timeout.ms", "45000", INT),
    _group("streams.assignment.interval.ms", "1000", INT),
    _group("streams.heartbeat.interval.ms", "5000", INT),
    _group("streams.initial.rebalance.delay.ms", "3000", INT),
    _group("streams.num.standby.replicas", "0", INT),
    _group("streams.session.timeout.ms", "45000", INT),
)
TOPIC_DEFAULTS = (
    Default("cleanup.policy", "delete", LIST, "log.cleanup.policy"),
    Default("retention.bytes", "-1", LONG, "log.retention.bytes"),
    Default("retention.ms", "604800000", LONG, "log.retention.ms"),
    Default("segment.bytes", "1073741824", INT, "log.segment.bytes"),
)
BROKER_DEFAULTS = (
    Default("auto.create.topics.enable", "false", BOOLEAN),
    Default("group.max.size", "2147483647", INT),
    Default("offsets.retention.minutes", "10080", INT),
)


def describe_configs(call: Call) -> dict[str, Any]:
    """One result for each resource, in the order of the request."""
    return {"ThrottleTimeMs": call.throttle_ms, "Results": [_result(call, row) for row in call.fields["Resources"]]}


def _result(call: Call, row: dict[str, Any]) -> dict[str, Any]:
    kind, name = row["ResourceType"], row["ResourceName"]
    error, message = _refusal(call, kind, name)
    answer = {"ErrorCode": error, "ErrorMessage": message, "ResourceType": kind, "ResourceName": name, "Configs": []}
    if error:
        return answer
    if kind == GROUP:
        defaults, own, source = group_defaults(call.node.release), call.world.configs.get(name, {}), DYNAMIC_GROUP
    elif kind == TOPIC:
        defaults, own, source = TOPIC_DEFAULTS, call.world.topics[name].settings, DYNAMIC_TOPIC
    else:
        # Without a name, the configs that were set for all brokers: none were. Nor were client metrics.
        defaults, own, source = BROKER_DEFAULTS if kind == BROKER and name else (), {}, DEFAULT
    wanted = row["ConfigurationKeys"]
    answer["Configs"] = [
        _config(call, default, own.get(default.name), source) | {"ReadOnly": kind == BROKER}
        for default in defaults
        if not wanted or default.name in wanted
    ]
    return answer


def _refusal(call: Call, kind: int, name: str) -> tuple[int, str]:
    """Error code and message; 0 and no text when there is nothing against it. The texts are those of 4.3.1."""
    if call.error:
        return call.error, lookup(call.error).message
    if kind == GROUP and call.node.release.has_group_configs:
        if not name:
            return INVALID_REQUEST, "Group name must not be empty"
        if call.faults.group_forbidden(name):
            return GROUP_AUTHORIZATION_FAILED, lookup(GROUP_AUTHORIZATION_FAILED).message
    elif kind == TOPIC:
        return _topic_refusal(call, name)
    elif kind == BROKER:
        if name and not name.isdigit():
            return INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}"
        if name not in ("", str(call.node.id)):
            expected = f"{call.node.id} or empty string"
            return INVALID_REQUEST, f"Unexpected broker id, expected {expected}, but received {name}"
    elif kind != CLIENT_METRICS:
        return INVALID_REQUEST, lookup(INVALID_REQUEST).message
    return 0, ""


def _topic_refusal(call: Call, name: str) -> tuple[int, str]:
    if call.faults.topic_forbidden(name):
        return TOPIC_AUTHORIZATION_FAILED, lookup(TOPIC_AUTHORIZATION_FAILED).message
    if not name:
        return INVALID_TOPIC, "Topic name is invalid: the empty string is not allowed"
    if not TOPIC_NAME.fullmatch(name):
        wrong = "contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
        return INVALID_TOPIC, f"Topic name is invalid: '{name}' {wrong}"
    return (0, "") if name in call.world.topics else (UNKNOWN_TOPIC_OR_PARTITION, "")


def group_defaults(release: Release) -> tuple[Default, ...]:
    """The group configs that a release has: those of the types it knows."""
    return tuple(row for row in GROUP_DEFAULTS if release.has_type(row.name.partition(".")[0]))


def _config(call: Call, default: Default, own: str | None, source: int) -> dict[str, Any]:
    synonyms = [{"Name": default.synonym or default.name, "Value": default.value, "Source": DEFAULT}]
    if own is not None:
        synonyms.insert(0, {"Name": default.name, "Value": own, "Source": source})
    return {
        "Name": default.name,
        "Value": default.value if own is None else own,
        "ConfigSource": DEFAULT if own is None else source,
        "IsSensitive": False,
        "Synonyms": synonyms if call.fields.get("IncludeSynonyms") else [],
        "ConfigType": default.type,
        "Documentation": None,
    }
