"""Tests of killed recorders: the recording contains only complete polls, and the next recorder reports the crash.

A killed recorder loses only the polls that it has not yet flushed (written to disk).
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgtui.history import RecordingReader
from kgtui.simulator import Options, SimulatorProcess, spawn
from tests.unit.history.killed import FLUSH
from tests.unit.history.test_recorder import check_polls

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def cluster() -> Iterator[SimulatorProcess]:
    process = spawn(Options(groups=120, brokers=2, seed=5))
    yield process
    process.stop()


def record(cluster: SimulatorProcess, lake: Path) -> subprocess.Popen[str]:
    """Start a process that runs `tests.unit.history.killed`, which records the cluster until it is killed."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.unit.history.killed", cluster.bootstrap, str(lake)],
        stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip


def wait_for_polls(lake: Path, more_than: int, process: subprocess.Popen[str]) -> int:
    """Wait until the recording in the folder `lake` has more than `more_than` polls. Return the number of polls.

    Raise AssertionError if the recorder `process` ends earlier, or after 60 s.
    """
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end:
        found = polls_in(lake)
        if found > more_than:
            return found
        time.sleep(0.05)
    raise AssertionError(f"no new poll was written; exit code of the recorder: {process.poll()}")


def polls_in(lake: Path) -> int:
    """Return the number of polls in the recording in the folder `lake`; 0 while it cannot be opened yet."""
    try:
        return len(RecordingReader(lake).polls())
    except Exception:  # noqa: BLE001 - the lake is still being created
        return 0


def kill_again_and_again(cluster: SimulatorProcess, lake: Path, times: int, seed: int) -> None:
    """Start a recorder, kill it at a random time, and check the recording. Do this `times` times with the same folder.

    `seed` is the seed of the random times.
    """
    rng, polls = random.Random(seed), 0
    for run in range(times):
        process = record(cluster, lake)
        try:
            began = time.monotonic()
            wait_for_polls(lake, polls, process)
            start_time = time.monotonic() - began
            time.sleep(rng.uniform(0.0, 1.6))
        finally:
            process.kill()
        killed = time.time()
        messages = process.communicate()[0]
        assert run == 0 or "crashed" in messages
        found = RecordingReader(lake)
        check_polls(lake)
        # Only the polls since the last flush are lost, and there is a flush every `FLUSH` seconds. Making and writing
        # a poll takes additional time, but less than `start_time`, which also includes the start of the recorder.
        assert killed - found.last.at < FLUSH + start_time
        for poll in (found.first, found.last, rng.choice(found.polls())):
            assert len(found.at(poll).listings) >= 100
        gaps = [poll.gap for poll in found.polls() if poll.gap]
        assert gaps == ["the recording begins"] + ["recorder killed"] * run
        assert len(found.polls()) > polls
        polls = len(found.polls())


def test_lake_has_only_complete_polls_after_a_recorder_was_killed(cluster: SimulatorProcess, tmp_path: Path) -> None:
    kill_again_and_again(cluster, tmp_path / "lake", 3, seed=1)


@pytest.mark.full
def test_lake_has_only_complete_polls_after_many_recorders_were_killed(
    cluster: SimulatorProcess, tmp_path: Path
) -> None:
    kill_again_and_again(cluster, tmp_path / "lake", 25, seed=2)
