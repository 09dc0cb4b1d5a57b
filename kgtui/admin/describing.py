"""Describes groups of any mix of types, each by the RPC of its own type.

A list tells the type of most groups, and that RPC is asked first. Error 69 (or 35, switched off) sends a group on to
the next RPC, as Kafka's own admin client falls back from ConsumerGroupDescribe to DescribeGroups. DescribeGroups before
v6 answers `Dead` without an error for all that it does not know, so that answer proves nothing. What no RPC recognises
is looked up in the coordinator's list, unless it was of a type that we know and all RPCs have denied it.

Error 29 comes for a group of a newer type with a topic that one may not describe, and then tells nothing else: state,
epochs and members are blank (seen on 4.3.1), so the list is all that is known of it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kgtui.admin.decoding import DECODERS, classic_group
from kgtui.admin.faults import not_supported
from kgtui.admin.routing import EXCHANGE_ERRORS, Batch
from kgtui.errors import UnsupportedError
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

GROUP_ID_NOT_FOUND = 69
UNSUPPORTED_VERSION = 35
NOT_THIS_TYPE = frozenset({GROUP_ID_NOT_FOUND, UNSUPPORTED_VERSION})

AT_ONCE = 100  # groups and members decoded in a row, a few milliseconds of CPU

_APIS_BY_NAME = {api.name: api for api in APIS.values()}
RPCS: dict[str, Api] = {entry.name: _APIS_BY_NAME[entry.describe_rpc] for entry in RANKED_TYPES}
"""Group type → the API that describes it, in the order in which they are tried for a group of unknown type."""


@dataclass(slots=True)
class _Search:
    """Where the description of one group has been looked for.

    Attributes:
        left: types whose RPC is still to be asked, best guess first.
        disabled: types whose RPC this broker does not have, or answered 35 to.
        untold: whether it may be of a type without an RPC here, or DescribeGroups gave the answer that proves nothing.
    """

    left: list[str]
    disabled: set[str] = field(default_factory=set)
    untold: bool = False

    @property
    def proven(self) -> bool:
        """Whether the RPC of every type that the group may be of has denied it."""
        return not self.disabled and not self.untold


class Describer:
    """Sends describes of one batch of groups to one broker.

    Args:
        pool: connections.
        lister: the broker's list, for groups that no RPC recognises.
        type_of: what the newest list said of a group's type, or None.
    """

    def __init__(self, pool: Pool, lister: Lister, type_of: Callable[[str], str | None]) -> None:
        self._pool = pool
        self._lister = lister
        self._type_of = type_of

    async def send(self, node: int, groups: Sequence[str], deadline: Deadline, lane: Lane) -> Batch[GroupDescription]:
        """Describe `groups`, all coordinated by `node`."""
        batch: Batch[GroupDescription] = Batch()
        searches = {group: self._search(group) for group in groups}
        try:
            while asked := self._next_round(searches):
                for group_type, names in asked.items():
                    await self._ask(node, group_type, names, searches, batch, deadline, lane)
            if searches:
                await self._settle_by_list(node, searches, batch, deadline, lane)
        except EXCHANGE_ERRORS as error:
            batch.error = error  # what was described before it is kept
        return batch

    def _search(self, group: str) -> _Search:
        if not group:
            # Only old simple groups have no id; 3.9's ConsumerGroupDescribe fails all of a request for one of them.
            return _Search([CLASSIC])
        guess = self._type_of(group)
        order = [name for name in RPCS if name != guess]
        return _Search([guess, *order]) if guess in RPCS else _Search(order, untold=True)

    @staticmethod
    def _next_round(searches: Mapping[str, _Search]) -> dict[str, list[str]]:
        """Type → groups to ask its RPC about next."""
        asked: dict[str, list[str]] = {}
        for group, search in searches.items():
            if search.left:
                asked.setdefault(search.left.pop(0), []).append(group)
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
        """Ask one RPC about `names`; those it settles leave `searches`."""
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
            if done > AT_ONCE:
                done = 0
                await asyncio.sleep(0)  # a screen on this loop has keys to answer
            group = row["GroupId"]
            if group not in searches:
                continue
            code = row["ErrorCode"]
            if code in NOT_THIS_TYPE:
                if code == UNSUPPORTED_VERSION:
                    searches[group].disabled.add(group_type)
            elif code == 0 and api is DESCRIBE_GROUPS and reply.version < 6 and row["GroupState"] == DEAD:
                searches[group].untold = True  # unknown, of another type, or dead
            else:
                del searches[group]
                self._settle(batch, group, group_type, code, row, node, source)

    @staticmethod
    def _settle(
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

    async def _settle_by_list(
        self,
        node: int,
        searches: Mapping[str, _Search],
        batch: Batch[GroupDescription],
        deadline: Deadline,
        lane: Lane,
    ) -> None:
        """Tell apart what does not exist from what this broker lists but cannot describe.

        The list may be long, and groups come and go all the time: it is asked only about those that are in doubt.
        """
        doubtful = [group for group, search in searches.items() if not search.proven]
        listed = await self._lister.find(node, doubtful, deadline, lane) if doubtful else {}
        for group, search in searches.items():
            listing = listed.get(group)
            if listing is None:
                batch.codes[group] = (GROUP_ID_NOT_FOUND, f"Group {group} not found.")
            elif listing.type in search.disabled or listing.type not in RPCS:
                batch.faults[group] = _cannot_describe(group, listing.type, node)
            else:
                empty: dict[str, Any] = {"GroupId": group, "GroupState": listing.state or DEAD, "Members": []}
                description = classic_group(empty | {"ProtocolType": listing.protocol}, node, "ListGroups")
                batch.rows[group] = _as_listed(description, listing.type or CLASSIC)


def _cannot_describe(group: str, group_type: str | None, node: int) -> Fault:
    rpc = RPCS[group_type].name if group_type in RPCS else f"describing a group of type {group_type}"
    return not_supported(
        rpc,
        broker=node,
        group=group,
        advice="the broker is too old for it, or the feature is switched off (kafka-features.sh describe)",
    )


def _as_listed(description: GroupDescription, group_type: str) -> GroupDescription:
    """What a list alone tells: enough to show, never enough to act on."""
    return replace(
        description,
        type=group_type,
        state=canonical_state(description.state),
        members=None,
        authoritative=False,
    )
