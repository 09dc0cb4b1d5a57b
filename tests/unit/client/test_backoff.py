"""Tests of `Backoff`, which computes growing pauses, and of two functions that run other functions concurrently.

These two functions are `first_success` and `all_of`.
"""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from kgtui.client.backoff import Backoff
from kgtui.client.concurrency import AllFailedError, all_of, first_success
from kgtui.errors import ConnectError, DecodeError, KgtuiError


def test_backoff_pause_doubles_up_to_a_limit_and_is_reset_after_success() -> None:
    now = 100.0
    backoff = Backoff(0.1, 1.0, clock=lambda: now, chance=lambda: 0.5)
    assert backoff.remaining() == 0
    assert [round(backoff.failed(), 6) for _ in range(6)] == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert backoff.remaining() == pytest.approx(1.0)
    now = 100.4
    assert backoff.remaining() == pytest.approx(0.6)
    now = 102.0
    assert backoff.remaining() == 0
    backoff.succeeded()
    assert (backoff.failures, round(backoff.failed(), 6)) == (0, 0.1)


def test_jitter_changes_the_backoff_pause_by_up_to_20_percent() -> None:
    assert Backoff(1, 9, chance=lambda: 0.0).failed() == pytest.approx(0.8)
    assert Backoff(1, 9, chance=lambda: 1.0).failed() == pytest.approx(1.2)
    pauses = {Backoff(1, 9).failed() for _ in range(20)}
    assert len(pauses) > 1
    assert all(0.8 <= pause <= 1.2 for pause in pauses)


def test_backoff_pause_does_not_overflow_after_two_thousand_failures() -> None:
    backoff = Backoff(0.1, 5.0, chance=lambda: 0.5)
    assert [backoff.failed() for _ in range(2000)][-1] == 5.0


class Runners:
    """Functions for `first_success`: `answer` succeeds, `fail` raises an error, and `hang` never returns.

    `started` contains the argument `number` of each call that was started, and `canceled` of each canceled call.
    """

    def __init__(self) -> None:
        self.started: list[int] = []
        self.canceled: list[int] = []

    async def answer(self, number: int) -> int:
        self.started.append(number)
        return number

    async def fail(self, number: int) -> int:
        self.started.append(number)
        raise ConnectError(f"{number} failed")

    async def hang(self, number: int) -> int:
        self.started.append(number)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.canceled.append(number)
            raise
        raise AssertionError


async def test_first_success_starts_the_next_function_after_failure_or_delay() -> None:
    """Function 1 fails, so function 2 starts immediately. Function 2 hangs, so function 3 starts after a delay.

    The delay is `head_start` seconds.
    """
    asked = Runners()
    runners = [partial(asked.fail, 1), partial(asked.hang, 2), partial(asked.answer, 3), partial(asked.answer, 4)]
    assert await first_success(runners, head_start=0.01, expected=(ConnectError,)) == 3
    assert (asked.started, asked.canceled) == ([1, 2, 3], [2])


async def test_first_success_without_a_delay_starts_all_functions_immediately() -> None:
    asked = Runners()
    runners = [partial(asked.hang, 1), partial(asked.fail, 2), partial(asked.answer, 3)]
    assert await first_success(runners, head_start=0, expected=(ConnectError,)) == 3
    assert (asked.started, asked.canceled) == ([1, 2, 3], [1])


async def test_first_success_raises_all_errors_in_order_if_every_function_fails() -> None:
    asked = Runners()
    runners = [partial(asked.fail, number) for number in range(4)]
    with pytest.raises(AllFailedError) as caught:
        await first_success(runners, head_start=0, expected=(ConnectError,))
    assert [str(error) for error in caught.value.errors] == [f"{number} failed" for number in range(4)]
    with pytest.raises(AllFailedError):
        await first_success(list[partial[asyncio.Future[int]]](), head_start=0, expected=(ConnectError,))


async def test_first_success_raises_an_unexpected_error_and_cancels_other_functions() -> None:
    asked = Runners()
    with pytest.raises(ConnectError):
        await first_success([partial(asked.hang, 1), partial(asked.fail, 2)], head_start=0, expected=(DecodeError,))
    assert asked.canceled == [1]


async def test_first_success_passes_later_results_to_the_discard_callback() -> None:
    asked = Runners()
    left: list[int] = []
    runners = [partial(asked.answer, 1), partial(asked.answer, 2)]
    first = await first_success(runners, head_start=0, expected=(ConnectError,), discard=left.append)
    assert sorted([first, *left]) == [1, 2]


async def test_canceling_first_success_cancels_all_of_its_functions() -> None:
    asked = Runners()
    runners = [partial(asked.hang, number) for number in (1, 2)]
    task = asyncio.create_task(first_success(runners, head_start=0, expected=(KgtuiError,)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(asked.canceled) == [1, 2]


async def test_function_all_of_returns_results_in_order_or_raises_the_first_error() -> None:
    asked = Runners()
    assert await all_of(asked.answer(number) for number in (3, 1, 2)) == [3, 1, 2]
    with pytest.raises(ConnectError, match="2 failed"):
        await all_of([asked.hang(1), asked.fail(2)])
    assert asked.canceled == [1]
