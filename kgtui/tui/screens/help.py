"""The help screen: all keys, symbols and filter terms, generated from the tables in which they are defined."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from kgtui.model.marks import legend
from kgtui.model.query import HELP, NOTES
from kgtui.tui import text
from kgtui.tui.screen_actions import table

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from kgtui.tui.session import Session

LEFT_WIDTH = 20
_HELP_KEYS = next(action.keys for action in table.ACTIONS if action.id == "help")
"""Default keys that open the help screen, separated by commas. On the help screen, these keys close it."""


class HelpScreen(ModalScreen[None]):
    """Shows all keys as the user has configured them, the symbols, and the filter language."""

    DEFAULT_CSS = """
    HelpScreen {
        align: center middle;
        & #sheet {
            width: 100; max-width: 100%; height: 98%; scrollbar-size-vertical: 1; scrollbar-gutter: stable;
            background: $surface;
            border: round $kg-accent; padding: 0 1;
            border-title-color: $kg-accent; border-subtitle-color: $kg-muted;
        }
        & Static { height: auto; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(f"escape,q,{_HELP_KEYS}", "dismiss", "Close", show=False),
        Binding("j", "scroll('down')", show=False),
        Binding("k", "scroll('up')", show=False),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="sheet") as sheet:
            sheet.border_title = "Keys and filter"
            sheet.border_subtitle = "esc closes"
            yield Static(markup=False)

    def on_mount(self) -> None:
        """Focus the text, so that the arrow keys scroll it."""
        self.query_one("#sheet").focus()

    def action_scroll(self, direction: str) -> None:
        """Scroll the text by one line. `direction` is `down` or `up`."""
        sheet = self.query_one("#sheet", VerticalScroll)
        (sheet.scroll_down if direction == "down" else sheet.scroll_up)(animate=False)

    def on_resize(self) -> None:
        # Write the text after the resize, because Textual ignores layout requests during a resize.
        self.call_after_refresh(self._write)

    def _write(self) -> None:
        width = max(self.query_one("#sheet").scrollable_content_region.width, 30)
        parts: list[tuple[str, str] | str] = []
        for title, rows in (*_keys(self._session), ("Symbols", legend(text.marks())), ("Filter", _terms())):
            parts.append((f"{title}\n", "bold"))
            for left, right in rows:
                parts += _row(left, right, width)
            parts.append("\n")
        parts += [(f"{note}\n", "$kg-muted") for note in NOTES]
        self.query_one(Static).update(Content.assemble(*parts))


Rows = list[tuple[str, str]]


def _row(left: str, right: str, width: int) -> list[tuple[str, str] | str]:
    lines = textwrap.wrap(right, max(width - LEFT_WIDTH - 3, 12)) or [""]
    parts: list[tuple[str, str] | str] = [(f"  {text.pad(left, LEFT_WIDTH)} ", "$kg-accent"), f"{lines[0]}\n"]
    return [*parts, *(f"{' ' * (LEFT_WIDTH + 3)}{line}\n" for line in lines[1:])]


def _keys(session: Session) -> list[tuple[str, Rows]]:
    offered = table.offered(read_only=session.read_only)
    return [
        (section, [(a.keys_in(session.keymap), a.help) for a in offered if a.section == section])
        for section in table.SECTIONS
    ]


def _terms() -> Rows:
    return [(row.example, row.meaning) for row in HELP]
