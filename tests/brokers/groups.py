"""Expected properties of the live groups that `tests.brokers.live` creates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

TopicPartition = tuple[str, int]

ORDERS = {("orders", p): 100 for p in range(3)}
"""Log end offsets of the topic `orders`, which most live groups consume: (topic, partition) → offset."""

HOSTILE_IDS = {
    "markup": "[/red]",
    "markup-link": "[@click=app.quit]click[/]",
    "newline": "two\nlines\r\n",
    "escape": "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "tab-and-nul": "a\tb\x00c",
    "bidi": "invoice\u202egnp.exe",
    "emoji": "🚀 fleet 👩‍👩‍👧",
    "blank": " ",
    "comma": "a,b;c=d",
    "long": "x" * 249,
    "very-long": "y" * 32_000,
    "look-alike-latin": "paypal",
    "look-alike-cyrillic": "p\u0430yp\u0430l",
}
"""Kind of unusual group id → an example. Kafka allows such ids, but many programs handle them wrongly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveGroup:
    """Expected properties of one live group. These properties do not change while the tests run."""

    id: str
    type: str
    """Group type, spelled as in Kafka's protocol: `classic`, `consumer`, `share` or `streams`."""
    protocol: str
    """Protocol type; empty for a simple group."""
    state: str = "Stable"
    members: int = 0
    topics: tuple[str, ...] = ()
    """Topics to which the members subscribe. If the group has no members, topics in which it has committed offsets."""
    committed: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Committed offsets; for a share group, start offsets. Offsets in internal topics of streams groups are omitted."""
    log_end: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Log end offset of every partition that the group consumes."""
    reported_lag: Mapping[TopicPartition, int | None] = field(default_factory=dict)
    """Lag of each partition of a share group, as reported by the broker; None on Kafka 4.1, which reports no lag.

    The lag does not include records that members have acknowledged after the start offset. So the lag can be smaller
    than the log end offset minus the start offset.
    """
    client_ids: tuple[str, ...] = ()
    instance_ids: tuple[str, ...] = ()
    """Instance ids of static members (KIP-345)."""

    @property
    def lags(self) -> dict[TopicPartition, int | None]:
        """Lag of each partition in records; None if the group has no committed offset for the partition.

        For share groups, the values are those of `reported_lag`.
        """
        computed = {tp: end - self.committed[tp] for tp, end in self.log_end.items() if tp in self.committed}
        return {**dict.fromkeys(self.log_end), **computed, **self.reported_lag}

    @property
    def lag(self) -> int | None:
        """Total lag in records; None if the lag of at least one partition is unknown, or if there are no partitions."""
        known = [lag for lag in self.lags.values() if lag is not None]
        return sum(known) if known and len(known) == len(self.lags) else None


def group_types(version: str) -> set[str]:
    """Return the types of groups, including previews, that the tests can create on brokers of Kafka `version`."""
    # Omit share groups in Kafka 4.0 and streams groups in Kafka 4.1, because only clients of the same Kafka release can
    # join these early previews.
    since = {"classic": (0, 0), "consumer": (3, 8), "share": (4, 1), "streams": (4, 2)}
    release = numbers(version)[:2]
    return {group_type for group_type, first in since.items() if release >= first}


def numbers(version: str) -> tuple[int, ...]:
    """Convert a version to a tuple of integers, such as `4.3.1` to (4, 3, 1)."""
    return tuple(map(int, version.split(".")))


def expected(version: str) -> dict[str, LiveGroup]:
    """Return the groups that `Live` creates on a broker of Kafka `version`.

    The keys of the dict are the roles of the groups in the tests, such as `classic` or `empty`.
    """
    # Brokers before Kafka 4.2 support only version 0 of DescribeShareGroupOffsets, whose response has no lag.
    share_lag = 5 if numbers(version) >= (4, 2) else None
    groups = {**_classic_groups(), **_simple_groups(), **_consumer_groups()}
    groups |= _share_groups(share_lag) | _streams_groups()
    return {role: group for role, group in groups.items() if group.type in group_types(version)}


def _classic_groups() -> dict[str, LiveGroup]:
    def consumers(group: str, members: int, *offsets: int, instance_ids: tuple[str, ...] = ()) -> LiveGroup:
        return LiveGroup(
            id=group,
            type="classic",
            protocol="consumer",
            state="Stable" if members else "Empty",
            members=members,
            topics=("orders",),
            committed={("orders", p): offset for p, offset in enumerate(offsets)},
            log_end=ORDERS,
            client_ids=tuple(f"{group}-{n}" for n in range(1, members + 1)),
            instance_ids=instance_ids,
        )

    return {
        "classic": consumers("billing", 2, 90, 100, 95),
        "static": consumers("static-billing", 2, 100, 100, 100, instance_ids=("static-1", "static-2")),
        "partial": consumers("never-committed-everything", 1, 40),
        "empty": consumers("drained", 0, 100, 100, 100),
        "empty-lag": consumers("left-behind", 0, 50, 50, 50),
        "connect": LiveGroup(id="connect-cluster", type="classic", protocol="connect", members=1),
        "sr": LiveGroup(id="schema-registry", type="classic", protocol="sr", members=2),
    }


def _simple_groups() -> dict[str, LiveGroup]:
    def simple(group: str, committed: dict[TopicPartition, int], ends: dict[TopicPartition, int]) -> LiveGroup:
        topics = tuple(sorted({topic for topic, _ in committed}))
        return LiveGroup(
            id=group,
            type="classic",
            protocol="",
            state="Empty",
            topics=topics,
            committed=committed,
            log_end={tp: ends[tp] for tp in committed},
        )

    groups = {
        "simple": simple("simple", {("orders", 0): 40}, ORDERS),
        "deleted-topic": simple("orphan", {("orders", 0): 10}, ORDERS),
        "expired": simple("too-slow", {("trimmed", 0): 10}, {("trimmed", 0): 100}),
    }
    hostile = {f"hostile-{what}": simple(group, {("orders", 1): 99}, ORDERS) for what, group in HOSTILE_IDS.items()}
    return groups | hostile


def _consumer_groups() -> dict[str, LiveGroup]:
    def kip_848(group: str, members: int, offset: int) -> LiveGroup:
        return LiveGroup(
            id=group,
            type="consumer",
            protocol="consumer",
            state="Stable" if members else "Empty",
            members=members,
            topics=("orders",),
            committed=dict.fromkeys(ORDERS, offset),
            log_end=ORDERS,
            client_ids=tuple(f"{group}-{n}" for n in range(1, members + 1)),
        )

    return {
        "consumer": kip_848("next-generation", 2, 80),
        "consumer-empty": kip_848("next-generation-stopped", 0, 100),
        "mixed": kip_848("migrating", 2, 70),
    }


def _share_groups(lag: int | None) -> dict[str, LiveGroup]:
    def share(group: str, topic: str, members: int) -> LiveGroup:
        return LiveGroup(
            id=group,
            type="share",
            protocol="share",
            state="Stable" if members else "Empty",
            members=members,
            topics=(topic,),
            committed={(topic, p): 6 for p in range(2)},
            log_end={(topic, p): 15 for p in range(2)},
            reported_lag={(topic, p): lag for p in range(2)},
            client_ids=tuple(f"{group}-{n}" for n in range(1, members + 1)),
        )

    return {"share": share("share-workers", "jobs", 2), "share-empty": share("share-idle", "idle-jobs", 0)}


def _streams_groups() -> dict[str, LiveGroup]:
    def streams(group: str, topic: str, members: int) -> LiveGroup:
        return LiveGroup(
            id=group,
            type="streams",
            protocol="streams",
            state="Stable" if members else "Empty",
            members=members,
            topics=(topic,),
            committed={(topic, p): 10 for p in range(2)},
            log_end={(topic, p): 15 for p in range(2)},
        )

    return {
        "streams": streams("streams-counts", "words", 1),
        "streams-empty": streams("streams-stopped", "stopped-words", 0),
    }
