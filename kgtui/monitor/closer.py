"""Beyond the lists: tiers 1 and 2 and the verdicts, together in a module that is loaded when a list is there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kgtui.monitor.focus import FocusTier
from kgtui.monitor.health import HealthTier
from kgtui.monitor.retention import RetentionTier
from kgtui.monitor.sweep import SweepTier

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.series import SeriesStore
    from kgtui.monitor.clockwork import Clockwork
    from kgtui.monitor.options import MonitorOptions
    from kgtui.monitor.store import Store


class CloserTiers:
    """What looks at groups more closely than a list does.

    Args:
        changed: called after every change to the store that somebody may wait for.
        unhurried: called after other changes.
    """

    def __init__(
        self,
        admin: GroupAdmin,
        store: Store,
        series: SeriesStore,
        options: MonitorOptions,
        clockwork: Clockwork,
        changed: Callable[[], None],
        unhurried: Callable[[], None],
    ) -> None:
        self._retention = RetentionTier(admin, options, clockwork)
        self._health = HealthTier(store, options, clockwork, unhurried, self._retention)
        self._focus = FocusTier(admin, store, series, options, clockwork, changed, self._health.take)
        self._sweep = SweepTier(admin, store, options, clockwork, unhurried)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tiers:
            for tier in (self._focus, self._sweep, self._health, self._retention):
                tiers.create_task(tier.run())

    def look_at(self, selected: str | None, visible: Sequence[str]) -> None:
        """Say which group is selected and which rows are in view."""
        self._focus.look_at(selected, visible)
        self._health.look_at(selected)

    def want_configs(self, group: str | None) -> None:
        """Say that this group's configs are on the screen."""
        self._focus.want_configs(group)
