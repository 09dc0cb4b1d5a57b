"""What scrolling, polls and panes leave to the garbage collector: no line that was drawn."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from textual.strip import Strip

from tests.pilot.shell import app_on, settled
from tests.pilot.watching import many, snapshot_of

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot


async def pressed(pilot: Pilot[int], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


async def test_lines_are_freed_with_their_last_reference(tmp_path: Path) -> None:
    """With 100,000 groups the collector runs rarely: lines in cycles would be megabytes, and its passes long."""
    app, watch = app_on(snapshot_of(many(500)), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await pressed(pilot, "n", "2", "3", "4", "1", "pagedown")
        gc.collect()
        gc.disable()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            await pressed(pilot, *["pagedown"] * 5, "down", "pageup", "left", "right", "2", "tab", "down", "4", "1")
            watch.publish(snapshot_of(many(600), serial=2))
            await settled(pilot)
            gc.collect()
            lines = [line.text for line in gc.garbage if isinstance(line, Strip)]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
    assert lines == []
