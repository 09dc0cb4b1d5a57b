"""Tests of the text in place of an empty tree."""

from __future__ import annotations

import pytest

from kgtui.model.access import Access
from kgtui.model.cluster import ClusterInfo
from kgtui.model.group import Listing
from kgtui.model.snapshot import BrokerStatus, Snapshot
from kgtui.tui.session import Target
from kgtui.tui.widgets.empty_state import empty_state


def first_line(*brokers: BrokerStatus) -> str:
    snapshot = Snapshot(1, 1000.0, ClusterInfo("test"), brokers={broker.node: broker for broker in brokers})
    paragraphs = empty_state(snapshot, Target("test"), filtered_out=False, interval=2.0)
    assert paragraphs is not None
    return paragraphs[0][0]


@pytest.mark.parametrize(
    ("count", "expected"), [(1, "Reading the groups of 1 broker…"), (3, "Reading the groups of 3 brokers…")]
)
def test_tree_without_groups_shows_the_number_of_brokers_while_connecting(count: int, expected: str) -> None:
    assert first_line(*[BrokerStatus(node, "b:9092") for node in range(count)]) == expected


def test_tree_of_a_cluster_without_groups_says_how_many_brokers_responded() -> None:
    empty, silent = BrokerStatus(1, "a:9092", answered_at=999.0, groups=0), BrokerStatus(2, "b:9092")
    assert first_line(empty) == "The broker answers, but there is no group that this user may see."
    assert first_line(empty, silent) == "1 of 2 brokers answers, but there is no group that this user may see."


@pytest.mark.parametrize("any_topic", [True, False])
def test_empty_tree_says_why_filters_on_the_lag_select_few_groups(any_topic: bool) -> None:
    listing = Listing("consumer", "consumer", "Empty", 1)
    snapshot = Snapshot(1, 1000.0, ClusterInfo("test"), {"a": listing}, access=Access(any_topic=any_topic))
    lines = empty_state(snapshot, Target("test"), filtered_out=True, interval=2.0)
    assert lines is not None
    assert any("each lag is a lower bound" in line for line, _ in lines) == (not any_topic)
