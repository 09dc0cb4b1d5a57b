"""Fixtures with simulated clusters whose clock stands still."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.simulator import ManualClock, Simulator

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def cluster() -> AsyncIterator[Simulator]:
    """A running cluster with the `company` scenario on three brokers of the newest release."""
    async with Simulator(clock=ManualClock()) as simulator:
        yield simulator
