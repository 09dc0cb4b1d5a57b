"""The recorder over a scripted cluster: what it writes, and what it does when it cannot."""

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
from typing import TYPE_CHECKING

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
class Watched:
    """A monitor that knows what the scripted cluster is."""

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
    """Two groups with lag."""
    admin = ScriptedAdmin()
    admin.add("pay", "consumer", members=(member("m-1"),), lag=5)
    admin.add("ship", "share", lag=7)
    return admin


@asynccontextmanager
async def recording(
    path: Path, admin: ScriptedAdmin | None = None, options: RecorderOptions = FAST, **changes: object
) -> AsyncIterator[tuple[Recorder, list[str]]]:
    """A recorder at work, stopped in order at the end."""
    said: list[str] = []
    made = Recorder(Watched(admin or scripted()), admin or scripted(), path, options, notify=said.append, **changes)  # type: ignore[arg-type]
    task = asyncio.create_task(made.run())
    try:
        yield made, said
    finally:
        made.stop()
        await asyncio.wait_for(task, 30)


async def until(met: Callable[[], bool], timeout: float = 30.0) -> None:
    """Wait for something that the recorder does."""
    async with asyncio.timeout(timeout):
        while not met():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.005)


async def recorded_anew(made: Recorder) -> None:
    """Wait until a poll that began after this moment is in the lake: those before it may still be on their way."""
    now = time.time()
    await until(lambda: (made.status.last or 0) > now)


def whole(path: Path) -> bool:
    """Whether every poll of a lake has exactly the rows that it counts, and no other poll has any."""
    folder = LakeFolder.of(path)
    found: Counter[int] = Counter()
    for table in TABLES:
        rows = RecordedTable(folder.table(table.name), table).read(["poll"])["poll"].to_pylist()
        if table is not POLLS:
            found.update(rows)
    polls = RecordedTable(folder.table(POLLS.name), POLLS).read(["poll", "rows"]).to_pylist()
    told = {row["poll"]: row["rows"] for row in polls}
    assert len(polls) == len(told)
    assert {poll: found[poll] for poll in told} == told
    return not found.keys() - told.keys()


async def test_it_records_what_moves_and_what_it_moves_to(tmp_path: Path) -> None:
    admin = scripted()
    async with recording(tmp_path / "lake", admin) as (made, said):
        await until(lambda: made.status.polls >= 2)
        admin.commits["pay"] = (replace(admin.commits["pay"][0], offset=1003),)
        await recorded_anew(made)
    assert said == []
    lake = RecordingReader(tmp_path / "lake")
    lags = [lake.at(moment).lag("pay").lag for moment in lake.polls()]
    assert lags[0] == 5
    assert lags[-1] == 2
    assert lake.at(None).lag("ship").lag == 7
    assert [moment.gap for moment in lake.polls()] == ["the recording begins"] + [""] * (len(lags) - 1)
    assert whole(tmp_path / "lake")


async def test_everything_in_a_lake_is_its_owners_alone(tmp_path: Path) -> None:
    async with recording(tmp_path / "lake", options=replace(FAST, keyframe=0.05)) as (made, _):
        await until(lambda: made.status.polls >= 12)
    for folder, _, files in os.walk(tmp_path / "lake"):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700, folder
        for name in files:
            assert stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) == 0o600, name


async def test_a_second_recorder_is_refused(tmp_path: Path) -> None:
    async with recording(tmp_path / "lake") as (made, _):
        await until(lambda: made.status.polls >= 1)
        second = Recorder(Watched(scripted()), scripted(), tmp_path / "lake")
        with pytest.raises(RefusedError, match=f"process {os.getpid()} on"):
            await second.run()
    assert not LakeFolder.of(tmp_path / "lake").lock.exists()


async def test_a_lake_is_of_one_cluster(tmp_path: Path) -> None:
    async with recording(tmp_path / "lake") as (made, _):
        await until(lambda: made.status.polls >= 1)
    other = Recorder(Watched(scripted(), "another"), scripted(), tmp_path / "lake")
    with pytest.raises(LakeError, match="holds cluster scripted, and this is cluster another"):
        await other.run()


async def test_cancelling_writes_what_waits(tmp_path: Path) -> None:
    admin = scripted()
    made = Recorder(Watched(admin), admin, tmp_path / "lake", RecorderOptions(interval=0.02, flush=3600))
    task = asyncio.create_task(made.run())
    await until(lambda: made._lake.waiting > 0)
    assert made.status.polls == 0
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert RecordingReader(tmp_path / "lake").at(None).lag("pay").lag == 5
    assert not LakeFolder.of(tmp_path / "lake").lock.exists()


class Disk:
    """A disk that can be full: appends to one table fail, before or after they were made."""

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
async def test_a_full_disk_is_reported_and_survived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, late: bool
) -> None:
    """Nothing is lost or doubled, wherever it stopped; also if the failed append had been made after all."""
    disk, admin = Disk(monkeypatch), scripted()
    async with recording(tmp_path / "lake", admin) as (made, said):
        await until(lambda: made.status.polls >= 1)
        disk.full, disk.late = table, late
        admin.commits["pay"] = (replace(admin.commits["pay"][0], offset=1001),)
        await until(lambda: disk.refused >= 3)
        assert "No space left" in made.status.error
        disk.full = ""
        await until(lambda: not made.status.error)
    assert len(said) == 2
    assert "cannot be written" in said[0]
    assert said[1] == "recording continues"
    assert whole(tmp_path / "lake")
    assert RecordingReader(tmp_path / "lake").at(None).lag("pay").lag == 4
    assert {moment.gap for moment in RecordingReader(tmp_path / "lake").polls()} == {"the recording begins", ""}


async def test_too_much_that_waits_is_given_up_and_the_gap_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flushing, "MOST_WAITING", 2)
    disk, admin = Disk(monkeypatch), scripted()
    async with recording(tmp_path / "lake", admin, replace(FAST, keyframe=0.1)) as (made, said):
        await until(lambda: made.status.polls >= 1)
        disk.full = "polls"
        await until(lambda: any("were dropped" in line for line in said))
        disk.full = ""
        await until(lambda: not made.status.error)
        admin.commits["pay"] = (replace(admin.commits["pay"][0], offset=1004),)
        await recorded_anew(made)
    lake = RecordingReader(tmp_path / "lake")
    assert "could not be written" in [moment.gap for moment in lake.polls()]
    assert lake.at(None).lag("pay").lag == 1
    for moment in lake.polls():
        assert set(lake.at(moment).listings) == {"pay", "ship"}


async def test_what_cannot_be_written_at_the_end_is_said_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    async with recording(tmp_path / "lake") as (made, _):
        await until(lambda: made.status.polls >= 1)
        disk.full = "polls"
        await until(lambda: made.status.waiting > 0 or disk.refused > 0)
    disk.full = ""
    async with recording(tmp_path / "lake") as (made, said):
        await until(lambda: made.status.polls >= 1)
    assert f"process {os.getpid()}" in said[0]
    assert "are lost" in said[0]
    assert "recorder killed" in [moment.gap for moment in RecordingReader(tmp_path / "lake").polls()]


async def test_a_silent_coordinator_keeps_its_last_values_and_shows_as_a_fault(tmp_path: Path) -> None:
    admin = scripted()
    async with recording(tmp_path / "lake", admin) as (made, _):
        await until(lambda: made.status.polls >= 2)
        admin.broken["pay"] = Fault("NO_ANSWER", "no answer", broker=1, group="pay")
        await recorded_anew(made)
    frame = RecordingReader(tmp_path / "lake").at(None)
    assert frame.lag("pay").lag == 5
    assert frame.group_faults["offsets", "pay"] == admin.broken["pay"]
    assert frame.lag("ship").lag == 7


async def test_a_poll_that_fails_is_reported_and_a_full_picture_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with recording(tmp_path / "lake") as (made, said):
        await until(lambda: made.status.polls >= 1)
        with monkeypatch.context() as broken:
            broken.setattr(made._poller, "look", lambda *_, **__: 1 / 0)
            await until(lambda: bool(said))
        await recorded_anew(made)
    assert "a poll failed: division by zero" in said[0]
    assert "a poll failed" in [moment.gap for moment in RecordingReader(tmp_path / "lake").polls()]
    assert whole(tmp_path / "lake")


async def test_a_folder_that_cannot_be_made_is_an_error_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    made = Recorder(Watched(scripted()), scripted(), tmp_path / "file" / "lake")
    with pytest.raises(LakeError, match=r"file/lake cannot be written: .*Not a directory"):
        await made.run()


async def test_polls_are_compared_beside_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A screen may be drawn on the loop: what takes long with many groups runs in other threads."""
    here = threading.get_ident()
    threads: dict[str, int] = {}
    for name in ("add", "finish", "all_rows"):
        monkeypatch.setattr(ChangeTracker, name, _noting(getattr(ChangeTracker, name), name, threads))
    monkeypatch.setattr(PollResult, "release", _noting(PollResult.release, "release", threads))
    async with recording(tmp_path, alone=False) as (made, _):
        await until(lambda: made.status.polls > 2)
    assert threads.keys() == {"add", "finish", "all_rows", "release"}
    assert here not in threads.values()
    assert list(RecordingReader(tmp_path).at().listings) == ["pay", "ship"]


def _noting(done: Callable[..., object], name: str, threads: dict[str, int]) -> Callable[..., object]:
    def noted(*arguments: object) -> object:
        threads[name] = threading.get_ident()
        return done(*arguments)

    return noted
