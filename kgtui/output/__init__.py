"""Writes groups as tables, JSON, CSV and Markdown, for commands and for the incident export of the terminal UI.

The modules take objects of the model and return text or bytes; they import only the model. Tables are for people: every
character that could control a terminal is escaped. JSON and CSV are for programs: they contain every id unchanged. An
unknown value is never written as 0: it is `null`, an empty cell, or one of the marks in `kgtui.output.marks`.

| module | contents |
|---|---|
| `group_list` | output of `kgtui ls` |
| `group_details` | output of `kgtui show` |
| `check_results` | output of `kgtui check`: table, JSON and CSV |
| `event_list` | output of `kgtui events` |
| `export_file` | the formats of the incident export, and the function that writes it to a file |
| `incident` | export of one group for an incident report, without secrets |
| `formats` | the list of formats, and functions that encode JSON and CSV for all commands |
| `table` | aligned tables of plain text |
| `marks` | which symbol a table shows for a missing value: `–`, `?`, `x` |
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO


def redirect_to_devnull(stream: TextIO) -> None:
    """Discard the buffer of the stream, and everything that is written to the stream from now on.

    Called when the reader of the stream has exited, as in `kgtui ls | head -1`. Otherwise, the interpreter would flush
    the stream when it exits, and this would fail, print an error, and change the exit code.
    """
    with contextlib.suppress(OSError, ValueError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(devnull, stream.fileno())
        finally:
            os.close(devnull)
