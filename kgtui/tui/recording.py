"""Recording while the screen is open: the recorder in this process, over the screen's monitor and connections."""

from __future__ import annotations

import asyncio
import logging
import re
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from kgtui.errors import KgtuiError
from kgtui.tui import text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kgtui.history.options import RecorderStatus
    from kgtui.history.recorder import Recorder
    from kgtui.tui.session import Session

_log = logging.getLogger(__name__)

AT_ONCE = 0.7
"""Seconds in which most of what stands against a recording is found: a lake of another recorder, a folder of others."""

MOST_PATIENCE = 10.0
"""Seconds that the last write may take when the screen ends."""

_UNUSUAL = re.compile(r"[^A-Za-z0-9._-]+")


@cache
def missing() -> str:
    """The library that recording needs and that is not installed, or ``""``; nothing is loaded to find out."""
    return next((name for name in ("deltalake", "pyarrow") if find_spec(name) is None), "")


def cannot_record(session: Session) -> str | None:
    """Why this cluster cannot be recorded; None when it can."""
    if session.replay_position is not None:
        return "this is a recording already"
    if session.admin is None or session.monitor is None:
        return "no cluster is being watched"
    return f"recording needs {missing()}: pip install 'kgtui[history]'" if missing() else None


def cannot_look_back(session: Session) -> str | None:
    """Why no recording can be opened from here; None when one can."""
    if session.open_recording is None:
        return "there is nothing to open a recording with; kgtui replay LAKE does"
    return f"recordings are read with {missing()}: pip install 'kgtui[history]'" if missing() else None


def default_folder(session: Session) -> Path:
    """Where a cluster is recorded to, unless somebody says otherwise."""
    name = _UNUSUAL.sub("-", session.target.name).strip("-.")[:60]
    return session.state_folder / "lakes" / (name or "cluster")


class Recording:
    """One recording under way.

    Args:
        session: whose cluster is recorded; it has the recording as long as that goes on.
        say: told what a person should know; the second argument is whether it is bad news.
        changed: called when the recording has begun or ended.
    """

    def __init__(
        self, session: Session, path: Path, say: Callable[[str, bool], None], changed: Callable[[], None]
    ) -> None:
        self.path = path
        self._session = session
        self._say = say
        self._changed = changed
        self._recorder: Recorder | None = None
        self._task: asyncio.Task[None] | None = None
        self._told = False

    @property
    def status(self) -> RecorderStatus | None:
        """How it goes; None before it has begun."""
        return self._recorder.status if self._recorder is not None else None

    async def begin(self) -> None:
        """Begin. Raises `KgtuiError` when that fails at once; what fails later is said."""
        from kgtui.history.recorder import Recorder

        session = self._session
        if session.monitor is None or session.admin is None:
            return
        self._recorder = Recorder(
            session.monitor, session.admin, self.path, say=lambda words: self._say(words, True), alone=False
        )
        self._task = asyncio.create_task(self._recorder.run(), name="record")
        session.recording = self
        self._task.add_done_callback(self._ended)
        await asyncio.wait({self._task}, timeout=AT_ONCE)
        if self._task.done():
            self._told = True
            self._task.result()

    async def end(self) -> None:
        """Write what waits, and end."""
        if self._recorder is None or self._task is None:
            return
        self._recorder.stop()
        await asyncio.wait({self._task}, timeout=MOST_PATIENCE)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._session.recording = None
        self._changed()
        error = None if task.cancelled() else task.exception()
        if error is not None:
            if not isinstance(error, KgtuiError):
                _log.error("the recording failed", exc_info=error)
            if not self._told:
                self._say(f"the recording ended: {error}", True)
        elif self._recorder is not None:
            status = self._recorder.status
            lost = f"; {status.waiting:,} rows could not be written" if status.waiting else ""
            polls = f"{status.polls:,} poll{'' if status.polls == 1 else 's'}"
            self._say(f"recorded {polls} into {self.path}{lost}; kgtui replay opens it", bool(lost))


def mark(session: Session) -> tuple[str, str] | None:
    """What the header says of a recording under way, and its class; None when there is none."""
    recording = (session.live_session or session).recording
    if recording is None:
        return None
    dot = text.marks().record
    if recording.status is not None and recording.status.error:
        return f"{dot} REC: cannot write", "header--warn"
    return f"{dot} REC", "header--error"
