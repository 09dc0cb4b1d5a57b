"""The rows and columns of the Assignments pane.

The pane has several views. In the list and in the grid, each row is a partition, task or connector. In the load views,
each row is a member, host or rack, with the number of its partitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.assignment import Assignment, Item, Placement, PlacementStatus
from kgtui.model.number_format import counted
from kgtui.model.offsets import lags
from kgtui.tui import text
from kgtui.tui.panes.cells import MUTED, OK, WARN, Cell, PaneLine, none_cell
from kgtui.tui.panes.columns import Column
from kgtui.tui.sparkline import scale_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kgtui.model.assignment import Load, Skew
    from kgtui.model.group import GroupDescription
    from kgtui.model.offsets import GroupOffsets

BAR_WIDTH = 16
"""Width of a full bar in the LOAD column, in terminal cells."""


class PlacementRow(NamedTuple):
    """One row of the list or grid: a partition or task, with the names of its current and target owners.

    Attributes:
        owners: names of the current owners, such as `app-1, app-2`; empty if there are none.
        targets: names of the owners in the target assignment.
        waits_for: names of the members that delay the move to the target owner.
        lag: lag of the partition or task; None if unknown.
        scale: lag that the grid shows as the highest bar (`█`); the same value in all rows.
    """

    placement: Placement
    owners: str
    targets: str
    waits_for: str
    lag: int | None = None
    scale: float = 0.0

    @property
    def key(self) -> tuple[str, int, str]:
        """Key of the row: its partition or task. After a refresh, the cursor stays on the row with the same key."""
        return self.placement.item


@dataclass(frozen=True, slots=True)
class LoadRow:
    """One row of a load view, which shows how many partitions or tasks each member, host or rack owns.

    Attributes:
        even: number of partitions or tasks that the member, host or rack would own if all members owned equally many.
        heaviest: the largest number of partitions or tasks in any row. For this number, the bar has its full width.
        gives_up: number of partitions or tasks that the member must revoke; 0 in the row of a host or rack.
        behind: whether the member's epoch is older than the epoch of the target assignment; False in the row of a host
            or rack.
    """

    load: Load
    name: str
    even: float
    heaviest: int
    gives_up: int = 0
    behind: bool = False

    @property
    def key(self) -> str:
        """Key of the row: member id, host or rack. After a refresh, the cursor stays on the row with the same key."""
        return self.load.name or ""


def lag_by_item(description: GroupDescription, offsets: GroupOffsets | None) -> dict[Item, int]:
    """Return a dict: partition or active task → lag. Unknown lags are left out.

    The lag of a task is the total lag of its input partitions. If `offsets` is None (not read), the dict is empty.
    """
    known = {} if offsets is None else {(row.topic, row.partition): row.lag for row in lags(offsets)}
    found = {Item(topic, part): lag for (topic, part), lag in known.items() if lag is not None}
    for subtopology in (description.topology.subtopologies or ()) if description.topology else ():
        topics = {*subtopology.source_topics, *(info.name for info in subtopology.repartition_source_topics)}
        for (topic, part), lag in known.items():
            if topic in topics and lag is not None:
                task = Item(subtopology.subtopology, part, "active")
                found[task] = found.get(task, 0) + lag
    return found


def placement_rows(
    assignment: Assignment, names: Mapping[str, str], *, unsettled: bool, lag_of: Mapping[Item, int] | None = None
) -> list[PlacementRow]:
    """Return one row per partition or task.

    Args:
        names: member id → name.
        unsettled: whether to return only partitions and tasks that must still move, have no owner, or have an unknown
            owner.
        lag_of: partition or task → lag; None if all lags are unknown.
    """
    lag_of = lag_of or {}
    scale = scale_of(max(lag_of.values(), default=0))
    return [
        PlacementRow(
            one,
            _join_names(one.owners, names),
            _join_names(one.targets or (), names),
            _join_names(one.waits_for, names),
            lag_of.get(one.item),
            scale,
        )
        for one in assignment.placements
        if not unsettled or one.status is not PlacementStatus.SETTLED
    ]


def load_rows(assignment: Assignment, skew: Skew, names: Mapping[str, str]) -> list[LoadRow]:
    """Return one row per member, host or rack. The row with the most partitions or tasks comes first.

    Args:
        skew: how the partitions or tasks are distributed over members, hosts or racks.
        names: member id → name.
    """
    blockers = {one.member_id: one for one in assignment.blockers} if skew.by == "member" else {}
    member_count = sum(load.members for load in skew.loads)
    item_count = sum(load.items for load in skew.loads)
    heaviest = max((load.items for load in skew.loads), default=0)
    rows = []
    for load in skew.loads:
        blocker = blockers.get(load.name or "")
        name = names.get(load.name or "", load.name or "no rack") if skew.by == "member" else load.name or "no rack"
        even = item_count / member_count * load.members if member_count else 0.0
        gives_up = blocker.gives_up if blocker else 0
        rows.append(
            LoadRow(load, name.removeprefix("/"), even, heaviest, gives_up, bool(blocker and blocker.behind != 0))
        )
    return rows


def _join_names(ids: Iterable[str], names: Mapping[str, str]) -> str:
    return ", ".join(names.get(one, one) for one in ids)


_TITLES = {"": "TOPIC", "active": "SUBTOPOLOGY", "standby": "SUBTOPOLOGY", "warmup": "SUBTOPOLOGY"}


def placement_columns(assignment: Assignment) -> list[Column[PlacementRow]]:
    """Return the columns of the list view, which has one row per partition or task.

    The column ROLE exists only for tasks and connectors. The columns TARGET and WAITS FOR exist only if the group has a
    target assignment.
    """
    roles = {one.item.role for one in assignment.placements}
    title = _TITLES.get(min(roles, default=""), "CONNECTOR")
    columns: list[Column[PlacementRow]] = [
        Column("name", title, lambda row: row.placement.item.name, min_width=10, max_width=44, cut="middle"),
        Column("number", "P" if roles <= {""} else "TASK", lambda row: row.placement.item.number, _number, right=True),
    ]
    if roles - {""}:
        columns.append(Column("role", "ROLE", lambda row: row.placement.item.role, _role, rank=1, min_width=7))
    columns += [
        Column(
            "owner",
            "OWNER",
            lambda row: row.owners or None,
            _owner,
            min_width=8,
            max_width=30,
            cut="middle",
            full=_owner_ids,
        ),
        Column("status", "STATUS", lambda row: status_word(row.placement), _status, min_width=10),
    ]
    if assignment.targeted:
        columns += [
            Column("target", "TARGET", lambda row: row.targets or None, _target, rank=2, min_width=14, max_width=30,
                   cut="middle"),
            Column("waits", "WAITS FOR", lambda row: row.waits_for or None, lambda row: Cell(row.waits_for, WARN),
                   rank=3, min_width=14, max_width=30, cut="middle"),
        ]  # fmt: skip
    return columns


def _number(row: PlacementRow) -> Cell:
    return none_cell() if row.placement.item.number < 0 else Cell(str(row.placement.item.number))


def _role(row: PlacementRow) -> Cell:
    role = row.placement.item.role
    return Cell({"warmup": "warm-up"}.get(role, role), "" if role in ("active", "connector") else MUTED)


def _owner(row: PlacementRow) -> Cell:
    if row.owners:
        return Cell(row.owners)
    return (
        Cell(text.marks().unknown, MUTED) if row.placement.status is PlacementStatus.UNKNOWN else Cell("no owner", WARN)
    )


def _owner_ids(row: PlacementRow) -> Cell:
    ids = ", ".join(row.placement.owners)
    return _owner(row) if not ids or ids == row.owners else Cell(f"{row.owners} ({ids})")


def _target(row: PlacementRow) -> Cell:
    if not row.targets:
        return none_cell()
    return Cell(row.targets, MUTED if row.placement.status is PlacementStatus.SETTLED else "")


def status_word(placement: Placement) -> str:
    """Return the assignment status of a partition or task in one or two words, such as `settled` or `to revoke`."""
    return {PlacementStatus.LEAVING: "to revoke", PlacementStatus.ARRIVING: "to assign"}.get(
        placement.status, placement.status.value
    )


def _status(row: PlacementRow) -> Cell:
    status = row.placement.status
    role = {PlacementStatus.SETTLED: OK, PlacementStatus.UNSUBSCRIBED: MUTED, PlacementStatus.UNKNOWN: MUTED}.get(
        status, WARN
    )
    return Cell(status_word(row.placement), role)


def load_columns(skew: Skew) -> list[Column[LoadRow]]:
    """Return the columns of the table that shows the number of partitions or tasks per member, host or rack."""
    columns: list[Column[LoadRow]] = [
        Column("name", skew.by.upper(), lambda row: row.name, min_width=12, max_width=44, cut="middle",
               full=lambda row: Cell(row.load.name or row.name)),
        Column("items", "HAS", lambda row: row.load.items,
               lambda row: Cell(str(row.load.items), WARN if row.load.items == 0 else ""), right=True),
        Column("even", "IF EVEN", lambda row: f"{row.even:.1f}", lambda row: Cell(f"{row.even:.1f}", MUTED), rank=2,
               min_width=5),
        Column("bar", "LOAD", lambda _row: " " * BAR_WIDTH, _bar, rank=1, min_width=6, max_width=BAR_WIDTH,
               full=lambda _row: Cell("")),
    ]  # fmt: skip
    if skew.by != "member":
        columns.append(Column("members", "MEMBERS", lambda row: row.load.members, rank=3, right=True))
    else:
        columns.append(Column("holds", "DELAYS", _holds_text, _holds, rank=1, min_width=8))
    return columns


def _bar(row: LoadRow) -> Cell:
    if not row.heaviest:
        return Cell("")
    cells = max(1, round(BAR_WIDTH * row.load.items / row.heaviest)) if row.load.items else 0
    return Cell(text.marks().bar * cells, WARN if row.load.items > 1.5 * max(row.even, 1) else OK)


def _holds_text(row: LoadRow) -> str | None:
    return holds_up_text(row.gives_up, behind=row.behind) or None


def holds_up_text(gives_up: int, *, behind: bool) -> str:
    """Return why a member delays the change to the target assignment, such as `must revoke 2, behind`; may be empty.

    In this example, the member must revoke 2 partitions or tasks, and its epoch is older than the epoch of the target
    assignment.

    Args:
        gives_up: number of partitions or tasks that the member must revoke.
        behind: whether the member's epoch is older than the epoch of the target assignment.
    """
    parts = [f"must revoke {gives_up}"] if gives_up else []
    return ", ".join([*parts, "behind"] if behind else parts)


def _holds(row: LoadRow) -> Cell:
    return Cell(_holds_text(row) or "", WARN)


def assignment_summary(assignment: Assignment, names: Mapping[str, str]) -> list[PaneLine]:
    """Return the parts of the summary above the table, such as `2 of 12 must move` and `1 idle`.

    In these examples, 2 of 12 partitions or tasks must move to another member, and 1 member is idle. Another example is
    `skew member 2.0×`: the member with the most partitions has 2.0 times the average number.
    """
    parts: list[PaneLine] = []
    moving = assignment.count(PlacementStatus.LEAVING, PlacementStatus.ARRIVING)
    if moving:
        parts.append((Cell(f"{moving} of {len(assignment.placements)} must move", WARN),))
        worst = [names.get(one.member_id, one.member_id) for one in assignment.blockers if one.waiting][:3]
        if worst:
            parts.append((Cell("waits for ", MUTED), Cell(", ".join(worst), WARN)))
    elif assignment.targeted:
        parts.append((Cell("assignment matches the target", OK),))
    unowned = assignment.count(PlacementStatus.UNOWNED)
    if unowned:
        parts.append((Cell(f"{unowned} unowned", WARN),))
    unknown = assignment.count(PlacementStatus.UNKNOWN)
    if unknown or assignment.unreported:
        has = "has" if len(assignment.unreported) == 1 else "have"
        parts.append((Cell(f"{counted(len(assignment.unreported), 'member')} {has} not reported assignments", MUTED),))
    if assignment.idle:
        parts.append((Cell(f"{len(assignment.idle)} idle", WARN),))
    ratios = [f"{skew.by} {skew.ratio:.1f}{text.marks().times}" for skew in assignment.skews if skew.ratio is not None]
    if ratios:
        parts.append((Cell("skew ", MUTED), Cell("  ".join(ratios))))
    return parts
