"""Tests of `ListingFeed`, which polls the list of groups of one broker and returns the changes since the last poll."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.admin import listing
from kgtui.admin.kafka import KafkaGroupAdmin
from kgtui.errors import BrokerError, DeadlineError
from kgtui.model.group import Listing
from kgtui.protocol.fast_list_groups import ListGroupsRows
from kgtui.protocol.messages.groups import LIST_GROUPS
from tests.unit.admin.fake_pool import FakePool

if TYPE_CHECKING:
    from kgtui.admin.base import ListingFeed
    from tests.unit.admin.fake_pool import Sent

Group = tuple[str, str, str]
STABLE: Group = ("consumer", "Stable", "consumer")
EMPTY: Group = ("consumer", "Empty", "consumer")


@dataclass
class Brokers:
    """Brokers that respond to ListGroups with their groups in the order of `groups`.

    Attributes:
        groups: node id → group id → (protocol type, state, type).
        throttle: throttle time in milliseconds.
        error: error code in the responses, or an exception that the pool raises.
        tags: encoded tagged fields to append to each group.
    """

    groups: dict[int, dict[str, Group]]
    throttle: int = 0
    error: int | Exception = 0
    tags: bytes = b""

    def __post_init__(self) -> None:
        self.pool = FakePool(answers={"ListGroups": self.answer}, nodes=tuple(self.groups))
        self.admin = KafkaGroupAdmin(self.pool)

    def answer(self, sent: Sent) -> Any:
        if isinstance(self.error, Exception):
            return self.error
        rows = [self.row(sent.version, name, sent.node) for name in self.groups[sent.node]]
        throttle = {"ThrottleTimeMs": self.throttle} if sent.version >= 1 else {}
        answer = {"ErrorCode": self.error, "Groups": rows, **throttle}
        return self._tagged(answer) if self.tags else answer

    def row(self, version: int, name: str, node: int = 1) -> dict[str, Any]:
        """Return the fields of group `name`, coordinated by broker `node`, in a ListGroups response."""
        protocol, state, kind = self.groups[node][name]
        row = {"GroupId": name, "ProtocolType": protocol}
        if version >= 4:
            row["GroupState"] = state
        if version >= 5:
            row["GroupType"] = kind
        return row

    def _tagged(self, answer: dict[str, Any]) -> bytes:
        """Encode the response, and append `tags` to each group."""
        groups = answer.pop("Groups")
        head = LIST_GROUPS.response.encode(5, answer | {"Groups": []})[:-2]
        one_row = [LIST_GROUPS.response.encode(5, answer | {"Groups": [row]})[len(head) + 1 : -2] for row in groups]
        return head + bytes([len(groups) + 1]) + b"".join(row + self.tags for row in one_row) + b"\0"

    def set_version(self, version: int) -> None:
        """Change the highest version of ListGroups that the brokers support, as an upgrade or a downgrade does."""
        self.pool.versions = {"ListGroups": version, "ConsumerGroupDescribe": 1 if version >= 5 else None}


async def poll_and_apply(feed: ListingFeed, known: dict[str, Listing]) -> tuple[set[str], set[str]]:
    """Read the changes in a broker's list of groups from `feed`, and apply them to `known`.

    Return the ids of the updated groups, and the ids of the removed groups.
    """
    delta = await feed.poll()
    assert not delta.updated.keys() & set(delta.removed)
    known.update(delta.updated)
    for group in delta.removed:
        del known[group]
    assert delta.total == len(known)
    return set(delta.updated), set(delta.removed)


async def test_polling_a_group_list_returns_new_changed_and_removed_groups() -> None:
    brokers = Brokers({1: {"a": STABLE, "b": STABLE, "c": EMPTY}})
    feed, known = brokers.admin.listing_feed(1), dict[str, Listing]()
    assert await poll_and_apply(feed, known) == ({"a", "b", "c"}, set())
    brokers.groups[1] = {"d": STABLE, "a": STABLE, "b": EMPTY}
    assert await poll_and_apply(feed, known) == ({"b", "d"}, {"c"})
    assert known == {
        "a": Listing("consumer", "consumer", "Stable", 1),
        "b": Listing("consumer", "consumer", "Empty", 1),
        "d": Listing("consumer", "consumer", "Stable", 1),
    }


async def test_an_unchanged_list_of_groups_is_not_decoded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second response differs only in its throttle time."""
    brokers = Brokers({1: {"a": STABLE, "b": EMPTY}})
    feed, known = brokers.admin.listing_feed(1), dict[str, Listing]()
    await poll_and_apply(feed, known)
    monkeypatch.setattr(listing, "row_decoder", lambda version: pytest.fail)
    brokers.throttle = 77
    assert await poll_and_apply(feed, known) == (set(), set())


async def test_polling_a_group_list_that_was_only_reordered_returns_no_changes() -> None:
    brokers = Brokers({1: {"a": STABLE, "b": EMPTY}})
    feed, known = brokers.admin.listing_feed(1), dict[str, Listing]()
    await poll_and_apply(feed, known)
    brokers.groups[1] = {"b": EMPTY, "a": STABLE}
    assert await poll_and_apply(feed, known) == (set(), set())


@pytest.mark.parametrize(("before", "after"), [(2, 5), (3, 4), (5, 0), (4, 5)])
async def test_a_poll_returns_every_group_if_the_listgroups_version_changes(before: int, after: int) -> None:
    """kgtui compares the encoded groups of two polls. Two versions of ListGroups encode the same group differently."""
    brokers = Brokers({1: {"a": STABLE, "gone": EMPTY}})
    brokers.set_version(before)
    feed, known = brokers.admin.listing_feed(1), dict[str, Listing]()
    await poll_and_apply(feed, known)
    brokers.set_version(after)
    brokers.groups[1] = {"a": STABLE, "new": EMPTY}
    assert await poll_and_apply(feed, known) == ({"a", "new"}, {"gone"})
    state = "Stable" if after >= 4 else None
    kind = "consumer" if after >= 5 else "classic"
    assert known["a"] == Listing(kind, "consumer", state, 1)
    delta = await feed.poll()
    assert (delta.total, delta.updated, delta.states_listed) == (2, {}, after >= 4)


async def test_groups_with_the_consumer_protocol_have_no_type_in_listgroups_v4() -> None:
    """ListGroups version 4 returns no group types.

    A group with the protocol type `consumer` can have the type classic or consumer. A Connect group is always classic.
    """
    brokers = Brokers({1: {"a": STABLE, "c": ("connect", "Stable", "classic")}})
    brokers.pool.versions = {"ListGroups": 4, "ConsumerGroupDescribe": 0}
    delta = await brokers.admin.listing_feed(1).poll()
    assert {group: row.type for group, row in delta.updated.items()} == {"a": None, "c": "classic"}


async def test_listgroups_rows_with_long_ids_and_unknown_tagged_fields_are_decoded() -> None:
    long, hostile = "x" * 32_000, "[/red]\n\x1b\u202e\x00"
    brokers = Brokers({1: {long: STABLE, hostile: EMPTY, "": EMPTY}})
    # The bytes encode two tagged fields: tag 7 with the value "news", and tag 900 with the value "!".
    brokers.tags = b"\x02\x07\x04news\x84\x07\x01!"
    feed, known = brokers.admin.listing_feed(1), dict[str, Listing]()
    assert await poll_and_apply(feed, known) == ({long, hostile, ""}, set())
    assert known[long] == Listing("consumer", "consumer", "Stable", 1)
    del brokers.groups[1][long]
    assert await poll_and_apply(feed, known) == (set(), {long})


async def test_polling_group_lists_returns_the_new_coordinator_of_a_moved_group() -> None:
    """The order in which the old and the new coordinator are polled does not matter."""
    for first, second in ((1, 2), (2, 1)):
        brokers = Brokers({1: {"a": STABLE, "moves": STABLE}, 2: {"b": EMPTY}})
        feeds = {node: brokers.admin.listing_feed(node) for node in (1, 2)}
        for feed in feeds.values():
            await feed.poll()
        brokers.groups[2]["moves"] = brokers.groups[1].pop("moves")
        deltas = {node: await feeds[node].poll() for node in (first, second)}
        assert list(deltas[1].removed) == ["moves"]
        assert {group: row.coordinator for group, row in deltas[2].updated.items()} == {"moves": 2}
        assert brokers.pool.learned["moves"] == 2


async def test_a_failed_poll_does_not_affect_the_next_poll() -> None:
    brokers = Brokers({1: {"a": STABLE}})
    feed, known = brokers.admin.listing_feed(1), dict[str, Listing]()
    await poll_and_apply(feed, known)
    brokers.error = 14
    with pytest.raises(BrokerError, match="list groups"):
        await feed.poll()
    brokers.error = DeadlineError("late", broker=1)
    with pytest.raises(DeadlineError):
        await feed.poll()
    brokers.error = 0
    assert await poll_and_apply(feed, known) == (set(), set())


async def test_groups_with_equal_type_and_state_use_the_same_listing_object() -> None:
    brokers = Brokers({1: {f"g{number}": STABLE if number % 2 else EMPTY for number in range(3000)}})
    delta = await brokers.admin.listing_feed(1).poll()
    assert len({id(row) for row in delta.updated.values()}) == 2


ids = st.text(max_size=3)
columns = st.sampled_from(
    [STABLE, EMPTY, ("connect", "Stable", "classic"), ("share", "Dead", "share"), ("", "?", "new")]
)
polls = st.lists(st.tuples(st.dictionaries(ids, columns, max_size=6), st.sampled_from([0, 2, 4, 5, 5, 5])), max_size=6)


@given(polls=polls)
async def test_applying_all_polled_changes_of_a_group_list_gives_the_current_groups(
    polls: list[tuple[dict[str, Group], int]],
) -> None:
    """Between two polls, groups and the ListGroups version change at random."""
    brokers = Brokers({1: {}})
    feed, known = brokers.admin.listing_feed(1), dict[str, Listing]()
    for groups, version in polls:
        brokers.set_version(version)
        brokers.groups[1] = groups
        await poll_and_apply(feed, known)
        assert known.keys() == groups.keys()
        for name, (protocol, state, kind) in groups.items():
            assert known[name].protocol == protocol
            assert known[name].state == (state if version >= 4 else None)
            assert known[name].type == (kind if version >= 5 else "classic")


orders = st.permutations([f"group-{number}" for number in range(40)])
changes = st.lists(st.tuples(st.sampled_from(["order", "state", "gone", "new"]), orders), max_size=6)


@pytest.mark.parametrize("version", [2, 5])
@pytest.mark.parametrize(("rows_per_chunk", "misses_to_stop"), [(2, 2), (4, 30), (10, 16)])
@given(changes=changes)
async def test_polling_a_group_list_returns_the_right_changes_in_any_group_order(
    changes: list[tuple[str, list[str]]], version: int, rows_per_chunk: int, misses_to_stop: int
) -> None:
    """Between two polls, at most four of up to 40 groups change, or the brokers list their groups in a new order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "_ROWS_PER_CHUNK", rows_per_chunk)
        patch.setattr(listing, "_MISSES_TO_STOP", misses_to_stop)
        brokers = Brokers({1: {f"group-{number}": STABLE for number in range(0, 40, 2)}})
        brokers.set_version(version)
        feed, known = brokers.admin.listing_feed(1), dict[str, Listing]()
        await poll_and_apply(feed, known)
        for what, order in changes:
            groups = brokers.groups[1]
            if what == "order":
                groups = {name: groups[name] for name in order if name in groups}
            for name in order[:4]:
                if what == "state" and name in groups:
                    groups[name] = EMPTY if groups[name] == STABLE else STABLE
                elif what == "gone":
                    groups.pop(name, None)
                elif what == "new":
                    groups = {name: STABLE} | groups
            brokers.groups[1] = groups
            await poll_and_apply(feed, known)
            assert known.keys() == groups.keys()
            if version >= 4:
                assert {name: row.state for name, row in known.items()} == {
                    name: row[1] for name, row in groups.items()
                }


async def test_changes_are_found_even_if_a_group_id_contains_encoded_groups() -> None:
    """kgtui does not decode bytes that equal the encoded groups of the previous response.

    In this test, the id of a new group contains such bytes. kgtui must still find all changes.
    """
    brokers = Brokers({1: {"a": STABLE, "b": EMPTY}})
    feed, known = brokers.admin.listing_feed(1), dict[str, Listing]()
    await poll_and_apply(feed, known)
    rows = LIST_GROUPS.response.encode(5, {"Groups": [brokers.row(5, name) for name in ("a", "b")]})[7:-1]
    hostile = rows.decode()
    brokers.groups[1] = {hostile: STABLE, "a": EMPTY, "b": EMPTY}
    assert await poll_and_apply(feed, known) == ({hostile, "a"}, set())


async def test_polling_a_group_list_decodes_only_the_changed_parts_of_a_response(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    brokers = Brokers({1: {f"g{number}": STABLE for number in range(3000)}})
    feed, known = brokers.admin.listing_feed(1), dict[str, Listing]()
    await poll_and_apply(feed, known)
    brokers.groups[1] = {"first": EMPTY} | {f"g{number}": STABLE for number in range(3000) if number != 2000}
    brokers.groups[1]["g1000"] = EMPTY
    monkeypatch.setattr(ListGroupsRows, "take", lambda rows, most: [] if not rows.left else pytest.fail("gave up"))
    assert await poll_and_apply(feed, known) == ({"first", "g1000"}, {"g2000"})
