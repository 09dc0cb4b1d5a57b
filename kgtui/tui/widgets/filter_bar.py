"""The filter bar: an expression, how much of it could be searched, and a mistake shown where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual import on
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.suggester import SuggestFromList
from textual.widgets import Input, Static

from kgtui.errors import QueryError
from kgtui.model.query import Need, parse
from kgtui.tui import text
from kgtui.tui.textual_compat.rendering import NoRelayout

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual import events
    from textual.app import ComposeResult

    from kgtui.model.query import Query

HINT = "filter: a word, type:consumer, lag:1k+, state:Empty, not:topic:x% … (? lists all terms)"
SHORT_HINT = "filter: a word, lag:1k+, state:Empty … (? lists all)"


class Expression(Input, NoRelayout):
    """A field of fixed size. Textual's own lays out the whole screen anew for each letter."""

    def on_resize(self) -> None:
        """A hint that fits."""
        self.placeholder = HINT if self.size.width > cell_len(HINT) else SHORT_HINT


class FilterBar(Vertical):
    """A filter expression. The last good one stays in force while a mistake is being typed."""

    DEFAULT_CSS = """
    FilterBar {
        height: auto;
        background: $surface;
        & > Horizontal { height: 1; }
        & #sign { width: 3; color: $kg-accent; text-style: bold; padding: 0 1; }
        & Input {
            width: 1fr; height: 1; border: none; padding: 0; background: $surface; color: $foreground;
            &:focus { border: none; background: $panel; }
            &.-faulty { color: $kg-error; }
            & > .input--placeholder { color: $kg-muted; }
        }
        & #note { width: auto; padding: 0 1; color: $kg-muted; }
        & #mistake { display: none; height: auto; max-height: 6; padding: 0 1 0 3; color: $kg-error; }
        &.-mistaken #mistake { display: block; }
    }
    """

    class Changed(Message):
        """Another filter is in force.

        Attributes:
            query: as parsed.
            text: as typed.
        """

        def __init__(self, query: Query, text: str) -> None:
            super().__init__()
            self.query = query
            self.text = text

    class Done(Message):
        """Typing is over; the tree wants the focus back."""

    def __init__(self, expression: str = "", presets: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._presets = dict(presets or {})
        self._initial = expression
        self._before = expression
        self._said = ""
        self.in_force = ""
        """The text of the filter in force."""

    def compose(self) -> ComposeResult:
        """The line, and the mistake under it."""
        with Horizontal():
            yield Static("/", id="sign", markup=False)
            yield Expression(self._initial, placeholder=HINT, id="expression", select_on_focus=False,
                             suggester=SuggestFromList(self._presets.values(), case_sensitive=False))  # fmt: skip
            yield Static(id="note", markup=False)
        yield Static(id="mistake", markup=False)

    @property
    def input(self) -> Input:
        """The field that is typed in."""
        return self.query_one(Input)

    def begin(self) -> None:
        """Put the cursor into the field, at once: what is typed next belongs there."""
        self._before = self.in_force
        self.screen.set_focus(self.input)

    def drop(self) -> bool:
        """Take the filter away without a message; False if there was none."""
        if not self.input.value:
            return False
        with self.prevent(Input.Changed):
            self.input.value = ""
        self._show_mistake(None)
        self.in_force = ""
        return True

    def note_searched(self, searched: tuple[int, int] | None, *, only_faults: bool) -> None:
        """Say beside the filter how much of it could be searched, and whether only faults are shown."""
        words = [text.plain(name, 24) for name, saved in self._presets.items() if saved == self.in_force.strip()][:1]
        words += ["only problems (z)"] if only_faults else []
        if searched is not None and searched[0] < searched[1]:
            watching = Need.WATCHING in parse(self.in_force).needs
            known, every = text.exact(searched[0]), text.exact(searched[1])
            words.append(f"{known} of {every} watched" if watching else f"searched {text.percent_of(*searched)} so far")
        said = ", ".join(words)
        if said != self._said:
            self._said = said
            self.query_one("#note", Static).update(said)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        try:
            query = parse(event.value)
        except QueryError as error:
            self._show_mistake(error)
            return
        self._show_mistake(None)
        self.in_force = event.value
        self.post_message(self.Changed(query, event.value))

    @on(Input.Submitted)
    def _kept(self, event: Input.Submitted) -> None:
        event.stop()
        self._before = self.in_force
        self.post_message(self.Done())

    def on_key(self, event: events.Key) -> None:
        """Escape drops what was typed; down leaves the field."""
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
        """Put the preset after the one in the field there, the first after the last."""
        saved = list(self._presets.values())
        at = saved.index(self.input.value) + 1 if self.input.value in saved else 0
        self.input.value = saved[at % len(saved)]
        self.input.cursor_position = len(self.input.value)

    def _show_mistake(self, error: QueryError | None) -> None:
        self.set_class(error is not None, "-mistaken")
        self.input.set_class(error is not None, "-faulty")
        if error is None:
            return
        room = max(self.size.width - 4, 10)
        start = min(max(error.position - self.input.scroll_offset.x, 0), room - 1)
        pointer = " " * start + "^" * max(min(error.length, room - start), 1)
        expected = f"; expected {error.expected}" if error.expected else ""
        words = text.plain(" ".join(f"{error}{expected}".split()))
        beside = len(pointer) + 1 + len(words) <= room
        self.query_one("#mistake", Static).update(Content(f"{pointer}{' ' if beside else chr(10)}{words}"))
