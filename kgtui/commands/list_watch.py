"""Reads groups repeatedly for `kgtui ls --watch`.

If a group's broker does not respond, the group's last row is kept.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.commands.selection import Selection, by_listing
from kgtui.errors import UnreachableError
from kgtui.model.access import HIDDEN, HIDDEN_TOPICS
from kgtui.model.answer import Coverage, fault_of
from kgtui.model.query import Query
from kgtui.monitor.policy import SHOWN_AFTER_LEAVING, watch_timeout

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping


class ListWatch:
    """Reads the selected groups again and again.

    If a group cannot be read, for example because its coordinator does not respond, a read may return the group without
    members and lag, or not return it at all. In both cases, the values from the last successful read of the group are
    used.

    Args:
        query: the filter; None selects every group.
        select: reads the groups within a timeout in seconds. Raises `UnreachableError` if no broker responds.
        interval: time between two reads, in seconds.
        timeout: upper limit for the timeout that is passed to `select`, in seconds.
    """

    def __init__(
        self,
        query: Query | None,
        select: Callable[[float], Awaitable[Selection]],
        interval: float,
        timeout: float,
    ) -> None:
        self._query, self._select, self._interval, self._timeout = query or Query(), select, interval, timeout
        self._last: Selection | None = None
        self._slowest: float | None = None
        self._read_at: dict[str, float] = {}

    async def read(self) -> tuple[Selection, Mapping[str, float]]:
        """Read the groups once.

        Returns:
            A pair. The first value is the selected groups. The second value is a mapping, group id → time of an earlier
            read in seconds since the epoch, for each group whose values are from that read.

        Raises:
            UnreachableError: no broker responds, and there was no earlier read.
        """
        began = time.monotonic()
        try:
            new = await self._select(watch_timeout(self._interval, self._slowest, self._timeout))
        except UnreachableError as error:
            if self._last is None:
                raise
            new = _nothing_read(self._last, error)
        if not new.faults:
            self._slowest = max(self._slowest or 0.0, time.monotonic() - began)
        if self._last is not None:
            new = self._with_earlier_values(self._last, new)
        self._last = new
        return new, {group: at for group in new.ids if (at := self._read_at.get(group)) is not None}

    def _with_earlier_values(self, last: Selection, new: Selection) -> Selection:
        now = new.snapshot.taken_at
        groups, summaries, read_at = dict(new.snapshot.groups), dict(new.snapshot.summaries), dict[str, float]()
        for group, listing in last.snapshot.groups.items():
            broker = new.snapshot.brokers.get(listing.coordinator)
            at = self._read_at.get(group, last.snapshot.taken_at)
            silent = now - at < SHOWN_AFTER_LEAVING if broker is None else broker.fault is not None
            unlisted = silent and group not in new.listed
            fault = new.snapshot.group_faults.get(group)
            if not unlisted and (fault is None or fault.name in (HIDDEN, HIDDEN_TOPICS)):
                continue
            if unlisted:
                groups[group] = listing
            summary = last.snapshot.summaries.get(group)
            if summary is not None:
                summaries[group] = summary
            if unlisted or summary is not None:
                read_at[group] = at
        self._read_at = read_at
        if not read_at:
            return new
        snapshot = replace(new.snapshot, groups=groups, by_listing=by_listing(groups), summaries=summaries)
        return replace(new, snapshot=snapshot, ids=self._query.select(snapshot), listed={**groups, **new.listed})


def _nothing_read(last: Selection, error: UnreachableError) -> Selection:
    """Return a selection without groups, for a read in which no broker answered.

    Args:
        last: result of the previous read, from which the cluster and its brokers are copied.
        error: why the read failed; it is reported as the fault of every broker.
    """
    fault = fault_of(error)
    brokers = {node: replace(broker, answered_at=None, fault=fault) for node, broker in last.snapshot.brokers.items()}
    snapshot = replace(
        last.snapshot, taken_at=time.time(), groups={}, by_listing={}, summaries={}, group_faults={}, brokers=brokers
    )
    coverage = Coverage((0, len(brokers)), (0, 0))
    return replace(last, snapshot=snapshot, ids=[], coverage=coverage, faults=(fault,), listed={})
