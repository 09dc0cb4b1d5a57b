"""Tests that kgtui reads few rows to compute findings (reported problems): the newest rows of groups with problems."""

from __future__ import annotations

import sys
from datetime import timedelta
from subprocess import run
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.insights.apply_rules import read_insights
from kgtui.lake.arrow import escape_surrogates
from kgtui.lake.gold import Gold
from kgtui.lake.schemas.gold import CLEANUP, GOLD, HEALTH, LAG
from kgtui.model.rfc3339 import utc_datetime
from tests.unit.insights.gold_rows import HOUR, NOW, lag_rows, row, rows_with_problems, write

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

DAY = timedelta(days=1)


@pytest.fixture
def rows_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return an empty list. From now on, each query of a gold table appends the number of its result rows to it."""
    counts = []
    query = Gold._query

    def count(*args: Any) -> pa.Table | None:
        found = query(*args)
        counts.append(0 if found is None else found.num_rows)
        return found

    monkeypatch.setattr(Gold, "_query", count)
    return counts


def with_healthy_groups(count: int) -> dict[Any, list[dict[str, Any]]]:
    rows = rows_with_problems()
    for number in range(count):
        rows[HEALTH] += [
            row(HEALTH, group=f"fine-{number}", window_start=NOW - back * HOUR, status="OK", affected=0, lag=1)
            for back in range(3)
        ]
        rows[LAG] += lag_rows(f"fine-{number}", minutes=3)
    return rows


def test_healthy_groups_do_not_increase_the_number_of_rows_read(tmp_path: Path, rows_read: list[int]) -> None:
    few = read_insights(write(tmp_path / "few", with_healthy_groups(0)))
    counts, rows_read[:] = list(rows_read), []
    many = read_insights(write(tmp_path / "many", with_healthy_groups(500)))
    assert many.findings == few.findings
    assert rows_read == counts
    assert len(counts) <= 2 * len(GOLD)


def test_findings_are_computed_without_reading_files_of_earlier_days(tmp_path: Path) -> None:
    rows = rows_with_problems()
    found = read_insights(write(tmp_path / "one", rows)).findings
    old = {
        table: [
            one | {"day": one["day"] - 20 * DAY}
            | {name: value - 20 * DAY for name, value in one.items() if hasattr(value, "hour")}
            for one in some
        ]
        for table, some in rows.items()
    }  # fmt: skip
    lake = write(write(tmp_path / "two", old), rows)
    removed = list(lake.glob("gold/*/day=2026-11-01/*.parquet"))
    assert len(removed) >= len(rows)
    for file in removed:
        file.unlink()
    assert read_insights(lake).findings == found


def test_newest_times_in_gold_tables_come_from_the_delta_log(tmp_path: Path, rows_read: list[int]) -> None:
    """The Delta log contains the newest time of each file, so the rows need not be queried."""
    lake = write(tmp_path, rows_with_problems())
    gold = Gold(lake)
    ages = gold.ages()
    assert {age.covered_to for age in ages} == {NOW.timestamp()}
    assert gold.last(CLEANUP, "day") == NOW.date()
    assert rows_read == []


def test_newest_time_is_queried_if_the_delta_log_lacks_statistics(tmp_path: Path, rows_read: list[int]) -> None:
    lake = write(tmp_path, rows_with_problems())
    for log in lake.glob("gold/health/_delta_log/*.json"):
        lines = log.read_text().split("\n")
        log.write_text("\n".join(line.replace("window_start", "none") if '"add"' in line else line for line in lines))
    assert Gold(lake).last(HEALTH, "window_start") == NOW
    assert rows_read == [1]


def test_gold_reader_selects_20_000_groups_with_any_ids_in_one_query(tmp_path: Path, rows_read: list[int]) -> None:
    strange = ["it's", 'a "b"', "caf\udce9", "line\nbreak", "--", "%_", "\\'"]
    rows = {LAG: [one for group in [*strange, "other"] for one in lag_rows(escape_surrogates(group), minutes=1)]}
    gold = Gold(write(tmp_path, rows))
    found = gold.newest(LAG, "minute", ("group",), groups={*strange, *(f"group-{number}" for number in range(20_000))})
    assert {one["group"] for one in found} == set(strange)
    assert rows_read == [len(strange)]
    assert gold.rows(LAG, groups=()) == []


@pytest.mark.parametrize("since", [-1e11, 1e12])
def test_gold_rows_can_be_selected_by_times_that_datafusion_rejects(tmp_path: Path, since: float) -> None:
    """DataFusion, which runs the queries, fails for times before 1677 and after 2262.

    kgtui replaces such a time with the nearest valid time.
    """
    gold = Gold(write(tmp_path, {LAG: lag_rows("g", minutes=2)}))
    assert bool(gold.rows(LAG, since=utc_datetime(since), time="minute")) is (since < 0)


def test_findings_are_computed_without_importing_pandas(tmp_path: Path) -> None:
    """kgtui must not call functions of PyArrow that import pandas. The import takes over a second of CPU time."""
    lake = write(tmp_path, rows_with_problems())
    program = (
        "import sys; from kgtui.insights.apply_rules import read_insights; "
        f"assert read_insights({str(lake)!r}).findings; print('pandas' in sys.modules)"
    )
    done = run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_rows_of_gold_tables_keep_the_types_of_all_columns(tmp_path: Path) -> None:
    rows = rows_with_problems()
    gold = Gold(write(tmp_path, rows))
    for table, expected in rows.items():
        key = [name for name in table.key if name in table.names]
        found = gold.rows(table)
        assert sorted(found, key=lambda one: str([one[name] for name in key])) == sorted(
            expected, key=lambda one: str([one[name] for name in key])
        )
