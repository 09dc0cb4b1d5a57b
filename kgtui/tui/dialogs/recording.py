"""The dialog that opens a recording from a live screen: which one, and at which moment."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from kgtui.errors import KgtuiError
from kgtui.tui import text
from kgtui.tui.lakes import Which, is_lake, lake_of, span_of

if TYPE_CHECKING:
    from pathlib import Path

    from textual.app import ComposeResult

    from kgtui.tui.session import Session

ABOUT = (
    "The same screen as it was at a moment that is recorded; nothing can be changed there. [ and ] step, L comes back"
    " to the live cluster, and so does esc in the tree."
)
NO_LAKE = "This cluster is not recorded yet: R records it. Another recording is a folder that kgtui record wrote."


class RecordingDialog(ModalScreen["Session | None"]):
    """Asks for a folder and a moment; dismissed with a session on it, or None to stay."""

    DEFAULT_CSS = """
    RecordingDialog {
        align: center middle;
        & #box {
            width: 76; max-width: 98%; height: auto; max-height: 96%;
            background: $surface; border: round $kg-accent; border-title-color: $kg-accent; padding: 0 1;
        }
        & #about, & #span, & #hint, & .label { height: auto; color: $kg-muted; }
        & #about { margin-bottom: 1; }
        & #span { min-height: 2; margin-bottom: 1; }
        & #status { display: none; height: auto; max-height: 4; color: $kg-error; }
        & #status.-said { display: block; }
        & #hint { margin-top: 1; }
        & Input { background: $panel; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Stay", show=False)]
    """
    | key | does |
    |---|---|
    | tab | to the other field |
    | enter | open the recording |
    | escape | stay |
    """

    def __init__(self, session: Session, lake: Path | None = None, at: float | None = None) -> None:
        """Open a recording for the screen of `session`; `lake` and `at` are what the fields begin with."""
        super().__init__()
        self._session = session
        self._which = lake_of(session) if lake is None else Which(lake, "opened last")
        self._at = at

    def compose(self) -> ComposeResult:
        """What it does, the folder with what it covers, the moment, and how to go on."""
        moment = "" if self._at is None else _written(self._at)
        with Vertical(id="box") as box:
            box.border_title = "Open a recording"
            yield Static(ABOUT, id="about", markup=False)
            yield Static("recording", classes="label", markup=False)
            yield Input(str(self._which.path), placeholder="a folder", compact=True, id="lake")
            yield Static(id="span", markup=False)
            yield Static("moment", classes="label", markup=False)
            hint = "10:04, 2026-11-21T10:04:23Z, 15m before the end; empty: the end"
            yield Input(moment, placeholder=hint, compact=True, id="moment")
            yield Static(id="status", markup=False)
            dot = text.marks().dot
            yield Static(f"enter opens {dot} tab to the other field {dot} esc stays", id="hint", markup=False)

    @property
    def lake(self) -> Input:
        """Where the folder is typed."""
        return self.query_one("#lake", Input)

    @property
    def moment(self) -> Input:
        """Where the moment is typed."""
        return self.query_one("#moment", Input)

    def on_mount(self) -> None:
        """What is typed at once is the moment; where no lake is meant, the folder is asked for."""
        self.moment.focus()
        if not self._which.named:
            self._ask_where_none()

    @work(group="find", exit_on_error=False, description="lake")
    async def _ask_where_none(self) -> None:
        there = await asyncio.to_thread(is_lake, self._which.path)
        if not there and self.lake.value == str(self._which.path):
            self.lake.value = ""
            self.query_one("#span", Static).update(Content(NO_LAKE))
            if not self.moment.value:
                self.lake.focus()

    @on(Input.Changed, "#lake")
    @work(exclusive=True, group="span", exit_on_error=False, description="span")
    async def _tell_span(self, event: Input.Changed) -> None:
        path, span = event.value.strip(), self.query_one("#span", Static)
        await asyncio.sleep(0.2)  # whoever types a path is not told of each part of it
        if not path:
            return
        try:
            first, last = await asyncio.to_thread(span_of, path)
        except KgtuiError as error:
            span.update(Content(text.plain(" ".join(str(error).split()), 300)))
        else:
            span.update(Content(f"recorded from {text.date(first)}\n           to {text.date(last)}"))

    @on(Input.Submitted)
    @work(exclusive=True, group="open", exit_on_error=False, description="open")
    async def _open(self) -> None:
        opening, lake = self._session.open_recording, self.lake.value.strip()
        if opening is None:
            return
        if not lake:
            self._refuse("name the folder of a recording")
            self.lake.focus()
            return
        try:
            session = await opening(lake, self.moment.value.strip())
        except (KgtuiError, OSError) as error:
            self._refuse(str(error))
        else:
            self.dismiss(session)

    def _refuse(self, words: str) -> None:
        status = self.query_one("#status", Static)
        status.update(Content(text.plain(" ".join(words.split()), 400)))
        status.add_class("-said")


def _written(at: float) -> str:
    """A moment as it can be typed."""
    look = text.display_settings()
    moment = datetime.fromtimestamp(at, UTC)
    return (moment if look.utc else moment.astimezone(look.zone)).isoformat(timespec="seconds")
