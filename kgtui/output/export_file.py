"""Writes an incident export (data about one group for an incident report) to a file that only its owner can read.

To add a format, add an entry to `EXPORTS`.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kgtui.model.rfc3339 import file_stamp, parse_rfc3339
from kgtui.output import formats
from kgtui.output.incident import markdown
from kgtui.private_files import open_private

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ExportFormat = Literal["markdown", "json"]


class Export(NamedTuple):
    """A file format of the incident export, which contains data about one group for an incident report.

    Attributes:
        key: key on the keyboard that chooses this format in the Export dialog.
        suffix: suffix of the file name, without the dot.
        encode: converts the result of `incident.incident` to the contents of the file.
    """

    key: str
    title: str
    suffix: str
    encode: Callable[[dict[str, Any]], bytes]


EXPORTS: dict[ExportFormat, Export] = {
    "markdown": Export("m", "Markdown", "md", lambda found: markdown(found).encode("utf-8", "backslashreplace")),
    "json": Export("j", "JSON", "json", formats.json_bytes),
}
"""The formats of the incident export, in the order in which the Export dialog offers them."""


def write(folder: Path, found: dict[str, Any], form: ExportFormat) -> Path:
    """Write an incident export to a new file with mode 0600, and return its path.

    Args:
        folder: folder for the new file. The folder is created if it does not exist.
        found: the incident export: the result of `kgtui.output.incident.incident`.

    Raises:
        OSError: the file cannot be written.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    group = str(found["group"]["group"])
    stem = f"{file_stem(group)}-{file_stamp(parse_rfc3339(str(found['taken_at'])))}"
    suffix, data = EXPORTS[form].suffix, EXPORTS[form].encode(found)
    number = 1
    while True:
        path = folder / (f"{stem}.{suffix}" if number == 1 else f"{stem}-{number}.{suffix}")
        try:
            file = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            number += 1
            continue
        with open(file, "wb") as stream:
            stream.write(data)
        return path


def file_stem(group: str) -> str:
    """Return the first part of the file name for a group. It is valid on every operating system.

    A group id is changed, and a hash of the id is added, if the id has more than 60 characters,
    contains other characters than ASCII letters, digits, `.`, `_` and `-`, or begins or ends with
    `.`, `_` or `-`. Examples: `payments` → `kgtui-payments`; `a/b` → `kgtui-a_b-c14cddc0`.
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", group[:200])[:60].strip("._-")
    if plain == group:
        return f"kgtui-{plain}"
    digest = hashlib.sha256(group.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"kgtui-{plain}-{digest}" if plain else f"kgtui-{digest}"
