"""Rows and columns of the tables on the node page: problems, changes, brokers, and groups by type and state."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model import facts
from kgtui.model.group_types import STATES
from kgtui.model.problem import Problem
from kgtui.monitor.sorted_ids import index_of
from kgtui.tui import text
from kgtui.tui.panes.cells import ERROR, MUTED, STALE, WARN, Cell, number_cell
from kgtui.tui.panes.columns import Column
from kgtui.tui.panes.overview_health import time_text
from kgtui.tui.sparkline import spark_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kgtui.model.event import Event
    from kgtui.model.judgment import Judgment
    from kgtui.model.snapshot import BrokerStatus, Snapshot
    from kgtui.tui.event_rows import EventRow


class ProblemRow(NamedTuple):
    """A row of the table of problems: a group that needs attention.

    Attributes:
        judgment: the problem of the group, with its reason and the time when it began.
        lag: total lag in records; None if unknown.
        lags: total lag in each of the last few reads of the group, oldest first.
        progress: time at which a committed offset last moved forward, in epoch seconds; None if not observed by kgtui.
        first_seen: time at which kgtui first read the group, in epoch seconds; None if kgtui has not read the group.
        lag_age: age of `lag` in seconds, only for a group that cannot be read now; otherwise None.
    """

    group: str
    judgment: Judgment
    lag: int | None
    lags: tuple[int, ...]
    progress: float | None = None
    first_seen: float | None = None
    lag_age: float | None = None


def problem_rows(snapshot: Snapshot, problems: Iterable[tuple[str, Judgment]]) -> list[ProblemRow]:
    """Return one row per group that has a problem, in the order of `problems`.

    Args:
        problems: (group id, problem with its reason) of each group.
    """
    rows = []
    for group, judgment in problems:
        summary = snapshot.summaries.get(group)
        lags = facts.lag_samples(snapshot, group)
        age = None
        if judgment.kind is Problem.UNREADABLE and summary is not None and summary.lag_at is not None:
            age = max(snapshot.taken_at - summary.lag_at, 0.0)
        progress, first_seen = facts.last_progress(snapshot, group), facts.first_seen(snapshot, group)
        lag = None if summary is None else summary.lag
        rows.append(ProblemRow(group, judgment, lag, lags, progress, first_seen, age))
    return rows


def _problem_name(row: ProblemRow) -> str:
    kind = row.judgment.kind
    return f"{text.verdict_mark(row.judgment.status.value)} {kind.value if kind is not None else ''}"


def _problem(row: ProblemRow) -> Cell:
    return Cell(_problem_name(row), text.verdict_role(row.judgment.status.value))


def _since(row: ProblemRow) -> str:
    judgment = row.judgment
    if judgment.after is not None and not judgment.since_seen:
        return f"after {_short_time(judgment.after)}"
    return judgment.since_text(_short_time).removeprefix("since ")


def _short_time(at: float) -> str:
    """Format a time as `01:29`, or as `11-23 01:29` if it is at least 12 hours before or after now."""
    shown = time_text(at)
    return shown if len(shown) <= len("01:29") else text.day_minutes(at)


def _lag(row: ProblemRow) -> Cell:
    """Return the cell with the lag. If the group cannot be read now, the cell also contains the age of the lag."""
    if row.lag is None or row.lag_age is None:
        return Cell(text.short(row.lag))
    return Cell(f"{text.short(row.lag)}, {text.coarse_age(row.lag_age)} ago", STALE)


def _spark(row: ProblemRow) -> str:
    return spark_rows(row.lags, 1, max(row.lags))[0] if len(row.lags) > 1 else ""


def _time(at: float | None) -> Cell:
    return Cell("" if at is None else time_text(at), MUTED)


PROBLEM_COLUMNS: tuple[Column[ProblemRow], ...] = (
    Column("problem", "problem", _problem_name, _problem, min_width=16),
    Column("group", "group", lambda row: row.group, min_width=16, max_width=48, cut="middle"),
    Column("since", "since", _since, lambda row: Cell(_since(row)), rank=1, min_width=17, max_width=28, if_values=True),
    Column("lag", "lag", lambda row: _lag(row).text, _lag, rank=3, right=True),
    Column(
        "plot",
        "plot",
        _spark,
        lambda row: Cell(_spark(row), MUTED),
        rank=4,
        min_width=5,
        max_width=5,
        if_values=True,
        not_over=("group",),
    ),
    Column("reason", "reason", lambda row: row.judgment.reason, rank=2, min_width=24, max_width=80),
    Column(
        "progress",
        "last progress",
        lambda row: _time(row.progress).text,
        lambda row: _time(row.progress),
        rank=5,
        if_spare=True,
    ),
    Column(
        "seen",
        "first seen",
        lambda row: _time(row.first_seen).text,
        lambda row: _time(row.first_seen),
        rank=6,
        if_spare=True,
    ),
)


EVENT_COLUMNS: tuple[Column[EventRow], ...] = (
    Column("time", "time", lambda row: text.clock(row.event.at), lambda row: Cell(text.clock(row.event.at), MUTED)),
    Column("group", "group", lambda row: row.event.group or f"broker {row.event.broker}", min_width=12, max_width=40,
           cut="middle"),
    Column("change", "change", lambda row: row.text, lambda row: Cell(row.text, MUTED if row.folded else ""),
           min_width=16, max_width=120),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BrokerRow:
    """A row of the table of brokers.

    Attributes:
        age: seconds since the broker's last successful response; None if there was none.
    """

    status: BrokerStatus
    groups: int
    age: float | None


def broker_rows(snapshot: Snapshot) -> list[BrokerRow]:
    """Return one row per broker, sorted by node id."""
    rows = []
    for _, status in sorted(snapshot.brokers.items()):
        age = None if status.answered_at is None else max(snapshot.taken_at - status.answered_at, 0.0)
        rows.append(BrokerRow(status, status.groups or 0, age))
    return rows


def _answer(row: BrokerRow) -> Cell:
    fault = row.status.fault
    if fault is None:
        took = _response_time(row.status.took_ms)
        if row.status.throttle_ms:
            return Cell(f"{took}, throttled for {text.milliseconds(row.status.throttle_ms)}", WARN)
        return Cell(took)
    return Cell(f"{text.marks().fault} {fault.message.splitlines()[0]}", ERROR)


def _response_time(milliseconds: float | None) -> str:
    # Show only `<100 ms` for a fast response. The exact time changes at each poll, so that the cell would be redrawn
    # at each poll.
    if milliseconds is None:
        return "no response yet"
    return "<100 ms" if milliseconds < 100 else text.milliseconds(milliseconds)


BROKER_COLUMNS: tuple[Column[BrokerRow], ...] = (
    Column("broker", "broker", lambda row: f"{row.status.node}", right=True),
    Column("address", "address", lambda row: row.status.address, rank=2, min_width=12, max_width=40, cut="middle"),
    Column("groups", "groups", lambda row: row.groups, lambda row: number_cell(row.groups), right=True),
    Column("age", "last response", lambda row: text.coarse_age(row.age), rank=1, right=True),
    Column("interval", "interval", lambda row: f"{row.status.interval:.3g} s", rank=3, right=True),
    Column("response", "response", lambda row: _answer(row).text, _answer, min_width=10, max_width=80),
)


class StateRow(NamedTuple):
    """A row of the table that counts groups by type and state: one type and protocol, with a count for each state.

    Attributes:
        label: type and protocol of the groups, such as `classic · connect`; `all` in the row with the totals.
        counts: state → number of groups.
    """

    label: str
    counts: Mapping[str, int]

    @property
    def total(self) -> int:
        """Number of groups in all states together."""
        return sum(self.counts.values())


def state_table(states: Mapping[tuple[str, str], int]) -> tuple[list[StateRow], list[Column[StateRow]]]:
    """Return (rows, columns) of the table that counts groups by type and state.

    There is one row per type and protocol. If there are several such rows, a row with the totals follows. There is one
    column for each state that occurs, and a column with the totals.

    Args:
        states: (label of type and protocol, state) → number of groups.
    """
    by_label: dict[str, Counter[str]] = {}
    for (label, state), count in states.items():
        by_label.setdefault(label, Counter())[state] += count
    rows = [StateRow(label, counts) for label, counts in sorted(by_label.items())]
    all_types = sum(by_label.values(), Counter())
    if len(rows) > 1:
        rows.append(StateRow("all", all_types))
    rank = {state: number for number, state in enumerate(STATES)}
    found = sorted({state for _, state in states}, key=lambda state: (rank.get(state, len(rank)), state))
    columns: list[Column[StateRow]] = [Column("type", "type", lambda row: row.label, min_width=28, max_width=28)]
    # On a narrow screen, columns with a high rank are left out first. Give the state with the most groups the lowest
    # rank, so that its column is left out last.
    frequent = [state for state, _ in all_types.most_common()]
    columns += [_state_column(state, frequent.index(state) + 1) for state in found]
    columns.append(Column("total", "total", lambda row: text.exact(row.total), right=True))
    return rows, columns


def _state_column(state: str, rank: int) -> Column[StateRow]:
    def count(state: str, row: StateRow) -> Cell:
        number = row.counts.get(state, 0)
        return Cell(text.exact(number), text.state_role(state)) if number else Cell(text.marks().none, MUTED)

    title = f"{text.state_mark(state)} {text.plain(state, 24)}"
    return Column(f"state-{state}", title, lambda row: row.counts.get(state, 0), partial(count, state),
                  rank=rank, right=True)  # fmt: skip


def events_of(events: Sequence[Event], groups: Sequence[Sequence[str]] | None, most: int) -> list[Event]:
    """Return the newest events of a set of groups, newest first.

    Args:
        events: all events, oldest first.
        groups: sorted lists with the ids of the groups. If None, the events of all groups and brokers are returned.
        most: maximum number of events.
    """
    chosen: list[Event] = []
    for event in reversed(events):
        group = event.group
        if groups is None or (group is not None and any(index_of(ids, group) is not None for ids in groups)):
            chosen.append(event)
            if len(chosen) >= most:
                break
    return chosen
