"""The start screen: there is no cluster yet. Offers the demo, an address to type, and the file to write."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Button, Input, Static

from kgtui.errors import KgtuiError, UnreachableError
from kgtui.tui import text
from kgtui.tui.dialogs.clusters import EXAMPLE
from kgtui.tui.messages import ClustersRequested

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from textual.app import ComposeResult

    from kgtui.tui.session import Session

_NAMED = 3
"""Clusters whose names are told before they are chosen from."""


class StartScreen(Screen[None]):
    """What to do without a cluster."""

    AUTO_FOCUS = "#choose, Input"

    DEFAULT_CSS = """
    StartScreen {
        align: center middle;
        & #sheet {
            width: 84; max-width: 100%; height: auto; max-height: 100%; padding: 0 2; background: $surface;
            border: round $kg-accent; border-title-color: $kg-accent; scrollbar-size-vertical: 1;
        }
        & Static { height: auto; }
        & #tried { color: $kg-warn; margin-top: 1; }
        & #ask { margin-top: 1; }
        & Input { border: none; height: 1; padding: 0 1; background: $panel; }
        & Input:focus { border: none; }
        & #status { display: none; }
        & #status.-said { display: block; }
        & #clusters, & #demo { margin-top: 1; height: auto; }
        & #file { margin-top: 1; color: $kg-muted; }
    }
    """

    class Opened(Message):
        """A cluster answered."""

        def __init__(self, session: Session) -> None:
            super().__init__()
            self.session = session

    BUSY: ClassVar[str] = "Connecting"

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    def compose(self) -> ComposeResult:
        """What was tried, then the ways on: a configured cluster, an address, the demo, the file to write."""
        session = self._session
        with VerticalScroll(id="sheet", can_focus=False) as sheet:
            sheet.border_title = "kgtui: which Kafka cluster?"
            if session.failed_attempts:
                yield Static(_tried(session), id="tried", markup=False)
            if session.clusters and session.open_cluster is not None:
                with Vertical(id="clusters"):
                    yield Button(Content(_listed(session)), id="choose", compact=True)
            yield Static("Address of a broker, then enter:", id="ask", markup=False)
            yield Input(
                placeholder="host:port, or several with commas", id="address", disabled=session.open_address is None
            )
            yield Static(id="status", markup=False)
            if session.open_demo is not None:
                with Vertical(id="demo"):
                    yield Button("Try it on the demo cluster", id="run-demo", compact=True)
            yield Static(_file(session), id="file", markup=False)

    def _say(self, words: str, role: str = "kg-error") -> None:
        status = self.query_one("#status", Static)
        status.set_class(bool(words), "-said")
        status.update(Content.assemble((words, f"${role}")))

    @on(Input.Submitted)
    def _typed(self, event: Input.Submitted) -> None:
        address, connect = event.value.strip(), self._session.open_address
        if address and connect is not None:
            self._say(f"{self.BUSY} to {text.plain(address, 60)}{text.marks().ellipsis}", "kg-muted")
            self._open(connect(address))

    @on(Button.Pressed, "#choose")
    def _choose(self) -> None:
        self.post_message(ClustersRequested())

    @on(Button.Pressed, "#run-demo")
    def _demo(self) -> None:
        if self._session.open_demo is not None:
            self._say(f"Starting the demo cluster{text.marks().ellipsis}", "kg-muted")
            self._open(self._session.open_demo())

    @work(exclusive=True, group="open", exit_on_error=False)
    async def _open(self, opening: Awaitable[Session]) -> None:
        try:
            session = await opening
        except KgtuiError as error:
            self._say(_failure(error))
            return
        self.post_message(self.Opened(session))


def _failure(error: KgtuiError) -> str:
    lines = [text.plain(" ".join(str(error).split()), 400)]
    if isinstance(error, UnreachableError):
        lines += _attempts(error.attempts)
    return "\n".join(lines)


def _attempts(attempts: tuple[tuple[str, str], ...]) -> list[str]:
    """A line each; most reasons name the address themselves."""
    said = [why if why.startswith(address) else f"{address}: {why}" for address, why in attempts]
    return [f"  {text.marks().fault} {text.plain(' '.join(words.split()), 260)}" for words in said]


def _tried(session: Session) -> Content:
    why = "is the default" if session.clusters else "is configured"
    return Content("\n".join([f"No cluster {why}, and none answered:", *_attempts(session.failed_attempts)]))


def _listed(session: Session) -> str:
    """How many clusters there are to choose from, and the first of them."""
    names = [choice.name for choice in session.clusters]
    more = text.marks().ellipsis if len(names) > _NAMED else ""
    listed = ", ".join(text.plain(name, 20) for name in names[:_NAMED])
    return f"Choose a configured cluster ({listed}{more})"


def _file(session: Session) -> Content:
    where = text.plain(str(session.config_file)) if session.config_file else "config.toml"
    keys = "tab moves, enter chooses, ctrl+c leaves."
    if session.clusters:
        return Content(f'Name the one to open at once in {where}:\n\n  default = "NAME"\n\n{keys}')
    return Content(f"Or name your clusters in {where}:\n\n{EXAMPLE}\n{keys}")
