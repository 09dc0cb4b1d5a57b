"""The log file: in the state folder, for its owner only, without secrets, and never on the screen."""

from __future__ import annotations

import logging
import os
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING

from kgtui.config import state_dir
from kgtui.model.text import redact, visible

if TYPE_CHECKING:
    from io import TextIOWrapper
    from pathlib import Path

BYTES = 1_000_000
KEPT = 3

_TALKATIVE = ("aiokafka.conn", "asyncio")
"""Loggers that at DEBUG print the bytes of logins, or every turn of the loop."""


class _Redacted(logging.Formatter):
    """One harmless line a record; lines of a traceback keep their ends."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(visible(line) for line in redact(super().format(record)).split("\n"))


class _Private(RotatingFileHandler):
    """A rotating file that only its owner can read."""

    def _open(self) -> TextIOWrapper:
        os.close(os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        return super()._open()


def start_log(*, debug: bool) -> Path | None:
    """Write what the program says of itself to `kgtui.log`; warnings only, unless `debug`. None if that is impossible.

    Records go nowhere else: a screen must not be written across.
    """
    root = logging.getLogger()
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.INFO)
    path = state_dir() / "kgtui.log"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handler: logging.Handler = _Private(path, maxBytes=BYTES, backupCount=KEPT, encoding="utf-8", errors="replace")
    except OSError:
        root.addHandler(logging.NullHandler())
        return None
    handler.setFormatter(_Redacted("%(asctime)s %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S%z"))
    root.addHandler(handler)
    root.setLevel(logging.DEBUG if debug else logging.WARNING)
    return path
