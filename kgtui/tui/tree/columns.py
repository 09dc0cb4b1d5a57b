"""The columns of the tree: titles, widths, cells, and the choice of the columns that fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from kgtui.model import facts
from kgtui.model.encoded_trail import SAMPLES
from kgtui.model.judgment import NOT_READ, Basis
from kgtui.model.problem import PROBLEM_TEXTS, SEVERITY, GroupStatus
from kgtui.model.snapshot import FRESH_HEALTH
from kgtui.tui import text
from kgtui.tui.sparkline import spark_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kgtui.model.judgment import Judgment
    from kgtui.model.offsets import LagTotal
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.tree.grouping import Grouping

Piece = tuple[str, str]
"""(text, color role). Each color role has a CSS class: the role `lag`, for example, has `group-tree--lag`."""

FRESH_SECONDS = 15.0
"""Maximum age of current data, in seconds. If the data of a group is older, the row of the group shows its age."""

LAG_WIDTH = 9
_NAME_WIDTHS = (16, 22, 28, 28, 34)
"""Minimum widths of the group names, in terminal cells.

The first width is the minimum if one column is shown beside the names, the second is the minimum for two columns, and
so on. The last width is the minimum for five or more columns.
"""
_UNCHANGED = 0.05
"""A change of the lag is shown as 0 if the lag grows or shrinks by less than this many records per second."""
_WITH_FRACTION = 10.0
"""A change of the lag is shown with one decimal place if it is smaller than this, in records per second."""

_SMALLEST_AGE_BOUND = 10.0
"""Smallest lower bound that is shown in the column `time lag` (age of the oldest unread record), in seconds.

If kgtui knows only that the record is at least 20 s old, it shows `≥ 20 s`. But if the lower bound is below this
constant, kgtui shows the age as unknown.
"""


@dataclass(frozen=True, slots=True)
class TreeRow:
    """The values in the row of one group.

    Attributes:
        members: number of members; None if unknown.
        total: total lag; None if it has not been read.
        age: age of the data in seconds; None if the data is current, or if the group has not been read.
        judgment: status (such as OK or WARN) and problem of the group.
        judgment_stale: whether `judgment` (status and problem) is based on old data.
        lags: total lag in each of the last few background reads of the group, oldest first.
        trend: change of the lag in records per second; None if unknown.
        time_lag: (age of the oldest unread record in seconds, whether this age is a lower bound). If the age is
            unknown, the first element is None. If the lag is unknown, too, `time_lag` itself is None.
    """

    group: str
    state: str | None
    members: int | None
    total: LagTotal | None
    age: float | None = None
    marked: bool = False
    judgment: Judgment = NOT_READ
    judgment_stale: bool = False
    lags: tuple[int, ...] = ()
    trend: float | None = None
    time_lag: tuple[float | None, bool] | None = None

    def role(self, value: float | None) -> str:
        """Return the color role of a number in this row.

        The role is `stale` if the data of the group is old. For current data, it is `muted` if the number is 0 or None,
        and `lag` for all other numbers.
        """
        if self.age is not None:
            return "stale"
        return "lag" if value else "muted"


def tree_row(snapshot: Snapshot, group: str, total: LagTotal | None, *, marked: bool) -> TreeRow:
    """Return the values for the row of a group. If the newest read failed, the values are from an earlier read."""
    at, lag_at = facts.read_at(snapshot, group), facts.lag_read_at(snapshot, group)
    age = None if at is None or snapshot.taken_at - at <= FRESH_SECONDS else snapshot.taken_at - at
    if lag_at is not None and facts.lag_is_outdated(snapshot, group):
        age = snapshot.taken_at - lag_at
    judgment, health = snapshot.judgment(group), snapshot.health.get(group)
    observed_at = snapshot.taken_at if health is None or health.read_at is None else health.read_at
    return TreeRow(
        group,
        state=snapshot.state_of(group),
        members=facts.member_count(snapshot, group),
        total=total,
        age=age,
        marked=marked,
        judgment=judgment,
        judgment_stale=judgment.basis is Basis.OBSERVED and snapshot.taken_at - observed_at > FRESH_HEALTH,
        lags=facts.lag_samples(snapshot, group),
        trend=facts.lag_trend(snapshot, group),
        time_lag=facts.time_lag(snapshot, group),
    )


@dataclass(frozen=True, slots=True)
class TreeColumn:
    """One column of the tree, to the right of the names.

    Attributes:
        title: title in the heading; may be empty.
        width: width in terminal cells, including the blank to the left.
        meaning: what the column shows, for the dialog in which the user chooses columns.
        sort: value by which a click on the title sorts the groups, as a key of `SORT_KEYS`.
        cell: returns (text, color role) for the row of a group.
    """

    id: str
    title: str
    width: int
    meaning: str
    sort: str
    cell: Callable[[TreeRow], Piece]


@dataclass(frozen=True, slots=True)
class FittedColumns:
    """The columns that fit the width of the tree.

    Attributes:
        name: width of the group names in terminal cells.
        shown: the columns to the right of the names, from left to right.
    """

    name: int
    shown: tuple[TreeColumn, ...]

    def width(self, column: str) -> int:
        """Return the width of a column in terminal cells; 0 if it is not shown."""
        return next((shown.width for shown in self.shown if shown.id == column), 0)

    @property
    def before_numbers(self) -> int:
        """Width available for the name of a tree node, in terminal cells.

        It includes the columns `problem` and `state`, because these columns are empty in the row of a tree node.
        """
        return self.name + self.width("problem") + self.width("state")

    @property
    def numbers(self) -> tuple[TreeColumn, ...]:
        """The shown columns except `problem` and `state`, from left to right."""
        return tuple(column for column in self.shown if column.id not in ("problem", "state"))

    def column_at(self, x: int) -> TreeColumn | None:
        """Return the column at terminal cell `x` of a row; None if the name of the group or node is there."""
        end = self.name + 1
        for column in self.shown:
            start, end = end, end + column.width
            if start <= x < end:
                return column
        return None


@lru_cache(maxsize=64)
def fit_columns(width: int, chosen: Sequence[str], grouping: Grouping) -> FittedColumns:
    """Return the columns that fit into the tree. The names of nodes and groups get the remaining width.

    Args:
        width: width of the tree in terminal cells.
        chosen: ids of the columns, the most important first. A column is left out if it does not fit beside the more
            important columns.
        grouping: grouping of the tree. The column `state` is left out if the tree nodes already show the states.
    """
    name, shown = width - 2, set[str]()
    for column in (COLUMNS[one] for one in chosen):
        if column.id == "state" and grouping in _WITH_STATES:
            continue
        if name - column.width >= _NAME_WIDTHS[min(len(shown), len(_NAME_WIDTHS) - 1)]:
            name -= column.width
            shown.add(column.id)
    return FittedColumns(max(name, 1), tuple(column for column in COLUMNS.values() if column.id in shown))


_WITH_STATES: frozenset[Grouping] = frozenset({"type", "state", "coordinator"})


_VERDICTS = {severity: status.name for status, severity in SEVERITY.items()}
"""Severity (`Judgment.severity`) → name of the status of a group, such as WARN or ERR."""


def severity_mark(level: int) -> Piece:
    """Return (symbol, color role) for a severity (`Judgment.severity`). For 0 (no problem), the symbol is empty."""
    return (text.verdict_mark(_VERDICTS[level]), text.verdict_role(_VERDICTS[level])) if level else ("", "muted")


def status_mark(row: TreeRow) -> Piece:
    """Return (symbol, color role) of a group's problem or, if the group has no problem, of its state.

    If kgtui has found the problem in old data, the color role is `stale`.

    The symbol of state Stable is a check mark, which users understand as OK. Therefore, if a Stable group has no
    problem, but its status is not OK (for example UNKNOWN), the symbol is a dot instead.
    """
    level = row.judgment.severity
    if not level and row.judgment.status is not GroupStatus.OK and text.state_mark(row.state) == text.marks().stable:
        return text.marks().dot, "muted"
    if not level:
        return text.state_mark(row.state), text.state_role(row.state)
    mark, role = severity_mark(level)
    return mark, "stale" if row.judgment_stale else role


def _problem(row: TreeRow) -> Piece:
    kind = row.judgment.kind
    return "" if kind is None else PROBLEM_TEXTS[kind].label, status_mark(row)[1]


def _state(row: TreeRow) -> Piece:
    return text.plain(row.state, COLUMNS["state"].width - 1) if row.state else text.marks().unknown, "muted"


def _members(row: TreeRow) -> Piece:
    return text.marks().unknown if row.members is None else text.short(row.members), row.role(row.members)


def _lag(row: TreeRow) -> Piece:
    if row.total is None:
        return text.marks().unknown, row.role(None)
    return text.lag(row.total.lag, row.total.lower_bound), row.role(row.total.lag)


def _has_lag(row: TreeRow) -> bool:
    return row.total is not None and row.total.lag is not None


def _plot(row: TreeRow) -> Piece:
    if len(row.lags) < 2 or not _has_lag(row):
        return "", "muted"
    return spark_rows(row.lags, 1, max(row.lags))[0], "muted" if row.age is None else "stale"


def _trend(row: TreeRow) -> Piece:
    if row.trend is None or not _has_lag(row):
        return text.marks().unknown if row.total is None or _has_lag(row) else text.marks().none, row.role(None)
    if abs(row.trend) < _UNCHANGED:
        return "0", row.role(None)
    short = f"{row.trend:.1f}" if abs(row.trend) < _WITH_FRACTION else text.short(round(row.trend))
    return ("+" if row.trend > 0 else "") + short, row.role(row.trend)


def _time_lag(row: TreeRow) -> Piece:
    if not _has_lag(row):
        return text.marks().unknown if row.total is None else text.marks().none, row.role(None)
    seconds, at_least = row.time_lag or (None, False)
    if seconds is None or (at_least and seconds < _SMALLEST_AGE_BOUND):
        return text.marks().unknown, row.role(None)
    if not seconds:
        return "0 s", row.role(None)
    return (text.marks().at_least if at_least else "") + text.coarse_age(seconds), row.role(seconds)


def _age(row: TreeRow) -> Piece:
    return "" if row.age is None else text.coarse_age(row.age), "stale"


COLUMNS: dict[str, TreeColumn] = {
    column.id: column
    for column in (
        TreeColumn("problem", "problem", 10, "the problem of the group", "verdict", _problem),
        TreeColumn("state", "state", 13, "the state, unless the tree nodes show it", "state", _state),
        TreeColumn("members", "count", 8, "the members of a group, or the groups in a node", "members", _members),
        TreeColumn("lag", "lag", LAG_WIDTH, "the total lag in records", "lag", _lag),
        TreeColumn("plot", "plot", SAMPLES + 1, "a plot of the lag in the last reads", "trend", _plot),
        TreeColumn("trend", "lag/s", 7, "how fast the lag changes, in records per second", "trend", _trend),
        TreeColumn("timelag", "time lag", 10, "the age of the oldest unread record", "timelag", _time_lag),
        TreeColumn("age", "", 7, "the age of the data, if it is old", "age", _age),
    )
}  # fmt: skip
"""Id of a column of the tree → column, from left to right."""
