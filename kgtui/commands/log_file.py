"""Writes the log of kgtui to a private file in the state folder, without secrets. Nothing is logged to the terminal."""

from __future__ import annotations

import logging
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING

from kgtui.config import state_folder
from kgtui.config.state_folder import private_folder
from kgtui.model.text import redact, visible
from kgtui.private_files import open_private

if TYPE_CHECKING:
    from io import TextIOWrapper

MAX_BYTES = 1_000_000
"""Size at which the log file is rotated, in bytes."""
OLD_FILES = 3
"""Number of rotated log files that stay on disk; older ones are deleted."""

_LIMITED_TO_INFO = ("aiokafka.conn", "asyncio")
"""Loggers whose level is INFO even with `--debug`.

At DEBUG, `aiokafka.conn` logs every request, including passwords, and `asyncio` logs a line per iteration of the event
loop.
"""


class _Redacted(logging.Formatter):
    """Formats log records, removing secrets and all control characters except the line breaks of a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(visible(line) for line in redact(super().format(record)).split("\n"))


class _Private(RotatingFileHandler):
    """Writes to a rotating file with mode 0600, so that only its owner can read it."""

    def _open(self) -> TextIOWrapper:
        os.close(open_private(Path(self.baseFilename), os.O_WRONLY | os.O_CREAT | os.O_APPEND))
        return super()._open()


def start_log(*, debug: bool) -> Path | None:
    """Send all log records to `kgtui.log` in the state folder only, so that no log line disturbs the terminal UI.

    Args:
        debug: whether to write records of every level, instead of warnings and errors only.

    Returns:
        The path of the file. If the file cannot be written, all records are discarded, and the result is None.
    """
    root = logging.getLogger()
    for name in _LIMITED_TO_INFO:
        logging.getLogger(name).setLevel(logging.INFO)
    path = state_folder().log
    try:
        private_folder(path.parent)
        handler: logging.Handler = _Private(
            path, maxBytes=MAX_BYTES, backupCount=OLD_FILES, encoding="utf-8", errors="replace"
        )
    except OSError:
        root.addHandler(logging.NullHandler())
        return None
    handler.setFormatter(_Redacted("%(asctime)s %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S%z"))
    root.addHandler(handler)
    root.setLevel(logging.DEBUG if debug else logging.WARNING)
    return path
