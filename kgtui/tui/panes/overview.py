"""The Overview pane: health verdict (such as `STOPPED`), state, members, lag, permissions and errors of one group."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kgtui.model import command_line, facts
from kgtui.model.access import HIDDEN
from kgtui.model.diagnosis import diagnose
from kgtui.model.empty_reason import before_text, is_simple
from kgtui.model.explanation import faults_of
from kgtui.model.guard import may_delete
from kgtui.model.health.wording import duration
from kgtui.model.judgment import Basis
from kgtui.model.number_format import counted
from kgtui.model.problem import GroupStatus, Problem
from kgtui.tui import text
from kgtui.tui.panes.base import Pane, missing_cells, single_line
from kgtui.tui.panes.cells import (
    ACCENT,
    ERROR,
    MUTED,
    OK,
    WARN,
    Cell,
    Field,
    PaneLine,
    SafeText,
    Section,
    fit_text,
    note,
    number_cell,
    one_line_field,
    optional_cell,
    unknown_cell,
    wrap_cells,
)
from kgtui.tui.panes.overview_health import time_text
from kgtui.tui.panes.text_lines import TextLines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.app import ComposeResult
    from textual.widget import Widget

    from kgtui.model.answer import Fault
    from kgtui.model.command_line import View
    from kgtui.model.group import GroupDescription
    from kgtui.model.members import Member
    from kgtui.model.offsets import GroupOffsets
    from kgtui.model.series import SeriesStore
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.panes.overview_health import OffsetSummary

_OLD_VERDICT_SECONDS = 60.0  # The age of the data of a health verdict is shown if it is more than this many seconds.


def mark_and_role(status: str, *, problem: bool) -> tuple[str, str]:
    """Return (symbol, color role such as `kg-error`) of the health verdict on a group.

    If the status is not OK, although no problem was found, the symbol is `?`, because kgtui cannot judge the group.

    Args:
        status: name of a `GroupStatus`, such as `WARN`.
        problem: whether kgtui has found a problem of the group.
    """
    if not problem and status != GroupStatus.OK.name:
        return text.marks().unknown, MUTED
    return text.verdict_mark(status), text.verdict_role(status)


def verdict_fields(snapshot: Snapshot, group: str) -> Iterator[Field]:
    """Yield the fields about the health verdict (such as `STOPPED`) on a group. Fields without a value are left out.

    The fields are `verdict`, `also` (other problems), `who` (the members, broker or user that the problem concerns) and
    `next` (what to do).
    """
    diagnosis = diagnose(snapshot, group, time_text)
    judgment, health = diagnosis.judgment, snapshot.health.get(group)
    name = diagnosis.name
    mark, role = mark_and_role(judgment.status.name, problem=judgment.kind is not None)
    if health is not None and any(one.why == HIDDEN for one in health.undecided):
        # Append a question mark, because the group may have offsets in topics on which the user lacks the permission
        # DESCRIBE. The verdict does not cover these offsets.
        name, role = f"{name}?", MUTED if judgment.status is GroupStatus.OK else role
    cells = [Cell(f"{mark} {name}", role)]
    if judgment.since is None and judgment.after is not None and judgment.kind in (Problem.UNUSED, Problem.EMPTY):
        cells.append(note(f"last record read is from {time_text(judgment.after)}", ""))
    elif since := judgment.since_text(time_text):
        cells.append(note(since, ""))
    cells.append(note(judgment.basis_text))
    if health is not None and judgment.basis is Basis.OBSERVED:
        seconds = snapshot.taken_at - (health.read_at or 0.0)
        if seconds > _OLD_VERDICT_SECONDS:
            cells.append(note(f"as of {duration(seconds)} ago", WARN))
    # Show the reason for the verdict only if there is a problem. If kgtui cannot judge the group, the field `not known`
    # (see `health_fields`) says which data is missing.
    why = diagnosis.why if judgment.kind is not None else ""
    yield Field("verdict", (tuple(cells), (Cell(single_line(why)),)) if why else (tuple(cells),))
    if diagnosis.also:
        yield one_line_field("also", Cell(diagnosis.also, WARN))
    if diagnosis.who:
        yield one_line_field("who", Cell(single_line(diagnosis.who)))
    if diagnosis.advice:
        yield one_line_field("next", Cell(single_line(diagnosis.advice)))


LABEL = 13


def layout_sections(parts: list[Section], width: int) -> list[PaneLine]:
    """Lay out sections in lines of at most `width` terminal cells: labels on the left, wrapped text on the right.

    An empty line precedes the title of a section.
    """
    lines: list[PaneLine] = []
    for part in parts:
        if part.title:
            lines += [(), (Cell(part.title, ACCENT),)]
        for one in part.fields:
            indent = LABEL if one.label else 0
            label = Cell(one.label.ljust(indent), MUTED)
            for cells in one.lines:
                for piece in wrap_cells(cells, max(8, width - indent)):
                    lines.append((label, *piece) if indent else piece)
                    label = Cell(" " * indent)
    return lines


class OverviewPane(Pane):
    """Pane with the most important facts about a group, and with the Kafka command that shows the group's state."""

    reading_field: ClassVar[str] = "details"
    reading_name: ClassVar[str] = "the description"
    tool_view: ClassVar[View] = "state"
    shows_faults: ClassVar[bool] = True

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._summed: tuple[GroupOffsets | None, OffsetSummary | None] = (None, None)
        self._notice_lines: list[PaneLine] = []

    def compose(self) -> ComposeResult:
        yield TextLines(id="fields")

    @property
    def text(self) -> TextLines:
        return self.query_one("#fields", TextLines)

    def focus_target(self) -> Widget:
        return self.text

    def draw_inputs(self, snapshot: Snapshot, group: str) -> tuple[object, ...]:
        # The pane contains durations that grow with time, such as `for 12 s`, so it is redrawn for each snapshot.
        return (snapshot,)

    def item_count(self, snapshot: Snapshot, group: str) -> int:
        reading = snapshot.offsets.get(group)
        if reading is None or reading.value is self._summed[0]:
            return 0
        return len(reading.value.committed) + len(reading.value.share)

    def prepare(self, snapshot: Snapshot, group: str) -> tuple[GroupOffsets | None, OffsetSummary | None]:
        reading = snapshot.offsets.get(group)
        if reading is None:
            return None, None
        from kgtui.tui.panes.overview_health import summarize_offsets

        return self._summed if reading.value is self._summed[0] else (reading.value, summarize_offsets(reading.value))

    def _show_notices(self, lines: list[PaneLine]) -> None:
        # The pane draws the notices itself, because a `Notice` widget would cause a new layout of the screen whenever
        # the cursor moves to a group with errors.
        self._notice_lines = lines

    def draw(self, prepared: tuple[GroupOffsets | None, OffsetSummary | None], *, fresh: bool) -> None:
        self._summed = prepared
        self._write(fresh=fresh)

    def _write(self, *, fresh: bool) -> None:
        if self.snapshot is None or self.group is None:
            return
        width = max(20, self.text.columns - 1)
        parts = overview_sections(
            self.snapshot, self.group, self._summed[1], command_config=self.command_config, series=self.series,
            placeholder=self.placeholder,
        )  # fmt: skip
        notice = [piece for line in self._notice_lines for piece in wrap_cells(line, width)]
        self.text.set_lines([*notice, *layout_sections(parts, width)], fresh=fresh)

    def clear(self) -> None:
        self._summed = (None, None)
        self.text.set_lines([(Cell(self.placeholder, MUTED),)], fresh=True)

    def on_resize(self) -> None:
        # Textual ignores layout requests during a resize, so the text is written after the resize.
        self.call_after_refresh(self._write, fresh=False)


LONGEST_ID = 400
"""Maximum width of a group id, in terminal cells. Longer ids are shortened in the middle."""


def overview_sections(
    snapshot: Snapshot,
    group: str,
    offset_summary: OffsetSummary | None,
    *,
    command_config: str | None = None,
    series: SeriesStore | None = None,
    placeholder: str = "",
) -> list[Section]:
    """Return the sections of the Overview pane, such as Health and Lag, from top to bottom.

    Args:
        offset_summary: totals over the group's partitions; None if the offsets have not been read.
        command_config: path of the client config file for the option `--command-config` in the displayed Kafka command;
            None to omit the option.
        series: past lags of groups, from which the lag trend is computed; None if there are none.
        placeholder: text that is shown until kgtui has read the description of the group.
    """
    # `overview_health` is imported only when the pane is drawn, so that kgtui starts faster.
    from kgtui.tui.panes.overview_health import health_fields, lag_fields, loss_fields

    samples = series.get(group) if series is not None else None
    health = tuple(health_fields(snapshot, group, offset_summary, samples))
    parts = [
        Section("", (*verdict_fields(snapshot, group), *_identity(snapshot, group, placeholder))),
        *([Section("Health", health)] if health else ()),
        Section("Lag", tuple(lag_fields(snapshot, group, offset_summary))),
        Section("Permissions", (_operations(snapshot, group),)),
        Section("If deleted", tuple(loss_fields(snapshot, group, offset_summary))),
        Section("With Kafka's tools", tuple(_command(snapshot, group, command_config))),
    ]
    found = faults_of(snapshot, group)
    if found:
        parts.insert(1, Section("Faults", tuple(_fault(fault) for fault in found)))
    return parts


def _description(snapshot: Snapshot, group: str) -> GroupDescription | None:
    reading = snapshot.details.get(group)
    return reading.value if reading is not None else None


def _identity(snapshot: Snapshot, group: str, placeholder: str) -> Iterator[Field]:
    described = _description(snapshot, group)
    listing = snapshot.groups.get(group)
    kind = described.kind if described else listing.kind if listing else None
    yield one_line_field("group", Cell(fit_text(group, LONGEST_ID, cut="middle"), ACCENT))
    group_type = described.type if described else facts.type_of(snapshot, group)
    protocol = described.protocol if described else listing.protocol if listing else None
    yield one_line_field(
        "type", Cell(group_type) if group_type else unknown_cell(), *_protocol(group_type, protocol, kind)
    )
    yield Field("state", (tuple(_state(snapshot, group)),))
    yield _coordinator(snapshot, described.coordinator if described else listing.coordinator if listing else None)
    if described is None:
        if placeholder:
            yield one_line_field("", Cell(placeholder, MUTED))
        return
    yield one_line_field("described by", optional_cell(described.source))
    yield one_line_field("assignor", optional_cell(described.assignor))
    if described.group_epoch is not None:
        yield _epochs(described)
    yield _members(described.members)


def _protocol(group_type: str | None, protocol: str | None, kind: str | None) -> Iterator[Cell]:
    if kind == "simple":
        yield note("simple group: it commits offsets without members")
    elif protocol and protocol != group_type:
        yield note("protocol ")
        yield Cell(protocol)


def _state(snapshot: Snapshot, group: str) -> Iterator[Cell]:
    described = _description(snapshot, group)
    state = snapshot.state_of(group) or (described.state if described else None)
    if state is None:
        yield unknown_cell()
        return
    yield Cell(f"{text.state_mark(state)} {state}", text.state_role(state))
    since = snapshot.state_since.get(group)
    if since is not None:
        yield note(f"for {text.ago(since)}, since {text.clock(since)}")
    elif not is_simple(snapshot.groups.get(group)):
        yield note(f"since {before_text(snapshot.state_search, text.clock)}")
    if described is not None and not described.authoritative:
        yield note("(known only from the list of groups; no describe request found the group)", WARN)


def _coordinator(snapshot: Snapshot, node: int | None) -> Field:
    if node is None:
        return one_line_field("coordinator", unknown_cell())
    broker = snapshot.cluster.brokers.get(node)
    cells = [Cell(f"broker {node}")]
    if broker is not None:
        cells.append(note(broker.address))
        if broker.rack:
            cells.append(note(f"rack {broker.rack}"))
    status = snapshot.brokers.get(node)
    if status is not None and status.fault is not None:
        cells.append(note("not responding", ERROR))
    return one_line_field("coordinator", *cells)


def _epochs(described: GroupDescription) -> Field:
    cells = [
        Cell("group "),
        number_cell(described.group_epoch),
        Cell("  assignment "),
        number_cell(described.assignment_epoch),
    ]
    if described.assignment_epoch is not None and described.group_epoch != described.assignment_epoch:
        reason = "the target assignment is being computed" if described.members else "no members to assign to"
        cells.append(note(reason, WARN if described.members else MUTED))
    behind = [m for m in described.members or () if m.epoch is not None and m.epoch < (described.assignment_epoch or 0)]
    if behind:
        cells.append(note(f"{counted(len(behind), 'member')} behind the assignment epoch", WARN))
    return one_line_field("epochs", *cells)


def _members(members: tuple[Member, ...] | None) -> Field:
    if members is None:
        return one_line_field("members", unknown_cell(), note("the broker did not report the members", WARN))
    cells = [number_cell(len(members))]
    hosts = {member.host for member in members}
    if members:
        cells.append(note(f"on {counted(len(hosts), 'host')}"))
    static = sum(1 for member in members if member.instance_id)
    if static:
        cells.append(note(f"{static} static"))
    classic = sum(1 for member in members if member.protocol == "classic")
    if classic and classic < len(members):
        cells.append(note(f"{counted(classic, 'member')} still on the classic protocol", WARN))
    return one_line_field("members", *cells)


def _operations(snapshot: Snapshot, group: str) -> Field:
    described = _description(snapshot, group)
    if described is None:
        return one_line_field("", *missing_cells(snapshot, group))
    if described.operations is None:
        return one_line_field("", unknown_cell(), note("this broker does not report permissions"))
    if not described.operations:
        return one_line_field("", Cell("none", WARN))
    cells = [Cell(name.lower(), OK if name == "DELETE" else "") for name in sorted(described.operations)]
    spaced = [part for cell in cells for part in (cell, Cell("  "))]
    if not may_delete(described.operations):
        spaced.append(Cell("DELETE not allowed", WARN))
    return one_line_field("", *spaced)


def _command(snapshot: Snapshot, group: str, command_config: str | None) -> Iterator[Field]:
    described = _description(snapshot, group)
    listing = snapshot.groups.get(group)
    kind = described.kind if described else listing.kind if listing else "consumer"
    line = command_line.describe(group, kind, snapshot.cluster.seeds, view="state", command_config=command_config)
    yield Field("", ((Cell(fit_text(SafeText(line.text), 4 * LONGEST_ID, cut="middle")),),))
    if line.note:
        yield Field("", ((Cell(f"({line.note})", MUTED),),))


def _fault(fault: Fault) -> Field:
    lines: list[PaneLine] = [(Cell(f"{text.marks().fault} {fault.name}", ERROR), note(single_line(fault.message), ""))]
    if fault.advice:
        lines.append((Cell(single_line(fault.advice), MUTED),))
    return Field("", tuple(lines))
