"""Test of the decorator `longer_if_busy`, which runs a failed test again with a longer timeout."""

from __future__ import annotations

import inspect

import pytest

from tests.event_loop import longer_if_busy


async def test_decorator_longer_if_busy_repeats_a_failed_test() -> None:
    timeouts = []

    @longer_if_busy(0.5)
    async def test(limit: float, timeout: float) -> None:
        timeouts.append(timeout)
        if timeout < 1:
            pytest.fail("too short")
        assert timeout > limit

    assert list(inspect.signature(test).parameters) == ["limit"]
    await test(limit=2)
    assert timeouts == [0.5, 3.0]
    await test(limit=10)
    assert timeouts[2:] == [0.5, 3.0, 18.0]
    with pytest.raises(AssertionError):
        await test(limit=20)
    assert timeouts[5:] == [0.5, 3.0, 18.0]
