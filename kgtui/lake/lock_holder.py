"""Classes for the locks of a lake: `LakeLock` is their interface, and `Holder` is the process that holds a lock."""

from __future__ import annotations

import json
import os
import socket
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Protocol

from kgtui.errors import PARSE_ERRORS
from kgtui.model.text import visible

if TYPE_CHECKING:
    from kgtui.lake.store import LakePath

PIPELINE_LOCK = "pipeline.lock"
"""Name of the pipeline's lock file in the folder of the lake."""

STALE = 120.0
"""A process on another machine counts as no longer running if it has not renewed its lock for this many seconds."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that a lock file names.

    Attributes:
        host: name of the machine on which the process runs.
        pid: process id.
        since: when the process took the lock, in seconds since the epoch.
    """

    host: str
    pid: int
    since: float

    def __str__(self) -> str:
        return f"process {self.pid} on {visible(self.host)}"

    @property
    def is_local(self) -> bool:
        """Whether the process runs on this machine."""
        return self.host == socket.gethostname()

    def encode(self) -> bytes:
        """Return the content of a lock file that names this process."""
        return json.dumps(asdict(self)).encode()

    def is_alive(self, age: float) -> bool:
        """Return whether the process is running.

        Args:
            age: seconds since the last renewal of the lock. A process on another machine counts as running if this is
                less than `STALE`. For a process on this machine, `age` is ignored.
        """
        return is_running(self.pid) if self.is_local else age < STALE


class LakeLock(Protocol):
    """A lock of a lake: the recorder's or the pipeline's.

    This process holds the lock from `take` to `release` or `hand_back`.

    Attributes:
        crashed_holder: the process that held the lock before, if it crashed; otherwise None. Set by `take`.
        enforced: whether it is certain that only one process holds the lock. False in a store without conditional
            writes. Set by `take`.
    """

    crashed_holder: Holder | None
    enforced: bool

    def take(self) -> None:
        """Take the lock.

        Raises:
            RefusedError: another process holds the lock.
            LakeError: the lake is in a store, and obstore is not installed.
            OSError: the lock file cannot be written.
        """
        ...

    def renew(self) -> None:
        """Renew the lock, so that other processes see that its holder is alive.

        If this process does not hold the lock, do nothing.

        Raises:
            RefusedError: another process has taken the lock, because this process did not renew it for `STALE` seconds.
            OSError: the store cannot be written.
        """
        ...

    def release(self, clean: bool = True) -> None:
        """Release the lock. If this process does not hold the lock, do nothing.

        Args:
            clean: whether to remove the lock file. If the file stays, the next process that takes the lock reports a
                crash.
        """
        ...

    def hand_back(self) -> None:
        """Release the lock after maintenance.

        If the previous holder crashed, write its host and process id into the lock file again, so that the next
        recorder still reports the crash. Otherwise, remove the lock file.
        """
        ...


def this_process() -> Holder:
    """Return a `Holder` for this process, with the current time as the time at which it took the lock."""
    return Holder(socket.gethostname(), os.getpid(), round(time.time(), 3))


def parse_holder(data: bytes) -> Holder | None:
    """Return the process that a lock file names; None if the content is not valid."""
    try:
        values = json.loads(data)
        return Holder(str(values["host"]), int(values["pid"]), float(values["since"]))
    except (TypeError, KeyError, *PARSE_ERRORS):
        return None


def held_by(path: LakePath, holder: Holder | None) -> str:
    """Return a message for the user that says which process holds a lock.

    Args:
        path: the lock file.
        holder: the process that holds the lock; None if the process is unknown.
    """
    name = str(holder) if holder is not None else "another process"
    if path.name == PIPELINE_LOCK:
        return f"{name} already runs the pipeline on {path.parent}. Wait until that run has finished."
    return f"{name} already records into {path.parent}. Only one process can record into a lake."


def is_running(pid: int) -> bool:
    """Return whether a process with the id `pid` is running on this machine."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
