"""Tests of `pending_days`, which returns the days for which the next pipeline run must compute rows of gold tables.

Gold tables contain the results of the pipeline. The pending days begin with the day of the earliest new row in the
input of the pipeline. After new polls or commits, the last processed day is also pending, because its results may be
incomplete.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from kgtui.errors import LakeError
from kgtui.lake.arrow import arrow_schema
from kgtui.lake.delta import load_deltalake
from kgtui.lake.folder import LakeFolder
from kgtui.lake.pending_days import pending_days
from kgtui.lake.schemas import BASELINE, CHURN, COMMITS, GOLD, GOLD_STATE, LAG, POLLS, REBALANCES
from kgtui.lake.table_changes import CHANGED_FROM
from kgtui.lake.tables import create_tables
from tests.unit.history.recording_builder import START, RecordingBuilder
from tests.unit.history.test_recording_reader import poll_of

if TYPE_CHECKING:
    from kgtui.lake.schemas import Table

FIRST, SECOND, THIRD, FOURTH = (date(2026, 11, day) for day in (21, 22, 23, 24))
DAY_MS = 86_400_000


@pytest.fixture
def folder(tmp_path: Path) -> LakeFolder:
    """Return a lake (a folder of Delta tables) with a recording of two days, but without results of the pipeline."""
    folder = LakeFolder.of(tmp_path / "lake")
    made = RecordingBuilder(folder.local_path)
    for day in range(2):
        made.poll(poll_of(day), START + day * DAY_MS, keyframe=True)
    made.flush()
    return folder


def write(folder: LakeFolder, table: Table, *days: date) -> None:
    """Append one row for each of `days` to `table`.

    Nullable columns are null. All other columns get the values that `values_at_noon` returns.
    """
    rows = [
        {column.name: None if column.nullable else values_at_noon(day)[column.type] for column in table.columns}
        for day in days
    ]
    path = str(folder.table(table.name, table.layer))
    made = pa.Table.from_pylist(rows, arrow_schema(table))
    load_deltalake().write_deltalake(path, made, mode="append", partition_by=["day"])


def values_at_noon(day: date) -> dict[str, Any]:
    """Return a dict: column type → value of columns of this type in a row of this day.

    Times are 12:00 UTC of the day, numbers are 0, and strings are empty.
    """
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    return {"string": "", "boolean": False, "long": 0, "int": 0, "double": 0.0, "date": day, "timestamp": noon}


def ms(day: date, hour: int = 12) -> int:
    """Return the time `hour`:00 UTC of a day in milliseconds since the epoch."""
    return round(datetime(day.year, day.month, day.day, hour, tzinfo=UTC).timestamp() * 1000)


def run_pipeline(folder: LakeFolder) -> tuple[date, ...]:
    """Simulate a run of the pipeline, and return the days that it had to compute (the pending days).

    The simulated run writes one row per pending day to each gold table.
    """
    create_tables(folder, (*GOLD, *GOLD_STATE))
    found = pending_days(folder)
    for table in (*GOLD, *GOLD_STATE):
        write(folder, table, *found.days)
    found.mark_done()
    return found.days


def test_all_recorded_days_are_pending_until_the_first_pipeline_run(folder: LakeFolder) -> None:
    assert pending_days(folder).days == (FIRST, SECOND)
    assert run_pipeline(folder) == (FIRST, SECOND)
    assert pending_days(folder).days == ()


def test_pipeline_run_without_pending_days_does_not_rewrite_the_state_file(folder: LakeFolder) -> None:
    run_pipeline(folder)
    before = (folder.local_path / "_checkpoints" / "gold.json").stat().st_ino
    pending_days(folder).mark_done()
    assert (folder.local_path / "_checkpoints" / "gold.json").stat().st_ino == before


def test_new_polls_make_the_last_processed_day_pending_again(folder: LakeFolder) -> None:
    run_pipeline(folder)
    made = RecordingBuilder(folder.local_path)
    made.poll(poll_of(3), START + 2 * DAY_MS, keyframe=True)
    made.flush()
    found = pending_days(folder)
    assert (found.days, found.since) == ((SECOND, THIRD), START + DAY_MS)
    assert run_pipeline(folder) == (SECOND, THIRD)
    assert pending_days(folder).days == ()


def test_earliest_day_with_polls_is_found_even_if_commits_are_older(folder: LakeFolder) -> None:
    write(folder, COMMITS, date(2026, 11, 1))
    found = pending_days(folder)
    assert (found.days[0], found.first_poll_day) == (date(2026, 11, 1), FIRST)


def test_new_commits_make_the_last_processed_day_pending_again(folder: LakeFolder) -> None:
    run_pipeline(folder)
    write(folder, COMMITS, SECOND)
    found = pending_days(folder)
    assert (found.days, found.since) == ((SECOND,), ms(SECOND))
    run_pipeline(folder)
    write(folder, COMMITS, THIRD)
    found = pending_days(folder)
    assert (found.days, found.since) == ((SECOND, THIRD), ms(SECOND))


def test_pending_days_begin_with_the_earliest_new_rebalance(folder: LakeFolder) -> None:
    write(folder, REBALANCES, FIRST)
    run_pipeline(folder)
    write(folder, REBALANCES, SECOND)
    found = pending_days(folder)
    assert (found.days, found.since) == ((SECOND,), ms(SECOND))


def test_pending_days_begin_with_the_day_of_a_late_commit(folder: LakeFolder) -> None:
    """The pipeline has already processed offset commits of the second day when a commit of the first day is added."""
    run_pipeline(folder)
    write(folder, COMMITS, SECOND)
    run_pipeline(folder)
    write(folder, COMMITS, FIRST)
    found = pending_days(folder)
    assert (found.days, found.since) == ((FIRST, SECOND), ms(FIRST))


def test_pending_days_begin_with_the_earliest_changed_row(folder: LakeFolder) -> None:
    """A Delta commit can rewrite rows without changing them. Its metadata has the time of the earliest changed row."""
    run_pipeline(folder)
    write(folder, REBALANCES, FIRST, SECOND)
    run_pipeline(folder)
    path = str(folder.table(REBALANCES.name, REBALANCES.layer))
    rows = load_deltalake().DeltaTable(path).to_pyarrow_table()
    metadata = {"userMetadata": json.dumps({CHANGED_FROM: ms(SECOND, 3)})}
    properties = load_deltalake().CommitProperties(custom_metadata=metadata)
    load_deltalake().write_deltalake(path, rows, mode="overwrite", commit_properties=properties)
    found = pending_days(folder)
    assert (found.days, found.since) == ((SECOND,), ms(SECOND, 3))


def test_all_days_are_pending_if_the_delta_log_is_incomplete(folder: LakeFolder) -> None:
    """An entry of the Delta log of the table `commits` is missing, so the log does not show which rows are new.

    The state file of the pipeline does not show which rows are new either, because an older kgtui version wrote the
    state file without the time of the newest processed data file.
    """
    run_pipeline(folder)
    write(folder, COMMITS, SECOND)
    run_pipeline(folder)
    state_file = folder.local_path / "_checkpoints" / "gold.json"
    state = json.loads(state_file.read_text())
    for source in state["sources"].values():
        del source["modified"]
    state_file.write_text(json.dumps(state))
    write(folder, COMMITS, SECOND)
    write(folder, COMMITS, SECOND)
    commits = load_deltalake().DeltaTable(str(folder.table(COMMITS.name, COMMITS.layer)))
    commits.create_checkpoint()
    (folder.local_path / COMMITS.title / "_delta_log" / f"{1:020}.json").unlink()
    assert pending_days(folder).days == (FIRST, SECOND)


def without_old_log(folder: LakeFolder, table: Table) -> None:
    """Delete old entries from a table's Delta log, as Delta itself does with entries older than a day."""
    path = folder.table(table.name, table.layer)
    load_deltalake().DeltaTable(str(path)).create_checkpoint()
    for file in sorted(Path(str(path)).glob("_delta_log/*.json"))[:-1]:
        file.unlink()


def test_days_of_new_polls_are_pending_after_a_long_pipeline_pause(folder: LakeFolder) -> None:
    """During the pause, Delta deletes old entries from its log, so the log does not show which polls are new."""
    run_pipeline(folder)
    made = RecordingBuilder(folder.local_path)
    for day in (2, 3):
        made.poll(poll_of(day + 1), START + day * DAY_MS, keyframe=True)
        made.flush()
    without_old_log(folder, POLLS)
    found = pending_days(folder)
    assert found.since == START + DAY_MS, "must be the newest poll of the previous run"
    assert found.days == (SECOND, THIRD, FOURTH)


@pytest.mark.parametrize("table", [COMMITS, REBALANCES], ids=lambda table: table.name)
def test_earliest_new_row_is_found_after_a_long_pipeline_pause(folder: LakeFolder, table: Table) -> None:
    write(folder, table, FIRST)
    write(folder, table, SECOND)
    run_pipeline(folder)
    write(folder, table, THIRD)
    write(folder, table, FOURTH)
    without_old_log(folder, table)
    found = pending_days(folder)
    # For commits, the day of the last processed commit (the second day) is also pending.
    assert found.since == (ms(SECOND) if table is COMMITS else ms(THIRD))
    run_pipeline(folder)
    write(folder, table, FIRST)
    write(folder, table, FOURTH)
    without_old_log(folder, table)
    assert pending_days(folder).since == ms(FIRST), "must be the row that was added late"
    run_pipeline(folder)
    without_old_log(folder, table)
    assert pending_days(folder).days == ()


def test_compacting_or_deleting_source_rows_makes_no_day_pending(folder: LakeFolder) -> None:
    for _ in range(2):
        write(folder, COMMITS, FIRST)
    run_pipeline(folder)
    commits = load_deltalake().DeltaTable(str(folder.table(COMMITS.name, COMMITS.layer)))
    assert commits.optimize.compact()["numFilesRemoved"] == 2
    assert pending_days(folder).days == ()
    commits.delete(f"day = '{FIRST}'")
    assert pending_days(folder).days == ()


def test_all_days_are_pending_if_the_state_file_is_unreadable(folder: LakeFolder) -> None:
    run_pipeline(folder)
    state_file = folder.local_path / "_checkpoints" / "gold.json"
    assert state_file.stat().st_mode & 0o077 == 0
    state_file.write_text("{")
    assert pending_days(folder).days == (FIRST, SECOND)


def test_days_remain_pending_after_an_interrupted_pipeline_run(folder: LakeFolder) -> None:
    create_tables(folder, (*GOLD, *GOLD_STATE))
    for table in (*GOLD, *GOLD_STATE):
        write(folder, table, FIRST)
    assert pending_days(folder).days == (FIRST, SECOND)


@pytest.mark.parametrize("table", [*GOLD, *GOLD_STATE], ids=lambda table: table.name)
def test_all_days_are_pending_if_a_gold_table_was_removed(folder: LakeFolder, table: Table) -> None:
    run_pipeline(folder)
    path = folder.local_path / table.title
    path.rename(path.with_name(f"{table.name}-elsewhere"))
    assert pending_days(folder).days == (FIRST, SECOND)
    assert run_pipeline(folder) == (FIRST, SECOND)
    assert pending_days(folder).days == ()


def test_all_days_are_pending_if_an_upgrade_added_a_table(folder: LakeFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    run_pipeline(folder)
    monkeypatch.setattr("kgtui.lake.pending_days.GOLD", (*GOLD, replace(CHURN, name="added")))
    assert pending_days(folder).days == (FIRST, SECOND)


def test_all_days_are_pending_if_a_gold_table_lacks_a_column(folder: LakeFolder) -> None:
    run_pipeline(folder)
    assert pending_days(folder).days == ()
    path = str(folder.table(LAG.name, LAG.layer))
    rows = load_deltalake().DeltaTable(path).to_pyarrow_table().drop_columns(["lost"])
    load_deltalake().write_deltalake(path, rows, mode="overwrite", schema_mode="overwrite", partition_by=["day"])
    assert pending_days(folder).days == (FIRST, SECOND)


def test_days_of_rows_in_the_far_future_are_not_pending(folder: LakeFolder) -> None:
    future = date(9999, 12, 30)
    write(folder, COMMITS, SECOND, future)
    assert pending_days(folder).future == (future,)
    assert run_pipeline(folder) == (FIRST, SECOND)
    write(folder, COMMITS, SECOND)
    found = pending_days(folder)
    assert (found.days, found.since) == ((SECOND,), ms(SECOND))


def test_no_day_is_pending_after_a_pipeline_run_that_wrote_no_rows(folder: LakeFolder) -> None:
    create_tables(folder, (*GOLD, *GOLD_STATE))
    pending_days(folder).mark_done()
    assert pending_days(folder).days == ()


def test_all_days_are_pending_if_the_creation_of_gold_tables_was_interrupted(folder: LakeFolder) -> None:
    for table in (CHURN, BASELINE):
        (folder.table(table.name, table.layer) / "_delta_log").mkdir(parents=True)
    assert pending_days(folder).days == (FIRST, SECOND)
    assert run_pipeline(folder) == (FIRST, SECOND)


def test_reading_pending_days_from_an_unreadable_table_raises_lake_error(folder: LakeFolder) -> None:
    run_pipeline(folder)
    log = folder.local_path / COMMITS.title / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("not a log")
    with pytest.raises(LakeError, match="cannot be read"):
        pending_days(folder)
