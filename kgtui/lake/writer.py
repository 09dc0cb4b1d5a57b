"""Write polls into the recorded tables of a lake, and maintain these tables while recording.

A poll is one read of the cluster by the recorder. Table `polls` is written last, and readers ignore rows whose poll is
not in `polls`. Readers therefore never see a poll of which only a part was written. If a write fails, the rows that are
not written yet stay in memory until the next write.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from kgtui.lake.delta import RecordedTable, is_compacted
from kgtui.lake.schemas import POLLS, TABLES
from kgtui.lake.schemas.recorded import day_of
from kgtui.model.rfc3339 import utc_datetime
from kgtui.private_files import owner_only

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from kgtui.lake.folder import LakeFolder
    from kgtui.lake.schemas.definition import RowsByTable, RowValues

_VACUUM_EVERY = 3_600.0
"""Minimum time between two removals of unused files, in seconds."""

_CHUNK = 4_096
"""Maximum number of rows that are converted or freed in one step. Small steps let other threads run in between."""


@dataclass(slots=True)
class Batch:
    """The rows of several successive polls (reads of the cluster), which are appended to the tables together.

    Attributes:
        keyframe: time of the last poll with the complete state (the keyframe), in milliseconds since the epoch. All
            polls of a batch have the same keyframe.
        last: time of the newest poll, in milliseconds since the epoch.
        parts: table name → list with one pair `(first_columns, rows)` per poll. `rows` are the poll's rows without the
            columns `day`, `keyframe` and `poll`. The values of these three columns are in `first_columns`, because they
            are the same in all rows of the poll.
        done: names of the tables to which this batch was already appended.
    """

    keyframe: int
    last: int = 0
    parts: dict[str, list[tuple[RowValues, list[RowValues]]]] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)

    @property
    def size(self) -> int:
        """Number of rows in all tables together."""
        return sum(len(rows_) for parts in self.parts.values() for _, rows_ in parts)

    def has(self, table: str) -> bool:
        """Return whether the batch has rows of a table."""
        return any(rows_ for _, rows_ in self.parts.get(table, ()))

    def rows(self, table: str) -> Iterator[list[RowValues]]:
        """Yield the rows of a table in lists of at most `_CHUNK` rows.

        The rows have all columns, including `day`, `keyframe` and `poll`.
        """
        for first_columns, rows_ in self.parts.get(table, ()):
            for start in range(0, len(rows_), _CHUNK):
                yield [(*first_columns, *row) for row in rows_[start : start + _CHUNK]]

    def release_rows(self) -> None:
        """Free the memory of the rows in small steps, so that other threads are not blocked for long."""
        for parts in self.parts.values():
            for _, rows_ in parts:
                while rows_:
                    del rows_[-_CHUNK:]


class LakeWriter:
    """Writes into the recorded tables of one lake. The caller must hold the recorder's lock of the lake.

    `add`, `seal`, `discard` and `waiting` return immediately. Call the other methods on a separate thread, because they
    read and write files.
    """

    def __init__(self, folder: LakeFolder) -> None:
        self._tables = {table.name: RecordedTable(folder.table(table.name), table) for table in TABLES}
        self._open: Batch | None = None
        self._sealed: list[Batch] = []
        self._vacuumed = 0.0

    @property
    def waiting(self) -> int:
        """Number of rows that wait in memory to be written to the lake."""
        return sum(batch.size for batch in self._sealed) + (self._open.size if self._open else 0)

    def begin(self) -> int | None:
        """Create missing tables and columns, and return the time of the newest poll; None if there are no polls.

        The time is in milliseconds since the epoch.
        """
        with owner_only():
            for table in self._tables.values():
                table.create()
        return max((file["max.poll"] for file in self._tables[POLLS.name].files()), default=None)

    def add(self, poll: int, keyframe: int, rows: RowsByTable, poll_row: RowValues) -> None:
        """Add the rows of one poll (read of the cluster) to the current batch. They are not written to the lake yet.

        Args:
            poll: time of this poll, in milliseconds since the epoch.
            keyframe: time of the last keyframe (a poll with the complete state), in milliseconds since the epoch.
            rows: table name → rows, for all tables except `polls`. The columns `day`, `keyframe` and `poll` are left
                out.
            poll_row: the poll's row in table `polls`. The columns `day`, `keyframe` and `poll` are left out, too.
        """
        if self._open is None or self._open.keyframe != keyframe:
            self.seal()
            self._open = Batch(keyframe)
        batch, first_columns = self._open, (day_of(poll), keyframe, poll)
        batch.last = poll
        for name, rows_ in {**rows, POLLS.name: [poll_row]}.items():
            batch.parts.setdefault(name, []).append((first_columns, rows_))

    def seal(self) -> None:
        """End the current batch of polls, so that `flush` writes it. The next poll begins a new batch."""
        if self._open is not None:
            self._sealed.append(self._open)
            self._open = None

    def flush(self) -> tuple[int, int]:
        """Write all batches that were ended by `seal`. Return a pair (number of written polls, number of rows).

        If a write fails, one of `storage_errors` is raised. The next call then writes the remaining rows.
        """
        polls = rows = 0
        with owner_only():
            # Iterate over a copy, because this loop removes batches from the list, and `seal` may add one meanwhile.
            for batch in list(self._sealed):
                for table in TABLES:
                    if table.name not in batch.done and batch.has(table.name):
                        self._tables[table.name].append(batch.rows(table.name), day_of(batch.keyframe), batch.last)
                        batch.done.add(table.name)
                polls, rows = polls + len(batch.parts[POLLS.name]), rows + batch.size
                self._sealed.remove(batch)
                batch.release_rows()
        return polls, rows

    def discard(self) -> list[Batch]:
        """Drop all batches that are not completely written, and return them."""
        # The lake may already contain some of the dropped rows. This does no harm, because readers ignore rows whose
        # poll is not in table `polls`.
        self.seal()
        dropped, self._sealed = self._sealed, []
        for table in self._tables.values():
            table.forget()
        return dropped

    def maintain(self, keyframe: int, keep_days: int | None, now: float) -> None:
        """Compact files, delete the rows of old days and, at most once an hour, remove unused files.

        If the compaction fails, for example because of a damaged file, the other two steps are done nevertheless. An
        error of any step is raised as one of `storage_errors`.

        Args:
            keyframe: time of the last keyframe (a poll with the complete state), in milliseconds since the epoch. Files
                with rows of this poll or of later polls are not compacted.
            keep_days: number of full UTC days before today whose rows are kept; None to keep all rows.
            now: current time, in seconds since the epoch.
        """
        with owner_only():
            try:
                self._compact(keyframe)
            finally:
                if keep_days is not None:
                    self._delete_before(utc_datetime(now).date() - timedelta(days=keep_days))
                self._vacuum_if_due()

    def _delete_before(self, oldest: date) -> None:
        for name in (POLLS.name, *(name for name in self._tables if name != POLLS.name)):
            self._tables[name].delete_before(oldest)

    def _vacuum_if_due(self) -> None:
        if time.monotonic() - self._vacuumed > _VACUUM_EVERY or not self._vacuumed:
            self._vacuumed = time.monotonic()
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
        """Merge the files of table `polls` into one file per day.

        Every reader of a lake first reads all polls, which takes less time if the table has few files.

        Args:
            keyframe: time of a keyframe (a poll with the complete state), in milliseconds since the epoch. Files with
                rows of this poll or of later polls are not merged.
        """
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
    """Free the rows of discarded batches in small steps, so that other threads are not blocked for long."""
    for batch in batches:
        batch.release_rows()


def _before(rows: list[Mapping[str, Any]], keyframe: int) -> Collection[int]:
    return {row["poll"] for row in rows if row["keyframe"] < keyframe}
