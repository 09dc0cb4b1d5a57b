"""The grid of the Assignments pane: one row per partition, one column per member, and a legend of the symbols."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rich.cells import cell_len

from kgtui.model.assignment import PlacementStatus
from kgtui.tui import text
from kgtui.tui.panes.assignment_rows import PlacementRow, status_word
from kgtui.tui.panes.cells import ACCENT, MUTED, OK, WARN, Cell, PaneLine, SafeText
from kgtui.tui.panes.columns import GAP, Column, preferred_width
from kgtui.tui.sparkline import BLOCKS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kgtui.model.assignment import Assignment

LONGEST_MEMBER_TITLE = 4
"""Maximum width, in terminal cells, of the title of a member's column. The title `-10` has a width of 3."""

TO_COME, TO_GO, IDLE, NOBODY = "+", "-", ":", "!"
_NAME, _OPEN = "item", "open"


@dataclass(frozen=True, slots=True)
class GridMember:
    """A member that has a column in the grid.

    Attributes:
        title: title of the member's column. It is the end of the member's name, such as `-10`. If the ends of the names
            are not unique, the titles of all members are numbers instead.
        idle: whether the member owns no partitions now, and has none in the target assignment.
        reported: whether the broker reported the member's assignment.
    """

    member_id: str
    name: str
    title: str
    idle: bool = False
    reported: bool = True


def grid_members(assignment: Assignment, names: Mapping[str, str]) -> list[GridMember]:
    """Return the members of the grid, sorted by name.

    Numbers in names are compared as numbers, so that `app-9` precedes `app-10`.

    Args:
        names: member id → name.
    """
    idle, unreported = set(assignment.idle), set(assignment.unreported)
    ids = sorted(names, key=lambda one: (_natural(names[one]), one))
    titles = _titles([names[one] for one in ids])
    return [
        GridMember(one, names[one], title, one in idle, one not in unreported)
        for one, title in zip(ids, titles, strict=True)
    ]


def _natural(name: str) -> list[tuple[int, int, str]]:
    parts = re.findall(r"\d{1,18}|\D+|\d+", name[:400])
    return [(0, int(part), "") if part.isascii() and part.isdigit() else (1, 0, part) for part in parts]


def _titles(names: Sequence[str]) -> list[str]:
    """Return a unique short title for each member: the end of its name, such as `-1`.

    If the ends of the names are not unique, return the numbers 1, 2 and so on instead.
    """
    shown = [text.plain(name, 40, cut="middle") for name in names]
    for length in range(1, LONGEST_MEMBER_TITLE + 1):
        ends = [name[-length:] for name in shown]
        if len(set(ends)) == len(ends) and all(end.strip() and cell_len(end) <= LONGEST_MEMBER_TITLE for end in ends):
            return ends
    return [str(number) for number in range(1, len(names) + 1)]


def grid_columns(
    rows: Sequence[PlacementRow], members: Sequence[GridMember], first: int, room: int
) -> tuple[list[Column[PlacementRow]], int]:
    """Return (columns of the grid, number of members whose columns fit the available width).

    The first column has the name of the partition or task. The second column has a `!` if the partition or task has no
    owner. The columns of the members follow.

    Args:
        first: index of the leftmost member that has a column.
        room: available width for all columns together, in terminal cells.
    """
    item: Column[PlacementRow] = Column(_NAME, "ITEM", item_name, min_width=14, max_width=44, cut="middle")
    width = max((cell_len(member.title) for member in members), default=1)
    preferred = min(preferred_width(item, rows), max(14, room - 2 - (width + GAP) * len(members)))
    left = room - max(14, min(preferred, room // 2 if room < 60 else room - 20)) - GAP - 2
    count = max(1, min(len(members) - first, left // (width + GAP)))
    columns: list[Column[PlacementRow]] = [
        item,
        Column(_OPEN, " ", lambda row: "", _open, min_width=1, max_width=1, full=_status),
    ]
    for member in members[first : first + count]:
        draw = partial(grid_mark, member)
        columns.append(
            Column(member.member_id, member.title, lambda row: "", lambda row, draw=draw: draw(row),  # type: ignore[misc]
                   right=True, max_width=width, min_width=width, full=lambda row: Cell(""))
        )  # fmt: skip
    return columns, count


def item_name(row: PlacementRow) -> str:
    """Return the name of a row: `orders-3` for a partition, `0_3 active` for a streams task.

    For a connector, return its name, such as `sink`. For a task of this connector, return `sink-0`.
    """
    item = row.placement.item
    if item.role in ("", "task"):
        return f"{item.name}-{item.number}"
    if item.role == "connector":
        return item.name
    return f"{item.name}_{item.number} {'warm-up' if item.role == 'warmup' else item.role}"


def grid_mark(member: GridMember, row: PlacementRow) -> Cell:
    """Return the cell that shows whether a member owns a partition, must revoke it, or will get it.

    If the member owns the partition and keeps it, the cell has a bar whose height shows the lag. If the member neither
    owns the partition nor will get it, the cell is normally empty. But if the member is idle, or if the broker did not
    report the member's assignment, the cell has a symbol for this.
    """
    placement = row.placement
    has = member.member_id in placement.owners
    goal = placement.targets
    if has:
        leaves = goal is not None and member.member_id not in goal
        return Cell(TO_GO, WARN) if leaves else _owned_mark(row)
    if goal is not None and member.member_id in goal:
        return Cell(TO_COME, ACCENT)
    if not member.reported:
        return Cell(text.marks().unknown, MUTED)
    return Cell(IDLE, WARN) if member.idle else Cell("")


def _owned_mark(row: PlacementRow) -> Cell:
    if not row.lag:
        return Cell(SafeText(text.marks().bar), OK)
    levels = _lag_levels()
    level = min(int(row.lag / row.scale * len(levels)), len(levels) - 1)
    return Cell(SafeText(levels[level]), WARN if 2 * row.lag >= row.scale else ACCENT)


def _lag_levels() -> str:
    return "12345678" if text.display_settings().ascii else BLOCKS[1:]


def _open(row: PlacementRow) -> Cell:
    return (
        Cell(NOBODY, WARN) if row.placement.status in (PlacementStatus.UNOWNED, PlacementStatus.ARRIVING) else Cell("")
    )


def _status(row: PlacementRow) -> Cell:
    status = f"{row.owners or 'no owner'}, {status_word(row.placement)}"
    if row.targets and row.targets != row.owners:
        status += f" {text.marks().arrow} {row.targets}"
    return Cell(status if row.lag is None else f"{status}, lag {text.exact(row.lag)}")


def legend(
    assignment: Assignment, members: Sequence[GridMember], at: int, first: int, count: int, scale: float = 0.0
) -> PaneLine:
    """Return the legend of the grid: the meaning of its symbols, and the name of the member that the user has chosen.

    Args:
        at: index of the chosen member.
        first: index of the leftmost member that has a column.
        count: number of members that have a column.
        scale: lag for which the grid shows the highest symbol (`█`); 0 if the grid shows no lag.
    """
    marks = [(text.marks().bar, "no lag" if scale else "owns", OK)]
    if assignment.targeted:
        marks += [(TO_COME, "to assign", ACCENT), (TO_GO, "to revoke", WARN)]
    if any(member.idle for member in members):
        marks.append((IDLE, "idle member", WARN))
    if assignment.unreported:
        marks.append((text.marks().unknown, "not reported", MUTED))
    if assignment.count(PlacementStatus.UNOWNED, PlacementStatus.ARRIVING):
        marks.append((NOBODY, "no owner", WARN))
    if scale:
        levels = _lag_levels()
        span = f"{levels[0]}{text.marks().ellipsis}{levels[-1]}"
        marks.append((span, f"lag, up to {text.short(round(scale))}", ACCENT))
    cells: list[Cell] = []
    for mark, meaning, role in marks:
        cells += [Cell(SafeText(f"{mark} "), role), Cell(f"{meaning}  ", MUTED)]
    if members:
        window = f", {first + 1}-{first + count} shown" if count < len(members) else ""
        chosen = members[at]
        cells += [Cell(f"member {at + 1} of {len(members)}{window} ", MUTED), Cell(chosen.name, ACCENT)]
    return tuple(cells)
