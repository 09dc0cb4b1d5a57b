"""Hypothesis strategies that generate the results of polls: groups of all types, with unusual characters in strings."""

from __future__ import annotations

from hypothesis import strategies as st

from kgtui.history.changes import PollResult
from kgtui.model.answer import Fault
from kgtui.model.group import GroupDescription, Listing
from kgtui.model.members import (
    ConnectWorker,
    Member,
    StreamsAssignment,
    StreamsMember,
    Subtopology,
    TopicInfo,
    Topology,
)
from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset

texts = st.one_of(
    st.sampled_from(
        ["", "orders", "[/foo]", "a\nb", "\x1b[31m", "\u202ex", "caf\udce9", "\ufdd000e9", "x" * 300, "名前"]
    ),
    st.text(st.characters(codec=None), max_size=8),
)
maybe_text = st.none() | texts
longs = st.integers(0, 2**63 - 1)
ints = st.integers(-1, 2**31 - 1)
parts = st.tuples(texts, st.lists(st.integers(0, 9), max_size=3).map(tuple))
assignments = st.lists(parts, max_size=2).map(tuple)

connects = st.builds(ConnectWorker, url=texts, leader=st.none() | st.booleans(), tasks=assignments, error=ints)
streams = st.builds(
    StreamsMember,
    process=texts,
    topology_epoch=ints,
    tags=st.lists(st.tuples(texts, texts), max_size=2).map(tuple),
    task_offsets=st.lists(st.tuples(texts, ints, longs), max_size=2).map(tuple),
    assignment=st.builds(StreamsAssignment, active=assignments, warmup=assignments),
)
topologies = st.builds(
    Topology,
    epoch=ints,
    subtopologies=st.none()
    | st.lists(
        st.builds(
            Subtopology,
            subtopology=texts,
            source_topics=st.lists(texts, max_size=2).map(tuple),
            changelog_topics=st.lists(st.builds(TopicInfo, texts, ints, ints), max_size=1).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
)


@st.composite
def members(draw: st.DrawFn) -> tuple[Member, ...]:
    """Draw the members of one group, sorted by member id, because a replay returns members in this order."""
    ids = sorted(draw(st.sets(texts, max_size=3)))
    return tuple(
        Member(
            name, draw(texts), draw(texts), draw(maybe_text), draw(maybe_text), draw(st.none() | ints),
            draw(st.none() | st.sampled_from(["classic", "consumer"])),
            draw(st.none() | st.lists(texts, max_size=2).map(tuple)), draw(maybe_text),
            draw(st.none() | assignments), draw(st.none() | assignments),
            connect=draw(st.none() | connects), streams=draw(st.none() | streams),
            undecoded=draw(st.binary(max_size=4)),
        )
        for name in ids
    )  # fmt: skip


listings = st.builds(
    Listing,
    type=st.sampled_from([None, "classic", "consumer", "share", "streams", "newest"]),
    protocol=st.sampled_from(["", "consumer", "connect"]),
    state=st.none() | st.sampled_from(["Stable", "Empty", "Reconciling", "Odd\n"]),
    coordinator=st.integers(1, 2),
)


def descriptions(group: str) -> st.SearchStrategy[GroupDescription]:
    return st.builds(
        GroupDescription,
        st.just(group),
        type=st.sampled_from(["classic", "consumer", "streams"]),
        protocol=texts,
        state=texts,
        coordinator=ints,
        assignor=maybe_text,
        group_epoch=st.none() | ints,
        assignment_epoch=st.none() | ints,
        members=st.none() | members(),
        operations=st.none() | st.frozensets(st.sampled_from(["READ", "DELETE", "DESCRIBE"])),
        topology=st.none() | topologies,
        topology_status=maybe_text,
        source=texts,
        authoritative=st.booleans(),
    )


logs = st.builds(PartitionBounds, st.none() | longs, st.none() | longs, st.sampled_from([0, 3, 6]))
faults = st.builds(Fault, st.sampled_from(["NO_ANSWER", "GROUP_AUTHORIZATION_FAILED"]), texts, st.none() | ints)


@st.composite
def commits(draw: st.DrawFn) -> tuple[CommittedOffset, ...]:
    """Draw the committed offsets of one group, sorted by topic and partition."""
    partitions = sorted(
        draw(st.sets(st.tuples(st.sampled_from(["t", "t\udcff", "名"]), st.integers(0, 3)), max_size=4))
    )
    return tuple(
        CommittedOffset(
            *tp, draw(st.none() | longs), draw(st.none() | ints), draw(texts), draw(st.sampled_from([0, 29]))
        )
        for tp in partitions
    )


@st.composite
def shares(draw: st.DrawFn) -> tuple[ShareOffset, ...]:
    """Draw the share offsets of one group, sorted by topic and partition."""
    partitions = sorted(draw(st.sets(st.tuples(st.sampled_from(["t", "s"]), st.integers(0, 3)), max_size=3)))
    return tuple(
        ShareOffset(*tp, draw(st.none() | longs), draw(st.none() | ints), draw(st.none() | longs), 0, draw(texts))
        for tp in partitions
    )


GROUPS = ["plain", "caf\udce9", "\ufdd0", "[bold]x", "", "gone\x00\n"]


@st.composite
def polls(draw: st.DrawFn) -> PollResult:
    """Draw the result of one poll. Some groups lack a description or offsets, as if kgtui could not read this data."""
    listed = {group: draw(listings) for group in draw(st.sets(st.sampled_from(GROUPS)))}
    described = {group: draw(descriptions(group)) for group in listed if draw(st.booleans())}
    committed = {group: draw(commits()) for group in listed if draw(st.booleans())}
    share = {group: draw(shares()) for group in listed if group not in committed and draw(st.booleans())}
    partitions = {(row.topic, row.partition) for offsets in committed.values() for row in offsets}
    partitions |= {(row.topic, row.partition) for offsets in share.values() for row in offsets}
    failed = draw(st.lists(faults, max_size=1))
    return PollResult(
        listed, described, committed, share,
        {tp: draw(logs) for tp in sorted(partitions) if draw(st.integers(0, 3))},
        tuple(("describe", fault) for fault in failed),
        draw(st.none() | st.frozensets(st.sampled_from(GROUPS))),
    )  # fmt: skip
