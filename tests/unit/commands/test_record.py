"""Tests of `kgtui record` and `kgtui replay`, and of `kgtui ls` and `kgtui show` with a recording.

The module also tests the exit codes, and that a recorder writes all its polls when a signal stops it.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from kgtui import cli
from kgtui.commands.time_options import parse_duration, parse_time
from kgtui.errors import LakeError, UsageError
from kgtui.history import RecordingReader
from kgtui.lake import delta
from kgtui.monitor import Monitor
from kgtui.simulator import Options, SimulatorProcess, spawn
from tests.unit.history.recording_builder import START
from tests.unit.history.test_recording_reader import poll_of, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def cluster() -> Iterator[SimulatorProcess]:
    process = spawn(Options(groups=40, brokers=2, seed=9))
    yield process
    process.stop()


@pytest.fixture(autouse=True)
def _own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KGTUI_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path / "config"))


def recorder(cluster: SimulatorProcess, lake: Path, *more: str) -> subprocess.Popen[str]:
    """Start a process in which `kgtui record` polls the cluster every 0.5 s. `more` contains other options."""
    words = ["record", str(lake), "--bootstrap-server", cluster.bootstrap, "--interval", "0.5", *more]
    return subprocess.Popen(
        [sys.executable, "-m", "kgtui", *words], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def wait_for(lake: Path, polls: int) -> None:
    """Wait at most 60 s until the recording in `lake` has at least `polls` polls."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            if len(RecordingReader(lake).polls()) >= polls:
                return
        except LakeError:
            pass
        time.sleep(0.05)
    raise AssertionError("nothing was recorded")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_recorder_writes_all_polls_before_it_exits(
    cluster: SimulatorProcess, tmp_path: Path, number: signal.Signals
) -> None:
    """A signal (SIGTERM or SIGINT) stops the first recorder. The second recorder stops after 10 s.

    Because of `--flush 1h`, the second recorder writes all its polls only when it exits.
    """
    lake = tmp_path / "lake"
    with recorder(cluster, lake, "--flush", "0.5") as first:
        wait_for(lake, 1)
        first.send_signal(number)
        assert first.communicate(timeout=60)[0] == ""
    assert first.returncode == 0
    before = len(RecordingReader(lake).polls())
    with recorder(cluster, lake, "--flush", "1h", "--for", "10s") as second:
        _, stderr = second.communicate(timeout=60)
    assert second.returncode == 0
    assert "crashed" not in stderr
    found = RecordingReader(lake)
    assert len(found.polls()) > before
    assert [moment.gap for moment in found.polls() if moment.gap] == ["the recording begins", "recorder stopped"]


def test_recorder_reports_that_another_recorder_runs_or_was_killed(cluster: SimulatorProcess, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    with recorder(cluster, lake, "--flush", "0.5") as first:
        wait_for(lake, 1)
        with recorder(cluster, lake) as second:
            _, stderr = second.communicate(timeout=60)
        assert second.returncode == 4
        assert f"process {first.pid} on" in stderr
        first.kill()
        first.communicate()
    with recorder(cluster, lake, "--for", "1s") as third:
        _, stderr = third.communicate(timeout=60)
    assert third.returncode == 0
    assert f"the previous recorder (process {first.pid} on" in stderr
    assert "are lost" in stderr


def test_kgtui_record_of_an_unreachable_cluster_creates_no_lake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = tmp_path / "lake"
    assert cli.main(["record", str(lake), "--bootstrap-server", "127.0.0.1:1"]) == 3
    assert "127.0.0.1:1" in capsys.readouterr().err
    assert not lake.exists()


@pytest.mark.parametrize("command", ["record", "replay"])
def test_kgtui_record_and_replay_reject_a_folder_that_is_not_a_lake(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").touch()
    assert cli.main([command, str(tmp_path)]) == 2
    assert "lake.json" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--interval", "0"], ["--flush", "soon"], ["--for", "1s+"], ["--keep", "..3d"]])
def test_kgtui_record_with_an_invalid_duration_exits_with_2(
    tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["record", str(tmp_path / "lake"), *words]) == 2
    assert words[0] in capsys.readouterr().err


def test_kgtui_record_and_replay_say_that_deltalake_must_be_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    for command in ("record", "replay"):
        assert cli.main([command, str(tmp_path / "lake")]) == 2
        assert "pip install 'kgtui[history]'" in capsys.readouterr().err
    with pytest.raises(LakeError, match="history"):
        delta.load_deltalake()


def test_kgtui_ls_and_show_read_a_recording_at_a_point_in_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "lake", poll_of(100), poll_of(120, groups=("pay", "new")))
    lake = ["--lake", str(tmp_path / "lake")]

    def listed(*more: str) -> dict[str, object]:
        assert cli.main(["ls", *lake, "--lag", "--format", "json", *more]) == 0
        found: dict[str, object] = json.loads(capsys.readouterr().out)
        return found

    now, then = listed(), listed("--at", datetime.fromtimestamp(START / 1000, UTC).isoformat())
    assert [(row["group"], row["lag"]) for row in now["groups"]] == [("new", 30), ("pay", 30)]  # type: ignore[attr-defined]
    assert [(row["group"], row["lag"]) for row in then["groups"]] == [("pay", 50)]  # type: ignore[attr-defined]
    assert str(then["taken_at"]).startswith("2026-11-21T08:33:20")
    assert cli.main(["show", *lake, "--at", "10s", "pay"]) == 0
    assert "m-1" in capsys.readouterr().out
    assert cli.main(["show", *lake, "--at", "10s", "new"]) == 1
    assert "not found" in capsys.readouterr().err
    assert cli.main(["ls", *lake, "--cluster", "prod"]) == 0
    assert "--cluster is not used, because --lake names a recording" in capsys.readouterr().err
    assert cli.main(["ls", *lake, "--at", "1d"]) == 2
    assert "the recording starts at 2026-11-21T08:33:20" in capsys.readouterr().err
    assert cli.main(["ls", "--at", "1d"]) == 2
    assert "--lake" in capsys.readouterr().err


def test_kgtui_replay_is_rejected_without_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "lake", poll_of())
    assert cli.main(["replay", str(tmp_path / "lake")]) == 2
    assert "kgtui ls --lake" in capsys.readouterr().err


def test_durations_are_parsed_to_seconds_and_invalid_durations_are_rejected() -> None:
    assert [parse_duration("--for", text) for text in ("10", "10s", "2m", "1.5h", "1d")] == [10, 10, 120, 5400, 86400]
    for text in ("", "0", "-3", "1s+", "unknown", "1 hour"):
        with pytest.raises(UsageError, match="--for"):
            parse_duration("--for", text)


@pytest.fixture
def berlin() -> Iterator[None]:
    """Set the time zone of the process to that of Berlin."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Europe/Berlin")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("berlin")
def test_point_in_time_can_be_absolute_or_a_duration_before_the_last_poll() -> None:
    last = datetime(2026, 11, 21, 10, 30, tzinfo=UTC).timestamp()

    def found(text: str) -> str:
        return datetime.fromtimestamp(parse_time("--at", text, last), UTC).isoformat()

    assert found("2026-11-21T10:04:23Z") == "2026-11-21T10:04:23+00:00"
    assert found("2026-11-21 10:04") == "2026-11-21T09:04:00+00:00"
    assert found("10:04") == "2026-11-21T09:04:00+00:00"
    assert found("23:00") == "2026-11-20T22:00:00+00:00"
    assert found("23:59+00:00") == "2026-11-20T23:59:00+00:00"
    assert found("00:10+14:00") == "2026-11-21T10:10:00+00:00"
    assert found("15m") == "2026-11-21T10:15:00+00:00"
    for text in ("", "yesterday", "25:00", "2026-13-01", "1m..2m"):
        with pytest.raises(UsageError, match="--at takes a time such as"):
            parse_time("--at", text, last)


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    ("last", "typed", "expected"),
    [
        ("2026-10-25T09:00+01:00", "10:04", "2026-10-24T10:04+02:00"),
        ("2026-03-29T09:00+02:00", "10:04", "2026-03-28T10:04+01:00"),
        ("2026-10-25T02:45+01:00", "02:30", "2026-10-25T02:30+01:00"),
        ("2026-10-25T02:15+01:00", "02:30", "2026-10-25T02:30+02:00"),
    ],
)
def test_a_time_of_day_means_its_last_occurrence_even_if_clocks_change(last: str, typed: str, expected: str) -> None:
    """If the user types only a time of day, kgtui uses its last occurrence before `last`.

    `last` is the time of the last recorded poll. In Berlin, the hour from 2:00 to 3:00 occurs twice on 2026-10-25, and
    does not occur on 2026-03-29.
    """
    found = parse_time("--at", typed, datetime.fromisoformat(last).timestamp())
    assert found == datetime.fromisoformat(expected).timestamp()


def test_a_time_before_the_year_1_in_utc_is_rejected() -> None:
    with pytest.raises(UsageError, match="--at takes a time such as"):
        parse_time("--at", "0001-01-01T00:00+14:00", 0.0)


def test_recorder_exits_with_70_if_the_monitor_crashes(
    cluster: SimulatorProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A recorder gets the groups from a monitor, which polls the cluster.

    If the recorder ignored the crash of the monitor, it would record no groups, and still exit with 0.
    """

    async def fail(self: Monitor) -> None:
        raise ZeroDivisionError("for this test")

    monkeypatch.setattr(Monitor, "run", fail)
    words = ["record", str(tmp_path / "lake"), "--bootstrap-server", cluster.bootstrap, "--for", "30s"]
    assert cli.main(words) == 70
    assert "internal error: ZeroDivisionError: for this test" in capsys.readouterr().err
