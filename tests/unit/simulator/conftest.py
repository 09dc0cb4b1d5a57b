"""A fixture with a simulated cluster whose clock stands still until a test advances it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.simulator import ManualClock, Simulator

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def cluster() -> AsyncIterator[Simulator]:
    """Yield a running cluster with three brokers of the newest Kafka release and the groups of scenario `company`."""
    async with Simulator(clock=ManualClock()) as simulator:
        yield simulator
