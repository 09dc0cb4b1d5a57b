"""Tests of what `kgtui pipeline` checks before it starts Spark: options, the lake, and `__consumer_offsets`.

A lake is a folder of Delta tables.
"""

from __future__ import annotations

import shutil
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from kgtui import cli
from kgtui.client.lookups import Leaders
from kgtui.commands.pipeline import read_bounds
from kgtui.errors import CRASHED, SourceError
from kgtui.lake.folder import MARKER, LakeFolder
from kgtui.lake.schemas import BRONZE, SILVER
from kgtui.model.answer import Answer, Coverage, Fault
from kgtui.model.offsets import PartitionBounds
from kgtui.pipeline import session
from kgtui.pipeline.sources import TOPIC, OffsetsTopic

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def start(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(session, "start", start)
    monkeypatch.setenv("KGTUI_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path / "config"))


def error_of(capsys: pytest.CaptureFixture[str], code: int, *args: object) -> str:
    """Run `kgtui pipeline` with `args`, check that the exit code is `code`, and return the text on stderr."""
    assert cli.main(["pipeline", *map(str, args)]) == code
    out, err = capsys.readouterr()
    assert out == ""
    return err


@pytest.mark.parametrize("what", ["run", "watch"])
def test_pipeline_rejects_a_folder_that_has_files_but_is_no_lake(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, what: str
) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    assert "is not empty and is not a lake" in error_of(capsys, 2, what, "--lake", tmp_path / "photos")


def test_pipeline_rejects_a_lake_with_a_newer_format_version(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / MARKER).write_text('{"format": "kgtui lake", "version": 99}')
    assert "newer kgtui: its tables have version 99" in error_of(capsys, 2, "run", "--lake", tmp_path)


def test_pipeline_reports_an_unreachable_cluster_and_creates_no_lake(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    args = ("run", "--lake", tmp_path / "lake", "--bootstrap-server", "127.0.0.1:1", "--timeout", "5")
    assert "127.0.0.1:1" in error_of(capsys, 3, *args)
    assert not (tmp_path / "lake").exists()


def test_pipeline_run_without_a_cluster_rejects_a_nonexistent_lake(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Without a cluster, all data must already be in the lake (a folder of Delta tables).

    If the user misspells the path of the lake, kgtui must not create a new lake there.
    """
    message = error_of(capsys, 2, "run", "--lake", tmp_path / "lake")
    assert "nothing to work on" in message
    assert "--bootstrap-server" in message
    assert not (tmp_path / "lake").exists()


def test_pipeline_rejects_a_records_folder_that_does_not_exist(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    message = error_of(capsys, 1, "run", "--lake", tmp_path / "lake", "--records", tmp_path / "nowhere")
    assert "nowhere does not exist" in message
    assert not (tmp_path / "lake").exists()


def test_pipeline_creates_bronze_and_silver_tables_before_it_starts_spark(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lake, records = tmp_path / "lake", tmp_path / "records"
    records.mkdir()
    assert "Spark was started" in error_of(capsys, CRASHED, "run", "--lake", lake, "--records", records)
    made = {path.parent.name for path in lake.glob("*/*/_delta_log")}
    assert made == {table.name for table in (*BRONZE, *SILVER)}
    assert all(path.stat().st_mode & 0o077 == 0 for path in lake.rglob("*"))
    shutil.rmtree(lake / "silver")
    assert "Spark was started" in error_of(capsys, CRASHED, "run", "--lake", lake)
    assert {path.name for path in (lake / "silver").iterdir()} == {table.name for table in SILVER}


@pytest.mark.parametrize("make", ["file", "below a file"])
def test_pipeline_rejects_a_lake_path_that_cannot_be_a_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, make: str
) -> None:
    (tmp_path / "file").touch()
    lake = tmp_path / "file" if make == "file" else tmp_path / "file" / "lake"
    message = error_of(capsys, 2, "watch", "--lake", lake)
    assert "is a file, but a lake is a folder" in message or "cannot be written: Not a directory" in message


def test_pipeline_reports_a_lake_that_cannot_be_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    assert "cannot be written: Permission denied" in error_of(capsys, 2, "watch", "--lake", tmp_path / "lake")


def test_pipeline_rejects_a_lake_with_data_of_a_different_cluster(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The tables of a lake have no column for the cluster, so kgtui could not tell the rows of two clusters apart."""

    async def found(_: object) -> OffsetsTopic:
        return OffsetsTopic(("127.0.0.1:1",), {0: (0, 7)}, cluster_id="staging")

    lake = LakeFolder.of(tmp_path / "lake")
    lake.prepare()
    lake.claim(None)
    lake.claim("prod")
    lake.claim("prod")
    monkeypatch.setattr("kgtui.commands.pipeline.read_offsets_topic", found)
    message = error_of(capsys, 2, "run", "--lake", lake.path, "--bootstrap-server", "127.0.0.1:1")
    assert "holds the recording of cluster prod, but this is cluster staging. A lake holds one cluster" in message


def test_pipeline_rejects_a_lake_with_records_of_a_deleted_offsets_topic(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The offsets in a new topic `__consumer_offsets` start at 0 again.

    A lake with records of the old and the new topic would have different records with the same partition and offset.
    """

    async def found(_: object) -> OffsetsTopic:
        return OffsetsTopic(("127.0.0.1:1",), {0: (0, 7)}, cluster_id="prod", topic_id="new")

    lake = LakeFolder.of(tmp_path / "lake")
    lake.prepare()
    lake.claim("prod")
    for topic_id in (None, "old", "old", None):
        lake.claim_topic(topic_id)
    lake.claim("prod")
    monkeypatch.setattr("kgtui.commands.pipeline.read_offsets_topic", found)
    message = error_of(capsys, 2, "run", "--lake", lake.path, "--bootstrap-server", "127.0.0.1:1")
    assert "with the id old, and the topic of this cluster has the id new. The topic was deleted and created" in message
    assert "Use another folder for the new topic" in message


def test_pipeline_commands_reject_invalid_options(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "--lake" in error_of(capsys, 2, "run")
    lake = ("--lake", tmp_path / "lake")
    assert "not allowed with" in error_of(capsys, 2, "run", *lake, "--master", "local", "--remote", "sc://a")
    assert "--since takes" in error_of(capsys, 2, "run", *lake, "--since", "soon")
    assert "--every takes" in error_of(capsys, 2, "watch", *lake, "--every", "0")


class FakeAdmin:
    """A fake admin client for a cluster that has only the topic `__consumer_offsets`.

    Args:
        leaders: return value of `pool.find_leaders`.
        bounds: log start offset and log end offset of each partition.
        faults: errors that `partition_bounds` returns.
    """

    def __init__(self, leaders: Leaders, bounds: Mapping[int, PartitionBounds], *faults: Fault) -> None:
        self._leaders = leaders
        self._bounds = bounds
        self._faults = faults
        self.pool = SimpleNamespace(find_leaders=self._find)

    async def _find(self, topics: list[str], *, timeout: float) -> Leaders:
        assert topics == [TOPIC]
        assert timeout > 0
        return self._leaders

    async def partition_bounds(self, partitions: list[tuple[str, int]], *, timeout: float) -> Answer[Any]:
        assert timeout > 0
        rows = {(topic, number): self._bounds[number] for topic, number in partitions if number in self._bounds}
        return Answer(rows, self._faults, Coverage())


async def test_read_bounds_returns_log_start_and_end_offsets_of_the_offsets_topic() -> None:
    leaders = Leaders({(TOPIC, 1): 5, (TOPIC, 0): 6})
    admin: Any = FakeAdmin(leaders, {0: PartitionBounds(0, 7), 1: PartitionBounds(2, 2)})
    assert await read_bounds(admin, 5) == {0: (0, 7), 1: (2, 2)}


@pytest.mark.parametrize(
    ("leaders", "message"),
    [
        (Leaders(), "has no topic __consumer_offsets yet"),
        (Leaders(errors={TOPIC: 3}), "has no topic __consumer_offsets yet"),
        (Leaders(errors={TOPIC: 29}), "not permitted to read __consumer_offsets: the user needs Read and Describe"),
        (Leaders({(TOPIC, 0): 1}, {(TOPIC, 4): 5}), "partition 4 cannot be read: LEADER_NOT_AVAILABLE"),
    ],
)
async def test_missing_or_unreadable_offsets_topic_raises_source_error(leaders: Leaders, message: str) -> None:
    admin: Any = FakeAdmin(leaders, {0: PartitionBounds(0, 7)})
    with pytest.raises(SourceError, match=message):
        await read_bounds(admin, 5)


async def test_unknown_log_start_and_end_of_a_partition_raise_source_error() -> None:
    leaders = Leaders({(TOPIC, 0): 1, (TOPIC, 1): 2})
    silent: Any = FakeAdmin(leaders, {0: PartitionBounds(0, 7)}, Fault("NO_ANSWER", "broker 2 gave no answer"))
    with pytest.raises(SourceError, match="partition 1 cannot be read: broker 2 gave no answer"):
        await read_bounds(silent, 5)
    refused: Any = FakeAdmin(leaders, {0: PartitionBounds(0, 7), 1: PartitionBounds(None, None, 29)})
    with pytest.raises(SourceError, match="not permitted"):
        await read_bounds(refused, 5)
