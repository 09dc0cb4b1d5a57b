"""Tests of the judgment that follows from the exact health verdict on a group."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgtui.model.health import health_of
from kgtui.model.health.judged import _problems_of
from tests.unit.model.health.reads import offsets, watch


@pytest.mark.parametrize(("observed_before", "seen"), [(3.0, False), (30.0, True)])
def test_a_stop_has_an_observed_beginning_only_if_progress_was_observed(observed_before: float, seen: bool) -> None:
    """On a busy machine, the offsets are first read some seconds after the observation began."""
    health = health_of(watch([offsets((1000, 1100 + 10 * number)) for number in range(12)]))
    assert health.worst is not None
    (judgment,) = _problems_of(replace(health, seconds=health.worst.still + observed_before), None)
    assert judgment.since_seen is seen
