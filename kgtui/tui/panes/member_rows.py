"""The rows of the Members pane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model.group_types import CLASSIC
from kgtui.tui.panes.cells import MUTED, WARN, Cell, some

if TYPE_CHECKING:
    from kgtui.model.group import GroupDescription
    from kgtui.model.members import Member, Tasks, TopicPartitions


@dataclass(frozen=True, slots=True)
class MemberRow:
    """One member, or a streams process over its threads.

    Attributes:
        goal: epoch of the target assignment, for the member's own to be compared with.
        group_type: type of the group, so that a member with another protocol stands out.
        threads: for a process, its members; empty for a member.
    """

    member: Member
    goal: int | None
    group_type: str
    threads: tuple[Member, ...] = ()

    @property
    def key(self) -> tuple[str, bool]:
        """What the cursor stays with."""
        process = self.member.streams.process if self.threads and self.member.streams else None
        return (self.member.member_id, False) if process is None else (process, True)


def member_rows(description: GroupDescription) -> list[MemberRow]:
    """Members sorted by client and id; streams members under their process."""
    goal = description.assignment_epoch if description.assignment_epoch is not None else description.group_epoch
    members = sorted(description.members or (), key=lambda one: (one.client_id, one.host, one.member_id))
    if not any(member.streams for member in members):
        return [MemberRow(member, goal, description.type) for member in members]
    processes: dict[str, list[Member]] = {}
    for member in members:
        processes.setdefault(member.streams.process if member.streams else "", []).append(member)
    rows: list[MemberRow] = []
    for threads in processes.values():
        rows.append(MemberRow(threads[0], goal, description.type, threads=tuple(threads)))
        rows += [MemberRow(member, goal, description.type) for member in threads]
    return rows


def members_summary(description: GroupDescription) -> list[tuple[Cell, ...]]:
    """How many, on how many hosts, and what stands out."""
    members = description.members
    if members is None:
        return [(Cell("the broker withheld the members", WARN),)]
    if not members:
        return [(Cell("no members", MUTED),)]
    parts: list[tuple[Cell, ...]] = [(Cell(some(len(members), "member")),)]
    processes = {member.streams.process for member in members if member.streams}
    if processes:
        parts.append((Cell(some(len(processes), "process", "processes"), MUTED),))
    parts.append((Cell(some(len({member.host for member in members}), "host"), MUTED),))
    goal = description.assignment_epoch
    behind = sum(1 for member in members if goal is not None and member.epoch is not None and member.epoch < goal)
    if behind:
        parts.append((Cell(f"{behind} behind epoch {goal}", WARN),))
    idle = sum(1 for member in members if member.assigned_count == 0 and member.registry is None)
    if idle:
        parts.append((Cell(f"{idle} idle", WARN),))
    classic = sum(1 for member in members if member.protocol == CLASSIC)
    if classic and description.type != CLASSIC:
        parts.append((Cell(f"{classic} still on the classic protocol", WARN),))
    if all(member.assignment is None for member in members) and description.kind == "consumer":
        parts.append((Cell(f"assignments are not told while {description.state}", MUTED),))
    return parts


def placed(tasks: Tasks | TopicPartitions) -> str:
    """`orders:0-3,7 refunds:1`."""
    return " ".join(f"{name}:{ranges(parts)}" for name, parts in tasks)


def ranges(parts: tuple[int, ...]) -> str:
    """`0-3,7` for 0, 1, 2, 3, 7."""
    runs: list[list[int]] = []
    for part in sorted(parts):
        if runs and part == runs[-1][1] + 1:
            runs[-1][1] = part
        else:
            runs.append([part, part])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
