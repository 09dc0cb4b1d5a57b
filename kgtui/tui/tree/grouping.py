"""Put the groups of a snapshot under tree nodes, by type, state, coordinator, topic or name prefix."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from kgtui.model import facts
from kgtui.model.group import PREFIX_SEPARATORS
from kgtui.model.group_types import GROUP_TYPES, SIMPLE, STATES, kind_of
from kgtui.model.slices import SLICE

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from kgtui.model.group import Listing
    from kgtui.model.snapshot import Snapshot

Grouping = Literal["type", "state", "coordinator", "topic", "family", "flat"]
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)
"""All groupings of the tree, in the order in which key `b` switches through them."""
GROUPING_TITLES: dict[Grouping, str] = {
    "type": "by type, state",
    "state": "by state",
    "coordinator": "by coordinator",
    "topic": "by topic",
    "family": "by name",
    "flat": "ungrouped",
}
"""Grouping → name in the heading of the tree, in the command palette and in the help."""

Path = tuple[str, ...]
"""Path of a tree node: the keys of its ancestors and its own key, such as `("consumer", "Stable")`."""

STATE_UNKNOWN = "unknown state"
NO_TOPIC = "no topic"
NOT_READ = "not read yet"
OTHER_NAMES = "other names"


@dataclass(slots=True, eq=False)
class Node:
    """A node of the tree. It has either child nodes or groups. Only the root node, the whole cluster, can have both.

    Attributes:
        path: keys that identify the node; empty for the root.
        parts: ids of the groups directly under the node, in one or more sorted lists; empty if the node has child
            nodes. For the root, the lists contain the ids of all groups.
        count: number of groups under the node, including the groups of its child nodes.
    """

    path: Path
    children: list[Node] = field(default_factory=list)
    parts: list[Sequence[str]] = field(default_factory=list)
    count: int = 0

    @property
    def key(self) -> str:
        """The node's own key, such as `Stable`; empty for the root."""
        return self.path[-1] if self.path else ""

    @property
    def depth(self) -> int:
        """Level of indentation. It is 0 for the root, and also for the nodes directly below the root."""
        return max(len(self.path) - 1, 0)


@dataclass(slots=True, eq=False)
class TreeNodes:
    """The nodes of the tree.

    Attributes:
        top: normally the nodes directly below the root, in display order; but in an ungrouped tree, only the root.
        root: the node of the whole cluster; None if there are no groups.
        by_path: path → node; normally for all nodes except the root, but in an ungrouped tree, only for the root.
    """

    top: list[Node] = field(default_factory=list)
    root: Node | None = None
    by_path: dict[Path, Node] = field(default_factory=dict)
    grouping: Grouping = "type"

    @property
    def count(self) -> int:
        """Number of rows that show a group (and not a node) when all nodes are open.

        This can be more than the number of groups: in a tree grouped by topic, a group has a row under each of its
        topics.
        """
        return sum(node.count for node in self.top)

    @property
    def keys_from_cluster(self) -> bool:
        """Whether the nodes are named after topics or prefixes of group ids.

        Such names come from the cluster. They can contain control characters, which must be escaped on the screen.
        """
        return self.grouping in _KEYS_OF_GROUP


def type_label(group_type: str | None, protocol: str) -> str:
    """Return a label for the type and protocol of a group, such as `classic · connect` or `consumer`."""
    name = group_type or "unknown type"
    shown = protocol or (SIMPLE if kind_of(group_type, protocol) == SIMPLE else "")
    return name if shown in ("", name) else f"{name} · {shown}"


def path_of(nodes: TreeNodes, snapshot: Snapshot, group: str) -> Path | None:
    """Return the path of the tree node that contains a group; None if the group is not in the snapshot.

    If the tree is grouped by topic, return the path of the group's first topic.
    """
    listing, grouping = snapshot.groups.get(group), nodes.grouping
    if listing is None:
        return None
    if grouping in _KEYS_OF_GROUP:
        path = (_KEYS_OF_GROUP[grouping](snapshot, group)[0],)
        # In a tree grouped by name, a group that shares its prefix with no other group is under the node `OTHER_NAMES`.
        return (OTHER_NAMES,) if grouping == "family" and path not in nodes.by_path else path
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
    """Return the prefix of a group id, such as `team-007.*` for `team-007.settle`; None if the id has no prefix.

    The id is cut after its first `.`. If this is not possible, the id is cut after the first `:`, `/` or `_`, and if
    this is not possible either, after its first `-` (`PREFIX_SEPARATORS`). Cutting is not possible if the id does not
    contain the separator, or if the first separator is the first or the last character of the id.
    """
    for separators in PREFIX_SEPARATORS:
        ends = [at for at in (group.find(sign) for sign in separators) if at > 0]
        if ends and min(ends) < len(group) - 1:
            return group[: min(ends) + 1] + "*"
    return None


def build_nodes(
    snapshot: Snapshot, grouping: Grouping, chosen: Mapping[Listing, Sequence[str]] | None = None
) -> Generator[None, None, TreeNodes]:
    """Create the tree nodes, and put the groups of a snapshot under them. Yield after about every 1,000 groups.

    Args:
        chosen: the groups that match the filter, as a dict: `Listing` (type, protocol, state, coordinator) → sorted
            group ids. None if no filter is set.
    """
    lists = snapshot.by_listing if chosen is None else chosen
    if grouping in _KEYS_OF_GROUP:
        buckets = yield from _by_group(snapshot, grouping, lists)
    else:
        buckets = yield from _by_listing(snapshot, grouping, lists)
    nodes = _create_nodes(buckets, grouping)
    nodes.root = nodes.by_path.get(())
    if nodes.top and grouping != "flat":
        parts = [ids for ids in lists.values() if ids]
        nodes.root = Node((), list(nodes.top), parts, sum(len(ids) for ids in parts))
    return nodes


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
            yield from _split_by_known_state(snapshot, grouping, listing, ids, buckets)
    return buckets


def _split_by_known_state(
    snapshot: Snapshot,
    grouping: Grouping,
    listing: Listing,
    ids: Sequence[str],
    buckets: dict[Path, list[Sequence[str]]],
) -> Generator[None, None, None]:
    """Put the groups `ids` under tree nodes, according to the type and state that kgtui has read for each group.

    This is necessary for groups of old brokers, which do not report types or states in the list of groups (ListGroups).

    Args:
        listing: data of the groups from ListGroups, without a type or without a state.
        buckets: path of a node → lists of group ids. This function adds one list for each node.
    """
    ids_by_path: dict[Path, list[str]] = defaultdict(list)
    for start in range(0, len(ids), SLICE):
        for group in ids[start : start + SLICE]:
            path = _path(listing, grouping, facts.type_of(snapshot, group), snapshot.state_of(group))
            ids_by_path[path].append(group)
        yield
    for path, part in ids_by_path.items():
        buckets[path].append(part)


def _topics_of(snapshot: Snapshot, group: str) -> Sequence[str]:
    summary = snapshot.summaries.get(group)
    topics = summary.topics if summary is not None else None
    if topics is None:
        topics = facts.topics(snapshot, group)
    return (NOT_READ,) if topics is None else topics or (NO_TOPIC,)


def _families_of(snapshot: Snapshot, group: str) -> Sequence[str]:
    return (family_of(group) or OTHER_NAMES,)


_KEYS_OF_GROUP: Mapping[Grouping, Callable[[Snapshot, str], Sequence[str]]] = {
    "topic": _topics_of,
    "family": _families_of,
}
"""Grouping → function that returns the keys of the nodes that contain a group, such as the group's topics.

Only the groupings by topic and by name need such a function. All others take the keys from the `Listing` of the group
(its data from ListGroups).
"""


def _by_group(
    snapshot: Snapshot, grouping: Grouping, lists: Mapping[Listing, Sequence[str]]
) -> Generator[None, None, dict[Path, list[Sequence[str]]]]:
    keys_of = _KEYS_OF_GROUP[grouping]
    ids_by_key: dict[str, list[str]] = defaultdict(list)
    for ids in lists.values():
        for start in range(0, len(ids), SLICE):
            for group in ids[start : start + SLICE]:
                for key in keys_of(snapshot, group):
                    ids_by_key[key].append(group)
            yield
    if grouping == "family":
        _join_singles(ids_by_key)
    buckets: dict[Path, list[Sequence[str]]] = {}
    for number, (key, part) in enumerate(ids_by_key.items()):
        part.sort()
        buckets[key,] = [part]
        if number % 100 == 99:
            yield
    return buckets


def _join_singles(ids_by_key: dict[str, list[str]]) -> None:
    single = [key for key, part in ids_by_key.items() if len(part) == 1 and key != OTHER_NAMES]
    for key in single:
        ids_by_key.setdefault(OTHER_NAMES, []).extend(ids_by_key.pop(key))


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
    return tuple(_key_rank(key, grouping, depth) for depth, key in enumerate(path))


def _key_rank(key: str, grouping: Grouping, depth: int) -> tuple[int, int, str]:
    if key in _LAST:
        return (9, _LAST.index(key), key)
    if grouping in _KEYS_OF_GROUP:
        return (0, 0, key)
    if grouping == "coordinator" and depth == 0:
        return (0, int(key.removeprefix("broker ")), "")
    if key in _STATE_RANK:
        return (0, _STATE_RANK[key], "")
    name = key.split(" ", 1)[0]
    return (1, _TYPE_RANK.get(name, len(_TYPE_RANK)), key)


def shared_state(node: Node, grouping: Grouping) -> str | None:
    """Return the state that all groups under a node have, such as `Stable`; None if their states can differ."""
    if grouping in ("type", "coordinator") and len(node.path) == 2:
        return node.path[1]
    if grouping == "state" and node.path:
        return node.path[0]
    return None
