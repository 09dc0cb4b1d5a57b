"""The gold job computes every gold table of the schema, in the schema's order."""

from __future__ import annotations

from kgtui.lake.schemas.gold import GOLD
from kgtui.pipeline.jobs.gold import BUILDERS


def test_every_gold_table_has_a_builder_in_schema_order() -> None:
    assert tuple(BUILDERS) == GOLD
