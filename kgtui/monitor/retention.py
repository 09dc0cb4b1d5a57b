"""How long the topics of groups that are observed keep their records: asked now and then, for losses to come."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.errors import KgtuiError
from kgtui.model.cluster import Retention

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgtui.admin.base import GroupAdmin
    from kgtui.monitor.clockwork import Clockwork
    from kgtui.monitor.options import MonitorOptions

_AGE = 600.0  # seconds after which a topic is asked about again: configs change rarely
_PAUSE = 2.0  # seconds between two requests: rows that come into view together are asked about together
_KEPT = 20_000  # topics that are remembered


class RetentionTier:
    """Knows what it was told last; what it may not read is tried again as rarely as the rest.

    Attributes:
        known: what the verdicts may rest on now.
    """

    def __init__(self, admin: GroupAdmin, options: MonitorOptions, clockwork: Clockwork) -> None:
        self._admin = admin
        self._timeout = options.timeout
        self._clock = clockwork
        self._asked: dict[str, float] = {}
        self._wanted: dict[str, None] = {}
        self._wake = asyncio.Event()
        self.known = Retention()

    def want(self, topics: Iterable[str]) -> None:
        """Groups are observed that read these topics."""
        now = self._clock.now()
        old = [topic for topic in topics if now - self._asked.get(topic, -_AGE) >= _AGE]
        if old:
            self._wanted.update(dict.fromkeys(old))
            self._wake.set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._wake.wait()
            await self._clock.pause_for(_PAUSE)
            self._wake.clear()
            topics, self._wanted = list(self._wanted), {}
            await self._ask(topics)

    async def _ask(self, topics: list[str]) -> None:
        now = self._clock.now()
        for topic in topics:
            self._asked.pop(topic, None)
            self._asked[topic] = now
        try:
            answer = await self._admin.retention(topics, timeout=self._timeout)
        except KgtuiError:
            return
        known = self.known.learned(answer.rows, () if answer.faults else set(topics))
        forgotten = list(self._asked)[: max(len(self._asked) - _KEPT, 0)]
        for topic in forgotten:
            del self._asked[topic]
        kept = {topic: seconds for topic, seconds in known.topics.items() if topic in self._asked}
        self.known = replace(known, topics=kept) if forgotten else known
