"""Tests of `kgtui insights`: output, filters and exit codes."""

from __future__ import annotations

import errno
import io
import json
from typing import TYPE_CHECKING

import pytest

from kgtui.cli import main
from kgtui.commands.insights import as_text
from kgtui.insights.apply_rules import read_insights
from kgtui.lake.folder import LakeFolder
from kgtui.lake.schemas.gold import HEALTH
from tests.unit.history.recording_builder import START, RecordingBuilder
from tests.unit.history.test_recording_reader import poll_of
from tests.unit.insights.gold_rows import HOUR, NOW, row, rows_with_problems, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return write(tmp_path / "lake", rows_with_problems())


def test_kgtui_insights_prints_the_most_urgent_finding_first(lake: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["insights", "--lake", str(lake)]) == 0
    out = capfd.readouterr().out
    first = out.splitlines()[:4]
    assert first[0] == "unhealthy (1)"
    assert first[1].startswith("  ERROR  pay  since 2026-11-21 ")
    assert first[1].endswith("(4 h)")
    assert first[2] == "    stopped committing on 2 partitions; 1,000 unread records"
    assert first[3].endswith("cannot be processed: kgtui show pay")
    (note,) = (line for line in out.splitlines() if line.startswith("  NOTE   perf.*  since 2026-11-18 "))
    assert " at the latest (" in note
    assert "next: ask the owner" in out
    assert "kgtui delete --group=perf.a --group=perf.b" in out
    assert out.splitlines()[-1].startswith("the data is from 2026-11-21 ")
    assert " ago; the tables were computed " in out.splitlines()[-1]


def test_kgtui_insights_prints_past_problems_only_if_requested(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    began = NOW - 6 * HOUR
    times = {"window_start": NOW - 3 * HOUR, "covered_to": NOW - 3 * HOUR}
    rows = [
        row(HEALTH, group="g", status="ERR", worst="STOP", bad_since=began, window_start=NOW - 4 * HOUR),
        row(HEALTH, group="g", status="OK", ended_since=began, **times),
        row(HEALTH, group="g", status="OK", window_start=NOW),
    ]
    lake = str(write(tmp_path / "lake", {HEALTH: rows}))
    assert main(["insights", "--lake", lake]) == 0
    assert capfd.readouterr().out.startswith("no findings\n")
    assert main(["insights", "--lake", lake, "--since", "5h"]) == 0
    title, first, what, ended, *_ = capfd.readouterr().out.splitlines()
    assert title == "past problems (1)"
    assert first.startswith("  PAST   g  from 2026-11-21 ")
    assert first.endswith("(3 h)")
    assert (what, ended) == ("    stopped committing for 3 h", "    ended: the group committed again")
    assert main(["insights", "--lake", lake, "--since", "1h"]) == 0
    assert capfd.readouterr().out.startswith("no findings, and no past problems since 2026-11-21 ")
    assert main(["insights", "--lake", lake, "--since", "5h", "--format", "json"]) == 0
    (finding,) = json.loads(capfd.readouterr().out)["findings"]
    assert (finding["since"], finding["until"]) == ("2026-11-21T10:00:00.000Z", "2026-11-21T13:00:00.000Z")


def test_kgtui_insights_wraps_sentences_but_not_commands_on_a_narrow_terminal(lake: Path) -> None:
    found = read_insights(lake)
    wide, narrow = (as_text(found, found.findings, NOW.timestamp(), width=width) for width in (None, 60))
    assert max(map(len, wide.splitlines())) > 80
    prose = [line for line in narrow.splitlines() if line.startswith("    ") and "kgtui " not in line]
    assert max(map(len, prose)) <= 60
    assert "\n        kgtui show pay\n" in narrow
    assert "        kgtui delete --group=perf.a --group=perf.b\n" in narrow
    assert " ".join(narrow.split()) == " ".join(wide.split())


def test_kgtui_insights_exits_with_1_if_stdout_is_on_a_full_disk(
    lake: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    class Full(io.StringIO):
        def write(self, _: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sys.stdout", Full())
    assert main(["insights", "--lake", str(lake)]) == 1
    assert capfd.readouterr().err == "kgtui: cannot write the output: No space left on device\n"


def test_kgtui_insights_can_print_the_evidence_for_findings(lake: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["insights", "pay", "--lake", str(lake), "--evidence"]) == 0
    out = capfd.readouterr().out
    assert "    TOPIC  PARTITION  STATUS  LAG  POSITION" in out
    assert "    t              1  STOP    700  –" in out


def test_kgtui_insights_json_lists_all_findings_and_all_gold_tables(
    lake: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["insights", "--lake", str(lake), "--format", "json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert (document["version"], document["as_of"]) == (1, "2026-11-21T16:00:00.000Z")
    first = document["findings"][0]
    assert (first["kind"], first["severity"], first["subject"]) == ("unhealthy", "error", "pay")
    assert first["since"] == "2026-11-21T12:00:00.000Z"
    assert first["evidence"]["rows"][0] == {
        "topic": "t", "partition": 1, "status": "STOP", "lag": 700, "position": None, "last_commit": None,
        "complete": None,
    }  # fmt: skip
    assert {one["table"] for one in document["tables"]} == {
        f"gold/{name}" for name in ("lag", "health", "churn", "cleanup", "forecast", "baseline")
    }


def test_kgtui_insights_reads_the_lake_path_from_the_environment_variable(
    lake: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["insights"]) == 2
    assert "--lake LAKE" in capfd.readouterr().err
    monkeypatch.setenv("KGTUI_LAKE", str(lake))
    assert main(["insights", "not:pay,fraud,fill,restless,calm,perf,tmp"]) == 0
    assert capfd.readouterr().out.startswith("no findings\n")


def test_kgtui_insights_filters_by_the_last_recorded_state_of_groups(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lake = tmp_path / "lake"
    made = RecordingBuilder(lake)
    made.poll(poll_of(groups=("pay",)), START)
    made.flush()
    write(lake, rows_with_problems())
    assert main(["insights", "state:Stable", "--lake", str(lake), "--format", "json"]) == 0
    assert {one["subject"] for one in json.loads(capfd.readouterr().out)["findings"]} == {"pay"}


def test_kgtui_insights_rejects_an_invalid_filter(lake: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["insights", "members:x", "--lake", str(lake)]) == 2
    assert "filter, at character" in capfd.readouterr().err


def test_kgtui_insights_escapes_control_characters_in_group_ids(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = [row(HEALTH, group="\x1b[2Jx\n", window_start=NOW, status="ERR", worst="STALL", affected=1, lag=1)]
    assert main(["insights", "--lake", str(write(tmp_path, {HEALTH: rows}))]) == 0
    out = capfd.readouterr().out
    assert "\x1b" not in out
    assert "\\x1b[2Jx\\n" in out


def test_kgtui_insights_reports_an_unreadable_table_and_exits_with_1(
    lake: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (lake / "gold/churn/_delta_log/00000000000000000000.json").write_text("{")
    assert main(["insights", "--lake", str(lake)]) == 1
    ran = capfd.readouterr()
    assert "cannot read gold/churn" in ran.err
    assert "unhealthy (1)" in ran.out
    assert main(["insights", "nobody", "--lake", str(lake)]) == 1
    assert capfd.readouterr().out.startswith("no findings; tables are missing, so kgtui could not look for: flapping\n")


def test_kgtui_insights_says_how_to_create_missing_gold_tables(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    LakeFolder.of(tmp_path).prepare()
    assert main(["insights", "--lake", str(tmp_path)]) == 2
    assert "kgtui pipeline run" in capfd.readouterr().err
