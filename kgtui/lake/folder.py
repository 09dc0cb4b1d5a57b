"""The folder of a lake, with its small JSON files. On a local disk, this module needs only the standard library.

| file | contents |
|---|---|
| `lake.json` | marks the folder as a lake; table format version, cluster id, id of topic `__consumer_offsets` |
| `<layer>/<table>` | a Delta table |
| `recorder.lock` | host and process id of the recorder |
| `pipeline.lock` | lock of the pipeline |
| `retention.json` | retention of topics and of committed offsets |
| `access.json` | permissions of the recorder's user |
"""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.errors import PARSE_ERRORS, ConfigError, LakeError
from kgtui.lake.lock_holder import PIPELINE_LOCK
from kgtui.lake.schemas import LAYER, VERSION
from kgtui.lake.store import StorePath, lake_path
from kgtui.lake.store_errors import lake_error_text
from kgtui.model.cluster import Retention
from kgtui.model.rfc3339 import rfc3339
from kgtui.model.text import visible
from kgtui.private_files import replace_private

if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from pathlib import Path
    from typing import Self

    from kgtui.lake.store import LakePath


MARKER = "lake.json"
LOCK = "recorder.lock"
LOG = "_delta_log"
"""Name of the transaction log in the folder of a Delta table."""

LAKE_VARIABLE = "KGTUI_LAKE"
"""Environment variable with the path or URI of the lake. It is used if no path is given on the command line."""

_FORMAT, _CLUSTER, _TOPIC = "kgtui lake", "cluster", "topic"
_LONGEST = 65_536

_UNUSABLE = re.compile(r"%[0-9a-fA-F]{2}|[\x00-\x1f\x7f\[\]^|\\\ud800-\udfff]")
"""Matches the parts of a local path that deltalake cannot convert to a URI and back without an error or a change."""


@dataclass(frozen=True, slots=True)
class LakeFolder:
    """The folder of a lake: its tables and its small JSON files, such as the marker `lake.json`."""

    path: LakePath

    @classmethod
    def of(cls, path: str | LakePath) -> Self:
        """Return the lake at a path or URI. A leading `~` becomes the home folder.

        Raises:
            LakeError: the URI is not valid, or the home folder is unknown.
        """
        try:
            return cls(lake_path(path))
        except ConfigError as error:
            raise LakeError(str(error)) from None

    @property
    def local_path(self) -> Path:
        """The path of the lake on a local disk. Raises `LakeError` if the lake is in a store such as S3."""
        if isinstance(self.path, StorePath):
            raise LakeError(f"{self.path} is not a local folder: use a local folder here")
        return self.path

    @property
    def lock(self) -> LakePath:
        """Path of the recorder's lock file, which ensures that only one process records into the lake."""
        return self.path / LOCK

    @property
    def pipeline_lock(self) -> LakePath:
        """Path of the pipeline's lock file, which ensures that only one run of the pipeline writes to the lake."""
        return self.path / PIPELINE_LOCK

    def table(self, name: str, layer: str = LAYER) -> LakePath:
        """Return the path of a table's folder, whether the table exists or not."""
        return self.path / layer / name

    def check_path(self) -> None:
        """Raise `LakeError` if the path contains characters that deltalake cannot handle. The folder need not exist."""
        if isinstance(self.path, StorePath):
            return
        # Resolve symbolic links before the check, because deltalake resolves them too.
        found = _UNUSABLE.search(os.path.realpath(self.path))
        if found is not None:
            given = found[0] in str(self.path)
            where = "its path" if given else f"its full path, {visible(os.path.realpath(self.path))},"
            raise LakeError(
                f"{visible(str(self.path))} cannot be used as a lake, because {where} contains "
                f"{visible(found[0])}. Delta Lake's library cannot open tables in such a folder. Rename the folder, or "
                "use another one."
            )

    def check(self) -> None:
        """Raise `LakeError` if the folder is not a lake, or cannot be read."""
        with self._as_lake_error("read"):
            self._check()

    def _check(self) -> None:
        if not self.path.exists():
            raise LakeError(f"{self.path} does not exist")
        if not self.path.is_dir():
            raise LakeError(f"{self.path} is a file, but a lake is a folder; use the path of a folder")
        self.check_path()
        version = self._version()
        if version > VERSION:
            raise LakeError(
                f"{self.path} was written by a newer kgtui: its tables have version {version}, and this kgtui reads "
                f"versions up to {VERSION}. Upgrade kgtui."
            )

    def check_usable(self) -> None:
        """Raise `LakeError` if the folder cannot be used as a lake. A new or empty folder can be used."""
        with self._as_lake_error("read"):
            self._check_usable()

    def _check_usable(self) -> None:
        self.check_path()
        if not self.path.exists():
            return
        if self.path.is_dir() and not (self.path / MARKER).exists():
            if self._foreign_files():
                raise LakeError(
                    f"{self.path} is not empty and is not a lake (it has no {MARKER}). Name an empty or new folder."
                )
            return
        self._check()

    def prepare(self) -> None:
        """Create the lake if it does not exist. A new local folder is accessible only to its owner.

        Raises:
            LakeError: the folder cannot be used as a lake (for example, because it has other files, or because a newer
                kgtui wrote the lake), or the store cannot be written.
            OSError: the local folder cannot be written.
        """
        self.check_usable()
        with self._as_lake_error("written"):
            if (self.path / MARKER).exists():
                return
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write_marker({"format": _FORMAT, "version": VERSION, "created": rfc3339(time.time(), "seconds")})

    def claim(self, cluster_id: str | None) -> None:
        """Reserve the lake for one cluster, by storing the cluster's id.

        Args:
            cluster_id: id of the cluster to record. If it is None (the cluster reports no id), nothing is checked or
                stored.

        Raises:
            LakeError: the lake belongs to a different cluster, or the store cannot be written.
            OSError: the local folder cannot be written.
        """
        with self._as_lake_error("written"):
            self._claim(cluster_id)

    def _claim(self, cluster_id: str | None) -> None:
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

    def claim_topic(self, topic_id: str | None) -> None:
        """Reserve the lake for one `__consumer_offsets` topic, by storing the topic's id.

        If the topic is deleted and created again, the offsets of its records start at 0 again. Because of the
        stored id, the lake never mixes records of the old and the new topic.

        Args:
            topic_id: id of the topic. If it is None (brokers before Kafka 2.8), nothing is checked or stored.

        Raises:
            LakeError: the lake has the records of a different topic, or the store cannot be written.
            OSError: the local folder cannot be written.
        """
        with self._as_lake_error("written"):
            content = self._read_marker()
            bound_to = content.get(_TOPIC)
            if topic_id is None or bound_to == topic_id:
                return
            if bound_to is not None:
                raise LakeError(
                    f"{self.path} holds the records of a __consumer_offsets topic with the id "
                    f"{visible(str(bound_to))}, and the topic of this cluster has the id {visible(topic_id)}. The "
                    "topic was deleted and created again, so that its offsets no longer belong to the records here. "
                    "Use another folder for the new topic; this lake can still be read."
                )
            self._write_marker(content | {_TOPIC: topic_id})

    def _write_marker(self, content: dict[str, object]) -> None:
        write_json(self.path / MARKER, content)

    def _foreign_files(self) -> list[str]:
        """Return the names of all files and folders in this folder that do not belong to a new lake.

        Only the recorder's lock file and temporary copies of `lake.json` belong to a new lake. If the folder has other
        files, it is used for something else.
        """
        return [name for name in _names(self.path) if not name.startswith((LOCK, f".{MARKER}."))]

    @contextmanager
    def _as_lake_error(self, action: str) -> Iterator[None]:
        """Convert an `OSError` in the `with` block to a `LakeError` that says why the lake cannot be used.

        An `OSError` from writing to a local folder is not converted.

        Args:
            action: `read` or `written`. The word completes the error message `… cannot be …`.
        """
        try:
            yield
        except OSError as error:
            if action == "written" and not isinstance(self.path, StorePath):
                raise
            raise LakeError(f"{visible(str(self.path))} cannot be {action}: {lake_error_text(error)}") from error

    def _version(self) -> int:
        version = self._read_marker().get("version")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise self._not_a_marker()
        return version

    def _read_marker(self) -> dict[str, object]:
        try:
            content = json.loads((self.path / MARKER).read_bytes()[:_LONGEST])
        except FileNotFoundError:
            raise LakeError(f"{self.path} is not a lake: it has no {MARKER}") from None
        except OSError as error:
            raise LakeError(f"{self.path / MARKER} cannot be read: {lake_error_text(error)}") from error
        except PARSE_ERRORS:
            raise self._not_a_marker() from None
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise self._not_a_marker()
        return content

    def _not_a_marker(self) -> LakeError:
        return LakeError(f"{self.path} is not a lake: its {MARKER} was not written by kgtui")


def is_table(path: LakePath) -> bool:
    """Return whether a folder is a Delta table, that is, whether its Delta log has a commit.

    If a process is killed while it creates a table, a log without a commit can remain.
    """
    return any(name.endswith(".json") for name in log_names(path))


def log_names(path: LakePath) -> list[str]:
    """Return the file names in the log of a Delta table; an empty list if the table does not exist."""
    try:
        return _names(path / LOG)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _names(path: LakePath) -> list[str]:
    return [entry.name for entry in path.iterdir()] if isinstance(path, StorePath) else os.listdir(path)


def write_json(path: LakePath, content: object) -> None:
    """Create or replace a small JSON file atomically. A local file is readable only by its owner. Raises `OSError`."""
    data = (json.dumps(content) + "\n").encode()
    if isinstance(path, StorePath):
        path.write_bytes(data)
    else:
        replace_private(path, data)


_FILE = "retention.json"
_TOPICS, _OFFSETS = "topics", "offsets"


def load_retention(folder: LakeFolder) -> Retention:
    """Return the retention of topics and of committed offsets from `retention.json`.

    If the file is missing or not valid, return an empty `Retention`.
    """
    try:
        stored = json.loads((folder.path / _FILE).read_text(encoding="utf-8"))
        topics = {topic: float(seconds) for topic, seconds in stored[_TOPICS].items()}
        return Retention(topics, None if stored[_OFFSETS] is None else float(stored[_OFFSETS]))
    except (OSError, TypeError, KeyError, AttributeError, *PARSE_ERRORS):
        return Retention()


def update_retention(folder: LakeFolder, answer: Retention, requested: Container[str]) -> None:
    """Update the lake's file `retention.json` with the retention that the cluster returned.

    Args:
        answer: retention that the cluster returned. If it is empty, the file stays unchanged.
        requested: topics whose retention was requested from the cluster. Requested topics that are not in `answer` are
            deleted from the file. Topics that were not requested keep their stored retention.

    Raises:
        OSError: the file cannot be written.
    """
    before = load_retention(folder)
    after = before.updated(answer, requested)
    if after != before:
        write_json(folder.path / _FILE, {_TOPICS: dict(after.topics), _OFFSETS: after.offsets})
