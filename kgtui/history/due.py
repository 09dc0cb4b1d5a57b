"""Which days of the gold tables are due: those of which there is more now than when they were last made.

How many rows of each day there were is kept beside the checkpoints of the streams. Tables that gold is made from only
grow, but for whole days that go, so their number tells of everything that came; compaction leaves it as it is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from kgtui.errors import LakeError
from kgtui.history.delta import disk_errors, owner_only
from kgtui.history.folder import LOG
from kgtui.history.schemas import BASELINE, COMMITS, GOLD, GROUP_EVENTS, POLLS, REBALANCES
from kgtui.history.tables_on_disk import StoredTable
from kgtui.model.text import visible

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.history.folder import LakeFolder
    from kgtui.history.schemas import Table

_MADE_FROM = (POLLS, COMMITS, GROUP_EVENTS, REBALANCES)
"""Tables that tell whether there is anything new; of the recorded ones, `polls` is written last."""

_LAST = BASELINE
"""The gold table that is written last."""

Rows = dict[str, dict[str, int]]
"""Table → day → how many."""


@dataclass(frozen=True, slots=True)
class Due:
    """What there is to do.

    Attributes:
        days: to be made, in order and with all that follow: a day is compared with those before it.
        found: what there is; kept by `done`.
    """

    folder: LakeFolder
    days: tuple[date, ...]
    found: Rows

    def done(self) -> None:
        """Remember that the days are made, of what was found before."""
        path = _memory(self.folder)
        draft = path.with_suffix(".draft")
        with owner_only():
            path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_text(json.dumps(self.found), encoding="utf-8")
        draft.replace(path)


def due(folder: LakeFolder) -> Due:
    """Find the days that are due: none if nothing came since, else the newest that was made and all that have more.

    Raises:
        LakeError: a table cannot be read.
    """
    try:
        found = {stored.title: _rows(stored) for stored in _stored(folder, *_MADE_FROM)}
        gold = {stored.name: stored for stored in _stored(folder, *GOLD)}
        # A table that was never written, or was removed, lacks all days.
        whole = len(gold) == len(GOLD) and all(stored.contents().version > 0 for stored in gold.values())
        made = [*gold[_LAST.name].by_day()] if whole else []
    except disk_errors() as error:
        raise LakeError(f"{folder.path} cannot be read: {visible(str(error))}") from error
    days = sorted({date.fromisoformat(day) for rows in found.values() for day in rows})
    known = _known(folder)
    if made:
        grown = [] if known is None else _grown(found, known)
        if known is not None and not grown:
            return Due(folder, (), found)
        first = min([max(made), *grown])
        days = [day for day in days if day >= first]
    return Due(folder, tuple(days), found)


def _grown(found: Rows, known: Rows) -> list[date]:
    """Days that have more rows than before."""
    return [
        date.fromisoformat(day)
        for title, rows in found.items()
        for day, count in rows.items()
        if count > known.get(title, {}).get(day, 0)
    ]


def _rows(stored: StoredTable) -> dict[str, int]:
    return {day.isoformat(): rows for day, rows in stored.by_day().items()}


def _stored(folder: LakeFolder, *tables: Table) -> list[StoredTable]:
    """Those of the tables that exist."""
    places = ((table, folder.table(table.name, table.layer)) for table in tables)
    return [StoredTable(table.layer, table.name, path) for table, path in places if (path / LOG).is_dir()]


def _known(folder: LakeFolder) -> Rows | None:
    """What was kept last; None when that is not known."""
    try:
        told = json.loads(_memory(folder).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return told if isinstance(told, dict) else None


def _memory(folder: LakeFolder) -> Path:
    return folder.path / "_checkpoints" / "gold.json"
