"""Help: every key and every filter term, from the tables that make them work."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from kgtui.model.query import HELP, NOTES
from kgtui.tui import keys, text

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from kgtui.tui.session import Session

KEY_WIDTH = 14
TERM_WIDTH = 22


class HelpScreen(ModalScreen[None]):
    """Keys as they are mapped now, what the marks mean, and the filter language."""

    DEFAULT_CSS = """
    HelpScreen {
        align: center middle;
        & #sheet {
            width: 100; max-width: 100%; height: 98%; scrollbar-size-vertical: 1; background: $surface;
            border: round $kg-accent; padding: 0 1;
            border-title-color: $kg-accent; border-subtitle-color: $kg-muted;
        }
        & Static { height: auto; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1", "dismiss", "Close", show=False),
        Binding("j", "scroll('down')", show=False),
        Binding("k", "scroll('up')", show=False),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    def compose(self) -> ComposeResult:
        """One sheet to scroll."""
        with VerticalScroll(id="sheet") as sheet:
            sheet.border_title = "Keys and filter"
            sheet.border_subtitle = "esc closes"
            yield Static(self._content(), markup=False)

    def on_mount(self) -> None:
        """Arrows scroll at once."""
        self.query_one("#sheet").focus()

    def action_scroll(self, where: str) -> None:
        """Scroll by a line."""
        sheet = self.query_one("#sheet", VerticalScroll)
        (sheet.scroll_down if where == "down" else sheet.scroll_up)(animate=False)

    def _content(self) -> Content:
        parts: list[tuple[str, str] | str] = []
        for group in keys.GROUPS:
            parts.append((f"{group}\n", "bold"))
            for action in keys.offered(self._session.read_only):
                if action.group == group:
                    shown = keys.shown_keys(action, self._session.keymap)
                    parts += [(f"  {text.pad(shown, KEY_WIDTH)}", "$kg-accent"), f" {action.does}\n"]
            parts.append("\n")
        return Content.assemble(*parts, *_marks(), *_terms())


def _marks() -> list[tuple[str, str] | str]:
    marks = text.marks()
    rows = (
        (marks.stable, "Stable"),
        (marks.rebalancing, "PreparingRebalance, CompletingRebalance, Assigning, Reconciling"),
        (marks.empty, "Empty"),
        (marks.dead, "Dead"),
        (marks.not_ready, "NotReady"),
        (marks.odd, "a state that the broker does not tell, or that this version does not know"),
        (marks.marked, "marked by hand"),
        (marks.fault, "something of the group could not be learned: e explains"),
        (marks.none, "there is none, such as no commit"),
        (marks.unknown, "not known yet, or it cannot be known"),
        (marks.at_least.strip(), "at least: a part is not known"),
    )
    parts: list[tuple[str, str] | str] = [("Marks\n", "bold")]
    for mark, meaning in rows:
        parts += [(f"  {text.pad(mark, KEY_WIDTH)}", "$kg-accent"), f" {meaning}\n"]
    return [*parts, "\n"]


def _terms() -> list[tuple[str, str] | str]:
    parts: list[tuple[str, str] | str] = [("Filter\n", "bold")]
    for row in HELP:
        parts += [(f"  {text.pad(row.example, TERM_WIDTH)}", "$kg-accent"), f" {row.meaning}\n"]
    for note in NOTES:
        parts.append((f"  {note}\n", "$kg-muted"))
    return parts
