"""`kgtui doctor`: report what each broker supports, which limits this causes in kgtui, and the user's permissions."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kgtui.admin.deadline import Deadline
from kgtui.commands.connecting import connected, run_async, timeout_of
from kgtui.commands.printing import notify, print_result
from kgtui.errors import ClientError, KgtuiError, UnreachableError, UnsupportedError
from kgtui.model.answer import Fault, fault_of
from kgtui.model.error_numbers import GROUP_ID_NOT_FOUND
from kgtui.model.group_types import GROUP_TYPES
from kgtui.model.rfc3339 import rfc3339
from kgtui.output import formats, marks
from kgtui.output.table import Column, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from kgtui.admin.kafka import KafkaGroupAdmin
    from kgtui.client.login_steps import Step
    from kgtui.model.cluster import ClusterInfo
    from kgtui.protocol.api import Api

SAMPLE = 200
"""Maximum number of groups that are described to find out which operations the user is authorized for."""

STEPS_TIMEOUT = 10.0
"""Maximum duration of the test that connects to a bootstrap server step by step, in seconds."""

LIMITED_BELOW = {
    "ListGroups": (
        (4, "the list of groups has no states, so each group is described to learn its state"),
        (5, "the list of groups has no types"),
    ),
    "DescribeGroups": ((6, "DescribeGroups reports groups that are not classic as Dead"),),
    "OffsetFetch": ((8, "each request reads the offsets of one group only, so reading lag takes longer"),),
    "FindCoordinator": ((4, "coordinators are looked up one at a time"),),
    "DescribeShareGroupOffsets": ((1, "the lag of share groups is unknown"),),
}
"""API → pairs `(version, limitation)`. A broker has the limitation if its newest version of the API is lower."""

LIMITED_WITHOUT = {
    **{entry.describe_rpc: entry.absence for entry in GROUP_TYPES.values() if entry.feature},
    "DescribeShareGroupOffsets": "start offsets of share groups are unknown",
}
"""API → the limitation of brokers without that API."""


@dataclass(slots=True)
class Diagnosis:
    """The results of `kgtui doctor`.

    Attributes:
        cluster: the cluster and its brokers.
        versions: node id → API name → version used with that broker; None if kgtui and the broker have no version in
            common.
        took_ms: node id → response time of the Metadata RPC in milliseconds, for each broker that answered.
        cluster_operations: operations that the user is authorized for on the cluster; None if no broker reports them.
        groups: number of groups listed.
        described: number of listed groups that were described, at most `SAMPLE`.
        group_operations: operation → number of described groups on which the user is authorized for this operation.
        faults: why some data could not be read.
    """

    cluster: ClusterInfo
    versions: dict[int, dict[str, int | None]] = field(default_factory=dict)
    took_ms: dict[int, float] = field(default_factory=dict)
    cluster_operations: frozenset[str] | None = None
    groups: int = 0
    described: int = 0
    group_operations: dict[str, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kgtui doctor`."""
    from kgtui.commands.parser import add_format_option

    add_format_option(parser, "table", "json")


def run(args: argparse.Namespace) -> int:
    """Run `kgtui doctor` and return its exit code, which is 1 if something could not be read."""
    diagnosis = run_async(_run(args))
    print_result(args.format, {"table": as_text, "json": as_json}, diagnosis)
    for fault in diagnosis.faults:
        notify(f"{fault.message} [{fault.name}]" + (f" ({fault.advice})" if fault.advice else ""))
    return 1 if diagnosis.faults else 0


async def _run(args: argparse.Namespace) -> Diagnosis:
    async with connected(args) as admin:
        try:
            return await examine(admin, timeout=timeout_of(args))
        except UnreachableError:
            found = await admin.pool.login_steps(timeout=min(timeout_of(args), STEPS_TIMEOUT))
            print_result(args.format, {"table": _steps_text, "json": _steps_json}, found)
            raise


def _steps_text(found: Mapping[str, Sequence[Step]]) -> str:
    """Format one table per bootstrap server, with the result of each step of connecting to the server.

    Args:
        found: address of a bootstrap server → the steps.
    """
    return "\n".join(
        f"{server}\n{table((Column(''), Column(''), Column('')), map(_step_cells, steps), indent='  ', header=False)}"
        for server, steps in found.items()
    )


def _step_cells(step: Step) -> tuple[str, str, str]:
    result = "not tried" if step.ok is None else "ok" if step.ok else "FAILED"
    return step.name, result, step.detail


def _steps_json(found: Mapping[str, Sequence[Step]]) -> bytes:
    """Encode the steps of connecting to each bootstrap server as JSON.

    Args:
        found: address of a bootstrap server → the steps.
    """
    servers = [{"address": server, "steps": [step._asdict() for step in steps]} for server, steps in found.items()]
    return formats.json_bytes({"version": formats.VERSION, "taken_at": rfc3339(time.time()), "bootstrap": servers})


async def examine(admin: KafkaGroupAdmin, *, timeout: float) -> Diagnosis:
    """Ask every broker for its API versions, and read the permissions of the user. Raises `UnreachableError`."""
    deadline = Deadline(timeout)
    diagnosis = Diagnosis(await admin.cluster(timeout=timeout))
    await asyncio.gather(*(_versions(admin, node, diagnosis, deadline) for node in diagnosis.cluster.brokers))
    diagnosis.cluster_operations = await _cluster_operations(admin, diagnosis, deadline)
    try:
        await _group_operations(admin, diagnosis, deadline)
    except KgtuiError as error:
        diagnosis.faults.append(fault_of(error))
    return diagnosis


async def _versions(admin: KafkaGroupAdmin, node: int, diagnosis: Diagnosis, deadline: Deadline) -> None:
    from kgtui.protocol.messages import APIS
    from kgtui.protocol.messages.cluster import METADATA

    found: dict[str, int | None] = {}
    try:
        reply = await admin.pool.call(node, METADATA, {"Topics": []}, timeout=deadline.left())
        for api in APIS.values():
            found[api.name] = await _version(admin, node, api, deadline)
    except ClientError as error:
        diagnosis.faults.append(fault_of(error, broker=node))
        return
    diagnosis.versions[node] = found
    diagnosis.took_ms[node] = reply.took_ms


async def _version(admin: KafkaGroupAdmin, node: int, api: Api, deadline: Deadline) -> int | None:
    try:
        return await admin.pool.version(node, api, timeout=deadline.left())
    except UnsupportedError:
        return None


async def _cluster_operations(
    admin: KafkaGroupAdmin, diagnosis: Diagnosis, deadline: Deadline
) -> frozenset[str] | None:
    from kgtui.admin.access import read_operations

    for node in sorted(diagnosis.versions):
        try:
            found, _ = await read_operations(admin.pool, node, deadline)
        except ClientError:
            continue
        if found is not None:
            return found
    return None


async def _group_operations(admin: KafkaGroupAdmin, diagnosis: Diagnosis, deadline: Deadline) -> None:
    listed = await admin.list_groups(timeout=deadline.left())
    diagnosis.groups = len(listed.rows)
    diagnosis.faults += [fault for fault in listed.faults if fault.broker in diagnosis.versions]
    # Describe a sample with groups of every type, because each type has its own describe RPC, and each RPC may fail.
    by_type: dict[str | None, list[str]] = {}
    for group, row in listed.rows.items():
        by_type.setdefault(row.type, []).append(group)
    each = SAMPLE // max(len(by_type), 1)
    sample = [group for groups in by_type.values() for group in groups[:each]]
    if not sample:
        return
    described = await admin.describe_groups(sample, timeout=deadline.left())
    diagnosis.described = len(described.rows)
    for description in described.rows.values():
        for operation in description.operations or ():
            diagnosis.group_operations[operation] = diagnosis.group_operations.get(operation, 0) + 1
    # Report each error name only once, because many groups usually fail for the same reason.
    diagnosis.faults += {fault.name: fault for fault in described.faults if fault.code != GROUP_ID_NOT_FOUND}.values()


def limitations(versions: Mapping[str, int | None]) -> list[str]:
    """Return the limitations of a broker, as sentences.

    Args:
        versions: API name → version used with the broker; None if kgtui and the broker have no version in common.
    """
    found = []
    for name, version in versions.items():
        if version is None:
            found.append(LIMITED_WITHOUT.get(name, f"no {name}"))
        else:
            found += [text for least, text in LIMITED_BELOW.get(name, ()) if version < least]
    return list(dict.fromkeys(found))


def as_json(diagnosis: Diagnosis) -> bytes:
    """Return the diagnosis as JSON."""
    operations = diagnosis.cluster_operations
    value: dict[str, Any] = {
        "version": formats.VERSION,
        "cluster": formats.cluster_object(diagnosis.cluster),
        "taken_at": rfc3339(time.time()),
        "brokers": [
            {
                "id": node,
                "answered": node in diagnosis.versions,
                "took_ms": diagnosis.took_ms.get(node),
                "versions": diagnosis.versions.get(node),
                "missing": None if node not in diagnosis.versions else limitations(diagnosis.versions[node]),
            }
            for node in sorted(diagnosis.cluster.brokers)
        ],
        "cluster_operations": None if operations is None else sorted(operations),
        "groups": diagnosis.groups,
        "groups_looked_at": diagnosis.described,
        "group_operations": dict(sorted(diagnosis.group_operations.items())),
        "faults": [formats.fault_object(fault) for fault in diagnosis.faults],
    }
    return formats.json_bytes(value)


def as_text(diagnosis: Diagnosis) -> str:
    """Return the diagnosis as text for people."""
    parts = [_cluster_text(diagnosis.cluster), _brokers_text(diagnosis), _versions_text(diagnosis)]
    limits = list(dict.fromkeys(text for versions in diagnosis.versions.values() for text in limitations(versions)))
    if limits:
        parts.append("limits\n" + "".join(f"  {text}\n" for text in limits))
    parts.append(_permissions_text(diagnosis))
    return "\n".join(parts)


def _cluster_text(cluster: ClusterInfo) -> str:
    rows = [("cluster", marks.text(cluster.cluster_id)), ("controller", marks.count(cluster.controller))]
    if cluster.features is None:
        rows.append(("features", "not reported by these brokers"))
    else:
        rows += [(name, str(level)) for name, level in sorted(cluster.features.items())]
    return table((Column(""), Column("")), rows, header=False)


def _brokers_text(diagnosis: Diagnosis) -> str:
    rows = [
        (
            str(node),
            broker.address,
            marks.text(broker.rack),
            f"{diagnosis.took_ms[node]:.0f} ms" if node in diagnosis.took_ms else marks.NO_ANSWER,
        )
        for node, broker in sorted(diagnosis.cluster.brokers.items())
    ]
    return table(
        (Column("BROKER", number=True), Column("ADDRESS"), Column("RACK"), Column("ANSWER", number=True)), rows
    )


def _versions_text(diagnosis: Diagnosis) -> str:
    nodes = sorted(diagnosis.versions)
    names = sorted({name for versions in diagnosis.versions.values() for name in versions})
    columns = [Column("API"), *(Column(str(node), number=True) for node in nodes)]
    return table(
        columns, [[name, *(marks.count(diagnosis.versions[node].get(name)) for node in nodes)] for name in names]
    )


def _permissions_text(diagnosis: Diagnosis) -> str:
    cluster = diagnosis.cluster_operations
    operations = marks.NO_ANSWER if cluster is None else ", ".join(sorted(cluster)) or "none"
    lines = [f"permissions on the cluster: {operations}"]
    if cluster is not None and not {"DESCRIBE", "ALL"} & cluster:
        lines.append("  without DESCRIBE on the cluster, only groups with DESCRIBE permission are listed")
    lines.append(f"permissions on groups: {diagnosis.groups} groups listed, {diagnosis.described} described")
    lines += [f"  {name}: on {count} groups" for name, count in sorted(diagnosis.group_operations.items())]
    return "\n".join(lines) + "\n"
