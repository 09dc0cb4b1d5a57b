"""`kgtui doctor`: report what brokers support, the user's permissions, and why a group is not listed."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kgtui.admin.deadline import Deadline
from kgtui.commands.connecting import connected, run_async, timeout_of
from kgtui.commands.printing import notify, print_result
from kgtui.errors import ClientError, KgtuiError, UnreachableError, UnsupportedError, UsageError
from kgtui.model.answer import Fault, fault_of, why_missing
from kgtui.model.error_numbers import GROUP_ID_NOT_FOUND
from kgtui.model.group_types import GROUP_TYPES
from kgtui.model.health.wording import local_clock
from kgtui.model.number_format import counted
from kgtui.model.rfc3339 import rfc3339
from kgtui.model.text import visible
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
"""Maximum number of groups that kgtui describes to find out which operations the user may perform on groups."""

STEPS_TIMEOUT = 10.0
"""Maximum time for connecting to one bootstrap server (name lookup, TCP, TLS and so on), in seconds."""

LIMITED_BELOW = {
    "ListGroups": (
        (4, "the list of groups has no states, so each group is described to learn its state"),
        (5, "the list of groups has no types"),
    ),
    "DescribeGroups": ((6, "DescribeGroups reports the state Dead for groups that are not classic"),),
    "OffsetFetch": ((8, "each request reads the offsets of one group only, so reading lag takes longer"),),
    "FindCoordinator": ((4, "coordinators are looked up one at a time"),),
    "DescribeShareGroupOffsets": ((1, "the lag of share groups is unknown"),),
}
"""API name → pairs (version, limitation). The limitation applies if kgtui and the broker share only lower versions."""

LIMITED_WITHOUT = {
    **{entry.describe_rpc: entry.absence for entry in GROUP_TYPES.values() if entry.feature},
    "DescribeShareGroupOffsets": "start offsets of share groups are unknown",
}
"""API name → limitation that applies to brokers without this API."""


class NamedGroup(NamedTuple):
    """A group that was named on the command line.

    Attributes:
        listed: whether a broker lists the group.
        lines: sentences that say why the group is listed or not.
        similar: similar ids of listed groups; empty if the group itself is listed.
    """

    group: str
    listed: bool
    lines: list[str]
    similar: list[str]


@dataclass(slots=True)
class DoctorResults:
    """The results of `kgtui doctor`.

    Attributes:
        versions: node id → API name → API version that kgtui uses; None if kgtui and the broker share no version.
        took_ms: node id → response time of a Metadata request, in milliseconds.
        cluster_operations: operations that the user is allowed to perform on the cluster; None if not reported.
        groups: number of listed groups; None if the groups could not be listed.
        described: number of described groups, at most `SAMPLE`.
        group_operations: operation → number of described groups on which the user is allowed to perform it.
    """

    cluster: ClusterInfo
    versions: dict[int, dict[str, int | None]] = field(default_factory=dict)
    took_ms: dict[int, float] = field(default_factory=dict)
    cluster_operations: frozenset[str] | None = None
    groups: int | None = None
    described: int = 0
    group_operations: dict[str, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    named: list[NamedGroup] = field(default_factory=list)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kgtui doctor`."""
    from kgtui.commands.parser import add_format_option, group_id

    parser.add_argument(
        "groups", nargs="*", type=group_id, metavar="GROUP", help="also say why this group is listed or not"
    )
    parser.add_argument("--lake", metavar="LAKE", help="recording in which to look up when GROUP disappeared")
    add_format_option(parser, "table", "json")


def run(args: argparse.Namespace) -> int:
    """Run `kgtui doctor`. The exit code is 1 if some data could not be read, or a named group is not listed."""
    if args.lake is not None:
        if not args.groups:
            raise UsageError("--lake needs GROUP, the group to look up in the recording")
        from kgtui.lake.folder import LakeFolder

        LakeFolder.of(args.lake).check()
    diagnosis = run_async(_run(args))
    print_result(args.format, {"table": as_text, "json": as_json}, diagnosis)
    for fault in diagnosis.faults:
        notify(f"{fault.message} [{fault.name}]" + (f" ({fault.advice})" if fault.advice else ""))
    return 1 if diagnosis.faults or not all(one.listed for one in diagnosis.named) else 0


async def _run(args: argparse.Namespace) -> DoctorResults:
    async with connected(args) as admin:
        try:
            return await examine(admin, args.groups, args.lake, timeout=timeout_of(args))
        except UnreachableError:
            found = await admin.pool.login_steps(timeout=min(timeout_of(args), STEPS_TIMEOUT))
            print_result(args.format, {"table": _steps_text, "json": _steps_json}, found)
            raise


def _steps_text(found: Mapping[str, Sequence[Step]]) -> str:
    """Format the steps of connecting to each bootstrap server: its address, followed by a table of the steps."""
    return "\n".join(
        f"{server}\n{table((Column(''), Column(''), Column('')), map(_step_cells, steps), indent='  ', header=False)}"
        for server, steps in found.items()
    )


def _step_cells(step: Step) -> tuple[str, str, str]:
    result = "not tried" if step.ok is None else "ok" if step.ok else "FAILED"
    return step.name, result, step.detail


def _steps_json(found: Mapping[str, Sequence[Step]]) -> bytes:
    servers = [{"address": server, "steps": [step._asdict() for step in steps]} for server, steps in found.items()]
    return formats.json_bytes({"version": formats.VERSION, "taken_at": rfc3339(time.time()), "bootstrap": servers})


async def examine(
    admin: KafkaGroupAdmin, groups: Sequence[str] = (), lake: str | None = None, *, timeout: float
) -> DoctorResults:
    """Read the API versions of every broker, and the user's permissions.

    Args:
        groups: ids of groups. The result also says why each of them is listed or not.
        lake: recording in which to find out when an unlisted group disappeared; None for no recording.
        timeout: maximum total duration in seconds.

    Raises:
        UnreachableError: no broker answered.
    """
    # Limit each step to a part of the timeout, so that a broker that does not respond delays only one step.
    deadline = Deadline(timeout, steps=4 + bool(groups))
    diagnosis = DoctorResults(await admin.cluster(timeout=deadline.step()))
    until = Deadline(deadline.step())
    await asyncio.gather(*(_versions(admin, node, diagnosis, until) for node in diagnosis.cluster.brokers))
    diagnosis.cluster_operations = await _cluster_operations(admin, diagnosis, Deadline(deadline.step()))
    try:
        await _group_operations(admin, diagnosis, Deadline(deadline.step(), steps=2))
    except KgtuiError as error:
        diagnosis.faults.append(fault_of(error))
    if groups:
        named = list(dict.fromkeys(groups))
        diagnosis.named = await _named_groups(admin, named, lake, Deadline(deadline.step()))
    return diagnosis


async def _named_groups(
    admin: KafkaGroupAdmin, groups: Sequence[str], lake: str | None, deadline: Deadline
) -> list[NamedGroup]:
    from kgtui.admin.reading import access_of
    from kgtui.commands.selection import list_groups
    from kgtui.model.absence import why_not_listed
    from kgtui.model.query.spelling import similar_names

    snapshot, _ = await list_groups(admin, timeout=deadline.left())
    snapshot = replace(snapshot, access=await access_of(admin, timeout=deadline.left()))
    described = await admin.describe_groups(groups, timeout=deadline.left())
    clock, found = partial(local_clock(snapshot.taken_at), seconds=True), []
    for group in groups:
        listing = snapshot.groups.get(group)
        fault = None if group in described.rows else why_missing(described.faults, group)
        if fault is not None and fault.code == GROUP_ID_NOT_FOUND:
            fault = None
        if listing is not None:
            about = ", ".join(part for part in (listing.type, listing.state) if part)
            lines = [f"A broker lists the group: {about}, coordinator broker {listing.coordinator}."]
            lines += [] if fault is None else [cannot_be_described(fault)]
            found.append(NamedGroup(group, True, lines, []))
            continue
        gone_at = None if lake is None else await asyncio.to_thread(_disappeared_at, lake, group)
        lines = why_not_listed(snapshot, group, clock, fault=fault, gone_at=gone_at)
        if lake is not None and gone_at is None:
            lines.append("The recording does not show that the group disappeared.")
        found.append(NamedGroup(group, False, lines, similar_names([group], snapshot.groups)))
    return found


def cannot_be_described(fault: Fault) -> str:
    """Return a text that says why a listed group cannot be described, and what the user can do."""
    from kgtui.model.explanation import explain_fault

    message = (fault.message or fault.name).removeprefix("describe: ").rstrip(".")
    return f"The group cannot be described: {message}. {explain_fault(fault).advice}".rstrip()


def _disappeared_at(lake: str, group: str) -> float | None:
    from kgtui.history.recording_reader import RecordingReader

    return RecordingReader(lake).disappeared_at(group)


async def _versions(admin: KafkaGroupAdmin, node: int, diagnosis: DoctorResults, deadline: Deadline) -> None:
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
    admin: KafkaGroupAdmin, diagnosis: DoctorResults, deadline: Deadline
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


async def _group_operations(admin: KafkaGroupAdmin, diagnosis: DoctorResults, deadline: Deadline) -> None:
    listed = await admin.list_groups(timeout=deadline.step())
    diagnosis.groups = len(listed.rows)
    diagnosis.faults += [fault for fault in listed.faults if fault.broker in diagnosis.versions]
    # Describe groups of every type, because each type has its own describe RPC, which can fail.
    by_type: dict[str | None, list[str]] = {}
    for group, row in listed.rows.items():
        by_type.setdefault(row.type, []).append(group)
    each = SAMPLE // max(len(by_type), 1)
    sample = [group for groups in by_type.values() for group in groups[:each]]
    if not sample:
        return
    described = await admin.describe_groups(sample, timeout=deadline.step())
    diagnosis.described = len(described.rows)
    for description in described.rows.values():
        for operation in description.operations or ():
            diagnosis.group_operations[operation] = diagnosis.group_operations.get(operation, 0) + 1
    # Report each error name only once, because many groups often have the same error.
    diagnosis.faults += {fault.name: fault for fault in described.faults if fault.code != GROUP_ID_NOT_FOUND}.values()


def limitations(versions: Mapping[str, int | None]) -> list[str]:
    """Return the limitations of a broker as short texts, such as `the list of groups has no types`.

    Args:
        versions: API name → API version that kgtui uses with this broker; None if kgtui and the broker share none.
    """
    found = []
    for name, version in versions.items():
        if version is None:
            found.append(LIMITED_WITHOUT.get(name, f"no {name}"))
        else:
            found += [text for least, text in LIMITED_BELOW.get(name, ()) if version < least]
    return list(dict.fromkeys(found))


def as_json(diagnosis: DoctorResults) -> bytes:
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
        "named_groups": [
            {"group": one.group, "listed": one.listed, "why": one.lines, "similar": one.similar}
            for one in diagnosis.named
        ],
        "faults": [formats.fault_object(fault) for fault in diagnosis.faults],
    }
    return formats.json_bytes(value)


def as_text(diagnosis: DoctorResults) -> str:
    """Format the results as tables and sentences for people."""
    parts = [
        *map(_named_text, diagnosis.named),
        _cluster_text(diagnosis.cluster),
        _brokers_text(diagnosis),
        _versions_text(diagnosis),
    ]
    limits = list(dict.fromkeys(text for versions in diagnosis.versions.values() for text in limitations(versions)))
    if limits:
        parts.append("limits\n" + "".join(f"  {text}\n" for text in limits))
    parts.append(_permissions_text(diagnosis))
    return "\n".join(parts)


def _named_text(named: NamedGroup) -> str:
    lines = [*named.lines, *([f"Similar: {', '.join(named.similar)}"] if named.similar else [])]
    return f"group {visible(named.group)}\n" + "".join(f"  {visible(line)}\n" for line in lines)


def _cluster_text(cluster: ClusterInfo) -> str:
    rows = [("cluster", marks.text(cluster.cluster_id)), ("controller", marks.count(cluster.controller))]
    if cluster.features is None:
        rows.append(("features", "not reported by the brokers"))
    else:
        rows += [(name, str(level)) for name, level in sorted(cluster.features.items())]
    return table((Column(""), Column("")), rows, header=False)


def _brokers_text(diagnosis: DoctorResults) -> str:
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


def _versions_text(diagnosis: DoctorResults) -> str:
    nodes = sorted(diagnosis.versions)
    names = sorted({name for versions in diagnosis.versions.values() for name in versions})
    columns = [Column("API"), *(Column(str(node), number=True) for node in nodes)]
    return table(
        columns, [[name, *(marks.count(diagnosis.versions[node].get(name)) for node in nodes)] for name in names]
    )


def _permissions_text(diagnosis: DoctorResults) -> str:
    cluster = diagnosis.cluster_operations
    operations = marks.NO_ANSWER if cluster is None else ", ".join(sorted(cluster)) or "none"
    lines = [f"permissions on the cluster: {operations}"]
    if cluster is not None and not {"DESCRIBE", "ALL"} & cluster:
        lines.append("  without DESCRIBE on the cluster, only groups on which you have DESCRIBE are listed")
    if diagnosis.groups is None:
        lines.append(f"permissions on groups: {marks.NO_ANSWER}")
    else:
        listed = counted(diagnosis.groups, "group")
        lines.append(f"permissions on groups: {listed} listed, {diagnosis.described:,} described")
    operations_on_groups = sorted(diagnosis.group_operations.items())
    lines += [f"  {operation}: on {counted(count, 'group')}" for operation, count in operations_on_groups]
    return "\n".join(lines) + "\n"
