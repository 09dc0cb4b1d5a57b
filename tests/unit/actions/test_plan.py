"""Tests of `plan`, which says what data the deletion of each group would lose, or why the deletion is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgtui.actions.group_data import GroupData, read_group_data
from kgtui.actions.plan import Allowed, Refused, Undo, loss_of, loss_text, plan
from kgtui.errors import ClientError, UnreachableError
from kgtui.model.access import Access
from kgtui.model.answer import Fault
from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset
from tests.scripted import ScriptedAdmin, member

READS = {"describe_groups", "committed_offsets", "share_offsets", "group_configs", "partition_bounds", "access"}


async def test_deletion_plan_says_which_data_of_a_group_is_lost(admin: ScriptedAdmin) -> None:
    """Partitions without a committed offset do not count as lost. Making the plan changes nothing in the cluster."""
    admin.add("g", state="Empty")
    admin.commits["g"] = (
        CommittedOffset("a", 0, 10),
        CommittedOffset("a", 1, 32),
        CommittedOffset("b", 0, None),
    )
    admin.bounds |= {
        ("a", 0): PartitionBounds(0, 50),
        ("a", 1): PartitionBounds(0, 50),
        ("b", 0): PartitionBounds(0, 1),
    }
    made = await plan(admin, ["g", "g"], last_commits={"g": 1700000000.0})
    (line,) = made.lines
    assert isinstance(line, Allowed)
    assert (line.type, line.loss.topics, line.loss.partitions, line.loss.positions) == ("classic", 1, 2, 42)
    assert line.loss.last_commit == 1700000000.0
    assert line.loss.undo is Undo.PARTLY
    assert line.loss.not_restored == ("commit time and expiry",)
    assert {call for call, _ in admin.calls} <= READS


@pytest.mark.parametrize(
    ("type_", "gap"),
    [("consumer", "simple classic group"), ("streams", "simple classic group"), ("share", "delivery counts")],
)
async def test_deletion_plan_says_what_a_backup_of_the_group_cannot_restore(
    admin: ScriptedAdmin, type_: str, gap: str
) -> None:
    """A consumer or streams group becomes a simple classic group when it is restored from a backup.

    A restored share group has no delivery counts.
    """
    admin.add("g", type_, state="Empty", lag=5)
    (line,) = (await plan(admin, ["g"])).allowed
    assert line.loss.undo is Undo.PARTLY
    assert any(gap in words for words in line.loss.not_restored)
    assert line.loss.positions == 1000


async def test_deletion_plan_of_a_group_without_offsets_predicts_no_data_loss(admin: ScriptedAdmin) -> None:
    admin.add("g", state="Empty")
    (line,) = (await plan(admin, ["g"])).allowed
    assert (line.loss.undo, line.loss.partitions, line.loss.not_restored) == (Undo.RESTORABLE, 0, ())


async def test_deletion_of_offsets_in_deleted_topics_is_irreversible(admin: ScriptedAdmin) -> None:
    """Offsets in a deleted topic cannot be restored, because brokers reject commits to a topic that does not exist."""
    admin.add("g", state="Empty", lag=1)
    admin.bounds["t-g", 0] = PartitionBounds(None, None, 3)
    made = await plan(admin, ["g"])
    assert made.irreversible
    assert made.allowed[0].loss.not_restored[0] == "offsets of 1 deleted partition"


async def test_deletion_plan_lists_each_requested_group_in_the_requested_order(admin: ScriptedAdmin) -> None:
    """Deleting an Empty group is allowed; deleting an active or a missing group is refused."""
    admin.add("live", members=(member(),))
    admin.add("idle", "consumer", state="Empty")
    made = await plan(admin, ["missing", "idle", "live"])
    assert [line.group for line in made.lines] == ["missing", "idle", "live"]
    assert [line.group for line in made.allowed] == ["idle"]
    assert [(line.group, line.reason) for line in made.refused] == [
        ("missing", "no group has this id"),
        ("live", "Stable with 1 member: stop it first"),
    ]


async def test_plan_refuses_to_delete_groups_that_old_brokers_report_dead(admin: ScriptedAdmin) -> None:
    """Before version 6, DescribeGroups returns the state Dead even for active groups of newer types such as share."""
    admin.add("g", state="Dead", source="DescribeGroups v5", authoritative=False)
    (line,) = (await plan(admin, ["g"])).refused
    assert "no describe request found this" in line.reason


async def test_plan_refuses_a_deletion_if_some_offsets_cannot_be_read(admin: ScriptedAdmin) -> None:
    """A complete backup needs the offsets in all partitions."""
    admin.add("part", state="Empty")
    admin.commits["part"] = (CommittedOffset("t", 0, 5), CommittedOffset("secret", 0, None, error=29))
    admin.add("all", "share", state="Empty")
    admin.shares["all"] = (ShareOffset("t", 0, None, error=30),)
    made = await plan(admin, ["part", "all"])
    assert [line.reason for line in made.refused] == [
        "a complete backup is not possible: the offsets of 1 partition cannot be read (forbidden)"
    ] * 2


async def test_plan_refuses_a_deletion_if_reading_offsets_times_out(admin: ScriptedAdmin) -> None:
    """If kgtui cannot read the offsets, it must not assume that the group has no offsets."""

    async def forbidden(groups: list[str], *, timeout: float = 30.0) -> object:
        raise ClientError("broker 1: no answer in 30 s", broker=1)

    admin.add("g", state="Empty", lag=1)
    admin.committed_offsets = forbidden  # type: ignore[assignment,method-assign]
    (line,) = (await plan(admin, ["g"])).lines
    assert line == Refused(
        "g", "a backup is not possible: the offsets cannot be read: broker 1: no answer in 30 s", "classic"
    )


async def test_plan_mentions_the_missing_acl_operation_of_a_refused_deletion(admin: ScriptedAdmin) -> None:
    """The user lacks the permission to delete the first group, and the permission to describe the second group."""
    admin.add("g", state="Empty", operations=frozenset({"READ", "DESCRIBE"}))
    admin.add("hidden", state="Empty")
    admin.broken["hidden"] = Fault("GROUP_AUTHORIZATION_FAILED", "Group authorization failed.", 30, group="hidden")
    reasons = [line.reason for line in (await plan(admin, ["g", "hidden"])).refused]
    assert "ACL operation DELETE" in reasons[0]
    assert "ACL operation DESCRIBE" in reasons[1]


@pytest.mark.parametrize(("any_topic", "mentioned"), [(True, False), (False, True)])
@pytest.mark.parametrize("lag", [None, 3])
async def test_deletion_plan_says_that_some_offsets_are_possibly_hidden(
    admin: ScriptedAdmin, any_topic: bool, mentioned: bool, lag: int | None
) -> None:
    """OffsetFetch omits the offsets in topics on which the user lacks DESCRIBE, and returns no error."""
    admin.add("g", state="Empty", lag=lag, operations=frozenset({"DELETE", "DESCRIBE"}))
    admin.user_access = Access(frozenset(), any_topic=any_topic)
    (line,) = (await plan(admin, ["g"])).allowed
    assert any("no DESCRIBE permission" in gap for gap in line.loss.not_restored) == mentioned
    assert (
        loss_text(line.loss)
        == {
            (None, False): "no offsets",
            (None, True): "no offsets that you are allowed to see",
            (3, False): "offsets of 1 partition in 1 topic, 3 unread records",
            (3, True): "offsets of at least 1 partition in 1 topic, at least 3 unread records",
        }[lag, mentioned]
    )


async def test_predicted_data_loss_is_a_minimum_if_the_user_cannot_see_all_topics(admin: ScriptedAdmin) -> None:
    admin.add("g", state="Empty", lag=3)
    data = (await read_group_data(admin, [admin.descriptions["g"]], timeout=5))["g"]
    assert isinstance(data, GroupData)
    loss = loss_of(replace(data, offsets=replace(data.offsets, hidden_topics=("secret",))))
    assert loss_text(loss) == "offsets of at least 1 partition in 1 topic, at least 3 unread records"
    assert loss.undo is Undo.PARTLY


async def test_deletion_plan_distinguishes_groups_with_similar_ids(admin: ScriptedAdmin) -> None:
    """The ids look equal, but contain Latin and Cyrillic letters, or composed and decomposed accents."""
    pairs = ["payment", "p\u0430yment", "caf\u00e9", "cafe\u0301"]
    for group in pairs:
        admin.add(group, state="Empty")
    admin.add(pairs[1], members=(member(),))
    made = await plan(admin, pairs)
    assert [line.group for line in made.allowed] == [pairs[0], *pairs[2:]]
    assert [line.group for line in made.refused] == [pairs[1]]


async def test_deletion_plan_raises_an_error_if_no_broker_responds(admin: ScriptedAdmin) -> None:
    async def nothing(groups: object, *, timeout: float = 30.0) -> object:
        raise UnreachableError("no broker answers", (("b:1", "refused"),))

    admin.describe_groups = nothing  # type: ignore[assignment,method-assign]
    with pytest.raises(UnreachableError):
        await plan(admin, ["g"])
