"""Handler of DescribeConfigs: configs of groups (KIP-848), and the topic and broker configs that Kafka's tools read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kgtui.model.error_numbers import (
    GROUP_AUTHORIZATION_FAILED,
    INVALID_REQUEST,
    INVALID_TOPIC_EXCEPTION,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from kgtui.protocol.error_codes import lookup
from kgtui.simulator.handlers.cluster import TOPIC_NAME

if TYPE_CHECKING:
    from kgtui.simulator.handlers.request_context import RequestContext
    from kgtui.simulator.releases import Release

TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32
DYNAMIC_TOPIC, DEFAULT, DYNAMIC_GROUP = 1, 5, 8
BOOLEAN, STRING, INT, LONG, LIST = 1, 2, 3, 5, 7
FIRST_WITH_TYPE = 3


class ConfigDefault(NamedTuple):
    """A config with its default value.

    Attributes:
        type: number that stands for the type of the value in DescribeConfigs responses, such as 3 (`INT`).
        synonym: name of the broker config that sets the default value; empty if its name is equal to `name`.
    """

    name: str
    value: str
    type: int
    synonym: str = ""


def _group(name: str, value: str, config_type: int, *, same_name: bool = False) -> ConfigDefault:
    return ConfigDefault(name, value, config_type, name if same_name else f"group.{name}")


GROUP_DEFAULTS = (
    _group("consumer.assignment.interval.ms", "1000", INT),
    _group("consumer.heartbeat.interval.ms", "5000", INT),
    _group("consumer.session.timeout.ms", "45000", INT),
    _group("share.assignment.interval.ms", "1000", INT),
    _group("share.auto.offset.reset", "latest", STRING, same_name=True),
    _group("share.delivery.count.limit", "5", INT),
    _group("share.heartbeat.interval.ms", "5000", INT),
    _group("share.isolation.level", "read_uncommitted", STRING, same_name=True),
    _group("share.partition.max.record.locks", "2000", INT),
    _group("share.record.lock.duration.ms", "30000", INT),
    _group("share.renew.acknowledge.enable", "true", BOOLEAN, same_name=True),
    _group("share.session.timeout.ms", "45000", INT),
    _group("streams.assignment.interval.ms", "1000", INT),
    _group("streams.heartbeat.interval.ms", "5000", INT),
    _group("streams.initial.rebalance.delay.ms", "3000", INT),
    _group("streams.num.standby.replicas", "0", INT),
    _group("streams.session.timeout.ms", "45000", INT),
)
TOPIC_DEFAULTS = (
    ConfigDefault("cleanup.policy", "delete", LIST, "log.cleanup.policy"),
    ConfigDefault("retention.bytes", "-1", LONG, "log.retention.bytes"),
    ConfigDefault("retention.ms", "604800000", LONG, "log.retention.ms"),
    ConfigDefault("segment.bytes", "1073741824", INT, "log.segment.bytes"),
)
BROKER_DEFAULTS = (
    ConfigDefault("auto.create.topics.enable", "false", BOOLEAN),
    ConfigDefault("group.max.size", "2147483647", INT),
    ConfigDefault("offsets.retention.minutes", "10080", INT),
)


def describe_configs(request: RequestContext) -> dict[str, Any]:
    """Return the configs or the error of each requested resource, in the order of the request."""
    return {
        "ThrottleTimeMs": request.throttle_ms,
        "Results": [_result(request, row) for row in request.fields["Resources"]],
    }


def _result(request: RequestContext, row: dict[str, Any]) -> dict[str, Any]:
    resource_type, name = row["ResourceType"], row["ResourceName"]
    error, message = _resource_error(request, resource_type, name)
    result = {
        "ErrorCode": error,
        "ErrorMessage": message,
        "ResourceType": resource_type,
        "ResourceName": name,
        "Configs": [],
    }
    if error:
        return result
    if resource_type == GROUP:
        defaults, values, source = (
            group_defaults(request.node.release),
            request.state.configs.get(name, {}),
            DYNAMIC_GROUP,
        )
    elif resource_type == TOPIC:
        defaults, values, source = TOPIC_DEFAULTS, request.state.topics[name].settings, DYNAMIC_TOPIC
    else:
        # A broker resource with an empty name stands for the cluster-wide configs of all brokers. In the simulated
        # cluster, no such configs are set.
        defaults, values, source = BROKER_DEFAULTS if resource_type == BROKER and name else (), {}, DEFAULT
    requested = row["ConfigurationKeys"]
    result["Configs"] = [
        _config(request, default, values.get(default.name), source) | {"ReadOnly": resource_type == BROKER}
        for default in defaults
        if not requested or default.name in requested
    ]
    return result


def _resource_error(request: RequestContext, resource_type: int, name: str) -> tuple[int, str]:
    """Return `(error code, error message)` for a requested resource, or `(0, "")` if there is no error.

    The messages are the same as in Kafka 4.3.1.
    """
    if request.error:
        return request.error, lookup(request.error).message
    if resource_type == GROUP and request.node.release.has_group_configs:
        if not name:
            return INVALID_REQUEST, "Group name must not be empty"
        if request.faults.group_forbidden(name):
            return GROUP_AUTHORIZATION_FAILED, lookup(GROUP_AUTHORIZATION_FAILED).message
    elif resource_type == TOPIC:
        return _topic_error(request, name)
    elif resource_type == BROKER:
        if name and not name.isdigit():
            return INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}"
        if name not in ("", str(request.node.id)):
            return (
                INVALID_REQUEST,
                f"Unexpected broker id, expected {request.node.id} or empty string, but received {name}",
            )
    elif resource_type != CLIENT_METRICS:
        return INVALID_REQUEST, lookup(INVALID_REQUEST).message
    return 0, ""


def _topic_error(request: RequestContext, name: str) -> tuple[int, str]:
    if request.faults.topic_forbidden(name):
        return TOPIC_AUTHORIZATION_FAILED, lookup(TOPIC_AUTHORIZATION_FAILED).message
    if not name:
        return INVALID_TOPIC_EXCEPTION, "Topic name is invalid: the empty string is not allowed"
    if not TOPIC_NAME.fullmatch(name):
        message = (
            f"Topic name is invalid: '{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' "
            "and '-'"
        )
        return INVALID_TOPIC_EXCEPTION, message
    return (0, "") if name in request.state.topics else (UNKNOWN_TOPIC_OR_PARTITION, "")


def group_defaults(release: Release) -> tuple[ConfigDefault, ...]:
    """Return the group configs that a Kafka release has. They belong to the group types that the release supports."""
    return tuple(row for row in GROUP_DEFAULTS if release.has_type(row.name.partition(".")[0]))


def _config(request: RequestContext, default: ConfigDefault, value: str | None, source: int) -> dict[str, Any]:
    synonyms = [{"Name": default.synonym or default.name, "Value": default.value, "Source": DEFAULT}]
    if value is not None:
        synonyms.insert(0, {"Name": default.name, "Value": value, "Source": source})
    return {
        "Name": default.name,
        "Value": default.value if value is None else value,
        "ConfigSource": DEFAULT if value is None else source,
        "IsSensitive": False,
        "Synonyms": synonyms if request.fields.get("IncludeSynonyms") else [],
        "ConfigType": default.type,
        "Documentation": None,
    }
