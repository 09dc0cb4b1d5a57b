"""Writes the log of kgtui to a file in the state folder. Only the owner can read the file. Secrets are removed."""

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
"""Maximum size of the log file, in bytes. Before the file would exceed this size, it is rotated."""
OLD_FILES = 3
"""Number of rotated log files that stay on disk; older ones are deleted."""

_LIMITED_TO_INFO = ("aiokafka.conn", "asyncio")
"""Loggers whose DEBUG messages are never written to the log file, not even with `--debug`.

At level DEBUG, `aiokafka.conn` would log passwords, and `asyncio` would log every iteration of its event loop.
"""


class _Redacted(logging.Formatter):
    """Formats log messages: removes secrets, and escapes all control characters except line breaks."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(visible(line) for line in redact(super().format(record)).split("\n"))


class _Private(RotatingFileHandler):
    """A rotating log file with mode 0600, so that only its owner can read it."""

    def _open(self) -> TextIOWrapper:
        os.close(open_private(Path(self.baseFilename), os.O_WRONLY | os.O_CREAT | os.O_APPEND))
        return super()._open()


def start_log(*, debug: bool) -> Path | None:
    """Log to `kgtui.log` in the state folder. Return the path of the file, or None if the file cannot be opened.

    Args:
        debug: whether to log all levels, not only warnings and errors.
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
