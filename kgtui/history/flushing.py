"""Write recorded polls to the lake on a separate thread.

If a write fails, the rows stay in memory, and the next write tries again (see `MAX_WAITING_ROWS`).
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from kgtui.errors import LakeError, RefusedError
from kgtui.history.options import RecorderStatus
from kgtui.lake.delta import load_deltalake, storage_errors
from kgtui.lake.lock import recorder_lock
from kgtui.lake.store_errors import lake_error_text
from kgtui.lake.writer import LakeWriter, release_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.history.options import RecorderOptions
    from kgtui.lake.folder import LakeFolder
    from kgtui.lake.lock_holder import Holder
    from kgtui.lake.schemas.definition import RowsByTable, RowValues

T = TypeVar("T")

MAX_WAITING_ROWS = 1_000_000
"""Maximum number of rows that wait in memory while the lake cannot be written. If more rows wait, all are dropped.

For example, if the recorder polls every ten seconds, and each poll has 17,000 rows, the rows are dropped after about
ten minutes.
"""

_log = logging.getLogger(__name__)


class Flusher:
    """Collects rows of polls in memory, and writes them to the lake at regular intervals.

    Create a `Flusher` while an event loop is running. Call `begin` before all other methods, and `end` at the end.

    Args:
        notify: function that is called with a message for the user when a problem begins or ends.
        elapsed: function that returns the time of a monotonic clock, in seconds.

    Attributes:
        lost: whether rows were dropped, because the lake could not be written for too long. If so, the recorder stores
            all rows of the next poll, not only the changed ones.
    """

    def __init__(
        self,
        folder: LakeFolder,
        options: RecorderOptions,
        notify: Callable[[str], None],
        *,
        now: Callable[[], float],
        elapsed: Callable[[], float],
    ) -> None:
        self._folder = folder
        self._options = options
        self._notify = notify
        self._now, self._elapsed = now, elapsed
        self._lock = recorder_lock(folder.lock)
        self._writer = LakeWriter(folder)
        # Write to the lake on a thread, so that the event loop never waits for the disk. Use only one thread, because
        # several threads could change the order of the writes.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lake")
        self._flushing: asyncio.Task[None] | None = None
        self._oldest: float | None = None
        self._newest = 0
        self._keyframe: int | None = None
        self._maintained: int | None = None
        self._maintenance_error = ""
        self._refused: RefusedError | None = None
        self.lost = False
        self.status = RecorderStatus()

    @property
    def crashed_holder(self) -> Holder | None:
        """The previous recorder, if it has crashed (ended without releasing the lake's lock); otherwise None."""
        return self._lock.crashed_holder

    @property
    def waiting(self) -> int:
        """Number of rows that wait in memory to be written to the lake."""
        return self._writer.waiting

    async def begin(self) -> int | None:
        """Lock the lake, and create it if it does not exist.

        Returns the time of the newest poll in the lake, in milliseconds since the epoch; None if there are no polls.

        Raises:
            LakeError: the folder cannot be written, or is not a lake.
            RefusedError: another process is recording into this lake.
        """
        newest = await self._off_loop(self._begin)
        if not self._lock.enforced:
            self._notify(
                f"nothing enforces that only one process records into {self._folder.path}, because this store has no "
                "conditional writes. Make sure that no other recorder uses this lake"
            )
        return newest

    def _begin(self) -> int | None:
        load_deltalake()
        try:
            self._folder.prepare()
            self._lock.take()
            return self._writer.begin()
        except storage_errors() as error:
            raise self._unwritable(error) from error

    async def claim(self, cluster_id: str | None) -> None:
        """Store the cluster id in the lake, unless the lake already has one.

        Raises:
            LakeError: the lake belongs to a different cluster, or cannot be written.
        """
        await self._off_loop(self._claim, cluster_id)

    def _claim(self, cluster_id: str | None) -> None:
        try:
            self._folder.claim(cluster_id)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: Exception) -> LakeError:
        return LakeError(f"{self._folder.path} cannot be written: {lake_error_text(error)}")

    def add(self, at: int, keyframe: int, rows: RowsByTable, poll_row: RowValues) -> None:
        """Queue the rows of one poll for the next write.

        Args:
            at: time of this poll, in milliseconds since the epoch.
            keyframe: time of the last keyframe (a poll with the complete state), in milliseconds since the epoch.
            rows: table name → rows, for all tables except `polls`. The columns `day`, `keyframe` and `poll` are left
                out.
            poll_row: this poll's row in table `polls`. The columns `day`, `keyframe` and `poll` are left out, too.
        """
        self._writer.add(at, keyframe, rows, poll_row)
        self._newest, self._keyframe = at, keyframe
        self._oldest = self._oldest or self._elapsed()

    def write_if_due(self) -> None:
        """Start writing the waiting rows to the lake, unless they can wait until the next poll, or a write is running.

        Rows can wait if all of them will still be younger than `RecorderOptions.flush` seconds at the next poll. Call
        this method after each poll.

        Raises:
            RefusedError: the last write failed, because another process has taken the lock of the lake.
        """
        if self._refused is not None:
            raise self._refused
        due = self._oldest is not None and (
            self._elapsed() - self._oldest + self._options.interval >= self._options.flush
        )
        if due and (self._flushing is None or self._flushing.done()):
            self._flushing = asyncio.create_task(self._flush(), name="write polls to the lake")

    async def end(self) -> None:
        """Write all waiting rows, and release the lock."""
        try:
            if self._flushing is not None:
                await asyncio.gather(self._flushing, return_exceptions=True)
            if self._writer.waiting and self._refused is None:
                await self._flush(last=True)
        finally:
            # If some rows could not be written, keep the lock file, so that the next recorder reports the loss.
            await self._off_loop(self._lock.release, not self._writer.waiting)
            self._thread.shutdown(wait=False)

    async def _flush(self, *, last: bool = False) -> None:
        oldest, self._oldest = self._oldest, None
        newest, keyframe = self._newest, self._keyframe
        self._writer.seal()
        try:
            polls, rows = await self._off_loop(self._write)
            self.status = RecorderStatus(
                self.status.polls + polls,
                self.status.rows + rows,
                newest / 1000,
                self._writer.waiting,
                self.status.error,
            )
            self.report_recovery()
            if keyframe is not None and keyframe != self._maintained and not last:
                self._maintained = keyframe
                await self._maintain(keyframe)
        except RefusedError as error:
            self._refused = error
        except Exception as error:  # noqa: BLE001 - the error is reported, and the next flush tries again
            if not isinstance(error, storage_errors()):
                _log.exception("flush failed")
            self._oldest = oldest
            self.status = replace(self.status, waiting=self._writer.waiting)
            self.report_error(f"the lake {self._folder.path} cannot be written: {lake_error_text(error)}")
            if self._writer.waiting > MAX_WAITING_ROWS:
                await self._give_up()

    async def _maintain(self, keyframe: int) -> None:
        """Compact and prune the tables. If this fails with the same error as the last time, do not notify the user."""
        try:
            await self._off_loop(self._writer.maintain, keyframe, self._options.keep_days, self._now())
        except storage_errors() as error:
            message = (
                f"recording continues, but files in {self._folder.path} could not be merged or deleted: "
                f"{lake_error_text(error)}"
            )
            if message != self._maintenance_error:
                self._notify(message)
            self._maintenance_error = message
        else:
            self._maintenance_error = ""

    def _write(self) -> tuple[int, int]:
        self._lock.renew()
        return self._writer.flush()

    async def _give_up(self) -> None:
        dropped, self.lost = self._writer.discard(), True
        self._notify(
            f"more than {MAX_WAITING_ROWS:,} rows could not be written to the lake, so the polls that waited in memory "
            "were discarded. Recording continues when the lake can be written again."
        )
        await self._off_loop(release_rows, dropped)

    def report_error(self, message: str) -> None:
        """Store in `status` why nothing can be recorded.

        The user is notified too, unless `status` already contained an error.
        """
        if not self.status.error:
            self._notify(message)
        self.status = replace(self.status, error=message)

    def report_recovery(self) -> None:
        """If `status` contains an error, remove the error and notify the user that recording continues."""
        if self.status.error:
            self._notify("recording continues")
            self.status = replace(self.status, error="")

    async def _off_loop(self, work: Callable[..., T], *arguments: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)
