"""The start screen: choose a configured cluster, type an address, or open the demo cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on, work
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Button, Input, Static

from kgtui.errors import KgtuiError, UnreachableError
from kgtui.tui import text
from kgtui.tui.dialogs.clusters import CONFIG_EXAMPLE
from kgtui.tui.dialogs.prompt import StatusLine
from kgtui.tui.messages import ClustersRequested

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from textual.app import ComposeResult

    from kgtui.tui.session import Session

_NAMED_CLUSTERS = 3
"""Maximum number of cluster names in the label of the button *Choose a configured cluster*."""


class StartScreen(Screen[None]):
    """Asks which cluster to open, and opens it."""

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
        & #clusters, & #demo { margin-top: 1; height: auto; }
        & #file { margin-top: 1; color: $kg-muted; }
    }
    """

    class Opened(Message):
        """Posted after the user has opened a cluster. `session` contains the cluster's monitor and settings."""

        def __init__(self, session: Session) -> None:
            super().__init__()
            self.session = session

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    def compose(self) -> ComposeResult:
        session = self._session
        with VerticalScroll(id="sheet", can_focus=False) as sheet:
            sheet.border_title = "kgtui: choose a Kafka cluster"
            if session.failed_attempts:
                yield Static(_failed_attempts(session), id="tried", markup=False)
            if session.clusters and session.open_cluster is not None:
                with Vertical(id="clusters"):
                    yield Button(Content(_cluster_names(session)), id="choose", compact=True)
            yield Static("Type the address of a broker and press enter:", id="ask", markup=False)
            yield Input(
                placeholder="host:port, or several, separated by commas",
                id="address",
                disabled=session.open_address is None,
            )
            yield StatusLine()
            if session.open_demo is not None:
                with Vertical(id="demo"):
                    yield Button("Open a demo cluster", id="run-demo", compact=True)
            yield Static(_config_file_hint(session), id="file", markup=False)

    @on(Input.Submitted)
    def _typed(self, event: Input.Submitted) -> None:
        address, open_address = event.value.strip(), self._session.open_address
        if address and open_address is not None:
            progress = f"Connecting to {text.plain(address, 60)}{text.marks().ellipsis}"
            self.query_one(StatusLine).show(progress, "kg-muted")
            self._open(open_address(address))

    @on(Button.Pressed, "#choose")
    def _choose(self) -> None:
        self.post_message(ClustersRequested())

    @on(Button.Pressed, "#run-demo")
    def _demo(self) -> None:
        if self._session.open_demo is not None:
            self.query_one(StatusLine).show(f"Starting the demo cluster{text.marks().ellipsis}", "kg-muted")
            self._open(self._session.open_demo())

    @work(exclusive=True, group="open", exit_on_error=False)
    async def _open(self, opening: Awaitable[Session]) -> None:
        try:
            session = await opening
        except KgtuiError as error:
            self.query_one(StatusLine).show(_error_text(error))
            return
        self.post_message(self.Opened(session))


def _error_text(error: KgtuiError) -> str:
    lines = [" ".join(str(error).split())]
    if isinstance(error, UnreachableError):
        lines += _attempts(error.attempts)
    return "\n".join(lines)


def _attempts(attempts: tuple[tuple[str, str], ...]) -> list[str]:
    reasons = [why if why.startswith(address) else f"{address}: {why}" for address, why in attempts]
    return [f"  {text.marks().fault} {text.plain(' '.join(reason.split()), 260)}" for reason in reasons]


def _failed_attempts(session: Session) -> Content:
    missing = "No default cluster is configured" if session.clusters else "No cluster is configured"
    return Content("\n".join([f"{missing}, and there was no answer from:", *_attempts(session.failed_attempts)]))


def _cluster_names(session: Session) -> str:
    names = [choice.name for choice in session.clusters]
    more = text.marks().ellipsis if len(names) > _NAMED_CLUSTERS else ""
    listed = ", ".join(text.plain(name, 20) for name in names[:_NAMED_CLUSTERS])
    return f"Choose a configured cluster ({listed}{more})"


def _config_file_hint(session: Session) -> Content:
    file = text.plain(str(session.config_file)) if session.config_file else "config.toml"
    keys = "tab goes to the next field, enter chooses, ctrl+c quits."
    if session.clusters:
        return Content(f'To open a cluster at startup, write its name into {file}:\n\n  default = "NAME"\n\n{keys}')
    return Content(f"Or add your clusters to {file}, for example:\n\n{CONFIG_EXAMPLE}\n{keys}")
