"""Tests that the memory of drawn lines is freed without Python's cyclic garbage collector."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from textual.strip import Strip

from tests.pilot.app_driver import app_on, settled
from tests.pilot.scripted_monitor import many_groups, snapshot_of

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot


async def press_each(pilot: Pilot[int], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


async def test_drawn_lines_are_freed_without_the_garbage_collector(tmp_path: Path) -> None:
    """After the user has scrolled and changed panes, no drawn lines are left in reference cycles.

    With 100,000 groups, the garbage collector runs rarely. Until its next run, lines in reference cycles would take up
    megabytes of memory.
    """
    app, monitor = app_on(snapshot_of(many_groups(500)), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await press_each(pilot, "n", "2", "3", "4", "1", "pagedown")
        gc.collect()
        gc.disable()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            await press_each(pilot, *["pagedown"] * 5, "down", "pageup", "left", "right", "2", "tab", "down", "4", "1")
            monitor.publish(snapshot_of(many_groups(600), serial=2))
            await settled(pilot)
            gc.collect()
            lines = [line.text for line in gc.garbage if isinstance(line, Strip)]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
    assert lines == []
