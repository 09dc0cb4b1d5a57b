"""The gold tables to read, without a JVM: rows of the newest hour, a group's course, how old all of it is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kgtui.errors import LakeError
from kgtui.lake.arrow import escape_surrogates, unescape_surrogates
from kgtui.lake.delta import DAY, load_deltalake, storage_errors
from kgtui.lake.folder import LakeFolder
from kgtui.lake.schemas import PARTITION
from kgtui.lake.schemas.gold import GOLD, LAG
from kgtui.model.text import visible
from kgtui.model.timeline import LagHistory

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from datetime import date
    from pathlib import Path

    import pyarrow as pa
    from deltalake import DeltaTable

    from kgtui.lake.schemas import Table

GoldRow = dict[str, Any]
"""Column → value; times are datetimes in UTC."""

NEVER_WRITTEN = "it was never made"

Where = Callable[[Callable[[str], Any]], Any]
"""Given how to name a column, a condition on rows, as pyarrow has them."""

_GROUP = "group"
_COMMITS = 50
_UPKEEP = ("OPTIMIZE", "VACUUM START", "VACUUM END", "DELETE")


@dataclass(frozen=True, slots=True)
class TableAge:
    """How old a table is that findings come from.

    Attributes:
        table: `layer/name`.
        covered_to: seconds since the epoch up to which it knows; None when it has no rows.
        written: when it was made, in seconds since the epoch; None when it is not there.
        trouble: why it cannot be read; ``.
    """

    table: str
    covered_to: float | None = None
    written: float | None = None
    error: str = ""

    @property
    def is_readable(self) -> bool:
        """Whether the table exists and could be read."""
        return self.written is not None and not self.error


def only_whole_groups(column: Callable[[str], Any]) -> Any:
    """Only rows about whole groups."""
    return column("topic").is_null()


class Gold:
    """The gold tables of one lake. Every call reads from disk, and blocks.

    Args:
        path: the lake's folder.

    Raises:
        LakeError: it is no lake, of a newer version, or what reads lakes is not installed.
    """

    def __init__(self, path: Path | str) -> None:
        load_deltalake()
        self.folder = LakeFolder.of(path)
        self.folder.check()
        self._open: dict[str, DeltaTable] = {}

    @property
    def path(self) -> Path:
        """The lake's folder."""
        return self.folder.path

    @staticmethod
    def title(table: Table) -> str:
        """`layer/name`."""
        return f"{table.layer}/{table.name}"

    def age(self, table: Table) -> TableAge:
        """How old a table is."""
        title = self.title(table)
        try:
            delta = self._delta(table)
            if delta is None:
                return TableAge(title, error=NEVER_WRITTEN)
            missing = set(table.names) - {field.name for field in delta.schema().fields}
            if missing:
                return TableAge(title, error=f"it has no column {', '.join(sorted(missing))}; make it anew")
            newest = self.last(table, "covered_to")
        except storage_errors() as error:
            return TableAge(title, error=visible(str(error)))
        return TableAge(title, newest.timestamp() if isinstance(newest, datetime) else None, _made(delta))

    def ages(self) -> tuple[TableAge, ...]:
        """Of all gold tables."""
        return tuple(self.age(table) for table in GOLD)

    def newest(
        self,
        table: Table,
        column: str,
        columns: Sequence[str] | None = None,
        *,
        groups: Collection[str] | None = None,
        where: Where | None = None,
    ) -> list[GoldRow]:
        """The rows whose time is the newest there is, such as those of the last `hour`; none without the table.

        The other arguments are those of `rows`.
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
        where: Where | None = None,
    ) -> list[GoldRow]:
        """Rows of a table in no order; none while it does not exist.

        Args:
            columns: by default all.
            since, until: bounds of the column `time`, both included.
            groups: only of these.
            where: what must hold besides; other rows are not even made.

        Raises:
            LakeError: the table cannot be read.
        """
        import pyarrow as pa
        import pyarrow.dataset as ds

        wanted = ds.scalar(True) if where is None else where(ds.field)
        if since is not None:
            wanted &= (ds.field(time) >= since) & (ds.field(PARTITION) >= _first_day(since))
        if until is not None:
            wanted &= ds.field(time) <= until
        if groups is not None:
            wanted &= ds.field(_GROUP).isin(pa.array([escape_surrogates(group) for group in groups], pa.string()))
        found = self._read(table, columns or table.names, wanted)
        return [] if found is None else [_restored(row) for row in found.to_pylist()]

    def lag_histories(
        self, groups: Collection[str], *, since: datetime | None = None, until: datetime | None = None
    ) -> dict[str, LagHistory]:
        """How these groups went, minute by minute; those that nothing is known of are left out."""
        columns = ("group", "minute", "lag", "rate_in", "rate_out", "time_lag", "members", "steady_since")
        rows = self.rows(LAG, columns, since=since, until=until, time="minute", groups=groups, where=only_whole_groups)
        by_group: dict[str, list[GoldRow]] = {}
        for row in rows:
            by_group.setdefault(row["group"], []).append(row)
        return {group: _course(sorted(some, key=lambda row: row["minute"])) for group, some in by_group.items()}

    # -- the disk ----------------------------------------------------------------------------------------------------

    def _delta(self, table: Table) -> DeltaTable | None:
        delta = self._open.get(table.name)
        if delta is None:
            path = str(self.folder.table(table.name, table.layer))
            if not load_deltalake().DeltaTable.is_deltatable(path):
                return None
            delta = self._open[table.name] = load_deltalake().DeltaTable(path)
        return delta

    def last(self, table: Table, column: str) -> datetime | date | None:
        """The largest value of a time or day, looked for in the newest day; None without the table or rows."""
        import pyarrow.compute as pc
        import pyarrow.dataset as ds

        delta = self._delta(table)
        days = [] if delta is None else _days(delta)
        if delta is None or not days:
            return None
        data = delta.to_pyarrow_dataset()
        with self._reading(table):
            found = data.to_table(columns=[column], filter=ds.field(PARTITION) == max(days))
        newest: datetime | date | None = pc.max(found[column]).as_py()
        return newest

    def _read(self, table: Table, columns: Sequence[str], where: Any) -> pa.Table | None:
        with self._reading(table):
            delta = self._delta(table)
            return None if delta is None else delta.to_pyarrow_dataset().to_table(columns=list(columns), filter=where)

    @contextmanager
    def _reading(self, table: Table) -> Iterator[None]:
        try:
            yield
        except storage_errors() as error:
            raise LakeError(f"{self.path}: {table.layer}/{table.name} cannot be read: {visible(str(error))}") from error


def _made(delta: DeltaTable) -> float:
    """When rows were last written, in seconds since the epoch: upkeep leaves them as they are."""
    history = delta.history(_COMMITS)
    made = [commit["timestamp"] for commit in history if commit.get("operation") not in _UPKEEP]
    return float(made[0] if made else history[-1]["timestamp"]) / 1000


def _days(delta: DeltaTable) -> list[date]:
    import pyarrow as pa

    actions = pa.table(delta.get_add_actions(flatten=True))
    return [] if DAY not in actions.column_names else [day for day in actions[DAY].to_pylist() if day is not None]


def _first_day(moment: datetime | date) -> date:
    """The day from which on rows of a moment can lie: tables may count a row to the day in which its window began."""
    return (moment - timedelta(days=1)).date() if isinstance(moment, datetime) else moment


def _restored(row: GoldRow) -> GoldRow:
    return {name: unescape_surrogates(value) if isinstance(value, str) else value for name, value in row.items()}


def _course(rows: Sequence[GoldRow]) -> LagHistory:
    def column(name: str) -> tuple[Any, ...]:
        return tuple(row[name] for row in rows)

    breaks = {row["minute"].timestamp() for old, row in pairwise(rows) if _broken(old, row)}
    return LagHistory(
        tuple(row["minute"].timestamp() for row in rows),
        column("lag"),
        column("rate_in"),
        column("rate_out"),
        column("time_lag"),
        column("members"),
        frozenset(breaks),
    )


def _broken(old: GoldRow, row: GoldRow) -> bool:
    return bool(row["steady_since"] != old["steady_since"])
