"""The gold job can compute every table in `GOLD`, and computes `lag` first, because other tables depend on it."""

from __future__ import annotations

from kgtui.lake.schemas.gold import GOLD, LAG
from kgtui.pipeline.jobs.gold import BUILDERS


def test_every_gold_table_has_a_builder_and_gold_lag_is_computed_first() -> None:
    assert BUILDERS.keys() == set(GOLD)
    assert GOLD[0] == LAG
