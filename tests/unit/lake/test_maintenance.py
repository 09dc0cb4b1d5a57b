"""Tests of the maintenance of a lake: `status`, `optimize` (merge files) and `prune` (delete old rows).

A lake is a folder of Delta tables. Maintenance also works while a recorder runs, and if a table is unreadable.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kgtui.errors import LakeError
from kgtui.history import RecordingReader
from kgtui.lake import maintenance
from kgtui.lake.delta import load_deltalake
from kgtui.lake.folder import LOCK, LakeFolder
from kgtui.lake.gold import Gold
from kgtui.lake.lock import RecorderLock, current_holder
from kgtui.lake.maintenance import KeepRules
from kgtui.lake.schemas import LAG
from tests.unit.history.recording_builder import START, RecordingBuilder
from tests.unit.history.test_recording_reader import poll_of

if TYPE_CHECKING:
    from pathlib import Path

DAY = 86_400_000
NOW = START / 1000 + 3 * 86_400


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Return a lake (a folder of Delta tables) with data of three days.

    It contains two recorded polls per day, and the table `gold/lag`, which has two files per day.
    """
    path = tmp_path / "lake"
    made = RecordingBuilder(path)
    for day in range(3):
        for minute in range(2):
            made.poll(poll_of(day * 2 + minute), START + day * DAY + minute * 60_000, keyframe=not minute)
            made.flush()
    for _ in range(2):
        rows = {"day": [date(2026, 11, 21 + day) for day in range(3)], "lag": [1, 2, 3]}
        load_deltalake().write_deltalake(str(path / "gold/lag"), pa.table(rows), mode="append", partition_by=["day"])
    return path


def by_table(path: Path) -> dict[str, maintenance.TableStatus]:
    return {one.table.title: one for one in maintenance.status(path).tables}


def test_lake_status_contains_size_and_date_range_of_each_table(lake: Path) -> None:
    found = by_table(lake)
    assert list(found)[-1] == "gold/lag"
    polls, gold = found["recorded/polls"].contents, found["gold/lag"].contents
    assert polls is not None
    assert (polls.rows, polls.files, polls.first, polls.last) == (6, 6, date(2026, 11, 21), date(2026, 11, 23))
    assert gold is not None
    assert (gold.rows, gold.files, gold.version) == (6, 6, 1)
    assert gold.written is not None
    assert abs(gold.written - datetime.now(UTC).timestamp()) < 60
    assert 0 < gold.bytes < found["gold/lag"].disk < maintenance.status(lake).disk


def test_lake_status_contains_no_date_range_for_an_empty_table(lake: Path) -> None:
    load_deltalake().write_deltalake(str(lake / "gold/cleanup"), pa.table({"group": pa.array([], pa.string())}))
    contents = by_table(lake)["gold/cleanup"].contents
    assert contents is not None
    assert (contents.rows, contents.first, contents.last) == (0, None, None)


def test_a_damaged_table_does_not_stop_lake_status_or_optimizing(lake: Path) -> None:
    log = lake / "gold/lag/_delta_log"
    (log / "00000000000000000000.json").write_text("{")
    found = by_table(lake)
    assert found["gold/lag"].contents is None
    assert found["gold/lag"].error
    assert found["recorded/polls"].contents is not None
    done = {one.table: one for one in maintenance.optimize(lake)}
    assert done["gold/lag"].error
    assert not done["recorded"].error


def test_lake_maintenance_rejects_a_folder_that_is_not_a_lake(tmp_path: Path) -> None:
    for work in (
        maintenance.status,
        lambda path: list(maintenance.optimize(path)),
        lambda path: list(maintenance.prune(path, KeepRules(1))),
    ):
        with pytest.raises(LakeError, match="is not a lake"):
            work(tmp_path)


def test_lake_status_rejects_a_lake_of_a_newer_kgtui_version(lake: Path) -> None:
    marker = lake / "lake.json"
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "version": 99}))
    with pytest.raises(LakeError, match="newer kgtui"):
        maintenance.status(lake)


def test_optimizing_a_lake_compacts_files_without_changing_polls(lake: Path) -> None:
    def moments() -> list[object]:
        read = RecordingReader(lake)
        return [(moment, read.at(moment).positions("pay")) for moment in read.polls()]

    before = moments()
    done = {one.table: one for one in maintenance.optimize(lake)}
    assert "compacted" in done["recorded"].what
    assert done["gold/lag"].what == "compacted 6 files into 3"
    assert moments() == before
    after = by_table(lake)
    assert after["recorded/polls"].contents is not None
    assert after["recorded/polls"].contents.files == 3
    assert list((lake / "gold/lag/_delta_log").glob("*.checkpoint.parquet"))
    again = {one.table: one for one in maintenance.optimize(lake)}
    assert again["recorded"].what == again["gold/lag"].what == "nothing to compact"


def test_optimizing_merges_the_lag_files_of_each_hour(lake: Path) -> None:
    """The table `gold/lag` has one row per group and minute. Optimizing puts the rows of each hour into one file."""
    path = lake / "gold/lag"
    shutil.rmtree(path)
    start = datetime(2026, 11, 21, 5, tzinfo=UTC)
    for minute in (58, 0, 59, 60, 61):
        rows = pa.table({
            "day": [start.date()] * 2, "group": ["b", "a"], "minute": [start + timedelta(minutes=minute)] * 2,
        })  # fmt: skip
        load_deltalake().write_deltalake(str(path), rows, mode="append", partition_by=["day"])
    written = Gold(lake).age(LAG)
    done = {one.table: one for one in maintenance.optimize(lake)}
    assert done["gold/lag"].what == "compacted 5 files into 2"
    delta = load_deltalake().DeltaTable(str(path))
    files = sorted(
        (pq.read_table(file.removeprefix("file://")).to_pydict() for file in delta.file_uris()),
        key=lambda file: file["minute"],
    )
    assert [[(at - start) // timedelta(minutes=1) for at in file["minute"]] for file in files] == [
        [0, 58, 59, 0, 58, 59], [60, 61, 60, 61],
    ]  # fmt: skip
    assert [file["group"] for file in files] == [["a"] * 3 + ["b"] * 3, ["a"] * 2 + ["b"] * 2]
    assert Gold(lake).age(LAG).written == written.written
    again = {one.table: one for one in maintenance.optimize(lake)}
    assert again["gold/lag"].what == "nothing to compact"


def test_optimizing_a_lake_rewrites_int96_timestamps_without_changing_times(lake: Path) -> None:
    """Older versions of kgtui wrote INT96 timestamps with Spark. Even timestamps in the year 9999 must not change.

    The path of the lake contains special characters, which deltalake escapes in file URIs.
    """
    lake = lake.rename(lake.parent / "a 100% é lake")
    path = lake / "silver/commits"
    times = [datetime(2026, 11, 21, 1, 2, 3, 456_789, UTC), datetime(9999, 12, 31, 23, 59, 59, 999_000, UTC)]
    rows = pa.table({"day": [times[0].date()] * 2, "group": ["b", "a"], "commit_time": times})
    rows = rows.cast(
        pa.schema([("day", pa.date32()), ("group", pa.string()), ("commit_time", pa.timestamp("us", "UTC"))])
    )
    load_deltalake().write_deltalake(str(path), rows, partition_by=["day"])
    (file,) = path.glob("day=*/*.parquet")
    pq.write_table(rows.drop_columns(["day"]), file, use_deprecated_int96_timestamps=True)
    (log,) = path.glob("_delta_log/*.json")
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            action["add"] |= {"size": file.stat().st_size, "stats": None}
    log.write_text("\n".join(map(json.dumps, actions)))
    done = {one.table: one for one in maintenance.optimize(lake)}
    assert done["silver/commits"].what == "compacted 1 file into 1"
    table = load_deltalake().DeltaTable(str(path))
    (written,) = table.file_uris()
    parquet = pq.ParquetFile(unquote(written))
    assert [parquet.schema.column(index).physical_type for index in range(2)] == ["BYTE_ARRAY", "INT64"]
    assert parquet.metadata.row_group(0).column(0).compression == "ZSTD"
    assert sorted(table.to_pyarrow_table()["commit_time"].to_pylist()) == times
    changes = [json.loads(line) for line in max(path.glob("_delta_log/*.json")).read_text().splitlines()]
    assert {action["dataChange"] for one in changes for name, action in one.items() if name in ("add", "remove")} == {
        False
    }
    again = {one.table: one for one in maintenance.optimize(lake)}
    assert again["silver/commits"].what == "nothing to compact"


def test_optimizing_a_lake_sorts_the_rows_of_gold_tables_by_group(lake: Path) -> None:
    path, day = lake / "gold/health", datetime(2026, 11, 21, tzinfo=UTC).date()
    for groups in (["c", "a"], ["d", "b"]):
        rows = pa.table({"day": [day] * 2, "group": groups, "lag": [1, 2]})
        load_deltalake().write_deltalake(str(path), rows, partition_by=["day"], mode="append")
    done = {one.table: one for one in maintenance.optimize(lake)}
    assert done["gold/health"].what == "compacted 2 files into 1"
    (written,) = load_deltalake().DeltaTable(str(path)).file_uris()
    assert pq.read_table(written, partitioning=None)["group"].to_pylist() == ["a", "b", "c", "d"]
    (optimized,) = [text for log in path.glob("_delta_log/*.json") if '"OPTIMIZE"' in (text := log.read_text())]
    added = [json.loads(line)["add"] for line in optimized.splitlines() if '"add"' in line]
    assert [one["dataChange"] for one in added] == [False]
    again = {one.table: one for one in maintenance.optimize(lake)}
    assert again["gold/health"].what == "nothing to compact"


def test_optimizing_a_lake_skips_recorded_tables_while_a_recorder_runs(lake: Path) -> None:
    holder = "import sys; from pathlib import Path; from kgtui.lake.lock import RecorderLock as L\n"
    holder += "lock = L(Path(sys.argv[1])); lock.take(); print('held', flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        [sys.executable, "-c", holder, str(LakeFolder.of(lake).lock)], stdin=-1, stdout=-1, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        assert str(process.pid) in str(maintenance.status(lake).recorder)
        done = {one.table: one for one in maintenance.optimize(lake)}
        assert f"process {process.pid}" in done["recorded"].what
        assert done["gold/lag"].what == "compacted 6 files into 3"
    finally:
        process.kill()
        process.communicate()
    assert maintenance.status(lake).recorder is None


def test_recorder_crash_is_reported_even_after_the_lake_was_optimized(lake: Path) -> None:
    path = LakeFolder.of(lake).local_path / LOCK
    killed = {"host": socket.gethostname(), "pid": dead_pid(), "since": 1.0}
    path.write_text(json.dumps(killed))
    assert current_holder(path) is None
    assert list(maintenance.optimize(lake))
    lock = RecorderLock(path)
    lock.take()
    assert lock.crashed_holder is not None
    assert lock.crashed_holder.pid == killed["pid"]
    lock.release()


def test_recorder_lock_of_a_different_host_expires_if_the_lock_file_is_old(tmp_path: Path) -> None:
    path = tmp_path / "recorder.lock"
    path.write_text(json.dumps({"host": "elsewhere", "pid": 1, "since": 1.0}))
    assert str(current_holder(path)) == "process 1 on elsewhere"
    os.utime(path, (1, 1))
    assert current_holder(path) is None
    assert current_holder(tmp_path / "nothing") is None


def test_pruning_with_a_keep_rule_of_two_days_deletes_older_rows(lake: Path) -> None:
    done = {one.table: one for one in maintenance.prune(lake, KeepRules(2), now=NOW)}
    assert done["gold/lag"].what.startswith("deleted 2 rows from before 2026-11-22, in 2 files")
    read = RecordingReader(lake)
    assert len(read.polls()) == 4
    assert read.first.at == (START + DAY) / 1000
    contents = by_table(lake)["gold/lag"].contents
    assert contents is not None
    assert (contents.rows, contents.first) == (4, date(2026, 11, 22))
    assert "no rows before" in next(maintenance.prune(lake, KeepRules(2), now=NOW)).what


def test_pruning_deletes_rows_of_the_table_polls_before_rows_of_other_tables(lake: Path) -> None:
    """If pruning is interrupted, rows of deleted polls remain in other tables. Readers ignore these rows."""
    assert next(maintenance.prune(lake, KeepRules(2), now=NOW)).table == "recorded/polls"


def test_dry_run_of_pruning_deletes_no_rows(lake: Path) -> None:
    before = by_table(lake)
    done = list(maintenance.prune(lake, KeepRules(1), now=NOW, dry_run=True))
    assert any(one.what.startswith("would delete") for one in done)
    assert {name: replace(one, disk=0) for name, one in by_table(lake).items()} == {
        name: replace(one, disk=0) for name, one in before.items()
    }


def test_keep_rule_of_a_table_overrides_the_layer_rule_and_the_default(lake: Path) -> None:
    """A keep rule is the number of days for which rows are kept; None means forever.

    There can be a rule for one table, a rule for a layer (all tables in a folder such as `gold`), and a default.
    """
    keep = KeepRules(None, (("gold", 1), ("gold/lag", None)))
    assert list(maintenance.prune(lake, keep, now=NOW)) == []
    done = list(maintenance.prune(lake, KeepRules(1, (("recorded", None),)), now=NOW))
    assert [one.table for one in done] == ["gold/lag"]


def test_pruning_skips_tables_that_are_not_partitioned_by_day(lake: Path) -> None:
    load_deltalake().write_deltalake(str(lake / "gold/cleanup"), pa.table({"group": ["a"]}))
    done = {one.table: one for one in maintenance.prune(lake, KeepRules(1), now=NOW)}
    assert "not divided into days" in done["gold/cleanup"].what


@pytest.mark.parametrize(("name", "says"), [("gold/leg", "no table gold/leg"), ("recorded/polls", "pruned together")])
def test_pruning_rejects_a_keep_rule_with_an_invalid_table_name(lake: Path, name: str, says: str) -> None:
    with pytest.raises(LakeError, match=says):
        list(maintenance.prune(lake, KeepRules(None, ((name, 1),)), now=NOW))


def dead_pid() -> int:
    """Return the id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid
