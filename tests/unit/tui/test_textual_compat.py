"""Tests of the workarounds in `textual_compat`.

A test with `still` in its name fails as soon as Textual no longer needs the workaround.
"""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import warnings
from io import StringIO
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import App
from textual.command import CommandList, CommandPalette
from textual.containers import Vertical
from textual.content import Content
from textual.css.query import NoMatches
from textual.drivers._writer_thread import WriterThread
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Size
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.suggester import SuggestFromList
from textual.widgets import Input, OptionList, Static
from textual.worker import WorkerFailed
from textual_plotext.plot import Plot

from kgtui.tui.textual_compat import ignored_input, narrow_text, rendering
from kgtui.tui.textual_compat.completion import CompletingInput
from kgtui.tui.textual_compat.crash_message import CrashReportingApp
from kgtui.tui.textual_compat.line_view import LineView
from kgtui.tui.textual_compat.plot_size import unlimited_plot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from textual.app import ComposeResult
    from textual.binding import BindingType


@pytest.fixture(autouse=True)
def _unpatched_textual() -> Iterator[None]:
    before = Strip.divide
    setattr(Strip, "divide", rendering._textual_divide)  # noqa: B010
    yield
    setattr(Strip, "divide", before)  # noqa: B010


def objects_in_cycles(divide: Callable[[Strip, Iterable[int]], Sequence[Strip]], *cuts: int) -> int:
    """Call `divide` so that the strip stays whole, and return the number of objects in new reference cycles.

    Args:
        divide: `Strip.divide` of Textual or of kgtui.
        cuts: positions to cut, all at or after the end of the strip.
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


def test_textual_still_creates_reference_cycles_in_undivided_strips() -> None:
    assert objects_in_cycles(rendering._textual_divide, 8) > 5, "prevent_strip_cycles is no longer needed"


def test_undivided_strip_is_freed_without_garbage_collection() -> None:
    rendering.prevent_strip_cycles()
    assert objects_in_cycles(Strip.divide, 8) == 0


def test_uncut_strip_is_freed_without_garbage_collection() -> None:
    """The rows of the tree are strips of this kind, because each row ends before the column of the scroll bar."""
    rendering.prevent_strip_cycles()
    assert objects_in_cycles(Strip.divide, 8, 10) == 0


def test_patched_strip_divide_returns_the_same_parts_as_the_original() -> None:
    strip = Strip([Segment("pay"), Segment("ments")])
    cuts: tuple[list[int], ...] = ([8], [3, 8], [2, 5], [4], [8, 12], [])
    before = [[part.text for part in rendering._textual_divide(strip, some)] for some in cuts]
    rendering.prevent_strip_cycles()
    assert [[part.text for part in strip.divide(some)] for some in cuts] == before


def test_textual_still_repeats_the_background_color_in_each_segment() -> None:
    """Two adjacent segments have the same background color, and Textual writes this color for both."""
    console = Console(force_terminal=True, color_system="truecolor", legacy_windows=False, file=StringIO())
    runs = [Segment("a", Style(color="red", bgcolor="#131519")), Segment("b", Style(color="blue", bgcolor="#131519"))]
    assert Strip(runs).render(console).count("48;2;19;21;25") == 2, "shorten_sgr is no longer needed"


def test_writer_thread_of_textual_still_ends_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_driver_of_textual_still_stores_the_terminal_in_a_private_attribute() -> None:
    assert "_file" in LinuxDriver.__init__.__code__.co_names, "with_workarounds has nothing to replace"


async def test_textual_still_removes_the_screen_below_a_screen_dismissed_twice() -> None:
    app = App[None]()
    async with app.run_test():
        below, top = Screen[None](), Screen[None]()
        await app.push_screen(below)
        await app.push_screen(top)
        await ignored_input._textual_dismiss(top)
        await ignored_input._textual_dismiss(top)
        assert app.screen is not below, "the patch of Screen.dismiss is no longer needed"


class EmptyListApp(App[None]):
    """An app with a list that has one option and the height 0, like the list of a closed command palette."""

    CSS = "OptionList { height: 0; border: none; }"

    def compose(self) -> ComposeResult:
        yield OptionList("payments")


async def test_textual_still_fails_after_a_page_key_in_a_list_of_height_0() -> None:
    app = EmptyListApp()
    async with app.run_test() as pilot:
        await pilot.pause()
        options = app.query_one(OptionList)
        options.highlighted = 0
        with pytest.raises(KeyError):
            ignored_input._textual_move_page(options, 1)
        ignored_input._move_page(options, 1)
        assert options.highlighted == 0


def test_textual_still_fails_to_wrap_text_into_lines_of_zero_cells() -> None:
    with pytest.raises(ValueError, match="must not be zero"):
        narrow_text.textual_wrap(Content("payments"), 0)
    assert len(narrow_text.wrap(Content("payments"), 0)) == len("payments")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("_action_command_list", ["page_down"]), ("_action_cursor_down", []), ("_watch__list_visible", [])],
)
def test_textual_still_fails_after_a_key_in_a_closed_command_palette(name: str, arguments: list[str]) -> None:
    palette, method = CommandPalette(), ignored_input.METHODS_THAT_NEED_THE_LIST[name]
    with pytest.raises(NoMatches):
        method(palette, *arguments)
    ignored_input.only_with_list(method)(palette, *arguments)


async def search_in_closed_palette() -> None:
    """Remove the widgets of the command palette while a search in the palette is running."""
    app = App[None]()
    async with app.run_test() as pilot:
        palette = CommandPalette()
        await app.push_screen(palette)
        await pilot.pause(0.3)
        commands = palette.query_one(CommandList)
        await palette.remove_children()
        palette._refresh_command_list(commands, [], True)
        palette._gather_commands("q")
        await pilot.pause(0.3)


async def test_textual_still_fails_if_a_search_outlives_the_palette(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, method in ignored_input.METHODS_THAT_NEED_THE_LIST.items():
        monkeypatch.setattr(CommandPalette, name, method)
    with pytest.raises(NoMatches):
        await search_in_closed_palette()
    for name, method in ignored_input.METHODS_THAT_NEED_THE_LIST.items():
        monkeypatch.setattr(CommandPalette, name, ignored_input.only_with_list(method))
    await search_in_closed_palette()


class FilterApp(App[None]):
    """An app with a list, an input field, and a key that moves the focus to the input field."""

    BINDINGS: ClassVar[list[BindingType]] = [("slash", "focus_field", "")]

    def __init__(self) -> None:
        super().__init__()
        self.keys_in_container: list[str] = []

    def compose(self) -> ComposeResult:
        app = self

        class Container(Vertical):
            def on_key(self, event: events.Key) -> None:
                app.keys_in_container.append(event.key)

        class FocusableStatic(Static, can_focus=True):
            pass

        with Container():
            yield FocusableStatic("list", id="list")
        yield Input()

    def action_focus_field(self) -> None:
        self.query_one(Input).focus()


async def test_textual_still_loses_the_key_after_a_key_that_moves_the_focus() -> None:
    app = FilterApp()
    async with app.run_test() as pilot:
        app.query_one("#list").focus()
        await pilot.pause()
        for key, character in (("slash", "/"), ("a", "a")):
            app.post_message(events.Key(key, character))
        async with asyncio.timeout(60):
            while not app.query_one(Input).has_focus:
                await pilot.pause()
        await pilot.pause()
        assert app.query_one(Input).value == "", "KeyOrder is no longer needed"


async def test_textual_still_sends_a_key_to_all_ancestors_first() -> None:
    app = FilterApp()
    async with app.run_test() as pilot:
        app.query_one("#list").focus()
        await pilot.pause()
        await pilot.press("slash")
        assert app.keys_in_container == ["slash"], "run_binding is no longer needed"


async def test_textual_still_causes_a_warning_for_a_completion_that_never_begins() -> None:
    """When the text changes, Textual creates a coroutine. An immediately canceled worker never awaits it."""

    class Completing(App[None]):
        def compose(self) -> ComposeResult:
            yield Input(suggester=SuggestFromList(["fault:yes"]))

    app = Completing()
    async with app.run_test():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            app.query_one(Input).value = "fault"
            app.workers.cancel_all()
            await asyncio.sleep(0.01)
            gc.collect()
    assert ["_get_suggestion' was never awaited" in str(warning.message) for warning in caught] == [True]


async def test_completion_proposes_the_first_match_without_a_worker() -> None:
    class Completing(App[None]):
        def compose(self) -> ComposeResult:
            yield CompletingInput("", ["state:Empty", "Fault:yes", "fault:no"])

    app = Completing()
    async with app.run_test() as pilot:
        await pilot.press(*"faU")
        assert not app.workers
        await pilot.press("right")
        assert app.query_one(Input).value == "Fault:yes"
        await pilot.press("x", "right")
        assert app.query_one(Input).value == "Fault:yesx"


class SearchingScreen(Screen[None]):
    """A screen with a worker that repeatedly looks for a child widget of the screen, until the child is removed."""

    def compose(self) -> ComposeResult:
        yield Static(id="child")

    def on_mount(self) -> None:
        self.run_worker(self._search())

    async def _search(self) -> None:
        for _ in range(100_000):
            self.query_one("#child")
            await asyncio.sleep(0)


async def open_and_close_a_screen(app: App[Any]) -> None:
    """Run the app. Open and close a screen with a worker that looks for a child widget after its removal."""
    async with app.run_test() as pilot:
        await app.push_screen(SearchingScreen())
        await app.pop_screen()
        await pilot.pause()
        assert not app.workers


async def test_textual_still_ends_the_app_if_a_worker_does_not_find_a_removed_widget() -> None:
    with pytest.raises(WorkerFailed, match="No nodes match '#child'"):
        await open_and_close_a_screen(App[None]())


async def test_a_worker_of_a_removed_screen_does_not_end_the_app(tmp_path: Path) -> None:
    class KeptApp(CrashReportingApp):
        crash_folder = tmp_path

    await open_and_close_a_screen(KeptApp())
    assert not os.listdir(tmp_path)


def test_tracebacks_of_textual_still_contain_local_variables() -> None:
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


async def test_textual_still_clears_its_style_cache_at_every_refresh() -> None:
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


async def test_textual_still_lays_out_the_whole_screen_when_virtual_size_is_set(
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


async def test_scroll_view_of_textual_still_creates_the_default_scroll_bar() -> None:
    view = ScrollView()
    async with ScrollBarApp(view).run_test():
        assert view._vertical_scrollbar is None, "the property vertical_scrollbar of LineView overrides nothing"
        assert type(view.vertical_scrollbar) is ScrollBar, "the property vertical_scrollbar is no longer needed"
        assert view._vertical_scrollbar is view.vertical_scrollbar


async def test_line_view_has_a_running_scroll_bar_that_causes_no_relayout() -> None:
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


def test_plotext_still_limits_plots_to_the_terminal_width() -> None:
    plot = Plot()
    plot.plotsize(2_000, 5)
    assert width_of(plot) < 2_000, "unlimited_plot is no longer needed"
    assert width_of(unlimited_plot(2_000, 5)) == 2_000
