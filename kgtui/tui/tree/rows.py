"""Compose the rows of the tree from pieces of text with color roles, in columns that fit the width of the tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model.judgment import NOT_READ, SEVERITY, Problem
from kgtui.model.query.sort_keys import NAME, SORT_KEYS
from kgtui.tui import text
from kgtui.tui.tree.grouping import shared_state
from kgtui.tui.tree.totals import NodeTotal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgtui.model.judgment import Judgment
    from kgtui.model.offsets import LagTotal
    from kgtui.tui.tree.grouping import Node, TreeNodes

COUNT_WIDTH = 8
LAG_WIDTH = 9
AGE_WIDTH = 7
VERDICT_WIDTH = 10
_NARROWEST_NAME = 22


@dataclass(frozen=True, slots=True)
class TreeColumns:
    """Widths of the columns of the tree, in terminal cells. A column that does not fit is left out and has width 0."""

    name: int
    count: int
    lag: int
    age: int
    verdict: int


@dataclass(frozen=True, slots=True)
class TreeLine:
    """The content of one row. A row is drawn again only if its content differs from what was drawn last.

    Attributes:
        pieces: pairs (text, color role), which together fill the width of the tree.
        cursor: whether the cursor is on the row.
    """

    pieces: tuple[tuple[str, str], ...]
    cursor: bool = False


@dataclass(frozen=True, slots=True)
class TreeRow:
    """The values in the row of one group.

    Attributes:
        members: number of members; None if it is unknown.
        total: total lag of the group; None if it has not been read yet.
        age: age of the group's data in seconds if the data is old; None if it is current.
        judgment: status and problem of the group.
        judgment_stale: whether the judgment is based on old data.
    """

    group: str
    state: str | None
    members: int | None
    total: LagTotal | None
    age: float | None = None
    marked: bool = False
    judgment: Judgment = NOT_READ
    judgment_stale: bool = False


def column_widths(width: int) -> TreeColumns:
    """Return the widths of the columns for a tree of this width in terminal cells.

    The name column gets all cells that the other columns do not need. In a narrow tree, columns are left out in this
    order: age, problem, count, lag. Without the problem column, the mark in front of a group's name still shows how
    severe the problem is. One cell stays empty at each end of the line.
    """
    room = width - 2
    lag = LAG_WIDTH if room - LAG_WIDTH >= _NARROWEST_NAME - 6 else 0
    count = COUNT_WIDTH if lag and room - lag - COUNT_WIDTH >= _NARROWEST_NAME else 0
    verdict = VERDICT_WIDTH if count and room - lag - count - VERDICT_WIDTH >= _NARROWEST_NAME + 10 else 0
    name = room - lag - count - verdict
    age = AGE_WIDTH if verdict and name - AGE_WIDTH >= _NARROWEST_NAME + 6 else 0
    return TreeColumns(max(name - age, 1), count, lag, age, verdict)


def heading_line(width: int, grouping: str, sort: str, descending: bool) -> TreeLine:
    """Return the line above the tree: the grouping and the titles of the columns.

    The title of the column by which groups are sorted ends with `+` (ascending) or `-` (descending). A sort key that
    has no column is shown behind the grouping, for example `by state, age-`.

    Args:
        width: width of the tree in terminal cells.
        grouping: name of the grouping, such as `by type, state`.
        sort: a key of `SORT_KEYS`.
    """
    wide = column_widths(width)
    sign = {True: "-", False: "+"}[descending]
    titles = {key: SORT_KEYS[key].column + (sign if key == sort else "") for key in ("members", "lag")}
    roles = {key: "sorted" if key == sort else "heading" for key in titles}
    by_name = sort == NAME and not descending
    left = f" {grouping}" + ("" if sort in titles or by_name else f", {sort}{sign}")
    right = _right(wide, titles["members"], roles["members"], titles["lag"], roles["lag"], "")
    return _joined([(text.pad(left, wide.name + wide.verdict + 1), "heading"), *right], cursor=False)


def node_line(
    node: Node, nodes: TreeNodes, total: NodeTotal | None, width: int, *, opened: bool, cursor: bool, title: str = ""
) -> TreeLine:
    """Return the row of a node: name, number of groups with the worst status, number of all groups, and total lag.

    Args:
        total: total lag of the groups; None if it has not been computed yet.
        width: width of the tree in terminal cells.
        title: name of the cluster, which the row of the root shows.
        opened: whether the node is open.
        cursor: whether the cursor is on this row.
    """
    wide = column_widths(width)
    marks = text.marks()
    indent = "  " * node.depth
    state = shared_state(node, nodes.grouping)
    shown_state = state is not None and state == node.key
    total = total or NodeTotal(None, node.count)
    problems = _problem_count(total)
    name_width = max(wide.name + wide.verdict - len(indent) - 2 - (2 if shown_state else 0) - len(problems), 1)
    if not node.path:
        name_width += 2
        name = text.plain(title, name_width, cut="middle")
    elif nodes.keys_from_cluster:
        name = text.plain(node.key, name_width)
    else:
        name = text.fit(text.dotted(node.key), name_width, cut="middle")
    lag = text.lag(total.lag, total.lower_bound)
    return _joined(
        [
            (" " + indent, "node"),
            (f"{marks.opened if opened else marks.closed} " if node.path else "", "guide"),
            *([(f"{text.state_mark(state)} ", text.state_role(state))] if shown_state else []),
            (text.pad(name, name_width), "node"),
            (problems, _severity_role(total.severity)),
            *_right(wide, text.exact(node.count), "count", lag, "lag" if total.lag else "muted", ""),
        ],
        cursor=cursor,
    )


def group_line(row: TreeRow, depth: int, width: int, *, cursor: bool) -> TreeLine:
    """Return the row of a group: marks, name, problem, number of members, lag, and age of the data if it is old.

    Args:
        depth: level of indentation of the row.
        width: width of the tree in terminal cells.
        cursor: whether the cursor is on this row.
    """
    wide = column_widths(width)
    marks = text.marks()
    indent = "  " * depth
    name_width = max(wide.name - len(indent) - 2, 1)
    name = text.plain(row.group, name_width, cut="middle")
    total = row.total
    lag = marks.unknown if total is None else text.lag(total.lag, total.lower_bound)
    members = marks.unknown if row.members is None else text.short(row.members)
    stale = row.age is not None
    mark, role = _status_mark(row)
    problem = row.judgment.kind
    return _joined(
        [
            (marks.marked, "mark") if row.marked else (" ", "leaf"),
            (indent, "leaf"),
            (f"{mark} ", role),
            (text.pad(name, name_width), "stale" if stale else "leaf"),
            (text.pad("" if problem is None else _LABELS[problem], wide.verdict, right=True), role),
            *_right(
                wide, members, _role(stale, row.members), lag, _role(stale, total.lag if total else None),
                coarse_age(row.age) if stale else "",
            ),
        ],
        cursor=cursor,
    )  # fmt: skip


def coarse_age(seconds: float | None) -> str:
    """Format the age of data that was not read recently.

    An age below ten seconds is written as `<10 s`. An age below a minute is rounded down to a multiple of ten seconds.
    Without this rounding, all rows with groups of a broker that does not respond would be drawn again after each poll.
    """
    if seconds is not None and seconds < 10:
        return "<10 s"
    if seconds is not None and seconds < 60:
        seconds -= seconds % 10
    return text.age(seconds)


_LABELS = {
    **{problem: problem.value for problem in Problem},
    Problem.LOSS_NEAR: "expiring",
    Problem.BEHIND: "behind",
    Problem.NO_PARTITIONS: "idle",
    Problem.REBALANCING: "rebalance",
    Problem.UNREADABLE: "unread",
}
"""Problem → its name in the problem column of the tree, which is `VERDICT_WIDTH` cells wide."""


_VERDICTS = {severity: status.name for status, severity in SEVERITY.items()}
"""`Judgment.severity` → name of the status (WARN or ERR), for severities above 0."""


def _severity_role(level: int) -> str:
    """Return the color role of a `Judgment.severity`."""
    return text.verdict_role(_VERDICTS[level]) if level else "muted"


def _problem_count(total: NodeTotal) -> str:
    """Return the mark of the worst status in a node and the number of groups with it, such as `✘2`.

    Return an empty string if no group in the node has a problem.
    """
    return f" {text.verdict_mark(_VERDICTS[total.severity])}{text.short(total.problems)}" if total.severity else ""


def _status_mark(row: TreeRow) -> tuple[str, str]:
    """Return the mark in front of a group's name, and its color role.

    The mark shows how severe the problem of the group is, or the state of a group without a problem.
    """
    level = row.judgment.severity
    if not level:
        return text.state_mark(row.state), text.state_role(row.state)
    return text.verdict_mark(_VERDICTS[level]), "stale" if row.judgment_stale else _severity_role(level)


def _role(stale: bool, value: int | None) -> str:
    if stale:
        return "stale"
    return "lag" if value else "muted"


def _right(wide: TreeColumns, count: str, count_role: str, lag: str, lag_role: str, age: str) -> list[tuple[str, str]]:
    pieces = []
    if wide.count:
        pieces.append((text.pad(count, wide.count, right=True), count_role))
    if wide.lag:
        pieces.append((text.pad(lag, wide.lag, right=True), lag_role))
    if wide.age:
        pieces.append((text.pad(age, wide.age, right=True), "stale"))
    return [*pieces, (" ", "leaf")]


def _joined(pieces: Iterable[tuple[str, str]], *, cursor: bool) -> TreeLine:
    """Return a line of pairs (text, role). Pieces are joined, so that less output is written to the terminal.

    Neighboring pieces with the same role are joined, and blanks are joined with the piece before them.
    """
    joined: list[tuple[str, str]] = []
    for piece, role in pieces:
        if joined and (role == joined[-1][1] or piece.isspace()):
            joined[-1] = joined[-1][0] + piece, joined[-1][1]
        elif piece:
            joined.append((piece, role))
    return TreeLine(tuple(joined), cursor)
