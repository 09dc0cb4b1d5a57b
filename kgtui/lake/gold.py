"""Read the gold tables (the results of the pipeline) without Spark: rows, ages of tables, lag histories of groups."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kgtui.errors import LakeError
from kgtui.lake.arrow import escape_surrogates, to_rows, to_table, to_values
from kgtui.lake.compaction import COMPACTION
from kgtui.lake.delta import DAY, is_delta_table, load_deltalake, open_table, storage_errors
from kgtui.lake.folder import LakeFolder
from kgtui.lake.schemas import PARTITION
from kgtui.lake.schemas.gold import GOLD, LAG
from kgtui.lake.store_errors import lake_error_text
from kgtui.model.timeline import LagHistory

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from datetime import date

    import pyarrow as pa
    from deltalake import DeltaTable, QueryBuilder

    from kgtui.lake.schemas import Table
    from kgtui.lake.store import LakePath

GoldRow = dict[str, Any]
"""One row of a gold table: column name → value. Timestamps are datetimes in UTC."""

NEVER_WRITTEN = "the pipeline has not created this table yet"
"""Text in `TableAge.error` if the gold table does not exist."""

WHOLE_GROUPS = "topic IS NULL"
"""SQL condition that selects the rows about whole groups, and not those about single partitions."""

_GROUP = "group"
_COMMITS = 50
_MAINTENANCE = ("OPTIMIZE", "VACUUM START", "VACUUM END", "DELETE")


@dataclass(frozen=True, slots=True)
class TableAge:
    """How old the data of a gold table are. Times are in seconds since the epoch.

    Attributes:
        table: name of the table as `layer/name`.
        covered_to: end of the period that the newest rows describe; None if the table has no rows or cannot be read.
        written: when the pipeline last wrote rows; None if the table cannot be read. Compaction and the deletion of old
            rows do not count.
        error: why the table cannot be read; empty if it can be read.
    """

    table: str
    covered_to: float | None = None
    written: float | None = None
    error: str = ""

    @property
    def is_readable(self) -> bool:
        """Whether the table exists and can be read."""
        return self.written is not None and not self.error


class Gold:
    """Reader for the gold tables of one lake. Calls block while they read from disk.

    Args:
        path: path or URI of the lake.

    Raises:
        LakeError: the folder is not a lake, a newer kgtui wrote it, or deltalake is not installed.
    """

    # The methods read rows with SQL (DataFusion), because it skips files and pages without matching rows. Most calls
    # need the rows of only a few groups, while a table can have rows of 100,000 groups.
    def __init__(self, path: LakePath | str) -> None:
        load_deltalake()
        self.folder = LakeFolder.of(path)
        self.folder.check()
        self._open: dict[str, DeltaTable] = {}
        self._queries: dict[str, QueryBuilder] = {}

    @property
    def path(self) -> LakePath:
        return self.folder.path

    def age(self, table: Table) -> TableAge:
        """Return the age of a table. If the table cannot be read, the result's `error` says why."""
        try:
            delta = self._delta(table)
            if delta is None:
                return TableAge(table.title, error=NEVER_WRITTEN)
            missing = set(table.names) - {field.name for field in delta.schema().fields}
            if missing:
                return TableAge(
                    table.title,
                    error=f"columns are missing: {', '.join(sorted(missing))}; `kgtui pipeline run` adds them",
                )
            newest = self.last(table, "covered_to")
        except storage_errors() as error:
            return TableAge(table.title, error=lake_error_text(error))
        return TableAge(table.title, newest.timestamp() if isinstance(newest, datetime) else None, _last_write(delta))

    def ages(self) -> tuple[TableAge, ...]:
        """Return the age of each table in `GOLD`. If a table does not exist, `TableAge.error` is `NEVER_WRITTEN`."""
        return tuple(self.age(table) for table in GOLD)

    def newest(
        self,
        table: Table,
        column: str,
        columns: Sequence[str] | None = None,
        *,
        groups: Collection[str] | None = None,
        where: str = "",
    ) -> list[GoldRow]:
        """Return the rows with the newest time in the table, such as the rows of the newest hour.

        A group that has no row with this time is left out, even if it has older rows.

        Args:
            column: name of the time column.
            columns, groups, where: columns to read, and conditions on the rows, as in the method `rows`.
        """
        last = self.last(table, column)
        if last is None:
            return []
        return self.rows(table, columns, since=last, time=column, groups=groups, where=where)

    def rows(
        self,
        table: Table,
        columns: Sequence[str] | None = None,
        *,
        since: datetime | date | None = None,
        until: datetime | None = None,
        time: str = "",
        groups: Collection[str] | None = None,
        where: str = "",
    ) -> list[GoldRow]:
        """Return the rows of a table that match all conditions. The order of the rows is undefined.

        If the table does not exist, the list is empty.

        Args:
            columns: names of the columns to read; None for all columns.
            since, until: earliest and latest time of a row, both included; None for no limit.
            time: name of the column with which `since` and `until` are compared.
            groups: ids of the groups whose rows are returned; None for all groups.
            where: additional SQL condition; empty for none.

        Raises:
            LakeError: the table cannot be read.
        """
        conditions = [f"({where})"] if where else []
        if since is not None:
            conditions.append(f'"{time}" >= {_literal(since)} AND "{PARTITION}" >= {_literal(_first_day(since))}')
        if until is not None:
            conditions.append(f'"{time}" <= {_literal(until)}')
        if groups is not None:
            if not groups:
                return []
            # Use a subquery after `IN`. With a plain list of 20,000 group ids, the query would take seconds.
            values = ", ".join(f"({_literal(escape_surrogates(group))})" for group in groups)
            conditions.append(f'"{_GROUP}" IN (SELECT column1 FROM (VALUES {values}))')  # noqa: S608 - quotes are doubled
        names = ", ".join(f'"{name}"' for name in columns or table.names)
        found = self._query(table, names, conditions)
        return [] if found is None else to_rows(found)

    def lag_histories(
        self, groups: Collection[str], *, since: datetime | None = None, until: datetime | None = None
    ) -> dict[str, LagHistory]:
        """Return a dict: group id → history of the group's total lag, with one value per minute.

        Groups without rows from `since` to `until` are left out.

        Raises:
            LakeError: the table cannot be read.
        """
        columns = ("group", "minute", "lag", "rate_in", "rate_out", "time_lag", "members", "steady_since")
        rows = self.rows(LAG, columns, since=since, until=until, time="minute", groups=groups, where=WHOLE_GROUPS)
        by_group: dict[str, list[GoldRow]] = {}
        for row in rows:
            by_group.setdefault(row["group"], []).append(row)
        return {group: _lag_history(sorted(some, key=lambda row: row["minute"])) for group, some in by_group.items()}

    def _delta(self, table: Table) -> DeltaTable | None:
        delta = self._open.get(table.name)
        if delta is None:
            path = self.folder.table(table.name, table.layer)
            if not is_delta_table(path):
                return None
            delta = self._open[table.name] = open_table(path)
        return delta

    def last(self, table: Table, column: str, *, until: datetime | None = None) -> datetime | date | None:
        """Return the newest value of a time or day column; None if the table does not exist or has no value.

        Usually, the newest value is in the statistics in the Delta log. Otherwise, the rows are read.

        Args:
            until: latest time that can be returned; later values are ignored. None for no limit. Must be None for a day
                column.
        """
        delta = self._delta(table)
        if delta is None:
            return None
        with self._reading(table):
            known, value = _last_in_statistics(delta, column)
            if known and (until is None or value is None or value <= until):
                return value
            conditions = [] if until is None else [f'"{column}" <= {_literal(until)}']
            rows = self._query(table, f'max("{column}") AS last', conditions)
        return None if rows is None else to_values(rows["last"])[0]

    def _query(self, table: Table, columns: str, conditions: Sequence[str]) -> pa.Table | None:
        """Run an SQL query: return `columns` of the rows that match all conditions; None if the table does not exist.

        Args:
            columns: SQL text that follows SELECT, such as column names.
            conditions: SQL conditions.
        """
        with self._reading(table):
            delta = self._delta(table)
            if delta is None:
                return None
            if table.name not in self._queries:
                self._queries[table.name] = load_deltalake().QueryBuilder().register(table.name, delta)
            where = " AND ".join(conditions) or "true"
            sql = f'SELECT {columns} FROM "{table.name}" WHERE {where}'  # noqa: S608 - deltalake has no parameters
            return to_table(self._queries[table.name].execute(sql))

    @contextmanager
    def _reading(self, table: Table) -> Iterator[None]:
        try:
            yield
        except storage_errors() as error:
            raise LakeError(f"{self.path}: {table.title} cannot be read: {lake_error_text(error)}") from error


def _last_write(delta: DeltaTable) -> float:
    """Return the time of the newest Delta commit that wrote new rows, in seconds since the epoch.

    Only the newest 50 commits are searched. If none of these commits wrote new rows, return the time of the oldest of
    these commits.
    """
    history = delta.history(_COMMITS)
    writes = [
        commit["timestamp"]
        for commit in history
        if commit.get("operation") not in _MAINTENANCE and COMPACTION not in commit
    ]
    return float(writes[0] if writes else history[-1]["timestamp"]) / 1000


def _last_in_statistics(delta: DeltaTable, column: str) -> tuple[bool, datetime | date | None]:
    """Return the largest value of a column according to the statistics of the files.

    Returns:
        Pair (whether the value is certain, largest value). The value is not certain if a file lacks statistics, because
        this file can contain a larger value. The largest value is None if no file has statistics.
    """
    actions = to_table(delta.get_add_actions(flatten=True))
    last_name = DAY if column == PARTITION else f"max.{column}"
    rows, nulls, last = (
        to_values(actions[name]) if name in actions.column_names else [None] * actions.num_rows
        for name in ("num_records", f"null_count.{column}", last_name)
    )
    values = [value for value in last if value is not None]
    unknown = any(
        value is None and count != 0 and (count is None or count != null)
        for value, count, null in zip(last, rows, nulls, strict=True)
    )
    return not unknown, max(values, default=None)


_EARLIEST, _LATEST = datetime(1678, 1, 1, tzinfo=UTC), datetime(2262, 1, 1, tzinfo=UTC)
"""Earliest and latest time in SQL conditions.

DataFusion, the SQL engine of deltalake, rejects times outside this range, because it stores a time as a signed 64-bit
number of nanoseconds.
"""


def _literal(value: str | datetime | date) -> str:
    if isinstance(value, datetime):
        return f"TIMESTAMP '{min(max(value, _EARLIEST), _LATEST).isoformat()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"DATE '{value.isoformat()}'"


def _first_day(moment: datetime | date) -> date:
    """Return the earliest possible value of column `day` in rows whose time is `moment` or later.

    Column `day` contains the day on which the period of a row starts, but the time of a row can be the end of this
    period, on the next day. Therefore, the result is the day before `moment` if `moment` is a datetime. If `moment` is
    a date, the result is `moment` itself.
    """
    return (moment - timedelta(days=1)).date() if isinstance(moment, datetime) else moment


def _lag_history(rows: Sequence[GoldRow]) -> LagHistory:
    def column(name: str) -> tuple[Any, ...]:
        return tuple(row[name] for row in rows)

    breaks = {row["minute"].timestamp() for old, row in pairwise(rows) if _is_break(old, row)}
    return LagHistory(
        tuple(row["minute"].timestamp() for row in rows),
        column("lag"),
        column("rate_in"),
        column("rate_out"),
        column("time_lag"),
        column("members"),
        frozenset(breaks),
    )


def _is_break(old: GoldRow, row: GoldRow) -> bool:
    return bool(row["steady_since"] != old["steady_since"])
