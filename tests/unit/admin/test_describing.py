"""Tests of `describe_groups`: which describe RPCs it tries, and how it finds out that a group does not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.admin import kafka, listing
from kgtui.admin.kafka import KafkaGroupAdmin
from kgtui.errors import ConnectError, DisconnectedError
from tests.unit.admin.fake_pool import FakePool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.model.answer import Answer
    from kgtui.model.group import GroupDescription
    from tests.unit.admin.fake_pool import Sent

RPC = {
    "ConsumerGroupDescribe": "consumer",
    "DescribeGroups": "classic",
    "ShareGroupDescribe": "share",
    "StreamsGroupDescribe": "streams",
}
NEWER = {"AssignmentEpoch": 1, "GroupEpoch": 1, "AuthorizedOperations": -2147483648}
HOSTILE = ["[/red]", "two\nlines\r\n", "\x1b[31m", "a\x00b", "", " ", "x" * 32_000, "🚀", "\u202e"]


class Cluster:
    """Brokers that respond to ListGroups and the four describe RPCs as Kafka's brokers do.

    Args:
        groups: group id → (type, state). A group of an unknown type is listed, but not described.
        disabled: names of the RPCs that return error 35 (UNSUPPORTED_VERSION).
        pool: additional keyword arguments for the `FakePool`.
    """

    def __init__(self, groups: Mapping[str, tuple[str, str]], *, disabled: tuple[str, ...] = (), **pool: Any) -> None:
        self.groups = dict(groups)
        self.disabled = disabled
        self.codes: dict[str, int] = {}
        answers = {"ListGroups": self.list, **dict.fromkeys(RPC, self.describe)}
        self.pool = FakePool(**{"answers": answers, "nodes": (1,)} | pool)
        self.admin = KafkaGroupAdmin(self.pool)

    def list(self, sent: Sent) -> dict[str, Any]:
        return {
            "Groups": [
                {
                    "GroupId": name,
                    "ProtocolType": "consumer" if kind == "classic" else kind,
                    **({"GroupState": state} if sent.version >= 4 else {}),
                    **({"GroupType": kind} if sent.version >= 5 else {}),
                }
                for name, (kind, state) in self.groups.items()
            ]
        }

    def describe(self, sent: Sent) -> dict[str, Any]:
        """Return the response to one of the four describe RPCs."""
        names: list[str] = sent.fields["Groups" if sent.api == "DescribeGroups" else "GroupIds"]
        return {"Groups": [self._row(sent, name) for name in reversed(names)]}

    def _row(self, sent: Sent, name: str) -> dict[str, Any]:
        kind, state = self.groups.get(name, ("", "Dead"))
        classic = sent.api == "DescribeGroups"
        row: dict[str, Any] = {"GroupId": name, "GroupState": state if kind == RPC[sent.api] else "", "Members": []}
        row |= {"ProtocolType": "consumer", "ProtocolData": "range"} if classic else NEWER
        if sent.api == "StreamsGroupDescribe":
            row["Topology"] = None
        if sent.api in self.disabled:
            return row | {"ErrorCode": 35}
        if code := self.codes.get(name):
            return row | {"ErrorCode": code}
        if kind == RPC[sent.api]:
            return row
        if classic and sent.version < 6:
            return row | {"GroupState": "Dead", "ProtocolType": "", "ProtocolData": ""}
        words = f"Group {name} is not a {RPC[sent.api]} group." if kind else f"Group {name} not found."
        message = {"ErrorMessage": words} if not classic or sent.version >= 6 else {}
        return row | {"ErrorCode": 69, "GroupState": "Dead" if classic else ""} | message


def types_by_group(answer: Answer[Mapping[str, GroupDescription]]) -> dict[str, tuple[str, str, bool]]:
    return {name: (row.type, row.state, row.authoritative) for name, row in answer.rows.items()}


ALL = {"c": ("consumer", "Stable"), "k": ("classic", "Stable"), "s": ("share", "Empty"), "t": ("streams", "NotReady")}


async def test_describing_listed_groups_takes_one_request_per_group_type() -> None:
    cluster = Cluster(ALL)
    await cluster.admin.list_groups()
    answer = await cluster.admin.describe_groups(ALL)
    assert types_by_group(answer) == {name: (*type_and_state, True) for name, type_and_state in ALL.items()}
    assert {sent.api: sent.fields.get("GroupIds") or sent.fields["Groups"] for sent in cluster.pool.sent[1:]} == {
        "ConsumerGroupDescribe": ["c"],
        "DescribeGroups": ["k"],
        "ShareGroupDescribe": ["s"],
        "StreamsGroupDescribe": ["t"],
    }


async def test_groups_are_described_even_if_their_types_are_not_cached() -> None:
    answer = await Cluster(ALL).admin.describe_groups([*ALL, "nope"])
    assert types_by_group(answer) == {name: (*type_and_state, True) for name, type_and_state in ALL.items()}
    assert [(fault.group, fault.code) for fault in answer.faults] == [("nope", 69)]


@pytest.mark.parametrize("version", [0, 5, 6])
async def test_a_group_is_described_correctly_if_its_cached_type_is_outdated(version: int) -> None:
    """After kgtui cached the types of two groups, they were deleted, and created again with different types."""
    cluster = Cluster({"g": ("classic", "Empty"), "h": ("consumer", "Empty")}, versions={"DescribeGroups": version})
    await cluster.admin.list_groups()
    cluster.groups |= {"g": ("consumer", "Stable"), "h": ("classic", "Stable")}
    answer = await cluster.admin.describe_groups(["g", "h"])
    assert types_by_group(answer) == {"g": ("consumer", "Stable", True), "h": ("classic", "Stable", True)}


async def test_describing_a_deleted_group_with_a_cached_type_sends_no_list_request() -> None:
    """The type of the deleted group is cached. All describe RPCs respond that the group does not exist.

    kgtui therefore does not need to check whether the group is in the list of all groups.
    """
    cluster = Cluster(ALL)
    await cluster.admin.list_groups()
    del cluster.groups["k"]
    before = len(cluster.pool.sent)
    answer = await cluster.admin.describe_groups(["k", "c"])
    assert list(answer.rows) == ["c"]
    assert [(fault.group, fault.code) for fault in answer.faults] == [("k", 69)]
    assert "ListGroups" not in {sent.api for sent in cluster.pool.sent[before:]}


async def test_describing_a_deleted_group_without_a_cached_type_lists_the_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The groups `s` and `k` were deleted. kgtui requests the list of groups only for `k`, whose type is not cached."""
    monkeypatch.setattr(kafka, "REMEMBERED_TYPES", 1)
    cluster = Cluster(ALL)
    feed = cluster.admin.listing_feed(1)
    await feed.poll()
    for group in ("k", "s"):
        del cluster.groups[group]
        await feed.poll()
    for group, lists_again in (("s", False), ("k", True)):
        before = len(cluster.pool.sent)
        answer = await cluster.admin.describe_groups([group])
        assert [(fault.group, fault.code) for fault in answer.faults] == [(group, 69)]
        assert ("ListGroups" in {sent.api for sent in cluster.pool.sent[before:]}) is lists_again


async def test_a_list_response_without_the_requested_groups_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(ALL)
    monkeypatch.setattr(listing, "decode_list_groups", lambda version, body: pytest.fail("the list was decoded"))
    answer = await cluster.admin.describe_groups(["nope"])
    assert [(fault.group, fault.code) for fault in answer.faults] == [("nope", 69)]


async def test_a_group_of_an_unknown_type_is_listed_but_not_described() -> None:
    cluster = Cluster({"future": ("swarm", "Swarming"), "k": ("classic", "Stable")})
    future = (await cluster.admin.list_groups()).rows["future"]
    assert (future.type, future.protocol, future.state, future.kind) == ("swarm", "swarm", "Swarming", "other")
    answer = await cluster.admin.describe_groups(["future", "k"])
    assert list(answer.rows) == ["k"]
    (fault,) = answer.faults
    assert (fault.name, fault.group, fault.code) == ("NOT_SUPPORTED", "future", None)
    assert "swarm" in fault.message


async def test_an_unrecognized_group_state_is_returned_unchanged() -> None:
    cluster = Cluster({"a": ("classic", "Hibernating"), "b": ("consumer", "preparingREBALANCE")})
    assert {group: row.state for group, row in (await cluster.admin.list_groups()).rows.items()} == {
        "a": "Hibernating",
        "b": "PreparingRebalance",
    }
    answer = await cluster.admin.describe_groups(["a", "b"])
    assert [row.state for row in answer.rows.values()] == ["Hibernating", "PreparingRebalance"]


async def test_an_unrecognized_error_code_is_returned_as_a_fault_of_the_group() -> None:
    cluster = Cluster(ALL)
    cluster.codes = {"c": 31_999, "s": 30}
    await cluster.admin.list_groups()
    answer = await cluster.admin.describe_groups(ALL)
    assert list(answer.rows) == ["k", "t"]
    assert [(fault.group, fault.name, fault.code) for fault in answer.faults] == [
        ("c", "UNKNOWN_31999", 31_999),
        ("s", "GROUP_AUTHORIZATION_FAILED", 30),
    ]


@pytest.mark.parametrize("how", ["switched off", "too old"])
async def test_groups_whose_describe_rpc_is_missing_are_reported_as_unsupported(how: str) -> None:
    """A group is not reported as Dead or missing if the broker lacks the describe RPC for the group's type."""
    rpcs = ("ShareGroupDescribe", "StreamsGroupDescribe")
    cluster = Cluster(ALL, disabled=rpcs) if how == "switched off" else Cluster(ALL, versions=dict.fromkeys(rpcs))
    # In the first pass, kgtui does not know the group types. In the second pass, it knows them from `list_groups`.
    for _ in range(2):
        answer = await cluster.admin.describe_groups(ALL)
        assert list(answer.rows) == ["c", "k"]
        assert [(fault.group, fault.name, fault.code) for fault in answer.faults] == [
            ("s", "NOT_SUPPORTED", None),
            ("t", "NOT_SUPPORTED", None),
        ]
        await cluster.admin.list_groups()


@pytest.mark.parametrize("consumer_group_describe", [None, 0])
async def test_a_listed_group_exists_even_if_an_old_broker_reports_it_as_dead(
    consumer_group_describe: int | None,
) -> None:
    """DescribeGroups before version 6 returns Dead for missing groups, so kgtui also checks the list of groups.

    For a listed group, the state Dead is unreliable, because the group may be active.

    The test also runs with a broker that has ConsumerGroupDescribe. There, it is unknown whether a listed group is
    classic, because ListGroups version 4 returns no group types.
    """
    versions: dict[str, int | None] = {"DescribeGroups": 5, "ListGroups": 4}
    versions["ConsumerGroupDescribe"] = consumer_group_describe
    versions |= dict.fromkeys(["ShareGroupDescribe", "StreamsGroupDescribe"])
    cluster = Cluster({"dying": ("classic", "Dead")}, versions=versions)
    answer = await cluster.admin.describe_groups(["dying", "nope"])
    assert types_by_group(answer) == {"dying": ("classic", "Dead", False)}
    assert answer.rows["dying"].members is None
    assert [(fault.group, fault.name) for fault in answer.faults] == [("nope", "GROUP_ID_NOT_FOUND")]


@pytest.mark.parametrize("version", [5, 6])
async def test_groups_with_unusual_ids_are_described_or_reported_as_not_found(version: int) -> None:
    cluster = Cluster(dict.fromkeys(HOSTILE, ("classic", "Empty")), versions={"DescribeGroups": version})
    answer = await cluster.admin.describe_groups(HOSTILE)
    assert types_by_group(answer) == dict.fromkeys(HOSTILE, ("classic", "Empty", True))
    absent = [f"{name}?" for name in HOSTILE]
    answer = await Cluster({}, versions={"DescribeGroups": version}).admin.describe_groups(absent)
    assert [(fault.group, fault.code) for fault in answer.faults] == [(name, 69) for name in absent]


async def test_a_group_with_an_empty_id_is_described_as_classic() -> None:
    """kgtui sends the empty id only in DescribeGroups requests.

    In Kafka 3.9, the empty id would make ConsumerGroupDescribe fail for all groups in the request.
    """
    cluster = Cluster({"": ("classic", "Empty"), "c": ("consumer", "Stable")})
    assert list((await cluster.admin.describe_groups(["", "c"])).rows) == ["", "c"]
    assert {sent.api for sent in cluster.pool.sent if "" in sent.fields.get("GroupIds", [])} == set()


async def test_descriptions_from_describegroups_v2_have_no_authorized_operations() -> None:
    versions: dict[str, int | None] = dict.fromkeys(RPC) | {"DescribeGroups": 2, "ListGroups": 2}
    cluster = Cluster({"k": ("classic", "Stable")}, versions=versions)
    found = (await cluster.admin.describe_groups(["k"])).rows["k"]
    assert (found.operations, found.source) == (None, "DescribeGroups v2")


async def test_descriptions_that_were_already_read_are_kept_if_a_later_request_fails() -> None:
    cluster = Cluster(ALL)
    cluster.pool.answers["DescribeGroups"] = lambda _: ConnectError("refused", broker=1)
    answer = await cluster.admin.describe_groups(["c", "k"])
    assert list(answer.rows) == ["c"]
    assert [(fault.group, fault.name) for fault in answer.faults] == [("k", "NOT_CONNECTED")]


async def test_states_are_read_with_describegroups_if_listgroups_returns_no_states() -> None:
    versions: dict[str, int | None] = dict.fromkeys(RPC) | {"DescribeGroups": 5, "ListGroups": 3}
    cluster = Cluster({"a": ("classic", "Stable"), "b": ("classic", "Empty")}, versions=versions)
    rows = (await cluster.admin.list_groups(states=["Empty"])).rows
    assert [(group, row.type, row.state) for group, row in rows.items()] == [("b", "classic", "Empty")]


async def test_listing_groups_returns_groups_of_other_brokers_if_one_broker_fails() -> None:
    cluster = Cluster(ALL, nodes=(1, 2))
    honest = cluster.list
    cluster.pool.answers["ListGroups"] = lambda sent: (
        DisconnectedError("lost", broker=2) if sent.node == 2 else honest(sent)
    )
    answer = await cluster.admin.list_groups()
    assert list(answer.rows) == sorted(ALL)
    assert [(fault.broker, fault.name) for fault in answer.faults] == [(2, "DISCONNECTED")]
    assert answer.coverage.brokers == (1, 2)


kinds_of_groups = st.sampled_from(["classic", "consumer", "share", "streams"])
states = st.sampled_from(["Stable", "Empty", "Assigning", "PreparingRebalance", "Curious"])


@given(
    groups=st.dictionaries(st.text(max_size=4), st.tuples(kinds_of_groups, states), max_size=6),
    absent=st.sets(st.text(max_size=4), max_size=3),
    wrong=st.dictionaries(st.text(max_size=4), kinds_of_groups, max_size=4),
    version=st.sampled_from([5, 6]),
)
async def test_groups_are_described_correctly_even_if_a_wrong_type_is_cached(
    groups: dict[str, tuple[str, str]], absent: set[str], wrong: dict[str, str], version: int
) -> None:
    """Groups, missing groups and wrong cached types are random. Missing groups are reported as not found."""
    groups = {name: type_and_state for name, type_and_state in groups.items() if name}
    cluster = Cluster({name: (kind, "Empty") for name, kind in wrong.items()}, versions={"DescribeGroups": version})
    await cluster.admin.list_groups()
    cluster.groups = groups
    answer = await cluster.admin.describe_groups([*groups, *(absent - groups.keys())])
    assert types_by_group(answer) == {name: (*type_and_state, True) for name, type_and_state in groups.items()}
    assert {fault.group: fault.code for fault in answer.faults} == dict.fromkeys(absent - groups.keys(), 69)
