"""The filter bar: the filter expression, a note beside it, and a syntax error or a hint below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual import on
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from kgtui.errors import QueryError
from kgtui.model.number_format import counted
from kgtui.model.query import Need, parse
from kgtui.model.query.spelling import operator_hint
from kgtui.tui import text
from kgtui.tui.textual_compat.completion import CompletingInput
from kgtui.tui.textual_compat.rendering import NoRelayout

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual import events
    from textual.app import ComposeResult

    from kgtui.model.query import Query

HINT = "filter: a word, type:consumer, lag:1k+, state:Empty, not:topic:x% … (? lists all terms)"
SHORT_HINT = "filter: a word, lag:1k+, state:Empty … (? lists all)"


def _hint(width: int) -> str:
    """Return the hint to show in an empty input field of this width: `HINT` if it fits, otherwise `SHORT_HINT`."""
    shown, short = (hint.replace("…", "...") if text.display_settings().ascii else hint for hint in (HINT, SHORT_HINT))
    return shown if width > cell_len(shown) else short


class Expression(CompletingInput, NoRelayout):
    """The input field of the filter. It proposes a preset (saved filter) that begins with the typed text."""

    def on_resize(self) -> None:
        """Replace the placeholder of the empty field with the longest hint that fits the new width."""
        self.placeholder = _hint(self.size.width)


class FilterBar(Vertical):
    """The bar for the filter. While the typed filter has a syntax error, the last valid filter stays active."""

    DEFAULT_CSS = """
    FilterBar {
        height: auto;
        background: $surface;
        & > Horizontal { height: 1; }
        & #sign { width: 3; color: $kg-accent; text-style: bold; padding: 0 1; }
        & Input {
            width: 1fr; height: 1; border: none; padding: 0; background: $surface; color: $foreground;
            &:focus { border: none; background: $panel; }
            &.-invalid, &.-invalid:focus { border: none; color: $kg-error; }
            & > .input--placeholder { color: $kg-muted; }
        }
        & #note { width: auto; padding: 0 1; color: $kg-muted; }
        & #error { display: none; height: auto; max-height: 6; padding: 0 1 0 3; color: $kg-error; }
        &.-error #error { display: block; }
        &.-hint #error { display: block; color: $kg-warn; }
    }
    """

    class Changed(Message):
        """Posted when the active filter has changed.

        Attributes:
            query: the parsed filter.
            text: the filter expression that the user has typed.
        """

        def __init__(self, query: Query, text: str) -> None:
            super().__init__()
            self.query = query
            self.text = text

    class Done(Message):
        """Posted when the user leaves the filter bar. The screen must then focus another widget, such as the tree.

        Attributes:
            accepted: the active filter if the user pressed Enter; empty if the user pressed Escape, Down or Tab.
        """

        def __init__(self, accepted: str = "") -> None:
            super().__init__()
            self.accepted = accepted

    def __init__(self, expression: str = "", presets: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._presets = dict(presets or {})
        self._initial = expression
        self._before = expression
        self._coverage = ""
        self.active_filter = ""
        """The filter that the screen applies: the last text in the input field that was a valid filter."""

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Static("/", id="sign", markup=False)
            yield Expression(
                self._initial, self._presets.values(), placeholder=HINT, id="expression", select_on_focus=False
            )
            yield Static(id="note", markup=False)
        yield Static(id="error", markup=False)

    @property
    def input(self) -> Input:
        return self.query_one(Input)

    def begin(self) -> None:
        """Focus the input field immediately, so that it receives the next character."""
        self._before = self.active_filter
        self.screen.set_focus(self.input)

    def clear_filter(self) -> bool:
        """Clear the filter without posting `Changed`. Return False if there was no filter."""
        if not self.input.value:
            return False
        with self.prevent(Input.Changed):
            self.input.value = ""
        self._show_error(None)
        self.active_filter = ""
        return True

    def show_coverage(self, searched: tuple[int, int] | None, *, only_problems: bool, unobserved: int = 0) -> None:
        """Update the note beside the filter, such as `only problems (z), 40% of the groups searched`.

        Args:
            searched: (number of groups that have been tested, number of groups to test); None to omit this part.
            only_problems: whether only groups with a problem are shown (key `z`).
            unobserved: number of groups that may have a problem, but that kgtui reads only in the background (less
                often), because there are too many such groups. kgtui checks these groups by simple rules only.
        """
        active = self.active_filter.strip()
        notes = [text.plain(name, 24) for name, saved in self._presets.items() if saved == active][:1]
        notes += ["only problems (z)"] if only_problems else []
        notes += [f"{counted(unobserved, 'group')} checked less often"] if only_problems and unobserved else []
        if searched is not None and searched[0] < searched[1]:
            watching = Need.WATCHING in parse(self.active_filter).needs
            known, every = text.exact(searched[0]), text.exact(searched[1])
            progress = f"{text.percent_of(*searched)} of the groups searched"
            notes.append(f"{known} of {every} groups checked" if watching else progress)
        coverage = ", ".join(notes)
        if coverage != self._coverage:
            self._coverage = coverage
            self.query_one("#note", Static).update(coverage)

    def show_hint(self, hint: str) -> None:
        """Show a hint below the filter until the filter changes. Do nothing while a syntax error is shown there.

        An empty `hint` hides the previous hint.
        """
        if self.has_class("-error"):
            return
        self.set_class(bool(hint), "-hint")
        self.query_one("#error", Static).update(Content(text.plain(hint)))

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        try:
            query = parse(event.value)
        except QueryError as error:
            self._show_error(error)
            return
        self._show_error(None)
        self.show_hint(operator_hint(query))
        self.active_filter = event.value
        self.post_message(self.Changed(query, event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._before = self.active_filter
        self.post_message(self.Done(self.active_filter.strip()))

    def on_key(self, event: events.Key) -> None:
        """Leave the filter bar after Escape, Down or Tab. After Up, insert the next preset (saved filter).

        Escape also restores the filter that was active when the user entered the filter bar.
        """
        if event.key == "escape":
            event.stop()
            event.prevent_default()
            self.input.value = self._before
            self.post_message(self.Done())
        elif event.key == "up" and self._presets:
            event.stop()
            event.prevent_default()
            self._next_preset()
        elif event.key in ("down", "tab"):
            event.stop()
            event.prevent_default()
            self.post_message(self.Done())

    def _next_preset(self) -> None:
        saved = list(self._presets.values())
        at = saved.index(self.input.value) + 1 if self.input.value in saved else 0
        self.input.value = saved[at % len(saved)]
        self.input.cursor_position = len(self.input.value)

    def _show_error(self, error: QueryError | None) -> None:
        self.remove_class("-hint")
        self.set_class(error is not None, "-error")
        self.input.set_class(error is not None, "-invalid")
        if error is None:
            return
        width = max(self.size.width - 4, 10)
        start = min(max(error.position - self.input.scroll_offset.x, 0), width - 1)
        pointer = " " * start + "^" * max(min(error.length, width - start), 1)
        expected = f"; {error.expected}" if error.expected else ""
        message = text.plain(" ".join(f"{error}{expected}".split()))
        beside = len(pointer) + 1 + len(message) <= width
        self.query_one("#error", Static).update(Content(f"{pointer}{' ' if beside else chr(10)}{message}"))
