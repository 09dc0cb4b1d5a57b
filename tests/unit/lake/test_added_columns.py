"""Tests of columns that a newer kgtui version adds to tables.

A lake (a folder of Delta tables) without these columns stays readable and writable.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.history import keyframe as keyframe_module
from kgtui.history import poll_reader, recording_reader
from kgtui.lake import delta as delta_module
from kgtui.lake import writer as writer_module
from kgtui.lake.arrow import arrow_schema
from kgtui.lake.delta import RecordedTable
from kgtui.lake.folder import LakeFolder
from kgtui.lake.schemas import BRONZE, COMMITS, GROUPS, PARTITIONS, POLLS, SILVER, TABLES, Column
from kgtui.lake.schemas.recorded import day_of
from kgtui.lake.tables import create_tables
from tests.unit.history.recording_builder import CLUSTER, START, RecordingBuilder
from tests.unit.history.test_recording_reader import poll_of

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.history.recording_reader import RecordingReader
    from kgtui.lake.schemas import Table
    from kgtui.lake.schemas.definition import RowsByTable, RowValues

LATER = START + 60_000
DAY = day_of(START)
COLUMNS = ("poll", "group", "number", "text", "state")


def with_added_columns(table: Table, position: int | None = None) -> Table:
    """Return a copy of `table` with two more columns, `number` and `text`.

    Args:
        position: index of the first new column; None for the end.
    """
    columns = list(table.columns)
    position = len(columns) if position is None else position
    columns[position:position] = [Column("number", "int", "a number"), Column("text", "string", "a text")]
    return replace(table, columns=tuple(columns))


def append(path: Path, table: Table, poll: int, **values: object) -> RecordedTable:
    """Append one row for the Kafka group `pay` to the table in folder `path`, and return the table.

    Args:
        table: definition of the table. It can contain columns that the stored table does not have yet.
        poll: time of the poll in milliseconds since the Unix epoch.
        values: column name → value, for columns other than `day`, `keyframe`, `poll`, `group`, `gone` and `state`.
    """
    values |= {"day": DAY, "keyframe": START, "poll": poll, "group": "pay", "gone": False, "state": "Stable"}
    recorded = RecordedTable(path, table)
    recorded.append([[tuple(values.get(name) for name in table.names)]], DAY, poll)
    return recorded


def read_rows(path: Path, table: Table) -> list[dict[str, Any]]:
    """Return all rows of the table, sorted by the time of their poll.

    The function reads the rows in three ways, and asserts that the results are equal: the whole table, only the group
    `pay`, and only the first keyframe (a poll with all groups) with the later changes.
    """
    recorded = RecordedTable(path, table)
    columns = [name for name in COLUMNS if name in table.names]
    keyframe = recorded.read_keyframe(DAY, START)
    found = [
        recorded.read(columns),
        recorded.read_group(recorded.query(), columns, "pay", (START, LATER)),
        keyframe.read(range(len(keyframe)), columns),
    ]
    assert [rows.column_names for rows in found] == [columns] * 3
    first, *others = [sorted(rows.to_pylist(), key=lambda row: row["poll"]) for rows in found]
    assert others == [first, first]
    return first


OLD_ROW = {"poll": START, "group": "pay", "number": None, "text": None, "state": "Stable"}
NEW_ROW = {"poll": LATER, "group": "pay", "number": 7, "text": "new", "state": "Stable"}


@pytest.mark.parametrize("position", [None, 5], ids=["at the end", "in the middle"])
def test_column_added_later_is_null_in_older_rows(tmp_path: Path, position: int | None) -> None:
    wider = with_added_columns(GROUPS, position)
    append(tmp_path, GROUPS, START)
    recorded = append(tmp_path, wider, LATER, number=7, text="new")
    assert read_rows(tmp_path, wider) == [OLD_ROW, NEW_ROW]
    recorded.compact(recorded.files(), [START, LATER])
    assert len(recorded.files()) == 1
    assert read_rows(tmp_path, wider) == [OLD_ROW, NEW_ROW]


def test_reading_a_table_without_the_added_columns_returns_null_for_them(tmp_path: Path) -> None:
    wider = with_added_columns(GROUPS)
    recorded = append(tmp_path, GROUPS, START)
    assert read_rows(tmp_path, wider) == [OLD_ROW]
    recorded.compact(recorded.files(), [START])
    assert read_rows(tmp_path, wider) == [OLD_ROW]
    delta = RecordedTable(tmp_path, wider).open()
    assert delta is not None
    assert "number" not in {field.name for field in delta.schema().fields}


def test_an_older_kgtui_version_preserves_unknown_columns(tmp_path: Path) -> None:
    """In this test, the older version has the current schema. The newer version has two more columns."""
    wider = with_added_columns(GROUPS)
    append(tmp_path, wider, START, number=7, text="new")
    older = append(tmp_path, GROUPS, LATER)
    known = [{"poll": poll, "group": "pay", "state": "Stable"} for poll in (START, LATER)]
    assert read_rows(tmp_path, GROUPS) == known
    older.compact(older.files(), [START, LATER])
    assert read_rows(tmp_path, GROUPS) == known
    assert read_rows(tmp_path, wider) == [NEW_ROW | {"poll": START}, OLD_ROW | {"poll": LATER}]


def test_column_added_later_is_nullable_in_the_stored_table(tmp_path: Path) -> None:
    """The column is defined as not nullable, but the existing rows have no value for it."""
    wider = replace(GROUPS, columns=(*GROUPS.columns, Column("number", "int", "a number", nullable=False)))
    append(tmp_path, GROUPS, START)
    recorded = append(tmp_path, wider, LATER, number=7)
    delta = recorded.open()
    assert delta is not None
    assert {field.name: field.nullable for field in delta.schema().fields}["number"]
    rows = recorded.read_group(recorded.query(), ["number"], "pay", (START, LATER))
    assert set(rows["number"].to_pylist()) == {None, 7}


def test_missing_columns_are_added_to_a_silver_table_only_once(tmp_path: Path) -> None:
    folder, wider = LakeFolder.of(tmp_path), with_added_columns(COMMITS)
    create_tables(folder, [COMMITS])
    for _ in range(2):
        create_tables(folder, [wider])
    delta = RecordedTable(folder.table(COMMITS.name, COMMITS.layer), wider).open()
    assert delta is not None
    assert delta.version() == 1
    assert [field.name for field in delta.schema().fields] == list(wider.names)


def comments(recorded: RecordedTable) -> dict[str, str]:
    """Return a dict: column name → comment in the stored table, without columns that have no comment."""
    delta = recorded.open()
    assert delta is not None
    return {field.name: field.metadata["comment"] for field in delta.schema().fields if field.metadata}


@pytest.mark.parametrize("table", [*TABLES, *BRONZE, *SILVER], ids=lambda table: table.title)
def test_new_table_has_the_descriptions_of_its_columns_as_comments(tmp_path: Path, table: Table) -> None:
    recorded = RecordedTable(tmp_path, table)
    recorded.create()
    assert comments(recorded) == {column.name: column.about for column in table.columns if column.about}


def test_existing_columns_of_an_older_table_get_no_comments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """kgtui writes comments (descriptions of columns) only for the columns that it adds to the table."""
    monkeypatch.setattr(delta_module, "commented_schema", arrow_schema)
    assert comments(append(tmp_path, GROUPS, START)) == {}
    monkeypatch.undo()
    recorded = append(tmp_path, GROUPS, LATER)
    assert comments(recorded) == {}
    delta = recorded.open()
    assert delta is not None
    assert delta.version() == 2
    wider = with_added_columns(GROUPS)
    assert comments(append(tmp_path, wider, LATER + 1, number=7, text="new")) == {
        "number": "a number",
        "text": "a text",
    }
    recorded.forget()
    recorded.compact(recorded.files(), [START, LATER])
    assert [row["poll"] for row in read_rows(tmp_path, GROUPS)] == [START, LATER]


WIDER = {table.name: with_added_columns(table) for table in (POLLS, GROUPS, PARTITIONS)}


def upgrade(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate an upgrade that adds two columns to each of the tables `polls`, `groups` and `partitions`."""
    tables = tuple(WIDER.get(table.name, table) for table in TABLES)
    for module in (writer_module, recording_reader, keyframe_module, poll_reader):
        for name, value in {table.name.upper(): table for table in tables}.items():
            monkeypatch.setattr(module, name, value, raising=False)
        monkeypatch.setattr(module, "TABLES", tables, raising=False)
    monkeypatch.setattr(keyframe_module, "_TABLES", {table.name: table for table in tables})


class WiderBuilder(RecordingBuilder):
    """A `RecordingBuilder` that also writes the columns that `upgrade` adds, with the values 7 and "new"."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(path)
        add = self.writer.add

        def add_wider(poll: int, keyframe: int, rows: RowsByTable, poll_row: RowValues) -> None:
            wider = {name: [(*row, 7, "new") for row in some] if name in WIDER else some for name, some in rows.items()}
            add(poll, keyframe, wider, (*poll_row, 7, "new"))

        monkeypatch.setattr(self.writer, "add", add_wider)


def states(lake: RecordingReader) -> dict[int, tuple[object, ...]]:
    """Return a dict: time of a poll in milliseconds → data of the cluster and of the group `pay` at this poll."""
    found: dict[int, tuple[object, ...]] = {}
    for poll in lake.polls():
        at = lake.at(poll)
        found[poll.ms] = at.cluster, dict(at.listings), at.description("pay"), at.offsets("pay"), at.owners("pay")
    return found


def added(path: Path, name: str) -> list[tuple[int, int | None, str | None]]:
    """Return the rows of the table `name` as `(time of the poll, number, text)`, sorted by time."""
    rows = RecordedTable(LakeFolder.of(path).table(name), WIDER[name]).read(["poll", "number", "text"])
    return sorted(tuple(row.values()) for row in rows.to_pylist())


def test_recorder_continues_a_recording_after_columns_were_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = RecordingBuilder(tmp_path)
    old.poll(poll_of(100), START)
    old.flush()
    before = states(recording_reader.RecordingReader(tmp_path))

    upgrade(monkeypatch)
    assert states(recording_reader.RecordingReader(tmp_path)) == before
    recorder = WiderBuilder(tmp_path, monkeypatch)
    recorder.poll(poll_of(120), LATER)
    recorder.flush()
    recorder.poll(poll_of(140), LATER + 60_000, keyframe=True)
    recorder.flush()

    for compact in (False, True):
        if compact:
            recorder.compact()
        lake = recording_reader.RecordingReader(tmp_path)
        read = states(lake)
        assert {poll: read[poll] for poll in before} == before
        assert list(read) == [START, LATER, LATER + 60_000]
        assert read[LATER][0] == CLUSTER
        assert lake.at(LATER / 1000).owners("pay") == {("t", 0): "m-1"}
        assert [row.offset for row in lake.at(LATER / 1000).offsets("pay").committed] == [120]
        assert [len(poll.groups) for poll in poll_reader.read_polls(lake, ["pay"], lake.polls())] == [1, 1, 1]
        assert list(lake.group_timeline("pay", START / 1000, LATER / 1000).lag) == [50, 30]
        # At `LATER`, the added columns change from null to their first values. This counts as a change of the group.
        change = lake.next_change("pay", START / 1000)
        assert change is not None
        assert change.ms == LATER
        for name in WIDER:
            assert added(tmp_path, name) == [(START, None, None), (LATER, 7, "new"), (LATER + 60_000, 7, "new")]


def test_delta_table_properties_of_older_bronze_tables_are_updated(tmp_path: Path) -> None:
    recorded = RecordedTable(tmp_path, BRONZE[0])
    delta = recorded.create()
    name = "delta.deletedFileRetentionDuration"
    delta.alter.set_table_properties({name: "interval 1 hours"})
    for _ in range(2):
        delta = RecordedTable(tmp_path, BRONZE[0]).create()
        assert delta.metadata().configuration[name] == "interval 1 days"
        assert delta.version() == 2
