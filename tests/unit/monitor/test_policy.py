"""Tests of the polling policy of the terminal UI."""

from __future__ import annotations

import pytest

from kgtui.model.snapshot import BrokerStatus
from kgtui.monitor.policy import answered_since

POLLED = BrokerStatus(1, "one:9092", answered_at=1_000.0, answered_since=400.0, interval=20.0)


@pytest.mark.parametrize(("now", "expected"), [(1_060.0, 400.0), (1_061.0, 1_061.0), (990.0, 990.0)])
def test_broker_counts_as_responding_only_since_the_end_of_the_last_gap(now: float, expected: float) -> None:
    """With an interval of 20 s, more than 60 s without a response are a gap. So is a clock that was set back."""
    assert answered_since(POLLED, now) == expected


def test_broker_counts_as_responding_since_its_first_response() -> None:
    assert answered_since(None, 7.0) == 7.0
    assert answered_since(BrokerStatus(1, "one:9092"), 7.0) == 7.0
