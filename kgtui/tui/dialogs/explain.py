"""The Explain dialog explains a group's health verdict (such as `STOPPED`), errors and state, and says what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from kgtui.model.diagnosis import explain_group
from kgtui.model.explanation import Explanation, explain_refusal
from kgtui.tui import text
from kgtui.tui.panes.base import to_content
from kgtui.tui.panes.cells import ACCENT, ERROR, MUTED, Cell, fit_text, wrap_cells
from kgtui.tui.panes.overview import mark_and_role
from kgtui.tui.panes.overview_health import time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from kgtui.model.snapshot import Snapshot

LABEL_WIDTH = 10


def explanation_lines(explanations: Sequence[Explanation], width: int) -> list[tuple[Cell, ...]]:
    """Return lines of at most `width` terminal cells with the explanations. A blank line separates two explanations."""
    lines: list[tuple[Cell, ...]] = []
    for explanation in explanations:
        if lines:
            lines.append(())
        lines += wrap_cells([_title(explanation)], width)
        labeled = (
            ("why", explanation.why),
            ("since", explanation.since),
            ("also", explanation.also),
            ("who", explanation.who),
            ("message", explanation.message),
            ("meaning", explanation.meaning),
            ("check", explanation.check),
            ("next", explanation.advice),
            ("based on", explanation.basis),
        )
        for label, paragraph in labeled:
            words = " ".join(paragraph.split())
            start = Cell(label.ljust(LABEL_WIDTH), MUTED)
            for piece in wrap_cells([Cell(words)], width - LABEL_WIDTH) if words else ():
                lines.append((start, *piece))
                start = Cell(" " * LABEL_WIDTH)
    return lines


def _title(explanation: Explanation) -> Cell:
    if explanation.status:
        mark, role = mark_and_role(explanation.status, problem=explanation.is_problem)
        return Cell(f"{mark} {explanation.title}", role)
    if explanation.is_problem:
        return Cell(f"{text.marks().fault} {explanation.title}", ERROR)
    return Cell(explanation.title, ACCENT)


class ExplainDialog(ModalScreen[None]):
    """Shows explanations, such as those of a group's problems. The open dialog ignores later changes to the group."""

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
        super().__init__()
        self.subject = subject
        self.explanations = tuple(explanations)

    @classmethod
    def about_group(cls, snapshot: Snapshot, group: str, *, refused: tuple[str, str] | None = None) -> ExplainDialog:
        """Create a dialog that explains the health verdict (such as `STOPPED`), the errors and the state of a group.

        Args:
            refused: (action that is not available, such as deleting the group; reason why it is not available). The
                dialog begins with this reason. None if the dialog is not about an unavailable action.
        """
        explanations = explain_group(snapshot, group, time_text)
        return cls(group, [explain_refusal(*refused), *explanations] if refused is not None else explanations)

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
        # Textual ignores layout requests during a resize, so the text is written after the resize.
        self.call_after_refresh(self._write)

    def _write(self) -> None:
        width = max(24, min(88, int(self.app.size.width * 0.96)) - 6)
        self.query_one("#title", Static).update(
            to_content([(Cell(fit_text(self.subject, width, cut="middle"), ACCENT),)])
        )
        nothing = [(Cell("Nothing to explain: all data could be read.", MUTED),)]
        self.query_one("#lines", Static).update(to_content(explanation_lines(self.explanations, width) or nothing))
        self.query_one(VerticalScroll).styles.max_height = max(3, int(self.app.size.height * 0.94) - 6)

    def action_close(self) -> None:
        self.dismiss(None)

    def action_scroll(self, lines: int) -> None:
        """Scroll the text down by a number of lines, or up if the number is negative."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)
