"""Tests of `read_groups`, which reads descriptions, offsets and log bounds, and continues after failed requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.admin.deadline import Deadline
from kgtui.admin.groups_read import DESCRIBE, OFFSETS
from kgtui.admin.reading import Logs, read_by_coordinator, read_groups, read_in_full, read_record_times
from kgtui.errors import UnreachableError
from kgtui.model.answer import Answer, Fault
from kgtui.model.group import Listing
from kgtui.model.members import StreamsAssignment, StreamsMember, Subtopology, TopicInfo, Topology
from kgtui.model.offsets import CommittedOffset, LagTotal, PartitionBounds, PartitionLag, lag_of_group, lags
from kgtui.model.record_times import RecordTime, TimeRange
from tests.scripted import ScriptedAdmin, member

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kgtui.admin.groups_read import GroupsRead
    from kgtui.model.members import Member
    from kgtui.model.offsets import TopicPartition


class UnreachableBeforeLogs(ScriptedAdmin):
    """A cluster that becomes unreachable before kgtui requests the log bounds."""

    async def partition_bounds(
        self, partitions: Iterable[TopicPartition], *, starts: bool = True, timeout: float = 30.0
    ) -> Answer[dict[TopicPartition, PartitionBounds]]:
        raise UnreachableError("nothing answers any more")


class UnreachableOffsets(ScriptedAdmin):
    """A cluster that becomes unreachable before kgtui requests the committed offsets."""

    async def committed_offsets(
        self, groups: Iterable[str], *, timeout: float = 30.0
    ) -> Answer[Mapping[str, tuple[CommittedOffset, ...]]]:
        raise UnreachableError("nothing answers")


def listings(admin: ScriptedAdmin) -> dict[str, Listing]:
    return {name: Listing(row.type, row.protocol, row.state, row.coordinator) for name, row in admin.groups.items()}


def lags_of(read: GroupsRead) -> dict[str, list[int | None]]:
    """Return a list of partition lags (in records) for each group, by group id."""
    return {group: [row.lag for row in lags(rows)] for group, rows in read.offsets_by_group().items()}


@pytest.mark.parametrize(
    ("group_type", "protocol", "asked"),
    [
        ("classic", "consumer", True),
        ("classic", "", True),
        ("classic", "connect", False),
        ("classic", "sr", False),
        ("consumer", "consumer", True),
        ("streams", "streams", True),
        ("share", "share", True),
        (None, "consumer", True),
        (None, "connect", False),
        ("swarm", "swarm", False),
    ],
)
def test_type_and_protocol_determine_whether_a_group_has_offsets(
    group_type: str | None, protocol: str, asked: bool
) -> None:
    assert Listing(group_type, protocol, "Stable", 1).has_offsets is asked


async def test_offsets_are_requested_with_the_api_for_the_group_type() -> None:
    admin = ScriptedAdmin()
    admin.add("c", lag=5)
    admin.add("s", "share", lag=7)
    admin.add("w", "classic", "connect")
    read = await read_in_full(admin, Deadline(5), listings(admin))
    assert read.descriptions.keys() == {"c", "s", "w"}
    assert {name: [row.lag for row in lags(rows)] for name, rows in read.offsets_by_group().items()} == {
        "c": [5],
        "s": [7],
        "w": [],
    }
    assert dict(admin.calls)["committed_offsets"] == ("c", "w")
    assert dict(admin.calls)["share_offsets"] == ("s",)
    assert read.faults == []


async def test_log_bounds_are_read_for_assigned_partitions_without_commits() -> None:
    admin = ScriptedAdmin()
    admin.add("c", members=(member(assignment=(("t-c", (0, 1)), ("gone", (0,)))),), lag=5)
    admin.bounds["t-c", 1] = PartitionBounds(3, 9)
    rows = lags((await read_in_full(admin, Deadline(5), listings(admin))).offsets_by_group()["c"])
    assert [(row.topic, row.partition, row.lag, row.log_end, row.reason) for row in rows] == [
        ("t-c", 0, 5, 1005, ""),
        ("t-c", 1, None, 9, "no commit"),
    ]


async def test_log_bounds_are_read_for_partitions_of_active_streams_tasks() -> None:
    """An active task reads one partition of each source and repartition topic of its subtopology.

    Log bounds for partitions of standby tasks are not returned.
    """
    held = StreamsAssignment(active=(("0", (0,)), ("1", (1,))), standby=(("0", (2,)),))
    parts = (Subtopology("0", ("in",)), Subtopology("1", (), (), (), (TopicInfo("again", 2, -1),)))
    admin = ScriptedAdmin()
    admin.add(
        "t", "streams", members=(member(streams=StreamsMember("p", 0, assignment=held)),), topology=Topology(0, parts)
    )
    admin.commits["t"] = ()
    admin.bounds |= {
        ("in", 0): PartitionBounds(0, 4),
        ("again", 1): PartitionBounds(2, 2),
        ("in", 2): PartitionBounds(0, 9),
    }
    rows = lags((await read_in_full(admin, Deadline(5), listings(admin))).offsets_by_group()["t"])
    assert [(row.topic, row.partition, row.reason) for row in rows] == [
        ("again", 1, "no commit"),
        ("in", 0, "no commit"),
    ]


async def test_each_fault_contains_its_group_and_the_failed_step() -> None:
    """A fault says whether describing the group or reading the group's offsets failed."""
    admin = ScriptedAdmin()
    admin.add("fine", lag=1)
    admin.add("forbidden", lag=1)
    admin.broken["forbidden"] = Fault("GROUP_AUTHORIZATION_FAILED", "no", 30, group="forbidden")
    read = await read_in_full(
        admin, Deadline(5), listings(admin) | {"gone": Listing("classic", "consumer", "Empty", 1)}
    )
    assert read.descriptions.keys() == {"fine"}
    assert read.offsets_by_group()["fine"].committed
    assert {name: fault.code for name, fault in read.group_faults(DESCRIBE).items()} == {"forbidden": 30, "gone": 69}
    assert read.group_faults(OFFSETS).keys() == {"forbidden"}
    faults = read.group_faults()
    assert "fine" not in faults
    assert faults["forbidden"].name == "GROUP_AUTHORIZATION_FAILED"


async def test_descriptions_and_offsets_are_returned_if_log_bounds_cannot_be_read() -> None:
    admin = UnreachableBeforeLogs()
    admin.add("c", lag=5)
    read = await read_in_full(admin, Deadline(5), listings(admin))
    assert read.descriptions["c"].state == "Stable"
    (row,) = lags(read.offsets_by_group()["c"])
    assert (row.position, row.lag, row.reason) == (1000, None, "pending")
    assert [(fault.name, fault.group) for fault in read.general_faults] == [("UNREACHABLE", None)]


async def test_the_on_described_callback_is_called_before_log_bounds_are_read() -> None:
    admin = ScriptedAdmin()
    admin.add("c", lag=5)
    reported: list[tuple[set[str], set[str]]] = []
    await read_in_full(
        admin,
        Deadline(5),
        listings(admin),
        on_described=lambda answer: reported.append((set(answer.rows), {c for c, _ in admin.calls})),
    )
    ((groups, called),) = reported
    assert groups == {"c"}
    assert "partition_bounds" in dict(admin.calls)
    assert "partition_bounds" not in called


async def test_offsets_are_also_read_for_groups_that_are_not_described() -> None:
    admin = ScriptedAdmin()
    admin.add("live", lag=5)
    admin.add("empty", state="Empty", lag=7)
    read = await read_groups(admin, Deadline(5), describe=["live"], offsets=listings(admin), logs=Logs.BOUNDS)
    assert dict(admin.calls)["describe_groups"] == ("live",)
    assert lags_of(read) == {"live": [5], "empty": [7]}


async def test_lag_is_the_same_with_and_without_log_start_offsets() -> None:
    admin = ScriptedAdmin()
    admin.add("c", "consumer", lag=7)
    full = (await read_in_full(admin, Deadline(5), listings(admin))).offsets_by_group()["c"]
    ends = (await read_groups(admin, Deadline(5), offsets=listings(admin), logs=Logs.ENDS)).offsets_by_group()["c"]
    assert lag_of_group(ends) == lag_of_group(full)
    assert {row.log_start for row in (full.bounds or {}).values()} != {None}
    assert {row.log_start for row in (ends.bounds or {}).values()} == {None}


async def test_end_offsets_are_not_requested_for_partitions_without_a_commit() -> None:
    admin = ScriptedAdmin()
    admin.add("c", members=(member(assignment=(("t-c", (0, 1)),)),), lag=5)
    admin.add("s", "share", lag=7)
    admin.commits["c"] += (CommittedOffset("t-c", 2, None),)
    read = await read_groups(admin, Deadline(5), offsets=listings(admin), logs=Logs.COMMITTED_ENDS)
    assert dict(admin.calls)["partition_bounds"] == ("t-c-0",)
    assert read.lag_of("c") == LagTotal(5, 0, 2)
    assert read.lag_of("s") == LagTotal(7, 0, 1)


@pytest.mark.parametrize("separately", [False, True])
async def test_read_groups_raises_errors_or_returns_them_as_faults(separately: bool) -> None:
    """If `separately` is true, `read_groups` returns an error as a fault, together with all successful results.

    Otherwise, `read_groups` raises the error.
    """
    admin = UnreachableOffsets()
    admin.add("c", lag=5)
    reading = read_groups(
        admin, Deadline(5), describe=["c"], offsets=listings(admin), logs=Logs.BOUNDS, separately=separately
    )
    if not separately:
        with pytest.raises(UnreachableError):
            await reading
        return
    read = await reading
    assert read.descriptions.keys() == {"c"}
    assert read.offsets_of("c") is None
    assert read.why_missing("c", OFFSETS).name == "NO_ANSWER"


async def test_silent_coordinator_does_not_stop_reads_from_healthy_coordinators() -> None:
    """After the first batch of groups has failed, kgtui sends no further batch to the silent coordinator."""
    admin = ScriptedAdmin()
    for number in range(4):
        admin.add(f"here-{number}", lag=number)
        admin.add(f"silent-{number}", coordinator=2, lag=1)
    admin.broken[2] = Fault("NO_ANSWER", "broker 2 has not answered", broker=2)
    groups = {1: [f"here-{number}" for number in range(4)], 2: [f"silent-{number}" for number in range(4)]}
    read = await read_by_coordinator(
        admin, Deadline(5), groups, listings(admin), describe={"here-0"}, owned=[("t-x", 0)], group_batch=2, log_batch=3
    )
    assert read.committed.keys() == set(groups[1])
    assert read.descriptions.keys() == {"here-0"}
    asked = [ids for call, ids in admin.calls if call == "committed_offsets"]
    assert sorted(asked) == [("here-0", "here-1"), ("here-2", "here-3"), ("silent-0", "silent-1")]
    assert [len(ids) for call, ids in admin.calls if call == "partition_bounds"] == [3, 2]
    assert {step for step, _ in read.faults} == {OFFSETS}


def test_remaining_time_is_divided_equally_among_the_steps_of_a_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr("kgtui.admin.deadline.time.monotonic", lambda: now)
    deadline = Deadline(12, steps=3)
    assert deadline.step() == 4
    now += 2
    assert deadline.step() == 5
    now += 9
    assert (deadline.step(), deadline.step(), deadline.left(), deadline.over) == (1, 1, 1, False)
    now += 2
    assert (deadline.step(), deadline.left(), deadline.over) == (0.001, 0.001, True)


@pytest.mark.parametrize("logs", [Logs.COMMITTED_ENDS, Logs.ENDS, Logs.BOUNDS])
@pytest.mark.parametrize(
    "reader",
    [
        member(topics=("t-c", "secret", "new")),
        member(assignment=(("t-c", (0,)), ("secret", (1,)), ("new", (0,)))),
    ],
    ids=["subscribed", "owned"],
)
async def test_forbidden_topics_of_members_are_reported_as_hidden(logs: Logs, reader: Member) -> None:
    """The user has DESCRIBE on the topic `new`, but not on `secret`. The group has no offsets in these two topics."""
    admin = ScriptedAdmin()
    admin.add("c", members=(reader,), lag=5)
    admin.bounds |= {("secret", part): PartitionBounds(None, None, 29) for part in (0, 1)}
    admin.bounds["new", 0] = PartitionBounds(0, 0)
    read = await read_groups(admin, Deadline(5), describe=["c"], offsets=listings(admin), logs=logs)
    assert read.hidden_topics("c") == ("secret",)
    assert read.lag_of("c") == LagTotal(5, 0, 1, hidden=True)
    offsets = read.offsets_of("c")
    assert offsets is not None
    assert offsets.hidden_topics == ("secret",)
    assert lag_of_group(offsets).lower_bound
    # The log bounds of `secret` are not returned. They were requested only to find out whether the topic is forbidden.
    assert ("secret", 0) not in (offsets.bounds or {})


async def test_permissions_are_not_checked_for_topics_with_committed_offsets() -> None:
    admin = ScriptedAdmin()
    admin.add("c", members=(member(topics=("t-c",), assignment=(("t-c", (0,)),)),), lag=5)
    await read_groups(admin, Deadline(5), describe=["c"], offsets=listings(admin), logs=Logs.ENDS)
    assert dict(admin.calls)["partition_bounds"] == ("t-c-0",)


async def test_partition_count_of_a_group_includes_partitions_without_a_commit() -> None:
    """`LagTotal.partitions` also counts partitions that members own, but that have no committed offset.

    Such a partition does not increase the lag.
    """
    admin = ScriptedAdmin()
    owned = (("t", (0, 1, 2)), ("secret", (0,)))
    admin.add("c", "consumer", members=(member(topics=("t", "secret"), assignment=owned),))
    admin.add("s", "share", lag=4)
    admin.commits["c"] = (CommittedOffset("t", 0, 5), CommittedOffset("t", 1, None))
    admin.bounds |= {("t", partition): PartitionBounds(0, 9) for partition in range(3)}
    admin.bounds["secret", 0] = PartitionBounds(None, None, 29)
    read = await read_groups(admin, Deadline(5.0), describe=admin.groups, offsets=admin.groups, logs=Logs.ENDS)
    for group in ("c", "s"):
        offsets = read.offsets_of(group)
        assert offsets is not None
        assert read.lag_with_owned_partitions(group) == lag_of_group(offsets)
    assert read.lag_with_owned_partitions("c") == LagTotal(4, 1, 4, hidden=True)
    assert read.lag_with_owned_partitions("unknown") is None


async def test_record_timestamps_are_searched_once_for_groups_with_equal_offsets() -> None:
    admin = ScriptedAdmin()
    admin.times = {("t", part): RecordTime(5, TimeRange(100.0, 100.0)) for part in range(2)}
    rows = {
        group: [PartitionLag("t", part, 5 + ahead, 0, 9, 4 - ahead, 5 + ahead, 0) for part in range(2)]
        for group, ahead in (("a", 0), ("b", 0), ("ahead", 1))
    }
    found = await read_record_times(admin, rows, precision=0, limit=100, timeout=5)
    assert {group: sorted(times) for group, times in found.items()} == {
        "a": [("t", 0), ("t", 1)],
        "b": [("t", 0), ("t", 1)],
    }
    searched = [ids for method, ids in admin.calls if method == "record_times"]
    assert searched == [("t-0", "t-1"), ("t-0", "t-1")]
