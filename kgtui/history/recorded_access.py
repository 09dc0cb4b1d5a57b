"""Store the permissions of the recorder's user in the lake. A replay needs them to report which data may be missing."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING

from kgtui.errors import PARSE_ERRORS, KgtuiError
from kgtui.lake.folder import write_json
from kgtui.model.access import FULL_ACCESS, Access
from kgtui.monitor.policy import ACCESS_MAX_AGE

if TYPE_CHECKING:
    from kgtui.admin.base import GroupAdmin
    from kgtui.lake.folder import LakeFolder

_FILE = "access.json"
_OPERATIONS, _ANY_TOPIC, _DENIED = "cluster_operations", "any_topic", "denied_topics"

_log = logging.getLogger(__name__)


def load_access(folder: LakeFolder) -> Access:
    """Return the permissions of the recorder's user that are stored in the lake.

    If the lake contains no readable permissions, return full permissions. Older versions of kgtui did not store any.
    """
    try:
        stored = json.loads((folder.path / _FILE).read_text(encoding="utf-8"))
        operations, denied = stored[_OPERATIONS], stored.get(_DENIED)
        return Access(
            None if operations is None else frozenset(operations),
            any_topic=stored[_ANY_TOPIC] is True,
            denied_topics=None if denied is None else frozenset(denied),
        )
    except (OSError, TypeError, KeyError, *PARSE_ERRORS):
        return FULL_ACCESS


class AccessRecorder:
    """Reads the permissions of the recorder's user from the cluster, and stores the newest ones in the lake."""

    def __init__(self, admin: GroupAdmin, folder: LakeFolder) -> None:
        self._admin = admin
        self._folder = folder
        self._last: Access | None = None
        self._stored: Access | None = None

    async def record(self, *, timeout: float) -> Access | None:
        """Read the permissions from the cluster, store them if they changed, and return them.

        If they cannot be read, return the permissions that were read last; None if they could never be read. Errors of
        reading and storing are only logged.
        """
        try:
            self._last = access = await self._admin.access(max_age=ACCESS_MAX_AGE, timeout=timeout)
            if access == self._stored:
                return access
            operations = None if access.cluster_operations is None else sorted(access.cluster_operations)
            denied = None if access.denied_topics is None else sorted(access.denied_topics)
            content = {_OPERATIONS: operations, _ANY_TOPIC: access.any_topic, _DENIED: denied}
            await asyncio.to_thread(write_json, self._folder.path / _FILE, content)
        except (KgtuiError, OSError):
            _log.exception("cannot read the permissions of the recorder's user, or cannot store them in the lake")
        else:
            self._stored = access
        return self._last
