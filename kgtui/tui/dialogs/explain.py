"""The Explain dialog: what a fault, a state or a refused key means, what is behind it, and the next step."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from kgtui.model.explanation import Explanation, of_group, of_refusal
from kgtui.tui import text
from kgtui.tui.panes.base import to_content
from kgtui.tui.panes.cells import ACCENT, ERROR, MUTED, Cell, fit_text, wrap_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from kgtui.model.snapshot import Snapshot

LABEL = 9


def explanation_lines(explanations: Sequence[Explanation], width: int) -> list[tuple[Cell, ...]]:
    """Explanations as lines of at most `width` cells, with a blank line between them."""
    lines: list[tuple[Cell, ...]] = []
    for one in explanations:
        if lines:
            lines.append(())
        lines += wrap_cells([Cell(f"{text.marks().fault} {one.title}" if one.wrong else one.title, _role(one))], width)
        for label, said in (("says", one.said), ("means", one.meaning), ("behind", one.behind), ("next", one.step)):
            words = " ".join(said.split())
            start = Cell(label.ljust(LABEL), MUTED)
            for piece in wrap_cells([Cell(words)], width - LABEL) if words else ():
                lines.append((start, *piece))
                start = Cell(" " * LABEL)
    return lines


def _role(one: Explanation) -> str:
    return ERROR if one.wrong else ACCENT


class ExplainDialog(ModalScreen[None]):
    """Explains what it was opened for; nothing here changes while it is open."""

    DEFAULT_CSS = """
    ExplainDialog { align: center middle; }
    ExplainDialog #box {
        width: 88; max-width: 96%; height: auto; max-height: 94%;
        background: $surface; border: round $kg-accent; padding: 0 1;
    }
    ExplainDialog #title { height: 1; text-style: bold; }
    ExplainDialog VerticalScroll { height: auto; max-height: 100%; margin: 1 0; scrollbar-size-vertical: 1; }
    ExplainDialog #lines { height: auto; }
    ExplainDialog #hint { height: 1; color: $kg-muted; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q,e", "close", "Close", show=False),
        Binding("j", "scroll(1)", "Down", show=False),
        Binding("k", "scroll(-1)", "Up", show=False),
    ]
    """
    | key | does |
    |---|---|
    | escape, enter, q, e | close |
    | j / k, arrows, page keys | scroll |
    """

    def __init__(self, subject: str, explanations: Sequence[Explanation]) -> None:
        """Explain these about `subject`, which may be a group id."""
        super().__init__()
        self.subject = subject
        self.explanations = tuple(explanations)

    @classmethod
    def about_group(cls, snapshot: Snapshot, group: str, *, refused: tuple[str, str] | None = None) -> ExplainDialog:
        """Explain a group's faults, missing numbers and state; `refused` is `(action, reason)` of a greyed key."""
        found = of_group(snapshot, group)
        return cls(group, [of_refusal(*refused), *found] if refused is not None else found)

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(id="title")
            with VerticalScroll():
                yield Static(id="lines")
            yield Static("esc closes", id="hint")

    def on_mount(self) -> None:
        self._write()
        self.query_one(VerticalScroll).focus()

    def on_resize(self) -> None:
        # A layout asked for while this one is under way would be lost.
        self.call_after_refresh(self._write)

    def _write(self) -> None:
        width = max(24, min(88, int(self.app.size.width * 0.96)) - 6)
        self.query_one("#title", Static).update(
            to_content([(Cell(fit_text(self.subject, width, cut="middle"), ACCENT),)])
        )
        lines = explanation_lines(self.explanations, width) or [(Cell("Nothing to explain: all is known.", MUTED),)]
        self.query_one("#lines", Static).update(to_content(lines))
        room = max(3, int(self.app.size.height * 0.94) - 6)
        self.query_one(VerticalScroll).styles.max_height = room

    def action_close(self) -> None:
        """Close the dialog."""
        self.dismiss(None)

    def action_scroll(self, lines: int) -> None:
        """Scroll by lines."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)
