"""The text that is shown instead of an empty tree: why there are no groups, and what the user can do."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual import work
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from kgtui.model.event import EventKind
from kgtui.model.number_format import counted
from kgtui.model.slices import Slices
from kgtui.tui import text
from kgtui.tui.recording import disappeared_at

if TYPE_CHECKING:
    from kgtui.model.absence import NoMatch
    from kgtui.model.query import Query
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.session import ClusterLabel, Session

Paragraphs = list[tuple[str, str]]
"""Lines of text, each as (text without control characters, theme color, such as `kg-muted`).

If the theme color is empty, the line has the default color.
"""


_LOWER_BOUNDS: Paragraphs = [
    ("You are allowed to describe only some topics, so each lag is a lower bound.", "kg-muted"),
    ("A filter on lag finds a group only if its lower bound and all higher lags match the filter.", "kg-muted"),
]


SLICE_SECONDS = 0.005
"""Maximum time for which one step of the search for similar group ids blocks the event loop, in seconds."""

_RECORDING_DELAY = 1.0
"""Delay before the recording is searched for a deleted group whose id is the typed filter, in seconds.

Each further character that the user types restarts the delay, so that kgtui does not search for an incomplete id.
"""


class EmptyState(Static):
    """The text that is shown instead of an empty tree. It is hidden while the tree shows groups."""

    DEFAULT_CSS = """
    EmptyState { height: 1fr; padding: 1 2; display: none; }
    EmptyState.-visible { display: block; }
    """

    class Explained(Message):
        """Posted when this widget has found out why no group matches the filter.

        Attributes:
            meant: the filter that the user probably meant; empty if there is no suggestion.
        """

        def __init__(self, meant: str) -> None:
            super().__init__()
            self.meant = meant

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._paragraphs: Paragraphs | None = None
        self._explained: tuple[object, ...] = ()
        self._why: NoMatch | None = None
        self._gone_at: dict[str, float | None] = {}

    def show(self, snapshot: Snapshot, session: Session, query: Query | None) -> bool:
        """Show why the tree is empty, or hide this widget if the tree has rows. Return whether the widget is visible.

        `query` is the filter if no group matches the filter, and None otherwise.
        """
        key = () if query is None else (query, len(snapshot.groups), snapshot.swept)
        if key != self._explained:
            if not self._explained or query != self._explained[0]:
                self._why = None
            self._explained = key
            if query is None:
                self.workers.cancel_group(self, "explain")
            else:
                self._explain(snapshot, session, query)
        gone_at = None if self._why is None else self._gone_at.get(self._why.word or "")
        interval = 0.0 if session.monitor is None else session.monitor.interval
        target = session.target
        self._write(empty_state(snapshot, target, query=query, interval=interval, why=self._why, gone_at=gone_at))
        return self._paragraphs is not None

    def _write(self, paragraphs: Paragraphs | None) -> None:
        if paragraphs != self._paragraphs:
            self._paragraphs = paragraphs
            self.set_class(paragraphs is not None, "-visible")
            parts = [(f"{line}\n", f"${role}" if role else "") for line, role in paragraphs or []]
            self.update(Content.assemble(*parts))

    @work(exclusive=True, group="explain", exit_on_error=False, description="explain")
    async def _explain(self, snapshot: Snapshot, session: Session, query: Query) -> None:
        """Find out why no group matches the filter, and show the reason.

        If the filter may be the id of a deleted group, then search the recording for this group, and show when it
        disappeared. This search can take seconds.
        """
        # `no_match_steps` is imported here, so that kgtui starts faster.
        from kgtui.model.absence import no_match_steps

        self._why = await Slices(asyncio.sleep, SLICE_SECONDS).run(no_match_steps(query, snapshot))
        self.post_message(self.Explained("" if self._why.meant is None else self._why.meant.describe()))
        self.show(snapshot, session, query)
        word = self._why.word
        if word is None or word in self._gone_at or self._why.excluded:
            return
        await asyncio.sleep(_RECORDING_DELAY)
        self._gone_at[word] = await asyncio.to_thread(disappeared_at, session, word)
        self.show(snapshot, session, query)


_MOST_DELETED_NAMED = 3
"""Maximum number of deleted or expired groups that the text names."""


def empty_state(
    snapshot: Snapshot,
    target: ClusterLabel,
    *,
    query: Query | None,
    interval: float,
    why: NoMatch | None = None,
    gone_at: float | None = None,
) -> Paragraphs | None:
    """Return the text that says why no groups are shown; None if the tree shows groups.

    Args:
        query: the filter, if no group matches it; otherwise None.
        interval: time between two polls, in seconds.
        why: the reason why no group matches the filter; None if not known yet.
        gone_at: time at which a group disappeared, in epoch seconds, read from the recording. The id of this group is
            the filter. None if the time is unknown, or if the filter is not the id of a deleted group.
    """
    if snapshot.groups:
        return None if query is None else _filtered_out(snapshot, query, why, gone_at)
    answered = [status for status in snapshot.brokers.values() if status.answered_at is not None]
    failed = [status.fault for status in snapshot.brokers.values() if status.fault is not None]
    forbidden = next((f for f in (*snapshot.faults, *failed) if f.name.endswith("AUTHORIZATION_FAILED")), None)
    if forbidden is not None:
        return _forbidden(forbidden.message)
    if answered and all(status.groups is not None for status in answered):
        return _no_groups(len(answered), len(snapshot.brokers))
    if snapshot.faults or failed:
        return _unreachable(snapshot, target, interval)
    where = text.plain(target.bootstrap or target.name, 60)
    if snapshot.brokers:
        brokers = counted(len(snapshot.brokers), "broker")
        return [(f"Reading the groups of {brokers}{text.marks().ellipsis}", "kg-muted")]
    return [(f"Connecting to {where}{text.marks().ellipsis}", "kg-muted")]


def _filtered_out(snapshot: Snapshot, query: Query, why: NoMatch | None, gone_at: float | None) -> Paragraphs:
    return [
        (f"No group matches. The cluster has {counted(len(snapshot.groups), 'group')}.", ""),
        *((line, "kg-warn") for line in _gone(snapshot, query)),
        *(_why_no_match(snapshot, why, gone_at) if why is not None else ()),
        ("Press esc to clear the filter, / to change it, ? to list the filter terms.", "kg-muted"),
        *(_LOWER_BOUNDS if snapshot.hides_topics else ()),
    ]


def _why_no_match(snapshot: Snapshot, why: NoMatch, gone_at: float | None) -> Paragraphs:
    from kgtui.model.absence import why_not_listed

    if why.meant is not None:
        return [(f"Did you mean {text.plain(why.meant.describe(), 200)}?", "kg-accent")]
    if why.excluded:
        example = text.plain(why.example, 60, cut="middle")
        what = f"The id {example} matches" if why.excluded == 1 else f"{why.excluded:,} ids match, such as {example}"
        return [(f"{what}, but other terms of the filter exclude {_them(why.excluded)}.", "kg-warn")]
    lines: Paragraphs = []
    if why.similar:
        names = ", ".join(text.plain(name, 60, cut="middle") for name in why.similar)
        lines.append((f"Similar: {names}", "kg-accent"))
    if why.word is not None:
        sentences = why_not_listed(snapshot, why.word, text.date_seconds, gone_at=gone_at, events=False, whole=False)
        lines += [(text.plain(line, 400), "") for line in sentences]
    return lines


def _them(count: int) -> str:
    return "it" if count == 1 else "them"


def _gone(snapshot: Snapshot, query: Query) -> list[str]:
    found: dict[str, float] = {}
    for event in reversed(snapshot.events):
        group = event.group
        if event.kind is not EventKind.DISAPPEARED or group is None or group in snapshot.groups or group in found:
            continue
        if query.terms and query.matches_event(event, snapshot):
            found[group] = event.at
            if len(found) == _MOST_DELETED_NAMED:
                break
    return [
        f"{text.plain(group, 60, cut='middle')}: deleted or expired at {text.clock(at)}" for group, at in found.items()
    ]


def _forbidden(message: str) -> Paragraphs:
    return [
        ("This user is not allowed to list groups.", "kg-error"),
        (text.plain(" ".join(message.split())), ""),
        ("", ""),
        ("Ask for the ACL operation DESCRIBE on Cluster to see every group,", ""),
        ("or for DESCRIBE on Groups (by name or prefix) to see only some groups.", ""),
        ("kafka-acls.sh --add --allow-principal User:NAME --operation Describe --cluster", "kg-accent"),
    ]


def _no_groups(answered: int, brokers: int) -> Paragraphs:
    verb = "answers" if answered == 1 else "answer"
    answers = "The broker answers" if brokers == 1 else f"{answered} of {brokers} brokers {verb}"
    return [
        (f"{answers}, but there is no group that this user is allowed to see.", ""),
        ("", ""),
        ("A group appears here as soon as a member joins or an offset is committed.", "kg-muted"),
        ("Brokers leave out groups that a user is not allowed to see, and report no error.", "kg-muted"),
        ("If you expect groups here, ask for DESCRIBE on Cluster, or on these groups.", "kg-muted"),
    ]


def _unreachable(snapshot: Snapshot, target: ClusterLabel, interval: float) -> Paragraphs:
    marks = text.marks()
    faults = [(status.address, status.fault) for status in snapshot.brokers.values() if status.fault]
    lines = [f"{text.plain(address, 40)}  {_one_line(fault.message or fault.name)}" for address, fault in faults]
    lines += [_one_line(fault.message or fault.name) for fault in snapshot.faults]
    advice = dict.fromkeys(fault.advice for fault in (*(f for _, f in faults), *snapshot.faults) if fault.advice)
    return [
        (f"No broker of {text.plain(target.name, 40)} answers.", "kg-error"),
        ("", ""),
        ("Tried:", ""),
        *((f"  {marks.fault} {line}", "kg-warn") for line in dict.fromkeys(lines)),
        ("", ""),
        ("What to do:", ""),
        *((f"  {marks.arrow} {_one_line(sentence)}", "") for sentence in advice),
        (f"  {marks.arrow} check the address and port, and whether a listener for this network is advertised", ""),
        (f"  {marks.arrow} check security.protocol in --command-config, if the listener requires TLS or SASL", ""),
        ("", ""),
        (f"kgtui tries again, first every {interval:g} s, later less often; groups appear as soon as a broker answers.",
         "kg-muted"),
    ]  # fmt: skip


def _one_line(message: str) -> str:
    return text.plain(" ".join(message.split()), 300)
