"""Tests of the audit log: crashes, full disks, concurrent processes, and deletions without a logged outcome."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from kgtui.actions.audit import read_entries
from kgtui.actions.execute import execute
from kgtui.actions.plan import plan
from kgtui.actions.results import DeletionStatus
from kgtui.actions.synced_files import append_line, shared_lock
from kgtui.actions.verification import unfinished
from kgtui.model.answer import Fault
from tests.scripted import ScriptedAdmin

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.config import StateFolder
    from kgtui.model.cluster import ClusterInfo

KILLED = """
import asyncio, os, pathlib, signal, sys
from kgtui.actions.execute import execute
from kgtui.actions.plan import plan
from kgtui.config import StateFolder
from tests.scripted import ScriptedAdmin

class Killed(ScriptedAdmin):
    async def delete_groups(self, groups, *, timeout=30.0):
        os.kill(os.getpid(), signal.SIGKILL)

async def main():
    admin = Killed()
    admin.add("g", state="Empty", lag=5)
    await execute(admin, await plan(admin, ["g"]), StateFolder(pathlib.Path(sys.argv[1])))

asyncio.run(main())
"""


@pytest.fixture
def killed(folder: StateFolder) -> StateFolder:
    """Return the state folder of a kgtui process that was killed while it deleted group `g`.

    The audit log in this folder contains the intent to delete the group, but no outcome.
    """
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder.path)], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    return folder


async def test_deletion_by_a_crashed_process_counts_as_successful_if_the_group_is_gone(
    killed: StateFolder, admin: ScriptedAdmin
) -> None:
    """At its next start, kgtui finds that the group is gone. It logs the outcome once, with the field `found_later`."""
    ((entry,), _) = read_entries(killed.audit)
    assert entry.outcome is None
    (result,) = await unfinished(admin, killed)
    assert (result.group, result.status, result.entry) == ("g", DeletionStatus.DELETED, entry.id)
    assert result.backup is not None
    assert result.backup.exists()
    ((entry,), _) = read_entries(killed.audit)
    assert entry.outcome is not None
    assert entry.outcome["found_later"] is True
    assert entry.outcome["result"] == "deleted"
    assert await unfinished(admin, killed) == ()


async def test_deletion_by_a_crashed_process_counts_as_failed_if_the_group_exists(
    killed: StateFolder, admin: ScriptedAdmin
) -> None:
    """At its next start, kgtui finds that the group exists. It does not send the delete request again."""
    admin.add("g", state="Empty", lag=5)
    (result,) = await unfinished(admin, killed)
    assert result.status is DeletionStatus.FAILED
    assert "delete_groups" not in {call for call, _ in admin.calls}


async def test_deletion_with_unknown_outcome_is_checked_at_each_start_of_kgtui(
    killed: StateFolder, admin: ScriptedAdmin
) -> None:
    """At the first start, the outcome remains unknown, because the group's coordinator does not respond.

    At the second start, the coordinator responds, and kgtui finds the outcome.
    """
    admin.broken["g"] = Fault("NO_ANSWER", "broker 1 is down", group="g")
    admin.broken[1] = Fault("NO_ANSWER", "broker 1 is down", broker=1)
    assert await unfinished(admin, killed) == ()
    admin.broken.clear()
    assert len(await unfinished(admin, killed)) == 1


async def test_start_of_kgtui_does_not_check_deletions_in_other_clusters(killed: StateFolder) -> None:
    """kgtui cannot verify a deletion in a cluster to which it is not connected."""
    other = OtherCluster()
    assert await unfinished(other, killed) == ()
    assert {call for call, _ in other.calls} == {"cluster"}


class OtherCluster(ScriptedAdmin):
    """A cluster whose id differs from the cluster id in the audit log."""

    async def cluster(self, *, timeout: float = 30.0) -> ClusterInfo:
        return replace(await super().cluster(), cluster_id="another")


async def test_start_of_kgtui_ignores_deletions_that_another_process_is_executing(
    killed: StateFolder, admin: ScriptedAdmin
) -> None:
    """The other process holds a shared file lock until the outcome is logged. kgtui checks this lock when it starts."""
    with shared_lock(killed.lock):
        assert await unfinished(admin, killed) == ()
    assert len(await unfinished(admin, killed)) == 1


async def test_start_of_kgtui_without_audit_log_checks_no_deletions(folder: StateFolder, admin: ScriptedAdmin) -> None:
    assert await unfinished(admin, folder) == ()
    assert admin.calls == []
    assert not folder.path.exists()


async def test_start_of_kgtui_removes_incomplete_backups_even_without_an_audit_log(
    folder: StateFolder, admin: ScriptedAdmin
) -> None:
    folder.backups.mkdir(parents=True)
    (folder.backups / ".a.jsonl.part").write_bytes(b"{")
    assert await unfinished(admin, folder) == ()
    assert list(folder.backups.iterdir()) == []


async def test_audit_log_has_the_intent_and_outcome_of_a_deletion(folder: StateFolder, admin: ScriptedAdmin) -> None:
    """The intent (logged before the deletion) and the outcome have the same id. Only the owner can read the log."""
    admin.add("g", "share", state="Empty", lag=5)
    await execute(admin, await plan(admin, ["g"]), folder, command="kgtui delete g")
    intent, outcome = (json.loads(line) for line in folder.audit.read_text().splitlines())
    assert intent["id"] == outcome["id"]
    assert (intent["entry"], outcome["entry"]) == ("intent", "outcome")
    assert (intent["group"], intent["type"], intent["command"]) == ("g", "share", "kgtui delete g")
    assert intent["cluster"]["id"] == "scripted"
    assert intent["loss"]["partitions"] == 1
    assert intent["pid"] == os.getpid()
    assert intent["at"].endswith("Z")
    assert datetime.fromisoformat(intent["at"]) <= datetime.fromisoformat(outcome["at"])
    assert stat.S_IMODE(folder.audit.stat().st_mode) == 0o600


async def test_incomplete_audit_log_line_does_not_make_the_next_line_unreadable(
    folder: StateFolder, admin: ScriptedAdmin
) -> None:
    """A crash can leave an incomplete line. This line counts as damaged, and the next entry begins on a new line."""
    folder.path.mkdir()
    folder.audit.write_bytes(b'{"schema":1,"id":"x","entry":"int')
    admin.add("g", state="Empty")
    await execute(admin, await plan(admin, ["g"]), folder)
    entries, damaged = read_entries(folder.audit)
    assert (len(entries), damaged) == (1, 1)
    assert entries[0].outcome is not None


def test_a_full_disk_leaves_no_truncated_line_in_the_audit_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The beginning of the line that did not fit is removed. Earlier lines remain in the log."""
    log = tmp_path / "log"
    append_line(log, b"first")
    write = os.write
    left = [3]

    def filling(file: int, data: memoryview) -> int:
        if not left:
            raise OSError(28, "No space left on device")
        return write(file, data[: left.pop()])

    monkeypatch.setattr(os, "write", filling)
    with pytest.raises(OSError, match="No space"):
        append_line(log, b"second")
    assert log.read_bytes() == b"first\n"


def _append_many(log: Path, name: int) -> None:
    for number in range(50):
        append_line(log, f"{name}:{number}:{'x' * 5000}".encode())


def test_concurrent_processes_append_complete_lines_to_the_audit_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_append_many, args=(log, name)) for name in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    lines = log.read_text().splitlines()
    assert {line.rsplit(":", 1)[0] for line in lines} == {f"{name}:{n}" for name in range(3) for n in range(50)}
    assert {len(line.rsplit(":", 1)[1]) for line in lines} == {5000}
