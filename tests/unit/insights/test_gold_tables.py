"""Tests of reading gold tables (the results of `kgtui pipeline`) and lag histories.

The gold tables can be missing, unreadable or empty.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from kgtui.errors import LakeError
from kgtui.insights.apply_rules import read_insights
from kgtui.lake import maintenance as upkeep
from kgtui.lake.delta import load_deltalake
from kgtui.lake.folder import LakeFolder
from kgtui.lake.gold import NEVER_WRITTEN, Gold
from kgtui.lake.schemas.gold import CHURN, GOLD, LAG
from tests.unit.insights.gold_rows import NOW, lag_rows, row, rows_with_problems, write

if TYPE_CHECKING:
    from pathlib import Path


def test_error_for_missing_gold_tables_mentions_the_command_kgtui_pipeline_run(tmp_path: Path) -> None:
    LakeFolder.of(tmp_path).prepare()
    with pytest.raises(LakeError, match="kgtui pipeline run"):
        read_insights(tmp_path)


def test_error_for_an_unreadable_gold_table_has_the_reason(tmp_path: Path) -> None:
    folder = LakeFolder.of(tmp_path)
    folder.prepare()
    rows = pa.table({"day": [NOW.date()], "group": ["g"]})
    load_deltalake().write_deltalake(str(folder.table("churn", "gold")), rows, partition_by=["day"])
    (folder.table("health", "gold") / "_delta_log").mkdir(parents=True)
    ages = {age.table: age for age in Gold(tmp_path).ages()}
    assert ages["gold/lag"].error == NEVER_WRITTEN
    assert "columns are missing" in ages["gold/churn"].error
    assert not ages["gold/health"].is_readable
    with pytest.raises(LakeError, match="gold/churn: columns are missing"):
        read_insights(tmp_path)


def test_compaction_of_the_gold_table_churn_does_not_change_its_age(tmp_path: Path) -> None:
    """The age is the time since rows were last written. Compaction only rewrites files, so it does not count."""
    write(write(tmp_path, rows_with_problems()), rows_with_problems())
    made = Gold(tmp_path).age(CHURN).written
    done = {one.table: one.what for one in upkeep.optimize(tmp_path)}
    assert done["gold/churn"] == "compacted 2 files into 1"
    delta = load_deltalake().DeltaTable(str(tmp_path / "gold/churn"))
    assert delta.history(1)[0]["operation"] != "WRITE"
    assert Gold(tmp_path).age(CHURN).written == made


def test_compaction_of_the_gold_table_lag_does_not_change_its_age(tmp_path: Path) -> None:
    rows = {LAG: [row(LAG, group="g", minute=NOW)]}
    write(write(tmp_path, rows), rows)
    made = Gold(tmp_path).age(LAG).written
    done = {one.table: one.what for one in upkeep.optimize(tmp_path)}
    assert done["gold/lag"] == "compacted 2 files into 1"
    assert Gold(tmp_path).age(LAG).written == made


def test_empty_gold_tables_cause_no_findings(tmp_path: Path) -> None:
    found = read_insights(write(tmp_path, {}))
    assert (found.findings, found.as_of) == ((), None)


def test_lag_history_has_a_break_after_missing_polls(tmp_path: Path) -> None:
    rows = lag_rows("g", minutes=4)
    rows[2]["steady_since"] = rows[3]["steady_since"] = rows[2]["minute"]
    rows += [{**rows[0], "topic": "t", "partition": 1, "lag": 5}]
    gold = Gold(write(tmp_path, {LAG: rows}))
    course = gold.lag_histories(["g", "nobody"])["g"]
    assert course.lag == (997, 998, 999, 1_000)
    assert course.breaks == {rows[2]["minute"].timestamp()}
    later = gold.lag_histories(["g"], since=NOW - timedelta(minutes=1), until=NOW)["g"]
    assert later.lag == (999, 1_000)
    assert gold.lag_histories(["nobody"]) == gold.lag_histories([]) == {}


def test_gold_reader_returns_all_columns_of_every_gold_table(tmp_path: Path) -> None:
    gold = Gold(write(tmp_path, rows_with_problems()))
    for table in GOLD:
        assert set(gold.rows(table)[0]) == set(table.names)
