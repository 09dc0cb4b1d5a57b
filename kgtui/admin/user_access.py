"""`UserAccess`: the permissions of the user, and the marks on groups whose offsets may be hidden because of them."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeVar

from kgtui.admin.deadline import Deadline
from kgtui.admin.refusals import Refusals
from kgtui.errors import KgtuiError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Mapping

    from kgtui.admin.access import AccessReader
    from kgtui.client.pool import Pool
    from kgtui.model.access import Access
    from kgtui.model.answer import Answer


class _Offset(Protocol):
    @property
    def topic(self) -> str: ...


T = TypeVar("T", bound=_Offset)


class UserAccess:
    """Reads the permissions of the user, and marks groups whose offsets a broker may have left out.

    Args:
        pool: connections to the cluster.

    Attributes:
        refusals: the groups and partitions about which brokers have refused requests.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.refusals = Refusals()
        self._last: Access | None = None
        self._topics: dict[str, frozenset[str]] = {}
        self._shared: dict[frozenset[str], frozenset[str]] = {}

    @cached_property
    def _reader(self) -> AccessReader:
        # Imported when it is first used, so that a command that only lists groups does not import its modules.
        from kgtui.admin.access import AccessReader

        return AccessReader(self._pool, self.refusals)

    async def read(self, max_age: float, timeout: float) -> Access:
        """Return the permissions; see `GroupAdmin.access`."""
        self._last = await self._reader.read(max_age, Deadline(timeout))
        return self._last

    async def with_marks(
        self, reading: Awaitable[Answer[dict[str, tuple[T, ...]]]], asked: str, timeout: float
    ) -> Answer[dict[str, tuple[T, ...]]]:
        """Wait for an answer with the offsets of groups, and return it with the marks in `Answer.hidden`.

        The permissions may change during the read, so the marks take into account the permissions before and after the
        read.

        Args:
            asked: what is requested, such as `read offsets`.
            timeout: maximum duration of requests that find out why topics are missing in the answer, in seconds.
        """
        before = self._last
        answer = await reading
        self.refusals.note_groups(asked, answer)
        left_out = await self._left_out(answer.rows, timeout)
        if any(access is not None and access.hides_topics for access in (before, self._last)):
            return replace(answer, hidden=dict.fromkeys(answer.rows, ()) | left_out)
        return replace(answer, hidden=left_out) if left_out else answer

    async def _left_out(self, rows: Mapping[str, tuple[T, ...]], timeout: float) -> dict[str, tuple[str, ...]]:
        """Return a dict that maps group ids to topics with earlier offsets of the group that the broker now leaves out.

        Earlier topics are remembered only if ACLs may deny single topics to the user: not without ACLs, and not for
        super users.
        """
        access = self._last
        if access is None or not access.any_topic or access.sees_every_topic:
            self._topics.clear()
            return {}
        missing: dict[str, frozenset[str]] = {}
        for group, offsets in rows.items():
            topics = frozenset(row.topic for row in offsets)
            known = self._topics.get(group)
            if known is not None and not known <= topics:
                missing[group] = known - topics
            elif known != topics:
                self._topics[group] = self._shared.setdefault(topics, topics)
        if not missing:
            return {}
        self.refusals.suspect(frozenset().union(*missing.values()))
        try:
            access = await self.read(math.inf, timeout)
        except KgtuiError:
            return dict.fromkeys(missing, ())
        denied = access.denied_topics or frozenset()
        for group, topics in missing.items():
            # Offsets also disappear when they expire or when their topic is deleted. In these cases, the topic is not
            # denied.
            now = frozenset(row.topic for row in rows[group]) | (topics & denied)
            self._topics[group] = self._shared.setdefault(now, now)
        return {group: tuple(sorted(topics & denied)) for group, topics in missing.items() if topics & denied}

    def forget(self, groups: Iterable[str]) -> None:
        """Forget the topics of groups that no longer exist."""
        for group in groups:
            self._topics.pop(group, None)
