"""Tests of the workarounds in `textual_compat` for keys, completions and workers.

A test with `unpatched` in its name fails as soon as Textual no longer needs the workaround.
"""

from __future__ import annotations

import asyncio
import gc
import os
import warnings
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from textual import events
from textual.app import App
from textual.command import CommandList, CommandPalette
from textual.containers import Vertical
from textual.css.query import NoMatches
from textual.screen import Screen
from textual.suggester import SuggestFromList
from textual.widgets import Input, OptionList, Static
from textual.worker import WorkerFailed

from kgtui.tui.textual_compat import ignored_input
from kgtui.tui.textual_compat.completion import CompletingInput
from kgtui.tui.textual_compat.crash_message import CrashReportingApp

if TYPE_CHECKING:
    from pathlib import Path

    from textual.app import ComposeResult
    from textual.binding import BindingType


async def test_unpatched_textual_removes_two_screens_if_one_is_dismissed_twice() -> None:
    app = App[None]()
    async with app.run_test():
        below, top = Screen[None](), Screen[None]()
        await app.push_screen(below)
        await app.push_screen(top)
        await ignored_input._textual_dismiss(top)
        await ignored_input._textual_dismiss(top)
        assert app.screen is not below, "the patch of Screen.dismiss is no longer needed"


class EmptyListApp(App[None]):
    """An app with an invisible list (height 0) that has one option, as in a closed command palette."""

    CSS = "OptionList { height: 0; border: none; }"

    def compose(self) -> ComposeResult:
        yield OptionList("payments")


async def test_unpatched_textual_fails_after_page_key_in_an_invisible_list() -> None:
    app = EmptyListApp()
    async with app.run_test() as pilot:
        await pilot.pause()
        options = app.query_one(OptionList)
        options.highlighted = 0
        with pytest.raises(KeyError):
            ignored_input._textual_move_page(options, 1)
        ignored_input._move_page(options, 1)
        assert options.highlighted == 0


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("_action_command_list", ["page_down"]), ("_action_cursor_down", []), ("_watch__list_visible", [])],
)
def test_unpatched_textual_fails_after_a_key_in_a_closed_command_palette(name: str, arguments: list[str]) -> None:
    palette, method = CommandPalette(), ignored_input.METHODS_THAT_NEED_THE_LIST[name]
    with pytest.raises(NoMatches):
        method(palette, *arguments)
    ignored_input.only_with_list(method)(palette, *arguments)


async def search_in_closed_palette() -> None:
    """Search in a command palette whose widgets have been removed, as when it closes while a search is running."""
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


async def test_unpatched_textual_fails_if_command_palette_closes_during_a_search(
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


async def test_unpatched_textual_loses_a_key_that_follows_a_focus_change() -> None:
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


async def test_unpatched_textual_passes_keys_to_parent_widgets_before_running_actions() -> None:
    app = FilterApp()
    async with app.run_test() as pilot:
        app.query_one("#list").focus()
        await pilot.pause()
        await pilot.press("slash")
        assert app.keys_in_container == ["slash"], "run_binding is no longer needed"


async def test_unpatched_textual_causes_a_warning_if_a_completion_is_canceled() -> None:
    """Textual completes the input in a coroutine that a worker runs.

    If the worker is canceled before it begins, Python warns that the coroutine was never awaited.
    """

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


async def test_completing_input_proposes_the_first_match_without_a_textual_worker() -> None:
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
    """A screen whose worker repeatedly searches for a child widget. The search fails when the child is removed."""

    def compose(self) -> ComposeResult:
        yield Static(id="child")

    def on_mount(self) -> None:
        self.run_worker(self._search())

    async def _search(self) -> None:
        for _ in range(100_000):
            self.query_one("#child")
            await asyncio.sleep(0)


async def open_and_close_a_screen(app: App[Any]) -> None:
    """Run the app, open a `SearchingScreen`, and remove it while its worker searches for the child widget."""
    async with app.run_test() as pilot:
        await app.push_screen(SearchingScreen())
        await app.pop_screen()
        await pilot.pause()
        assert not app.workers


async def test_unpatched_textual_ends_app_if_worker_of_removed_screen_fails() -> None:
    with pytest.raises(WorkerFailed, match="No nodes match '#child'"):
        await open_and_close_a_screen(App[None]())


async def test_a_failed_worker_of_a_removed_screen_does_not_end_the_app(tmp_path: Path) -> None:
    class KeptApp(CrashReportingApp):
        crash_folder = tmp_path

    await open_and_close_a_screen(KeptApp())
    assert not os.listdir(tmp_path)
