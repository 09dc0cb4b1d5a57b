"""The recorded tables on disk, as Delta tables: the only module that knows deltalake. It loads when a table is used."""

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
"""How names of files begin that compaction wrote: their rows are sorted by key and poll."""

WRITTEN = "part-"
"""The same of those that a flush wrote."""

_APP = "kgtui-recorder"
DAY = f"partition.{PARTITION}"
"""What a table's log calls the day of a file."""


def load_deltalake() -> Any:
    """deltalake, once pyarrow is there too. Raises `LakeError` that says how to install them."""
    try:
        import deltalake
        import pyarrow.parquet  # noqa: F401 - what follows needs it
    except ImportError as error:
        raise LakeError(f"history needs {error.name}: pip install 'kgtui[history]'") from error
    return deltalake


def storage_errors() -> tuple[type[Exception], ...]:
    """What reading and writing may raise: the disk is full, gone or not ours, or a table is damaged."""
    import pyarrow as pa

    return (OSError, load_deltalake().exceptions.DeltaError, pa.ArrowException)


def is_compacted(file: Mapping[str, Any]) -> bool:
    """Whether compaction wrote a file."""
    return COMPACTED in str(file["path"])


@contextmanager
def owner_only() -> Iterator[None]:
    """Files made meanwhile, by any thread, are for their owner alone."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


class RecordedTable:
    """One table of a lake.

    Args:
        path: where it lies; it need not be there yet.
    """

    def __init__(self, path: Path, table: Table) -> None:
        self.path = path
        self.table = table
        self._delta: DeltaTable | None = None
        self._listed: tuple[int, list[dict[str, Any]]] | None = None

    # -- reading -------------------------------------------------------------------------------------------------

    @property
    def exists(self) -> bool:
        """Whether anything has made the table."""
        return self._delta is not None or (self.path / LOG).is_dir()

    def open(self, *, renew: bool = False) -> DeltaTable | None:
        """The table, with `renew` as it is now; None while it does not exist."""
        deltalake = load_deltalake()
        if self._delta is None:
            if not deltalake.DeltaTable.is_deltatable(str(self.path)):
                return None
            self._delta = deltalake.DeltaTable(str(self.path))
        elif renew:
            self._delta.update_incremental()
        return self._delta

    def files(self, day: date | None = None) -> list[dict[str, Any]]:
        """What the table's log tells of each file: path, size, rows, smallest and largest values."""
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
        """Rows whose columns have these values, text dictionary-encoded; none while the table does not exist.

        Files that cannot hold such rows are not opened.

        Args:
            columns: any but `day`.
            after: only later polls.
            span: only from this keyframe on, until this poll.
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
        """All rows of a keyframe and of the polls until the next."""
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
        """The table, made if it is not there."""
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
        """Append rows, once for each `serial`, however often it is tried; returns the version that they are in.

        The file is written here, in the one way that compaction writes too, and deltalake makes it part of the table.

        Args:
            rows: of that day, some at a time; there are some.
            serial: grows with each batch.
        """
        import pyarrow as pa

        deltalake = load_deltalake()
        delta = self.create()
        delta.update_incremental()
        if (delta.transaction_version(_APP) or 0) < serial:
            done = deltalake.CommitProperties(app_transactions=[deltalake.Transaction(_APP, serial)])
            made = pa.concat_tables(arrow_table(self.table, some) for some in rows)
            self._commit([self._add(made.drop_columns([PARTITION]), day)], done)
        return int(delta.version())

    def forget(self) -> None:
        """Look at the disk again next time."""
        self._delta = self._listed = None

    # -- maintenance ---------------------------------------------------------------------------------------------

    def compact(self, files: Sequence[Mapping[str, Any]], polls: Collection[int]) -> None:
        """Replace files of one day by one that is sorted by key and poll, without what belongs to no poll.

        The rows stay the same, which the commit says (`dataChange` false): streams that read the table see nothing.
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
        """Write a file, and the action that makes it part of the table.

        Args:
            compact: it only takes the place of others.
        """
        from deltalake.transaction import AddAction

        name = f"{PARTITION}={day.isoformat()}/{COMPACTED if compact else WRITTEN}{uuid.uuid4()}.parquet"
        path = self.path / name
        path.parent.mkdir(exist_ok=True)
        told = json.dumps(write_rows(path, rows, compact=compact))
        values: dict[str, str | None] = {PARTITION: day.isoformat()}
        return AddAction(name, path.stat().st_size, values, int(time.time() * 1000), not compact, told)

    def _commit(self, actions: list[Any], properties: Any = None) -> None:
        delta = self.create()
        delta.create_write_transaction(
            actions, "append", arrow_schema(self.table), [PARTITION], commit_properties=properties
        )
        delta.update_incremental()

    def delete_before(self, day: date) -> int:
        """Remove whole days; how many rows went."""
        delta = self.open()
        if delta is None or not any(file[DAY] < day for file in self.files()):
            return 0
        return int(delta.delete(f"{PARTITION} < '{day.isoformat()}'")["num_deleted_rows"])

    def vacuum(self) -> None:
        """Remove from the disk what no version in use needs: replaced files, and those of writes that were killed."""
        delta = self.open()
        if delta is not None:
            delta.vacuum(SUPERSEDED_HOURS, dry_run=False, enforce_retention_duration=False, full=True)
