"""Bad days on demand: what goes wrong with brokers, links and permissions, and until when."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from kgtui.simulator.world import World

DAMAGES = ("truncated", "cut", "length", "garbage", "correlation")
"""How an answer can be damaged: its body ends early; the connection ends in its midst; a length inside says far too
much; all of its body is noise; it answers another request."""


@dataclass(slots=True)
class Trouble:
    """What is wrong with one broker.

    Attributes:
        black_hole: takes requests and never answers, not even the first.
        latency: seconds before each answer.
        slow: API key → seconds before each answer of that API, on top.
        throttle_ms: what it tells clients to wait, and itself lets their connections wait.
        loading: it is reading its groups from the log: until this time of the cluster; None for never.
        damage: how the next answers are damaged, in order.
        answered: set while it is not a black hole.
    """

    black_hole: bool = False
    latency: float = 0.0
    slow: dict[int, float] = field(default_factory=dict)
    throttle_ms: int = 0
    loading: float | None = None
    damage: list[str] = field(default_factory=list)
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.answered.set()


class Faults:
    """The faults of a cluster; every call takes effect for the next request.

    Attributes:
        errors: API key → error codes that the next answers carry instead of rows.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._trouble = {node.id: Trouble() for node in world.nodes}
        self._forbidden_groups: tuple[str, ...] = ()
        self._forbidden_topics: tuple[str, ...] = ()
        self.cluster_forbidden = False
        self.errors: dict[int, list[int]] = {}
        self._cut: Callable[[int], None] = _nothing
        self._stop: Callable[[int], Awaitable[None]] = _no_server
        self._start: Callable[[int], Awaitable[None]] = _no_server

    def wire(
        self,
        *,
        cut: Callable[[int], None],
        stop: Callable[[int], Awaitable[None]],
        start: Callable[[int], Awaitable[None]],
    ) -> None:
        """Connect the faults to the servers that they cut, stop and start."""
        self._cut, self._stop, self._start = cut, stop, start

    def of(self, node: int) -> Trouble:
        """What is wrong with one broker.

        Raises:
            KeyError: there is none with this id.
        """
        self._world.node(node)
        return self._trouble[node]

    # Brokers and links.

    def black_hole(self, node: int, on: bool = True) -> None:
        """A broker takes connections and requests and never answers; requests that wait are answered when it ends."""
        trouble = self.of(node)
        trouble.black_hole = on
        if on:
            trouble.answered.clear()
        else:
            trouble.answered.set()

    def latency(self, node: int, seconds: float, api: int | None = None) -> None:
        """A broker answers that much later, in real seconds: everything, or the API of that key."""
        if api is None:
            self.of(node).latency = max(0.0, seconds)
        else:
            self.of(node).slow[api] = max(0.0, seconds)

    def throttle(self, node: int, ms: int) -> None:
        """A broker throttles everyone: ThrottleTimeMs in each answer, and the connection rests that long (KIP-219)."""
        self.of(node).throttle_ms = max(0, ms)

    def cut(self, node: int) -> None:
        """Close all connections of a broker now; new ones are accepted."""
        self._world.node(node)
        self._cut(node)

    def damage(self, node: int, kind: str = "truncated", times: int = 1) -> None:
        """Damage the next answers of a broker; ApiVersions is spared.

        Raises:
            ValueError: `kind` is not one of `DAMAGES`.
        """
        if kind not in DAMAGES:
            raise ValueError(f"no damage {kind!r}; there are {', '.join(DAMAGES)}")
        self.of(node).damage.extend([kind] * times)

    async def kill(self, node: int) -> None:
        """A broker dies: its port is closed, others lead its partitions and coordinate its groups."""
        broker = self._world.node(node)
        if broker.alive:
            self._world.set_alive(node, False)
            await self._stop(node)

    async def restart(self, node: int) -> None:
        """A dead broker comes back on the same port and leads what it led before."""
        broker = self._world.node(node)
        if not broker.alive:
            await self._start(node)
            self._world.set_alive(node, True)

    # Coordinators.

    def move_coordinator(self, group: str, node: int) -> None:
        """Another broker coordinates a group from now on, and all groups of the same offsets partition."""
        self._world.move_coordinator(group, node)

    def load(self, node: int, seconds: float | None) -> None:
        """A coordinator is loading for so many seconds of the cluster's clock; None ends it."""
        self.of(node).loading = None if seconds is None else self._world.time() + seconds

    def loading(self, node: int) -> bool:
        """Whether a coordinator is loading."""
        until = self._trouble[node].loading
        return until is not None and self._world.time() < until

    # Permissions.

    def forbid_groups(self, patterns: Iterable[str]) -> None:
        """Nobody may describe, read or delete these groups (30); `*` and `?` are wildcards. Replaces what was set."""
        self._forbidden_groups = tuple(patterns)

    def forbid_topics(self, patterns: Iterable[str]) -> None:
        """Nobody may describe these topics (29). Replaces what was set."""
        self._forbidden_topics = tuple(patterns)

    def forbid_cluster(self, on: bool = True) -> None:
        """Nobody may describe the cluster: lists then hold only groups that one may describe, without a word."""
        self.cluster_forbidden = on

    def group_forbidden(self, name: str) -> bool:
        """Whether a group may not be described."""
        return any(name == pattern or fnmatchcase(name, pattern) for pattern in self._forbidden_groups)

    def topic_forbidden(self, name: str) -> bool:
        """Whether a topic may not be described."""
        return any(name == pattern or fnmatchcase(name, pattern) for pattern in self._forbidden_topics)

    @property
    def forbids_groups(self) -> bool:
        """Whether any group is forbidden."""
        return bool(self._forbidden_groups)

    # Answers.

    def fail(self, api_key: int, code: int, times: int = 1) -> None:
        """The next answers of an API carry an error code: at their top, or for each thing asked about."""
        self.errors.setdefault(api_key, []).extend([code] * times)

    def next_error(self, api_key: int) -> int:
        """Take the next error of an API; 0 if none is due."""
        codes = self.errors.get(api_key)
        return codes.pop(0) if codes else 0

    def clear(self) -> None:
        """End all faults, except that dead brokers stay dead and moved coordinators where they are."""
        for node, trouble in self._trouble.items():
            self.black_hole(node, False)
            trouble.latency, trouble.throttle_ms, trouble.loading = 0.0, 0, None
            trouble.damage.clear()
            trouble.slow.clear()
        self._forbidden_groups = self._forbidden_topics = ()
        self.cluster_forbidden = False
        self.errors.clear()


def _nothing(_node: int) -> None:
    return


async def _no_server(_node: int) -> None:
    return
