"""Tests of `kgtui lake`: output, exit codes and rejected options."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from kgtui.cli import main
from kgtui.commands.lake import parse_keep
from kgtui.errors import UsageError
from kgtui.lake.delta import load_deltalake
from kgtui.lake.maintenance import KeepRules
from kgtui.model.number_format import in_bytes, short
from tests.unit.history.recording_builder import START, RecordingBuilder
from tests.unit.history.test_recording_reader import poll_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Return the path of a lake (a folder of Delta tables) with one recorded poll of a cluster."""
    recording = RecordingBuilder(tmp_path / "lake")
    recording.poll(poll_of(), START)
    recording.flush()
    return tmp_path / "lake"


def test_kgtui_lake_status_prints_one_row_for_each_delta_table(lake: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["lake", "status", str(lake)]) == 0
    out = capfd.readouterr().out
    header, groups = out.splitlines()[:2]
    assert header.split() == ["TABLE", "ROWS", "FILES", "SIZE", "ON", "DISK", "DAYS", "VERSION", "WRITTEN"]
    assert re.match(r"recorded/faults +0 +0 +0 B", groups)
    assert re.search(r"recorded/polls +1 +1 .* 2026-11-21 … 2026-11-21 +1 +\d+ s ago\n", out)
    assert re.search(r"lake: \d[\d.]* kB on disk\n$", out)


@pytest.mark.parametrize(
    ("width", "titles"),
    [
        (200, ["TABLE", "ROWS", "FILES", "SIZE", "ON", "DISK", "DAYS", "VERSION", "WRITTEN"]),
        (80, ["TABLE", "ROWS", "SIZE", "ON", "DISK", "DAYS", "WRITTEN"]),
        (20, ["TABLE", "ROWS", "DAYS", "WRITTEN"]),
    ],
)
def test_kgtui_lake_status_omits_columns_on_a_narrow_terminal(
    lake: Path, width: int, titles: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("kgtui.commands.lake.terminal_width", lambda: width)
    assert main(["lake", "status", str(lake)]) == 0
    header, groups = capfd.readouterr().out.splitlines()[:2]
    assert header.split() == titles
    assert len(groups) < max(width, 70)


def test_kgtui_lake_status_can_print_one_json_document(lake: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["lake", "status", str(lake), "--format", "json"]) == 0
    status = json.loads(capfd.readouterr().out)
    assert status["version"] == 1
    polls = next(table for table in status["tables"] if table["table"] == "polls")
    assert (polls["layer"], polls["rows"], polls["first_day"]) == ("recorded", 1, "2026-11-21")
    assert status["recorder"] is None


def test_kgtui_lake_status_reports_a_table_that_cannot_be_read(lake: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (lake / "gold/lag/_delta_log").mkdir(parents=True)
    assert main(["lake", "status", str(lake)]) == 1
    output = capfd.readouterr()
    assert "kgtui: gold/lag cannot be read: " in output.err
    assert re.search(r"gold/lag +\? +\? +\?", output.out)


def test_kgtui_lake_optimize_prints_how_many_files_it_compacted(lake: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        load_deltalake().write_deltalake(str(lake / "gold/lag"), pa.table({"lag": [1]}), mode="append")
    assert main(["lake", "optimize", str(lake)]) == 0
    assert "gold/lag: compacted 2 files into 1" in capfd.readouterr().out


def test_a_dry_run_of_kgtui_lake_prune_counts_the_rows_to_delete(lake: Path, capfd: pytest.CaptureFixture[str]) -> None:
    main(["lake", "prune", str(lake), "--keep", "recorded=1d", "--dry-run"])
    dry_run = capfd.readouterr().out
    main(["lake", "prune", str(lake), "--keep", "all"])
    assert capfd.readouterr().out == ""
    assert "no rows before" in dry_run or "1 rows before" in dry_run


@pytest.mark.parametrize("args", [["status", "{0}/nothing"], ["prune", "{0}"], ["prune", "{0}", "--keep", "5m"], []])
def test_lake_commands_reject_invalid_arguments(
    args: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["lake", *[arg.format(tmp_path) for arg in args]]) == 2
    assert capfd.readouterr().err.startswith("kgtui: ")


def test_kgtui_lake_prune_accepts_keep_rules_for_tables_and_layers() -> None:
    """`--keep` says how long rows are kept: `gold=365d` for a layer, `gold/lag=all` for a table, `30d` for the rest."""
    assert parse_keep(["30d", "gold=365d", "/gold/lag/=all"]) == KeepRules(30, (("gold", 365), ("gold/lag", None)))
    assert parse_keep(["36h"]) == KeepRules(1)
    with pytest.raises(UsageError, match="at least one day"):
        parse_keep(["gold=1h"])


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (38_400, "38 kB"), (999_700, "1.0 MB"), (4 * 10**15, "4000 TB")],
)
def test_kgtui_lake_status_prints_sizes_in_multiples_of_1000_bytes(count: int, text: str) -> None:
    assert in_bytes(count) == text


@pytest.mark.parametrize(
    ("amount", "text"), [(0, "0"), (0.25, "0.2"), (950, "950"), (18_240, "18.2k"), (-2e6, "-2.0M")]
)
def test_large_numbers_in_reports_are_abbreviated_with_k_or_m(amount: float, text: str) -> None:
    assert short(amount) == text
