"""Writes groups as tables, JSON, CSV and Markdown, for commands and the incident export.

The modules import only the model. Tables are for people, so characters that could control a terminal are escaped. JSON
and CSV are for programs and contain every id unchanged. An unknown value is never 0, but `null`, an empty cell, or one
of the marks in `kgtui.output.marks`.

| module | contents |
|---|---|
| `group_list` | output of `kgtui ls` |
| `group_details` | output of `kgtui show` |
| `check_results` | output of `kgtui check`: table, JSON and CSV |
| `event_list` | output of `kgtui events` |
| `export_file` | the formats of the incident export, and its file |
| `incident` | export of one group for an incident report, without secrets |
| `formats` | the list of formats, and encoding as JSON and CSV |
| `table` | aligned tables of plain text |
| `marks` | symbols for a missing value: `–`, `?`, `x` |
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO


def redirect_to_devnull(stream: TextIO) -> None:
    """Discard the buffer of the stream, and everything that is written to it from now on.

    Call it when the reader has exited, as in `kgtui ls | head -1`. Otherwise, the interpreter would fail to flush the
    stream at exit, print an error, and change the exit code.
    """
    with contextlib.suppress(OSError, ValueError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(devnull, stream.fileno())
        finally:
            os.close(devnull)
