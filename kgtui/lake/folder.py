"""The folder of a lake, with its marker file and its retention file. Uses the standard library only.

The marker `lake.json` shows that a folder is a lake. It contains the format version and the cluster id. Tables are in
`<layer>/<table>`. `recorder.lock` contains the host and process id of the recorder. `retention.json` contains the
retention of topics and of committed offsets, and `access.json` the permissions of the recorder.
"""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.errors import ConfigError, LakeError
from kgtui.lake.schemas import LAYER, VERSION
from kgtui.model.cluster import Retention
from kgtui.model.paths import expanded
from kgtui.model.rfc3339 import rfc3339
from kgtui.model.text import visible
from kgtui.private_files import replace_private

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path
    from typing import Self


MARKER = "lake.json"
LOCK = "recorder.lock"
LOG = "_delta_log"
"""Name of the transaction log in the folder of a Delta table."""

LAKE_VARIABLE = "KGTUI_LAKE"
"""Environment variable with the path of the lake, used when no path is given."""

_FORMAT, _CLUSTER = "kgtui lake", "cluster"
_LONGEST = 65_536


_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:/")
"""Matches the start of a URL, up to one slash, because `Path` replaces the two slashes of a URL with one."""


@dataclass(frozen=True, slots=True)
class LakeFolder:
    """The folder of a lake: the paths of its files and tables, its marker file, and the id of the recorded cluster."""

    path: Path

    @classmethod
    def of(cls, path: str | Path) -> Self:
        """Return the lake at a path. A leading `~` is replaced with the home folder.

        Raises:
            LakeError: the path is a URL, such as that of an object store, or its home folder is not known.
        """
        if _URL.match(str(path)):
            raise LakeError(
                f"{path} is not a local folder: lakes in object stores are not supported yet; use a local folder"
            )
        try:
            return cls(expanded(path))
        except ConfigError as error:
            raise LakeError(str(error)) from None

    @property
    def lock(self) -> Path:
        """Path of the lock file; see `kgtui.lake.lock`."""
        return self.path / LOCK

    def table(self, name: str, layer: str = LAYER) -> Path:
        """Return the path of a table's folder, whether the table exists or not."""
        return self.path / layer / name

    def check(self) -> None:
        """Check that the folder is a lake that can be read. Raises `LakeError` if it is not."""
        if not self.path.exists():
            raise LakeError(f"{self.path} does not exist")
        if not self.path.is_dir():
            raise LakeError(f"{self.path} is a file, but a lake is a folder; use the path of a folder")
        version = self._version()
        if version > VERSION:
            raise LakeError(
                f"{self.path} was written by a newer kgtui: its tables have version {version}, and this kgtui reads "
                f"versions up to {VERSION}. Upgrade kgtui."
            )

    def check_usable(self) -> None:
        """Raise `LakeError` unless the folder is a lake that can be read, is empty, or does not exist."""
        if not self.path.exists():
            return
        if self.path.is_dir() and not (self.path / MARKER).exists():
            if self._foreign_files():
                raise LakeError(
                    f"{self.path} is not empty and is not a lake (it has no {MARKER}). Name an empty or new folder."
                )
            return
        self.check()

    def prepare(self) -> None:
        """Create the lake if it does not exist, with permissions for its owner only.

        Raises:
            LakeError: the folder has files but is not a lake, or a newer version of kgtui wrote the lake.
            OSError: the folder cannot be written.
        """
        self.check_usable()
        if (self.path / MARKER).exists():
            return
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._write_marker({"format": _FORMAT, "version": VERSION, "created": rfc3339(time.time(), "seconds")})

    def claim(self, cluster_id: str | None) -> None:
        """Bind the lake to a cluster, because a lake holds the recording of only one cluster.

        Args:
            cluster_id: id of the cluster; if it is None, nothing is checked or stored.

        Raises:
            LakeError: the lake has the recording of another cluster.
            OSError: the folder cannot be written.
        """
        content = self._read_marker()
        bound_to = content.get(_CLUSTER)
        if cluster_id is None or bound_to == cluster_id:
            return
        if bound_to is not None:
            held, this = visible(str(bound_to)), visible(cluster_id)
            raise LakeError(
                f"{self.path} holds the recording of cluster {held}, but this is cluster {this}. A lake "
                "holds one cluster. Use another folder for this cluster."
            )
        self._write_marker(content | {_CLUSTER: cluster_id})

    def _write_marker(self, content: dict[str, object]) -> None:
        write_json(self.path / MARKER, content)

    def _foreign_files(self) -> list[str]:
        """Return the names of all files that show that another program uses the folder.

        The lock file and temporary marker files are left out, because another process may be creating the lake now.
        """
        return [name for name in os.listdir(self.path) if name != LOCK and not name.startswith(f".{MARKER}.")]

    def _version(self) -> int:
        version = self._read_marker().get("version")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise self._not_a_marker()
        return version

    def _read_marker(self) -> dict[str, object]:
        """Return the content of the marker file. Raises `LakeError` if the folder has none, or an invalid one."""
        try:
            with open(self.path / MARKER, encoding="utf-8") as file:
                content = json.loads(file.read(_LONGEST))
        except FileNotFoundError:
            raise LakeError(f"{self.path} is not a lake: it has no {MARKER}") from None
        except (OSError, ValueError) as error:
            raise LakeError(f"{self.path / MARKER} cannot be read: {error}") from error
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise self._not_a_marker()
        return content

    def _not_a_marker(self) -> LakeError:
        return LakeError(f"{self.path} is not a lake: its {MARKER} was not written by kgtui")


def is_table(path: Path) -> bool:
    """Return whether a folder is a Delta table.

    The log must have a commit, because a process that is killed while it creates a table can leave an empty log.
    """
    return any((path / LOG).glob("*.json"))


def write_json(path: Path, content: object) -> None:
    """Replace a small JSON file atomically, with permissions for its owner only. Raises `OSError`."""
    replace_private(path, (json.dumps(content) + "\n").encode())


_FILE = "retention.json"
_TOPICS, _OFFSETS = "topics", "offsets"


def load_retention(folder: LakeFolder) -> Retention:
    """Return the stored retention of topics and of committed offsets; empty if the file is missing or unreadable."""
    try:
        stored = json.loads((folder.path / _FILE).read_text(encoding="utf-8"))
        topics = {topic: float(seconds) for topic, seconds in stored[_TOPICS].items()}
        return Retention(topics, None if stored[_OFFSETS] is None else float(stored[_OFFSETS]))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return Retention()


def update_retention(folder: LakeFolder, answer: Retention, requested: Container[str]) -> None:
    """Update the retention file of the lake with the retention that the cluster returned.

    Args:
        answer: retention of topics and of committed offsets, as returned by the cluster.
        requested: topics whose retention was requested. If `answer` lacks one of them, its stored retention is removed.

    Raises:
        OSError: the file cannot be written.
    """
    before = load_retention(folder)
    after = before.updated(answer, requested)
    if after != before:
        write_json(folder.path / _FILE, {_TOPICS: dict(after.topics), _OFFSETS: after.offsets})
