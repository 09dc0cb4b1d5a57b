"""The yardstick: a Textual app of one widget of 40 lines that counts keys, `python -m tests.bench.bare`."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tests.bench.instruments import Callbacks, listen


class Lines(ScrollView, can_focus=True):
    """A thousand lines. Down draws one of them again, page down all."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,left,right", "one", "One"),
        Binding("pagedown", "all", "All"),
    ]

    def on_mount(self) -> None:
        """Have something to show."""
        self.pressed = 0
        self.virtual_size = Size(0, 1000)

    def render_line(self, y: int) -> Strip:
        """A line; the first one has the count."""
        words = f"<{self.pressed:06}>" if y == 0 else f"line {y + self.pressed}"
        return Strip([Segment(words.ljust(self.size.width), self.rich_style)])

    def action_one(self) -> None:
        """A key that changes one line."""
        self.pressed += 1
        self.refresh_line(0)

    def action_all(self) -> None:
        """A key that changes every line."""
        self.pressed += 1
        self.refresh()


class Bare(App[None]):
    """Nothing but `Lines`."""

    ENABLE_COMMAND_PALETTE = False

    def compose(self) -> ComposeResult:
        """The one widget."""
        yield Lines()

    def on_mount(self) -> None:
        """Answer questions."""
        callbacks = Callbacks()
        callbacks.install()
        listen(lambda name, more: {"count": self.query_one(Lines).pressed, "worst": callbacks.worst})


if __name__ == "__main__":
    Bare().run()
