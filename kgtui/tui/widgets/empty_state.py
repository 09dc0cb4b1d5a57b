"""The text that replaces an empty tree. It says why no groups are shown, and what the user can do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from kgtui.model.event import EventKind
from kgtui.tui import text

if TYPE_CHECKING:
    from kgtui.model.query import Query
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.session import Target

Paragraphs = list[tuple[str, str]]
"""Lines as pairs (text without control characters, color role)."""


_LOWER_BOUNDS: Paragraphs = [
    ("You may describe only some topics, so that each lag is a lower bound.", "kg-muted"),
    ("A filter on the lag selects a group only if every possible lag of the group matches.", "kg-muted"),
]


class EmptyState(Static):
    """Widget with the text that replaces an empty tree. It is hidden while the tree shows groups."""

    DEFAULT_CSS = """
    EmptyState { height: 1fr; padding: 1 2; display: none; }
    EmptyState.-visible { display: block; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._paragraphs: Paragraphs | None = None

    def show(self, paragraphs: Paragraphs | None) -> None:
        """Show these lines, or hide the widget if `paragraphs` is None."""
        if paragraphs != self._paragraphs:
            self._paragraphs = paragraphs
            self.set_class(paragraphs is not None, "-visible")
            parts = [(f"{line}\n", f"${role}" if role else "") for line, role in paragraphs or []]
            self.update(Content.assemble(*parts))


_MOST_GONE = 3
"""Maximum number of deleted or expired groups that the text names."""


def empty_state(
    snapshot: Snapshot, target: Target, *, filtered_out: bool, interval: float, query: Query | None = None
) -> Paragraphs | None:
    """Return the text that says why no groups are shown; None if the tree shows groups.

    Args:
        filtered_out: whether a filter is active that no group matches.
        interval: time between two polls, in seconds.
        query: the filter; None if there is none.
    """
    if snapshot.groups:
        return _filtered_out(snapshot, query) if filtered_out else None
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
        brokers = "broker" if len(snapshot.brokers) == 1 else "brokers"
        return [(f"Reading the groups of {len(snapshot.brokers)} {brokers}{text.marks().ellipsis}", "kg-muted")]
    return [(f"Connecting to {where}{text.marks().ellipsis}", "kg-muted")]


def _filtered_out(snapshot: Snapshot, query: Query | None) -> Paragraphs:
    count = len(snapshot.groups)
    return [
        (f"No group matches. The cluster has {text.exact(count)} group{'' if count == 1 else 's'}.", ""),
        *((line, "kg-warn") for line in ([] if query is None else _gone(snapshot, query))),
        ("Press esc to clear the filter, / to change it, ? to list the filter terms.", "kg-muted"),
        *(_LOWER_BOUNDS if snapshot.hides_topics else ()),
    ]


def _gone(snapshot: Snapshot, query: Query) -> list[str]:
    """Return one line for each of the last deleted or expired groups that match the filter."""
    found: dict[str, float] = {}
    for event in reversed(snapshot.events):
        group = event.group
        if event.kind is not EventKind.DISAPPEARED or group is None or group in snapshot.groups or group in found:
            continue
        if query.terms and query.matches_event(event, snapshot):
            found[group] = event.at
            if len(found) == _MOST_GONE:
                break
    return [
        f"{text.plain(group, 60, cut='middle')}: deleted or expired at {text.clock(at)}" for group, at in found.items()
    ]


def _forbidden(message: str) -> Paragraphs:
    return [
        ("This user may not list groups.", "kg-error"),
        (text.plain(" ".join(message.split())), ""),
        ("", ""),
        ("Ask for the ACL operation DESCRIBE on Cluster to see every group,", ""),
        ("or for DESCRIBE on Groups (by name or prefix) to see only these groups.", ""),
        ("kafka-acls.sh --add --allow-principal User:NAME --operation Describe --cluster", "kg-accent"),
    ]


def _no_groups(answered: int, brokers: int) -> Paragraphs:
    verb = "answers" if answered == 1 else "answer"
    answers = "The broker answers" if brokers == 1 else f"{answered} of {brokers} brokers {verb}"
    return [
        (f"{answers}, but there is no group that this user may see.", ""),
        ("", ""),
        ("A group appears here as soon as a member joins or an offset is committed.", "kg-muted"),
        ("Brokers leave out groups that a user may not see, without an error.", "kg-muted"),
        ("If you expect groups here, ask for DESCRIBE on Cluster, or on these groups.", "kg-muted"),
    ]


def _unreachable(snapshot: Snapshot, target: Target, interval: float) -> Paragraphs:
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
        (f"kgtui tries again every {interval:g} s, and later less often; groups appear as soon as a broker answers.",
         "kg-muted"),
    ]  # fmt: skip


def _one_line(message: str) -> str:
    return text.plain(" ".join(message.split()), 300)
