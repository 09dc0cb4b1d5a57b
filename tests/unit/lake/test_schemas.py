"""Tests that the table schemas are valid, and that kgtui checks a folder before it uses the folder as a lake.

A lake is a folder of Delta tables.
"""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from kgtui.errors import LakeError
from kgtui.history.recording_reader import RecordingReader
from kgtui.lake.arrow import arrow_schema
from kgtui.lake.folder import MARKER, LakeFolder
from kgtui.lake.schemas import BRONZE, GOLD, POLLS, SILVER, TABLES, VERSION


def test_lake_schemas_import_only_the_standard_library() -> None:
    code = (
        "import sys, kgtui.lake.schemas, kgtui.lake.folder\n"
        "print(*{'pyarrow', 'deltalake', 'msgspec', 'asyncio'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_recorded_tables_begin_with_the_columns_day_keyframe_and_poll(table: object) -> None:
    assert table.names[:3] == ("day", "keyframe", "poll")  # type: ignore[attr-defined]
    assert set(table.key) <= set(table.names)  # type: ignore[attr-defined]
    assert len(set(table.names)) == len(table.names)  # type: ignore[attr-defined]


def test_recorder_writes_the_table_polls_after_all_other_tables() -> None:
    """The recorder writes `polls` last. A row in `polls` means that the other tables have all rows of the poll."""
    assert TABLES[-1] is POLLS


def test_arrow_schemas_of_recorded_tables_match_the_table_definitions() -> None:
    for table in TABLES:
        schema = arrow_schema(table)
        assert schema.names == list(table.names)
        assert [field.nullable for field in schema] == [column.nullable for column in table.columns]
        assert str(schema.field("poll").type) == "int64"
        assert str(schema.field("day").type) == "date32[day]"


def test_names_of_pipeline_tables_are_unique_and_their_key_columns_exist() -> None:
    tables = [*BRONZE, *SILVER, *GOLD]
    assert len({(table.layer, table.name) for table in tables}) == len(tables)
    for table in tables:
        assert set(table.key) <= set(table.names)
        assert table.partition is None or table.partition in table.names
        assert arrow_schema(table).names == list(table.names)


def test_new_lake_folder_and_lake_json_are_accessible_only_to_the_owner(tmp_path: Path) -> None:
    """The folder has mode 0700. The file `lake.json`, which marks the folder as a lake, has mode 0600."""
    folder = LakeFolder.of(tmp_path / "deep" / "lake")
    folder.prepare()
    folder.check()
    assert stat.S_IMODE(folder.local_path.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder.local_path / MARKER).stat().st_mode) == 0o600


def test_lake_of_a_newer_kgtui_version_is_rejected_and_unchanged(tmp_path: Path) -> None:
    LakeFolder.of(tmp_path / "lake").prepare()
    marker = tmp_path / "lake" / MARKER
    newer = json.loads(marker.read_text()) | {"version": VERSION + 1}
    marker.write_text(json.dumps(newer))
    for refusing in (LakeFolder.of(tmp_path / "lake").prepare, lambda: RecordingReader(tmp_path / "lake")):
        with pytest.raises(LakeError, match=f"newer kgtui.*version {VERSION + 1}.*reads versions up to {VERSION}"):
            refusing()
    assert json.loads(marker.read_text()) == newer


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"format": "kgtui lake", "version": "1"}', b"\xff\x00"])
def test_folder_with_an_invalid_lake_json_is_not_a_lake(tmp_path: Path, content: bytes) -> None:
    (tmp_path / MARKER).write_bytes(content)
    with pytest.raises(LakeError, match=str(tmp_path)):
        LakeFolder.of(tmp_path).check()


def test_error_for_a_folder_that_is_not_a_lake_gives_the_reason(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    (tmp_path / "file").touch()
    with pytest.raises(LakeError, match="does not exist"):
        RecordingReader(tmp_path / "nowhere")
    with pytest.raises(LakeError, match="not a lake"):
        RecordingReader(tmp_path / "photos")
    with pytest.raises(LakeError, match="is a file"):
        RecordingReader(tmp_path / "file")
    with pytest.raises(LakeError, match="not empty and is not a lake"):
        LakeFolder.of(tmp_path / "photos").prepare()
    assert [path.name for path in (tmp_path / "photos").iterdir()] == ["cat.jpg"]


def test_lake_without_polls_cannot_be_opened_as_a_recording(tmp_path: Path) -> None:
    LakeFolder.of(tmp_path / "lake").prepare()
    with pytest.raises(LakeError, match="no recorded polls yet"):
        RecordingReader(tmp_path / "lake")


@pytest.mark.parametrize("uri", ["ftp://host/lake", "s3:/bucket", Path("s3://bucket")])
def test_lake_uri_with_a_wrong_scheme_or_without_a_bucket_is_rejected(uri: str | Path) -> None:
    with pytest.raises(LakeError, match=r"lakes can be local folders|names no bucket"):
        LakeFolder.of(uri)


def test_lake_path_with_an_unknown_home_folder_is_rejected() -> None:
    with pytest.raises(LakeError, match="the home folder of this user is not known"):
        LakeFolder.of("~no-such-user/lake")
