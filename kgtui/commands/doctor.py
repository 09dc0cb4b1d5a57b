"""`kgtui doctor`: what this cluster supports, broker by broker, and what you may do."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kgtui.commands.connecting import connected, run_async, timeout_of
from kgtui.commands.printing import notify, print_result
from kgtui.errors import ClientError, KgtuiError, UnsupportedError
from kgtui.model.answer import Fault, fault_of
from kgtui.model.group_types import GROUP_TYPES
from kgtui.model.rfc3339 import rfc3339
from kgtui.output import formats, marks
from kgtui.output.table import Column, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from kgtui.admin.kafka import KafkaGroupAdmin
    from kgtui.model.cluster import ClusterInfo
    from kgtui.protocol.api import Api

SAMPLE = 200
"""Groups described to see what is allowed on them."""

CLUSTER_OPERATIONS_VERSION = 10
"""The last version of Metadata that tells what may be done to the cluster (KIP-430, KIP-700)."""

LESS = {
    "ListGroups": ((4, "no states in the list: each group is described for its own"), (5, "no types in the list")),
    "DescribeGroups": ((6, "a group of another type reads as Dead"),),
    "OffsetFetch": ((8, "offsets of one group a request: lag takes longer"),),
    "FindCoordinator": ((4, "coordinators are looked up one by one"),),
    "DescribeShareGroupOffsets": ((1, "no lag of share groups"),),
}
"""API → below which version what is missing."""

WITHOUT = {
    **{entry.describe_rpc: entry.absence for entry in GROUP_TYPES.values() if entry.feature},
    "DescribeShareGroupOffsets": "no start offsets of share groups",
}
"""API → what its absence means."""


@dataclass(slots=True)
class Findings:
    """What was found.

    Attributes:
        versions: node id → API name → version used with that broker; None where it has none that we speak.
        took_ms: node id → how long an answer took.
        cluster_operations: what may be done to the cluster; None if the broker did not say.
        group_operations: what may be done → on how many of the groups looked at.
    """

    cluster: ClusterInfo
    versions: dict[int, dict[str, int | None]] = field(default_factory=dict)
    took_ms: dict[int, float] = field(default_factory=dict)
    cluster_operations: frozenset[str] | None = None
    groups: int = 0
    looked_at: int = 0
    group_operations: dict[str, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kgtui doctor`."""
    from kgtui.commands.parser import add_format_option

    add_format_option(parser, "table", "json")


def run(args: argparse.Namespace) -> int:
    """Run `kgtui doctor` and return its exit code: 1 if a broker does not answer or something is forbidden."""
    findings = run_async(_run(args))
    print_result(args.format, table=lambda: as_text(findings), json=lambda: as_json(findings))
    for fault in findings.faults:
        notify(f"{fault.message} [{fault.name}]" + (f" ({fault.advice})" if fault.advice else ""))
    return 1 if findings.faults else 0


async def _run(args: argparse.Namespace) -> Findings:
    async with connected(args) as admin:
        return await examine(admin, timeout=timeout_of(args))


async def examine(admin: KafkaGroupAdmin, *, timeout: float) -> Findings:
    """Ask every broker for its versions, and the cluster for what is allowed. Raises `UnreachableError`."""
    end = time.monotonic() + timeout
    findings = Findings(await admin.cluster(timeout=timeout))
    await asyncio.gather(*(_versions(admin, node, findings, end) for node in findings.cluster.brokers))
    findings.cluster_operations = await _cluster_operations(admin, findings, end)
    try:
        await _group_operations(admin, findings, end)
    except KgtuiError as error:
        findings.faults.append(fault_of(error))
    return findings


def _left(end: float) -> float:
    return max(end - time.monotonic(), 0.001)


async def _versions(admin: KafkaGroupAdmin, node: int, findings: Findings, end: float) -> None:
    from kgtui.protocol.messages import APIS
    from kgtui.protocol.messages.cluster import METADATA

    found: dict[str, int | None] = {}
    try:
        reply = await admin.pool.call(node, METADATA, {"Topics": []}, timeout=_left(end))
        for api in APIS.values():
            found[api.name] = await _version(admin, node, api, end)
    except ClientError as error:
        findings.faults.append(fault_of(error, broker=node))
        return
    findings.versions[node] = found
    findings.took_ms[node] = reply.took_ms


async def _version(admin: KafkaGroupAdmin, node: int, api: Api, end: float) -> int | None:
    try:
        return await admin.pool.version(node, api, timeout=_left(end))
    except UnsupportedError:
        return None


async def _cluster_operations(admin: KafkaGroupAdmin, findings: Findings, end: float) -> frozenset[str] | None:
    from kgtui.admin.decoding import operations
    from kgtui.protocol.messages.cluster import METADATA

    for node, versions in sorted(findings.versions.items()):
        version = min(versions.get("Metadata") or 0, CLUSTER_OPERATIONS_VERSION)
        if version < 8:
            continue
        value = {"Topics": [], "AllowAutoTopicCreation": False, "IncludeClusterAuthorizedOperations": True}
        try:
            reply = await admin.pool.call(node, METADATA, value, version=version, timeout=_left(end))
        except ClientError:
            continue
        return operations(reply.value["ClusterAuthorizedOperations"])
    return None


async def _group_operations(admin: KafkaGroupAdmin, findings: Findings, end: float) -> None:
    listed = await admin.list_groups(timeout=_left(end))
    findings.groups = len(listed.rows)
    findings.faults += [fault for fault in listed.faults if fault.broker in findings.versions]
    # Some of every type, since different calls describe them.
    by_type: dict[str | None, list[str]] = {}
    for group, row in listed.rows.items():
        by_type.setdefault(row.type, []).append(group)
    each = SAMPLE // max(len(by_type), 1)
    sample = [group for groups in by_type.values() for group in groups[:each]]
    if not sample:
        return
    described = await admin.describe_groups(sample, timeout=_left(end))
    findings.looked_at = len(described.rows)
    for description in described.rows.values():
        for operation in description.operations or ():
            findings.group_operations[operation] = findings.group_operations.get(operation, 0) + 1
    # One of each kind tells enough.
    findings.faults += {fault.name: fault for fault in described.faults if fault.code != 69}.values()


def missing(versions: Mapping[str, int | None]) -> list[str]:
    """What does not work, or not as well, with a broker that speaks these versions."""
    found = []
    for name, version in versions.items():
        if version is None:
            found.append(WITHOUT.get(name, f"no {name}"))
        else:
            found += [text for least, text in LESS.get(name, ()) if version < least]
    return list(dict.fromkeys(found))


def as_json(findings: Findings) -> bytes:
    """The findings as JSON."""
    operations = findings.cluster_operations
    value: dict[str, Any] = {
        "version": formats.VERSION,
        "cluster": formats.cluster_object(findings.cluster),
        "taken_at": rfc3339(time.time()),
        "brokers": [
            {
                "id": node,
                "answered": node in findings.versions,
                "took_ms": findings.took_ms.get(node),
                "versions": findings.versions.get(node),
                "missing": None if node not in findings.versions else missing(findings.versions[node]),
            }
            for node in sorted(findings.cluster.brokers)
        ],
        "cluster_operations": None if operations is None else sorted(operations),
        "groups": findings.groups,
        "groups_looked_at": findings.looked_at,
        "group_operations": dict(sorted(findings.group_operations.items())),
        "faults": [formats.fault_object(fault) for fault in findings.faults],
    }
    return formats.json_bytes(value)


def as_text(findings: Findings) -> str:
    """The findings for people."""
    parts = [_cluster_text(findings.cluster), _brokers_text(findings), _versions_text(findings)]
    worse = list(dict.fromkeys(text for versions in findings.versions.values() for text in missing(versions)))
    if worse:
        parts.append("limits\n" + "".join(f"  {text}\n" for text in worse))
    parts.append(_permissions_text(findings))
    return "\n".join(parts)


def _cluster_text(cluster: ClusterInfo) -> str:
    rows = [("cluster", marks.text(cluster.cluster_id)), ("controller", marks.count(cluster.controller))]
    if cluster.features is None:
        rows.append(("features", "not told by these brokers"))
    else:
        rows += [(name, str(level)) for name, level in sorted(cluster.features.items())]
    return table((Column(""), Column("")), rows, header=False)


def _brokers_text(findings: Findings) -> str:
    rows = [
        (
            str(node),
            broker.address,
            marks.text(broker.rack),
            f"{findings.took_ms[node]:.0f} ms" if node in findings.took_ms else marks.NO_ANSWER,
        )
        for node, broker in sorted(findings.cluster.brokers.items())
    ]
    return table(
        (Column("BROKER", number=True), Column("ADDRESS"), Column("RACK"), Column("ANSWER", number=True)), rows
    )


def _versions_text(findings: Findings) -> str:
    nodes = sorted(findings.versions)
    names = sorted({name for versions in findings.versions.values() for name in versions})
    columns = [Column("API"), *(Column(str(node), number=True) for node in nodes)]
    return table(
        columns, [[name, *(marks.count(findings.versions[node].get(name)) for node in nodes)] for name in names]
    )


def _permissions_text(findings: Findings) -> str:
    cluster = findings.cluster_operations
    told = marks.NO_ANSWER if cluster is None else ", ".join(sorted(cluster)) or "nothing"
    lines = [f"you may, on the cluster: {told}"]
    if cluster is not None and not {"DESCRIBE", "ALL"} & cluster:
        lines.append("  without DESCRIBE on the cluster, only groups that you may DESCRIBE are listed")
    lines.append(f"groups listed: {findings.groups}, looked at: {findings.looked_at}")
    lines += [f"  {name}: on {count}" for name, count in sorted(findings.group_operations.items())]
    return "\n".join(lines) + "\n"
