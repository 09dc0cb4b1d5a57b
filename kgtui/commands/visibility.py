"""Prints messages if groups or offsets may be hidden from the user because of missing permissions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.commands.printing import notify
from kgtui.model import facts
from kgtui.model.access import NO_VISIBLE_GROUP, lower_bound_reason
from kgtui.model.number_format import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Iterable

    from kgtui.model.query import Query
    from kgtui.model.snapshot import Snapshot


def with_hidden_faults(snapshot: Snapshot, groups: Iterable[str]) -> Snapshot:
    """Return a copy of the snapshot, with an error for each group in `groups` whose offsets brokers hide from the user.

    A group without visible offsets also gets an error if brokers might hide its offsets. Brokers hide offsets in topics
    on which the user lacks the permission DESCRIBE.
    """
    if not _has_marks(snapshot) and not snapshot.offsets:
        return snapshot
    found = ((group, facts.hidden_offsets_fault(snapshot, group)) for group in groups)
    faults = {group: fault for group, fault in found if fault is not None}
    return replace(snapshot, group_faults={**snapshot.group_faults, **faults})


def _has_marks(snapshot: Snapshot) -> bool:
    return snapshot.hides_topics or any(summary.hidden for summary in snapshot.summaries.values())


def notify_lower_bounds(snapshot: Snapshot, groups: Iterable[str], query: Query | None) -> None:
    """Print for how many groups the lag is only a lower bound, because the user lacks DESCRIBE on some topics.

    If the filter needs offsets, also print how the filter treats groups whose exact lag is unknown.
    """
    if snapshot.access is None or not _has_marks(snapshot):
        return
    from kgtui.model.query import Need

    # Do not count groups without visible offsets, because kgtui prints an error for each of them.
    count = sum(
        1 for group in groups if facts.may_hide_topics(snapshot, group) and not facts.has_no_offsets(snapshot, group)
    )
    filtered = query is not None and snapshot.hides_topics and Need.OFFSETS in query.needs
    if not count and not filtered:
        return
    of_groups = f"of {counted(count, 'group')}"
    lags = f"the lag {of_groups} is a lower bound" if count == 1 else f"the lags {of_groups} are lower bounds"
    chosen = "if a group's lag is known only as a range, the filter selects the group only if the whole range matches"
    said = f"{lags}; {chosen}" if count and filtered else chosen if filtered else lags
    notify(f"{said}. {lower_bound_reason(snapshot.access)}")


def notify_no_visible_group(args: argparse.Namespace, snapshot: Snapshot, listed: Collection[str]) -> bool:
    """Print a message if no group is listed, and the user lacks the permission to see every group.

    Returns True if the exit code must be 1: the message was printed, and `--allow-empty` is not given.
    """
    access = snapshot.access
    if listed or snapshot.answering < len(snapshot.brokers) or access is None or access.lists_every_group:
        return False
    notify(NO_VISIBLE_GROUP)
    return not args.allow_empty
