"""Find groups with a possible problem by simple rules. The rules miss no problem, but can suspect a healthy group.

The background read of all groups passes each read to `Screening`. Groups with a possible problem are then read more
often, so that kgtui can compute an exact verdict (`kgtui.monitor.suspects`).

| problem | rule |
|---|---|
| data lost | a position is before the log start offset |
| stopped | a position with unread records has not moved for a full window of Burrow's rules |
| rewound | a position moved backward, and has not reached its previous value again |
| flapping | at least three rebalances in `FLAPPING_SECONDS`, seen as changes of state, members, assignment or epoch |
| falling behind | the lag grew in each of the last reads, and records from before these reads are still unread |
| no partitions | no member had a partition in the last two descriptions |
| rebalancing | a rebalance lasts longer than `unsettled_limit` |
| empty, unused, abandoned | the group has unread records, but no members |

A position is a committed offset or a share-partition start offset. `kgtui.monitor.trail_rules` has the rules that need
only the last reads of the group (its trail).
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.model.group_types import EMPTY, NOT_READY, SIMPLE, STABLE, UNSETTLED
from kgtui.model.health.wording import lost_records
from kgtui.model.judgment import Basis, Judgment, judgment_of_abandoned, judgment_of_empty, judgment_of_unused
from kgtui.model.problem import ABANDONED_AFTER, SUSPECTED, GroupStatus, Problem, unsettled_limit, unsettled_reason
from kgtui.model.trail import Trail
from kgtui.monitor import trail_rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kgtui.model.group import GroupDescription, Listing
    from kgtui.model.offsets import Position
    from kgtui.monitor.lost_records import LogStartCheck
    from kgtui.monitor.store import Store

OBSERVED_AFTER_REBALANCE = 60.0
"""For this many seconds after a rebalance, a group is read more often, so that kgtui notices further short rebalances.

The background read of all groups is not frequent enough to notice them.
"""

_LASTING = frozenset({Problem.FLAPPING, Problem.BEHIND})
_MOST_SHARED = 20_000
_MOST_CHANGED = 5_000
_MOST_NEAR_LOG_START = 5_000
_MOST_REBALANCED = 1_000
_CHANGES_PER_SLICE = 50
"""Maximum number of groups to which the rules are applied without a pause for other tasks. This takes about 3 ms."""
_CLOCK_TOLERANCE = 2.0
"""Changes of the machine's clock by up to this number of seconds are ignored (see `Screening.check_clock`)."""


class Screening:
    """Applies the rules of this module to each group that kgtui has read in the background, and stores the judgments.

    A judgment says which problems a group possibly has.

    Args:
        store: contains the groups, their last reads and the judgments.

    Attributes:
        changed: ids of groups that were not read since their state changed, oldest change first.
        near_log_start: groups that have members, and unread records in the older half of a log.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._unsettled: dict[str, float] = {}
        self._shared: dict[Judgment, Judgment] = {}
        self._offset, self._jump, self._jumped_at = time.time() - time.monotonic(), 0, 0.0
        self.changed: dict[str, None] = {}
        self.near_log_start: set[str] = set()
        self._rebalanced_at: dict[str, float] = {}
        self._to_judge: deque[tuple[str, float | None]] = deque()
        self._note_unsettled()
        store.on_state_change, store.on_first_list = self.state_changed, self._note_unsettled

    def _note_unsettled(self) -> None:
        """Remember which groups are now in a rebalance or in the state NotReady.

        The store calls this method after it has stored the first list of a broker. If a rebalance begins later, the
        store calls `state_changed`.
        """
        now = self._store.now()
        for listing, ids in self._store.by_listing.items():
            if listing.state in UNSETTLED:
                for group in ids:
                    self._unsettled.setdefault(group, now)

    def add(
        self, group: str, at: float, rows: Sequence[Position] | None, description: GroupDescription | None
    ) -> Trail:
        """Add a read of a group to its trail (the data of its last reads), and return the trail. The caller stores it.

        Args:
            at: time of the read, in seconds since the epoch.
            rows: for each partition, the group's position and the log end offset; None if the offsets were not read.
            description: None if the group was not described.
        """
        summary = self._store.summaries.get(group)
        trail = Trail.decode(b"" if summary is None else summary.trail)
        if description is not None:
            trail.describe(round(at), description)
        if rows is not None:
            now, earlier_at, earlier = round(at), trail.at, trail.positions
            trail.add(now, rows, jump=self._jump if trail.at <= self._jumped_at else 0)
            # The first condition is false if the trail has ignored the read, because partitions were missing in it.
            if earlier_at < trail.at == now and trail.reads > 1 and now in (trail.rewound_at, trail.progress_at):
                self._note_reset(group, at, rows, earlier, earlier_at, went_back=trail.rewound_at == now)
        return trail

    def _note_reset(
        self, group: str, at: float, rows: Sequence[Position], earlier: Sequence[int], earlier_at: int, went_back: bool
    ) -> None:
        """Pass the offsets of two reads to the event tracker, if they may show that offsets were reset.

        This is so if an offset went back, or if any offset changed while the group was Empty. Groups whose offsets are
        read at every poll are left out, because the store compares these reads itself.

        Args:
            rows: offsets in the newest read, which was made at the time `at`.
            earlier: offsets of the same partitions in the previous read, at the time `earlier_at`; -1 stands for none.
            went_back: whether an offset went back between these reads.
        """
        listing, since = self._store.groups.get(group), self._store.state_since.get(group, 0.0)
        if listing is None or group in self._store.offsets:
            return
        memberless = listing.state == EMPTY and since <= earlier_at
        if went_back or memberless:
            pairs = [(row.key, old, row.position) for row, old in zip(rows, earlier, strict=True)]
            before = {key: old for key, old, new in pairs if old >= 0 and new is not None}
            after = {key: new for key, _, new in pairs if key in before and new is not None}
            self._store.events.positions_read(group, listing, before, after, at, memberless=memberless)

    def judge(self, group: str, trail: Trail | None = None, compared: LogStartCheck | None = None) -> None:
        """Apply all rules of screening to a group, and store the judgment (which problems the group possibly has).

        Args:
            trail: last reads of the group; None to use the trail in the group's summary.
            compared: result of comparing the group's offsets with the log start offsets; None if not compared.
        """
        store = self._store
        summary, listing = store.summaries.get(group), store.groups.get(group)
        if summary is None or listing is None:
            return
        if trail is None:
            trail = Trail.decode(summary.trail)
        if trail.rebalanced_at[-1]:
            self._note_rebalance(group, trail.rebalanced_at[-1])
        known, lost = store.screened.get(group), None if compared is None else compared.lost
        if compared is not None and compared.near is not None:
            self._note_near_log_start(group, near=compared.near and listing.state != EMPTY)
        if lost is None and known is not None and Problem.DATA_LOST in (known.kind, *known.others):
            lost = summary.lag
        problems = self._problems(group, listing, trail, lost or 0)
        found = sorted((_with_earlier_begin(one, known) for one in problems), key=_order)
        if found:
            others = tuple([one.kind for one in found[1:] if one.kind is not None])
            store.put_screened(group, self._stored_equal(replace(found[0], others=others) if others else found[0]))
        else:
            store.put_screened(group, None)

    def _note_near_log_start(self, group: str, *, near: bool) -> None:
        if not near:
            self.near_log_start.discard(group)
        elif len(self.near_log_start) < _MOST_NEAR_LOG_START:
            self.near_log_start.add(group)

    def _note_rebalance(self, group: str, at: float) -> None:
        if at > self._store.now() - OBSERVED_AFTER_REBALANCE and (
            group in self._rebalanced_at or len(self._rebalanced_at) < _MOST_REBALANCED
        ):
            self._rebalanced_at[group] = at

    def without_problem_to_observe(self) -> set[str]:
        """Return the groups that should be read more often even if they have no known problem.

        These groups have unread records in the older half of a log, which retention deletes first, or had a rebalance
        in the last `OBSERVED_AFTER_REBALANCE` seconds.
        """
        since = self._store.now() - OBSERVED_AFTER_REBALANCE
        self._rebalanced_at = {group: at for group, at in self._rebalanced_at.items() if at > since}
        return self.near_log_start | self._rebalanced_at.keys()

    def clear_suspicion(self, group: str) -> None:
        """Forget that screening suspected a problem of a group, and apply the rules to the group again.

        Call this when the exact verdict on the group is OK, which means that the suspicion was wrong.
        """
        health = self._store.health.get(group)
        if health is None or health.loss is None or not health.loss.is_near:
            self.near_log_start.discard(group)
        judgment, summary = self._store.screened.get(group), self._store.summaries.get(group)
        if judgment is None or judgment.kind not in SUSPECTED or summary is None:
            return
        if self._store.groups[group].state == EMPTY:
            return
        trail = Trail.decode(summary.trail)
        trail.forget_suspicion()
        self._store.store_summary(group, replace(summary, trail=trail.encode(), screened=True))
        self.judge(group, trail)

    def state_changed(self, group: str, before: Listing | None, after: Listing) -> None:
        """Remember that the state of a group has changed.

        If the change can affect the judgment on the group, `apply_changes` applies the rules to the group again.

        Args:
            before: the group's entry in the previous list of groups; None if the group is new.
            after: the group's entry in the new list.
        """
        rebalance = False
        if after.state in UNSETTLED:
            if before is None or before.state not in UNSETTLED:
                self._unsettled[group] = self._store.now()
                rebalance = after.state != NOT_READY
        else:
            self._unsettled.pop(group, None)
            # A group that was Empty and is now Stable must have had a rebalance between the two lists.
            rebalance = before is not None and before.state == EMPTY and after.state == STABLE
        if len(self.changed) < _MOST_CHANGED:
            self.changed[group] = None
        if rebalance or group in self._store.screened or after.state == EMPTY:
            self._to_judge.append((group, self._store.now() if rebalance else None))

    def apply_changes(self, most: int = _CHANGES_PER_SLICE) -> bool:
        """Apply the rules to at most `most` groups whose state has changed. Return whether such groups are left."""
        for _ in range(min(most, len(self._to_judge))):
            group, rebalanced_at = self._to_judge.popleft()
            if rebalanced_at is not None:
                self._count_rebalance(group, rebalanced_at)
            if group in self._store.groups:
                self.judge(group)
        return bool(self._to_judge)

    def judge_unsettled(self) -> None:
        """Apply the rules to groups whose rebalance lasts too long, or that are in the state NotReady for too long.

        Forget groups that no longer rebalance or no longer exist. One call applies the rules to at most
        `_CHANGES_PER_SLICE` groups.
        """
        now, groups, judged = self._store.now(), self._store.groups, 0
        for group, since in list(self._unsettled.items()):
            if judged == _CHANGES_PER_SLICE:
                return
            listing = groups.get(group)
            limit = None if listing is None else unsettled_limit(listing.state, listing.type)
            if limit is None:
                del self._unsettled[group]
            elif now - since >= limit:
                known = self._store.screened.get(group)
                if known is None or Problem.REBALANCING not in (known.kind, *known.others):
                    self.judge(group)
                    judged += 1

    def check_clock(self) -> None:
        """Check whether the machine's clock was set, or whether the machine was suspended.

        Time that the clock has skipped does not count as time without progress. If the clock was set back, the next
        read of a group replaces the stored reads of the group.
        """
        offset = time.time() - time.monotonic()
        jump = round(offset - self._offset)
        if abs(jump) > _CLOCK_TOLERANCE:
            self._jump, self._jumped_at = max(jump, 0), time.time() - max(jump, 0)
            self._unsettled = {group: since + jump for group, since in self._unsettled.items()}
            self._offset = offset

    def _count_rebalance(self, group: str, at: float) -> None:
        summary = self._store.summaries.get(group)
        if summary is not None and group in self._store.groups:
            trail = Trail.decode(summary.trail)
            trail.rebalanced(round(at))
            self._store.store_summary(group, replace(summary, trail=trail.encode()))

    def _stored_equal(self, judgment: Judgment) -> Judgment:
        """Return the stored object that is equal to `judgment`, to save memory; if there is none, store `judgment`."""
        if len(self._shared) > _MOST_SHARED:
            self._shared.clear()
        return self._shared.setdefault(judgment, judgment)

    def _problems(self, group: str, listing: Listing, trail: Trail, lost: int) -> Iterator[Judgment]:
        now = self._store.now()
        empty = self._of_empty(group, listing, trail, now) if listing.state == EMPTY else None
        abandoned = empty is not None and empty.kind is Problem.ABANDONED
        if empty is not None:
            yield empty
        elif listing.state != EMPTY:
            yield from trail_rules.not_moving(trail)
        if lost and not abandoned:
            yield trail_rules.judgment_of_screening(GroupStatus.ERR, Problem.DATA_LOST, lost_records(lost))
        yield from trail_rules.moved_backward(trail)
        if not abandoned:
            yield from trail_rules.flapping(trail, now)
        if empty is None:
            yield from trail_rules.growing(trail)
        yield from trail_rules.without_partitions(trail)
        began, limit = self._unsettled.get(group), unsettled_limit(listing.state, listing.type)
        if began is not None and limit is not None and now - began >= limit:
            seen = group in self._store.state_since
            why = unsettled_reason(listing.state)
            yield trail_rules.judgment_of_screening(GroupStatus.WARN, Problem.REBALANCING, why, began, seen=seen)

    def _of_empty(self, group: str, listing: Listing, trail: Trail, now: float) -> Judgment | None:
        """Return the judgment on an Empty group; None if the group has no unread records or still makes progress."""
        lag = trail.samples[-1].lag if trail.samples else 0
        if not lag:
            return None
        since = self._store.state_since.get(group)
        if trail.progress_at and trail.progress_at >= (since or 0.0):
            # The group has committed offsets without having members, for example because its consumers assign
            # partitions to themselves. While the group makes progress, it has no problem. If it has stopped, a simple
            # group is judged like a group with members. All other groups are then judged like other Empty groups.
            stopped = next(trail_rules.not_moving(trail), None)
            if stopped is None or listing.kind == SIMPLE:
                return stopped
        basis = Basis.SCREENED if trail.reads > 1 else Basis.READ_ONCE
        broker = self._store.brokers.get(listing.coordinator)
        watched_since = now if broker is None or broker.answered_since is None else broker.answered_since
        if now - max(since or 0.0, watched_since) >= ABANDONED_AFTER:
            return judgment_of_abandoned(lag, since, basis)
        # Brokers do not report when a group became Empty. Old unread records do not prove that the group is abandoned,
        # because its members may have left recently, and may have been far behind then. So the group counts only as
        # `UNUSED` (probably abandoned).
        unread_since = self._store.unread_since.get(group, now)
        if since is None and not trail.rewound_at and now - unread_since >= ABANDONED_AFTER:
            return judgment_of_unused(lag, basis)
        return judgment_of_empty(lag, since, basis, appeared=group in self._store.appeared)


def _order(judgment: Judgment) -> tuple[bool, int]:
    """Return a key for sorting the problems of a group: `Problem.UNUSED` first, then the others by severity.

    Most unused groups have also lost records. If kgtui showed them as groups with lost records, their old losses would
    hide new losses of other groups.
    """
    return judgment.kind is not Problem.UNUSED, -judgment.harm


def _with_earlier_begin(found: Judgment, known: Judgment | None) -> Judgment:
    """Return the new judgment `found`. If `known` has the same problem and an earlier start time, use this start time.

    Only judgments with a problem in `_LASTING` are changed. The rules for these problems see only the last few reads,
    so the start time that they find is later after each read.

    Args:
        known: the previous judgment on the group, or None.
    """
    if known is None or found.kind is not known.kind or found.kind not in _LASTING or known.since is None:
        return found
    if found.since is not None and found.since <= known.since:
        return found
    return replace(found, since=known.since, since_seen=known.since_seen)
