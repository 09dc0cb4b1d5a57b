"""Read and write the recorded tables as Delta tables. Only modules of package `kgtui.lake` import deltalake."""

from __future__ import annotations

import json
import time
import uuid
from typing import TYPE_CHECKING, Any

from kgtui.errors import LakeError
from kgtui.lake.arrow import (
    arrow_schema,
    arrow_table,
    commented_schema,
    dictionary_schema,
    select_columns,
    sort_by_key,
    to_one_chunk,
    to_rows,
    to_table,
)
from kgtui.lake.folder import LOG
from kgtui.lake.parquet import CompactedFile, RowsInMemory, merge_files, read_rows, write_rows
from kgtui.lake.schemas import PARTITION, SUPERSEDED_HOURS
from kgtui.lake.schemas.recorded import day_of
from kgtui.lake.store import file_size, options_for

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import date

    import pyarrow as pa
    from deltalake import DeltaTable, QueryBuilder

    from kgtui.lake.parquet import RowBlocks
    from kgtui.lake.schemas import Table
    from kgtui.lake.schemas.definition import RowValues
    from kgtui.lake.store import LakePath

COMPACTED = "compact-"
"""Prefix of the names of files that compaction writes. The rows in these files are sorted by key and time of the poll.

The key consists of the columns that identify an object, such as a member.
"""

WRITTEN = "part-"
"""Prefix of the names of files that the recorder writes."""

_APP = "kgtui-recorder"
DAY = f"partition.{PARTITION}"
"""Key under which a dict from `data_files` contains the UTC day of the rows in the file."""


def load_deltalake() -> Any:
    """Import and return deltalake.

    Raises:
        LakeError: deltalake or pyarrow is not installed.
    """
    try:
        import deltalake
        import pyarrow.parquet  # noqa: F401 - all reads and writes need it
    except ImportError as error:
        raise LakeError(
            f"recordings need {error.name}, which is not installed. Run: pip install 'kgtui[history]'"
        ) from error
    return deltalake


def storage_errors() -> tuple[type[Exception], ...]:
    """Return the exception types that disk access, deltalake and pyarrow can raise, for use in an `except` clause."""
    import pyarrow as pa

    return (OSError, load_deltalake().exceptions.DeltaError, pa.ArrowException)


def is_delta_table(path: LakePath) -> bool:
    """Return whether a folder is a Delta table. Raises one of `storage_errors`."""
    result: bool = load_deltalake().DeltaTable.is_deltatable(_uri(path), options_for(path) or None)
    return result


def open_table(path: LakePath) -> DeltaTable:
    """Open the newest version of a table. Raises one of `storage_errors`."""
    delta: DeltaTable = load_deltalake().DeltaTable(_uri(path), storage_options=options_for(path) or None)
    return delta


def _uri(path: LakePath) -> str:
    # Make local paths absolute, because deltalake would read the relative path `a:b` as a URI with the scheme `a`.
    return str(path.absolute())


def data_files(delta: DeltaTable) -> list[dict[str, Any]]:
    """Return one dict with metadata for each data file of an open table.

    The keys are as in deltalake's `get_add_actions(flatten=True)`, such as `path`, `num_records` and `max.poll`.
    """
    return to_rows(to_table(delta.get_add_actions(flatten=True)))


def plain_parquet_files(path: LakePath, first: date, last: date) -> tuple[str, list[str]] | None:
    """Return the schema of a table, and the Parquet files with the rows of the days from `first` to `last`.

    With this schema and these files, the newest version of the table can be read without Delta Lake.

    Returns:
        Pair (schema as JSON, paths of the files relative to `path`). None if the table cannot be opened, or if its
        files can only be read with Delta Lake, because another program has turned on deletion vectors or column
        mapping.
    """
    try:
        delta = open_table(path)
        if delta.protocol().min_reader_version > 1:
            return None
        return delta.schema().to_json(), [file["path"] for file in data_files(delta) if first <= file[DAY] <= last]
    except storage_errors():
        return None


def is_compacted(file: Mapping[str, Any]) -> bool:
    """Return whether a file was written by compaction. `file` is a dict from `RecordedTable.files`."""
    return COMPACTED in str(file["path"])


class RecordedTable:
    """One of the tables that the recorder writes.

    Args:
        path: folder of the table, which need not exist yet.
    """

    def __init__(self, path: LakePath, table: Table) -> None:
        self.path = path
        self.table = table
        self._delta: DeltaTable | None = None
        self._listed: tuple[int, list[dict[str, Any]]] | None = None

    @property
    def exists(self) -> bool:
        """Whether the folder of the table has a Delta log."""
        return self._delta is not None or (self.path / LOG).is_dir()

    def open(self, *, renew: bool = False) -> DeltaTable | None:
        """Open the table and return it; None if it does not exist.

        Args:
            renew: whether to update an already open table to its newest version.
        """
        if self._delta is None:
            if not is_delta_table(self.path):
                return None
            self._delta = open_table(self.path)
        elif renew:
            self._delta.update_incremental()
        return self._delta

    def files(self, day: date | None = None) -> list[dict[str, Any]]:
        """Return the result of `data_files` for this table. If `day` is not None, return only the files of this day."""
        delta = self.open()
        if delta is None:
            return []
        if self._listed is None or self._listed[0] != delta.version():
            self._listed = delta.version(), data_files(delta)
        return [file for file in self._listed[1] if day is None or file[DAY] == day]

    def read(
        self,
        columns: Sequence[str],
        *,
        after: int | None = None,
        day: date | None = None,
        span: tuple[int, int] | None = None,
        **equal: object,
    ) -> pa.Table:
        """Return the rows that match all conditions; empty if the table does not exist.

        A poll (read of the cluster by the recorder) is given as its time, in milliseconds since the epoch. Text columns
        are dictionary-encoded.

        Args:
            columns: names of the columns to read, without `day`.
            after: poll after which the returned rows were recorded; None for no limit.
            day: UTC day of the returned rows; None for all days.
            span: pair (first poll, last poll) between which the returned rows were recorded, both included; None for no
                limit. The first poll must be a keyframe (a poll with the complete state).
            equal: column name → value that the returned rows have in this column.
        """
        import pyarrow.dataset as ds

        where = ds.scalar(True)
        for name, value in equal.items():
            where &= ds.field(name) == value
        if after is not None:
            where &= ds.field("poll") > after
        if span is not None:
            where &= (ds.field("keyframe") >= span[0]) & (ds.field("poll") <= span[1])
        keyframe = equal.get("keyframe")
        files = [
            file
            for file in self.files(day)
            if (after is None or file["max.poll"] > after)
            and (keyframe is None or file["min.keyframe"] <= keyframe <= file["max.keyframe"])
            and (span is None or (file["max.keyframe"] >= span[0] and file["min.poll"] <= span[1]))
        ]
        return self._read(files, columns, where)

    def query(self) -> tuple[QueryBuilder, frozenset[str]] | None:
        """Prepare SQL queries (with DataFusion, the SQL engine of deltalake) on the newest version of the table.

        Returns:
            Pair (query builder in which the table is registered, names of the table's columns). None if the table does
            not exist.
        """
        delta = self.open(renew=True)
        if delta is None:
            return None
        return load_deltalake().QueryBuilder().register(self.table.name, delta), _stored_columns(delta)

    def read_group(
        self,
        query: tuple[QueryBuilder, frozenset[str]] | None,
        columns: Sequence[str],
        group: str,
        span: tuple[int, int],
    ) -> pa.Table:
        """Return the rows of one group in undefined order. Text columns are dictionary-encoded.

        Args:
            query: result of the method `query`. If it is None, no rows are returned.
            columns: names of the columns to read, without `day`.
            group: group id, with lone surrogates escaped.
            span: pair (time of the first poll, time of the last poll), both included, in milliseconds since the epoch.
                The first poll must be a keyframe (a poll with the complete state).
        """
        import pyarrow as pa

        if query is None:
            return dictionary_schema(self.table).empty_table().select(list(columns))
        session, stored = query
        first, last = span
        # A table that an older kgtui created can lack some of `columns`. Do not query the missing ones, because the
        # query would fail.
        names = ", ".join(f'"{name}"' for name in columns if name in stored)
        literal = group.replace("'", "''")
        # An SQL query is twice as fast as reading the table's files one by one (see tests/bench/README.md).
        rows = to_table(
            session.execute(
                f'SELECT {names} FROM "{self.table.name}" '  # noqa: S608 - deltalake has no parameters; quotes are doubled
                f"WHERE \"{PARTITION}\" BETWEEN date '{day_of(first)}' AND date '{day_of(last)}' "
                f"AND \"group\" = '{literal}' AND keyframe >= {first} AND poll <= {last}"
            )
        )
        for index, name in enumerate(rows.column_names):
            if self.table.column(name).type == "string":
                rows = rows.set_column(index, name, rows[name].cast(pa.string()).dictionary_encode())
        return to_one_chunk(select_columns(rows, self.table, columns))

    def read_keyframe(self, day: date, keyframe: int) -> RowBlocks:
        """Return all rows of a keyframe, and of the later polls before the next keyframe.

        A keyframe is a poll with the complete state. For the polls between two keyframes, only changed rows are stored.

        Args:
            day: UTC day of the keyframe.
            keyframe: time of the keyframe, in milliseconds since the epoch.
        """
        import pyarrow.dataset as ds

        files = [file for file in self.files(day) if file["min.keyframe"] <= keyframe <= file["max.keyframe"]]
        if len(files) == 1 and is_compacted(files[0]) and files[0]["min.keyframe"] == files[0]["max.keyframe"]:
            # `CompactedFile` reads rows from the file only when they are requested.
            return CompactedFile(self.path / files[0]["path"], self.table)
        names = [name for name in self.table.names if name not in (PARTITION, "keyframe")]
        return RowsInMemory(
            sort_by_key(to_one_chunk(self._read(files, names, ds.field("keyframe") == keyframe)), self.table)
        )

    def _read(self, files: Sequence[Mapping[str, Any]], columns: Sequence[str], where: Any) -> pa.Table:
        if not files:
            return dictionary_schema(self.table).empty_table().select(list(columns))
        return read_rows([self.path / file["path"] for file in files], self.table, columns, where)

    def create(self) -> DeltaTable:
        """Return the Delta table. If it does not exist, create it. Otherwise, update its columns and properties.

        Missing columns are added. They are nullable, because existing rows have no values for them. Each column's
        description is stored as the column's comment.
        """
        delta = self.open()
        if delta is None:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            delta = load_deltalake().DeltaTable.create(
                _uri(self.path),
                commented_schema(self.table),
                partition_by=[self.table.partition] if self.table.partition else None,
                name=self.table.name,
                description=self.table.about,
                configuration=self.table.delta_properties,
                storage_options=options_for(self.path) or None,
            )
            self._delta = delta
        stored = _stored_columns(delta)
        missing = [field.with_nullable(True) for field in commented_schema(self.table) if field.name not in stored]
        if missing:
            delta.alter.add_columns([load_deltalake().Field.from_arrow(field) for field in missing])
            delta.update_incremental()
        if changed := dict(self.table.delta_properties.items() - delta.metadata().configuration.items()):
            delta.alter.set_table_properties(changed)
            delta.update_incremental()
        return delta

    def append(self, rows: Iterable[Sequence[RowValues]], day: date, serial: int) -> int:
        """Append rows of one day, and return the number of the newest table version, which contains these rows.

        Args:
            rows: one or more lists of rows. At least one list must not be empty.
            day: UTC day of all rows.
            serial: number of this batch of rows, which must be higher than the numbers of all earlier batches. If the
                table already contains a batch with this or a higher number, nothing is appended. A failed call can
                therefore be repeated safely.
        """
        import pyarrow as pa

        deltalake = load_deltalake()
        delta = self.create()
        delta.update_incremental()
        if (delta.transaction_version(_APP) or 0) < serial:
            properties = deltalake.CommitProperties(app_transactions=[deltalake.Transaction(_APP, serial)])
            table = pa.concat_tables(arrow_table(self.table, some) for some in rows)
            self._commit([self._add(table.drop_columns([PARTITION]), day)], properties)
        return int(delta.version())

    def forget(self) -> None:
        """Close the table, so that the next use opens its newest version."""
        self._delta = self._listed = None

    def compact(self, files: Sequence[Mapping[str, Any]], polls: Collection[int]) -> None:
        """Merge files of one day into one file, sorted by key and poll.

        The commit has `dataChange` false, so that Spark streams on the table do not read the merged rows again.

        Args:
            files: the files to merge, as returned by the method `files`.
            polls: times of the polls whose rows are kept, in milliseconds since the epoch. Rows of other polls are
                dropped, because they come from interrupted writes.
        """
        rows = merge_files([self.path / file["path"] for file in files], self.table, polls)
        self._replace(files, rows, files[0][DAY])

    def _replace(self, files: Sequence[Mapping[str, Any]], rows: pa.Table, day: date) -> None:
        from deltalake.transaction import RemoveAction

        actions: list[Any] = [self._add(rows, day, compact=True)] if rows.num_rows else []
        actions += [
            RemoveAction(
                path=file["path"],
                data_change=False,
                deletion_timestamp=int(time.time() * 1000),
                size=file["size_bytes"],
                partition_values={PARTITION: day.isoformat()},
            )
            for file in files
        ]
        self._commit(actions)

    def _add(self, rows: pa.Table, day: date, *, compact: bool = False) -> Any:
        """Write a data file, and return the Delta action that adds it to the table.

        Args:
            compact: whether the rows were merged from other files of the table. If so, the action has `dataChange`
                false, so that Spark streams do not read the rows again.
        """
        from deltalake.transaction import AddAction

        name = f"{PARTITION}={day.isoformat()}/{COMPACTED if compact else WRITTEN}{uuid.uuid4()}.parquet"
        path = self.path / name
        path.parent.mkdir(exist_ok=True)
        statistics = json.dumps(write_rows(path, rows, compact=compact))
        values: dict[str, str | None] = {PARTITION: day.isoformat()}
        return AddAction(name, file_size(path), values, int(time.time() * 1000), not compact, statistics)

    def _commit(self, actions: list[Any], properties: Any = None) -> None:
        delta = self.create()
        delta.create_write_transaction(
            actions, "append", arrow_schema(self.table), [PARTITION], commit_properties=properties
        )
        delta.update_incremental()

    def delete_before(self, day: date) -> int:
        """Delete the rows of all days before `day`, and return the number of deleted rows."""
        delta = self.open()
        if delta is None or not any(file[DAY] < day for file in self.files()):
            return 0
        return int(delta.delete(f"{PARTITION} < '{day.isoformat()}'")["num_deleted_rows"])

    def vacuum(self) -> None:
        """Remove files of interrupted writes, and files that a newer table version replaced more than an hour ago."""
        delta = self.open()
        if delta is not None:
            delta.vacuum(SUPERSEDED_HOURS, dry_run=False, enforce_retention_duration=False, full=True)


def _stored_columns(delta: DeltaTable) -> frozenset[str]:
    return frozenset(field.name for field in delta.schema().fields)
