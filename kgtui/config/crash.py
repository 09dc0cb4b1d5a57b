"""Write crash reports.

A report contains the versions of kgtui, Python, libraries and the operating system, the type of the
terminal, the command, and the stack trace. It contains no values of local variables or of options,
because a value can be a secret.
"""

from __future__ import annotations

import os
import time
import traceback
from typing import TYPE_CHECKING

import kgtui
from kgtui.config.state_folder import private_folder
from kgtui.model.rfc3339 import file_stamp
from kgtui.model.text import redact
from kgtui.private_files import open_private

if TYPE_CHECKING:
    from pathlib import Path

_LIBRARIES = ("textual", "rich", "aiokafka", "msgspec")


def report_of(error: BaseException, command: str) -> str:
    """Return the text of a crash report, without the values of local variables.

    Args:
        command: the command line without the values of its options, or `the terminal UI`.
    """
    import platform
    from importlib import metadata

    lines = [
        f"kgtui {kgtui.__version__}, Python {platform.python_version()}, {platform.platform()}",
        ", ".join(f"{name} {metadata.version(name)}" for name in _LIBRARIES),
        f"TERM={os.environ.get('TERM', '')} COLORTERM={os.environ.get('COLORTERM', '')}",
        f"command: {command}",
        "",
        *traceback.format_exception(error),
    ]
    return redact("\n".join(line.rstrip("\n") for line in lines)) + "\n"


def write_report(error: BaseException, folder: Path, command: str) -> Path:
    """Write a crash report that only the user can read, and return its path.

    Args:
        command: the command line without the values of its options, or `the terminal UI`.

    Raises:
        OSError: the file cannot be written.
    """
    private_folder(folder)
    path = folder / f"crash-{file_stamp(time.time())}-{os.getpid()}.txt"
    descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(report_of(error, command))
    return path
