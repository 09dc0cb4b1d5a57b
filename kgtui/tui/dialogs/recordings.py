"""Dialogs to record the cluster, to open a recording, and to go to a time in a recording."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

from textual import on, work
from textual.content import Content
from textual.widgets import Input, Static

from kgtui.errors import KgtuiError, UsageError
from kgtui.monitor.policy import RECORD_INTERVAL
from kgtui.tui import text
from kgtui.tui.dialogs.prompt import TextPrompt
from kgtui.tui.recording import LakeChoice, Recording, default_folder, is_lake, lake_of, recorded_span

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult

    from kgtui.lake.store import LakePath
    from kgtui.tui.session import ReplayPosition, Session

TIME_EXAMPLES = "10:04, 2026-11-21T10:04:23Z, or 15m for 15 minutes before the end"
TYPING_PAUSE = 0.2
"""Delay, in seconds, between the last keystroke in the folder field and the search for a recording in this folder."""


class RecordDialog(TextPrompt[None]):
    """Asks for a folder, and starts to record the open cluster into this folder.

    Args:
        on_change: function that is called when the recording starts, and when it ends.
    """

    PROMPT_TITLE = "Record"
    ABOUT = (
        f"While kgtui is open, it reads all groups every {RECORD_INTERVAL:g} s, and writes changes to the folder. The"
        " changes contain names of groups, topics, members and hosts, but no secrets. Press R again to stop."
    )

    def __init__(self, session: Session, on_change: Callable[[], None]) -> None:
        super().__init__()
        self._session = session
        self._on_change = on_change

    def compose_fields(self) -> ComposeResult:
        yield Static(self.ABOUT, classes="note", markup=False)
        yield Static("Folder", classes="note", markup=False)
        yield Input(str(default_folder(self._session)), placeholder="a folder", compact=True)

    def key_hints(self) -> tuple[str, ...]:
        return ("enter starts recording", "esc closes")

    async def submit(self) -> None:
        """Start the recording. Raises `KgtuiError` or `OSError` if the folder cannot be used."""
        folder = self.query_one(Input).value.strip()
        if not folder:
            raise UsageError("type the folder to record into")
        path = await asyncio.to_thread(_usable_folder, folder)
        await Recording(self._session, path, self._notify, self._on_change).begin()
        self._on_change()

    def _notify(self, message: str, warning: bool) -> None:
        self.app.notify(
            text.plain(" ".join(message.split()), 400), title="Recording", markup=False, timeout=15 if warning else 8,
            severity="warning" if warning else "information",
        )  # fmt: skip


def _usable_folder(folder: str) -> LakePath:
    """Return the path of a folder into which kgtui can record.

    Raises:
        LakeError: the folder cannot be used (for example, because it contains other files, or because a newer kgtui
            recorded into it), or a required Python package is missing.
    """
    from kgtui.lake.delta import load_deltalake
    from kgtui.lake.folder import LakeFolder

    load_deltalake()
    lake = LakeFolder.of(folder)
    lake.check_usable()
    return lake.path


class OpenRecordingDialog(TextPrompt["Session"]):
    """Asks for a folder and a time, and opens the recording in this folder at this time.

    The dialog's result is the `Session` of the opened recording, or None if the user canceled.

    Args:
        lake: initial value of the folder field; None for the folder with the recording of the session's cluster.
        at: initial value of the time field, in seconds since the epoch; None for an empty field.
    """

    PROMPT_TITLE = "Open a recording"
    ABOUT = (
        "Shows the cluster as it was at a recorded time. In a recording, nothing can be changed. [ and ] go to the"
        " previous and the next poll. L, or esc in the tree, returns to the live cluster."
    )
    NO_LAKE = "This cluster has no recording yet. Close this dialog and press R to record, or type another folder."

    DEFAULT_CSS = """
    OpenRecordingDialog {
        & #about { margin-bottom: 1; }
        & #lake { margin-bottom: 0; }
        & #span { min-height: 2; margin-bottom: 1; }
    }
    """

    def __init__(self, session: Session, lake: LakePath | None = None, at: float | None = None) -> None:
        super().__init__()
        self._session = session
        self._lake = lake_of(session) if lake is None else LakeChoice(lake, "opened last")
        self._at = at
        self._without_folder = ""  # Text that is shown while the folder field is empty.

    def compose_fields(self) -> ComposeResult:
        # Round the time up to full seconds. The recording opens at the newest poll at or before the time in this field.
        # If the time were rounded down, a poll at exactly `self._at` could be missed.
        time = "" if self._at is None else text.to_datetime(math.ceil(self._at)).isoformat(timespec="seconds")
        yield Static(self.ABOUT, id="about", classes="note", markup=False)
        yield Static("Folder of the recording", classes="note", markup=False)
        yield Input(str(self._lake.path), placeholder="a folder", compact=True, id="lake")
        yield Static(id="span", classes="note", markup=False)
        yield Static("Time (if empty, the recording opens at its end)", classes="note", markup=False)
        yield Input(time, placeholder=TIME_EXAMPLES, compact=True, id="time")

    def key_hints(self) -> tuple[str, ...]:
        return ("enter opens", "tab goes to the other field", "esc closes")

    @property
    def lake(self) -> Input:
        """The text field for the folder of the recording."""
        return self.query_one("#lake", Input)

    @property
    def time(self) -> Input:
        """The text field for the time."""
        return self.query_one("#time", Input)

    def on_mount(self) -> None:
        """Focus the time field.

        But if the folder field contains the default folder, and this folder contains no recording yet, clear the folder
        field. Then move the focus to the folder field, unless the time field contains a time.
        """
        self.time.focus()
        if not self._lake.chosen:
            self._ask_for_missing_lake()

    @work(group="find", exit_on_error=False, description="lake")
    async def _ask_for_missing_lake(self) -> None:
        exists = await asyncio.to_thread(is_lake, self._lake.path)
        if not exists and self.lake.value == str(self._lake.path):
            self._without_folder = self.NO_LAKE
            self.lake.value = ""  # `_show_span` then shows the text.
            if not self.time.value:
                self.lake.focus()

    @on(Input.Changed, "#lake")
    @work(exclusive=True, group="span", exit_on_error=False, description="span")
    async def _show_span(self, event: Input.Changed) -> None:
        path, span = event.value.strip(), self.query_one("#span", Static)
        await asyncio.sleep(TYPING_PAUSE)
        if not path:
            span.update(Content(self._without_folder))
            return
        try:
            first, last = await asyncio.to_thread(recorded_span, path)
        except KgtuiError as error:
            span.update(Content(text.plain(" ".join(str(error).split()), 300)))
        else:
            span.update(Content(_span_text(first, last)))

    async def submit(self) -> Session | None:
        """Open the recording, and return its session. Return None if the current session cannot open recordings.

        Raises:
            KgtuiError, OSError: the folder or the time is invalid.
        """
        open_recording, lake = self._session.open_recording, self.lake.value.strip()
        if open_recording is None:
            return None
        if not lake:
            self.lake.focus()
            raise UsageError("type the folder of a recording")
        return await open_recording(lake, self.time.value.strip())


class TimeDialog(TextPrompt[bool]):
    """Asks for a time, and shows the cluster as it was at this time of the open recording.

    The dialog's result is True if kgtui shows the new time, and None if the user canceled.

    Args:
        position: the displayed time in the recording. The dialog moves it to the time that the user types.
    """

    PROMPT_TITLE = "Go to a time"

    def __init__(self, position: ReplayPosition) -> None:
        super().__init__()
        self._position = position

    def compose_fields(self) -> ComposeResult:
        yield Static(_span_text(*self._position.span), id="span", classes="note", markup=False)
        yield Static("Time", classes="note", markup=False)
        yield Input(placeholder=TIME_EXAMPLES, compact=True)

    def key_hints(self) -> tuple[str, ...]:
        return ("enter goes there", "esc closes")

    async def submit(self) -> bool:
        """Show the cluster as it was at the time that the user has typed, and return True.

        Raises `KgtuiError` if the time is invalid.
        """
        await self._position.go_to(self.query_one(Input).value)
        return True


def _span_text(first: float, last: float) -> str:
    return f"recorded from {text.date(first)}\n           to {text.date(last)}"
