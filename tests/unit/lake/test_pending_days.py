"""Which days of gold are to be made: those with more than before, the newest that was made, and all that follow."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from kgtui.errors import LakeError
from kgtui.lake.arrow import arrow_schema
from kgtui.lake.delta import load_deltalake
from kgtui.lake.folder import LakeFolder
from kgtui.lake.pending_days import pending_days
from kgtui.lake.schemas import BASELINE, CHURN, COMMITS, GOLD
from kgtui.lake.tables import create_tables
from tests.unit.history.recording_builder import START, RecordingBuilder
from tests.unit.history.test_recording_reader import seen

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.lake.schemas import Table

FIRST, SECOND, THIRD = (date(2026, 11, day) for day in (21, 22, 23))
DAY_MS = 86_400_000


@pytest.fixture
def folder(tmp_path: Path) -> LakeFolder:
    """A lake without gold, and a recording of two days."""
    folder = LakeFolder.of(tmp_path / "lake")
    made = RecordingBuilder(folder.path)
    for day in range(2):
        made.poll(seen(day), START + day * DAY_MS, keyframe=True)
    made.flush()
    return folder


def write(folder: LakeFolder, table: Table, *days: date) -> None:
    """Append a row of each of the days, otherwise of nothing."""
    fill: dict[str, Any] = {"string": "", "boolean": False, "long": 0, "int": 0, "double": 0.0}
    rows = [
        {
            column.name: day if column.type == "date" else None if column.nullable else fill.get(column.type, 0)
            for column in table.columns
        }
        for day in days
    ]
    path = str(folder.table(table.name, table.layer))
    made = pa.Table.from_pylist(rows, arrow_schema(table))
    load_deltalake().write_deltalake(path, made, mode="append", partition_by=["day"])


def make(folder: LakeFolder) -> tuple[date, ...]:
    """Do what is due; which days that was."""
    create_tables(folder, GOLD)
    found = pending_days(folder)
    for table in GOLD:
        write(folder, table, *found.days)
    found.mark_done()
    return found.days


def test_the_first_time_all_days_are_due_and_then_none(folder: LakeFolder) -> None:
    assert pending_days(folder).days == (FIRST, SECOND)
    assert make(folder) == (FIRST, SECOND)
    assert pending_days(folder).days == ()


def test_what_is_remembered_is_not_written_again(folder: LakeFolder) -> None:
    make(folder)
    before = (folder.path / "_checkpoints" / "gold.json").stat().st_ino
    pending_days(folder).mark_done()
    assert (folder.path / "_checkpoints" / "gold.json").stat().st_ino == before


def test_with_anything_new_the_newest_day_that_was_made_is_due_too(folder: LakeFolder) -> None:
    make(folder)
    write(folder, COMMITS, THIRD)
    assert pending_days(folder).days == (SECOND, THIRD)
    assert make(folder) == (SECOND, THIRD)
    assert pending_days(folder).days == ()


def test_what_comes_late_makes_its_day_and_all_that_follow_due(folder: LakeFolder) -> None:
    make(folder)
    write(folder, COMMITS, FIRST)
    assert pending_days(folder).days == (FIRST, SECOND)


def test_upkeep_makes_nothing_due(folder: LakeFolder) -> None:
    for _ in range(2):
        write(folder, COMMITS, FIRST)
    make(folder)
    commits = load_deltalake().DeltaTable(str(folder.table(COMMITS.name, COMMITS.layer)))
    assert commits.optimize.compact()["numFilesRemoved"] == 2
    assert pending_days(folder).days == ()
    commits.delete(f"day = '{FIRST}'")
    assert pending_days(folder).days == ()


def test_what_is_not_remembered_is_made_again_from_the_newest_day_on(folder: LakeFolder) -> None:
    make(folder)
    memory = folder.path / "_checkpoints" / "gold.json"
    assert memory.stat().st_mode & 0o077 == 0
    memory.write_text("{")
    assert pending_days(folder).days == (SECOND,)


def test_a_run_that_did_not_end_is_done_again(folder: LakeFolder) -> None:
    create_tables(folder, GOLD)
    for table in GOLD[:-1]:
        write(folder, table, FIRST)
    assert pending_days(folder).days == (FIRST, SECOND)


def test_a_table_that_was_removed_is_made_of_all_days(folder: LakeFolder) -> None:
    make(folder)
    for table in (CHURN, BASELINE):
        path = folder.table(table.name, table.layer)
        path.rename(path.with_name(f"{table.name}-elsewhere"))
        assert pending_days(folder).days == (FIRST, SECOND)
        assert make(folder) == (FIRST, SECOND)


def test_a_run_that_was_killed_while_it_made_a_table_is_done_again(folder: LakeFolder) -> None:
    for table in (CHURN, BASELINE):
        (folder.table(table.name, table.layer) / "_delta_log").mkdir(parents=True)
    assert pending_days(folder).days == (FIRST, SECOND)
    assert make(folder) == (FIRST, SECOND)


def test_a_table_that_cannot_be_read_is_named(folder: LakeFolder) -> None:
    make(folder)
    log = folder.table(COMMITS.name, COMMITS.layer) / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("not a log")
    with pytest.raises(LakeError, match="cannot be read"):
        pending_days(folder)
