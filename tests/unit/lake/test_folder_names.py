"""Tests of folder names with characters that are special in URIs or file patterns.

kgtui can use such a folder as a lake (a folder of Delta tables), or rejects it before anything is written.
"""

from __future__ import annotations

import os
from datetime import date
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from kgtui.cli import main
from kgtui.errors import LakeError
from kgtui.history import RecordingReader
from kgtui.lake import maintenance
from kgtui.lake.delta import load_deltalake
from kgtui.lake.folder import LakeFolder
from kgtui.lake.gold import Gold
from kgtui.lake.schemas import BRONZE, LAG
from kgtui.lake.tables import create_tables, recorded_cluster_id
from tests.unit.history.recording_builder import CLUSTER, START, RecordingBuilder
from tests.unit.history.test_recording_reader import poll_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

USABLE = ["my lake", "a#b", "a?b", "a%zz", "100%", "%2x", "a:b", "file:a", "c++ {x}*;&=$'\"`<>~@!,é漢"]
UNUSABLE = ["a%20b", "a%2fb", "%E4", "%%41", "[a", "a]", "a|b", "a^b", "a\\b", "a\tb", "a\x7fb", os.fsdecode(b"a\xffb")]


@pytest.fixture(autouse=True)
def _own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KGTUI_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path / "config"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def record(path: str) -> None:
    """Record three polls into a lake, each in files of its own, and compact the files of the first two polls."""
    recording = RecordingBuilder(path)
    for poll in range(3):
        recording.poll(poll_of(100 + poll), START + poll * 60_000, keyframe=poll == 2)
        recording.flush()
    recording.compact()


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("name", USABLE)
def test_lake_in_a_folder_with_an_unusual_name_is_readable_and_writable(
    tmp_path: Path, name: str, relative: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    given = f"./{name}/lake" if relative else str(tmp_path / "work" / name / "lake")
    record(given)
    gold = {"day": [date(2026, 11, 21)] * 2, "group": ["pay", "other"], "lag": [1, 2]}
    table = os.path.abspath(f"{given}/{LAG.title}")
    load_deltalake().write_deltalake(table, pa.table(gold), partition_by=["day"])
    create_tables(LakeFolder.of(given), BRONZE)

    read = RecordingReader(given)
    committed = [read.at(poll).positions("pay")["t", 0][1] for poll in read.polls()]
    assert committed == [100, 101, 102]
    assert recorded_cluster_id(given) == CLUSTER.cluster_id
    assert {row["group"]: row["lag"] for row in Gold(given).rows(LAG, ["group", "lag"])} == {"pay": 1, "other": 2}
    assert not [one.error for one in maintenance.status(given).tables if one.error]
    assert not [one.error for one in maintenance.optimize(given) if one.error]
    for words in (["ls"], ["show", "pay"]):
        assert main([*words, "--lake", given]) == 0
        assert "pay" in capsys.readouterr().out
    assert main(["lake", "status", given]) == 0
    assert not [one.error for one in maintenance.prune(given, maintenance.KeepRules(1)) if one.error]
    assert [entry.name for entry in (tmp_path / "work").iterdir()] == [name]


@pytest.mark.parametrize("link", [False, True])
@pytest.mark.parametrize("name", UNUSABLE)
def test_a_folder_that_deltalake_cannot_use_is_rejected_before_anything_is_written(
    tmp_path: Path, name: str, link: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """A symbolic link to such a folder is also rejected, because deltalake resolves the link."""
    folder = tmp_path / "work" / name
    folder.mkdir()
    if link:
        (tmp_path / "work" / "link").symlink_to(folder)
        folder = tmp_path / "work" / "link"
    lake = folder / "lake"
    with pytest.raises(LakeError, match=r"cannot be used as a lake, because .* contains .*\. Rename the folder"):
        LakeFolder.of(lake).prepare()
    pipeline = (["run"], ["demo"], ["submit", "--print", "--master=yarn"])
    for words in (["record", str(lake)], *(["pipeline", *more, f"--lake={lake}"] for more in pipeline)):
        assert main(words) == 2
        assert "cannot be used as a lake" in capsys.readouterr().err
    assert list(folder.iterdir()) == []

    lake.mkdir()
    (lake / "lake.json").write_text('{"format": "kgtui lake", "version": 1}')
    for read in (RecordingReader, Gold, maintenance.status):
        with pytest.raises(LakeError, match="cannot be used as a lake"):
            read(lake)
    for words in (["ls", "--lake"], ["replay"], ["lake", "status"], ["report", "-o", "report.html"]):
        assert main([*words, str(lake)]) == 2
        assert "cannot be used as a lake" in capsys.readouterr().err


def test_error_shows_the_invalid_part_of_a_lake_path_with_escape_sequences(tmp_path: Path) -> None:
    with pytest.raises(LakeError, match=r"because its path contains \\t\. Delta Lake"):
        LakeFolder(tmp_path / "a\tb").check_path()
    (tmp_path / "a%20b").mkdir()
    (tmp_path / "link").symlink_to("a%20b")
    with pytest.raises(
        LakeError, match=r"/link/x cannot .* because its full path, .*/a%20b/x, contains %20\. Delta Lake"
    ):
        LakeFolder(tmp_path / "link" / "x").check_path()


@pytest.mark.parametrize("call", [LakeFolder.check, LakeFolder.check_usable, LakeFolder.prepare])
def test_lake_path_that_the_operating_system_cannot_open_is_rejected_with_the_reason(
    tmp_path: Path, call: Callable[[LakeFolder], None]
) -> None:
    folder = LakeFolder(tmp_path / ("x" * 300))
    with pytest.raises(LakeError, match=r"cannot be read: .*File name too long"):
        call(folder)
