"""Read and write the recorded tables as Delta tables. Only modules of this package import deltalake."""

from __future__ import annotations

import json
import os
import time
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kgtui.errors import LakeError
from kgtui.lake.arrow import (
    arrow_schema,
    arrow_table,
    dictionary_schema,
    sort_by_key,
    to_one_chunk,
)
from kgtui.lake.folder import LOG
from kgtui.lake.parquet import CompactedFile, RowsInMemory, merge_files, read_rows, write_rows
from kgtui.lake.schemas import PARTITION, SETTINGS, SUPERSEDED_HOURS
from kgtui.lake.schemas.recorded import day_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import date
    from pathlib import Path

    import pyarrow as pa
    from deltalake import DeltaTable, QueryBuilder

    from kgtui.lake.parquet import RowBlocks
    from kgtui.lake.schemas import Table
    from kgtui.lake.schemas.definition import RowValues

COMPACTED = "compact-"
"""Prefix of the names of files written by compaction; their rows are sorted by key and poll."""

WRITTEN = "part-"
"""Prefix of the names of files written by a flush."""

_APP = "kgtui-recorder"
DAY = f"partition.{PARTITION}"
"""Name of the partition column in the listing of a table's files."""


def load_deltalake() -> Any:
    """Import and return deltalake. Raises `LakeError` that says what to install when it or pyarrow is missing."""
    try:
        import deltalake
        import pyarrow.parquet  # noqa: F401 - what follows needs it
    except ImportError as error:
        raise LakeError(f"history needs {error.name}: pip install 'kgtui[history]'") from error
    return deltalake


def storage_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that reading and writing may raise: errors of the disk, of Delta and of Arrow."""
    import pyarrow as pa

    return (OSError, load_deltalake().exceptions.DeltaError, pa.ArrowException)


def is_compacted(file: Mapping[str, Any]) -> bool:
    """Return whether compaction wrote a file."""
    return COMPACTED in str(file["path"])


@contextmanager
def owner_only() -> Iterator[None]:
    """Create files with permissions for their owner only, in all threads of the process."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


class RecordedTable:
    """One of the tables that the recorder writes.

    Args:
        path: folder of the table, which need not exist yet.
    """

    def __init__(self, path: Path, table: Table) -> None:
        self.path = path
        self.table = table
        self._delta: DeltaTable | None = None
        self._listed: tuple[int, list[dict[str, Any]]] | None = None

    # -- reading -------------------------------------------------------------------------------------------------

    @property
    def exists(self) -> bool:
        """Whether the table was created."""
        return self._delta is not None or (self.path / LOG).is_dir()

    def open(self, *, renew: bool = False) -> DeltaTable | None:
        """Open the table; `renew` reads the newest version. Returns None while the table does not exist."""
        deltalake = load_deltalake()
        if self._delta is None:
            if not deltalake.DeltaTable.is_deltatable(str(self.path)):
                return None
            self._delta = deltalake.DeltaTable(str(self.path))
        elif renew:
            self._delta.update_incremental()
        return self._delta

    def files(self, day: date | None = None) -> list[dict[str, Any]]:
        """Return the files of the table, of one day or of all, with path, size, row count and column statistics."""
        import pyarrow as pa

        delta = self.open()
        if delta is None:
            return []
        if self._listed is None or self._listed[0] != delta.version():
            self._listed = delta.version(), pa.table(delta.get_add_actions(flatten=True)).to_pylist()
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
        """Read rows that match all conditions, with dictionary-encoded text; none while the table does not exist.

        Files whose statistics rule out a match are not opened.

        Args:
            columns: any except `day`.
            after: only later polls.
            span: first keyframe and last poll.
            equal: column → value that it must have.
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

    def query(self) -> QueryBuilder | None:
        """Return an SQL session (DataFusion) on the newest version of the table; None while it does not exist."""
        delta = self.open(renew=True)
        return None if delta is None else load_deltalake().QueryBuilder().register(self.table.name, delta)

    def read_group(
        self, query: QueryBuilder | None, columns: Sequence[str], group: str, span: tuple[int, int]
    ) -> pa.Table:
        """Read rows of one group, text dictionary-encoded. The order of the rows is not defined.

        SQL is twice as fast here as reading the files one by one (see tests/bench/README.md).

        Args:
            query: of `query`.
            columns: any except `day`.
            group: with surrogates escaped.
            span: first keyframe and last poll.
        """
        import pyarrow as pa

        if query is None:
            return dictionary_schema(self.table).empty_table().select(list(columns))
        first, last = span
        names = ", ".join(f'"{name}"' for name in columns)
        literal = group.replace("'", "''")
        rows = pa.table(
            query.execute(
                f'SELECT {names} FROM "{self.table.name}" '  # noqa: S608 - deltalake has no parameters; quotes are doubled
                f"WHERE \"{PARTITION}\" BETWEEN date '{day_of(first)}' AND date '{day_of(last)}' "
                f"AND \"group\" = '{literal}' AND keyframe >= {first} AND poll <= {last}"
            )
        )
        for index, column in enumerate(rows.columns):
            if self.table.column(columns[index]).type == "string":
                rows = rows.set_column(index, columns[index], column.cast(pa.string()).dictionary_encode())
        return to_one_chunk(rows)

    def read_keyframe(self, day: date, keyframe: int) -> RowBlocks:
        """Read all rows of a keyframe and of the polls until the next one."""
        import pyarrow.dataset as ds

        files = [file for file in self.files(day) if file["min.keyframe"] <= keyframe <= file["max.keyframe"]]
        if len(files) == 1 and is_compacted(files[0]) and files[0]["min.keyframe"] == files[0]["max.keyframe"]:
            return CompactedFile(self.path / files[0]["path"], self.table)
        names = [name for name in self.table.names if name not in (PARTITION, "keyframe")]
        return RowsInMemory(
            sort_by_key(to_one_chunk(self._read(files, names, ds.field("keyframe") == keyframe)), self.table)
        )

    def _read(self, files: Sequence[Mapping[str, Any]], columns: Sequence[str], where: Any) -> pa.Table:
        if not files:
            return dictionary_schema(self.table).empty_table().select(list(columns))
        return read_rows([str(self.path / file["path"]) for file in files], self.table, columns, where)

    # -- writing -------------------------------------------------------------------------------------------------

    def create(self) -> DeltaTable:
        """Create the table if it does not exist, and return it."""
        delta = self.open()
        if delta is None:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            delta = load_deltalake().DeltaTable.create(
                str(self.path),
                arrow_schema(self.table),
                partition_by=[self.table.partition] if self.table.partition else None,
                name=self.table.name,
                description=self.table.about,
                configuration=SETTINGS,
            )
            self._delta = delta
        return delta

    def append(self, rows: Iterable[Sequence[RowValues]], day: date, serial: int) -> int:
        """Append rows of one day, and return the version of the table that contains them.

        A batch is appended once, even if the call is repeated after an error. The file is written here, as compaction
        writes its files, and then added to the table's log.

        Args:
            rows: at least one row, in parts.
            serial: number of the batch; larger than that of the batch before.
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
        """Forget what is known of the table, so that the next call reads it from disk."""
        self._delta = self._listed = None

    # -- maintenance ---------------------------------------------------------------------------------------------

    def compact(self, files: Sequence[Mapping[str, Any]], polls: Collection[int]) -> None:
        """Replace files of one day by one file that is sorted by key and poll.

        Rows of other polls than `polls` are left out: they come from interrupted flushes. The commit has `dataChange`
        false, so that streams that read the table do not read the rows again.
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
        """Write a file and return the action that adds it to the table.

        Args:
            compact: whether the file replaces others without changing data.
        """
        from deltalake.transaction import AddAction

        name = f"{PARTITION}={day.isoformat()}/{COMPACTED if compact else WRITTEN}{uuid.uuid4()}.parquet"
        path = self.path / name
        path.parent.mkdir(exist_ok=True)
        statistics = json.dumps(write_rows(path, rows, compact=compact))
        values: dict[str, str | None] = {PARTITION: day.isoformat()}
        return AddAction(name, path.stat().st_size, values, int(time.time() * 1000), not compact, statistics)

    def _commit(self, actions: list[Any], properties: Any = None) -> None:
        delta = self.create()
        delta.create_write_transaction(
            actions, "append", arrow_schema(self.table), [PARTITION], commit_properties=properties
        )
        delta.update_incremental()

    def delete_before(self, day: date) -> int:
        """Delete the rows of all days before this one, and return their number."""
        delta = self.open()
        if delta is None or not any(file[DAY] < day for file in self.files()):
            return 0
        return int(delta.delete(f"{PARTITION} < '{day.isoformat()}'")["num_deleted_rows"])

    def vacuum(self) -> None:
        """Remove files from disk that are in no retained version: replaced files, and files of interrupted writes."""
        delta = self.open()
        if delta is not None:
            delta.vacuum(SUPERSEDED_HOURS, dry_run=False, enforce_retention_duration=False, full=True)
