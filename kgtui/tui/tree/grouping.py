"""A snapshot arranged into nodes: by type and protocol and state, state, coordinator, topic, name family, or flat."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from kgtui.model import facts
from kgtui.model.group_types import GROUP_TYPES, SIMPLE, STATES, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from kgtui.model.group import Listing
    from kgtui.model.snapshot import Snapshot, Summary

SLICE = 1_000
"""Groups that are looked at between two pauses."""

Grouping = Literal["type", "state", "coordinator", "topic", "family", "flat"]
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)
GROUPING_TITLES: dict[Grouping, str] = {
    "type": "by type, state",
    "state": "by state",
    "coordinator": "by coordinator",
    "topic": "by topic",
    "family": "by name",
    "flat": "ungrouped",
}

Path = tuple[str, ...]
"""Keys of the nodes from the top to a node. Keys are text of the cluster, or end in one of ours."""

STATE_UNKNOWN = "unknown state"
NO_TOPIC = "no topic"
NOT_READ = "not read yet"
OTHER_NAMES = "other names"


@dataclass(slots=True, eq=False)
class Node:
    """A node and all that is under it.

    Attributes:
        parts: sorted lists of group ids, not merged; only in nodes without children.
        count: groups under it.
    """

    path: Path
    children: list[Node] = field(default_factory=list)
    parts: list[Sequence[str]] = field(default_factory=list)
    count: int = 0

    @property
    def key(self) -> str:
        """The last part of the path."""
        return self.path[-1] if self.path else ""

    @property
    def depth(self) -> int:
        """0 for the top nodes."""
        return len(self.path) - 1


@dataclass(slots=True, eq=False)
class TreeNodes:
    """Every node, by path, and the top ones in the order in which they are drawn."""

    top: list[Node] = field(default_factory=list)
    by_path: dict[Path, Node] = field(default_factory=dict)
    grouping: Grouping = "type"

    @property
    def count(self) -> int:
        """Groups shown; with groups under several topics, how many rows of groups there are."""
        return sum(node.count for node in self.top)


def type_label(group_type: str | None, protocol: str) -> str:
    """`consumer`, `classic · connect`, `classic · simple`: type and protocol, once if they are the same word."""
    name = group_type or "unknown type"
    shown = protocol or (SIMPLE if kind_of(group_type, protocol) == SIMPLE else "")
    return name if shown in ("", name) else f"{name} · {shown}"


def path_of(snapshot: Snapshot, group: str, grouping: Grouping) -> Path | None:
    """Under which node a group is; None if it is not listed. Of several topics, the first."""
    listing = snapshot.groups.get(group)
    if listing is None:
        return None
    if grouping == "topic":
        return (_topics_of(snapshot, group)[0],)
    if grouping == "family":
        return (family_of(group) or OTHER_NAMES,)
    return _path(listing, grouping, facts.type_of(snapshot, group), snapshot.state_of(group))


def _path(listing: Listing, grouping: Grouping, group_type: str | None, state: str | None) -> Path:
    state = state or STATE_UNKNOWN
    if grouping == "type":
        return (type_label(group_type, listing.protocol), state)
    if grouping == "state":
        return (state, type_label(group_type, listing.protocol))
    if grouping == "coordinator":
        return (f"broker {listing.coordinator}", state)
    return ()


def family_of(group: str) -> str | None:
    """The family that a name belongs to by its first separator: `team-007.settle` → `team-007.*`."""
    for separators in (".", ":/_", "-"):
        ends = [at for at in (group.find(sign) for sign in separators) if at > 0]
        if ends and min(ends) < len(group) - 1:
            return group[: min(ends) + 1] + "*"
    return None


def build_nodes(
    snapshot: Snapshot, grouping: Grouping, chosen: Mapping[Listing, Sequence[str]] | None = None
) -> Generator[None, None, TreeNodes]:
    """Arrange the groups of a snapshot, all or the chosen ones. Yields at each slice; returns the forest.

    Args:
        chosen: sorted ids that a filter lets through, by what the list says of them; None for all.
    """
    lists = snapshot.by_listing if chosen is None else chosen
    if grouping in ("topic", "family"):
        buckets = yield from _by_group(snapshot, grouping, lists)
    else:
        buckets = yield from _by_listing(snapshot, grouping, lists)
    return _create_nodes(buckets, grouping)


def _by_listing(
    snapshot: Snapshot, grouping: Grouping, lists: Mapping[Listing, Sequence[str]]
) -> Generator[None, None, dict[Path, list[Sequence[str]]]]:
    buckets: dict[Path, list[Sequence[str]]] = defaultdict(list)
    for listing, ids in lists.items():
        if not ids:
            continue
        if grouping == "flat" or (listing.type is not None and listing.state is not None):
            buckets[_path(listing, grouping, listing.type, listing.state)].append(ids)
        else:
            yield from _split_untold(snapshot, grouping, listing, ids, buckets)
    return buckets


def _split_untold(
    snapshot: Snapshot,
    grouping: Grouping,
    listing: Listing,
    ids: Sequence[str],
    buckets: dict[Path, list[Sequence[str]]],
) -> Generator[None, None, None]:
    """Groups of an old broker, whose list has no types or no states: the sweep may have learned them."""
    found: dict[Path, list[str]] = defaultdict(list)
    for start in range(0, len(ids), SLICE):
        for group in ids[start : start + SLICE]:
            path = _path(listing, grouping, facts.type_of(snapshot, group), snapshot.state_of(group))
            found[path].append(group)
        yield
    for path, part in found.items():
        buckets[path].append(part)


def _topics_of(snapshot: Snapshot, group: str) -> Sequence[str]:
    summary = snapshot.summaries.get(group)
    if summary is None:
        return facts.topics(snapshot, group) or (NOT_READ,)
    return summary.topics or (NO_TOPIC,)


def _families_of(snapshot: Snapshot, group: str) -> Sequence[str]:
    return (family_of(group) or OTHER_NAMES,)


def _by_group(
    snapshot: Snapshot, grouping: Grouping, lists: Mapping[Listing, Sequence[str]]
) -> Generator[None, None, dict[Path, list[Sequence[str]]]]:
    keys_of: Callable[[Snapshot, str], Sequence[str]] = _topics_of if grouping == "topic" else _families_of
    found: dict[str, list[str]] = defaultdict(list)
    for ids in lists.values():
        for start in range(0, len(ids), SLICE):
            for group in ids[start : start + SLICE]:
                for key in keys_of(snapshot, group):
                    found[key].append(group)
            yield
    if grouping == "family":
        _join_singles(found)
    buckets: dict[Path, list[Sequence[str]]] = {}
    for number, (key, part) in enumerate(found.items()):
        part.sort()
        buckets[key,] = [part]
        if number % 100 == 99:
            yield
    return buckets


def _join_singles(found: dict[str, list[str]]) -> None:
    """A family of one is none."""
    single = [key for key, part in found.items() if len(part) == 1 and key != OTHER_NAMES]
    for key in single:
        found.setdefault(OTHER_NAMES, []).extend(found.pop(key))


def _create_nodes(buckets: Mapping[Path, list[Sequence[str]]], grouping: Grouping) -> TreeNodes:
    nodes = TreeNodes(grouping=grouping)
    for path in sorted(buckets, key=lambda path: _rank(path, grouping)):
        node = _node(nodes, path)
        node.parts = buckets[path]
        count = sum(len(part) for part in node.parts)
        for length in range(len(path), -1 if not path else 0, -1):
            nodes.by_path[path[:length]].count += count
    return nodes


def _node(nodes: TreeNodes, path: Path) -> Node:
    node = nodes.by_path.get(path)
    if node is None:
        node = nodes.by_path[path] = Node(path)
        (nodes.top if len(path) <= 1 else _node(nodes, path[:-1]).children).append(node)
    return node


_STATE_RANK = {state: rank for rank, state in enumerate(STATES)}
_TYPE_RANK = {entry.name: entry.rank for entry in GROUP_TYPES.values()}
_LAST = (OTHER_NAMES, NO_TOPIC, NOT_READ, STATE_UNKNOWN)


def _rank(path: Path, grouping: Grouping) -> tuple[tuple[int, int, str], ...]:
    return tuple(_key_rank(key, grouping) for key in path)


def _key_rank(key: str, grouping: Grouping) -> tuple[int, int, str]:
    if key in _LAST:
        return (9, _LAST.index(key), key)
    if grouping in ("topic", "family"):
        return (0, 0, key)
    if grouping == "coordinator" and key.startswith("broker "):
        return (0, int(key[7:]), "")
    if key in _STATE_RANK:
        return (0, _STATE_RANK[key], "")
    name = key.split(" ", 1)[0]
    return (1, _TYPE_RANK.get(name, len(_TYPE_RANK)), key)


def shared_state(node: Node, grouping: Grouping) -> str | None:
    """The state that all groups of a node share, where the grouping says so."""
    if grouping in ("type", "coordinator") and len(node.path) == 2:
        return node.path[1]
    if grouping == "state":
        return node.path[0]
    return None


@dataclass(frozen=True, slots=True)
class NodeTotal:
    """What the groups under a node have in sum.

    Attributes:
        lag: in records, over what is known; None when nothing is.
        unknown: groups of which the lag, or a part of it, is not known.
    """

    lag: int | None = None
    unknown: int = 0

    def __add__(self, other: NodeTotal) -> NodeTotal:
        known = [lag for lag in (self.lag, other.lag) if lag is not None]
        return NodeTotal(sum(known) if known else None, self.unknown + other.unknown)


def sum_nodes(nodes: TreeNodes, snapshot: Snapshot) -> Generator[None, None, dict[Path, NodeTotal]]:
    """The total of every node. Yields at each slice of about a thousand groups."""
    found: dict[Path, NodeTotal] = {}
    budget = SLICE
    for node in nodes.by_path.values():
        if node.children:
            continue
        lag = unknown = 0
        some = False
        for ids in _slices(node.parts):
            more, missing, any_known = _sum_lags(ids, snapshot.summaries)
            lag, unknown, some = lag + more, unknown + missing, some or any_known
            budget -= len(ids)
            if budget <= 0:
                budget = SLICE
                yield
        found[node.path] = NodeTotal(lag if some else None, unknown)
    for node in nodes.top:
        _sum_children(node, found)
    return found


def _slices(parts: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    for part in parts:
        for start in range(0, len(part), SLICE):
            yield part[start : start + SLICE]


def _sum_lags(ids: Sequence[str], summaries: Mapping[str, Summary]) -> tuple[int, int, bool]:
    lag = unknown = 0
    some = False
    for group in ids:
        summary = summaries.get(group)
        if summary is None:
            unknown += 1
            continue
        if summary.lag_unknown or summary.fault is not None:
            unknown += 1
        if summary.lag is not None:
            lag += summary.lag
            some = True
    return lag, unknown, some


def _sum_children(node: Node, found: dict[Path, NodeTotal]) -> NodeTotal:
    if node.children:
        total = NodeTotal()
        for child in node.children:
            total += _sum_children(child, found)
        found[node.path] = total
    return found[node.path]
