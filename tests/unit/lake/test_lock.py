"""Tests of the recorder lock, a file that allows only one process to record into a lake (a folder of Delta tables).

Another process gets the lock when the holder releases the lock or ends.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from kgtui.errors import RefusedError
from kgtui.lake.lock import RecorderLock
from kgtui.lake.lock_holder import STALE
from kgtui.lake.store_errors import lake_error_text

if TYPE_CHECKING:
    from pathlib import Path

_HOLD = """
import sys, time
from pathlib import Path
from kgtui.lake.lock import RecorderLock
lock = RecorderLock(Path(sys.argv[1])); lock.take(); print("held", flush=True); sys.stdin.read()
"""


def held_by_another(path: Path) -> subprocess.Popen[str]:
    """Start a process that takes the lock file `path` and holds the lock until it is killed. Return the process."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_error_for_a_locked_lake_has_host_and_process_id_of_the_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with held_by_another(path) as other:
        with pytest.raises(RefusedError, match=f"process {other.pid} on {socket.gethostname()}"):
            RecorderLock(path).take()
        other.kill()


def test_next_lock_holder_reports_that_the_previous_holder_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with held_by_another(path) as other:
        other.send_signal(signal.SIGKILL)
    lock = RecorderLock(path)
    lock.take()
    assert lock.crashed_holder is not None
    assert lock.crashed_holder.pid == other.pid
    lock.release()


def test_next_lock_holder_reports_a_crash_if_the_lock_file_was_left_behind(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first, second = RecorderLock(path), RecorderLock(path)
    first.take()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first.release()
    assert not path.exists()
    second.take()
    assert second.crashed_holder is None
    second.release(clean=False)
    first.take()
    assert first.crashed_holder is not None
    assert first.crashed_holder.pid == os.getpid()
    first.release()


@pytest.mark.parametrize(("age", "refused"), [(0.0, True), (STALE + 60, False)])
def test_lock_of_another_host_expires_if_it_is_not_renewed(tmp_path: Path, age: float, refused: bool) -> None:
    path = tmp_path / "lock"
    path.write_text(json.dumps({"host": "db-7.example", "pid": 41, "since": 1.0}))
    os.utime(path, (time.time() - age,) * 2)
    lock = RecorderLock(path)
    if refused:
        with pytest.raises(RefusedError, match=r"process 41 on db-7\.example"):
            lock.take()
        assert json.loads(path.read_text())["pid"] == 41
    else:
        lock.take()
        lock.release()


def test_renewing_the_lock_updates_the_modification_time_of_the_lock_file(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = RecorderLock(path)
    lock.take()
    os.utime(path, (0, 0))
    lock.renew()
    assert time.time() - path.stat().st_mtime < STALE
    lock.release()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"host": 1}', "\0"])
def test_damaged_lock_file_does_not_prevent_a_recorder_from_taking_the_lock(tmp_path: Path, content: str) -> None:
    path = tmp_path / "lock"
    path.write_text(content)
    lock = RecorderLock(path)
    lock.take()
    assert lock.crashed_holder is None
    lock.release()


def test_error_says_to_remove_a_lock_file_that_is_a_symbolic_link(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link") as caught:
        RecorderLock(lock).take()
    assert lake_error_text(caught.value) == f"{lock}: the file is a symbolic link; remove it"
