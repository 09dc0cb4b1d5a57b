"""The process that a lock file of a lake names: a recorder, or a run of the pipeline."""

from __future__ import annotations

import json
import os
import socket
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from kgtui.errors import PARSE_ERRORS
from kgtui.model.text import visible

if TYPE_CHECKING:
    from kgtui.lake.store import LakePath

PIPELINE_LOCK = "pipeline.lock"
"""Name of the pipeline's lock file in the folder of the lake."""

STALE = 120.0
"""Time in seconds after which a process on another machine counts as dead if it has not renewed its lock."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that a lock file names.

    Attributes:
        host, pid: name of the machine and id of the process.
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
            age: seconds since the last renewal of the lock. A process on another machine is alive if it is below
                `STALE`.
        """
        return is_running(self.pid) if self.is_local else age < STALE


def this_process() -> Holder:
    """Return this process as the holder of a lock that it takes now."""
    return Holder(socket.gethostname(), os.getpid(), round(time.time(), 3))


def parse_holder(data: bytes) -> Holder | None:
    """Return the process that a lock file names; None if the content is not valid."""
    try:
        values = json.loads(data)
        return Holder(str(values["host"]), int(values["pid"]), float(values["since"]))
    except (TypeError, KeyError, *PARSE_ERRORS):
        return None


def held_by(path: LakePath, holder: Holder | None) -> str:
    """Return a sentence for the user that says which process holds the lock; `holder` is None if unknown."""
    name = str(holder) if holder is not None else "another process"
    if path.name == PIPELINE_LOCK:
        return f"{name} already runs the pipeline on {path.parent}. Wait until that run has finished."
    return f"{name} already records into {path.parent}. Only one process can record into a lake."


def is_running(pid: int) -> bool:
    """Return whether a process of this machine is running."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
