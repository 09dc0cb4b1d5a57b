"""`kgtui show`: show everything about one or more groups."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.admin.deadline import Deadline
from kgtui.admin.groups_read import CONFIGS
from kgtui.admin.reading import Logs, access_of, read_groups, read_record_times
from kgtui.commands.connecting import as_of, connected, recorded, run_async, timeout_of
from kgtui.commands.printing import notify, print_result
from kgtui.commands.selection import suggestion
from kgtui.commands.visibility import with_hidden_faults
from kgtui.errors import KgtuiError
from kgtui.model.answer import Coverage, Fault
from kgtui.model.error_numbers import GROUP_ID_NOT_FOUND
from kgtui.model.group import Listing, listing_of
from kgtui.model.group_types import may_have_configs
from kgtui.model.offsets import lags
from kgtui.model.snapshot import BrokerStatus, Reading, Snapshot
from kgtui.monitor import policy
from kgtui.output import group_details

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.history import RecordingReader
    from kgtui.model.cluster import ClusterInfo
    from kgtui.model.group import GroupConfig, GroupDescription
    from kgtui.model.offsets import GroupOffsets


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kgtui show`."""
    from kgtui.commands.parser import add_format_option, add_lake_options, group_id

    add_lake_options(parser)
    parser.add_argument("groups", nargs="+", type=group_id, metavar="GROUP", help="id of a group to show")
    add_format_option(parser, *group_details.WRITERS)


def run(args: argparse.Namespace) -> int:
    """Run `kgtui show`. The exit code is 1 if a group does not exist, or some data could not be read, otherwise 0."""
    return run_async(_run(args))


async def _run(args: argparse.Namespace) -> int:
    groups = list(dict.fromkeys(args.groups))
    async with recorded(args) or connected(args) as admin:
        deadline = Deadline(timeout_of(args))
        snapshot, faults = await read_details(admin, groups, timeout=deadline.left())
        snapshot = await _with_recorded_times(await as_of(snapshot, admin), admin)
        found = [group for group in groups if group in snapshot.groups]
        is_absent = any(fault.code == GROUP_ID_NOT_FOUND for fault in faults)
        listed = await _listed(admin, deadline.left()) if is_absent else {}
    whole = sum(1 for group in found if group not in snapshot.group_faults)
    coverage = Coverage((snapshot.answering, len(snapshot.cluster.brokers)), (whole, len(groups)))
    print_result(args.format, group_details.WRITERS, snapshot, found, coverage, faults)
    for fault in faults:
        where = f"group {fault.group}: " if fault.group is not None else ""
        is_absent = fault.code == GROUP_ID_NOT_FOUND and fault.group not in listed
        similar = suggestion([fault.group or ""], listed) if is_absent else ""
        message = "; ".join(filter(None, (f"{where}{fault.message} [{fault.name}]", similar)))
        notify(f"{message} ({fault.advice})" if fault.advice else message)
    return 0 if whole == len(groups) and not faults else 1


async def _listed(admin: GroupAdmin, timeout: float) -> Mapping[str, Listing]:
    """Return all groups of the cluster. If the groups cannot be listed, the result is empty.

    If the user asks for a group that does not exist, the caller suggests similar ids from the result.
    """
    try:
        return (await admin.list_groups(timeout=timeout)).rows
    except KgtuiError:
        return {}


async def _with_recorded_times(snapshot: Snapshot, admin: GroupAdmin) -> Snapshot:
    """Add times that earlier polls of a recording show, such as when each group last made progress.

    If `admin` does not read a recording, return the snapshot unchanged.
    """
    recording: RecordingReader | None = getattr(admin, "recording", None)
    if recording is None:
        return snapshot
    first, at = recording.first.at, snapshot.taken_at
    times = {
        group: (await asyncio.to_thread(recording.group_timeline, group, first, at)).observed_times
        for group in snapshot.groups
    }
    return replace(snapshot, recorded_times=times)


async def read_details(
    admin: GroupAdmin, groups: Sequence[str], *, timeout: float
) -> tuple[Snapshot, tuple[Fault, ...]]:
    """Read all data of the given groups. Return a snapshot, and a fault for each failed read or missing group.

    Raises `UnreachableError` if no broker answered.
    """
    deadline = Deadline(timeout, steps=5)
    cluster = await admin.cluster(timeout=deadline.step())
    read = await read_groups(admin, deadline, describe=groups)
    found = read.descriptions
    listed = {group: listing_of(row) for group, row in found.items()}
    # Read offsets after the descriptions, because a description contains the type of the group, and the type determines
    # how the offsets are read.
    configured = [group for group in found if may_have_configs(found[group].type)]
    positions = await read_groups(
        admin, deadline, offsets=listed, configs=configured, logs=Logs.BOUNDS, described=found
    )
    offsets = positions.offsets_by_group()
    times = await read_record_times(
        admin,
        {group: lags(rows) for group, rows in offsets.items()},
        precision=0,
        limit=policy.SHOW_RECORD_TIME_PARTITIONS,
        timeout=deadline.step(),
    )
    offsets |= {group: replace(offsets[group], record_times=found) for group, found in times.items()}
    # Ignore the error NOT_SUPPORTED in reads of group configs, because old brokers have no group configs.
    faults = [
        fault for step, fault in (*read.faults, *positions.faults) if step != CONFIGS or fault.name != "NOT_SUPPORTED"
    ]
    snapshot = _snapshot(cluster, listed, found, offsets, positions.configs, faults)
    access = await access_of(admin, timeout=max(deadline.left(), 1.0))
    visible = with_hidden_faults(replace(snapshot, access=access), found)
    faults += [one for group, one in visible.group_faults.items() if one is not snapshot.group_faults.get(group)]
    return visible, tuple(faults)


def _snapshot(
    cluster: ClusterInfo,
    groups: Mapping[str, Listing],
    found: Mapping[str, GroupDescription],
    offsets: Mapping[str, GroupOffsets],
    configs: Mapping[str, tuple[GroupConfig, ...]],
    faults: Sequence[Fault],
) -> Snapshot:
    now = time.time()
    by_listing: dict[Listing, list[str]] = {}
    for group in sorted(groups):
        by_listing.setdefault(groups[group], []).append(group)
    return Snapshot(
        1,
        now,
        cluster,
        groups,
        by_listing,
        details={group: Reading(row, now) for group, row in found.items()},
        offsets={group: Reading(rows, now) for group, rows in offsets.items()},
        configs={group: Reading(rows, now) for group, rows in configs.items() if group in found},
        brokers={node: BrokerStatus(node, broker.address, now) for node, broker in cluster.brokers.items()},
        group_faults={fault.group: fault for fault in reversed(faults) if fault.group is not None},
    )
