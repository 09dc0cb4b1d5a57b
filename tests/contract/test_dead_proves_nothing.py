"""DescribeGroups before v6 answers `Dead` for all that it does not know: nothing alive may be read as gone by that."""

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
"""Ids that no group has, by what is hostile about them; some differ in one letter from one that exists."""


async def test_the_trap_is_there(live_392: Live) -> None:
    """On 3.9 a live KIP-848 group, a group that does not exist and a dead one look the same to DescribeGroups."""
    names = [live_392["consumer"].id, "no-such-group"]
    request = {"Groups": names, "IncludeAuthorizedOperations": False}
    async with connect([live_392.bootstrap]) as admin:
        await admin.cluster()
        reply = await admin.pool.call(1, DESCRIBE_GROUPS, request, timeout=30)
    assert reply.version < 6
    assert [(row["ErrorCode"], row["GroupState"]) for row in reply.value["Groups"]] == [(0, "Dead")] * 2


@pytest.mark.parametrize("listed", [False, True], ids=["never listed", "listed before"])
async def test_no_group_that_lives_is_dead_or_gone(live: Live, listed: bool) -> None:
    """Every live group, hostile ids too, in one call with ids that do not exist."""
    wanted = {group.id: group for group in live.groups.values()}
    async with connect([live.bootstrap]) as admin:
        if listed:
            await admin.list_groups()
        answer = await admin.describe_groups([*ABSENT.values(), *wanted])
    assert {group: (row.type, row.state) for group, row in answer.rows.items()} == {
        name: (group.type, group.state) for name, group in wanted.items()
    }
    assert all(row.authoritative for row in answer.rows.values())
    assert [(fault.group, fault.name, fault.code) for fault in answer.faults] == [
        (group, "GROUP_ID_NOT_FOUND", 69) for group in ABSENT.values()
    ]
    assert answer.coverage.groups == (len(wanted), len(wanted) + len(ABSENT))


@pytest.mark.parametrize("role", ["consumer", "mixed", "consumer-empty"])
async def test_a_newer_group_asked_for_alone_and_first(live: Live, role: str) -> None:
    """Nothing is known but the id: no list, no other group in the request."""
    group = live[role]
    async with connect([live.bootstrap]) as admin:
        answer = await admin.describe_groups([group.id])
        found = answer.rows[group.id]
    assert answer.faults == ()
    assert (found.type, found.state, found.member_count) == ("consumer", group.state, group.members)
    assert found.source.startswith("ConsumerGroupDescribe")


@pytest.mark.parametrize("group", ABSENT.values(), ids=ABSENT)
async def test_an_absent_group_asked_for_alone(live_392: Live, group: str) -> None:
    async with connect([live_392.bootstrap]) as admin:
        answer = await admin.describe_groups([group])
    assert answer.rows == {}
    assert [(fault.group, fault.name) for fault in answer.faults] == [(group, "GROUP_ID_NOT_FOUND")]


async def test_the_empty_id(live: Live) -> None:
    """Some old clients commit without an id; when there is no such group, the others are described all the same."""
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


async def test_a_group_that_was_deleted_after_it_was_listed(live: Live) -> None:
    """Its type is remembered, and proves nothing."""
    live.cluster.commit("soon-deleted", {("orders", 0): 1})
    async with connect([live.bootstrap]) as admin:
        await admin.list_groups()
        assert (await admin.describe_groups(["soon-deleted"])).rows["soon-deleted"].state == "Empty"
        (outcome,) = await admin.delete_groups(["soon-deleted"])
        assert outcome.ok
        answer = await admin.describe_groups(["soon-deleted"])
    assert answer.rows == {}
    assert [fault.name for fault in answer.faults] == ["GROUP_ID_NOT_FOUND"]
