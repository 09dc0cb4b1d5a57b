"""A report of a crash: where, in what versions, and without any value of a variable."""

from __future__ import annotations

import os
import platform
import re
import sys
import time
import traceback
from importlib import metadata
from typing import TYPE_CHECKING

from rich.text import Text

import kgtui

if TYPE_CHECKING:
    from pathlib import Path

_LIBRARIES = ("textual", "rich", "aiokafka", "msgspec")
_SECRETS = re.compile(
    r"(?i)((?:password|passwd|secret|token|jaas|credential|api[-_.]?key|authorization)[\w.\-]*['\"]?\s*[=:]\s*)"
    r"(\"[^\"]*\"|'[^']*'|[^\s,;}]+)"
)


class CrashedError(Exception):
    """Ends the app after a defect; what is printed on the way out names the report, and nothing else.

    Attributes:
        report: where the report is; None when it could not be written.
    """

    def __init__(self, error: BaseException, report: Path | None) -> None:
        super().__init__(f"{type(error).__name__} (report: {report})")
        self.report = report
        self._name = type(error).__name__

    def __rich__(self) -> Text:
        where = f"A report without secrets is in {self.report}" if self.report else "No report could be written"
        return Text(f"kgtui stopped because of a defect in it ({self._name}). {where}.")


def redacted(words: str) -> str:
    """The words with what follows `password=`, `token:` and their like taken out."""
    return _SECRETS.sub(r"\1[removed]", words)


def write_report(error: BaseException, folder: Path) -> Path | None:
    """Write a report into the state folder, readable by its owner only; None when that fails."""
    path = folder / f"crash-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.getpid()}.txt"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(report_of(error))
    except OSError:
        return None
    return path


def report_of(error: BaseException) -> str:
    """Versions, and the traceback with its source lines but no local variables."""
    lines = [
        f"kgtui {kgtui.__version__}, Python {sys.version.split()[0]}, {platform.system()} {platform.release()}",
        ", ".join(f"{name} {metadata.version(name)}" for name in _LIBRARIES),
        f"TERM={os.environ.get('TERM', '')} COLORTERM={os.environ.get('COLORTERM', '')}",
        "",
        *traceback.format_exception(error),
    ]
    return redacted("\n".join(line.rstrip("\n") for line in lines)) + "\n"
