"""A minimal Textual app that the benchmarks compare kgtui with. Its only widget counts pressed keys."""

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
    """A scrollable widget with a thousand lines. The first line shows the number of pressed keys.

    The keys down, left and right redraw the first line. The key page down redraws all lines.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,left,right", "redraw_one", "One"),
        Binding("pagedown", "redraw_all", "All"),
    ]

    def on_mount(self) -> None:
        self.pressed = 0
        self.virtual_size = Size(0, 1000)

    def render_line(self, y: int) -> Strip:
        text = f"<{self.pressed:06}>" if y == 0 else f"line {y + self.pressed}"
        return Strip([Segment(text.ljust(self.size.width), self.rich_style)])

    def action_redraw_one(self) -> None:
        self.pressed += 1
        self.refresh_line(0)

    def action_redraw_all(self) -> None:
        self.pressed += 1
        self.refresh()


class BareApp(App[None]):
    """A Textual app that contains only the widget `Lines`."""

    ENABLE_COMMAND_PALETTE = False

    def compose(self) -> ComposeResult:
        yield Lines()

    def on_mount(self) -> None:
        callbacks = Callbacks()
        callbacks.install()
        listen(lambda name, parameters: {"count": self.query_one(Lines).pressed, "worst": callbacks.worst})


if __name__ == "__main__":
    BareApp().run()
