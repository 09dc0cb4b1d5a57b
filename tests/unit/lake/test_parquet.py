"""Tests of `CompactedFile`, which reads the rows of a Kafka group from one block of a Parquet file.

A block consists of one or more consecutive Parquet row groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from kgtui.lake import parquet
from kgtui.lake.arrow import arrow_table, sort_by_key
from kgtui.lake.parquet import CompactedFile, write_rows
from kgtui.lake.schemas import FAULTS, MEMBERS, PARTITION
from kgtui.lake.schemas.recorded import day_of
from tests.unit.history.recording_builder import START

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

COLUMNS = ("group", "member_id", "poll")


def rows(groups: Mapping[str, int]) -> pa.Table:
    """Return rows for the table `members`, sorted by its key. `groups` maps each group id to its number of members."""
    always = (day_of(START), START, START)
    made = [
        (*always, group, f"m-{number:03d}", False, *(None,) * 7, "{}")
        for group, count in groups.items()
        for number in range(count)
    ]
    return sort_by_key(_coded(arrow_table(MEMBERS, made)), MEMBERS).drop_columns([PARTITION])


def _coded(table: pa.Table) -> pa.Table:
    import pyarrow as pa

    for index, field in enumerate(table.schema):
        if field.type == pa.string():
            table = table.set_column(index, field.name, table[field.name].dictionary_encode())
    return table


def written(path: Path, groups: Mapping[str, int]) -> CompactedFile:
    write_rows(path, rows(groups), compact=True)
    return CompactedFile(path, MEMBERS)


def members(file: CompactedFile, blocks: Sequence[int]) -> dict[str, int]:
    """Return a dict: group id → number of rows in the given blocks. `file` is a file of the table `members`."""
    found: dict[str, int] = {}
    for row in file.read(blocks, COLUMNS).to_pylist():
        found[row["group"]] = found.get(row["group"], 0) + 1
    return found


def test_compacted_file_has_all_rows_of_a_group_in_one_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "BLOCK", 10)
    groups = {f"team-{number:02d}.größe": 1 + number % 7 for number in range(50)} | {"team-20.huge": 60, "": 3}
    file = written(tmp_path / "file", groups)
    assert len(file) > 10
    assert members(file, range(len(file))) == groups
    for group, count in groups.items():
        block = file.block_of(group)
        assert block is not None
        assert members(file, [block])[group] == count
    sizes = [sum(members(file, [block]).values()) for block in range(len(file))]
    assert max(sizes) < 80
    assert all(size >= 10 for size in sizes[:-1])


def test_compacted_file_has_no_block_for_a_group_without_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "BLOCK", 1)
    file = written(tmp_path / "file", {"b": 1, "d": 1})
    assert [file.block_of(group) for group in ("a", "b", "c", "d", "e")] == [None, 0, None, 1, None]


def test_parquet_file_with_a_very_long_group_id_is_read_as_one_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parquet stores the smallest and largest group id of each row group, but not ids with more than 4,096 bytes.

    Without these ids, the reader cannot find the row groups of a Kafka group, so it reads the whole file as one block.
    """
    monkeypatch.setattr(parquet, "BLOCK", 1)
    groups = {"a": 1, "x" * 32_000: 2, "z": 1}
    file = written(tmp_path / "file", groups)
    assert len(file) == 1
    assert {group: file.block_of(group) for group in groups} == dict.fromkeys(groups, 0)
    assert members(file, [0]) == groups


def test_parquet_row_groups_of_the_same_kafka_group_form_one_block(tmp_path: Path) -> None:
    groups = {"a": 5, "b": 5, "c": 5}
    pq.write_table(rows(groups), tmp_path / "file", row_group_size=2)
    file = CompactedFile(tmp_path / "file", MEMBERS)
    for group, count in groups.items():
        block = file.block_of(group)
        assert block is not None
        assert members(file, [block])[group] == count


def test_parquet_file_whose_group_column_is_nullable_is_read_as_one_block(tmp_path: Path) -> None:
    always: tuple[Any, ...] = (day_of(START), START, START)
    made = [(*always, "broker", 1, None, "A", False, None, None, None)]
    table = arrow_table(FAULTS, made).drop_columns([PARTITION])
    write_rows(tmp_path / "file", table, compact=True)
    file = CompactedFile(tmp_path / "file", FAULTS)
    assert (len(file), file.block_of("")) == (1, 0)


def test_failed_parquet_write_on_a_full_disk_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(OSError, match="No space left"):
        write_rows(tmp_path / "file", rows({"a": 1}), compact=True)
    assert list(tmp_path.iterdir()) == []
