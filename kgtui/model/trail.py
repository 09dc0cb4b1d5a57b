"""The trail of a group: the results of its last few background reads.

For each of the last few reads, a trail has the sums of offsets and lag over all partitions. For each partition, the
trail has the newest position (committed offset or share-partition start offset) and, if there are unread records, for
how long there have been unread records without a change of the position. Times are whole epoch seconds.

Trails are stored as bytes to save memory (see `kgtui.model.encoded_trail`).
"""

from __future__ import annotations

from array import array
from struct import error
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.encoded_trail import (
    HEADER,
    NARROW_FORMAT,
    REBALANCED_AT,
    REBALANCES_KEPT,
    REWIND,
    SAMPLES,
    WIDE,
    WIDE_FORMAT,
    Format,
    format_and_samples,
    sums_in,
)
from kgtui.model.group import membership_signature
from kgtui.model.group_types import REBALANCING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.model.group import GroupDescription
    from kgtui.model.members import Member
    from kgtui.model.offsets import Position

WAITED_MAX = 0xFFFF
"""Longest time without a change of an offset that is stored for a group's partition, in seconds (18 hours).

A longer time is stored as this maximum.
"""

_UNKNOWN = -1
_MOST_COMPARED = 500
"""Maximum number of partitions that `Trail._moved_forward` compares. If a group has more, the method returns False.

The limit is needed, because the run time of the method grows with the square of the number of partitions.
"""
_FORGET_REWIND_AFTER = 10
"""A rewind (an offset that went back) is forgotten after this number of later reads with progress.

Burrow forgets a rewind after 10 commits.
"""
_INT64 = 2**63 - 1
"""Largest sum of offsets that can be stored. A larger sum, caused by a faulty broker, is stored as this maximum."""
_MANY = 0xFF
"""Maximum value of a counter that is stored in one byte, such as `Trail.reads`."""


class Sums(NamedTuple):
    """The sums over all partitions of a group in one read.

    Attributes:
        at: time of the read.
        log_ends: sum of the log end offsets of the partitions with a known lag.
        lag: sum of the known lags.
        unknown: number of partitions with an offset but unknown lag.
    """

    at: int
    log_ends: int
    lag: int
    unknown: int

    @property
    def positions(self) -> int:
        """Sum of the committed offsets (or share-partition start offsets) of the partitions with a known lag."""
        return self.log_ends - self.lag


class Trail:
    """The results of the last few background reads of one group. Create it with `Trail()`, or with `decode` from bytes.

    Attributes:
        first_at: time of the first read, or 0.
        progress_at: time of the newest read in which an offset had moved forward, or 0.
        pace: longest recent time between two reads that found progress, in seconds, or 0.
        rebalances: number of observed rebalances.
        rebalanced_at: times of the last `REBALANCES_KEPT` rebalances, oldest first; 0 stands for none.
        reads: number of reads since the set of partitions last changed, at most 255.
        idle: number of successive descriptions, up to the newest, in which the group had members, but no member had a
            partition; at most 255.
        samples: sums of offsets and lag in each of the last reads, oldest first.
        positions: newest committed offset (or share-partition start offset) of each partition, sorted by topic and
            partition; -1 stands for none.
        waited: for each partition with unread records, 1 + the seconds for which it has had unread records without a
            change of its position; 0 if the partition has no unread records.
    """

    __slots__ = (
        "_layout", "_members", "_partial", "_rewind", "first_at", "idle", "pace", "positions", "progress_at", "reads",
        "rebalanced_at", "rebalances", "samples", "waited",
    )  # fmt: skip

    def __init__(self) -> None:
        # Hashes of the group's partitions (`_layout`), of its members (`_members`), and of the partitions in the last
        # read that was ignored because it lacked partitions (`_partial`). 0 means that there is no hash.
        self._layout = self._members = self._partial = 0
        self.first_at = self.progress_at = self.pace = self.rebalances = 0
        self.rebalanced_at: tuple[int, ...] = (0,) * REBALANCES_KEPT
        self.reads = self.idle = 0
        self.samples: list[Sums] = []
        self.positions: array[int] = array("q")
        self.waited: array[int] = array("H")
        # None, or data about a committed offset that went back: time of the read that showed this, index of the
        # partition, previous offset, and number of later reads with progress.
        self._rewind: tuple[int, int, int, int] | None = None

    @classmethod
    def decode(cls, data: bytes) -> Trail:
        """Return the trail that `encode` has encoded; an empty trail for empty bytes."""
        trail = cls()
        if not data:
            return trail
        form, samples = format_and_samples(data)
        (
            _, trail._layout, trail._members, trail._partial, trail.first_at, trail.progress_at, trail.pace,
            trail.rebalances, trail.reads, trail.idle, partitions,
        ) = HEADER.unpack_from(data)  # fmt: skip
        trail.samples = [Sums(*row) for row in sums_in(data, form, samples)]
        positions = array(form.position)
        start = HEADER.size + SAMPLES * form.sums.size
        end = start + positions.itemsize * partitions
        positions.frombytes(data[start:end])
        trail.positions.extend(positions.tolist())
        start, end = end, end + 2 * partitions
        trail.waited.frombytes(data[start:end])
        trail.rebalanced_at = REBALANCED_AT.unpack_from(data, end)
        end += REBALANCED_AT.size
        if end < len(data):
            trail._rewind = REWIND.unpack_from(data, end)
        return trail

    def encode(self) -> bytes:
        try:
            return self._encode(NARROW_FORMAT)
        except (error, OverflowError):
            return self._encode(WIDE_FORMAT)

    def _encode(self, form: Format) -> bytes:
        """Encode this trail. Raises `struct.error` or OverflowError if a value is too large for the format."""
        first = len(self.samples) + (WIDE if form is WIDE_FORMAT else 0)
        header = HEADER.pack(
            first, self._layout, self._members, self._partial, self.first_at, self.progress_at, self.pace,
            self.rebalances, self.reads, self.idle, len(self.positions),
        )  # fmt: skip
        sums = b"".join([form.sums.pack(*row) for row in self.samples]).ljust(SAMPLES * form.sums.size, b"\0")
        positions = array(form.position, self.positions).tobytes()
        rebalanced_at = REBALANCED_AT.pack(*self.rebalanced_at)
        rewind = b"" if self._rewind is None else REWIND.pack(*self._rewind)
        return b"".join((header, sums, positions, self.waited.tobytes(), rebalanced_at, rewind))

    @property
    def at(self) -> int:
        """Time of the newest read; 0 if there was none."""
        return self.samples[-1].at if self.samples else 0

    @property
    def shows_progress(self) -> bool:
        """Whether the reads show that the group was still reading every partition with unread records.

        False after the first read, and while the position of such a partition is the same in all stored reads. But if
        there are more reads than a trail stores, progress in any partition is enough, because the rule for stopped
        groups then applies to each partition.
        """
        if self.reads < 2:
            return False
        if self.progress_at and self.reads > SAMPLES:
            return True
        seconds = self.at - self.samples[0].at
        return not any(waited > seconds for waited in self.waited)

    @property
    def rewound_at(self) -> int:
        """Time of the read that showed that an offset of the group went back; 0 if there was no such read.

        The time is reset to 0 when the offset reaches its earlier value again, after `_FORGET_REWIND_AFTER` reads with
        progress, or when `add` forgets the earlier reads.
        """
        return 0 if self._rewind is None else self._rewind[0]

    def add(self, at: int, rows: Sequence[Position], jump: int = 0) -> None:
        """Add the offsets that one background read has found.

        Earlier reads are forgotten if a topic was recreated, if partitions were added or removed, or if the clock was
        set back. If a read has fewer partitions than the previous read, it is ignored, because a broker may have left
        the missing partitions out. If the next read lacks the same partitions, they count as removed.

        Args:
            at: time of the read.
            rows: offsets in all partitions, sorted by topic and partition.
            jump: seconds that the clock has skipped since the previous read, because it was set forward or the machine
                was suspended. These seconds do not count as time without progress.
        """
        sums = _sums(at, rows)
        layout = _hash([row[0] for row in rows])
        last = self.samples[-1] if self.samples else None
        self.first_at = self.first_at or at
        if last is None or at < last.at or (layout == self._layout and _recreated(rows, self.positions)):
            self._start_again(sums, rows, layout)
        elif layout != self._layout:
            if len(rows) < len(self.positions) and layout != self._partial:
                self._partial = layout
                return
            # Partitions were added or removed. The sums of earlier reads are dropped, because they cannot be compared
            # with the new sums. Offsets of partitions that are in both reads may still show progress.
            moved = self._moved_forward(rows)
            self._start_again(sums, rows, layout)
            if moved:
                self._progress(at)
        elif at > last.at:
            self._compare(at, rows, max(at - last.at - jump, 0))
            self.samples = [*self.samples[1 - SAMPLES :], sums]
            self.reads = min(self.reads + 1, _MANY)
            self._partial = 0

    def _moved_forward(self, rows: Sequence[Position]) -> bool:
        """Return whether an offset has moved forward since the previous read, which had fewer partitions.

        The trail has only a hash of the previous partitions, so this method finds the added partitions by trial: at
        each place in `rows`, it leaves out as many adjacent rows as were added, until the hash of the remaining
        partitions is the stored one. The result is False if the added partitions are not adjacent in `rows`, or if
        there are more than `_MOST_COMPARED` partitions.
        """
        added = len(rows) - len(self.positions)
        if added <= 0 or len(rows) > _MOST_COMPARED:
            return False
        keys = [row[0] for row in rows]
        for start in range(len(self.positions) + 1):
            if _hash(keys[:start] + keys[start + added :]) == self._layout:
                common = [*rows[:start], *rows[start + added :]]
                return any(
                    row[1] is not None and row[1] > old >= 0 for row, old in zip(common, self.positions, strict=True)
                )
        return False

    def _start_again(self, sums: Sums, rows: Sequence[Position], layout: int) -> None:
        self._layout, self._partial, self.samples, self.reads = layout, 0, [sums], 1
        self.positions = array("q", [_UNKNOWN if row[1] is None else row[1] for row in rows])
        self.waited = array("H", [1 if row[3] and row[1] is not None else 0 for row in rows])
        self._rewind = None

    def _compare(self, at: int, rows: Sequence[Position], seconds: int) -> None:
        """Compare the offsets in `rows` with those of the previous read, and store the new offsets.

        Args:
            seconds: time since the previous read.
        """
        before, waited, positions, waits = self.positions, self.waited, array("q"), array("H")
        forward = False
        for index, (_, position, _, lag) in enumerate(rows):
            old = before[index]
            if position is None:
                positions.append(_UNKNOWN)
                waits.append(0)
                continue
            positions.append(position)
            if position == old and lag:
                start = waited[index]
                waits.append(min(start + seconds, WAITED_MAX) if start else 1)
                continue
            waits.append(1 if lag else 0)
            if position > old >= 0:
                forward = True
            elif position < old and self._rewind is None:
                self._rewind = (at, index, old, 0)
        self.positions, self.waited = positions, waits
        if forward:
            self._progress(at)
        self._forget_rewind(forward)

    def _forget_rewind(self, forward: bool) -> None:
        if self._rewind is not None:
            began, index, target, moves = self._rewind
            moves += forward
            done = self.positions[index] >= target or moves >= _FORGET_REWIND_AFTER
            self._rewind = None if done else (began, index, target, moves)

    def _progress(self, at: int) -> None:
        if self.progress_at:
            # The pace is the longest recent time between two reads with progress. One read can reduce the pace to a
            # quarter of its value, but not further, so that a single long pause is forgotten only after a few reads.
            self.pace = min(max(at - self.progress_at, self.pace // 4), WAITED_MAX)
        self.progress_at = at

    def describe(self, at: int, description: GroupDescription) -> None:
        """Compare the members in a new description with the previous ones, and count a rebalance if they differ.

        A changed assignment or epoch counts as a rebalance, too. A description from the middle of a rebalance is
        ignored, because its list of members is incomplete.
        """
        members = description.members
        if members is None or description.state in REBALANCING:
            return
        owned = any(member.assignment or _has_tasks(member) for member in members)
        self.idle = min(self.idle + 1, _MANY) if members and not owned else 0
        before, self._members = self._members, membership_signature(description)
        # Do not count a rebalance twice. If a list of groups has shown a rebalance since the newest read of offsets,
        # that rebalance was already counted, and has probably caused the change of the members.
        if before not in (0, self._members) and self.rebalanced_at[-1] <= self.at:
            self.rebalanced(at)

    def rebalanced(self, at: int) -> None:
        """Add a rebalance that was observed at the time `at` (epoch seconds)."""
        self.rebalances = min(self.rebalances + 1, 0xFFFF)
        self.rebalanced_at = (*self.rebalanced_at[1:], at)

    def time_lag(self) -> float | None:
        """Return a lower bound for the age of the oldest unread record, in seconds; None before the first read."""
        if not self.samples:
            return None
        position = self.samples[-1].positions
        # If the log end offset of a partition in an earlier read is above the current position, a record that was
        # written before the earlier read is still unread. Comparing sums over all partitions is enough: if the sum of
        # the earlier log end offsets is above the sum of the current positions, at least one partition has such a
        # record.
        older = next((sums.at for sums in self.samples if sums.log_ends > position and not sums.unknown), None)
        age = 0 if older is None or self.samples[-1].unknown else self.at - older
        return float(max(age, max(self.waited, default=1) - 1, 0))

    def forget_suspicion(self) -> None:
        """Forget the sums of all reads except the newest, and how long positions have been unchanged.

        Call this method if a problem was suspected because of this data, but the health verdict shows no problem. If
        the data were kept, the next read would lead to the same suspicion.
        """
        self.samples = self.samples[-1:]
        self.reads = min(self.reads, 2)
        self.waited = array("H", bytes(2 * len(self.waited)))


def _hash(keys: Sequence[tuple[str, int]]) -> int:
    """Return a hash of partitions, from 1 to 2³² − 1. It is never 0, because 0 stands for a missing hash.

    Hashes from different processes must not be compared, because Python's hash of a string differs between processes.
    """
    return hash(tuple(keys)) & 0xFFFFFFFF or 1


def _sums(at: int, rows: Sequence[Position]) -> Sums:
    ends = total = unknown = 0
    for _, position, log_end, lag in rows:
        if lag is not None and log_end is not None:
            ends, total = ends + log_end, total + lag
        elif position is not None:
            unknown += 1
    return Sums(at, max(min(ends, _INT64), -_INT64), min(total, _INT64), min(unknown, 0xFFFF))


def _recreated(rows: Sequence[Position], positions: Sequence[int]) -> bool:
    """Return whether a topic was recreated, so that its offsets begin at 0 again.

    A topic counts as recreated if, in any of its partitions, both the new log end offset and the group's new offset are
    below the group's previous offset.

    Args:
        positions: the group's offsets in the previous read, for the same partitions as `rows`; -1 stands for none.
    """
    for (_, position, log_end, _), old in zip(rows, positions, strict=True):
        if log_end is not None and position is not None and log_end < old and position < old:
            return True
    return False


def _has_tasks(member: Member) -> bool:
    if member.connect is not None:
        return bool(member.connect.connectors or member.connect.tasks)
    if member.streams is not None:
        return bool(member.streams.assignment.active)
    return member.registry is not None
