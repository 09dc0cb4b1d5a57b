"""Inject faults into the simulated cluster: broken brokers, missing permissions, error codes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from kgtui.simulator.cluster_state import ClusterState

Method = TypeVar("Method", bound="Callable[..., Any]")

DAMAGES = ("truncated", "cut", "length", "garbage", "correlation")
"""The kinds of damage to a response.

- `truncated`: the body ends too early.
- `cut`: the connection is closed in the middle of the response.
- `length`: the body contains an array length that is far too large.
- `garbage`: the body consists of random bytes.
- `correlation`: the correlation id differs from the correlation id of the request.
"""


@dataclass(slots=True)
class BrokerFaults:
    """The faults of one broker.

    Attributes:
        black_hole: whether the broker accepts requests, but does not respond.
        latency: delay of each response, in seconds.
        slow: API key → additional delay of the responses of this API, in seconds.
        throttle_ms: throttle time in each response, in milliseconds.
        loading: time until which the broker reports that it is loading its groups, in seconds since the start of the
            cluster; None if it does not report this.
        damage: kinds of damage to the next responses, one per response (see `DAMAGES`).
        responds: event that is set unless `black_hole` is true. The broker waits for this event before each response.
    """

    black_hole: bool = False
    latency: float = 0.0
    slow: dict[int, float] = field(default_factory=dict)
    throttle_ms: int = 0
    loading: float | None = None
    damage: list[str] = field(default_factory=list)
    responds: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.responds.set()


FAULT_COMMANDS: list[str] = []
"""Names of the methods of `Faults` that a different process can call with `SimulatorProcess.control`."""


def _command(method: Method) -> Method:
    """Decorator: allow a different process to call this method of `Faults` with `SimulatorProcess.control`."""
    FAULT_COMMANDS.append(method.__name__)
    return method


class Faults:
    """The faults that are injected into a cluster. A change affects all later requests.

    Attributes:
        cluster_forbidden: whether clients lack the permission DESCRIBE on the cluster.
        errors: API key → error codes for the next responses of this API, one per response.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._brokers = {node.id: BrokerFaults() for node in state.nodes}
        self._forbidden_groups: tuple[str, ...] = ()
        self._forbidden_topics: tuple[str, ...] = ()
        self._denied_topics: tuple[str, ...] = ()
        self.cluster_forbidden = False
        self.errors: dict[int, list[int]] = {}
        self._cut: Callable[[int], None] = _no_connections
        self._stop: Callable[[int], Awaitable[None]] = _no_server
        self._start: Callable[[int], Awaitable[None]] = _no_server

    def attach(
        self,
        *,
        cut: Callable[[int], None],
        stop: Callable[[int], Awaitable[None]],
        start: Callable[[int], Awaitable[None]],
    ) -> None:
        """Set the functions that `Faults` calls to close a broker's connections, and to stop or start its server."""
        self._cut, self._stop, self._start = cut, stop, start

    def broker(self, node: int) -> BrokerFaults:
        """Return the faults of one broker. The caller is allowed to change the returned object.

        Raises:
            KeyError: no broker has this id.
        """
        self._state.node(node)
        return self._brokers[node]

    @_command
    def black_hole(self, node: int, on: bool = True) -> None:
        """Make a broker accept connections and requests without responding.

        With `on=False`, the broker responds again, also to the requests that it has received in the meantime.
        """
        faults = self.broker(node)
        faults.black_hole = on
        if on:
            faults.responds.clear()
        else:
            faults.responds.set()

    @_command
    def latency(self, node: int, seconds: float, api: int | None = None) -> None:
        """Delay the responses of a broker, or only the responses to requests with the API key `api`.

        The delay is in real time, even with a `ManualClock`.
        """
        if api is None:
            self.broker(node).latency = max(0.0, seconds)
        else:
            self.broker(node).slow[api] = max(0.0, seconds)

    @_command
    def throttle(self, node: int, ms: int) -> None:
        """Make a broker report a throttle time of `ms` milliseconds in each response (KIP-219).

        After each response, the broker pauses for this time before it responds to the next request of the connection.
        """
        self.broker(node).throttle_ms = max(0, ms)

    @_command
    def cut(self, node: int) -> None:
        """Close all connections of a broker now. The broker still accepts new connections."""
        self._state.node(node)
        self._cut(node)

    @_command
    def damage(self, node: int, kind: str = "truncated", times: int = 1) -> None:
        """Damage the next `times` responses of a broker. Responses to ApiVersions are not damaged.

        Raises:
            ValueError: `kind` is not one of `DAMAGES`.
        """
        if kind not in DAMAGES:
            raise ValueError(f"{kind!r} is not a kind of damage; use one of {', '.join(DAMAGES)}")
        self.broker(node).damage.extend([kind] * times)

    @_command
    async def kill(self, node: int) -> None:
        """Kill a broker: its port is closed, and other brokers take over its partitions and groups."""
        broker = self._state.node(node)
        if broker.alive:
            self._state.set_alive(node, False)
            await self._stop(node)

    @_command
    async def restart(self, node: int) -> None:
        """Restart a killed broker on the same port. It leads the partitions again that it led before it was killed."""
        broker = self._state.node(node)
        if not broker.alive:
            await self._start(node)
            self._state.set_alive(node, True)

    @_command
    def move_coordinator(self, group: str, node: int) -> None:
        """Make a broker the coordinator of a group, and of all groups in the same partition of `__consumer_offsets`."""
        self._state.move_coordinator(group, node)

    @_command
    def load(self, node: int, seconds: float | None) -> None:
        """Make a broker report that it is loading its groups: error 14 (COORDINATOR_LOAD_IN_PROGRESS).

        Args:
            seconds: for how long the broker reports this error, measured by the cluster's clock; None ends the error.
        """
        self.broker(node).loading = None if seconds is None else self._state.time() + seconds

    def loading(self, node: int) -> bool:
        """Return whether a broker currently reports that it is loading its groups, as requested with `load`."""
        until = self._brokers[node].loading
        return until is not None and self._state.time() < until

    @_command
    def forbid_groups(self, patterns: Iterable[str]) -> None:
        """Forbid clients to describe, read or delete the groups that match a pattern.

        Requests about these groups fail with error 30 (GROUP_AUTHORIZATION_FAILED). The patterns can contain the
        wildcards `*` and `?`, and replace the patterns of earlier calls.
        """
        self._forbidden_groups = tuple(patterns)

    @_command
    def forbid_topics(self, patterns: Iterable[str]) -> None:
        """Forbid clients to describe the topics that match a pattern: error 29 (TOPIC_AUTHORIZATION_FAILED).

        This simulates a cluster in which ACLs allow the client to describe only the other existing
        topics. Therefore, a Metadata request for the name of a nonexistent topic also results in
        the error. If a client requests all topics, the response leaves out the forbidden topics.
        The patterns can contain the wildcards `*` and `?`, and replace the patterns of earlier
        calls.
        """
        self._forbidden_topics = tuple(patterns)

    @_command
    def deny_topics(self, patterns: Iterable[str]) -> None:
        """Forbid clients to describe the topics that match a pattern: error 29 (TOPIC_AUTHORIZATION_FAILED).

        This simulates ACLs that deny DESCRIBE on these topics and allow it on all others. For a
        nonexistent topic, the error is therefore returned only if the topic's name matches a
        pattern. (After `forbid_topics`, Metadata responses contain the error for the name of every
        nonexistent topic.) The patterns replace the patterns of earlier calls of this method.
        """
        self._denied_topics = tuple(patterns)

    @_command
    def forbid_cluster(self, on: bool = True) -> None:
        """Forbid clients to describe the cluster, or allow it again (`on=False`).

        Only while this is forbidden, ListGroups omits the groups that match the patterns of `forbid_groups`.
        """
        self.cluster_forbidden = on

    def group_forbidden(self, name: str) -> bool:
        """Return whether a pattern of `forbid_groups` matches the group id."""
        return any(name == pattern or fnmatchcase(name, pattern) for pattern in self._forbidden_groups)

    def topic_forbidden(self, name: str) -> bool:
        """Return whether a pattern of `forbid_topics` or `deny_topics` matches the topic name."""
        patterns = (*self._forbidden_topics, *self._denied_topics)
        return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)

    @property
    def forbids_groups(self) -> bool:
        return bool(self._forbidden_groups)

    @property
    def forbids_topics(self) -> bool:
        return bool(self._forbidden_topics)

    @_command
    def fail(self, api_key: int, code: int, times: int = 1) -> None:
        """Put an error code into the next `times` responses of an API.

        Depending on the API, a response contains one error code, or one per row, for example per group.
        """
        self.errors.setdefault(api_key, []).extend([code] * times)

    def next_error(self, api_key: int) -> int:
        """Remove and return the first error code in `errors` for an API; 0 if there is none."""
        codes = self.errors.get(api_key)
        return codes.pop(0) if codes else 0

    @_command
    def clear(self) -> None:
        """End all faults. However, killed brokers are not restarted, and moved coordinators are not moved back."""
        for node, faults in self._brokers.items():
            self.black_hole(node, False)
            # Reset the attributes of the `BrokerFaults` object instead of replacing the object, because open
            # connections have a reference to it.
            unbroken = BrokerFaults()
            for attribute in fields(BrokerFaults):
                if attribute.name != "responds":
                    setattr(faults, attribute.name, getattr(unbroken, attribute.name))
        self._forbidden_groups = self._forbidden_topics = self._denied_topics = ()
        self.cluster_forbidden = False
        self.errors.clear()


def _no_connections(_node: int) -> None:
    return


async def _no_server(_node: int) -> None:
    return
