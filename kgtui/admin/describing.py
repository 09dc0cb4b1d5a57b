"""Describe groups of different types, each with the describe RPC of its type.

- kgtui first tries the RPC of the type that the newest ListGroups response contains for the group.
- After error 69 (GROUP_ID_NOT_FOUND) or 35 (UNSUPPORTED_VERSION), kgtui tries the RPC of the next type, like Kafka's
  admin client.
- DescribeGroups v0 to v5 return the state `Dead` for every group that is not classic. Therefore, `Dead` does not prove
  that the group is gone.
- If no describe RPC finds the group, but the group might exist, kgtui looks for it in a ListGroups response.

Error 29 (TOPIC_AUTHORIZATION_FAILED) means that the user lacks DESCRIBE on one of the group's topics. A response with
this error contains no state, no epochs and no members (observed on Kafka 4.3.1).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kgtui.admin.decoding import DECODERS, classic_group
from kgtui.admin.routing import EXCHANGE_ERRORS, Batch, not_supported
from kgtui.errors import UnsupportedError
from kgtui.model.error_numbers import GROUP_ID_NOT_FOUND, UNSUPPORTED_VERSION
from kgtui.model.group_types import CLASSIC, DEAD, RANKED_TYPES, canonical_state
from kgtui.protocol.messages import APIS
from kgtui.protocol.messages.groups import DESCRIBE_GROUPS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kgtui.admin.deadline import Deadline
    from kgtui.admin.listing import Lister
    from kgtui.client.pool import Lane, Pool, Reply
    from kgtui.model.answer import Fault
    from kgtui.model.group import GroupDescription
    from kgtui.protocol.api import Api

NOT_THIS_TYPE = frozenset({GROUP_ID_NOT_FOUND, UNSUPPORTED_VERSION})
"""Error codes of a describe RPC after which kgtui tries to describe the group with the RPC of the next group type."""

ROWS_PER_SLICE = 100
"""Number of groups and members in a describe response that are decoded before the event loop can run other tasks.

Decoding them takes a few milliseconds.
"""

_APIS_BY_NAME = {api.name: api for api in APIS.values()}
RPCS: dict[str, Api] = {entry.name: _APIS_BY_NAME[entry.describe_rpc] for entry in RANKED_TYPES}
"""Group type → API that describes groups of this type.

For a group of unknown type, the APIs are tried in the order of this mapping.
"""


@dataclass(slots=True)
class _Search:
    """The search for the describe RPC that can describe one group.

    Attributes:
        types_left: group types whose describe RPC has not been tried, the most likely type first.
        disabled: group types whose describe RPC the broker does not support.
        inconclusive: whether the group can exist even if no describe RPC finds it.
    """

    types_left: list[str]
    disabled: set[str] = field(default_factory=set)
    inconclusive: bool = False

    @property
    def proven_missing(self) -> bool:
        """Whether the group certainly does not exist. Valid only after all describe RPCs were tried without success."""
        return not self.disabled and not self.inconclusive


class Describer:
    """Describes groups in batches. All groups of a batch have the same coordinator.

    Args:
        lister: lists the groups of the coordinator, to look for groups that no describe RPC finds.
        type_of: takes a group id, and returns the group's type in the newest ListGroups response; None if unknown.
    """

    def __init__(self, pool: Pool, lister: Lister, type_of: Callable[[str], str | None]) -> None:
        self._pool = pool
        self._lister = lister
        self._type_of = type_of

    async def send(self, node: int, groups: Sequence[str], deadline: Deadline, lane: Lane) -> Batch[GroupDescription]:
        """Describe groups whose coordinator is the broker `node`."""
        batch: Batch[GroupDescription] = Batch()
        searches = {group: self._search(group) for group in groups}
        try:
            while asked := self._next_round(searches):
                for group_type, names in asked.items():
                    await self._ask(node, group_type, names, searches, batch, deadline, lane)
            if searches:
                await self._look_up_in_list(node, searches, batch, deadline, lane)
        except EXCHANGE_ERRORS as error:
            batch.error = error  # Do not raise the error, so that descriptions that arrived earlier are kept.
        return batch

    def _search(self, group: str) -> _Search:
        if not group:
            # A group with an empty id is always classic. Kafka 3.9 rejects a whole ConsumerGroupDescribe request if
            # one of its group ids is empty.
            return _Search([CLASSIC])
        guess = self._type_of(group)
        order = [name for name in RPCS if name != guess]
        return _Search([guess, *order]) if guess in RPCS else _Search(order, inconclusive=True)

    @staticmethod
    def _next_round(searches: Mapping[str, _Search]) -> dict[str, list[str]]:
        """Take the next type of each group from `types_left`.

        Return a dict: type → ids of the groups to describe with the RPC of this type.
        """
        asked: dict[str, list[str]] = {}
        for group, search in searches.items():
            if search.types_left:
                asked.setdefault(search.types_left.pop(0), []).append(group)
        return asked

    async def _ask(
        self,
        node: int,
        group_type: str,
        names: Sequence[str],
        searches: dict[str, _Search],
        batch: Batch[GroupDescription],
        deadline: Deadline,
        lane: Lane,
    ) -> None:
        """Describe groups with the RPC of one group type.

        Add the results to `batch`, and remove the groups that have a result from `searches`.
        """
        api = RPCS[group_type]
        ids = "Groups" if api is DESCRIBE_GROUPS else "GroupIds"
        request = {ids: list(names), "IncludeAuthorizedOperations": True}
        try:
            version = await self._pool.version(node, api, timeout=deadline.left(), lane=lane)
            if api is DESCRIBE_GROUPS and version < 3:
                del request["IncludeAuthorizedOperations"]
            reply: Reply[dict[str, Any]] = await self._pool.call(
                node, api, request, timeout=deadline.left(), lane=lane, version=version
            )
        except UnsupportedError:
            for group in names:
                searches[group].disabled.add(group_type)
            return
        source = f"{api.name} v{reply.version}"
        done = 0
        for row in reply.value["Groups"]:
            done += 1 + len(row["Members"])
            if done > ROWS_PER_SLICE:
                done = 0
                await asyncio.sleep(0)  # Pause, so that the UI can handle key presses.
            group = row["GroupId"]
            if group not in searches:
                continue
            code = row["ErrorCode"]
            if code in NOT_THIS_TYPE:
                if code == UNSUPPORTED_VERSION:
                    searches[group].disabled.add(group_type)
            elif code == 0 and api is DESCRIBE_GROUPS and reply.version < 6 and row["GroupState"] == DEAD:
                # Before v6, DescribeGroups returns `Dead` for every group that is not classic, even if it exists.
                searches[group].inconclusive = True
            else:
                del searches[group]
                self._add_result(batch, group, group_type, code, row, node, source)

    @staticmethod
    def _add_result(
        batch: Batch[GroupDescription],
        group: str,
        group_type: str,
        code: int,
        row: Mapping[str, Any],
        node: int,
        source: str,
    ) -> None:
        if code == 0:
            batch.rows[group] = DECODERS[group_type](row, node, source)
        else:
            batch.codes[group] = (code, row.get("ErrorMessage"))

    async def _look_up_in_list(
        self,
        node: int,
        searches: Mapping[str, _Search],
        batch: Batch[GroupDescription],
        deadline: Deadline,
        lane: Lane,
    ) -> None:
        """Look in a ListGroups response for groups that no describe RPC found. Add one result per group to `batch`.

        - A group that the broker does not list gets the error GROUP_ID_NOT_FOUND.
        - A group that the broker lists with a type that the broker cannot describe gets a `Fault`.
        - Any other group gets a description that contains only the data in the ListGroups response.
        """
        undecided = [group for group, search in searches.items() if not search.proven_missing]
        listed = await self._lister.find(node, undecided, deadline, lane) if undecided else {}
        for group, search in searches.items():
            listing = listed.get(group)
            if listing is None:
                batch.codes[group] = (GROUP_ID_NOT_FOUND, f"Group {group} not found.")
            elif listing.type in search.disabled or (listing.type or CLASSIC) not in RPCS:
                batch.faults[group] = _cannot_describe(group, listing.type, node)
            else:
                empty: dict[str, Any] = {"GroupId": group, "GroupState": listing.state or DEAD, "Members": []}
                description = classic_group(empty | {"ProtocolType": listing.protocol}, node, "ListGroups")
                batch.rows[group] = _as_listed(description, listing.type or CLASSIC)


def _cannot_describe(group: str, group_type: str | None, node: int) -> Fault:
    request = RPCS[group_type].name if group_type in RPCS else f"describing a group of type {group_type}"
    return not_supported(
        f"{request} is not supported by this broker",
        broker=node,
        group=group,
        advice="the broker is too old, or this group type is switched off: check with kafka-features.sh describe",
    )


def _as_listed(description: GroupDescription, group_type: str) -> GroupDescription:
    """Return a copy of a description with the group type `group_type`. Both come from a ListGroups response.

    In the copy, the members are None (unknown), and `authoritative` is False, because no describe RPC found the group.
    """
    return replace(
        description,
        type=group_type,
        state=canonical_state(description.state),
        members=None,
        authoritative=False,
    )
