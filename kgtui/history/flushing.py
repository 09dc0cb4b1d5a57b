"""When what was recorded is written: in time, on a thread of its own, and again where the disk took nothing."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from kgtui.errors import LakeError
from kgtui.history.options import RecorderStatus
from kgtui.lake.delta import load_deltalake, storage_errors
from kgtui.lake.lock import RecorderLock
from kgtui.lake.writer import LakeWriter, release_rows
from kgtui.model.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.history.options import RecorderOptions
    from kgtui.lake.folder import LakeFolder
    from kgtui.lake.lock import Holder
    from kgtui.lake.schemas.definition import RowsByTable, RowValues

T = TypeVar("T")

MOST_WAITING = 1_000_000
"""Rows that wait for a disk that takes none; about ten minutes of 10,000 groups of which a tenth moves."""

_log = logging.getLogger(__name__)


class Flusher:
    """Writes one lake, from `begin` to `end`. Make it inside a running event loop.

    Args:
        say: told a sentence when something begins or ends that a person should know.
        now: seconds since the epoch.
        elapsed: seconds of a clock that never goes back.

    Attributes:
        status: how it goes.
        lost: rows were given up: what later ones build upon is not in the lake. Who makes them sets it back.
    """

    def __init__(
        self,
        folder: LakeFolder,
        options: RecorderOptions,
        say: Callable[[str], None],
        *,
        now: Callable[[], float],
        elapsed: Callable[[], float],
    ) -> None:
        self._folder = folder
        self._options = options
        self._say = say
        self._now, self._elapsed = now, elapsed
        self._lock = RecorderLock(folder.lock)
        self._writer = LakeWriter(folder)
        # One thread, so that writes keep their order, and no screen waits for a disk.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lake")
        self._flushing: asyncio.Task[None] | None = None
        self._oldest: float | None = None
        self._newest = 0
        self._keyframe: int | None = None
        self._maintained: int | None = None
        self.lost = False
        self.status = RecorderStatus()

    @property
    def left_by(self) -> Holder | None:
        """The recorder before, when it did not come to its end."""
        return self._lock.left_by

    @property
    def waiting(self) -> int:
        """Rows that are not in the lake yet."""
        return self._writer.waiting

    async def begin(self) -> int | None:
        """Make the lake, unless it is there, and lock it; the newest poll that it holds.

        Raises:
            LakeError: the folder cannot be written, or is something else.
            RefusedError: another process records into it.
        """
        return await self._off_loop(self._begin)

    def _begin(self) -> int | None:
        load_deltalake()
        try:
            self._folder.prepare()
            self._lock.take()
            return self._writer.begin()
        except storage_errors() as error:
            raise self._unwritable(error) from error

    async def claim(self, cluster_id: str | None) -> None:
        """Keep the lake for this cluster. Raises `LakeError` where it is another's, or cannot be written."""
        await self._off_loop(self._claim, cluster_id)

    def _claim(self, cluster_id: str | None) -> None:
        try:
            self._folder.claim(cluster_id)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: Exception) -> LakeError:
        return LakeError(f"{self._folder.path} cannot be written: {visible(str(error))}")

    def add(self, at: int, keyframe: int, rows: RowsByTable, told: RowValues) -> None:
        """Let a poll wait to be written: its rows, and its row of `polls` from `taken_at` on."""
        self._writer.add(at, keyframe, rows, told)
        self._newest, self._keyframe = at, keyframe
        self._oldest = self._oldest or self._elapsed()

    def write_if_due(self) -> None:
        """Begin to write when the oldest poll that waits would wait too long for the next time."""
        due = self._oldest is not None and (
            self._elapsed() - self._oldest + self._options.interval >= self._options.flush
        )
        if due and (self._flushing is None or self._flushing.done()):
            self._flushing = asyncio.create_task(self._flush(), name="write polls into the lake")

    async def end(self) -> None:
        """Write what waits, and let go of the lake."""
        try:
            if self._flushing is not None:
                await asyncio.gather(self._flushing, return_exceptions=True)
            if self._writer.waiting:
                await self._flush(last=True)
        finally:
            # What could not be written is said at the next start, as after a kill.
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
            self.well()
            if keyframe is not None and keyframe != self._maintained and not last:
                self._maintained = keyframe
                await self._off_loop(self._writer.maintain, keyframe, self._options.keep_days, self._now())
        except Exception as error:  # noqa: BLE001 - the poll loop's other half: reported, and tried again
            if not isinstance(error, storage_errors()):
                _log.exception("a flush failed")
            self._oldest = oldest
            self.status = replace(self.status, waiting=self._writer.waiting)
            self.trouble(f"the lake {self._folder.path} cannot be written: {visible(str(error))}")
            if self._writer.waiting > MOST_WAITING:
                await self._give_up()

    def _write(self) -> tuple[int, int]:
        done = self._writer.flush()
        self._lock.renew()
        return done

    async def _give_up(self) -> None:
        dropped, self.lost = self._writer.discard(), True
        self._say("what waited to be written is given up; the recording goes on when the lake can be written")
        await self._off_loop(release_rows, dropped)

    def trouble(self, sentence: str) -> None:
        """Say why nothing is recorded at the moment, once."""
        if not self.status.error:
            self._say(sentence)
        self.status = replace(self.status, error=sentence)

    def well(self) -> None:
        """Say that it is recorded again, if it was not."""
        if self.status.error:
            self._say("recording again")
            self.status = replace(self.status, error="")

    async def _off_loop(self, work: Callable[..., T], *arguments: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)
