"""Find the days whose gold tables must be recomputed, because recorded or silver tables have new rows.

Each run of the pipeline stores the newest version number of each table in `_TIMES`. The next run searches the Delta
logs of these tables for rows that were added in later versions.
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
from kgtui.lake.store_errors import lake_error_text
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
"""Tables that are searched for new rows. Dict: name of the table as `layer/name` → name of its time column.

Of the recorded tables, only `polls` is searched, because it has a row for each poll.
"""

_DAY_MS = 86_400_000
_SOURCES = (POLLS, COMMITS, GROUP_EVENTS, REBALANCES)


@dataclass(frozen=True, slots=True)
class PendingDays:
    """The days whose gold tables must be recomputed.

    Attributes:
        days: days to recompute, in order.
        since: earliest time to recompute, in milliseconds since the epoch. It is on the first day in `days`; 0 if there
            are no days.
        sources: state of each table in `_TIMES`: name of the table as `layer/name` → dict with `version` (number of the
            newest version), `newest` (newest time in a row) and `modified` (when the newest file was written). Times
            are in milliseconds since the epoch. Unknown values are None.
        last: last day that can be recomputed: tomorrow (UTC). Rows of later days are ignored, because their times come
            from a broker with a wrong clock.
        future: days after `last` that have rows.
        first_poll_day: earliest day with recorded polls; None if the lake has no polls.
    """

    folder: LakeFolder
    days: tuple[date, ...]
    since: int
    sources: dict[str, dict[str, int | None]]
    last: date
    future: tuple[date, ...]
    first_poll_day: date | None = None

    def mark_done(self) -> None:
        """Store `sources` in the lake, so that the next run skips days without new rows."""
        # Also store the ids of the gold tables. A new id tells the next run that a table was deleted and created again.
        path, state = _state_file(self.folder), {"sources": self.sources, "tables": _table_ids(self.folder)}
        if state != _load_state(self.folder):
            path.parent.mkdir(mode=0o700, exist_ok=True)
            write_json(path, state)


def pending_days(folder: LakeFolder) -> PendingDays:
    """Return the days whose gold tables must be recomputed, because recorded or silver tables have new rows.

    If there are no new rows, the result has no days. But it has all days with rows if the pipeline has never finished a
    run, if a gold table was deleted and created again, if a gold table or one of its columns is missing, or if it is
    unknown which rows are new.

    Raises:
        LakeError: a table cannot be read.
    """
    try:
        existing = _existing_tables(folder, *_SOURCES)
        # Read the table versions before the rows. If rows are added meanwhile, the next run finds a newer version.
        sources: dict[str, dict[str, int | None]] = {
            table.title: {"modified": table.modified(), "version": newest_version(table.path)} for table in existing
        }
        days_of = {table.title: table.rows_by_day().keys() for table in existing}
        every_day = sorted(set().union(*days_of.values()))
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
        raise LakeError(f"{folder.path} cannot be read: {lake_error_text(error)}") from error
    future = tuple(day for day in every_day if day > last)
    first_poll_day = min(days_of.get(POLLS.title, ()), default=None)
    return PendingDays(folder, tuple(days), since, sources, last, future, first_poll_day)


def _start(day: date) -> int:
    """Return the beginning of a UTC day in milliseconds since the epoch."""
    return int(datetime.combine(day, time(), UTC).timestamp() * 1000)


def _changed_since(table: StoredTable, before: dict[str, int | None] | None) -> int | None:
    """Return the time from which gold rows must be recomputed, in ms since the epoch; None if no rows are new.

    Args:
        before: the table's entry in `PendingDays.sources` of the previous run; None if it had no entry.
    """
    before = before or {}
    version, newest = before.get("version"), before.get("newest")
    changed = earliest_change(table.path, -1 if version is None else version, _TIMES[table.title])
    if changed == UNKNOWN and version is not None and (newest_version(table.path) or 0) >= version:
        changed = _changed_without_log(table, newest, before.get("modified"))
    if changed is None or newest is None or table.title not in (POLLS.title, COMMITS.title):
        return changed
    # Also recompute the gold rows for the minute and the hour that contain the time `newest`. When the previous run
    # computed them, the lake may not have contained all polls and commits of this minute and hour yet.
    return min(changed, newest)


def _changed_without_log(table: StoredTable, newest: int | None, modified: int | None) -> int | None:
    """Return the time from which gold rows must be recomputed, without the Delta log.

    This is necessary because entries of the Delta log are deleted after a day.

    Args:
        newest, modified: the values with these names in `PendingDays.sources` of the previous run; None if unknown.

    Returns:
        Milliseconds since the epoch; None if no rows are new; `UNKNOWN` if the time cannot be found.
    """
    if table.title == POLLS.title and newest is not None:
        # The recorder appends rows of new polls, and never changes old rows. All new rows are later than `newest`.
        return newest
    return UNKNOWN if modified is None else table.earliest(_TIMES[table.title], modified)


def _table_ids(folder: LakeFolder) -> dict[str, str]:
    """Return a dict: name of a gold table → id of its Delta table, which changes when the table is created again.

    A table that lacks columns of the current schema is left out, which makes `pending_days` return all days.
    """
    columns = {table.name: table.names for table in (*GOLD, *GOLD_STATE)}
    found = {table.name: table.identity(columns[table.name]) for table in _existing_tables(folder, *GOLD, *GOLD_STATE)}
    return {name: identity for name, identity in found.items() if identity is not None}


def _existing_tables(folder: LakeFolder, *tables: Table) -> list[StoredTable]:
    places = ((table, folder.table(table.name, table.layer)) for table in tables)
    return [StoredTable(table.layer, table.name, path) for table, path in places if is_table(path)]


def _load_state(folder: LakeFolder) -> dict[str, Any]:
    """Return the dict that `PendingDays.mark_done` stored after the last complete run of the pipeline.

    The dict contains `sources` (see `PendingDays`) and `tables` (see `_table_ids`). It is empty before the first
    complete run, and if the stored file cannot be read.
    """
    try:
        state = json.loads(_state_file(folder).read_text(encoding="utf-8"))
    except (OSError, *PARSE_ERRORS):
        return {}
    return state if isinstance(state, dict) else {}


def _state_file(folder: LakeFolder) -> LakePath:
    return folder.path / "_checkpoints" / "gold.json"
