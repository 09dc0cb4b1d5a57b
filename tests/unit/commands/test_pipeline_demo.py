"""Tests of `kgtui pipeline demo`: the simulated history, the steps of the command, and rejected options."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.commands import pipeline_demo
from kgtui.commands.pipeline_demo import DemoHistory, newest_poll_time, record_history
from kgtui.errors import UsageError
from kgtui.history import RecordingReader
from tests.unit.insights.gold_rows import rows_with_problems, write

if TYPE_CHECKING:
    from pathlib import Path

END = 20_003 * 86_400.0
"""End of the simulated history, in seconds since the Unix epoch: 2024-10-07 00:00 UTC."""

HISTORY = DemoHistory(days=0.25, interval=600.0, until=END, seed=4)


def record(path: Path) -> RecordingReader:
    """Record the simulated `HISTORY` into a new lake (a folder of Delta tables), and check the number of polls.

    Return a reader of the lake.
    """
    progress: list[int] = []
    status = asyncio.run(record_history(str(path), HISTORY, progress.append))
    assert status.polls == HISTORY.polls == 37
    assert status.waiting == 0
    assert progress == list(range(1, 38))
    return RecordingReader(path)


def test_two_simulated_histories_with_the_same_seed_are_equal(tmp_path: Path) -> None:
    first, second = record(tmp_path / "a"), record(tmp_path / "b")
    polls = first.polls()
    assert [poll.at for poll in polls] == [END - 21_600 + 600 * number for number in range(37)]
    assert [poll.gap for poll in polls] == ["the recording begins"] + [""] * 36
    assert polls == second.polls()
    for poll in (polls[0], polls[17], polls[-1]):
        one, other = first.at(poll), second.at(poll)
        assert one.listings == other.listings
        assert len(one.listings) > 30
        assert all(one.positions(group) == other.positions(group) for group in one.listings)
        assert all(one.members(group) == other.members(group) for group in one.listings)
    last = first.at(polls[-1])
    assert (last.lag("payments.settle").lag or 0) > 100_000 > (last.lag("payments.ledger").lag or 0)


def test_newest_simulated_poll_time_is_a_multiple_of_the_poll_interval() -> None:
    assert newest_poll_time(300.0, 1_000.0) == 900.0


def parsed(*options: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    pipeline_demo.configure(parser)
    return parser.parse_args(options)


def test_pipeline_demo_with_history_only_records_without_running_spark(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lake = tmp_path / "demo"
    options = [f"--lake={lake}", "--days=0.05", "--every=10m", "--until=2026-11-21T10:07Z", "--history-only"]
    assert pipeline_demo.run(parsed(*options)) == 0
    assert "recorded 0.05 days with 8 polls" in capfd.readouterr().err
    last = RecordingReader(lake).last.at
    assert last == pytest.approx(1_795_255_200.0, abs=600)


def test_pipeline_demo_runs_the_pipeline_and_prints_its_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    lake = tmp_path / "demo"
    commands: list[list[str]] = []

    def skip_recording(path: str, _history: Any) -> None:
        assert path == str(lake)

    def parse(command: list[str]) -> list[str]:
        commands.append(command)
        return command

    def write_gold_tables(_command: list[str]) -> int:
        write(lake, rows_with_problems())
        return 0

    monkeypatch.setattr(pipeline_demo, "_record", skip_recording)
    monkeypatch.setattr("kgtui.commands.parser.parse_args", parse)
    monkeypatch.setattr("kgtui.commands.parser.run_command", write_gold_tables)
    assert pipeline_demo.run(parsed(f"--lake={lake}", "--master=local[2]")) == 0
    assert commands == [["pipeline", "run", f"--lake={lake}", "--master=local[2]"]]
    output = capfd.readouterr()
    assert output.out.startswith("unhealthy (1)\n")
    assert f"kgtui report {lake} -o report.html" in output.err


def test_pipeline_demo_returns_the_exit_code_of_a_failed_pipeline_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline_demo, "_record", lambda *_: None)
    monkeypatch.setattr(pipeline_demo, "_run_pipeline", lambda *_: 3)
    assert pipeline_demo.run(parsed(f"--lake={tmp_path}/demo")) == 3


def test_pipeline_demo_removes_its_temporary_folder_on_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(lake: str, _history: Any) -> None:
        assert [str(path) for path in tmp_path.iterdir()] == [lake]
        raise KeyboardInterrupt

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(pipeline_demo, "_record", interrupt)
    with pytest.raises(KeyboardInterrupt):
        pipeline_demo.run(parsed())
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    "options", [["--days=0"], ["--days=99"], ["--every=1s"], ["--every=x"], ["--until=soon"], ["--lake={0}"]]
)
def test_pipeline_demo_rejects_invalid_options(options: list[str], tmp_path: Path) -> None:
    (tmp_path / "something").touch()
    with pytest.raises(UsageError):
        pipeline_demo.run(parsed(*[option.format(tmp_path) for option in options]))
