"""An example `Snapshot` (state of a cluster) with one group of each kind, for tests of the panes."""

from __future__ import annotations

from kgtui.model.answer import Fault
from kgtui.model.cluster import Broker, ClusterInfo
from kgtui.model.group import GroupConfig, GroupDescription, Listing
from kgtui.model.members import (
    ConnectWorker,
    Member,
    RegistryNode,
    StreamsAssignment,
    StreamsMember,
    Subtopology,
    TopicInfo,
    TopicPartitions,
    Topology,
)
from kgtui.model.offsets import CommittedOffset, GroupOffsets, PartitionBounds, ShareOffset
from kgtui.model.snapshot import BrokerStatus, Reading, Snapshot

NOW = 1_763_719_463.0
"""Time of the example snapshot: 2025-11-21 10:04:23 UTC, in seconds since the epoch."""

OPERATIONS = frozenset({"READ", "DESCRIBE", "DELETE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"})
HOSTILE = "[/red] evil\x1b[31m\u202egroup\nname 😀"


def consumer_group() -> GroupDescription:
    """Return a reconciling consumer group (KIP-848), in which one member still uses the classic protocol."""
    members = []
    now = [(0, 1, 2), (3, 4, 5), (6, 7), (8, 9), (11,), ()]
    then = [(0, 1), (3, 4), (6, 7), (8, 9), (10, 11), (2, 5)]
    for index in range(6):
        topic = "payments.settled"
        members.append(
            Member(
                member_id=f"9f3c1ab2-77d0-4e6e-a1f1-00000000000{index}",
                client_id=f"settle-{index}",
                host=f"/10.2.{index % 3}.17",
                instance_id=f"settle-pod-{index}" if index < 3 else None,
                rack=f"eu-west-1{'abc'[index % 3]}",
                epoch=40 if index in (0, 1) else 41,
                protocol="classic" if index == 4 else "consumer",
                topics=("payments.refunds", topic) if index else (topic,),
                regex="payments\\..*" if index == 5 else None,
                assignment=_parts(topic, now[index]) if index else ((topic, now[0]), ("payments.refunds", (0, 1))),
                target=_parts(topic, then[index]) if index else ((topic, then[0]), ("payments.refunds", (0, 1))),
            )
        )
    return GroupDescription(
        "payments.settle", "consumer", "consumer", "Reconciling", 3, "uniform", 41, 41, tuple(members), OPERATIONS,
        source="ConsumerGroupDescribe v1",
    )  # fmt: skip


def _parts(topic: str, parts: tuple[int, ...]) -> TopicPartitions:
    return ((topic, parts),) if parts else ()


def classic_group() -> GroupDescription:
    """Return a classic group with four members. One of them is idle: no partitions are assigned to it."""
    members = tuple(
        Member(
            f"enrich-{index}-0c2f8c1e-5a52-4c11-9d0f-1b1f7a5c77f{index}", "orders-enrich", f"/10.1.0.{index + 4}",
            protocol="classic", topics=("orders.created", "orders.paid"),
            assignment=_parts("orders.created", tuple(range(index * 4, index * 4 + 4))) if index < 3 else (),
        )
        for index in range(4)
    )  # fmt: skip
    return GroupDescription(
        "orders.enrich", "classic", "consumer", "Stable", 1, "range", None, None, members, None,
        source="DescribeGroups v6",
    )  # fmt: skip


def share_group() -> GroupDescription:
    """Return a share group in which the same partitions are assigned to all members."""
    members = tuple(
        Member(f"KQ{index}x8Zk7S6-{index}", f"fraud-{index}", f"/10.3.0.{index}", epoch=7, protocol="share",
               topics=("card.events",), assignment=(("card.events", (0, 1, 2)),))
        for index in range(3)
    )  # fmt: skip
    return GroupDescription(
        "fraud.score", "share", "share", "Stable", 2, "simple", 7, 7, members, OPERATIONS - {"DELETE"},
        source="ShareGroupDescribe v1",
    )  # fmt: skip


def streams_group() -> GroupDescription:
    """Return a streams group with two processes, each with two threads (members).

    One thread has a warm-up task (KIP-441): it restores the state of the task before it takes over the task.
    """
    tasks = StreamsAssignment
    plan = [
        (tasks((("0", (0, 1)),)), 0),
        (tasks((("0", (2,)),), (("1", (0,)),)), 0),
        (tasks((("1", (0, 1)),), (("0", (0,)),)), 12_400),
        (tasks((("1", (2,)),), (), (("0", (2,)),)), 90_211),
    ]
    goals = [*(task for task, _ in plan[:3]), tasks((("0", (2,)), ("1", (2,))))]
    members = []
    for index, (assignment, left) in enumerate(plan):
        ends = (("0", 2, 100_000),) if left else ()
        members.append(
            Member(
                f"clicks-{index}-b0a4", f"clicks-{index // 2}-StreamThread-{index % 2 + 1}-consumer",
                f"/10.4.0.{index // 2}", epoch=12, protocol="streams", topics=("clicks",), rack="eu-west-1a",
                streams=StreamsMember(
                    f"4c1e7f2a-0000-4000-8000-00000000000{index // 2}", 3, f"10.4.0.{index // 2}:8080",
                    task_offsets=(("0", 2, 100_000 - left),) if left else (), task_end_offsets=ends,
                    assignment=assignment, target=goals[index],
                ),
            )
        )  # fmt: skip
    topology = Topology(3, (
        Subtopology("0", ("clicks",), changelog_topics=(TopicInfo("agg-store-changelog", 3, 3),)),
        Subtopology("1", (), repartition_source_topics=(TopicInfo("by-user-repartition", 4, 3),)),
    ))  # fmt: skip
    return GroupDescription(
        "clicks.aggregate", "streams", "streams", "Reconciling", 2, "sticky", 12, 12, tuple(members), OPERATIONS,
        topology, source="StreamsGroupDescribe v0",
    )  # fmt: skip


def connect_group() -> GroupDescription:
    """Return a group of three Kafka Connect workers, one of which must give up a task."""
    urls = [f"http://connect-{index}.prod:8083/" for index in range(3)]
    work = [
        (("s3-sink",), (("s3-sink", (0, 1)),), ()),
        (("jdbc-source",), (("s3-sink", (2,)), ("jdbc-source", (0,))), ("s3-sink-2",)),
        ((), (), ()),
    ]
    members = tuple(
        Member(
            f"connect-{index}-5d2f", f"connect-{index}", f"/10.5.0.{index}", protocol="classic",
            connect=ConnectWorker(url, index == 0, urls[0], 4711, work[index][0], work[index][1], work[index][2], 0),
        )
        for index, url in enumerate(urls)
    )  # fmt: skip
    return GroupDescription(
        "connect-prod", "classic", "connect", "Stable", 1, "sessioned", None, None, members, OPERATIONS,
        source="DescribeGroups v6",
    )  # fmt: skip


def registry_group() -> GroupDescription:
    """Return a group of two schema registry nodes."""
    members = tuple(
        Member(f"sr-{index}-aa01", f"sr-{index}", f"/10.6.0.{index}", protocol="classic",
               registry=RegistryNode(f"http://sr-{index}.prod:8081", True, index == 1, "http://sr-1.prod:8081"))
        for index in range(2)
    )  # fmt: skip
    return GroupDescription(
        "schema-registry", "classic", "sr", "Stable", 2, "v0", None, None, members, OPERATIONS,
        source="DescribeGroups v6",
    )  # fmt: skip


def hostile_group() -> GroupDescription:
    """Return a group whose strings contain markup or escape sequences, such as its group id and its topic name.

    The only member of the group also has 100 bytes of metadata that kgtui cannot decode.
    """
    member = Member(
        HOSTILE, "[b]bold[/b]\x07", "/[link=x]h[/link]", protocol="classic", topics=("[/foo]",),
        assignment=(("[/foo]", (0,)),), undecoded=bytes(range(100)),
    )  # fmt: skip
    return GroupDescription(
        HOSTILE, "classic", "consumer", "Stable", 2, "[bold]", None, None, (member,), None, source="DescribeGroups v6"
    )


def consumer_offsets() -> GroupOffsets:
    """Return offsets of 14 partitions in two topics. One committed offset is before the log start offset."""
    committed = [CommittedOffset("payments.settled", part, 90_000 + part * 7, 5, "") for part in range(12)]
    committed += [CommittedOffset("payments.refunds", part, 400 + part, 2, "v2") for part in range(2)]
    bounds = {
        ("payments.settled", part): PartitionBounds(10_000, 90_000 + part * 7 + (part * 311) % 1000)
        for part in range(12)
    } | {("payments.refunds", 0): PartitionBounds(900, 1400), ("payments.refunds", 1): PartitionBounds(0, 401)}
    return GroupOffsets(tuple(committed), (), bounds)


def classic_offsets() -> GroupOffsets:
    """Return offsets of 13 partitions with a known lag, and of four partitions with an unknown lag.

    The four reasons are: no committed offset, no permission, a deleted topic, and a partition without a leader.
    """
    committed = [CommittedOffset("orders.created", part, 1000, 1, "") for part in range(12)]
    committed += [
        CommittedOffset("orders.paid", 0, None), CommittedOffset("orders.paid", 1, 77),
        CommittedOffset("secret.audit", 0, None, error=29),
        CommittedOffset("orders.v1", 0, 12_345, metadata="closed 2024"),
        CommittedOffset("orders.late", 0, 5),
    ]  # fmt: skip
    bounds = {("orders.created", part): PartitionBounds(0, 1000 + part * 100) for part in range(12)} | {
        ("orders.paid", 0): PartitionBounds(0, 500), ("orders.paid", 1): PartitionBounds(0, 77),
        ("orders.v1", 0): PartitionBounds(None, None, 3), ("orders.late", 0): PartitionBounds(None, None, 5),
    }  # fmt: skip
    return GroupOffsets(tuple(committed), (), bounds)


def share_offsets() -> GroupOffsets:
    """Return offsets of three partitions of a share group.

    The first partition has a known lag, the second has an unknown lag, and the third has no start offset.
    """
    shares = (
        ShareOffset("card.events", 0, 5_000, 3, 120), ShareOffset("card.events", 1, 5_100, 3, None),
        ShareOffset("card.events", 2, None),
    )  # fmt: skip
    bounds = {("card.events", part): PartitionBounds(0, 6_000) for part in range(3)}
    return GroupOffsets((), shares, bounds)


def streams_offsets() -> GroupOffsets:
    """Return the committed offsets of a streams group in its source topic."""
    committed = tuple(CommittedOffset("clicks", part, 2_000 + part, 1, "AgAAAaH8zkW1") for part in range(3))
    return GroupOffsets(committed, (), {("clicks", part): PartitionBounds(0, 2_500) for part in range(3)})


def many_offsets(count: int, added_lag: int = 0) -> GroupOffsets:
    """Return offsets of `count` partitions in ten topics. `added_lag` is added to the lag of each partition."""
    names = [(f"topic-{index // (count // 10):02}", index % (count // 10)) for index in range(count)]
    committed = tuple(CommittedOffset(topic, part, 1_000) for topic, part in names)
    return GroupOffsets(committed, (), {one: PartitionBounds(0, 1_000 + one[1] % 97 + added_lag) for one in names})


def configs() -> tuple[GroupConfig, ...]:
    """Return the configs of a group. Most have default values.

    Two configs are set for this group. One of the two is sensitive, so Kafka does not return its value.
    """
    names = {
        "consumer.heartbeat.interval.ms": "5000", "consumer.session.timeout.ms": "45000",
        "share.auto.offset.reset": "latest", "share.record.lock.duration.ms": "30000",
        "streams.num.standby.replicas": "0",
    }  # fmt: skip
    rows = [
        GroupConfig(name, value, "DEFAULT_CONFIG", type="INT",
                    synonyms=((f"group.{name}", value, "DEFAULT_CONFIG"),))
        for name, value in names.items()
    ]  # fmt: skip
    rows[1] = GroupConfig(
        "consumer.session.timeout.ms", "60000", "DYNAMIC_GROUP_CONFIG", type="INT",
        documentation="The timeout to detect client failures when using the consumer group protocol.",
        synonyms=(("consumer.session.timeout.ms", "60000", "DYNAMIC_GROUP_CONFIG"),
                  ("group.consumer.session.timeout.ms", "45000", "DEFAULT_CONFIG")),
    )  # fmt: skip
    rows.append(GroupConfig("consumer.some.secret", None, "DYNAMIC_GROUP_CONFIG", sensitive=True, type="PASSWORD"))
    return tuple(rows)


def example_snapshot(serial: int = 1, now: float = NOW) -> Snapshot:
    """Return a snapshot of a cluster with four brokers and one group of each kind. Broker 4 does not respond.

    Args:
        serial: number of the snapshot; higher is newer.
        now: time of the snapshot, in seconds since the epoch.
    """
    descriptions = [
        consumer_group(),
        classic_group(),
        share_group(),
        streams_group(),
        connect_group(),
        registry_group(),
        hostile_group(),
    ]
    simple = GroupDescription("legacy.export", "classic", "", "Empty", 1, source="DescribeGroups v6")
    stale = GroupDescription("stale.group", "classic", "consumer", "Stable", 4, "range", source="DescribeGroups v6")
    down = Fault("NO_ANSWER", "broker 4 did not answer within 12 s", broker=4,
                 advice="Look at the broker's log and at the network between here and 10.0.0.4:9092.")  # fmt: skip
    forbidden = Fault(
        "GROUP_AUTHORIZATION_FAILED", "DescribeGroups of secret.group: Group authorization failed.", 30,
        group="secret.group", advice="Ask for DESCRIBE on this group for your principal.",
    )  # fmt: skip
    groups = {one.group: Listing(one.type, one.protocol, one.state, one.coordinator) for one in descriptions}
    groups |= {
        "legacy.export": Listing("classic", "", "Empty", 1),
        "secret.group": Listing("classic", "consumer", "Stable", 1),
        "stale.group": Listing("classic", "consumer", "Stable", 4),
        "new.group": Listing("classic", "consumer", "Stable", 1),
    }  # fmt: skip
    details = {one.group: Reading(one, now - 1) for one in (*descriptions, simple)}
    details["stale.group"] = Reading(stale, now - 12)
    offsets = {
        "payments.settle": Reading(consumer_offsets(), now - 1), "orders.enrich": Reading(classic_offsets(), now - 1),
        "fraud.score": Reading(share_offsets(), now - 1), "clicks.aggregate": Reading(streams_offsets(), now - 1),
        "legacy.export": Reading(GroupOffsets((CommittedOffset("export", 0, 9_000),), (),
                                              {("export", 0): PartitionBounds(0, 9_000)}), now - 1),
        "connect-prod": Reading(GroupOffsets(), now - 1),
    }  # fmt: skip
    brokers = {node: Broker(node, f"10.0.0.{node}", 9092, f"eu-west-1{'abca'[node - 1]}") for node in range(1, 5)}
    statuses = {
        node: BrokerStatus(node, broker.address, now - (12 if node == 4 else 1), 20.0, down if node == 4 else None)
        for node, broker in brokers.items()
    }
    by_listing = {one: sorted(group for group in groups if groups[group] == one) for one in groups.values()}
    return Snapshot(
        serial, now, ClusterInfo("prod-eu", brokers, 1, {}, ("10.0.0.1:9092", "10.0.0.2:9092")), groups, by_listing,
        details=details, offsets=offsets,
        configs={"payments.settle": Reading(configs(), now - 1)},
        state_since={"payments.settle": now - 185, "legacy.export": now - 7200},
        brokers=statuses, group_faults={"secret.group": forbidden},
    )  # fmt: skip
