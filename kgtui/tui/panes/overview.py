"""The Overview pane: one group at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kgtui.tui.panes.base import Pane
from kgtui.tui.panes.cells import ACCENT, MUTED, Cell, wrap
from kgtui.tui.panes.lines import TextLines
from kgtui.tui.panes.overview_fields import sections
from kgtui.tui.panes.standing_fields import standing_of

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.widget import Widget

    from kgtui.model.command_line import View
    from kgtui.model.offsets import GroupOffsets
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.panes.cells import Section
    from kgtui.tui.panes.standing_fields import Standing

LABEL = 13


def lay_out(parts: list[Section], width: int) -> list[tuple[Cell, ...]]:
    """Sections as lines of at most `width` cells: labels on the left, what is long wrapped beside them."""
    lines: list[tuple[Cell, ...]] = []
    for part in parts:
        if part.title:
            lines += [(), (Cell(part.title, ACCENT),)]
        for one in part.fields:
            indent = LABEL if one.label else 0
            label = Cell(one.label.ljust(indent), MUTED)
            for cells in one.lines:
                for piece in wrap(cells, max(8, width - indent)):
                    lines.append((label, *piece) if indent else piece)
                    label = Cell(" " * indent)
    return lines


class OverviewPane(Pane):
    """Type, state, coordinator, epochs, members, lag, permissions, faults, and the same in Kafka's own words."""

    reads: ClassVar[str] = "details"
    what: ClassVar[str] = "the description"
    tool: ClassVar[View] = "state"
    tells_faults: ClassVar[bool] = True

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._summed: tuple[GroupOffsets | None, Standing | None] = (None, None)
        self._noticed: list[tuple[Cell, ...]] = []

    def compose(self) -> ComposeResult:
        yield TextLines(id="fields")

    @property
    def text(self) -> TextLines:
        """The lines of the pane."""
        return self.query_one("#fields", TextLines)

    def focus_target(self) -> Widget:
        return self.text

    def basis(self, snapshot: Snapshot, group: str) -> tuple[object, ...]:
        # Ages grow with every snapshot.
        return (snapshot,)

    def weight(self, snapshot: Snapshot, group: str) -> int:
        reading = snapshot.offsets.get(group)
        if reading is None or reading.value is self._summed[0]:
            return 0
        return len(reading.value.committed) + len(reading.value.share)

    def prepare(self, snapshot: Snapshot, group: str) -> tuple[GroupOffsets | None, Standing | None]:
        reading = snapshot.offsets.get(group)
        if reading is None:
            return None, None
        return self._summed if reading.value is self._summed[0] else (reading.value, standing_of(reading.value))

    def _say(self, lines: list[tuple[Cell, ...]]) -> None:
        # Drawn with the rest: a notice of its own would lay the screen out whenever the cursor comes to a fault.
        self._noticed = lines

    def draw(self, prepared: tuple[GroupOffsets | None, Standing | None], *, fresh: bool) -> None:
        self._summed = prepared
        self._write(fresh=fresh)

    def _write(self, *, fresh: bool) -> None:
        if self.snapshot is None or self.group is None:
            return
        width = max(20, self.text.columns - 1)
        parts = sections(
            self.snapshot, self.group, self._summed[1], command_config=self.command_config, series=self.series,
            awaited=self.awaited,
        )  # fmt: skip
        noticed = [piece for line in self._noticed for piece in wrap(line, width)]
        self.text.set_lines([*noticed, *lay_out(parts, width)], fresh=fresh)

    def clear(self) -> None:
        self._summed = (None, None)
        self.text.set_lines([(Cell(self.awaited, MUTED),)], fresh=True)

    def on_resize(self) -> None:
        # A layout asked for while this one is under way would be lost.
        self.call_after_refresh(self._write, fresh=False)
