"""Writes polls into a lake: one append per table and flush, `polls` last; compaction and retention.

Writing blocks and belongs on one thread of its own. What could not be written is kept and written later, once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from kgtui.lake.delta import RecordedTable, is_compacted, owner_only
from kgtui.lake.schemas import POLLS, TABLES
from kgtui.lake.schemas.recorded import day_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from kgtui.lake.folder import LakeFolder
    from kgtui.lake.schemas.definition import RowsByTable, RowValues

_SWEEP_EVERY = 3_600.0
_AT_ONCE = 4_096  # rows that are joined, made columns of or forgotten at once


@dataclass(slots=True)
class Batch:
    """Polls of one keyframe that are appended together.

    Attributes:
        last: the newest poll; the batch's serial number.
        parts: table → of each poll what its rows begin with, and the rest of each; joined when they are written.
            Rows come and go some at a time: a hundred thousand at once would stop every thread.
        done: tables that have them already.
    """

    keyframe: int
    last: int = 0
    parts: dict[str, list[tuple[RowValues, list[RowValues]]]] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)

    @property
    def size(self) -> int:
        """Rows of all tables."""
        return sum(len(some) for parts in self.parts.values() for _, some in parts)

    def has(self, table: str) -> bool:
        """Whether it has rows of a table."""
        return any(some for _, some in self.parts.get(table, ()))

    def rows(self, table: str) -> Iterator[list[RowValues]]:
        """The rows of a table, of all columns."""
        for always, some in self.parts.get(table, ()):
            for start in range(0, len(some), _AT_ONCE):
                yield [(*always, *row) for row in some[start : start + _AT_ONCE]]

    def release_rows(self) -> None:
        """Forget the rows."""
        for parts in self.parts.values():
            for _, some in parts:
                while some:
                    del some[-_AT_ONCE:]


class LakeWriter:
    """Writes into one lake, which its recorder has locked.

    `add` and `seal` are called by who records, all else on the thread that writes.
    """

    def __init__(self, folder: LakeFolder) -> None:
        self._tables = {table.name: RecordedTable(folder.table(table.name), table) for table in TABLES}
        self._open: Batch | None = None
        self._sealed: list[Batch] = []
        self._swept = 0.0

    @property
    def waiting(self) -> int:
        """Rows that are not in the lake yet."""
        return sum(batch.size for batch in self._sealed) + (self._open.size if self._open else 0)

    def begin(self) -> int | None:
        """Make the tables; the newest poll that is there already."""
        with owner_only():
            for table in self._tables.values():
                table.create()
        return max((file["max.poll"] for file in self._tables[POLLS.name].files()), default=None)

    def add(self, poll: int, keyframe: int, rows: RowsByTable, told: RowValues) -> None:
        """Add a poll to what waits; nothing is written yet.

        Args:
            rows: of the other tables, without `day`, `keyframe` and `poll`.
            told: the row of `polls`, from `taken_at` on.
        """
        if self._open is None or self._open.keyframe != keyframe:
            self.seal()
            self._open = Batch(keyframe)
        batch, always = self._open, (day_of(poll), keyframe, poll)
        batch.last = poll
        for name, some in {**rows, POLLS.name: [told]}.items():
            batch.parts.setdefault(name, []).append((always, some))

    def seal(self) -> None:
        """Let the next flush write what was added so far, and nothing that is added meanwhile."""
        if self._open is not None:
            self._sealed.append(self._open)
            self._open = None

    def flush(self) -> tuple[int, int]:
        """Append all that is sealed; how many polls and rows.

        Raises one of `disk_errors`; what is left is tried again next time.
        """
        polls = rows = 0
        with owner_only():
            for batch in list(self._sealed):  # what is sealed meanwhile is for the next flush
                for table in TABLES:
                    if table.name not in batch.done and batch.has(table.name):
                        self._tables[table.name].append(batch.rows(table.name), day_of(batch.keyframe), batch.last)
                        batch.done.add(table.name)
                polls, rows = polls + len(batch.parts[POLLS.name]), rows + batch.size
                self._sealed.remove(batch)
                batch.release_rows()
        return polls, rows

    def discard(self) -> list[Batch]:
        """Take away what waits, while nothing is being written. Rows of it that are in a table count for nothing."""
        self.seal()
        dropped, self._sealed = self._sealed, []
        for table in self._tables.values():
            table.forget()
        return dropped

    # -- maintenance -------------------------------------------------------------------------------------------------

    def maintain(self, keyframe: int, keep_days: int | None, now: float) -> None:
        """Compact what is finished, remove what is too old and what nobody needs. Raises as `flush`.

        Args:
            keyframe: the one being written: everything before it is finished.
            keep_days: None keeps everything.
            now: seconds since the epoch.
        """
        with owner_only():
            self._compact(keyframe)
            if keep_days is not None:
                oldest = datetime.fromtimestamp(now, UTC).date() - timedelta(days=keep_days)
                for name in (POLLS.name, *(name for name in self._tables if name != POLLS.name)):
                    self._tables[name].delete_before(oldest)
            if time.monotonic() - self._swept > _SWEEP_EVERY or not self._swept:
                self._swept = time.monotonic()
                for table in self._tables.values():
                    table.vacuum()

    def _compact(self, keyframe: int) -> None:
        polls: dict[int, set[int]] = {}
        open_: dict[str, dict[int, list[dict[str, Any]]]] = {}
        for table in TABLES:
            if table is POLLS:
                continue
            for file in self._tables[table.name].files():
                if file["max.keyframe"] < keyframe and not is_compacted(file):
                    open_.setdefault(table.name, {}).setdefault(file["max.keyframe"], []).append(file)
        for name, segments in open_.items():
            for segment, files in segments.items():
                if segment not in polls:
                    polls[segment] = self._polls_of(segment)
                self._tables[name].compact(files, polls[segment])
        self._compact_polls(keyframe)

    def _polls_of(self, keyframe: int) -> set[int]:
        read = self._tables[POLLS.name].read(["poll"], day=day_of(keyframe), keyframe=keyframe)
        return set(read["poll"].to_pylist())

    def _compact_polls(self, keyframe: int) -> None:
        """A day's polls are one file: whoever opens a lake reads all of them."""
        table = self._tables[POLLS.name]
        days: dict[date, list[dict[str, Any]]] = {}
        for file in table.files():
            if file["max.keyframe"] < keyframe:
                days.setdefault(file["partition.day"], []).append(file)
        for day, files in days.items():
            if len(files) > 1:
                rows = table.read(["poll", "keyframe"], day=day)
                table.compact(files, _before(rows.to_pylist(), keyframe))


def release_rows(batches: Iterable[Batch]) -> None:
    """Forget the rows of batches, some at a time."""
    for batch in batches:
        batch.release_rows()


def _before(rows: list[Mapping[str, Any]], keyframe: int) -> Collection[int]:
    return {row["poll"] for row in rows if row["keyframe"] < keyframe}
