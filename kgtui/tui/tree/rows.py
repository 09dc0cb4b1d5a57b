"""Compose the rows of the tree. A row consists of pieces of text, each with a color role such as `lag`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model.query.sort_keys import NAME
from kgtui.tui import text
from kgtui.tui.tree.columns import severity_mark, status_mark
from kgtui.tui.tree.grouping import shared_state
from kgtui.tui.tree.totals import NodeTotal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgtui.tui.tree.columns import FittedColumns, Piece, TreeColumn, TreeRow
    from kgtui.tui.tree.grouping import Node, TreeNodes


@dataclass(frozen=True, slots=True)
class TreeLine:
    """The content of one row of the tree.

    Attributes:
        pieces: pieces of text as (text, color role), from left to right. Together, they are as wide as the tree.
        cursor: whether the cursor is on the row. The row then has different colors.
    """

    pieces: tuple[tuple[str, str], ...]
    cursor: bool = False


def heading_line(columns: FittedColumns, grouping: str, sort: str, descending: bool) -> TreeLine:
    """Return the line above the tree: the grouping and the titles of the columns.

    `▴` (ascending) or `▾` (descending) follows the title of the column by which the groups are sorted. If this column
    is not shown or has no title, the sort key follows the grouping, as in `by state, age ▾`. For the default order
    (by name, ascending), neither an arrow nor a sort key is shown.

    Args:
        grouping: name of the grouping, such as `by type, state`.
        sort: value by which the groups are sorted, as a key of `SORT_KEYS`.
    """
    sign = f" {text.marks().opened if descending else text.marks().warn}"
    sorted_by = next((column.id for column in reversed(columns.shown) if column.title and column.sort == sort), None)
    by_name = sort == NAME and not descending
    left = f" {grouping}" + ("" if sorted_by is not None or by_name else f", {sort}{sign}")
    pieces = [(text.pad(left, columns.name + 1), "heading")]
    for column in columns.shown:
        chosen = column.id == sorted_by
        title = text.pad(column.title + (sign if chosen else ""), column.width, right=True)
        pieces.append((title, "sorted" if chosen else "heading"))
    return _join_pieces([*pieces, (" ", "leaf")], cursor=False)


def node_line(
    node: Node,
    nodes: TreeNodes,
    total: NodeTotal | None,
    columns: FittedColumns,
    *,
    opened: bool,
    cursor: bool,
    title: str = "",
) -> TreeLine:
    """Return the row of a tree node: name, number of groups with the most severe problem, number of groups, total lag.

    Args:
        total: total lag and problems of the groups under the node; None if they have not been computed yet.
        title: name of the cluster, which is shown in the row of the root node.
    """
    marks = text.marks()
    indent = "  " * node.depth
    state = shared_state(node, nodes.grouping)
    shown_state = state is not None and state == node.key
    total = total or NodeTotal(None, node.count)
    mark, mark_role = severity_mark(total.severity)
    problems = f" {mark}{text.short(total.problems)}" if mark else ""
    name_width = max(columns.before_numbers - len(indent) - 2 - (2 if shown_state else 0) - len(problems), 1)
    if not node.path:
        name_width += 2
        name = text.plain(title, name_width, cut="middle")
    elif nodes.keys_from_cluster:
        name = text.plain(node.key, name_width)
    else:
        name = text.fit(text.dotted(node.key), name_width, cut="middle")
    numbers: dict[str, Piece] = {
        "members": (text.exact(node.count), "count"),
        "lag": (text.lag(total.lag, total.lower_bound), "lag" if total.lag else "muted"),
    }
    return _join_pieces(
        [
            (" " + indent, "node"),
            (f"{marks.opened if opened else marks.closed} " if node.path else "", "guide"),
            *([_state_mark(state, total)] if shown_state else []),
            (text.pad(name, name_width), "node"),
            (problems, mark_role),
            *_padded((column, numbers.get(column.id, ("", "muted"))) for column in columns.numbers),
        ],
        cursor=cursor,
    )


def _state_mark(state: str | None, total: NodeTotal) -> Piece:
    """Return (symbol, color role) for the state that all groups of a tree node have.

    The symbol of state Stable is a check mark, which users understand as OK. Therefore, if the groups are Stable, but
    one of them has a problem or an unknown lag, the symbol is a dot instead.
    """
    mark, role = text.state_mark(state), text.state_role(state)
    if mark == text.marks().stable and (total.severity or total.unknown):
        mark, role = text.marks().dot, "muted"
    return f"{mark} ", role


def group_line(row: TreeRow, depth: int, columns: FittedColumns, *, cursor: bool) -> TreeLine:
    """Return the row of a group: the symbol of a marked group, the symbol of the status, the name, and the columns.

    `depth` is the level of indentation.
    """
    indent = "  " * depth
    name_width = max(columns.name - len(indent) - 2, 1)
    name = text.plain(row.group, name_width, cut="middle")
    mark, role = status_mark(row)
    return _join_pieces(
        [
            (text.marks().marked, "mark") if row.marked else (" ", "leaf"),
            (indent, "leaf"),
            (f"{mark} ", role),
            (text.pad(name, name_width), "leaf" if row.age is None else "stale"),
            *_padded((column, column.cell(row)) for column in columns.shown),
        ],
        cursor=cursor,
    )


def _padded(cells: Iterable[tuple[TreeColumn, Piece]]) -> list[Piece]:
    return [*((text.pad(content, column.width, right=True), role) for column, (content, role) in cells), (" ", "leaf")]


def _join_pieces(pieces: Iterable[tuple[str, str]], *, cursor: bool) -> TreeLine:
    """Join neighboring pieces of text that have the same color role, so that fewer bytes are sent to the terminal.

    A piece that contains only blanks always joins the piece before it.
    """
    joined: list[tuple[str, str]] = []
    for piece, role in pieces:
        if joined and (role == joined[-1][1] or piece.isspace()):
            joined[-1] = joined[-1][0] + piece, joined[-1][1]
        elif piece:
            joined.append((piece, role))
    return TreeLine(tuple(joined), cursor)
