"""`kgtui pipeline demo` up to the pipeline: the history that is made, and what is refused."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.commands import pipeline_demo
from kgtui.errors import UsageError
from kgtui.history import Lake
from tests.unit.insights.gold_rows import incidents, write

if TYPE_CHECKING:
    from pathlib import Path


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    pipeline_demo.configure(parser)
    return parser.parse_args(words)


def test_a_history_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lake = tmp_path / "demo"
    words = [f"--lake={lake}", "--days=0.05", "--every=10m", "--until=2026-11-21T10:07Z", "--history-only"]
    assert pipeline_demo.run(parsed(*words)) == 0
    assert "recorded 0.05 days with 8 polls" in capfd.readouterr().err
    last = Lake(lake).last.at
    assert last == pytest.approx(1_795_255_200.0, abs=600)


def test_the_pipeline_runs_on_it_and_findings_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    lake = tmp_path / "demo"
    asked: list[list[str]] = []

    def record(path: str, _days: Any) -> None:
        assert path == str(lake)

    def parse(words: list[str]) -> list[str]:
        asked.append(words)
        return words

    def run(_words: list[str]) -> int:
        write(lake, incidents())
        return 0

    monkeypatch.setattr(pipeline_demo, "_record", record)
    monkeypatch.setattr("kgtui.commands.parser.parse_args", parse)
    monkeypatch.setattr("kgtui.commands.parser.run_command", run)
    assert pipeline_demo.run(parsed(f"--lake={lake}", "--master=local[2]")) == 0
    assert asked == [["pipeline", "run", f"--lake={lake}", "--master=local[2]"]]
    ran = capfd.readouterr()
    assert ran.out.startswith("unhealthy (1)\n")
    assert f"kgtui report {lake} -o report.html" in ran.err


def test_a_pipeline_that_fails_is_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline_demo, "_record", lambda *_: None)
    monkeypatch.setattr(pipeline_demo, "_run_pipeline", lambda *_: 3)
    assert pipeline_demo.run(parsed(f"--lake={tmp_path}/demo")) == 3


def test_nothing_is_left_of_a_history_that_was_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(lake: str, _days: Any) -> None:
        assert [str(path) for path in tmp_path.iterdir()] == [lake]
        raise KeyboardInterrupt

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(pipeline_demo, "_record", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pipeline_demo.run(parsed())
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    "words", [["--days=0"], ["--days=99"], ["--every=1s"], ["--every=x"], ["--until=soon"], ["--lake={0}"]]
)
def test_what_makes_no_sense_is_refused(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "something").touch()
    with pytest.raises(UsageError):
        pipeline_demo.run(parsed(*[word.format(tmp_path) for word in words]))
