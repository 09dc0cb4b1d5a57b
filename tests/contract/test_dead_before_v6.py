"""Tests that kgtui correctly describes groups that DescribeGroups reports as Dead although they exist.

DescribeGroups finds only classic groups. Before version 6, it reports groups of all other types, such as KIP-848
groups, as Dead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.admin import connect
from kgtui.protocol.messages.groups import DESCRIBE_GROUPS

if TYPE_CHECKING:
    from tests.brokers.live import Live

ABSENT = {
    "plain": "no-such-group",
    "markup": "[/no-such]",
    "newline": "no\nsuch\r\n",
    "escape": "\x1b[31mno",
    "nul": "no\x00such",
    "bidi": "no\u202esuch",
    "emoji": "🫥",
    "blank": "  ",
    "long": "n" * 32_000,
    "look-alike": "b\u0456lling",
    "case": "BILLING",
    "prefix": "billin",
}
"""Maps the name of each test case to the id of a group that does not exist.

Some ids resemble the id of the live group `billing`.
"""


async def test_describegroups_v5_reports_live_kip_848_groups_as_dead(live_392: Live) -> None:
    """On Kafka 3.9, DescribeGroups returns the same result for a live KIP-848 group and for an absent group."""
    names = [live_392["consumer"].id, "no-such-group"]
    request = {"Groups": names, "IncludeAuthorizedOperations": False}
    async with connect([live_392.bootstrap]) as admin:
        await admin.cluster()
        reply = await admin.pool.call(1, DESCRIBE_GROUPS, request, timeout=30)
    assert reply.version < 6
    assert [(row["ErrorCode"], row["GroupState"]) for row in reply.value["Groups"]] == [(0, "Dead")] * 2


@pytest.mark.parametrize("listed", [False, True], ids=["never listed", "listed before"])
async def test_no_live_group_is_reported_as_dead_or_absent(live: Live, listed: bool) -> None:
    """One call describes all live groups, and also the absent groups. Some groups of both kinds have unusual ids.

    If `listed` is true, kgtui has listed the groups before, and so knows the types of the live groups.
    """
    live_groups = {group.id: group for group in live.groups.values()}
    async with connect([live.bootstrap]) as admin:
        if listed:
            await admin.list_groups()
        answer = await admin.describe_groups([*ABSENT.values(), *live_groups])
    assert {group: (row.type, row.state) for group, row in answer.rows.items()} == {
        name: (group.type, group.state) for name, group in live_groups.items()
    }
    assert all(row.authoritative for row in answer.rows.values())
    assert [(fault.group, fault.name, fault.code) for fault in answer.faults] == [
        (group, "GROUP_ID_NOT_FOUND", 69) for group in ABSENT.values()
    ]
    assert answer.coverage.groups == (len(live_groups), len(live_groups) + len(ABSENT))


@pytest.mark.parametrize("role", ["consumer", "mixed", "consumer-empty"])
async def test_a_kip_848_group_can_be_described_without_listing_it_first(live: Live, role: str) -> None:
    """The client does not know the group's type, because it has not listed the groups."""
    group = live[role]
    async with connect([live.bootstrap]) as admin:
        answer = await admin.describe_groups([group.id])
        found = answer.rows[group.id]
    assert answer.faults == ()
    assert (found.type, found.state, found.member_count) == ("consumer", group.state, group.members)
    assert found.source.startswith("ConsumerGroupDescribe")


@pytest.mark.parametrize("group", ABSENT.values(), ids=ABSENT)
async def test_describing_a_single_absent_group_returns_not_found(live_392: Live, group: str) -> None:
    async with connect([live_392.bootstrap]) as admin:
        answer = await admin.describe_groups([group])
    assert answer.rows == {}
    assert [(fault.group, fault.name) for fault in answer.faults] == [(group, "GROUP_ID_NOT_FOUND")]


async def test_a_group_with_an_empty_id_is_described_and_deleted(live: Live) -> None:
    """Some old clients commit offsets with an empty group id. Such a commit creates a group with this id."""
    other = live["classic"].id
    async with connect([live.bootstrap]) as admin:
        answer = await admin.describe_groups(["", other])
        assert list(answer.rows) == [other]
        assert [(fault.group, fault.name) for fault in answer.faults] == [("", "GROUP_ID_NOT_FOUND")]
        live.cluster.commit("", {("orders", 0): 1})
        found = (await admin.describe_groups(["", other])).rows
        assert {group: (row.type, row.state) for group, row in found.items()} == {
            "": ("classic", "Empty"),
            other: ("classic", "Stable"),
        }
        (outcome,) = await admin.delete_groups([""])
        assert outcome.ok


async def test_describing_a_deleted_group_returns_not_found(live: Live) -> None:
    """The client has cached the type of the deleted group, but must not report that the group exists."""
    live.cluster.commit("soon-deleted", {("orders", 0): 1})
    async with connect([live.bootstrap]) as admin:
        await admin.list_groups()
        assert (await admin.describe_groups(["soon-deleted"])).rows["soon-deleted"].state == "Empty"
        (outcome,) = await admin.delete_groups(["soon-deleted"])
        assert outcome.ok
        answer = await admin.describe_groups(["soon-deleted"])
    assert answer.rows == {}
    assert [fault.name for fault in answer.faults] == ["GROUP_ID_NOT_FOUND"]
