"""Tests of the workarounds in `textual_compat` for drawing, layout and output.

A test with `unpatched` in its name fails as soon as Textual or plotext no longer needs the workaround.
"""

from __future__ import annotations

import gc
import threading
from io import StringIO
from typing import TYPE_CHECKING, ClassVar

import pytest
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.content import Content
from textual.drivers._writer_thread import WriterThread
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.widgets import Static
from textual_plotext.plot import Plot

from kgtui.tui.textual_compat import narrow_text, rendering
from kgtui.tui.textual_compat.line_view import LineView
from kgtui.tui.textual_compat.plot_size import unlimited_plot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from textual.app import ComposeResult


@pytest.fixture(autouse=True)
def _unpatched_textual() -> Iterator[None]:
    before = Strip.divide
    setattr(Strip, "divide", rendering._textual_divide)  # noqa: B010
    yield
    setattr(Strip, "divide", before)  # noqa: B010


def objects_in_cycles(divide: Callable[[Strip, Iterable[int]], Sequence[Strip]], *cuts: int) -> int:
    """Call `divide` on a strip (a line of text). Delete the strip, and count objects that stay in reference cycles.

    Args:
        divide: `Strip.divide` of Textual or of kgtui.
        cuts: positions at or after the end of the strip, so that the strip stays in one piece.
    """
    strip = Strip([Segment("payments")])
    gc.collect()
    gc.disable()
    try:
        assert divide(strip, cuts) == [strip]
        del strip
        return gc.collect()
    finally:
        gc.enable()


def test_unpatched_textual_creates_reference_cycles_if_a_strip_is_not_divided() -> None:
    assert objects_in_cycles(rendering._textual_divide, 8) > 5, "prevent_strip_cycles is no longer needed"


def test_patched_strip_cut_at_its_end_leaves_no_reference_cycles() -> None:
    rendering.prevent_strip_cycles()
    assert objects_in_cycles(Strip.divide, 8) == 0


def test_patched_strip_cut_beyond_its_end_leaves_no_reference_cycles() -> None:
    """kgtui cuts each row of the tree at the column of the scroll bar, which is beyond the end of the row."""
    rendering.prevent_strip_cycles()
    assert objects_in_cycles(Strip.divide, 8, 10) == 0


def test_patched_strip_divide_returns_the_same_parts_as_the_original() -> None:
    strip = Strip([Segment("pay"), Segment("ments")])
    cuts: tuple[list[int], ...] = ([8], [3, 8], [2, 5], [4], [8, 12], [])
    before = [[part.text for part in rendering._textual_divide(strip, some)] for some in cuts]
    rendering.prevent_strip_cycles()
    assert [[part.text for part in strip.divide(some)] for some in cuts] == before


def test_unpatched_textual_repeats_the_background_color_in_each_segment() -> None:
    """Textual writes the same background color twice for two adjacent segments."""
    console = Console(force_terminal=True, color_system="truecolor", legacy_windows=False, file=StringIO())
    runs = [Segment("a", Style(color="red", bgcolor="#131519")), Segment("b", Style(color="blue", bgcolor="#131519"))]
    assert Strip(runs).render(console).count("48;2;19;21;25") == 2, "shorten_sgr is no longer needed"


def test_writer_thread_of_unpatched_textual_ends_after_a_write_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class LostTerminal(StringIO):
        def write(self, data: str) -> int:
            raise OSError(5, "Input/output error")

    errors: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", errors.append)
    thread = WriterThread(LostTerminal())
    thread.start()
    thread.write("x")
    thread.join(10)
    assert not thread.is_alive()
    assert errors, "LossTolerantTerminal is no longer needed"


def test_driver_of_unpatched_textual_has_the_output_file_that_kgtui_replaces() -> None:
    assert "_file" in LinuxDriver.__init__.__code__.co_names, "with_workarounds has nothing to replace"


def test_unpatched_textual_cannot_wrap_text_to_a_width_of_zero() -> None:
    with pytest.raises(ValueError, match="must not be zero"):
        narrow_text.textual_wrap(Content("payments"), 0)
    assert len(narrow_text.wrap(Content("payments"), 0)) == len("payments")


def test_tracebacks_of_unpatched_textual_contain_local_variables() -> None:
    def crash(password: str) -> None:
        raise ValueError(len(password))

    app = App[None]()
    try:
        crash("tops" + "ecret")
    except ValueError:
        app._fatal_error()
    output = StringIO()
    Console(file=output, width=200).print(*app._exit_renderables)
    assert "topsecret" in output.getvalue(), "crash_message is no longer needed"


async def test_unpatched_textual_clears_the_style_cache_of_a_widget_at_every_refresh() -> None:
    class Styled(Static):
        COMPONENT_CLASSES: ClassVar[set[str]] = {"styled--part"}

    class StyledApp(App[None]):
        def compose(self) -> ComposeResult:
            yield Styled("text")

    app = StyledApp()
    async with app.run_test() as pilot:
        widget = app.query_one(Styled)
        await pilot.pause()
        widget.get_component_rich_style("styled--part")
        assert widget._rich_style_cache
        widget.refresh()
        assert not widget._rich_style_cache, "StyleCache is no longer needed"


async def test_unpatched_textual_lays_out_screen_when_virtual_size_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class ScrollApp(App[None]):
        def compose(self) -> ComposeResult:
            yield ScrollView()

    app = ScrollApp()
    async with app.run_test() as pilot:
        layouts: list[None] = []
        original = app.screen._refresh_layout

        def counted(size: Size | None = None, scroll: bool = False) -> None:
            layouts.append(None)
            original(size, scroll)

        monkeypatch.setattr(app.screen, "_refresh_layout", counted)
        app.query_one(ScrollView).virtual_size = Size(10, 500)
        await pilot.pause()
        assert layouts, "NoRelayout and LineView are no longer needed"


class ScrollBarApp(App[None]):
    """An app that contains only a scroll view."""

    def __init__(self, view: ScrollView) -> None:
        super().__init__()
        self.view = view

    def compose(self) -> ComposeResult:
        yield self.view


async def test_scroll_view_of_unpatched_textual_creates_the_default_scroll_bar() -> None:
    view = ScrollView()
    async with ScrollBarApp(view).run_test():
        assert view._vertical_scrollbar is None, "the property vertical_scrollbar of LineView overrides nothing"
        assert type(view.vertical_scrollbar) is ScrollBar, "the property vertical_scrollbar is no longer needed"
        assert view._vertical_scrollbar is view.vertical_scrollbar


async def test_line_view_scroll_bar_starts_and_never_lays_out_screen() -> None:
    view = LineView()
    async with ScrollBarApp(view).run_test() as pilot:
        scroll_bar = view.vertical_scrollbar
        await pilot.pause()
        assert isinstance(scroll_bar, rendering.NoRelayout)
        assert scroll_bar.is_running, "App._start_widget no longer starts widgets"


def width_of(plot: Plot) -> int:
    plot.theme("clear")
    plot.plot([0, 1], [0, 1])
    return max(len(line) for line in plot.uncolorize(plot.build()).splitlines())


def test_unpatched_plotext_limits_plots_to_the_terminal_width() -> None:
    plot = Plot()
    plot.plotsize(2_000, 5)
    assert width_of(plot) < 2_000, "unlimited_plot is no longer needed"
    assert width_of(unlimited_plot(2_000, 5)) == 2_000
