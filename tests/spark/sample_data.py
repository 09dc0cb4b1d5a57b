"""Create the input of complete pipeline runs: a recording of seven minutes, and files with records of all types."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from kgtui.history.changes import PollResult
from kgtui.lake.folder import LakeFolder, update_retention
from kgtui.model.cluster import Retention
from kgtui.model.group import GroupDescription, Listing
from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset
from tests.scripted import member
from tests.spark.record_samples import Record, commit, write_file
from tests.unit.history.recording_builder import START, RecordingBuilder
from tests.unit.protocol.records.random_records import every_record_type

if TYPE_CHECKING:
    from pathlib import Path

FILES = 2
"""Number of files that `write_records` writes."""

RETENTION = 3_600.0
"""Retention time of the recorded topic, in seconds."""

GROUPS = ("orders.paid", "[/foo]", "a\nb", "caf\udce9", "shared")
"""Ids of the recorded groups. Some ids contain characters that need escaping. The offsets of `[/foo]` never change."""


class Cluster:
    """A simulated cluster with groups that read a topic of three partitions at random speeds."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.ends = {("t", number): 100 for number in range(3)}
        self.positions = {(group, tp): 90 for group in GROUPS for tp in self.ends}

    def poll(self) -> PollResult:
        """Produce and consume a random number of records in each partition, then return what a poll would read."""
        for tp in self.ends:
            self.ends[tp] += self.random.randrange(50)
        for group, tp in self.positions:
            if self.random.random() < 0.5 and group != "[/foo]":
                self.positions[group, tp] += self.random.randrange(self.ends[tp] - self.positions[group, tp] + 1)
        return self.result()

    def result(self) -> PollResult:
        """Return what a poll would read from the cluster now. Unlike `poll`, this method changes no offsets."""
        bounds = {tp: PartitionBounds(0, end) for tp, end in self.ends.items()}
        listed = {
            group: Listing("share" if group == "shared" else "consumer", "consumer", "Stable", 1) for group in GROUPS
        }
        described = {
            group: GroupDescription(
                group, row.type or "", "consumer", "Stable", 1, group_epoch=1, members=(member("m"),)
            )
            for group, row in listed.items()
        }
        committed = {
            group: tuple(CommittedOffset(*tp, self.positions[group, tp]) for tp in self.ends)
            for group in GROUPS
            if group != "shared"
        }
        share = tuple(ShareOffset(*tp, self.positions["shared", tp], 0, 7) for tp in self.ends)
        return PollResult(listed, described, committed, {"shared": share}, bounds)


def record(recording: RecordingBuilder, cluster: Cluster, start: int, polls: int, *, gap: str = "") -> None:
    """Record one poll of the cluster per ten seconds of simulated time.

    The rows are written to the lake after every sixth poll, and after the last poll.

    Every 18th poll is a keyframe, for which all rows are written, not only changes.

    Args:
        start: time of the first poll, in milliseconds since the epoch.
        polls: number of polls.
        gap: reason for the gap (time without polls) before the first poll; empty if there is no gap.
    """
    for number in range(polls):
        first = number == 0
        recording.poll(cluster.poll(), start + number * 10_000, keyframe=number % 18 == 0, gap=gap if first else "")
        if number % 6 == 5:
            recording.flush()
    recording.flush()


def record_seven_minutes(lake: Path | str) -> None:
    """Record seven minutes of a simulated cluster, and the retention time of the cluster's topic, into a new lake."""
    record(RecordingBuilder(lake), Cluster(1), START, 40, gap="the recording begins")
    update_retention(LakeFolder.of(lake), Retention({"t": RETENTION}), ())


def write_records(folder: Path) -> None:
    """Write files with `__consumer_offsets` records of all types, for groups that are not in the recording."""
    for number in range(FILES):
        records: list[Record] = [commit(4, f"g{number}-{n}") for n in range(30)]
        records += [*every_record_type(number, 1)[6 + number :: FILES], (b"\x00\x63?", b"")]
        write_file(folder, f"{number}.parquet", records, first_offset=1_000 * number)
