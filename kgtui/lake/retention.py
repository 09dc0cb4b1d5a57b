"""The file of a lake that keeps the retention of topics and of committed offsets, as the cluster reported it last."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kgtui.lake.folder import write_json
from kgtui.model.cluster import Retention

if TYPE_CHECKING:
    from collections.abc import Container

    from kgtui.lake.folder import LakeFolder

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
