"""Tests of `kgtui report`: the output file, the time range of the plots, and rejected options."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from kgtui.cli import main
from kgtui.lake.folder import LakeFolder
from tests.unit.insights.gold_rows import rows_with_problems, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return write(tmp_path / "lake", rows_with_problems())


def test_report_is_written_to_a_file_with_mode_0600(
    lake: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report.html"
    out.write_text("an older one")
    assert main(["report", str(lake), "-o", str(out)]) == 0
    assert capfd.readouterr().err == f"kgtui: {out} was written with 7 findings\n"
    assert out.read_text().startswith("<!doctype html>")
    assert os.stat(out).st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir() if "report" in path.name] == ["report.html"]


def test_report_is_written_to_stdout_if_the_output_file_is_a_dash(
    lake: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(lake), "-o", "-"]) == 0
    assert capfd.readouterr().out.startswith("<!doctype html>")


def test_kgtui_report_writes_into_a_named_pipe_and_does_not_replace_it(lake: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    assert main(["report", str(lake), "-o", str(pipe)]) == 0
    reader.join()
    assert read[0].startswith(b"<!doctype html>")
    assert pipe.is_fifo()


def test_since_and_until_set_the_time_range_of_the_plots(lake: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    assert main(["report", str(lake), "-o", str(out), "--since", "2026-11-21T15:50Z", "--until", "5m"]) == 0
    assert "2026-11-21 15:50 to 2026-11-21 15:55 UTC" in out.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--since", "2026-11-22T00:00Z"], "earlier than --until"),
        (["--since", "yesterday"], "--since takes a time"),
        (["-o", "{0}/nowhere/report.html"], "cannot write"),
        (["-o", "{0}"], "cannot write"),
    ],
)
def test_kgtui_report_rejects_wrong_options(
    lake: Path, tmp_path: Path, words: list[str], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report.html"
    assert main(["report", str(lake), "-o", str(out), *[word.format(tmp_path) for word in words]]) == 2
    assert message in capfd.readouterr().err
    assert not out.exists()


def test_kgtui_report_rejects_a_lake_without_gold_tables(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    LakeFolder.of(tmp_path / "lake").prepare()
    assert main(["report", str(tmp_path / "lake"), "-o", str(tmp_path / "report.html")]) == 2
    assert "kgtui pipeline run" in capfd.readouterr().err
    assert not (tmp_path / "report.html").exists()


def test_kgtui_report_mentions_an_unreadable_table_and_exits_with_1(
    lake: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (lake / "gold/churn/_delta_log/00000000000000000000.json").write_text("{")
    out = tmp_path / "report.html"
    assert main(["report", str(lake), "-o", str(out)]) == 1
    assert "cannot read gold/churn" in capfd.readouterr().err
    assert "gold/churn: " in out.read_text()
