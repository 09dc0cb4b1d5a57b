"""Find the days whose gold tables must be recomputed, because their source tables have new rows since the last run.

A run of the pipeline stores the row counts of each day in the lake. A day has new rows if its row count is larger now.
The comparison finds all new rows, because rows are only appended, or deleted for whole days, and compaction keeps the
row count.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from kgtui.errors import LakeError
from kgtui.lake.delta import storage_errors
from kgtui.lake.folder import is_table, write_json
from kgtui.lake.schemas import COMMITS, GOLD, GROUP_EVENTS, POLLS, REBALANCES
from kgtui.lake.store_errors import reason_of
from kgtui.lake.tables import StoredTable

if TYPE_CHECKING:
    from kgtui.lake.folder import LakeFolder
    from kgtui.lake.schemas import Table
    from kgtui.lake.store import LakePath

_SOURCES = (POLLS, COMMITS, GROUP_EVENTS, REBALANCES)
"""Source tables whose row counts show whether there are new rows. `polls` represents all recorded tables, because each
poll adds a row to it."""

RowCounts = dict[str, dict[str, int]]
"""Maps a table name (`layer/name`), and then a day in ISO format, to the number of rows."""


@dataclass(frozen=True, slots=True)
class PendingDays:
    """The days whose gold tables must be recomputed.

    Attributes:
        days: the first day with a change and all later days, in order, because gold rows depend on earlier days.
        rows: row counts of the source tables at the time when `days` was determined.
    """

    folder: LakeFolder
    days: tuple[date, ...]
    rows: RowCounts

    def mark_done(self) -> None:
        """Store the row counts in the lake, so that `days` are no longer pending.

        The ids of the gold tables are stored too, so that the next run notices if a gold table was removed and created
        again. The file is not written if its content would stay the same.
        """
        path, state = _state_file(self.folder), {"rows": self.rows, "tables": _table_ids(self.folder)}
        if state != _load_state(self.folder):
            path.parent.mkdir(mode=0o700, exist_ok=True)
            write_json(path, state)


def pending_days(folder: LakeFolder) -> PendingDays:
    """Return the days whose gold tables must be recomputed; none if the source tables have no new rows.

    The result begins with the earlier of two days: the first day that has new rows, and the newest day of the last run.
    It includes all later days. All days are returned if a gold table or one of its columns is missing, if a gold table
    was created again, or if no complete run has stored its row counts.

    Raises:
        LakeError: a table cannot be read.
    """
    try:
        rows = {table.title: _row_counts(table) for table in _existing_tables(folder, *_SOURCES)}
        tables = _table_ids(folder)
    except storage_errors() as error:
        raise LakeError(f"{folder.path} cannot be read: {reason_of(error)}") from error
    stored = _load_state(folder)
    days = _days(rows)
    if "rows" in stored and stored.get("tables") == tables and len(tables) == len(GOLD):
        changed = _days_with_new_rows(rows, stored["rows"])
        first = min([*changed, *_days(stored["rows"])[-1:]]) if changed else date.max
        days = [day for day in days if day >= first]
    return PendingDays(folder, tuple(days), rows)


def _days(rows: RowCounts) -> list[date]:
    """Return all days that have a row count in any table, in ascending order."""
    return sorted({date.fromisoformat(day) for counts in rows.values() for day in counts})


def _days_with_new_rows(now: RowCounts, before: RowCounts) -> list[date]:
    """Return the days for which a source table has more rows than at the last run, in any order."""
    return [
        date.fromisoformat(day)
        for title, rows in now.items()
        for day, count in rows.items()
        if count > before.get(title, {}).get(day, 0)
    ]


def _row_counts(table: StoredTable) -> dict[str, int]:
    return {day.isoformat(): rows for day, rows in table.rows_by_day().items()}


def _table_ids(folder: LakeFolder) -> dict[str, str]:
    """Return the id of the Delta table of each gold table. The id changes when a table is removed and created again.

    A table without some of its columns is left out, so that the columns are computed for all days.
    """
    columns = {table.name: table.names for table in GOLD}
    found = {table.name: table.identity(columns[table.name]) for table in _existing_tables(folder, *GOLD)}
    return {name: identity for name, identity in found.items() if identity is not None}


def _existing_tables(folder: LakeFolder, *tables: Table) -> list[StoredTable]:
    places = ((table, folder.table(table.name, table.layer)) for table in tables)
    return [StoredTable(table.layer, table.name, path) for table, path in places if is_table(path)]


def _load_state(folder: LakeFolder) -> dict[str, Any]:
    """Return the row counts and table ids that the last run of the pipeline stored; empty if there are none.

    The key `rows` has row counts as in `RowCounts`, and `tables` has gold table → id of the Delta table.
    """
    try:
        state = json.loads(_state_file(folder).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _state_file(folder: LakeFolder) -> LakePath:
    return folder.path / "_checkpoints" / "gold.json"
