"""Measure the CPU time of a process and of the processes that it has started. This module works only on Linux."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_seconds(process: int) -> float:
    """Return the CPU time of a process and its descendants in seconds. Descendants that have exited are included."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            # Skip a process that exits before its file in `/proc` is read.
            with suppress(OSError):
                # Split only the text after the process's name, which is in parentheses and can contain spaces. Counted
                # from 0 in this text, field 1 is the parent's id, and fields 11 to 14 are the CPU times of the process
                # and of its exited children.
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                parents[int(folder.name)] = int(fields[1])
                ticks[int(folder.name)] = sum(map(int, fields[11:15]))
    family = {process}
    while found := {child for child, parent in parents.items() if parent in family and child not in family}:
        family |= found
    return sum(ticks.get(member, 0) for member in family) / _TICKS_PER_SECOND
