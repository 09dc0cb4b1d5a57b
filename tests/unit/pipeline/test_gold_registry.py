"""Test that the gold job computes all gold tables. It computes `lag` first, because other gold tables need it."""

from __future__ import annotations

from kgtui.lake.schemas.gold import GOLD, GOLD_STATE, LAG
from kgtui.pipeline.jobs.gold import TABLES


def test_gold_job_computes_every_gold_table_beginning_with_lag() -> None:
    assert sorted(table.name for table in TABLES) == sorted(table.name for table in (*GOLD, *GOLD_STATE))
    assert TABLES[0] == GOLD[0] == LAG
