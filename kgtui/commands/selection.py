"""Selects groups by a filter. Only the data that the filter and the command need is read."""

from __future__ import annotations

import argparse
import asyncio
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kgtui.commands.connecting import as_of
from kgtui.commands.printing import notify
from kgtui.errors import UsageError
from kgtui.model.answer import Coverage
from kgtui.model.number_format import counted
from kgtui.model.snapshot import BrokerStatus, Snapshot

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.admin.deadline import Deadline
    from kgtui.admin.groups_read import GroupsRead
    from kgtui.model.answer import Fault
    from kgtui.model.group import Listing
    from kgtui.model.query import Query


@dataclass(frozen=True, slots=True)
class Selection:
    """The groups that a filter selects, and the data that was read to select them.

    Attributes:
        snapshot: all data that was read, including data of groups that were not selected.
        ids: ids of the selected groups. They are in the order of the filter term `sort:`, if there is one, and
            otherwise sorted by id.
        coverage: how many brokers answered, and how many selected groups were read completely.
        faults: why some data could not be read.
        members: whether members were read.
        lag: whether offsets and log end offsets were read.
        searched: pair (number of groups to which the filter could be applied, number of groups whose data the filter
            needs). For example, (3, 5) means that the filter needs the lags of 5 groups, but only 3 lags could be read.
        listed: group id → type, protocol, state and coordinator, for all groups of the cluster.
    """

    snapshot: Snapshot
    ids: list[str]
    coverage: Coverage
    faults: tuple[Fault, ...]
    members: bool = False
    lag: bool = False
    searched: tuple[int, int] = (0, 0)
    listed: Mapping[str, Listing] = field(default_factory=dict)


def add_selection_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that select groups, and the option `--allow-empty`."""
    add_filter_options(parser)
    parser.add_argument("--allow-empty", action="store_true", help="exit with code 0 even if no group matches")


def filter_help() -> str:
    """Return the explanation of the filter language, which `--help` shows below the options."""
    from kgtui.model.query import help_text

    return f"filter terms, each with an example that needs no quotes in a shell:\n{help_text()}"


def add_filter_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that select groups by a filter or by exact ids."""
    from kgtui.commands.parser import group_id

    parser.add_argument(
        "expr", nargs="*", type=str, metavar="EXPR", help="filter terms, joined by AND; see kgtui ls --help"
    )
    parser.add_argument(
        "--group",
        action="append",
        default=[],
        type=group_id,
        metavar="ID",
        help="the group with exactly this id; may be repeated",
    )
    parser.add_argument("--filter", type=str, metavar="EXPR", default=argparse.SUPPRESS, help="same as EXPR")


def query_of(args: argparse.Namespace) -> Query:
    """Return the filter from the command line. The filter is empty if the command line has no filter term.

    Raises `UsageError` if the filter is wrong, or if both a filter term and `--group` are given.
    """
    from kgtui.model.query import parse

    query = parse(" ".join(filter(None, [args.filter, *args.expr])).strip())
    if args.group and query.terms:
        raise UsageError("EXPR and --group cannot be used together")
    return query


def notify_operators(query: Query) -> None:
    """Print a hint if the filter contains AND, OR or NOT, because kgtui reads these words as parts of group ids."""
    from kgtui.model.query.spelling import operator_hint

    if hint := operator_hint(query):
        notify(hint)


def notify_missing(args: argparse.Namespace, query: Query | None, selection: Selection) -> bool:
    """Print a message if no group matches the filter, or if a group that `--group` names does not exist.

    If other groups have similar ids, the message contains these ids.

    Returns True if the exit code must be 1: the message was printed, and `--allow-empty` is not given.
    """
    absent = [group for group in dict.fromkeys(args.group) if group not in selection.ids]
    answered, brokers = selection.coverage.brokers
    for group in absent:
        if answered < brokers:
            silent = f"{brokers - answered} of {counted(brokers, 'broker')} did not answer"
            notify(f"it is not known whether the group {group!r} exists, because {silent}")
            continue
        advice = suggestion([group], selection.listed) or _doctor(args, group)
        notify("; ".join(filter(None, (f"there is no group {group!r}", advice))))
    if query is not None and query.terms and not selection.ids:
        notify("; ".join(filter(None, ("no group matches the filter", *_why_no_match(args, query, selection)))))
        return not args.allow_empty
    if query is not None:
        notify_operators(query)
    return bool(absent) and not args.allow_empty


def _why_no_match(args: argparse.Namespace, query: Query, selection: Selection) -> list[str]:
    """Return phrases for the user: why no group matches the filter, and how to correct the filter."""
    from kgtui.model.absence import no_match_steps
    from kgtui.model.slices import run_at_once
    from kgtui.model.text import visible

    why, words = run_at_once(no_match_steps(query, selection.snapshot)), query.words
    if why.meant is not None:
        return [f"did you mean {why.meant.describe()}"]
    if why.excluded:
        example = visible(why.example)
        if why.excluded == 1:
            return [f"the id of group {example} matches, but other terms of the filter exclude the group"]
        return [
            (
                f"the ids of {counted(why.excluded, 'group')} match, such as {example}, "
                "but other terms of the filter exclude the groups"
            )
        ]
    if not why.similar and why.word is not None:
        return [_doctor(args, why.word)]
    sentences = [f"similar: {', '.join(why.similar)}"] if why.similar else []
    if len(words) > 1:
        sentences.append(f"the filter matches only ids that contain all {len(words)} words")
        sentences.append(f"to use the words as group ids, pass {as_options(words)}")
    return sentences


def _doctor(args: argparse.Namespace, group: str) -> str:
    """Return the advice to run `kgtui doctor`, which says why a group is not listed.

    Returns an empty text if the command reads a recording, because `kgtui doctor` examines a cluster.
    """
    from kgtui.model.command_line import quote

    if getattr(args, "lake", None) is not None:
        return ""
    return f"to find out why, run kgtui doctor {quote(group)}"


def as_options(words: Sequence[str]) -> str:
    """Return `--group WORD` for each word, quoted for a shell and separated by spaces."""
    from kgtui.model.command_line import quote

    return " ".join(f"--group {quote(word)}" for word in words)


def suggestion(words: Sequence[str], every: Iterable[str]) -> str:
    """Return a phrase such as `similar: orders, orders-2`, with up to three ids in `every` that resemble `words`.

    The phrase is empty if no id is similar.
    """
    from kgtui.model.query.spelling import similar_names

    names = ", ".join(similar_names(words, every))
    return f"similar: {names}" if names else ""


async def select_groups(
    admin: GroupAdmin,
    query: Query | None = None,
    *,
    groups: Collection[str] = (),
    members: bool = False,
    lag: bool = False,
    access_max_age: float = 0.0,
    on_read: Callable[[Snapshot, GroupsRead], Awaitable[Snapshot]] | None = None,
    timeout: float,
) -> Selection:
    """List all groups, read the data that the filter and the caller need, and select groups by the filter.

    Args:
        query: the filter; None selects every group.
        groups: ids of the groups to read and to select from; empty for all groups.
        members: whether to read the members of the selected groups.
        lag: whether to read offsets and log end offsets of the selected groups.
        access_max_age: maximum age of cached permissions of the user, in seconds. Older permissions are read again.
        on_read: function that is called after the lag was read, with the snapshot and the data that was read. The
            filter is applied to the snapshot that the function returns.
        timeout: maximum total duration in seconds. Each read gets an equal part of the time that remains.

    Raises:
        UnreachableError: no broker answered.
    """
    if query is None and not members and not lag:
        # Most calls need only the list of groups. Return early in this case, because the imports below are slow.
        snapshot, faults = await _list_with_access(admin, wanted=False, max_age=access_max_age, timeout=timeout)
        ids = sorted(snapshot.groups if not groups else snapshot.groups.keys() & set(groups))
        return Selection(snapshot, ids, _coverage(snapshot, len(ids)), faults, listed=snapshot.groups)
    from kgtui.admin.deadline import Deadline
    from kgtui.commands.visibility import with_hidden_faults
    from kgtui.model.query import Need, Query

    query, show_lag = query or Query(), lag
    members, lag = members or Need.DESCRIPTION in query.needs, lag or Need.OFFSETS in query.needs
    deadline = Deadline(timeout, steps=1 + members + 2 * lag)
    snapshot, faults = await _list_with_access(admin, wanted=lag, max_age=access_max_age, timeout=deadline.step())
    listed = snapshot.groups
    if groups:
        snapshot = _with_groups(snapshot, groups)
    snapshot, others, read = await _enrich(admin, snapshot, query, members=members, lag=lag, deadline=deadline)
    if on_read is not None and lag:
        snapshot = await on_read(snapshot, read)
    snapshot = await as_of(snapshot, admin)
    ids = query.select(snapshot)
    if show_lag:
        summaries, unread = snapshot.summaries, snapshot.group_faults.keys()
        snapshot = with_hidden_faults(snapshot, [group for group in ids if group in summaries and group not in unread])
    # If the filter needs more data than the list of groups, also report the read errors of groups that do not match.
    # These groups might match if all their data were known.
    concerned = set(snapshot.group_faults) if query.needs else set(ids)
    faults += others + tuple(f for group, f in sorted(snapshot.group_faults.items()) if group in concerned)
    return Selection(
        snapshot, ids, _coverage(snapshot, len(ids), sum(1 for group in ids if group in snapshot.group_faults)),
        faults, members, lag, query.searched(snapshot), listed,
    )  # fmt: skip


def _with_groups(snapshot: Snapshot, groups: Collection[str]) -> Snapshot:
    """Return a copy of the snapshot that contains only the groups whose ids are in `groups`."""
    named = {group: snapshot.groups[group] for group in sorted(groups) if group in snapshot.groups}
    return replace(snapshot, groups=named, by_listing=by_listing(named))


async def _list_with_access(
    admin: GroupAdmin, *, wanted: bool, max_age: float, timeout: float
) -> tuple[Snapshot, tuple[Fault, ...]]:
    """List all groups. If `wanted` is true, or if no group is listed, also read the user's permissions.

    Returns a snapshot, and the faults of brokers that did not answer.

    Args:
        max_age: maximum age of cached permissions, in seconds. Older permissions are read again.
    """
    if wanted:
        from kgtui.admin.reading import access_of

        listed, access = await asyncio.gather(
            list_groups(admin, timeout=timeout), access_of(admin, max_age=max_age, timeout=timeout)
        )
        return replace(await as_of(listed[0], admin), access=access), listed[1]
    snapshot, faults = await list_groups(admin, timeout=timeout)
    snapshot = await as_of(snapshot, admin)
    if snapshot.groups:
        return snapshot, faults
    from kgtui.admin.reading import access_of

    return replace(snapshot, access=await access_of(admin, max_age=max_age, timeout=timeout)), faults


async def _enrich(
    admin: GroupAdmin, snapshot: Snapshot, query: Query, *, members: bool, lag: bool, deadline: Deadline
) -> tuple[Snapshot, tuple[Fault, ...], GroupsRead]:
    """Read members and lags of the groups that the filter has not ruled out yet.

    Returns a tuple: the snapshot with this data, the errors that affect a whole broker or the whole cluster, and all
    data that was read.

    Args:
        members: whether to read members.
        lag: whether to read offsets and log end offsets.
        deadline: time limit of all reads. It is divided into steps: one for the members, and two for the lag.
    """
    from kgtui.admin.groups_read import GroupsRead
    from kgtui.admin.reading import Logs, read_groups
    from kgtui.model.query import Need

    read, needs = GroupsRead(), frozenset[Need]()
    # Read members before offsets, so that offsets are read only for groups whose members match the filter.
    if members:
        ids = query.limited(needs).select(snapshot)
        if ids:
            read = await read_groups(admin, deadline, describe=ids)
        needs |= {Need.DESCRIPTION}
        snapshot = _enriched(snapshot, read, ids, lag=False)
    if lag:
        ids = query.limited(needs).select(snapshot)
        listings = {group: snapshot.groups[group] for group in ids}
        described = read.descriptions
        read.merge(await read_groups(admin, deadline, offsets=listings, logs=Logs.COMMITTED_ENDS, described=described))
        snapshot = _enriched(snapshot, read, ids, lag=True)
    return snapshot, read.general_faults, read


def _enriched(snapshot: Snapshot, read: GroupsRead, ids: Sequence[str], *, lag: bool) -> Snapshot:
    from kgtui.model.access import hidden_topics_fault
    from kgtui.model.summary import Topics, summary_of

    now, summaries, topics, faults = time.time(), dict(snapshot.summaries), Topics(), read.group_faults()
    for group in ids:
        total = read.lag_of(group)
        if topics_hidden := read.hidden_topics(group):
            faults.setdefault(group, hidden_topics_fault(group, topics_hidden))
        with_offset = read.topics_of(group)
        if with_offset is None and not (lag and snapshot.groups[group].has_offsets):
            # The offsets of this group were not requested. Pass an empty tuple instead of None, because None means that
            # the offsets could not be read. The summary then contains only the topics to which members subscribe.
            with_offset = ()
        summaries[group] = summary_of(
            read.descriptions.get(group),
            total,
            with_offset,
            faults.get(group),
            now,
            shared=topics,
        )
    return replace(snapshot, taken_at=now, summaries=summaries, group_faults=faults)


def undecided_text(searched: int, every: int) -> str:
    """Return a message that says to how many groups the filter could not be applied.

    Args:
        searched: number of groups whose data could be read.
        every: number of groups whose data the filter needs.
    """
    missing = f"{every - searched:,} of {counted(every, 'group')}"
    return f"the filter could not be applied to {missing}, because their data is unknown"


def _coverage(snapshot: Snapshot, groups: int, failed: int = 0) -> Coverage:
    return Coverage((snapshot.answering, len(snapshot.brokers)), (groups - failed, groups))


async def list_groups(admin: GroupAdmin, *, timeout: float) -> tuple[Snapshot, tuple[Fault, ...]]:
    """List all groups. Return a snapshot, and the faults of the brokers that did not answer.

    Raises `UnreachableError` if no broker answered.
    """
    # Request the list of groups and the cluster's metadata at the same time, because this is faster.
    answer, cluster = await asyncio.gather(admin.list_groups(timeout=timeout), admin.cluster(timeout=timeout))
    now = time.time()
    failed = {fault.broker: fault for fault in answer.faults if fault.broker is not None and fault.group is None}
    brokers = {
        node: BrokerStatus(node, broker.address, None if node in failed else now, None, failed.get(node))
        for node, broker in cluster.brokers.items()
    }
    snapshot = Snapshot(1, now, cluster, answer.rows, by_listing(answer.rows), brokers=brokers, faults=answer.faults)
    return snapshot, answer.faults


def by_listing(rows: Mapping[str, Listing]) -> dict[Listing, list[str]]:
    """Return a dict for `Snapshot.by_listing`: `Listing` (type, protocol, state, coordinator) → group ids."""
    by_listing: dict[Listing, list[str]] = {}
    for group, listing in rows.items():
        by_listing.setdefault(listing, []).append(group)
    return by_listing
