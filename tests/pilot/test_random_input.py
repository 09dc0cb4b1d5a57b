"""Tests that random keys, pastes, clicks and resizes do not crash the app."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from textual import events
from textual.geometry import Size

from kgtui.tui.screen_actions import table
from tests.pilot.app_driver import HOSTILE, app_on, main_screen, sample_snapshot, settled, until

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from kgtui.tui.app import KgtuiApp

QUIT_KEYS = {"q", "ctrl+c", "ctrl+q", "ctrl+z"}
"""Keys that end or suspend the program. The tests do not press these keys."""

KEYS = sorted(
    {
        *(key for action in table.ACTIONS for key in action.keys.split(",")),
        *("up", "down", "left", "right", "pageup", "pagedown", "home", "end", "enter", "escape", "tab", "shift+tab"),
        *("space", "backspace", "delete", "f1", "ctrl+p", "ctrl+a", "ctrl+k", "a", "e", "1", "é", "\ud800", "\x00"),
    }
    - QUIT_KEYS
)
WIDTHS = [*range(1, 13), *[20, 60, 80, 120, 250] * 3]
HEIGHTS = [*range(1, 13), *[20, 24, 40, 80] * 4]
SCREENS: list[tuple[str, ...]] = [
    (), ("slash", "p"), ("f",), *[(str(pane),) for pane in range(1, 7)], ("3", "v"),
    ("ctrl+p",), ("ctrl+p", "s"), ("question_mark",), ("C",), ("E",), ("I",), ("t",), ("Y",), ("x",), ("e",), ("R",),
    ("c",), ("d",),
]  # fmt: skip
"""Key sequences that open a screen or a dialog, or change the main screen. The empty sequence presses no key."""
DIALOGS = [("ctrl+p",), ("question_mark",), ("C",), ("E",), ("x",), ("e",)]
"""First keys of sequences in `SCREENS`. Each of these keys always opens a screen or a dialog."""
SMALL = [(side, side) for side in range(12, 0, -1)]
SMALL += [(width, 40) for width in range(1, 13)] + [(120, height) for height in range(1, 13)]
"""Small sizes of the terminal, as (columns, lines)."""
BURST = 10
"""Number of inputs that are sent without a pause between them."""


async def test_three_clicks_beside_the_command_palette_close_only_the_palette(tmp_path: Path) -> None:
    """The first click closes the palette. The other two clicks arrive before the palette has been removed."""
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("ctrl+p")
        await pilot.pause(0.2)
        click_burst(app, 110, 38, times=3)
        await settled(pilot)
        assert app.screen is main_screen(app)


@pytest.mark.parametrize("keys", SCREENS, ids=" ".join)
async def test_every_screen_can_be_resized_to_a_small_terminal_without_a_crash(
    tmp_path: Path, keys: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    """Without the pytest option `--full`, each screen is tested with only every twelfth size in `SMALL`.

    The tests begin at twelve different sizes in turn, so that each size is still tested with at least one screen.
    """
    sizes = SMALL if request.config.getoption("--full") else SMALL[SCREENS.index(keys) % 12 :: 12]
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"payments.settle", "enter")
        await settled(pilot)
        shown = app.screen
        await pilot.press(*keys)
        await settled(pilot)
        if keys[:1] in DIALOGS:
            await until(pilot, lambda: app.screen is not shown, seconds=30)
        for width, height in sizes:
            app.post_message(events.Resize(Size(width, height), Size(width, height)))
            await pilot.pause()
        assert app.is_running
    assert not app.return_code


@pytest.mark.parametrize(
    "width", [1, 4, 10, *(pytest.param(width, marks=pytest.mark.full) for width in (2, 3, 5, 6, 7, 8, 9, 11, 12))]
)
async def test_every_dialog_can_be_opened_in_a_narrow_terminal(tmp_path: Path, width: int) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(width, 5 + width)) as pilot:
        for keys in SCREENS:
            await pilot.press(*keys)
            await pilot.pause()
            await pilot.press("escape")
            await pilot.pause()
        assert app.is_running
    assert not app.return_code


@pytest.mark.parametrize("count", [500, pytest.param(50_000, marks=[pytest.mark.full, pytest.mark.timeout(7_200)])])
async def test_random_keys_and_clicks_do_not_crash_the_app(tmp_path: Path, count: int, chance: random.Random) -> None:
    sent = 0
    while sent < count:
        app, _ = app_on(sample_snapshot(), tmp_path)
        async with app.run_test(size=(120, 40)) as pilot:
            await settled(pilot)
            while sent < count and app.is_running and not app.exiting:
                for _ in range(BURST):
                    send(app, chance)
                sent += BURST
                await pilot.pause()
        assert not app.return_code


def send(app: KgtuiApp, chance: random.Random) -> None:
    """Send a random key, paste, click or resize to the app. `chance` generates the random numbers."""
    kind = chance.random()
    if kind < 0.75:
        key = chance.choice(KEYS)
        app.post_message(events.Key(key, key if len(key) == 1 else None))
    elif kind < 0.8:
        app.post_message(events.Paste(chance.choice([*HOSTILE, "state:", "not:(", "\ud800", "2026-11-23 10:00"])))
    elif kind < 0.97:
        click_burst(app, chance.randrange(app.size.width), chance.randrange(app.size.height), chance.randint(1, 3))
    else:
        size = Size(chance.choice(WIDTHS), chance.choice(HEIGHTS))
        app.post_message(events.Resize(size, size))


def click_burst(app: KgtuiApp, x: int, y: int, times: int) -> None:
    """Send `times` mouse clicks on the cell at column `x` and line `y` to the app, without a pause between clicks."""
    arguments: dict[str, Any] = {
        "widget": None, "x": x, "y": y, "delta_x": 0, "delta_y": 0, "button": 1, "shift": False, "meta": False,
        "ctrl": False, "screen_x": x, "screen_y": y,
    }  # fmt: skip
    for _ in range(times):
        app.post_message(events.MouseDown(**arguments))
        app.post_message(events.MouseUp(**arguments))
