"""The Record dialog: into which folder the cluster is recorded."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from kgtui.errors import KgtuiError
from kgtui.tui import text
from kgtui.tui.recording import Recording, default_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from textual.app import ComposeResult

    from kgtui.tui.session import Session

ABOUT = (
    "Every group is read every 10 s while this screen is open, and what changed is written: names of groups, topics,"
    " members and hosts, no secrets. R ends it."
)


class RecordDialog(ModalScreen[None]):
    """Asks for a folder and begins to record; says what stands against it."""

    DEFAULT_CSS = """
    RecordDialog {
        align: center middle;
        & #box {
            width: 76; max-width: 98%; height: auto; max-height: 96%;
            background: $surface; border: round $kg-accent; border-title-color: $kg-accent; padding: 0 1;
        }
        & #about, & #hint { height: auto; color: $kg-muted; }
        & #status { display: none; height: auto; max-height: 5; color: $kg-error; }
        & #status.-said { display: block; }
        & Input { background: $panel; margin: 1 0; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Close", show=False)]
    """
    | key | does |
    |---|---|
    | enter | begin |
    | escape | close |
    """

    def __init__(self, session: Session, changed: Callable[[], None]) -> None:
        """Record the cluster of `session`; `changed` is called when a recording has begun or ended."""
        super().__init__()
        self._session = session
        self._changed = changed

    def compose(self) -> ComposeResult:
        """What it does, where to, and how to go on."""
        with Vertical(id="box") as box:
            box.border_title = "Record"
            yield Static(ABOUT, id="about", markup=False)
            yield Input(str(default_folder(self._session)), placeholder="a folder", compact=True)
            yield Static(id="status", markup=False)
            yield Static(f"enter begins {text.marks().dot} esc closes", id="hint", markup=False)

    @on(Input.Submitted)
    @work(exclusive=True, exit_on_error=False, description="record")
    async def _begin(self, event: Input.Submitted) -> None:
        app = self.app

        def say(words: str, bad: bool) -> None:
            app.notify(
                text.plain(" ".join(words.split()), 400), title="Recording", markup=False, timeout=15 if bad else 8,
                severity="warning" if bad else "information",
            )  # fmt: skip

        if not event.value.strip():
            self._refuse("name a folder")
            return
        try:
            path = await asyncio.to_thread(_checked, event.value.strip())
            await Recording(self._session, path, say, self._changed).begin()
        except (KgtuiError, OSError, RuntimeError) as error:
            self._refuse(str(error))
        else:
            self._changed()
            self.dismiss(None)

    def _refuse(self, words: str) -> None:
        status = self.query_one("#status", Static)
        status.update(Content(text.plain(" ".join(words.split()), 400)))
        status.add_class("-said")


def _checked(words: str) -> Path:
    """The folder that the words mean. Raises `LakeError` when it is something else, or a library is missing."""
    from kgtui.lake.delta import load_deltalake
    from kgtui.lake.folder import LakeFolder

    load_deltalake()
    folder = LakeFolder.of(words)
    folder.check_usable()
    return folder.path
