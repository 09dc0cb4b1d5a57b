"""Writes groups as tables, JSON, CSV and Markdown, for commands and the incident export.

Of kgtui's other packages, this one imports only `kgtui.model`. Tables are for people, so characters that could control
a terminal are escaped. JSON and CSV are for programs, and contain every id unchanged. An unknown value is never written
as 0. It is `null` in JSON, an empty cell in CSV, and one of the marks of `kgtui.output.marks` in a table.

| module | contents |
|---|---|
| `group_list` | output of `kgtui ls` |
| `group_details` | output of `kgtui show` |
| `check_results` | output of `kgtui check`: table, JSON and CSV |
| `event_list` | output of `kgtui events` |
| `export_file` | writes the incident export to a file, in one of several formats |
| `incident` | the incident export: data about one group for an incident report, without secrets |
| `formats` | the list of formats, and encoding as JSON and CSV |
| `table` | aligned tables of plain text |
| `marks` | symbols that tables show for a missing value: `–`, `?`, `x` |
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO


def redirect_to_devnull(stream: TextIO) -> None:
    """Discard the buffer of a stream, and everything that is written to the stream from now on.

    Call this function when the program that reads the stream has exited, as in `kgtui ls | head -1`. Otherwise, the
    interpreter would fail to flush the stream at exit, print an error, and change the exit code.
    """
    with contextlib.suppress(OSError, ValueError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(devnull, stream.fileno())
        finally:
            os.close(devnull)
