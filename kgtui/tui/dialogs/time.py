"""The time dialog: a moment of the recording, typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from kgtui.errors import KgtuiError
from kgtui.tui import text

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from kgtui.tui.session import ReplayPosition


class TimeDialog(ModalScreen[bool]):
    """Asks for a moment and goes there; dismissed with whether it did."""

    DEFAULT_CSS = """
    TimeDialog {
        align: center middle;
        & #box {
            width: 72; max-width: 98%; height: auto; max-height: 96%;
            background: $surface; border: round $kg-accent; border-title-color: $kg-accent; padding: 0 1;
        }
        & #span, & #hint { height: auto; color: $kg-muted; }
        & #status { display: none; height: auto; max-height: 4; color: $kg-error; }
        & #status.-said { display: block; }
        & Input { background: $panel; margin: 1 0; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(False)", "Stay", show=False)]
    """
    | key | does |
    |---|---|
    | enter | go there |
    | escape | stay |
    """

    def __init__(self, timeline: ReplayPosition) -> None:
        super().__init__()
        self._timeline = timeline

    def compose(self) -> ComposeResult:
        """What there is, the field, and how it can be filled."""
        first, last = self._timeline.span
        with Vertical(id="box") as box:
            box.border_title = "Time"
            yield Static(f"recorded from {text.date(first)}\n           to {text.date(last)}", id="span", markup=False)
            yield Input(placeholder="10:04, 2026-11-21T10:04:23Z, or 15m before the end", compact=True)
            yield Static(id="status", markup=False)
            yield Static(f"enter goes there {text.marks().dot} esc stays", id="hint", markup=False)

    @on(Input.Submitted)
    @work(exclusive=True, exit_on_error=False)
    async def _go(self, event: Input.Submitted) -> None:
        try:
            await self._timeline.go_to(event.value)
        except KgtuiError as error:
            status = self.query_one("#status", Static)
            status.update(Content(text.plain(" ".join(str(error).split()), 300)))
            status.add_class("-said")
        else:
            self.dismiss(True)
