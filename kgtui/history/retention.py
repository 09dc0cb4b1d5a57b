"""How long the cluster keeps what groups depend on: a file of the lake, that tells what was said last.

Configs change rarely, and what follows from them is asked of now: so there is no history of them.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from kgtui.errors import KgtuiError
from kgtui.lake.retention import update_retention

if TYPE_CHECKING:
    from collections.abc import Collection

    from kgtui.admin.base import GroupAdmin
    from kgtui.lake.folder import LakeFolder

_AGE = 600.0  # seconds after which the cluster is asked again

_log = logging.getLogger(__name__)


class RetentionKeeper:
    """Asks a cluster now and then, for a lake that is recorded.

    What may not be read is not known: verdicts rest on the movement of log starts then.
    """

    def __init__(self, admin: GroupAdmin, folder: LakeFolder) -> None:
        self._admin = admin
        self._folder = folder
        self._asked: float | None = None

    def due(self, now: float) -> bool:
        """Whether it is time to ask; `now` is in seconds of any clock."""
        return self._asked is None or now - self._asked >= _AGE

    async def look(self, topics: Collection[str], *, now: float, timeout: float) -> None:
        """Ask about all topics that groups read."""
        if not topics:
            return
        self._asked = now
        try:
            answer = await self._admin.retention(sorted(topics), timeout=timeout)
            # Of those that were not told because of a fault, what is known is no worse for it.
            await asyncio.to_thread(update_retention, self._folder, answer.rows, () if answer.faults else set(topics))
        except (KgtuiError, OSError):
            _log.exception("retention is not known")
