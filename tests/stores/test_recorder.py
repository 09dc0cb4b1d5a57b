"""Tests that the recorder writes to an S3 server, and that its error messages say what is wrong with the server."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
from typing import TYPE_CHECKING

import pytest

from kgtui.errors import LakeError, RefusedError
from kgtui.history import Recorder, RecordingReader
from kgtui.lake import lock_holder, maintenance, store, store_lock
from kgtui.lake.folder import MARKER, LakeFolder
from kgtui.lake.lock import current_holder, recorder_lock
from kgtui.lake.lock_holder import Holder
from tests.unit.history.test_recorder import FAST, ScriptedMonitor, check_polls, recording, scripted, until
from tests.unit.lake.test_maintenance import dead_pid

if TYPE_CHECKING:
    from tests.stores.s3 import Bucket

ADDRESS_WITHOUT_SERVER = "http://127.0.0.1:1"
"""URL of a port on which no server listens."""


@pytest.fixture(autouse=True)
def fail_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeat failed requests only once, so that tests of errors are fast."""
    monkeypatch.setitem(store.DEFAULT_OPTIONS, "max_retries", "1")


async def record(uri: str) -> list[str]:
    """Run a recorder until it has written a poll to the lake `uri`; return the recorder's messages."""
    async with recording(uri) as (recorder, messages):
        await until(lambda: recorder.status.polls >= 1)
    return messages


async def error_of_recorder(uri: str) -> str:
    """Assert that a recorder for the lake `uri` fails with a `LakeError`; return the message of the error."""
    with pytest.raises(LakeError) as caught:
        await Recorder(ScriptedMonitor(scripted()), scripted(), uri, FAST).run()
    assert "\x1b" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
async def test_a_lake_in_s3_can_be_recorded_read_and_maintained(bucket: Bucket, scheme: str) -> None:
    uri = bucket.uri("some/lake", scheme)
    async with recording(uri) as (recorder, messages):
        await until(lambda: recorder.status.polls >= 3)
        assert str(current_holder(LakeFolder.of(uri).lock)) == f"process {os.getpid()} on {socket.gethostname()}"
    assert messages == []
    assert not check_polls(uri)
    before = RecordingReader(uri)
    assert (before.at().lag("pay").lag, before.at().lag("ship").lag) == (5, 7)
    assert [result.error for result in maintenance.optimize(uri)] == [""]
    lake = maintenance.status(uri)
    assert {table.table.title for table in lake.tables if table.contents is not None} >= {"recorded/polls"}
    assert (str(lake.path), lake.recorder) == (uri, None)
    assert lake.disk > 0
    after = RecordingReader(uri)
    assert [poll.at for poll in after.polls()] == [poll.at for poll in before.polls()]
    assert after.at().lag("pay").lag == 5


async def test_a_second_recorder_of_a_lake_in_s3_is_refused(bucket: Bucket) -> None:
    async with recording(bucket.uri()) as (recorder, _):
        await until(lambda: recorder.status.polls >= 1)
        with pytest.raises(RefusedError, match=f"process {os.getpid()} on .* already records into s3a://"):
            await Recorder(ScriptedMonitor(scripted()), scripted(), bucket.uri()).run()
    assert not LakeFolder.of(bucket.uri()).lock.exists()
    assert await record(bucket.uri()) == []


async def test_the_recorder_takes_over_the_lock_of_a_crashed_process(bucket: Bucket) -> None:
    await record(bucket.uri())
    write_holder(bucket, socket.gethostname(), dead_pid())
    assert any("crashed" in message for message in await record(bucket.uri()))


async def test_lock_of_a_recorder_elsewhere_is_taken_only_when_stale(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    await record(bucket.uri())
    write_holder(bucket, "elsewhere", 1)
    with pytest.raises(RefusedError, match="process 1 on elsewhere"):
        await Recorder(ScriptedMonitor(scripted()), scripted(), bucket.uri()).run()
    monkeypatch.setattr(lock_holder, "STALE", -1.0)
    assert any("process 1 on elsewhere) crashed" in message for message in await record(bucket.uri()))


async def test_the_recorder_stops_when_a_different_process_has_taken_its_lock(bucket: Bucket) -> None:
    recorder = Recorder(ScriptedMonitor(scripted()), scripted(), bucket.uri(), FAST)
    task = asyncio.create_task(recorder.run())
    await until(lambda: recorder.status.polls >= 1)
    write_holder(bucket, "elsewhere", 1)
    with pytest.raises(RefusedError, match="another process took it: process 1 on elsewhere"):
        await asyncio.wait_for(task, 60)
    assert str(current_holder(LakeFolder.of(bucket.uri()).lock)) == "process 1 on elsewhere"


def test_only_one_of_two_processes_can_take_a_stale_lock(bucket: Bucket) -> None:
    LakeFolder.of(bucket.uri()).prepare()
    write_holder(bucket, socket.gethostname(), dead_pid())
    first, second = (store_lock.ConditionalFile(lock_path(bucket)) for _ in range(2))
    found = first.read()
    assert found is not None
    assert first.write(found.holder, found.tag) is not None
    assert second.write(found.holder, found.tag) is None
    assert second.write(found.holder, None) is None


def test_a_lock_renewal_can_be_repeated_after_a_lost_response(bucket: Bucket) -> None:
    LakeFolder.of(bucket.uri()).prepare()
    file = store_lock.ConditionalFile(lock_path(bucket))
    holder = Holder("here", 1, 1.0)
    tag = file.write(holder, None)
    renewed = file.write(holder, tag)
    assert None not in (tag, renewed)
    assert file.write(holder, tag) not in (None, tag, renewed)


@pytest.mark.parametrize("fault", ["ignore-conditions", "reject-conditions"])
def test_the_recorder_lock_is_not_enforced_without_conditional_writes(bucket: Bucket, fault: str) -> None:
    """The S3 server ignores the conditions of conditional writes, or rejects conditional writes.

    A second recorder is still refused, because it reads the lock file before it writes, and finds the process id of the
    first recorder in the file. But if both recorders read the file at the same time, both would get the lock.
    """
    bucket.switch_on(fault)
    lock, second = recorder_lock(lock_path(bucket)), recorder_lock(lock_path(bucket))
    lock.take()
    assert not lock.enforced
    with pytest.raises(RefusedError, match=f"process {os.getpid()} on"):
        second.take()
    lock.renew()
    lock.release()
    assert not lock_path(bucket).exists()


async def test_the_recorder_warns_once_that_a_store_does_not_enforce_the_lock(bucket: Bucket) -> None:
    bucket.switch_on("ignore-conditions")
    (message,) = await record(bucket.uri())
    assert message.startswith(f"nothing enforces that only one process records into {bucket.uri()}")


async def test_the_recorder_error_says_that_the_store_lacks_conditional_writes(bucket: Bucket) -> None:
    bucket.switch_on("reject-conditions")
    assert "AWS_S3_LOCKING_PROVIDER" in await error_of_recorder(bucket.uri())


async def test_the_recorder_error_says_that_the_write_permission_is_missing(bucket: Bucket) -> None:
    bucket.switch_on("refuse-writes")
    message = await error_of_recorder(bucket.uri())
    assert message.startswith(f"{bucket.uri()} cannot be written: the store refuses access")
    assert "s3:PutObject" in message


async def test_the_recorder_error_says_that_the_bucket_does_not_exist(bucket: Bucket) -> None:
    uri = "s3a://no-such-bucket/lake"
    assert "the store has no bucket or container with this name" in await error_of_recorder(uri)
    with pytest.raises(LakeError, match="no bucket"):
        RecordingReader(uri)


async def test_the_error_for_missing_credentials_mentions_the_variables_to_set(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    # S3 clients without credentials request them from the metadata service of a cloud machine. Set an address on which
    # no server listens, so that they get no credentials.
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", ADDRESS_WITHOUT_SERVER)
    assert "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" in await error_of_recorder(bucket.uri())


async def test_the_recorder_error_says_that_the_store_does_not_answer(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", ADDRESS_WITHOUT_SERVER)
    assert "the store does not answer" in await error_of_recorder(bucket.uri())
    # If AWS_ALLOW_HTTP is not set, the error must name this variable.
    monkeypatch.delenv("AWS_ALLOW_HTTP")
    # Use a different bucket: for the first bucket, kgtui would reuse its connection, for which HTTP was allowed.
    assert "AWS_ALLOW_HTTP" in await error_of_recorder(f"s3a://other-{bucket.name}/lake")


async def test_the_recorder_loses_no_data_while_the_store_does_not_answer(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(store.DEFAULT_OPTIONS, "max_retries", "0")
    monkeypatch.setitem(store.DEFAULT_OPTIONS, "timeout", "2s")
    async with recording(bucket.uri()) as (recorder, messages):
        await until(lambda: recorder.status.polls >= 2)
        bucket.switch_on("stop-answering")
        await until(lambda: bool(recorder.status.error))
        assert "the store does not answer" in recorder.status.error
        assert recorder.status.waiting > 0
        bucket.switch_off()
        await until(lambda: not recorder.status.error)
    assert messages[-1] == "recording continues"
    assert {poll.gap for poll in RecordingReader(bucket.uri()).polls()} == {"the recording begins", ""}
    check_polls(bucket.uri())


async def test_a_lake_in_s3_written_by_a_newer_kgtui_is_refused(bucket: Bucket) -> None:
    marker = LakeFolder.of(bucket.uri()).path / MARKER
    assert isinstance(marker, store.StorePath)
    marker.write_bytes(b'{"format": "kgtui lake", "version": 99}')
    message = await error_of_recorder(bucket.uri())
    assert re.search(r"was written by a newer kgtui: its tables have version 99, .* Upgrade kgtui\.", message)


def lock_path(bucket: Bucket) -> store.StorePath:
    """Return the path of the lock file of the lake in a bucket."""
    path = LakeFolder.of(bucket.uri()).lock
    assert isinstance(path, store.StorePath)
    return path


def write_holder(bucket: Bucket, host: str, pid: int) -> None:
    """Write a lock file, as if the process `pid` on the machine `host` held the lock."""
    lock_path(bucket).write_bytes(json.dumps({"host": host, "pid": pid, "since": 1.0}).encode())
