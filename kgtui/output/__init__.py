"""Writes groups as tables, JSON, CSV and Markdown.

Tables are for people: control characters are escaped. JSON and CSV are for programs: ids are unchanged. A missing
value is `null` in JSON, an empty cell in CSV, and `–`, `?` or `x` in a table.

| module | contents |
|---|---|
| `group_list` | output of `kgtui ls` |
| `group_details` | output of `kgtui show` |
| `check_results` | output of `kgtui check` |
| `event_list` | output of `kgtui events` |
| `export_file` | writes the incident export to a file |
| `incident` | the incident export: data about one group, without secrets |
| `formats` | the list of formats, and encoding as JSON and CSV |
| `table` | aligned tables of plain text |
| `marks` | symbols for a missing value in a table: `–` no value, `?` unknown, `x` access denied |
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO


def redirect_to_devnull(stream: TextIO) -> None:
    """Discard the buffered output of a stream, and all later output to the stream.

    Call this when the program that reads the stream has exited, as in `kgtui ls | head -1`. Otherwise, Python would
    print an error when it exits.
    """
    with contextlib.suppress(OSError, ValueError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(devnull, stream.fileno())
        finally:
            os.close(devnull)
