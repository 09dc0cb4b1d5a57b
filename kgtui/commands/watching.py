"""Reads groups again and again for a while, and keeps what each read saw."""

from __future__ import annotations

import asyncio
import math
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.admin.deadline import Deadline
from kgtui.admin.reading import has_offsets, read_in_full
from kgtui.errors import KgtuiError
from kgtui.model.answer import fault_of
from kgtui.model.group_types import DEAD
from kgtui.model.health import ReadHistory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.admin.base import GroupAdmin
    from kgtui.admin.reading import GroupsRead
    from kgtui.model.answer import Fault
    from kgtui.model.group import Listing
    from kgtui.model.health import Watching

_MARGIN = 1.0  # seconds after its deadline in which a read ends by itself
_GROUP_ID_NOT_FOUND = 69


class Pace:
    """What time it is, on a clock that never goes back, and waiting. Tests have their own."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._offset + time.monotonic()

    async def sleep_until(self, at: float) -> None:
        """Wait until then; returns at once when it has passed."""
        await asyncio.sleep(max(at - self.now(), 0.0))


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to watch.

    Attributes:
        seconds: from the first read to the last.
        interval: seconds from one read to the next; longer where reads take longer.
        timeout: seconds that one read may take.
    """

    seconds: float
    interval: float
    timeout: float


class Watch:
    """Watches some groups: each coordinator's together, so that a slow one holds up no other.

    Attributes:
        observations: group id → what was read.
        group_faults: group id → why its newest read failed; no entry when it did not.
        faults: of the newest reads, what concerns no one group.
        seconds, interval: of the plan.
    """

    def __init__(
        self,
        admin: GroupAdmin,
        groups: Mapping[str, Listing],
        plan: Plan,
        watching: Watching,
        pace: Pace | None = None,
    ) -> None:
        self._admin = admin
        self._groups = groups
        self._plan = plan
        self.seconds, self.interval = plan.seconds, plan.interval
        self._pace = pace or Pace()
        self._brokers: defaultdict[int, dict[str, Listing]] = defaultdict(dict)
        for group, listing in groups.items():
            self._brokers[listing.coordinator][group] = listing
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._faults_of: dict[int, tuple[Fault, ...]] = {}
        self.observations = {group: ReadHistory(watching) for group in groups}
        self.group_faults: dict[str, Fault] = {}

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Each once, though every coordinator's read met it."""
        return tuple(dict.fromkeys(fault for faults in self._faults_of.values() for fault in faults))

    async def run(self) -> None:
        """Read at the start, at every interval and at the end. Never raises for what could not be read."""
        start = self._pace.now()
        # Counted, not added up: a sum of fractions would end a hair before the end, and read twice there.
        steps = math.ceil(round(self._plan.seconds / self._plan.interval, 6))
        try:
            for step in range(1, steps + 1):
                due = start + min(step * self._plan.interval, self._plan.seconds)
                await self._round(due - self._pace.now())
                await self._pace.sleep_until(due)
            await self._round(self._plan.timeout + _MARGIN)
        finally:
            for task in self._under_way.values():
                task.cancel()
            await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    async def _round(self, patience: float) -> None:
        """Start a read of every coordinator's groups that are not being read, and wait for them for so long."""
        for node, groups in self._brokers.items():
            if node not in self._under_way:
                task = asyncio.create_task(self._read(node, groups), name=f"watch the groups of broker {node}")
                self._under_way[node] = task
        await asyncio.wait(self._under_way.values(), timeout=max(patience, 0.0))
        for node in [node for node, task in self._under_way.items() if task.done()]:
            self._under_way.pop(node).result()

    async def _read(self, node: int, groups: Mapping[str, Listing]) -> None:
        at = self._pace.now()
        try:
            read = await read_in_full(self._admin, Deadline(self._plan.timeout), groups)
        except KgtuiError as error:
            fault = fault_of(error, broker=node)
            self._faults_of[node] = (fault,)
            for group in groups:
                self.observations[group].add(at, None, None, fault=True)
            return
        self._faults_of[node] = read.general_faults
        faults = read.group_faults()
        for group in groups:
            self._take(at, group, read, faults.get(group))

    def _take(self, at: float, group: str, read: GroupsRead, fault: Fault | None) -> None:
        description = read.descriptions.get(group)
        seen = self.observations[group]
        gone = fault is not None and fault.code == _GROUP_ID_NOT_FOUND
        if gone or (description is not None and description.state == DEAD):
            seen.vanish()
            self.group_faults.pop(group, None)
            return
        offsets = read.offsets_of(group)
        untold = description is None or (offsets is None and has_offsets(self._groups[group]))
        seen.add(at, description, offsets, fault=fault is not None or untold)
        if fault is not None:
            self.group_faults[group] = fault
        else:
            self.group_faults.pop(group, None)
