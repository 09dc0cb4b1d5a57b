"""Tests of presets (filters saved in the configuration), and of the notice about invalid presets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import Static

from tests.pilot.app_driver import app_on, main_screen, sample_snapshot, screen_text, search_palette, settled, until

if TYPE_CHECKING:
    from pathlib import Path

PRESETS = {"trouble": "fault:yes", "behind": "lag:1k+", "odd": "lagg:1", "[/red]": "nonsense:"}


async def test_choosing_a_preset_in_the_command_palette_applies_the_filter(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path, presets=PRESETS)
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await search_palette(pilot, "filter: behind")
        await pilot.press("enter")
        await settled(pilot)
        assert main_screen(app).filter_bar.active_filter == "lag:1k+"


async def test_key_up_in_the_filter_bar_cycles_through_the_presets(tmp_path: Path) -> None:
    """Valid presets are ordered by name. The filter bar shows the name of the preset beside the filter."""
    app, _ = app_on(sample_snapshot(), tmp_path, presets=PRESETS)
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await pilot.press("slash")
        filters = []
        for _ in range(3):
            await pilot.press("up")
            await settled(pilot)
            filters.append(main_screen(app).filter_bar.active_filter)
        assert filters == ["lag:1k+", "fault:yes", "lag:1k+"]
        assert "behind" in str(main_screen(app).query_one("#note", Static).content)


async def test_the_filter_bar_completes_typed_text_to_the_filter_of_a_preset(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path, presets=PRESETS)
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"fault")
        await until(pilot, lambda: "fault:yes" in screen_text(app).splitlines()[1])
        await pilot.press("right", "enter")
        await settled(pilot)
        assert main_screen(app).filter_bar.active_filter == "fault:yes"


async def test_invalid_presets_are_named_in_one_notice(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path, presets=PRESETS)
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        (toast,) = app._notifications
        assert toast.title == "Invalid presets"
        first, second = toast.message.splitlines()
        assert first.startswith("[/red]: ")
        assert second.startswith("odd: ")
        assert not toast.markup


async def test_the_command_palette_shows_square_brackets_in_preset_names_and_filters(tmp_path: Path) -> None:
    presets = {"odd [/x] name": "topic:a[/x]", "range": "/^team-[a-z]+/"}
    app, _ = app_on(sample_snapshot(), tmp_path, presets=presets)
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await search_palette(pilot, "filter: odd [/x] name")
        assert "topic:a[/x]" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main_screen(app))
        await search_palette(pilot, "filter: range")
        assert "/^team-[a-z]+/" in screen_text(app)
