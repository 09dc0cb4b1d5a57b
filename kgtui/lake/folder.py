"""The folder of a lake, and what says that it is one. Standard library alone.

`lake.json` names the format, its version and the cluster; tables lie in `<layer>/<table>`; `recorder.lock` belongs to
who records.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kgtui.errors import LakeError
from kgtui.lake.schemas import LAYER, VERSION
from kgtui.model.cluster import Retention
from kgtui.model.rfc3339 import rfc3339
from kgtui.model.text import visible

if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Self


MARKER = "lake.json"
LOCK = "recorder.lock"
LOG = "_delta_log"
"""The folder that makes a folder a Delta table."""

LAKE_VARIABLE = "KGTUI_LAKE"
"""Environment variable that names the lake where nothing else does."""

_FORMAT, _CLUSTER = "kgtui lake", "cluster"
_LONGEST = 65_536


@dataclass(frozen=True, slots=True)
class LakeFolder:
    """Where a lake lies."""

    path: Path

    @classmethod
    def of(cls, path: str | Path) -> Self:
        """The lake at a path, with `~` for the home folder."""
        return cls(Path(path).expanduser())

    @property
    def lock(self) -> Path:
        """Held by the process that records."""
        return self.path / LOCK

    def table(self, name: str, layer: str = LAYER) -> Path:
        """The folder of a table."""
        return self.path / layer / name

    def check(self) -> None:
        """Make sure that this is a lake that can be read. Raises `LakeError` that says what it is instead."""
        if not self.path.exists():
            raise LakeError(f"{self.path}: there is no such folder")
        if not self.path.is_dir():
            raise LakeError(f"{self.path} is a file; a lake is a folder")
        version = self._version()
        if version > VERSION:
            raise LakeError(
                f"{self.path} was written by a newer kgtui: its tables have version {version}, this one knows {VERSION}"
            )

    def check_usable(self) -> None:
        """Make sure that this is a lake, or can become one. Raises `LakeError` that says what it is instead."""
        if not self.path.exists():
            return
        if self.path.is_dir() and not (self.path / MARKER).exists():
            if self._others():
                raise LakeError(
                    f"{self.path} is not empty and no lake (it has no {MARKER}); name an empty or a new folder"
                )
            return
        self.check()

    def prepare(self) -> None:
        """Make the folder a lake, unless it is one; for its owner alone.

        Raises:
            LakeError: it holds something else, or is of a newer version.
            OSError: it cannot be written.
        """
        self.check_usable()
        if (self.path / MARKER).exists():
            return
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._tell({"format": _FORMAT, "version": VERSION, "created": rfc3339(time.time(), "seconds")})

    def claim(self, cluster_id: str | None) -> None:
        """Keep the lake for one cluster, the first one to be written about; None is one that tells no id.

        Raises:
            LakeError: it is another cluster's.
            OSError: it cannot be written.
        """
        told = self._told()
        kept = told.get(_CLUSTER)
        if cluster_id is None or kept == cluster_id:
            return
        if kept is not None:
            held, this = visible(str(kept)), visible(cluster_id)
            raise LakeError(f"{self.path} holds cluster {held}, this is {this}: a lake is of one cluster")
        self._tell(told | {_CLUSTER: cluster_id})

    def _tell(self, told: dict[str, object]) -> None:
        write_json(self.path / MARKER, told)

    def _others(self) -> list[str]:
        """What lies in the folder that is not ours from the first moments of a lake."""
        return [name for name in os.listdir(self.path) if name != LOCK and not name.startswith(f".{MARKER}.")]

    def _version(self) -> int:
        version = self._told().get("version")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise self._not_ours()
        return version

    def _told(self) -> dict[str, object]:
        """What the marker says. Raises `LakeError`."""
        try:
            with open(self.path / MARKER, encoding="utf-8") as file:
                told = json.loads(file.read(_LONGEST))
        except FileNotFoundError:
            raise LakeError(f"{self.path} is not a lake: it has no {MARKER}") from None
        except (OSError, ValueError) as error:
            raise LakeError(f"{self.path / MARKER} cannot be read: {error}") from error
        if not isinstance(told, dict) or told.get("format") != _FORMAT:
            raise self._not_ours()
        return told

    def _not_ours(self) -> LakeError:
        return LakeError(f"{self.path} is not a lake: its {MARKER} is not one of kgtui's")


def is_table(path: Path) -> bool:
    """Whether there is a Delta table: who is killed while making one leaves a log without a commit."""
    return any((path / LOG).glob("*.json"))


def write_json(path: Path, told: object) -> None:
    """Write a small file whole or not at all, for its owner alone. Raises `OSError`."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(told, file)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


_FILE = "retention.json"
_TOPICS, _OFFSETS = "topics", "offsets"


def load_retention(folder: LakeFolder) -> Retention:
    """Return the retention that the lake knows; an empty one when the file is missing or cannot be read."""
    try:
        stored = json.loads((folder.path / _FILE).read_text(encoding="utf-8"))
        topics = {topic: float(seconds) for topic, seconds in stored[_TOPICS].items()}
        return Retention(topics, None if stored[_OFFSETS] is None else float(stored[_OFFSETS]))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return Retention()


def update_retention(folder: LakeFolder, answer: Retention, asked: Container[str]) -> None:
    """Store what the cluster answered about the topics in `asked`; values of other topics stay. Raises `OSError`."""
    before = load_retention(folder)
    after = before.learned(answer, asked)
    if after != before:
        write_json(folder.path / _FILE, {_TOPICS: dict(after.topics), _OFFSETS: after.offsets})
