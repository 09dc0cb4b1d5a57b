"""Reads once which groups and topics the user may see, after the first list of groups has been drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.errors import KgtuiError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.admin.base import GroupAdmin
    from kgtui.monitor.policy import MonitorOptions
    from kgtui.monitor.poll_timer import PollTimer
    from kgtui.monitor.store import Store


class AccessTier:
    """Reads the permissions of the user once, and puts them into the store.

    The permissions decide whether groups may have offsets that brokers leave out.

    Args:
        changed: called after the permissions have been stored.
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
        """Read the permissions. A failed read is repeated at the next poll."""
        while True:
            try:
                self._store.set_access(await self._admin.access(timeout=self._timeout))
            except KgtuiError:
                await self._timer.pause_for(self._timer.interval)
            else:
                self._changed()
                return
