"""Tests of the summary of a group: the state, members, lag and topics that the last background read found."""

from __future__ import annotations

from kgtui.model.group import GroupDescription
from kgtui.model.members import Member, Subtopology, Topology
from kgtui.model.offsets import LagTotal
from kgtui.model.summary import Topics, summary_of


def test_topics_in_a_summary_come_from_subscriptions_assignments_topology_and_commits() -> None:
    described = GroupDescription(
        "g",
        "streams",
        "streams",
        "Stable",
        1,
        members=(Member("m", "c", "h", topics=("subscribed",), assignment=(("assigned", (0,)),)),),
        topology=Topology(1, (Subtopology("0", ("source",)),)),
    )
    summary = summary_of(described, LagTotal(3, 1, 2), ["committed", "committed"], None, 5.0, shared=Topics())
    assert summary.topics == ("assigned", "committed", "source", "subscribed")
    assert (summary.members, summary.lag, summary.lag_unknown, summary.partitions) == (1, 3, 1, 2)
    assert (summary.state, summary.type, summary.at) == ("Stable", "streams", 5.0)


def test_group_summary_has_none_for_values_that_were_not_read() -> None:
    summary = summary_of(None, None, (), None, 5.0, shared=Topics())
    assert (summary.members, summary.lag, summary.state, summary.topics) == (None, None, None, None)
    assert summary_of(None, None, (), None, 5.0, memberless=True, shared=Topics()).members == 0


def test_topics_of_a_group_are_unknown_unless_members_and_offsets_were_read() -> None:
    """An Empty group (`memberless`) has no members, so its topics are known once its offsets have been read."""
    member = Member("m", "c", "h", topics=("orders",))
    read, withheld = (
        GroupDescription("g", "consumer", "consumer", "Stable", 1, members=members) for members in ((member,), None)
    )
    for description, topics, memberless, expected in (
        (read, ["rates"], False, ("orders", "rates")),
        (read, (), False, ("orders",)),
        (None, ["rates"], True, ("rates",)),
        (read, None, False, None),
        (None, ["rates"], False, None),
        (withheld, ["rates"], False, None),
    ):
        made = summary_of(description, None, topics, None, 5.0, memberless=memberless, shared=Topics())
        assert made.topics == expected


def test_summaries_with_equal_topics_use_the_same_tuple_object() -> None:
    shared = Topics()
    one, other = (
        summary_of(None, None, topics, None, 5.0, memberless=True, shared=shared) for topics in (["a", "b"], ["b", "a"])
    )
    assert one.topics is other.topics
