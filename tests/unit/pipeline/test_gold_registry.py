"""The gold job computes every gold table of the schema, and `lag` before the tables that are computed from it."""

from __future__ import annotations

from kgtui.lake.schemas.gold import GOLD, LAG
from kgtui.pipeline.jobs.gold import BUILDERS


def test_every_gold_table_has_a_builder() -> None:
    assert BUILDERS.keys() == set(GOLD)
    assert GOLD[0] == LAG
