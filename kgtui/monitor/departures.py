"""Groups that their broker lists no more: deleted, or moved to a broker that has not told of them yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from kgtui.monitor.store import Store


GRACE = 10.0
"""Seconds that a broker without an answer is waited for; Kafka's `broker.session.timeout.ms` is 9 s by default."""


@dataclass(slots=True, eq=False)
class Missed:
    """Groups that a broker stopped listing at one moment.

    Attributes:
        node: the broker.
        groups: those that it has not listed again since.
        waits: brokers that may have taken them over, and have not been asked since.
        left: the broker itself left the cluster.
        since: when they were missed, seconds since the epoch.
    """

    node: int
    groups: set[str]
    waits: set[int]
    left: bool
    since: float


class Departures:
    """Forgets a group only when every broker that could coordinate it by now was asked for its list since.

    When a coordinator moves, the old one drops the group before the new one has loaded it; until then it stays as it
    was last seen. So a restart of a broker makes no group disappear and come back.
    """

    def __init__(self, store: Store, now: Callable[[], float]) -> None:
        self._store = store
        self._now = now
        self._silent: set[int] = set()
        self._missed: list[Missed] = []

    def missed(self, node: int, groups: Collection[str], others: Iterable[int], *, left: bool = False) -> None:
        """A broker lists these groups no more, or has left; `others` are all other brokers."""
        if groups or left:
            self._missed.append(Missed(node, set(groups), set(others) - {node}, left, self._now()))
            self._settle()

    def joined(self, node: int) -> None:
        """A broker is new or back: it may take over what others dropped, and tells itself what it still has."""
        self._missed = [missed for missed in self._missed if not (missed.left and missed.node == node)]
        for missed in self._missed:
            missed.waits.add(node)

    def open(self) -> tuple[Missed, ...]:
        """What a list that is asked for from now on will tell about."""
        return tuple(self._missed)

    def listed(self, node: int, groups: Collection[str], about: Iterable[Missed]) -> None:
        """A broker told its list, asked for when `about` was open; `groups` are new or changed in it."""
        self._silent.discard(node)
        for missed in self._missed:
            missed.groups.difference_update(groups)
        for missed in about:
            missed.waits.discard(node)
        self._settle()

    def silent(self, node: int) -> None:
        """A broker does not answer: what others dropped is kept for a while, and longer where they left themselves."""
        self._silent.add(node)
        self._settle()

    def gone(self, node: int) -> None:
        """A broker has left the cluster, so that it takes over nothing."""
        self._silent.discard(node)
        for missed in self._missed:
            missed.waits.discard(node)
        self._settle()

    def _settle(self) -> None:
        settled = [missed for missed in self._missed if self._over(missed)]
        self._missed = [missed for missed in self._missed if missed not in settled]
        for missed in settled:
            self._store.drop(missed.node, missed.groups)
            if missed.left:
                self._store.drop_broker(missed.node)

    def _over(self, missed: Missed) -> bool:
        """Whether nothing more is to be learned by waiting."""
        if missed.left or not missed.waits <= self._silent:
            return not missed.waits
        return not missed.waits or self._now() - missed.since >= GRACE
