"""A class that writes recordings for tests from given polls, without a cluster and without a recorder."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kgtui.history.changes import ChangeTracker, PollResult, new_rows
from kgtui.history.rows import cluster_text
from kgtui.lake.folder import LakeFolder
from kgtui.lake.writer import LakeWriter
from kgtui.model.cluster import ClusterInfo
from tests.scripted import brokers

if TYPE_CHECKING:
    from pathlib import Path

START = 1_795_250_000_000
"""Time of the first poll in milliseconds since the Unix epoch: 21 November 2026, 08:33 UTC."""

CLUSTER = ClusterInfo("hand-made", brokers(2), 1, {"share.version": 1}, ("127.0.0.1:9092",))


class RecordingBuilder:
    """Writes polls (the states of all groups at one time) into a lake (a folder of Delta tables).

    The first poll of a builder is a keyframe (a poll that stores all groups). By default, each later poll stores only
    the changes since the previous poll.
    """

    def __init__(self, path: Path | str) -> None:
        folder = LakeFolder.of(path)
        folder.prepare()
        self.writer = LakeWriter(folder)
        self.writer.begin()
        self.changes = ChangeTracker()
        self.keyframe: int | None = None

    def poll(self, result: PollResult, at: int, *, keyframe: bool = False, gap: str = "") -> int:
        """Add a poll, which `flush` writes later. Return how many rows the poll has in tables other than `polls`.

        Args:
            at: time of the poll in milliseconds since the Unix epoch.
            keyframe: True to store all groups; False to store only the changes since the previous poll.
            gap: reason why polls before this one are missing; empty if none are missing.
        """
        rows = new_rows()
        self.changes.add(result, result.listings, at, rows)
        self.changes.finish(result, rows)
        if keyframe or self.keyframe is None:
            self.keyframe, rows = at, self.changes.all_rows()
        count = sum(map(len, rows.values()))
        poll_row = (
            datetime.fromtimestamp(at / 1000, UTC), "run", None, gap or None, 10_000, 5, count,
            len(result.listings), 2, 2, CLUSTER.cluster_id, cluster_text(CLUSTER) if self.keyframe == at else None,
        )  # fmt: skip
        self.writer.add(at, self.keyframe, rows, poll_row)
        return count

    def flush(self) -> None:
        """Write to disk all polls that were added since the previous flush."""
        self.writer.seal()
        self.writer.flush()

    def compact(self) -> None:
        """Compact all files that were written before the newest keyframe (a poll that stores all groups)."""
        assert self.keyframe is not None
        self.writer.maintain(self.keyframe, None, START / 1000)
