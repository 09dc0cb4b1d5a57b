"""Tests that the recorder writes the changes in a cluster to a lake (a folder of Delta tables).

The recorder must continue after disk and broker errors.
"""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import threading
import time
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from kgtui.errors import LakeError, RefusedError
from kgtui.history import Recorder, RecorderOptions, RecordingReader, flushing
from kgtui.history.changes import ChangeTracker, PollResult
from kgtui.lake.delta import RecordedTable
from kgtui.lake.folder import LakeFolder
from kgtui.lake.schemas import POLLS, TABLES
from kgtui.model.answer import Fault
from kgtui.model.cluster import ClusterInfo
from kgtui.model.group import Listing
from kgtui.model.snapshot import BrokerStatus, Snapshot
from tests.scripted import ScriptedAdmin, member

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Sequence
    from datetime import date
    from pathlib import Path

    from kgtui.lake.schemas.definition import RowValues as Row

FAST = RecorderOptions(interval=0.02, flush=0.02, describe=0.05)


@dataclass
class ScriptedMonitor:
    """A fake of the monitor, from which a recorder gets the groups of a cluster.

    Its snapshot always contains the current groups of the cluster `admin`.
    """

    admin: ScriptedAdmin
    cluster_id: str = "scripted"

    @property
    def snapshot(self) -> Snapshot:
        groups = {
            group: Listing(row.type, row.protocol, row.state, row.coordinator)
            for group, row in self.admin.groups.items()
        }
        brokers = {node: BrokerStatus(node, b.address, answered_at=1.0) for node, b in self.admin.brokers.items()}
        return Snapshot(1, 1.0, ClusterInfo(self.cluster_id, self.admin.brokers), groups, brokers=brokers)


def scripted() -> ScriptedAdmin:
    """Return a fake cluster with the consumer group `pay` (lag 5) and the share group `ship` (lag 7)."""
    admin = ScriptedAdmin()
    admin.add("pay", "consumer", members=(member("m-1"),), lag=5)
    admin.add("ship", "share", lag=7)
    return admin


@asynccontextmanager
async def recording(
    path: Path | str, admin: ScriptedAdmin | None = None, options: RecorderOptions = FAST, **changes: object
) -> AsyncIterator[tuple[Recorder, list[str]]]:
    """Run a recorder until the `async with` block ends. Yield the recorder and a list of its messages to the user.

    Args:
        path: path or URI of the lake, the folder for the recording.
        admin: the cluster; None for the cluster that `scripted` returns.
        changes: other arguments of `Recorder`.
    """
    messages: list[str] = []
    watch, admin = ScriptedMonitor(admin or scripted()), admin or scripted()
    recorder = Recorder(watch, admin, path, options, notify=messages.append, **changes)  # type: ignore[arg-type]
    task = asyncio.create_task(recorder.run())
    try:
        yield recorder, messages
    finally:
        recorder.stop()
        await asyncio.wait_for(task, 30)


async def until(condition: Callable[[], bool], timeout: float = 30.0) -> None:
    """Wait until `condition` is true. Raise TimeoutError after `timeout` seconds."""
    async with asyncio.timeout(timeout):
        while not condition():  # noqa: ASYNC110 - the condition has no event that could be awaited
            await asyncio.sleep(0.005)


async def wait_for_new_poll(recorder: Recorder) -> None:
    """Wait until the recorder has written a poll that started after this call."""
    now = time.time()
    await until(lambda: (recorder.status.last or 0) > now)


def check_polls(path: Path | str) -> set[int]:
    """Assert that each poll in the table `polls` is complete in the other tables of the recording.

    The table `polls` contains the number of rows of each poll in the other tables. Return the times of polls that are
    missing in `polls`, because writing them was interrupted, in milliseconds since the Unix epoch.
    """
    folder = LakeFolder.of(path)
    found: Counter[int] = Counter()
    for table in TABLES:
        rows = RecordedTable(folder.table(table.name), table).read(["poll"])["poll"].to_pylist()
        if table is not POLLS:
            found.update(rows)
    polls = RecordedTable(folder.table(POLLS.name), POLLS).read(["poll", "rows"]).to_pylist()
    reported = {row["poll"]: row["rows"] for row in polls}
    assert len(polls) == len(reported)
    assert {poll: found[poll] for poll in reported} == reported
    return found.keys() - reported.keys()


async def test_recorder_writes_changed_offsets_to_the_lake(tmp_path: Path) -> None:
    admin = scripted()
    async with recording(tmp_path / "lake", admin) as (recorder, messages):
        await until(lambda: recorder.status.polls >= 2)
        admin.commits["pay"] = (replace(admin.commits["pay"][0], offset=1003),)
        await wait_for_new_poll(recorder)
    assert messages == []
    lake = RecordingReader(tmp_path / "lake")
    lags = [lake.at(poll).lag("pay").lag for poll in lake.polls()]
    assert lags[0] == 5
    assert lags[-1] == 2
    assert lake.at(None).lag("ship").lag == 7
    assert [poll.gap for poll in lake.polls()] == ["the recording begins"] + [""] * (len(lags) - 1)
    assert not check_polls(tmp_path / "lake")


async def test_recorder_creates_lake_files_that_only_their_owner_can_read(tmp_path: Path) -> None:
    async with recording(tmp_path / "lake", options=replace(FAST, keyframe=0.05)) as (recorder, _):
        await until(lambda: recorder.status.polls >= 12)
    for folder, _, files in os.walk(tmp_path / "lake"):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700, folder
        for name in files:
            assert stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) == 0o600, name


async def test_second_recorder_for_the_same_lake_is_refused(tmp_path: Path) -> None:
    async with recording(tmp_path / "lake") as (recorder, _):
        await until(lambda: recorder.status.polls >= 1)
        second = Recorder(ScriptedMonitor(scripted()), scripted(), tmp_path / "lake")
        with pytest.raises(RefusedError, match=f"process {os.getpid()} on"):
            await second.run()
    assert not LakeFolder.of(tmp_path / "lake").lock.exists()


async def test_recording_a_second_cluster_into_a_lake_is_refused(tmp_path: Path) -> None:
    async with recording(tmp_path / "lake") as (recorder, _):
        await until(lambda: recorder.status.polls >= 1)
    other = Recorder(ScriptedMonitor(scripted(), "another"), scripted(), tmp_path / "lake")
    with pytest.raises(LakeError, match="holds the recording of cluster scripted, but this is cluster another"):
        await other.run()


async def test_recorder_stops_if_the_bootstrap_servers_now_belong_to_another_cluster(tmp_path: Path) -> None:
    watch = ScriptedMonitor(scripted())
    recorder = Recorder(watch, scripted(), tmp_path / "lake", FAST)
    task = asyncio.create_task(recorder.run())
    await until(lambda: recorder.status.polls >= 1)
    watch.cluster_id = "another"
    with pytest.raises(LakeError, match="holds the recording of cluster scripted, but this is cluster another"):
        await asyncio.wait_for(task, 30)
    assert {poll.gap for poll in RecordingReader(tmp_path / "lake").polls()} == {"the recording begins", ""}


async def test_a_canceled_recorder_writes_all_polls_before_it_ends(tmp_path: Path) -> None:
    admin = scripted()
    recorder = Recorder(ScriptedMonitor(admin), admin, tmp_path / "lake", RecorderOptions(interval=0.02, flush=3600))
    task = asyncio.create_task(recorder.run())
    await until(lambda: recorder._lake.waiting > 0)
    assert recorder.status.polls == 0
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert RecordingReader(tmp_path / "lake").at(None).lag("pay").lag == 5
    assert not LakeFolder.of(tmp_path / "lake").lock.exists()


class Disk:
    """Simulates a full disk: appending rows to the table `full` of the lake fails with the error ENOSPC.

    Attributes:
        full: name of the table to which rows cannot be appended; empty if the disk is not full.
        late: True if an append writes its rows and then fails; False if it fails before it writes them.
        refused: number of failed appends.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = ""
        self.late = False
        self.refused = 0
        append = RecordedTable.append

        def maybe(folder: RecordedTable, rows: Iterable[Sequence[Row]], day: date, serial: int) -> int:
            if folder.table.name != self.full:
                return append(folder, rows, day, serial)
            if self.late:
                append(folder, rows, day, serial)
            self.refused += 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(RecordedTable, "append", maybe)


@pytest.mark.parametrize("table", ["partitions", "polls"])
@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
async def test_recorder_reports_a_full_disk_and_continues_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, late: bool
) -> None:
    """The recorder repeats a failed append to a table. No row is lost or duplicated.

    The append fails before it has written its rows, or after that (`late`).
    """
    disk, admin = Disk(monkeypatch), scripted()
    async with recording(tmp_path / "lake", admin) as (recorder, messages):
        await until(lambda: recorder.status.polls >= 1)
        disk.full, disk.late = table, late
        admin.commits["pay"] = (replace(admin.commits["pay"][0], offset=1001),)
        await until(lambda: disk.refused >= 3)
        assert "No space left" in recorder.status.error
        disk.full = ""
        await until(lambda: not recorder.status.error)
    assert len(messages) == 2
    assert "cannot be written" in messages[0]
    assert messages[1] == "recording continues"
    assert not check_polls(tmp_path / "lake")
    assert RecordingReader(tmp_path / "lake").at(None).lag("pay").lag == 4
    assert {poll.gap for poll in RecordingReader(tmp_path / "lake").polls()} == {"the recording begins", ""}


async def test_recorder_discards_polls_and_records_a_gap_if_too_many_rows_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full. When more than `MAX_WAITING_ROWS` rows wait in memory, the recorder discards all of them."""
    monkeypatch.setattr(flushing, "MAX_WAITING_ROWS", 2)
    disk, admin = Disk(monkeypatch), scripted()
    async with recording(tmp_path / "lake", admin, replace(FAST, keyframe=0.1)) as (recorder, messages):
        await until(lambda: recorder.status.polls >= 1)
        disk.full = "polls"
        await until(lambda: any("were discarded" in line for line in messages))
        disk.full = ""
        await until(lambda: not recorder.status.error)
        admin.commits["pay"] = (replace(admin.commits["pay"][0], offset=1004),)
        await wait_for_new_poll(recorder)
    lake = RecordingReader(tmp_path / "lake")
    assert "polls could not be written" in [poll.gap for poll in lake.polls()]
    assert lake.at(None).lag("pay").lag == 1
    for poll in lake.polls():
        assert set(lake.at(poll).listings) == {"pay", "ship"}


async def test_recorder_reports_that_the_previous_recorder_lost_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    async with recording(tmp_path / "lake") as (recorder, _):
        await until(lambda: recorder.status.polls >= 1)
        disk.full = "polls"
        await until(lambda: recorder.status.waiting > 0 or disk.refused > 0)
    disk.full = ""
    async with recording(tmp_path / "lake") as (recorder, messages):
        await until(lambda: recorder.status.polls >= 1)
    assert f"process {os.getpid()}" in messages[0]
    assert "are lost" in messages[0]
    assert "recorder killed" in [poll.gap for poll in RecordingReader(tmp_path / "lake").polls()]


async def test_recording_keeps_the_last_known_lag_if_committed_offsets_cannot_be_read(tmp_path: Path) -> None:
    """The offsets of the group `pay` cannot be read. The recorder writes the error to the table `faults`."""
    admin = scripted()
    async with recording(tmp_path / "lake", admin) as (recorder, _):
        await until(lambda: recorder.status.polls >= 2)
        admin.broken["pay"] = Fault("NO_ANSWER", "no answer", broker=1, group="pay")
        await wait_for_new_poll(recorder)
    state = RecordingReader(tmp_path / "lake").at(None)
    assert state.lag("pay").lag == 5
    assert state.recorded_fault("offsets", "pay") == admin.broken["pay"]
    assert state.lag("ship").lag == 7


async def test_recorder_reports_a_failed_poll_and_records_a_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with recording(tmp_path / "lake") as (recorder, messages):
        await until(lambda: recorder.status.polls >= 1)
        with monkeypatch.context() as broken:
            broken.setattr(recorder._poller, "read", lambda *_, **__: 1 / 0)
            await until(lambda: bool(messages))
        await wait_for_new_poll(recorder)
    assert "a poll failed: division by zero" in messages[0]
    assert "a poll failed" in [poll.gap for poll in RecordingReader(tmp_path / "lake").polls()]
    assert not check_polls(tmp_path / "lake")


async def test_times_of_recorded_polls_keep_increasing_after_the_clock_is_set_back(tmp_path: Path) -> None:
    """The clock is set back by 1 h. The user gets one message about it.

    The recorder continues to record keyframes (polls that store all groups).
    """
    back = 0.0
    options = replace(FAST, keyframe=0.05)
    async with recording(tmp_path / "lake", options=options, now=lambda: time.time() - back) as (recorder, messages):
        await until(lambda: recorder.status.polls >= 2)
        back, polls = 3_600.0, recorder.status.polls
        await until(lambda: recorder.status.polls >= polls + 10)
    assert [message for message in messages if "the clock is 1 h behind" in message] == messages
    assert len(messages) == 1
    polls_of_lake = RecordingReader(tmp_path / "lake").polls()
    assert min(later.ms - poll.ms for poll, later in pairwise(polls_of_lake)) >= 500 * FAST.interval
    assert len({poll.keyframe for poll in polls_of_lake[-8:]}) > 1


async def test_recorder_deletes_old_polls_even_if_a_damaged_file_prevents_compaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise pa.ArrowInvalid("Parquet magic bytes not found")

    deleted: list[str] = []
    monkeypatch.setattr(RecordedTable, "compact", fail)
    monkeypatch.setattr(RecordedTable, "delete_before", lambda table, _: deleted.append(table.table.name))
    async with recording(tmp_path / "lake", options=replace(FAST, keyframe=0.1)) as (recorder, messages):
        await until(lambda: deleted.count("polls") >= 2)
        assert recorder.status.error == ""
    (message,) = messages
    assert "could not be merged or deleted: Parquet magic bytes not found" in message


async def test_recorder_error_mentions_the_lake_folder_that_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    recorder = Recorder(ScriptedMonitor(scripted()), scripted(), tmp_path / "file" / "lake")
    with pytest.raises(LakeError, match=r"file/lake cannot be written: .*Not a directory"):
        await recorder.run()


async def test_recorder_compares_polls_outside_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recorder compares each poll with the previous poll. It uses a thread, so that the terminal UI can respond."""
    here = threading.get_ident()
    threads: dict[str, int] = {}
    for name in ("add", "finish", "all_rows"):
        monkeypatch.setattr(ChangeTracker, name, _noting_thread(getattr(ChangeTracker, name), name, threads))
    monkeypatch.setattr(PollResult, "release", _noting_thread(PollResult.release, "release", threads))
    async with recording(tmp_path, alone=False) as (recorder, _):
        await until(lambda: recorder.status.polls > 2)
    assert threads.keys() == {"add", "finish", "all_rows", "release"}
    assert here not in threads.values()
    assert list(RecordingReader(tmp_path).at().listings) == ["pay", "ship"]


def _noting_thread(function: Callable[..., object], name: str, threads: dict[str, int]) -> Callable[..., object]:
    def noted(*arguments: object) -> object:
        threads[name] = threading.get_ident()
        return function(*arguments)

    return noted
