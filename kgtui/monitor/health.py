"""Compute health verdicts on groups, and read the retention times of their topics.

A health verdict says whether a group keeps up with its topics, by the rules of LinkedIn's Burrow. Verdicts are computed
for the selected and visible groups, and for groups with a possible problem.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from kgtui.errors import KgtuiError
from kgtui.model.burrow import Status
from kgtui.model.cluster import Retention
from kgtui.model.group_types import DEAD, EMPTY
from kgtui.model.health import ReadHistory, Watching, health_steps, with_hidden_offsets
from kgtui.model.health.judged import is_final
from kgtui.model.health.values import DEFAULT_WATCHING
from kgtui.model.slices import Slices
from kgtui.monitor.policy import RETENTION_MAX_AGE, RETENTION_PAUSE, SCREEN_GAPS, MonitorOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.group import GroupDescription
    from kgtui.model.offsets import GroupOffsets, TopicPartition
    from kgtui.model.record_times import RecordTime
    from kgtui.monitor.poll_timer import PollTimer
    from kgtui.monitor.store import Store

_READS_PER_COMMIT = ceil(DEFAULT_WATCHING.commit_interval / MonitorOptions().interval)

MIN_READS_PER_PARTITION = DEFAULT_WATCHING.rules.intervals * _READS_PER_COMMIT
"""Minimum number of reads that are kept per partition.

At the default polling interval, this many reads show all commits that Burrow's rules need.
"""

READS_PER_PARTITION = 2 * MIN_READS_PER_PARTITION
"""Number of reads that are kept per partition, unless the group has too many partitions (see `_READS_PER_GROUP`)."""

_READS_PER_GROUP, _READS_IN_ALL = 60_000, 600_000
"""Maximum number of partition reads that are kept for one group, and for all groups together.

A partition read consists of the offsets of one partition at one time, and takes 40 bytes. A group with many partitions
can exceed `_READS_PER_GROUP`, because at least `MIN_READS_PER_PARTITION` reads are kept per partition.
"""

_MANY_PARTITIONS = 500
"""The reads of a group with at least this many partitions are stored in a thread, because storing them takes long."""

_READS_BEFORE_VERDICT = 2
"""Number of reads that are needed for the first verdict, because one read cannot show progress."""

_SLICE_SECONDS = 0.003
"""Maximum time, in seconds, for which verdicts are computed before the event loop can run other tasks."""

_CPU_OF_ALL, _CPU_OF_SELECTED = 0.01, 0.05
"""Maximum fraction of one CPU for computing the verdicts on all groups together, and on the selected group alone.

Verdicts on the selected group are computed even if the fraction for all groups is used up.
"""

_CPU_CREDIT = 0.05
"""Limit of the CPU budget for computing health verdicts, in seconds: the budget is from minus to plus this limit.

The budget grows by `_CPU_OF_ALL` seconds per second, and each verdict reduces it by its CPU time. While the budget is
not positive, only the verdict on the selected group is computed.
"""

_RETENTION_TOPICS = 20_000
"""Maximum number of topics whose retention time is cached."""


class RetentionTier:
    """Reads the retention times of the topics of all groups on which verdicts are computed.

    The retention time of a topic is read again after `RETENTION_MAX_AGE` seconds at the earliest. This also applies
    after a failed read.

    Attributes:
        known: the retention times and retention configs that have been read.
    """

    def __init__(self, admin: GroupAdmin, options: MonitorOptions, timer: PollTimer) -> None:
        self._admin = admin
        self._timeout = options.timeout
        self._timer = timer
        self._asked: dict[str, float] = {}
        self._wanted: dict[str, None] = {}
        self._wake = asyncio.Event()
        self.known = Retention()

    def want(self, topics: Iterable[str]) -> None:
        """Request the retention times of topics, which `run` will read. Topics that were read recently are skipped."""
        now, age = self._timer.now(), RETENTION_MAX_AGE
        old = [topic for topic in topics if now - self._asked.get(topic, -age) >= age]
        if old:
            self._wanted.update(dict.fromkeys(old))
            self._wake.set()

    async def read_now(self, topics: Iterable[str]) -> None:
        """Read the retention times of topics immediately. Skip topics that kgtui has already tried to read."""
        unread = [topic for topic in topics if topic not in self._asked]
        if unread:
            await self._read(unread)

    async def run(self) -> None:
        """Read the retention times of requested topics until this task is canceled."""
        while True:
            await self._wake.wait()
            await self._timer.pause_for(RETENTION_PAUSE)
            self._wake.clear()
            topics, self._wanted = list(self._wanted), {}
            await self._read(topics)

    async def _read(self, topics: list[str]) -> None:
        now = self._timer.now()
        for topic in topics:
            self._asked.pop(topic, None)
            self._asked[topic] = now
        try:
            answer = await self._admin.retention(topics, timeout=self._timeout)
        except KgtuiError:
            return
        known = self.known.updated(answer.rows, () if answer.faults else set(topics))
        forgotten = list(self._asked)[: max(len(self._asked) - _RETENTION_TOPICS, 0)]
        for topic in forgotten:
            del self._asked[topic]
        kept = {topic: seconds for topic, seconds in known.topics.items() if topic in self._asked}
        rules = {topic: row for topic, row in known.rules.items() if topic in self._asked}
        self.known = replace(known, topics=kept, rules=rules) if forgotten else known


class ReadResult(NamedTuple):
    """The result of reading one group once.

    Attributes:
        at: time of the read, in seconds since the epoch.
        description: None if it could not be read.
        offsets: None if they could not be read, or if the group has none.
        fault: whether some data of the group could not be read.
    """

    group: str
    at: float
    description: GroupDescription | None
    offsets: GroupOffsets | None
    fault: bool


class HealthTier:
    """Keeps the last reads of some groups, and computes health verdicts on these groups.

    The groups are the selected and visible groups, and groups with a possible problem. A new verdict on a group is
    computed every `Options.expire_cache` seconds (`kgtui.model.burrow`), or less often if the CPU budget is used up.

    Args:
        changed: called after a verdict has been stored.
        retention: reads the retention times of topics.
        watching: settings for verdicts. Its `gap_after` is not used; it is computed from the polling interval instead.
        on_healthy: called with the id of a group if its lag does not grow, its new verdict is OK, and the verdict is
            final: a longer observation could not make it worse.
    """

    def __init__(
        self,
        store: Store,
        options: MonitorOptions,
        timer: PollTimer,
        changed: Callable[[], None],
        retention: RetentionTier,
        watching: Watching | None = None,
        on_healthy: Callable[[str], None] = lambda _group: None,
    ) -> None:
        self._store = store
        self._on_healthy = on_healthy
        self._kept_groups = options.kept_groups
        self._timer = timer
        self._changed = changed
        self._retention = retention
        self._watching = watching or Watching()
        self._histories: OrderedDict[str, ReadHistory] = OrderedDict()
        self._reads: deque[ReadResult] = deque()
        self._times: dict[str, Mapping[TopicPartition, RecordTime]] = {}
        self._due: dict[str, float] = {}
        self._unjudged: set[str] = set()
        self._cpu_credit, self._credited_at = _CPU_CREDIT, timer.now()
        self._selected: str | None = None
        self._wake = asyncio.Event()

    def set_view(self, selected: str | None) -> None:
        """Set the selected group, whose verdict is computed before the verdicts on other groups."""
        self._selected = selected

    def take(self, read: ReadResult) -> None:
        """Queue the result of a read for `run`, which computes the verdict."""
        self._reads.append(read)
        self._wake.set()

    def take_record_times(self, group: str, times: Mapping[TopicPartition, RecordTime]) -> None:
        """Queue the times at which a group's unread records were written. `run` uses them for a new verdict."""
        self._times[group] = times
        self._wake.set()

    async def run(self) -> None:
        """Store queued reads and compute verdicts until this task is canceled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self.process_reads()

    async def process_reads(self) -> None:
        """Store every queued read, and compute every verdict that is due."""
        # `slices` pauses the work after every `_SLICE_SECONDS` seconds, so that other tasks can run. All reads and
        # verdicts share one `Slices` object, because even short computations block the event loop if many of them run
        # without a pause.
        slices = Slices(asyncio.sleep, _SLICE_SECONDS)
        while True:
            await self._store_reads(slices)
            group = self._next()
            if group is None:
                return
            await self._compute_verdict(group, slices)
            await slices.pause_if_due()

    async def _store_reads(self, slices: Slices) -> None:
        while self._reads:
            await self._add(self._reads.popleft())
            await slices.pause_if_due()
        while self._times:
            group, times = self._times.popitem()
            history = self._histories.get(group)
            if history is not None:
                history.set_record_times(times)
                if history.reads >= _READS_BEFORE_VERDICT:
                    self._unjudged.add(group)
                    self._due.pop(group, None)
            await slices.pause_if_due()

    async def _add(self, read: ReadResult) -> None:
        group = read.group
        gone = read.description is not None and read.description.state == DEAD
        if gone or group not in self._store.groups:
            self._forget(group)
            return
        history = self._histories.get(group) or ReadHistory()
        if history.read_at is not None and read.at < history.read_at:
            # A read is older than the previous one only in a replay, if the user has gone back to an earlier time of
            # the recording. Drop all stored reads of the group, because some of them are newer.
            self._forget(group)
            history = ReadHistory()
        self._histories[group] = history
        self._histories.move_to_end(group)
        gap_after = SCREEN_GAPS.limit(self._timer.interval)
        if history.watching.gap_after != gap_after:
            history.watching = replace(self._watching, gap_after=gap_after)
        partitions = len(history.samples) if read.offsets is None else len(read.offsets.partitions)
        history.length = max(MIN_READS_PER_PARTITION, min(READS_PER_PARTITION, _READS_PER_GROUP // max(partitions, 1)))
        before = history.reads
        if partitions < _MANY_PARTITIONS:
            history.add(read.at, read.description, read.offsets, fault=read.fault)
        else:
            await asyncio.to_thread(history.add, read.at, read.description, read.offsets, fault=read.fault)
        since = self._store.state_since.get(group)
        if history.empty_since is not None and since is not None and self._store.groups[group].state == EMPTY:
            # The group counts as Empty since a list of groups first showed this state, even if its members and offsets
            # were first read much later.
            history.empty_since = since, False
        elif history.empty_since is not None and since is None and self._timer.recorded_at is None:
            # The coordinator has responded without long gaps since `answered_since`, and has always listed the group as
            # Empty. So the group has been Empty since then, or even longer.
            broker = self._store.brokers.get(self._store.groups[group].coordinator)
            if broker is not None and broker.answered_since is not None:
                history.empty_since = min(history.empty_since[0], broker.answered_since), True
        if history.reads > max(before, _READS_BEFORE_VERDICT - 1):
            self._unjudged.add(group)
        self._forget_oldest()

    def _forget_oldest(self) -> None:
        kept = self._histories
        while len(kept) > 1 and (len(kept) > self._kept_groups or sum(map(_capacity, kept.values())) > _READS_IN_ALL):
            self._forget(next(iter(kept)))

    def _forget(self, group: str) -> None:
        self._histories.pop(group, None)
        self._unjudged.discard(group)
        self._due.pop(group, None)
        self._store.drop_health(group)

    def _next(self) -> str | None:
        """Return the group whose verdict is computed next; None if no verdict is due.

        The selected group comes first, then the group whose verdict has been due longest. If the CPU budget is used up,
        only the selected group is returned.
        """
        now = self._timer.now()
        self._cpu_credit = min(self._cpu_credit + max(now - self._credited_at, 0.0) * _CPU_OF_ALL, _CPU_CREDIT)
        self._credited_at = now
        due = [group for group in self._unjudged if self._due.get(group, 0.0) <= now]
        if self._selected in due:
            return self._selected
        return min(due, key=lambda group: self._due.get(group, 0.0), default=None) if self._cpu_credit > 0 else None

    async def _compute_verdict(self, group: str, slices: Slices) -> None:
        """Compute the verdict on a group in short steps, between which other tasks run."""
        self._unjudged.discard(group)
        began = self._timer.now()
        history = self._histories[group]
        self._retention.want(history.topics)
        spent_before = slices.spent
        # While the verdict is computed, no read is added to `history`, so that all steps see the same reads.
        health = await slices.run(health_steps(history, self._retention.known))
        offsets, access = self._store.offsets.get(group), self._store.access
        hides_topics = access is not None and access.hides_topics
        if offsets is not None and (hides_topics or offsets.value.hidden):
            health = with_hidden_offsets(health, none_visible=not offsets.value.partitions)
        spent = slices.spent - spent_before
        # The CPU budget does not limit verdicts on the selected group, so the pause between them does.
        pause = spent / _CPU_OF_SELECTED if group == self._selected else 0.0
        self._due[group] = began + max(self._watching.rules.expire_cache, pause)
        self._cpu_credit = max(self._cpu_credit - spent, -_CPU_CREDIT)
        self._store.put_health(group, health)
        if is_final(health) and health.status is Status.OK and not health.lag_grows:
            self._on_healthy(group)
        self._changed()


def _capacity(history: ReadHistory) -> int:
    """Return how many partition reads (offsets of one partition at one time) a history can hold.

    This is its number of partitions × the number of reads that are kept per partition.
    """
    return len(history.samples) * history.length
