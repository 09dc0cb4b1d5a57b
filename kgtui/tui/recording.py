"""Record the open cluster, and find its lake: a folder with a recording and the tables computed from the recording."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kgtui.errors import KgtuiError, LakeError
from kgtui.model.number_format import counted
from kgtui.tui import text

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.history.options import RecorderStatus
    from kgtui.history.recorder import Recorder
    from kgtui.insights.finding import Insights
    from kgtui.lake.gold import Gold
    from kgtui.lake.store import LakePath
    from kgtui.tui.session import Session

_log = logging.getLogger(__name__)

FIRST_ERRORS_WAIT = 0.7
"""How long `Recording.begin` waits for an early error of the recorder, in seconds.

Most errors occur within this time, such as the error that another process is recording into the same folder.
"""

LAST_WRITE_TIMEOUT = 10.0
"""Maximum time for which `Recording.end` waits until all rows have been written, in seconds."""

_NOT_IN_FILE_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


@cache
def missing_library() -> str:
    """Return the name of a Python package that recordings need but that is missing; empty if none is missing."""
    return next((name for name in ("deltalake", "pyarrow") if find_spec(name) is None), "")


def why_not_recordable(session: Session) -> str | None:
    """Return why the cluster of a session cannot be recorded; None if it can be recorded."""
    if session.replay_position is not None:
        return "this is a recording; only a live cluster can be recorded"
    if session.admin is None or session.monitor is None:
        return "no cluster is open; press c to open one"
    library = missing_library()
    return f"recording needs {library}; install it with: pip install 'kgtui[history]'" if library else None


def why_no_recording_can_be_opened(session: Session) -> str | None:
    """Return why no recording can be opened from this session; None if recordings can be opened."""
    if session.open_recording is None:
        return "Recordings cannot be opened from here. Run kgtui replay LAKE"
    library = missing_library()
    return f"recordings need {library}; install it with: pip install 'kgtui[history]'" if library else None


def default_folder(session: Session) -> Path:
    """Return the folder into which the session's cluster is recorded if the user chooses no other folder."""
    name = _NOT_IN_FILE_NAMES.sub("-", session.target.name).strip("-.")[:60]
    return session.state_folder.lakes / (name or "cluster")


class Recording:
    """Records the cluster of a session. The recorder runs in this process, and uses the connections of the session.

    Args:
        notify: shows a message to the user; the second argument is True for a warning.
        on_change: called after the recording has ended, also after an error.
    """

    def __init__(
        self, session: Session, path: LakePath, notify: Callable[[str, bool], None], on_change: Callable[[], None]
    ) -> None:
        self.path = path
        self._session = session
        self._notify = notify
        self._on_change = on_change
        self._recorder: Recorder | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def status(self) -> RecorderStatus | None:
        """Progress of the recorder; None if it has not started."""
        return self._recorder.status if self._recorder is not None else None

    async def begin(self) -> None:
        """Start recording.

        Raises `KgtuiError` if the recorder fails in the first `FIRST_ERRORS_WAIT` seconds. `notify` shows later errors.
        """
        from kgtui.history.recorder import Recorder

        session = self._session
        if session.monitor is None or session.admin is None:
            return
        self._recorder = Recorder(
            session.monitor, session.admin, self.path, notify=lambda message: self._notify(message, True), alone=False
        )
        self._task = asyncio.create_task(self._recorder.run(), name="record")
        session.recording = self
        # Resume polling if it is paused. Otherwise, the recorder would store the same data again and again.
        session.monitor.resume()
        try:
            await asyncio.wait({self._task}, timeout=FIRST_ERRORS_WAIT)
        except asyncio.CancelledError:
            # The user has closed the dialog while the recording was being started. Stop the recorder.
            self._task.add_done_callback(self._ended)
            self._recorder.stop()
            raise
        if not self._task.done():
            self._task.add_done_callback(self._ended)
        elif (error := self._clear_session(self._task)) is not None:
            raise error
        else:
            self._notify_finished()

    async def end(self) -> None:
        """Stop recording, and wait at most `LAST_WRITE_TIMEOUT` until all rows have been written."""
        if self._recorder is None or self._task is None:
            return
        self._recorder.stop()
        await asyncio.wait({self._task}, timeout=LAST_WRITE_TIMEOUT)

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = self._clear_session(task)
        if error is not None:
            self._notify(f"the recording stopped: {error}", True)
        else:
            self._notify_finished()

    def _clear_session(self, task: asyncio.Task[None]) -> BaseException | None:
        """Set `Session.recording` to None, and call `on_change`. Return the error that ended the recording, or None."""
        self._session.recording = None
        self._on_change()
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, KgtuiError):
            _log.error("the recording failed", exc_info=error)
        return error

    def _notify_finished(self) -> None:
        if self._recorder is not None:
            status = self._recorder.status
            done = f"recorded {counted(status.polls, 'poll')} in {self.path}"
            if status.waiting:
                done = f"{done}; {counted(status.waiting, 'row')} could not be written"
            self._notify(f"{done}; press t to open the recording, or run kgtui replay", status.waiting > 0)


def recording_mark(session: Session) -> tuple[str, str] | None:
    """Return (text, CSS component class) of the mark `REC` in the header; None if kgtui is not recording.

    While a recording is displayed, the mark is about the live cluster from which the recording was opened.
    """
    recording = (session.live_session or session).recording
    if recording is None:
        return None
    dot = text.marks().record
    if recording.status is not None and recording.status.error:
        return f"{dot} REC: cannot write", "header--warn"
    return f"{dot} REC", "header--error"


class LakeChoice(NamedTuple):
    """The lake of a session: a folder with a recording of the cluster and the tables computed from the recording.

    Attributes:
        path: path or URI of the lake, which does not have to exist.
        reason: why the session uses this lake, in a few words, such as `the open recording`.
        chosen: whether the user has chosen this folder; False for the default folder.
    """

    path: LakePath
    reason: str
    chosen: bool = True


def lake_of(session: Session) -> LakeChoice:
    """Return the folder (lake) with the recording of a session's cluster.

    The folder of the open recording takes precedence, then the folder into which kgtui is recording now, then the
    folder in the environment variable KGTUI_LAKE. If there is none of these, return the default folder.
    """
    if session.lake is not None:
        return LakeChoice(session.lake, "the open recording")
    if session.recording is not None:
        return LakeChoice(session.recording.path, "being recorded now")
    # `kgtui.lake` is imported here, so that kgtui starts faster.
    from kgtui.lake.folder import LAKE_VARIABLE

    named = os.environ.get(LAKE_VARIABLE, "").strip()
    if named:
        return LakeChoice(_path_of(named), f"from {LAKE_VARIABLE}")
    return LakeChoice(default_folder(session), "the default folder for recordings", chosen=False)


def _path_of(named: str) -> LakePath:
    """Convert the value of KGTUI_LAKE into the path or URI of a lake (a folder with a recording).

    An invalid URI does not raise an error here. It is returned as a `Path`, so that the user sees an error when kgtui
    reads the path.
    """
    from kgtui.lake.store import lake_path

    try:
        return lake_path(named)
    except KgtuiError:
        return Path(named)


@dataclass(frozen=True, slots=True, eq=False)
class FindingsRead:
    """Findings from the gold tables of a recording, or the error that occurred when reading the tables.

    `kgtui pipeline` computes gold tables from a recording. A finding is a problem of groups that kgtui has found in
    these tables.

    Attributes:
        gold: object that reads the gold tables; None if the folder of the recording cannot be opened.
        insights: the findings; None after an error.
        cluster: id of the recorded cluster; None if unknown.
        error: the error message; empty if the findings have been read.
        recorded: whether the folder of the recording could be opened, even if it contains no gold tables.
    """

    gold: Gold | None = None
    insights: Insights | None = None
    cluster: str | None = None
    error: str = ""
    recorded: bool = False


def read_findings(path: LakePath) -> FindingsRead:
    """Return the findings (problems of groups) in a recording's gold tables, or the error that occurred.

    Reading the tables can take seconds. `kgtui pipeline` computes gold tables from a recording.

    Args:
        path: folder of the recording.
    """
    from kgtui.insights.apply_rules import find_insights
    from kgtui.lake.gold import Gold
    from kgtui.lake.tables import recorded_cluster_id

    gold = None
    try:
        gold = Gold(path)
        insights = find_insights(gold)
    except (KgtuiError, OSError) as error:
        return FindingsRead(gold, error=str(error), recorded=gold is not None)
    return FindingsRead(gold, insights, recorded_cluster_id(path), recorded=True)


def recorded_span(path: str) -> tuple[float, float]:
    """Return the times of a recording's first and last poll, read from disk, in seconds since the epoch.

    Raises `LakeError` if the recording cannot be read.
    """
    from kgtui.history.recording_reader import RecordingReader

    try:
        lake = RecordingReader(path)
    except OSError as error:
        from kgtui.lake.store_errors import lake_error_text

        raise LakeError(f"{path} cannot be read: {error.strerror or lake_error_text(error)}") from error
    return lake.first.at, lake.last.at


def disappeared_at(session: Session, group: str) -> float | None:
    """Return when a deleted group disappeared, in epoch seconds; None if unknown.

    This is the time of the first recorded poll that no longer found the group. If the group was deleted several times,
    the last deletion counts. Reading the recording of the cluster can take seconds.
    """
    path = lake_of(session).path
    if not is_lake(path):
        return None
    from kgtui.history.recording_reader import RecordingReader
    from kgtui.lake.tables import recorded_cluster_id

    cluster = None if session.monitor is None else session.monitor.snapshot.cluster.cluster_id
    try:
        return RecordingReader(path).disappeared_at(group) if recorded_cluster_id(path) == cluster else None
    except (KgtuiError, OSError):
        return None


def is_lake(path: LakePath) -> bool:
    """Return whether a folder is a lake (a folder with a recording) that can be read."""
    from kgtui.lake.folder import LakeFolder

    try:
        LakeFolder.of(path).check()
    except (LakeError, OSError):
        return False
    return True
