"""Tests of the explanations that kgtui gives if a group is not listed or if no group matches a filter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgtui.model.absence import NoMatch, no_match_steps, why_not_listed
from kgtui.model.access import FULL_ACCESS, Access
from kgtui.model.answer import Fault
from kgtui.model.event import disappeared
from kgtui.model.group import Listing
from kgtui.model.query import parse
from kgtui.model.query.spelling import likely_meant, operator_hint, similar_names
from kgtui.model.slices import run_at_once
from kgtui.model.snapshot import BrokerStatus, Snapshot
from tests.unit.model.query_snapshots import NOW, snapshot, summary

EMPTY, STABLE = Listing("classic", "consumer", "Empty", 1), Listing("consumer", "consumer", "Stable", 2)
ANSWERED = BrokerStatus(1, "one:9092", answered_at=NOW)
SILENT = BrokerStatus(2, "two:9092", fault=Fault("NO_ANSWER", "no response\nin 5 s"))


def sample() -> Snapshot:
    """Return a snapshot with three groups. Only the topics of `payments.audit` are unknown."""
    return snapshot(
        {"payments.settle": STABLE, "payments.audit": EMPTY, "orders": EMPTY},
        {"payments.settle": summary(topics=("payments.v1", "payments.v2")), "orders": summary(topics=("eu.orders",))},
    )


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("lag>100", "lag:101+"),
        ("lag >= 1k", "lag:1k+"),
        ("timelag<5m", "timelag:..5m"),
        ("members=0", "members:0"),
        ("members == 0 state=Empty", "members:0 state:Empty"),
        ("lag!=0", "not:lag:0"),
        ("sort=lag", "sort:lag"),
        ("state:Empty AND type:share", "state:Empty type:share"),
        ("pay && lag>100", "pay lag:101+"),
        ("state:Empty OR state:Dead or state:Stable", "state:Empty,Dead,Stable"),
        ("pay || orders", "pay,orders"),
        ("NOT pay", "not:pay"),
        ("state:Empty OR type:share", None),
        ("pay orders", None),
        ("android origin notes", None),
        ("lag>much", None),
    ],
)
def test_kgtui_suggests_a_correction_for_typical_mistakes_in_filters(text: str, meant: str | None) -> None:
    """For example, kgtui suggests `lag:101+` for `lag>100`. `meant` is None if kgtui suggests nothing."""
    found = likely_meant(parse(text))
    assert (None if found is None else found.describe()) == meant


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("topic:payments", NoMatch(parse("topic:payments%"))),
        ("topic:orders state:Empty", NoMatch(parse("topic:%orders state:Empty"))),
        ("topic:eu.ordres", NoMatch(parse("topic:eu.orders"))),
        ("topic:unlike", NoMatch()),
        ("topic:eu.orders members:5+", NoMatch()),
        ("payments state:Dead", NoMatch(word="payments", excluded=2, example="payments.audit")),
        ("payments.setle", NoMatch(word="payments.setle", similar=("payments.settle", "payments.audit"))),
        ("xyz", NoMatch(word="xyz")),
        ("xyz zyx", NoMatch()),
    ],
)
def test_empty_filter_result_suggests_a_similar_filter_or_group_id(text: str, expected: NoMatch) -> None:
    assert run_at_once(no_match_steps(parse(text), sample())) == expected


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            "state:Empty AND members:0",
            (
                "AND is read as a part of group ids; AND is not needed, because a group must match all terms; "
                "did you mean state:Empty members:0"
            ),
        ),
        (
            "state:Empty OR state:Dead",
            (
                "OR is read as a part of group ids; write alternatives with a comma, as in a,b; "
                "did you mean state:Empty,Dead"
            ),
        ),
        ("AND", "AND is read as a part of group ids; AND is not needed, because a group must match all terms"),
        ("and demand ANDROID topic:AND", ""),
    ],
)
def test_hint_says_how_to_write_a_filter_without_boolean_operators(text: str, hint: str) -> None:
    assert operator_hint(parse(text)) == hint


def test_similar_name_is_found_among_20_000_names() -> None:
    names = [f"team-{number}.service-{number % 97}" for number in range(20_000)] + ["payments.settle"]
    assert similar_names(["paymnets"], names) == ["payments.settle"]
    assert similar_names(["qqqq"], names) == []


def test_group_that_no_broker_lists_is_reported_as_not_existing() -> None:
    full = replace(sample(), brokers={1: ANSWERED}, access=FULL_ACCESS)
    assert why_not_listed(full, "xyz", str) == ["The broker lists no group xyz."]
    assert why_not_listed(full, "xyz", str, whole=False) == ["No group id contains xyz."]


def test_explanation_for_an_unlisted_group_mentions_the_silent_broker() -> None:
    partly = replace(sample(), brokers={1: ANSWERED, 2: SILENT}, access=FULL_ACCESS)
    assert why_not_listed(partly, "xyz", str) == [
        "1 of 2 brokers answered, and none lists group xyz.",
        "Broker 2 (two:9092) may have group xyz, but does not answer: no response in 5 s.",
    ]


def test_explanation_for_an_unlisted_group_has_the_missing_acl_operation() -> None:
    limited = replace(sample(), brokers={1: ANSWERED}, access=Access(frozenset({"CREATE"})))
    (first, _) = why_not_listed(limited, "xyz", str)
    assert "Ask for DESCRIBE on the group xyz or on the cluster." in first
    fault = Fault("GROUP_AUTHORIZATION_FAILED", "not authorized", 30, group="xyz")
    (first, _) = why_not_listed(limited, "xyz", str, fault=fault)
    assert first == "If xyz exists, it is hidden: you lack the ACL operation DESCRIBE on this group."


def test_explanation_for_a_deleted_group_has_the_time_of_deletion() -> None:
    events = (disappeared("xyz", 60.0, EMPTY), disappeared("other", 70.0, EMPTY))
    gone = replace(sample(), brokers={1: ANSWERED}, access=FULL_ACCESS, events=events)
    assert why_not_listed(gone, "xyz", str, gone_at=50.0)[:2] == [
        "xyz was deleted or expired at 50.0, as the recording shows.",
        "xyz was deleted or expired at 60.0.",
    ]
