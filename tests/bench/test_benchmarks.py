"""Tests that every benchmark runs and yields results. It does not matter whether the results meet their targets."""

from __future__ import annotations

import pytest

from tests.bench import latency
from tests.bench.__main__ import BENCHES
from tests.bench.figures import Figure, percentile, table

EXPECTED = {
    "decode": "ListGroups",
    "black_hole": "does not respond, p99",
    "command_line": "ls --lag",
    "start": "first frame with groups",
    "screen": "nothing changes",
    "sweep": "every group is read",
    "problems": "not found",
    "record": "CPU time per poll",
    "replay": "one poll forward",
    "pipeline": "decode",
    "insights": "kgtui insights",
}
"""Name of each benchmark → text that must occur in the name of one of its results."""

MARKS = {
    "command_line": [pytest.mark.broker],
    "problems": [pytest.mark.broker, pytest.mark.full],
    "pipeline": [pytest.mark.full],
}
"""Name of a benchmark → pytest marks: `broker` if it starts a broker, `full` if it runs only with `--full`."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS.get(name, [])) for name in BENCHES])
@pytest.mark.timeout(900)  # The timeout is long, because Spark starts slowly on a busy machine.
def test_each_benchmark_runs_at_the_scale_tiny(name: str) -> None:
    figures = list(BENCHES[name]("tiny"))
    assert any(EXPECTED[name] in figure.name for figure in figures)
    assert all(figure.value >= 0 for figure in figures)
    assert any(figure.target is not None for figure in figures)


@pytest.mark.full
@pytest.mark.broker
@pytest.mark.timeout(900)
def test_the_latency_benchmark_yields_four_latencies_below_300_seconds() -> None:
    seconds = {figure.name: figure.value for figure in latency.figures(latency.TINY)}
    assert len(seconds) == 4
    assert all(0 < value < 300 for value in seconds.values())


def test_benchmark_misses_target_if_result_or_ratio_is_too_high() -> None:
    assert Figure("", 10, "ms", "that", 40, 1 / 3, of_ratio=True).met is True
    assert Figure("", 20, "ms", "that", 40, 1 / 3, of_ratio=True).met is False
    assert Figure("", 20, "ms", target=15).met is False
    assert Figure("", 20, "ms").met is None


def test_the_benchmark_table_marks_results_that_miss_their_target() -> None:
    lines = list(table([Figure("one", 250, "ms", "another", 100, 2, of_ratio=True), Figure("two", 1.5, "s", target=2)]))
    assert lines[1].split() == ["one", "250", "ms", "100", "ms", "2.5", "≤", "2×", "MISS", "another"]
    assert lines[2].split() == ["two", "1.5", "s", "≤", "2", "ok"]


def test_percentile_returns_one_of_the_given_values() -> None:
    assert percentile([float(number) for number in range(1, 101)], 0.98) == 99
    assert percentile([3.0], 0.99) == 3.0
