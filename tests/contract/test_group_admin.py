"""Tests of the `GroupAdmin` interface on simulated clusters of Kafka 2.4 to 4.4, and on real brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.admin.deadline import Deadline
from kgtui.admin.reading import read_in_full
from kgtui.model.group import Listing
from kgtui.model.group_types import canonical_state
from kgtui.model.members import partitions_of
from kgtui.model.offsets import lags
from tests.contract.target_cluster import PARAMS, TargetCluster, targets

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SIMPLE = Listing("classic", "", "Empty", 1)


@pytest.fixture(params=PARAMS)
async def target(request: pytest.FixtureRequest) -> AsyncIterator[TargetCluster]:
    """Run a test once with each simulated and each real cluster."""
    async for target in targets(request.param, request):
        yield target


async def test_every_group_is_listed_with_type_protocol_and_state(target: TargetCluster) -> None:
    answer = await target.admin.list_groups()
    rows = answer.rows
    for group in target.groups.values():
        row = rows[group.id]
        assert (row.type, row.protocol, row.state) == (group.type, group.protocol, group.state), group.id
    assert answer.coverage.complete
    assert not answer.faults
    assert list(answer.rows) == sorted(rows)


async def test_listed_groups_are_filtered_by_type_state_and_protocol(target: TargetCluster) -> None:
    admin = target.admin
    of_type = set((await admin.list_groups(types=["consumer", "share"])).rows)
    of_state = set((await admin.list_groups(states=["Empty"])).rows)
    of_protocol = set((await admin.list_groups(protocols=["connect", "sr"])).rows)
    for group in target.groups.values():
        assert (group.id in of_type) == (group.type in {"consumer", "share"}), group.id
        assert (group.id in of_state) == (group.state == "Empty"), group.id
        assert (group.id in of_protocol) == (group.protocol in {"connect", "sr"}), group.id


async def test_listing_groups_of_an_unknown_type_returns_no_groups(target: TargetCluster) -> None:
    assert (await target.admin.list_groups(types=["swarm"])).rows == {}


async def test_the_first_poll_returns_all_groups_and_later_polls_return_only_changes(target: TargetCluster) -> None:
    cluster = await target.admin.cluster()
    feeds = [target.admin.listing_feed(node) for node in cluster.brokers]
    listed: dict[str, Listing] = {}
    for feed in feeds:
        delta = await feed.poll()
        assert delta.total == len(delta.updated)
        assert delta.states_listed == (target.version >= (2, 6))
        listed |= delta.updated
    assert listed.keys() >= set(target.ids)
    for group in target.groups.values():
        assert listed[group.id].state in ({group.state} if target.version >= (2, 6) else {None})
    target.make_empty("feed-newcomer")
    changes = [await feed.poll() for feed in feeds]
    assert "feed-newcomer" in {group for delta in changes for group in delta.updated}
    untouched = {group.id for group in target.groups.values() if group.state in {"Stable", "Empty"}}
    assert not untouched & {group for delta in changes for group in (*delta.updated, *delta.removed)}
    await target.admin.delete_groups(["feed-newcomer"])
    assert "feed-newcomer" in {group for feed in feeds for group in (await feed.poll()).removed}


async def test_groups_of_every_type_are_described_correctly(target: TargetCluster) -> None:
    await target.admin.list_groups()
    await _described_right(target)


async def test_groups_can_be_described_without_listing_them_first(target: TargetCluster) -> None:
    await _described_right(target)


async def _described_right(target: TargetCluster) -> None:
    """Describe all groups; assert that types, states, members and authorized operations are correct."""
    answer = await target.admin.describe_groups(target.ids)
    assert answer.faults == ()
    assert list(answer.rows) == target.ids
    for group in target.groups.values():
        found = answer.rows[group.id]
        assert (found.type, found.protocol, found.state) == (group.type, group.protocol, group.state), group.id
        assert found.member_count == group.members, group.id
        assert found.authoritative
        if group.client_ids:
            assert {member.client_id for member in found.members or ()} >= set(group.client_ids[:1]), group.id
        assert {m.instance_id for m in found.members or () if m.instance_id} == set(group.instance_ids)
        if found.source != "DescribeGroups v2":
            assert found.operations is not None
            assert {"READ", "DELETE", "DESCRIBE"} <= found.operations


async def test_every_partition_of_a_group_is_owned_by_one_member(target: TargetCluster) -> None:
    """Check the assignments of all classic and KIP-848 consumer groups whose members consume topics."""
    expected_groups = [group for group in target.of("classic", "consumer") if group.members and group.log_end]
    answer = await target.admin.describe_groups([group.id for group in expected_groups])
    for group in expected_groups:
        members = answer.rows[group.id].members or ()
        owned = [tp for member in members for tp in partitions_of(member.assignment)]
        assert sorted(owned) == sorted(group.log_end), group.id
        assert {member.topics for member in members} == {group.topics}, group.id
        if group.type == "consumer":
            assert all(member.target == member.assignment for member in members)
            assert all(member.epoch is not None for member in members)
            assert answer.rows[group.id].group_epoch == answer.rows[group.id].assignment_epoch


async def test_the_protocol_of_each_member_is_read_if_brokers_report_it(target: TargetCluster) -> None:
    if "mixed" not in target.groups:
        assert target.newest < (3, 8)
        return
    found = (await target.admin.describe_groups([target.groups["mixed"].id])).rows[target.groups["mixed"].id]
    kinds = sorted(str(member.protocol) for member in found.members or ())
    # Responses to ConsumerGroupDescribe v1 contain each member's protocol (classic or consumer). Brokers before Kafka
    # 4.0 support only version 0, whose responses do not contain the protocol.
    assert kinds == (["classic", "consumer"] if found.source.endswith("v1") else ["None", "None"])


async def test_metadata_of_connect_workers_and_schema_registries_is_decoded(target: TargetCluster) -> None:
    connect, registry = target.groups["connect"].id, target.groups["sr"].id
    answer = await target.admin.describe_groups([connect, registry])
    (worker,) = answer.rows[connect].members or ()
    assert worker.connect is not None
    assert worker.connect.url.startswith("http")
    assert worker.connect.leader
    assert worker.connect.connectors
    assert worker.connect.tasks
    nodes = [member.registry for member in answer.rows[registry].members or ()]
    assert all(node is not None and node.url.startswith("http") for node in nodes)
    assert [node.leader for node in nodes if node is not None].count(True) == 1


async def test_members_of_share_and_streams_groups_are_described(target: TargetCluster) -> None:
    for role in ("share", "streams"):
        if role not in target.groups:
            continue
        group = target.groups[role]
        found = (await target.admin.describe_groups([group.id])).rows[group.id]
        assert found.group_epoch is not None
        for member in found.members or ():
            assert member.epoch is not None
            if role == "share":
                assert member.topics == group.topics
            else:
                assert member.streams is not None
                assert member.streams.assignment.active
                assert found.topology is not None


async def test_describing_an_absent_group_returns_not_found(target: TargetCluster) -> None:
    answer = await target.admin.describe_groups(["nope", target.groups["classic"].id])
    (fault,) = answer.faults
    assert (fault.name, fault.code, fault.group) == ("GROUP_ID_NOT_FOUND", 69, "nope")
    assert list(answer.rows) == [target.groups["classic"].id]
    assert answer.coverage.groups == (1, 2)


async def test_committed_offsets_of_all_groups_are_read_in_one_call(target: TargetCluster) -> None:
    expected_groups = target.of("classic", "consumer", "streams")
    answer = await target.admin.committed_offsets([group.id for group in expected_groups])
    assert answer.faults == ()
    for group in expected_groups:
        found = {(row.topic, row.partition): row.offset for row in answer.rows[group.id] if row.topic != "retired"}
        assert {tp: found.get(tp) for tp in group.committed} == dict(group.committed), group.id
    assert (await target.admin.committed_offsets(["nope"])).rows == {"nope": ()}


async def test_start_offsets_and_lag_of_share_groups_are_read(target: TargetCluster) -> None:
    groups = target.of("share")
    answer = await target.admin.share_offsets([group.id for group in groups])
    assert answer.faults == ()
    for group in groups:
        rows = answer.rows[group.id]
        assert {(row.topic, row.partition): row.start_offset for row in rows} == dict(group.committed)
        assert {(row.topic, row.partition): row.lag for row in rows} == dict(group.reported_lag)


async def test_lag_equals_the_number_of_unread_records(target: TargetCluster) -> None:
    groups = target.of("classic", "consumer", "streams")
    listed = (await target.admin.list_groups()).rows
    read = await read_in_full(target.admin, Deadline(30), {group.id: listed[group.id] for group in groups})
    assert read.faults == []
    for group in groups:
        offsets = read.offsets_of(group.id)
        rows = lags(offsets) if offsets is not None else []
        found = {(row.topic, row.partition): row.lag for row in rows}
        assert {tp: found.get(tp) for tp in group.log_end} == group.lags, group.id


async def test_the_lag_is_correct_for_deleted_topics_and_deleted_records(target: TargetCluster) -> None:
    """One group has a committed offset in a deleted topic.

    The committed offset of another group is below the log start offset, because the oldest records were deleted.
    """
    orphan, late = target.groups["deleted-topic"].id, target.groups["expired"].id
    read = await read_in_full(target.admin, Deadline(30), dict.fromkeys((orphan, late), SIMPLE))
    by_topic = {row.topic: row for row in lags(read.offsets_by_group()[orphan])}
    # When a topic such as `retired` is deleted, a real coordinator also deletes the committed offsets in this topic.
    # The simulator keeps them.
    assert ("retired" in by_topic) == target.simulated
    if target.simulated:
        retired = by_topic["retired"]
        assert (retired.reason, retired.lag, retired.position) == ("topic deleted", None, 5)
    (row,) = lags(read.offsets_by_group()[late])
    assert (row.lost, row.lag, row.log_start) == (40, 90, 50)


async def test_group_configs_are_read_with_their_values_sources_and_types(target: TargetCluster) -> None:
    group = target.groups["classic"].id
    answer = await target.admin.group_configs([group])
    if target.newest < (4, 0):
        assert [fault.name for fault in answer.faults] == ["NOT_SUPPORTED"]
        return
    configs = {config.name: config for config in answer.rows[group]}
    assert configs["consumer.session.timeout.ms"].value == "45000"
    assert configs["consumer.session.timeout.ms"].source == "DEFAULT_CONFIG"
    assert configs["consumer.session.timeout.ms"].type == "INT"


async def test_retention_times_of_topics_and_of_offsets_are_read(target: TargetCluster) -> None:
    group = target.groups["classic"].id
    topics = {row.topic for row in (await target.admin.committed_offsets([group])).rows[group]}
    answer = await target.admin.retention([*topics, "no-such-topic"])
    assert answer.rows.offsets == 7 * 86_400.0
    assert answer.rows.topics.keys() == topics
    if not target.simulated:
        assert set(answer.rows.topics.values()) == {7 * 86_400.0}
    (fault,) = answer.faults
    assert fault.name == "UNKNOWN_TOPIC_OR_PARTITION"
    assert "no-such-topic" in fault.message


async def test_deleting_groups_deletes_only_groups_without_members(target: TargetCluster) -> None:
    target.make_empty("to-be-deleted")
    live = [group.id for group in target.groups.values() if group.members]
    outcomes = await target.admin.delete_groups(["nope", *live, "to-be-deleted"])
    by_group = {outcome.group: outcome for outcome in outcomes}
    assert [outcome.group for outcome in outcomes] == ["nope", *live, "to-be-deleted"]
    assert by_group["to-be-deleted"].ok
    assert {by_group[group].fault.code for group in live if by_group[group].fault} == {68}  # type: ignore[union-attr]
    assert not any(by_group[group].ok for group in live)
    nope = by_group["nope"].fault
    assert nope is not None
    assert (nope.name, by_group["nope"].uncertain) == ("GROUP_ID_NOT_FOUND", False)
    assert "to-be-deleted" not in set((await target.admin.list_groups()).rows)


async def test_group_states_are_spelled_as_in_kafka(target: TargetCluster) -> None:
    rows = (await target.admin.list_groups()).rows
    assert all(row.state == canonical_state(row.state or "") for row in rows.values())
