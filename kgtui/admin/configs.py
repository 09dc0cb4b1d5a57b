"""Group configs (DescribeConfigs, resource type GROUP)."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from kgtui.admin.faults import fault_of_code, not_supported
from kgtui.admin.routing import EXCHANGE_ERRORS
from kgtui.client.pool import Lane
from kgtui.client.race import AllFailedError, first_good
from kgtui.errors import DeadlineError
from kgtui.model.answer import Answer, Coverage, Fault, fault_of
from kgtui.model.group import GroupConfig
from kgtui.protocol.messages import DESCRIBE_CONFIGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.admin.deadline import Deadline
    from kgtui.client.pool import Pool, Reply

HEAD_START = 0.25  # seconds that one broker has before the next is asked too
GROUP_RESOURCE = 32
DOCUMENTED_FROM = 3  # DescribeConfigs version that tells types and documentation
INVALID_REQUEST = 42  # what brokers before 4.0 answer: they do not know the resource type (seen on 3.9.2)

# Kafka's DescribeConfigsResponse.ConfigSource and ConfigType
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


async def ask_any(
    pool: Pool, nodes: Sequence[int], groups: Sequence[str], deadline: Deadline
) -> Answer[dict[str, tuple[GroupConfig, ...]]]:
    """Configs of each group from the first broker that answers; a silent one costs no more than `HEAD_START`."""
    try:
        async with asyncio.timeout(deadline.left()):
            return await first_good(
                [partial(read_configs, pool, node, groups, deadline) for node in nodes],
                head_start=HEAD_START,
                losing=EXCHANGE_ERRORS,
            )
    except AllFailedError as failed:
        error = failed.errors[0]
    except TimeoutError:
        error = DeadlineError("no broker answered DescribeConfigs in time")
    return Answer({}, tuple(fault_of(error, group=group) for group in groups), Coverage(groups=(0, len(groups))))


async def read_configs(
    pool: Pool, node: int, groups: Sequence[str], deadline: Deadline, lane: Lane = Lane.UI
) -> Answer[dict[str, tuple[GroupConfig, ...]]]:
    """Configs of each group from any broker: group configs live in the cluster's metadata, not with the coordinator."""
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
        if code == INVALID_REQUEST and group:
            failed.append(not_supported("reading group configs", broker=node, group=group))
        elif code:
            failed.append(
                fault_of_code(code, message=result["ErrorMessage"], broker=node, group=group, asked="read configs")
            )
        else:
            rows[group] = tuple(sorted(map(_config, result["Configs"]), key=lambda config: config.name))
    return Answer(rows, tuple(failed), Coverage(groups=(len(rows), len(groups))))


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
