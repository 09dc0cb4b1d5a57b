"""Read the permissions of the user repeatedly: which groups and topics the brokers let the user see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.errors import KgtuiError
from kgtui.monitor.policy import ACCESS_MAX_AGE

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.admin.base import GroupAdmin
    from kgtui.monitor.policy import MonitorOptions
    from kgtui.monitor.poll_timer import PollTimer
    from kgtui.monitor.store import Store


class AccessTier:
    """Reads the permissions of the user repeatedly, and puts them into the store.

    From the permissions, kgtui knows whether brokers may leave out offsets of a group. They are read again when they
    are `ACCESS_MAX_AGE` old, when a broker starts or stops refusing requests, and when the user refreshes the screen.

    Args:
        changed: called after new permissions have been stored.
    """

    def __init__(
        self,
        admin: GroupAdmin,
        store: Store,
        options: MonitorOptions,
        timer: PollTimer,
        changed: Callable[[], None],
    ) -> None:
        self._admin, self._store, self._timeout = admin, store, options.timeout
        self._timer, self._changed = timer, changed

    async def run(self) -> None:
        """Read the permissions until this task is cancelled. A failed read is repeated at the next poll."""
        refreshed = False
        while True:
            max_age = 0.0 if refreshed else ACCESS_MAX_AGE
            try:
                access = await self._admin.access(max_age=max_age, timeout=self._timeout)
            except KgtuiError:
                pass
            else:
                if access != self._store.access:
                    self._store.set_access(access)
                    self._changed()
            refreshed = await self._timer.pause_for(self._timer.interval)
