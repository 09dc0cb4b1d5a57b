"""A defect of ours: a report in the state folder, without secrets and without values, and one line that names it."""

from __future__ import annotations

import os
import platform
import re
import sys
import time
import traceback
from typing import TYPE_CHECKING

import kgtui

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CRASHED = 70
"""EX_SOFTWARE of sysexits.h: never mistaken for an answer."""

_SECRET = re.compile(r"(?i)((?:password|secret|token|jaas|credential|key)[\w.\-]*\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|\S+)")
_LONGEST = 2_000


def redact(text: str) -> str:
    """The text without what follows words like `password=`."""
    return _SECRET.sub(r"\1****", text)


def describe(error: BaseException, words: Sequence[str]) -> str:
    """What a developer needs: versions, the command's name, the stack. No local variables, no option values."""
    options = [word.partition("=")[0] if word.startswith("-") else "…" for word in words[1:]]
    command = " ".join([*words[:1], *options]) if words and not words[0].startswith("-") else " ".join(options)
    stack = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return redact(
        f"kgtui {kgtui.__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"command: kgtui {command}\n\n{stack}"
    )


def report(error: BaseException, words: Sequence[str]) -> int:
    """Write the report and say where it is; the exit code."""
    from kgtui.commands.printing import say

    reason = redact(f"{type(error).__name__}: {error}".replace("\n", " "))[:_LONGEST]
    try:
        path = _write(describe(error, words))
    except OSError as failed:
        sys.stderr.write(describe(error, words))
        say(f"a defect: {reason} (no report could be written: {failed.strerror or failed})")
        return CRASHED
    say(f"a defect: {reason}; please report it with {path}, which holds no secrets")
    return CRASHED


def _write(text: str) -> Path:
    from kgtui.config import state_dir

    folder = state_dir()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"crash-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.getpid()}.txt"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    return path
