"""Find the days whose gold tables must be recomputed, because recorded or silver tables have new rows.

Each run of the pipeline stores the versions of these tables. The Delta log shows which rows newer versions added.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from kgtui.errors import PARSE_ERRORS, LakeError
from kgtui.lake.delta import storage_errors
from kgtui.lake.folder import is_table, write_json
from kgtui.lake.schemas import COMMITS, GOLD, GOLD_STATE, GROUP_EVENTS, POLLS, REBALANCES
from kgtui.lake.store_errors import reason_of
from kgtui.lake.table_changes import UNKNOWN, earliest_change, newest_version
from kgtui.lake.tables import StoredTable

if TYPE_CHECKING:
    from kgtui.lake.folder import LakeFolder
    from kgtui.lake.schemas import Table
    from kgtui.lake.store import LakePath

_TIMES = {
    POLLS.title: "poll",
    COMMITS.title: "record_time",
    GROUP_EVENTS.title: "record_time",
    REBALANCES.title: "start",
}
"""Recorded or silver table → name of its time column.

`polls` stands for all recorded tables, because it has a row for each poll.
"""

_DAY_MS = 86_400_000
_SOURCES = (POLLS, COMMITS, GROUP_EVENTS, REBALANCES)


@dataclass(frozen=True, slots=True)
class PendingDays:
    """The days whose gold tables must be recomputed.

    Attributes:
        days: days to recompute, in order.
        since: time on the first of `days` from which rows must be recomputed, in milliseconds since the epoch.
        sources: table → dict with `version`, `newest` (newest time of a row) and `modified` (newest time of a file).
            Times are in milliseconds since the epoch; None if there are none.
        last: tomorrow (UTC). Later rows are ignored, because they come from a broker with a wrong clock.
        future: later days that have rows.
    """

    folder: LakeFolder
    days: tuple[date, ...]
    since: int
    sources: dict[str, dict[str, int | None]]
    last: date
    future: tuple[date, ...]

    def mark_done(self) -> None:
        """Store the versions of the tables in the lake, so that `days` are no longer pending."""
        # Store the ids of the gold tables too. If an id differs at the next run, the table was created again.
        path, state = _state_file(self.folder), {"sources": self.sources, "tables": _table_ids(self.folder)}
        if state != _load_state(self.folder):
            path.parent.mkdir(mode=0o700, exist_ok=True)
            write_json(path, state)


def pending_days(folder: LakeFolder) -> PendingDays:
    """Return the days whose gold tables must be recomputed; none if there are no new rows.

    All days are returned before the first complete run, and if a gold table or column is missing or was created again.

    Raises:
        LakeError: a table cannot be read.
    """
    try:
        existing = _existing_tables(folder, *_SOURCES)
        # Read the versions first. Rows that are added afterwards belong to a newer version, so the next run uses them.
        sources: dict[str, dict[str, int | None]] = {
            table.title: {"modified": table.modified(), "version": newest_version(table.path)} for table in existing
        }
        every_day = sorted({day for table in existing for day in table.rows_by_day()})
        last = datetime.now(UTC).date() + timedelta(days=1)
        days = [day for day in every_day if day <= last]
        for table in existing:
            sources[table.title]["newest"] = table.newest(_TIMES[table.title], last)
        stored = _load_state(folder)
        tables = _table_ids(folder)
        since = _start(days[0]) if days else 0
        if "sources" in stored and stored.get("tables") == tables and len(tables) == len(GOLD) + len(GOLD_STATE):
            changes = [_changed_since(table, stored["sources"].get(table.title)) for table in existing]
            earliest = min((change for change in changes if change is not None), default=None)
            days = [] if earliest is None else [day for day in days if earliest < _start(day) + _DAY_MS]
            since = max(earliest or 0, _start(days[0])) if days else 0
    except storage_errors() as error:
        raise LakeError(f"{folder.path} cannot be read: {reason_of(error)}") from error
    return PendingDays(folder, tuple(days), since, sources, last, tuple(day for day in every_day if day > last))


def _start(day: date) -> int:
    """Return the beginning of a UTC day in milliseconds since the epoch."""
    return int(datetime.combine(day, time(), UTC).timestamp() * 1000)


def _changed_since(table: StoredTable, before: dict[str, int | None] | None) -> int | None:
    """Return the time from which rows must be recomputed, in milliseconds since the epoch; None if no rows are new.

    Args:
        before: what the previous run stored about the table (see `PendingDays.sources`); None if it stored nothing.
    """
    before = before or {}
    version, newest = before.get("version"), before.get("newest")
    changed = earliest_change(table.path, -1 if version is None else version, _TIMES[table.title])
    if changed == UNKNOWN and version is not None and (newest_version(table.path) or 0) >= version:
        changed = _changed_without_log(table, newest, before.get("modified"))
    if changed is None or newest is None or table.title not in (POLLS.title, COMMITS.title):
        return changed
    # The previous run computed the gold rows of its last minute and hour from incomplete data, so recompute them.
    return min(changed, newest)


def _changed_without_log(table: StoredTable, newest: int | None, modified: int | None) -> int | None:
    """Do the same as `_changed_since`, if the needed part of the Delta log was deleted, which happens after a day.

    Args:
        newest: newest time of a row in the earlier run, in milliseconds since the epoch; None if unknown.
        modified: newest time of a file in the earlier run, in milliseconds since the epoch; None if unknown.
    """
    if table.title == POLLS.title and newest is not None:
        # The recorder only appends polls, so all changed rows are newer than `newest`.
        return newest
    return UNKNOWN if modified is None else table.earliest(_TIMES[table.title], modified)


def _table_ids(folder: LakeFolder) -> dict[str, str]:
    """Return a dict: name of a gold table → id of its Delta table, which changes when the table is created again.

    A table that lacks columns is left out. It then counts as missing, so that all of its days are recomputed.
    """
    columns = {table.name: table.names for table in (*GOLD, *GOLD_STATE)}
    found = {table.name: table.identity(columns[table.name]) for table in _existing_tables(folder, *GOLD, *GOLD_STATE)}
    return {name: identity for name, identity in found.items() if identity is not None}


def _existing_tables(folder: LakeFolder, *tables: Table) -> list[StoredTable]:
    places = ((table, folder.table(table.name, table.layer)) for table in tables)
    return [StoredTable(table.layer, table.name, path) for table, path in places if is_table(path)]


def _load_state(folder: LakeFolder) -> dict[str, Any]:
    """Return the dict that `PendingDays.mark_done` stored after the last complete run of the pipeline.

    It contains `sources` (see `PendingDays`) and `tables` (see `_table_ids`), or nothing if there was no complete run.
    """
    try:
        state = json.loads(_state_file(folder).read_text(encoding="utf-8"))
    except (OSError, *PARSE_ERRORS):
        return {}
    return state if isinstance(state, dict) else {}


def _state_file(folder: LakeFolder) -> LakePath:
    return folder.path / "_checkpoints" / "gold.json"
