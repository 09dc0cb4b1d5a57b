"""Read the configs of groups, and the retention times of topics and of committed offsets, with DescribeConfigs."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kgtui.admin.routing import EXCHANGE_ERRORS, fault_of_code, not_supported
from kgtui.client.concurrency import AllFailedError, first_success
from kgtui.client.pool import Lane
from kgtui.errors import DeadlineError, KgtuiError
from kgtui.model.answer import Answer, Coverage, Fault, fault_of
from kgtui.model.cluster import Retention, TopicRules
from kgtui.model.error_numbers import INVALID_REQUEST
from kgtui.model.group import GroupConfig
from kgtui.protocol.messages.cluster import DESCRIBE_CONFIGS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from kgtui.admin.deadline import Deadline
    from kgtui.client.pool import Pool, Reply

T = TypeVar("T")

HEAD_START = 0.25
"""Time to wait for the response of one broker before the same request is sent to another broker, in seconds."""

TOPIC_RESOURCE, BROKER_RESOURCE, GROUP_RESOURCE = 2, 4, 32
RETENTION_MS, RETENTION_BYTES, CLEANUP_POLICY = "retention.ms", "retention.bytes", "cleanup.policy"
REMOTE_STORAGE = "remote.storage.enable"
OFFSETS_MINUTES = "offsets.retention.minutes"

_UNLIMITED_MS = 1_000 * 365 * 86_400_000
"""Lowest `retention.ms` that counts as unlimited: 1,000 years, in milliseconds.

Kafka's value for unlimited retention is -1, but some users set the largest 64-bit integer instead.
"""
_RETENTION_KEYS = [RETENTION_MS, RETENTION_BYTES, CLEANUP_POLICY, REMOTE_STORAGE]
"""Names of the topic configs from which `TopicRules` is computed.

These configs decide when the records of a topic are deleted.
"""

TOPICS_PER_REQUEST = 500
"""Maximum number of topics in one DescribeConfigs request."""

DOCUMENTED_FROM = 3
"""First version of DescribeConfigs that returns the type and documentation of each config."""

_SOURCES = {
    0: "UNKNOWN",
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
    7: "DYNAMIC_CLIENT_METRICS_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}
"""Number in a DescribeConfigs response → name of the config source (Kafka's enum `ConfigSource`)."""

_TYPES = {
    1: "BOOLEAN",
    2: "STRING",
    3: "INT",
    4: "SHORT",
    5: "LONG",
    6: "DOUBLE",
    7: "LIST",
    8: "CLASS",
    9: "PASSWORD",
}
"""Number in a DescribeConfigs response → data type of the config (Kafka's enum `ConfigType`)."""


async def group_configs(
    pool: Pool, nodes: Sequence[int], groups: Sequence[str], deadline: Deadline
) -> Answer[dict[str, tuple[GroupConfig, ...]]]:
    """Return a dict: group id → configs, sorted by name, from the first broker that answers.

    If no broker answers, the result contains one `Fault` (error) per group.
    """
    try:
        return await _first(nodes, partial(read_configs, pool, groups=groups, deadline=deadline), deadline)
    except KgtuiError as error:
        return Answer({}, tuple(fault_of(error, group=group) for group in groups), Coverage(groups=(0, len(groups))))


async def retention(pool: Pool, nodes: Sequence[int], topics: Sequence[str], deadline: Deadline) -> Answer[Retention]:
    """Return the retention time of each topic, and the retention time of committed offsets.

    If a request fails, no further requests are sent. In this case, the `Answer` lacks the topics of the failed request
    and all topics that were not requested, and contains a `Fault` that says why.
    """
    seconds_by_topic: dict[str, float] = {}
    rules: dict[str, TopicRules] = {}
    offsets: float | None = None
    faults: list[Fault] = []
    for start in range(0, len(topics), TOPICS_PER_REQUEST):
        chunk = topics[start : start + TOPICS_PER_REQUEST]
        try:
            answer = await _first(nodes, partial(read_retention, pool, topics=chunk, deadline=deadline), deadline)
        except KgtuiError as error:
            faults.append(fault_of(error))
            break
        seconds_by_topic |= answer.rows.topics
        rules |= answer.rows.rules
        offsets = answer.rows.offsets
        faults += answer.faults
    return Answer(Retention(seconds_by_topic, offsets, rules), tuple(dict.fromkeys(faults)))


async def _first(nodes: Sequence[int], ask: Callable[[int], Awaitable[T]], deadline: Deadline) -> T:
    """Send the same request to one broker after the other, `HEAD_START` seconds apart, and return the first result.

    If the requests to all brokers fail, raise the error of the first broker. If no broker answers before the deadline,
    raise `DeadlineError`.
    """
    try:
        async with asyncio.timeout(deadline.left()):
            return await first_success(
                [partial(ask, node) for node in nodes], head_start=HEAD_START, expected=EXCHANGE_ERRORS
            )
    except AllFailedError as failed:
        raise failed.errors[0] from failed
    except TimeoutError as error:
        raise DeadlineError("no broker answered DescribeConfigs in time") from error


async def read_configs(
    pool: Pool, node: int, *, groups: Sequence[str], deadline: Deadline, lane: Lane = Lane.UI
) -> Answer[dict[str, tuple[GroupConfig, ...]]]:
    """Read the configs of groups from one broker. Every broker knows the configs of all groups."""
    version = await pool.version(node, DESCRIBE_CONFIGS, timeout=deadline.left(), lane=lane)
    request = {
        "Resources": [
            {"ResourceType": GROUP_RESOURCE, "ResourceName": group, "ConfigurationKeys": None} for group in groups
        ],
        "IncludeSynonyms": True,
        "IncludeDocumentation": version >= DOCUMENTED_FROM,
    }
    reply: Reply[dict[str, Any]] = await pool.call(
        node, DESCRIBE_CONFIGS, request, timeout=deadline.left(), lane=lane, version=version
    )
    rows: dict[str, tuple[GroupConfig, ...]] = {}
    failed: list[Fault] = []
    for result in reply.value["Results"]:
        group, code = result["ResourceName"], result["ErrorCode"]
        # Brokers before Kafka 4.0 do not know the resource type GROUP, and return INVALID_REQUEST (observed on 3.9.2).
        if code == INVALID_REQUEST and group:
            failed.append(
                not_supported("reading group configs is not supported by this broker", broker=node, group=group)
            )
        elif code:
            failed.append(_config_fault(result, node, "read configs", group=group))
        else:
            rows[group] = tuple(sorted(map(_config, result["Configs"]), key=lambda config: config.name))
    return Answer(rows, tuple(failed), Coverage(groups=(len(rows), len(groups))))


async def read_retention(
    pool: Pool, node: int, *, topics: Sequence[str], deadline: Deadline, lane: Lane = Lane.UI
) -> Answer[Retention]:
    """Ask one broker for the retention time of each topic, and for the retention time of committed offsets.

    The retention time of committed offsets can differ between brokers, because it is a broker config.
    """
    asked = [(BROKER_RESOURCE, str(node), [OFFSETS_MINUTES])]
    asked += [(TOPIC_RESOURCE, topic, _RETENTION_KEYS) for topic in topics]
    request = {
        "Resources": [
            {"ResourceType": kind, "ResourceName": name, "ConfigurationKeys": keys} for kind, name, keys in asked
        ],
        "IncludeSynonyms": False,
        "IncludeDocumentation": False,
    }
    reply: Reply[dict[str, Any]] = await pool.call(node, DESCRIBE_CONFIGS, request, timeout=deadline.left(), lane=lane)
    rules: dict[str, TopicRules] = {}
    offsets: float | None = None
    faults: list[Fault] = []
    for result in reply.value["Results"]:
        kind, name, values = result["ResourceType"], result["ResourceName"], _values(result["Configs"])
        if result["ErrorCode"]:
            resource = "topic" if kind == TOPIC_RESOURCE else "broker"
            fault = _config_fault(result, node, f"read configs of {resource} {name}")
            faults.append(fault)
            if kind == TOPIC_RESOURCE:
                rules[name] = TopicRules(fault=fault.advice or fault.message)
        elif kind == BROKER_RESOURCE:
            minutes = values.get(OFFSETS_MINUTES)
            offsets = None if minutes is None else minutes * 60.0
        else:
            rules[name] = _topic_rules(values, result["Configs"])
    alone = {name: seconds for name, row in rules.items() if (seconds := row.retention_if_only_by_age) is not None}
    return Answer(Retention(alone, offsets, rules), tuple(faults))


def _config_fault(result: dict[str, Any], node: int, asked: str, *, group: str | None = None) -> Fault:
    code, message = result["ErrorCode"], result["ErrorMessage"]
    return fault_of_code(code, message=message, broker=node, group=group, asked=asked, operation="DESCRIBE_CONFIGS")


def _values(configs: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Return a dict: config name → value, for the configs with integer values."""
    return {row["Name"]: int(row["Value"]) for row in configs if str(row["Value"]).removeprefix("-").isdecimal()}


def _topic_rules(values: dict[str, int], configs: Sequence[dict[str, Any]]) -> TopicRules:
    """Return the configs that decide when the records of a topic are deleted.

    Args:
        values: config name → value, for all configs with an integer value.
        configs: the topic's configs in the DescribeConfigs response, with values of all types.
    """
    texts = {row["Name"]: str(row["Value"]) for row in configs}
    policy = texts.get(CLEANUP_POLICY, "delete")
    milliseconds = values.get(RETENTION_MS, -1)
    return TopicRules(
        milliseconds / 1000 if 0 <= milliseconds < _UNLIMITED_MS else None,
        by_size=values.get(RETENTION_BYTES, -1) >= 0,
        compacted="compact" in policy,
        deletes="delete" in policy,
        tiered=texts.get(REMOTE_STORAGE) == "true",
    )


def _config(row: dict[str, Any]) -> GroupConfig:
    return GroupConfig(
        name=row["Name"],
        value=row["Value"],
        source=_SOURCES.get(row["ConfigSource"], f"UNKNOWN_{row['ConfigSource']}"),
        read_only=row["ReadOnly"],
        sensitive=row["IsSensitive"],
        type=_TYPES.get(row["ConfigType"]),
        documentation=row["Documentation"],
        synonyms=tuple(
            (syn["Name"], syn["Value"], _SOURCES.get(syn["Source"], f"UNKNOWN_{syn['Source']}"))
            for syn in row["Synonyms"]
        ),
    )
