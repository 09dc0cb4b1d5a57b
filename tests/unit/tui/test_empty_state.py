"""Tests of the text that is shown in place of the tree while the tree has no groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.model.access import Access
from kgtui.model.cluster import ClusterInfo
from kgtui.model.event import disappeared
from kgtui.model.group import Listing
from kgtui.model.query import parse
from kgtui.model.snapshot import BrokerStatus, Snapshot
from kgtui.tui.session import ClusterLabel
from kgtui.tui.text import DisplaySettings, use_display_settings
from kgtui.tui.widgets.empty_state import empty_state

if TYPE_CHECKING:
    from collections.abc import Iterator


def first_line(*brokers: BrokerStatus) -> str:
    snapshot = Snapshot(1, 1000.0, ClusterInfo("test"), brokers={broker.node: broker for broker in brokers})
    paragraphs = empty_state(snapshot, ClusterLabel("test"), query=None, interval=2.0)
    assert paragraphs is not None
    return paragraphs[0][0]


@pytest.mark.parametrize(
    ("count", "expected"), [(1, "Reading the groups of 1 broker…"), (3, "Reading the groups of 3 brokers…")]
)
def test_empty_tree_says_from_how_many_brokers_kgtui_reads_groups(count: int, expected: str) -> None:
    assert first_line(*[BrokerStatus(node, "b:9092") for node in range(count)]) == expected


def test_tree_of_a_cluster_without_groups_says_how_many_brokers_responded() -> None:
    empty, silent = BrokerStatus(1, "a:9092", answered_at=999.0, groups=0), BrokerStatus(2, "b:9092")
    assert first_line(empty) == "The broker answers, but there is no group that this user is allowed to see."
    assert first_line(empty, silent) == (
        "1 of 2 brokers answers, but there is no group that this user is allowed to see."
    )


@pytest.mark.parametrize("any_topic", [True, False])
def test_empty_tree_says_lags_are_minimums_if_topics_may_be_forbidden(any_topic: bool) -> None:
    """The filter `lag:1+` matches no group, but a group could have lag in a topic that is forbidden to the user."""
    listing = Listing("consumer", "consumer", "Empty", 1)
    snapshot = Snapshot(1, 1000.0, ClusterInfo("test"), {"a": listing}, access=Access(any_topic=any_topic))
    lines = empty_state(snapshot, ClusterLabel("test"), query=parse("lag:1+"), interval=2.0)
    assert lines is not None
    assert any("each lag is a lower bound" in line for line, _ in lines) == (not any_topic)


@pytest.fixture
def _utc() -> Iterator[None]:
    use_display_settings(DisplaySettings(utc=True))
    yield
    use_display_settings(DisplaySettings())


@pytest.mark.usefixtures("_utc")
def test_empty_tree_mentions_the_last_deleted_groups_that_match_the_filter() -> None:
    """At most three groups are mentioned. A group that exists again or does not match the filter is left out.

    Without a filter, no group is mentioned.
    """
    listing = Listing("consumer", "consumer", "Empty", 1)
    names = ["orders.a", "orders.b", "orders.c", "orders.d", "orders.back", "billing", "orders.d"]
    events = [disappeared(name, 1_000.0 + 60 * number, listing) for number, name in enumerate(names)]
    snapshot = Snapshot(1, 2_000.0, ClusterInfo("test"), {"orders.back": listing}, events=tuple(events))

    def gone(filter_text: str) -> list[str]:
        lines = empty_state(snapshot, ClusterLabel("test"), interval=2.0, query=parse(filter_text))
        assert lines is not None
        return [line for line, _ in lines if "deleted or expired" in line]

    assert gone("orders state:empty") == [
        "orders.d: deleted or expired at 00:22:40",
        "orders.c: deleted or expired at 00:18:40",
        "orders.b: deleted or expired at 00:17:40",
    ]
    assert gone("type:share") == gone("fault:yes") == gone("") == []
