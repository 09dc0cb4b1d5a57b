"""A defect of ours on the command line: a report, and one line that names it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kgtui.commands.printing import say
from kgtui.config import state_dir
from kgtui.config.crash import report_of, write_report
from kgtui.model.text import redact

if TYPE_CHECKING:
    from collections.abc import Sequence

CRASHED = 70
"""EX_SOFTWARE of sysexits.h: never mistaken for an answer."""

_LONGEST = 2_000


def report(error: BaseException, words: Sequence[str]) -> int:
    """Write the report and say where it is; the exit code."""
    reason = redact(f"{type(error).__name__}: {error}".replace("\n", " "))[:_LONGEST]
    command = _without_values(words)
    try:
        path = write_report(error, state_dir(), command)
    except OSError as failed:
        sys.stderr.write(report_of(error, command))
        say(f"a defect: {reason} (no report could be written: {failed.strerror or failed})")
        return CRASHED
    say(f"a defect: {reason}; please report it with {path}, which holds no secrets")
    return CRASHED


def _without_values(words: Sequence[str]) -> str:
    """The command and the names of its options."""
    options = [word.partition("=")[0] if word.startswith("-") else "…" for word in words[1:]]
    first = words[:1] if words and not words[0].startswith("-") else []
    return " ".join(["kgtui", *first, *options])
