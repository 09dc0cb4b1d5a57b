"""Tests of the key enter in the filter bar: the cursor goes to the group that the user has named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.pilot.app_driver import app_on, main_screen, sample_snapshot, settled
from tests.pilot.scripted_monitor import snapshot_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pilot.scripted_monitor import Row


@pytest.mark.parametrize(("typed", "selected"), [("mailer", "share-mailer"), ("orders", None), ("nothing", None)])
async def test_accepting_a_filter_with_one_match_selects_the_matching_group(
    tmp_path: Path, typed: str, selected: str | None
) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("slash", *typed, "enter")
        await settled(pilot)
        assert main_screen(app).group == selected


async def test_accepting_a_filter_that_equals_a_group_id_selects_this_group(tmp_path: Path) -> None:
    rows: list[Row] = [(group, "classic", "consumer", "Stable", 1) for group in ("orders", "orders-2", "a")]
    app, _ = app_on(snapshot_of(rows), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"orders", "enter")
        await settled(pilot)
        assert main_screen(app).group == "orders"
