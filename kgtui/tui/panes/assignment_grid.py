"""The grid of the Assignments pane: a row for each partition or task, a narrow column for each member.

Members are known by the ends of their names, which is where the names of a group's members differ. As many columns are
made as there is room for: a group of 500 members costs what is in sight.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rich.cells import cell_len

from kgtui.model.assignment import Assignment, Status
from kgtui.tui import text
from kgtui.tui.panes.assignment_rows import PlacementRow, status_word
from kgtui.tui.panes.cells import ACCENT, MUTED, OK, WARN, Cell, Shown
from kgtui.tui.panes.columns import GAP, Column, measure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LONGEST_END = 4
"""Cells of a member's title; where the ends of names do not tell members apart, they are numbered."""

TO_COME, TO_GO, IDLE, NOBODY = "+", "-", ":", "!"
_NAME, _OPEN = "item", "open"


@dataclass(frozen=True, slots=True)
class GridMember:
    """One column.

    Attributes:
        title: end of the name, or a number.
        idle: has nothing and is to get nothing.
        told: whether the broker tells what it has.
    """

    member_id: str
    name: str
    title: str
    idle: bool = False
    told: bool = True


def grid_members(assignment: Assignment, names: Mapping[str, str]) -> list[GridMember]:
    """The members by name, numbers in names counted as numbers."""
    idle, untold = set(assignment.idle), set(assignment.untold)
    ids = sorted(names, key=lambda one: (_natural(names[one]), one))
    titles = _titles([names[one] for one in ids])
    return [
        GridMember(one, names[one], title, one in idle, one not in untold)
        for one, title in zip(ids, titles, strict=True)
    ]


def _natural(name: str) -> list[tuple[int, int, str]]:
    parts = re.findall(r"\d{1,18}|\D+|\d+", name[:400])
    return [(0, int(part), "") if part.isascii() and part.isdigit() else (1, 0, part) for part in parts]


def _titles(names: Sequence[str]) -> list[str]:
    """The shortest ends that tell the names apart, else numbers from 1."""
    shown = [text.plain(name, 40, cut="middle") for name in names]
    for length in range(1, LONGEST_END + 1):
        ends = [name[-length:] for name in shown]
        if len(set(ends)) == len(ends) and all(end.strip() and cell_len(end) <= LONGEST_END for end in ends):
            return ends
    return [str(number) for number in range(1, len(names) + 1)]


def grid_columns(
    rows: Sequence[PlacementRow], members: Sequence[GridMember], first: int, room: int
) -> tuple[list[Column[PlacementRow]], int]:
    """The item, whether it is nobody's, and the members from `first` on; and how many of them there is room for."""
    item: Column[PlacementRow] = Column(_NAME, "ITEM", item_name, least=14, most=44, cut="middle")
    width = max((cell_len(member.title) for member in members), default=1)
    wanted = min(measure(item, rows), max(14, room - 2 - (width + GAP) * len(members)))
    left = room - max(14, min(wanted, room // 2 if room < 60 else room - 20)) - GAP - 2
    count = max(1, min(len(members) - first, left // (width + GAP)))
    columns: list[Column[PlacementRow]] = [
        item,
        Column(_OPEN, " ", lambda row: "", _open, least=1, most=1, whole=_status),
    ]
    for member in members[first : first + count]:
        draw = partial(grid_mark, member)
        columns.append(
            Column(member.member_id, member.title, lambda row: "", lambda row, draw=draw: draw(row),  # type: ignore[misc]
                   right=True, most=width, least=width, whole=lambda row: Cell(""))
        )  # fmt: skip
    return columns, count


def item_name(row: PlacementRow) -> str:
    """A partition as Kafka writes it (`topic-3`), a task as Kafka Streams does (`0_3 active`)."""
    item = row.placement.item
    if item.role in ("", "task"):
        return f"{item.name}-{item.number}"
    if item.role == "connector":
        return item.name
    return f"{item.name}_{item.number} {'warm-up' if item.role == 'warmup' else item.role}"


def grid_mark(member: GridMember, row: PlacementRow) -> Cell:
    """How a member stands to an item."""
    placement = row.placement
    has = member.member_id in placement.owners
    goal = placement.targets
    if has:
        leaves = goal is not None and member.member_id not in goal
        return Cell(TO_GO, WARN) if leaves else Cell(Shown(text.marks().bar), OK)
    if goal is not None and member.member_id in goal:
        return Cell(TO_COME, ACCENT)
    if not member.told:
        return Cell(text.marks().unknown, MUTED)
    return Cell(IDLE, WARN) if member.idle else Cell("")


def _open(row: PlacementRow) -> Cell:
    return Cell(NOBODY, WARN) if row.placement.status in (Status.UNOWNED, Status.ARRIVING) else Cell("")


def _status(row: PlacementRow) -> Cell:
    said = [row.owners or "nobody", status_word(row.placement)]
    if row.targets and row.targets != row.owners:
        said.append(f"{text.marks().arrow} {row.targets}")
    return Cell(", ".join(said[:2]) + (f" {said[2]}" if len(said) > 2 else ""))


def legend(assignment: Assignment, members: Sequence[GridMember], at: int, first: int, count: int) -> tuple[Cell, ...]:
    """What the marks mean, as far as they occur, and who the chosen column is."""
    marks = [(text.marks().bar, "has", OK)]
    if assignment.targeted:
        marks += [(TO_COME, "to come", ACCENT), (TO_GO, "to go", WARN)]
    if any(member.idle for member in members):
        marks.append((IDLE, "idle member", WARN))
    if assignment.untold:
        marks.append((text.marks().unknown, "not told", MUTED))
    if assignment.count(Status.UNOWNED, Status.ARRIVING):
        marks.append((NOBODY, "nobody's", WARN))
    cells: list[Cell] = []
    for mark, meaning, role in marks:
        cells += [Cell(Shown(f"{mark} "), role), Cell(f"{meaning}  ", MUTED)]
    if members:
        window = f", {first + 1}-{first + count} shown" if count < len(members) else ""
        chosen = members[at]
        cells += [Cell(f"member {at + 1} of {len(members)}{window} ", MUTED), Cell(chosen.name, ACCENT)]
    return tuple(cells)
