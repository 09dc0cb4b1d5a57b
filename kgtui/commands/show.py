"""`kgtui show`: groups in full."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from kgtui.admin.reading import read_offsets, with_logs
from kgtui.commands.budget import Budget
from kgtui.commands.connecting import as_of, connected, recorded, run_async, timeout_of
from kgtui.commands.printing import put_bytes, put_text, say
from kgtui.model.answer import Coverage, Fault
from kgtui.model.group import Listing, listing_of
from kgtui.model.snapshot import BrokerStatus, Reading, Snapshot
from kgtui.output import group as full

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.cluster import ClusterInfo
    from kgtui.model.group import GroupConfig, GroupDescription
    from kgtui.model.offsets import GroupOffsets

FORMATS = ("table", "json", "csv", "wide")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    from kgtui.commands.parser import add_lake_options

    add_lake_options(parser)
    parser.add_argument("groups", nargs="+", metavar="GROUP", help="group ids, exactly as they are")
    parser.add_argument("--format", choices=FORMATS, default="table", help="table, json, csv (of partitions), or wide")


def run(args: argparse.Namespace) -> int:
    """Run the command; the exit code: 1 when a group is missing or a part could not be learned."""
    return run_async(_run(args))


async def _run(args: argparse.Namespace) -> int:
    groups = list(dict.fromkeys(args.groups))
    async with recorded(args) or connected(args) as admin:
        snapshot, faults = await look(admin, groups, timeout=timeout_of(args))
        snapshot = as_of(snapshot, admin)
    found = [group for group in groups if group in snapshot.groups]
    whole = sum(1 for group in found if group not in snapshot.group_faults)
    coverage = Coverage((snapshot.answering, len(snapshot.cluster.brokers)), (whole, len(groups)))
    if args.format == "json":
        put_bytes(full.as_json(snapshot, found, coverage, faults))
    elif args.format == "csv":
        put_bytes(full.as_csv(snapshot, found))
    else:
        put_text("\n".join(full.as_text(snapshot, group, wide=args.format == "wide") for group in found))
    for fault in faults:
        where = f"group {fault.group}: " if fault.group is not None else ""
        say(f"{where}{fault.message} [{fault.name}]" + (f" ({fault.advice})" if fault.advice else ""))
    return 0 if whole == len(groups) and not faults else 1


async def look(admin: GroupAdmin, groups: Sequence[str], *, timeout: float) -> tuple[Snapshot, tuple[Fault, ...]]:
    """A snapshot with everything about these groups; those that do not exist are faults.

    Raises `UnreachableError`.
    """
    budget = Budget(timeout, steps=4)
    cluster = await admin.cluster(timeout=budget.step())
    both = budget.step()
    described, configs = await asyncio.gather(
        admin.describe_groups(groups, timeout=both), admin.group_configs(groups, timeout=both)
    )
    faults = list(described.faults)
    found = described.rows
    listed = {group: listing_of(row) for group, row in found.items()}
    read = await read_offsets(admin, listed, timeout=budget.step())
    offsets, of_logs = await with_logs(admin, read, found, timeout=budget.step())
    faults += [*read.faults, *of_logs]
    # A cluster that has no configs of groups is none the worse for it.
    faults += [fault for fault in configs.faults if fault.name != "NOT_SUPPORTED" and fault.group in found]
    snapshot = _snapshot(cluster, listed, found, offsets, configs.rows, faults)
    return snapshot, tuple(faults)


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
