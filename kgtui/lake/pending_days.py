"""Which days of the gold tables are due: those of which there is more now than when they were last made.

How many rows of each day there were is kept beside the checkpoints of the streams. Tables that gold is made from only
grow, but for whole days that go, so their number tells of everything that came; compaction leaves it as it is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from kgtui.errors import LakeError
from kgtui.lake.delta import storage_errors
from kgtui.lake.folder import is_table, write_json
from kgtui.lake.schemas import BASELINE, COMMITS, GOLD, GROUP_EVENTS, POLLS, REBALANCES
from kgtui.lake.tables import StoredTable
from kgtui.model.text import visible

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.lake.folder import LakeFolder
    from kgtui.lake.schemas import Table

_MADE_FROM = (POLLS, COMMITS, GROUP_EVENTS, REBALANCES)
"""Tables that tell whether there is anything new; of the recorded ones, `polls` is written last."""

_LAST = BASELINE
"""The gold table that is written last."""

RowCounts = dict[str, dict[str, int]]
"""Table → day → how many."""


@dataclass(frozen=True, slots=True)
class PendingDays:
    """What there is to do.

    Attributes:
        days: to be made, in order and with all that follow: a day is compared with those before it.
        rows: what there is to make them from.
    """

    folder: LakeFolder
    days: tuple[date, ...]
    rows: RowCounts

    def mark_done(self) -> None:
        """Remember that the days are made, of what was found before; writes nothing where that is known."""
        path, told = _memory(self.folder), {"rows": self.rows, "tables": _tables(self.folder)}
        if told != _known(self.folder):
            path.parent.mkdir(mode=0o700, exist_ok=True)
            write_json(path, told)


def pending_days(folder: LakeFolder) -> PendingDays:
    """Find the days that are due: none if nothing came since, else the newest that was made and all that have more.

    All days are due where a table of gold was removed.

    Raises:
        LakeError: a table cannot be read.
    """
    try:
        rows = {stored.title: _rows(stored) for stored in _stored(folder, *_MADE_FROM)}
        tables = _tables(folder)
        made = [day for stored in _stored(folder, _LAST) for day in stored.rows_by_day()]
    except storage_errors() as error:
        raise LakeError(f"{folder.path} cannot be read: {visible(str(error))}") from error
    known = _known(folder)
    days = sorted({date.fromisoformat(day) for counts in rows.values() for day in counts})
    if made and known.get("tables", tables) == tables:
        first = max(made)
        if "rows" in known:
            grown = _grown(rows, known["rows"])
            if not grown:
                return PendingDays(folder, (), rows)
            first = min(first, *grown)
        days = [day for day in days if day >= first]
    return PendingDays(folder, tuple(days), rows)


def _grown(found: RowCounts, known: RowCounts) -> list[date]:
    """Days that have more rows than before."""
    return [
        date.fromisoformat(day)
        for title, rows in found.items()
        for day, count in rows.items()
        if count > known.get(title, {}).get(day, 0)
    ]


def _rows(stored: StoredTable) -> dict[str, int]:
    return {day.isoformat(): rows for day, rows in stored.rows_by_day().items()}


def _tables(folder: LakeFolder) -> dict[str, str]:
    """Gold table → what tells it from another in its place; those that were ever made."""
    return {stored.name: stored.identity() for stored in _stored(folder, *GOLD)}


def _stored(folder: LakeFolder, *tables: Table) -> list[StoredTable]:
    """Those of the tables that exist."""
    places = ((table, folder.table(table.name, table.layer)) for table in tables)
    return [StoredTable(table.layer, table.name, path) for table, path in places if is_table(path)]


def _known(folder: LakeFolder) -> dict[str, Any]:
    """What was remembered last, as far as it is known."""
    try:
        told = json.loads(_memory(folder).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _memory(folder: LakeFolder) -> Path:
    return folder.path / "_checkpoints" / "gold.json"
