"""Every benchmark runs and prints its figures; how long things take is not judged here."""

from __future__ import annotations

import pytest

from tests.bench import latency
from tests.bench.__main__ import BENCHES
from tests.bench.figures import Figure, percentile, table

EXPECTED = {
    "decode": "ListGroups",
    "black_hole": "black hole, p99",
    "command_line": "ls --lag",
    "start": "first useful frame",
    "screen": "nothing changes",
    "record": "CPU a poll",
    "replay": "one step on",
    "pipeline": "decode",
}


MARKS = {"command_line": [pytest.mark.broker], "pipeline": [pytest.mark.full]}
"""A broker is shared; the pipeline's takes a minute of all cores, since it starts a Spark of its own."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS.get(name, [])) for name in BENCHES])
@pytest.mark.timeout(900)  # the pipeline's starts Spark
def test_a_benchmark_runs_at_a_tiny_size(name: str) -> None:
    figures = list(BENCHES[name]("tiny"))
    assert any(EXPECTED[name] in figure.name for figure in figures)
    assert all(figure.ours >= 0 for figure in figures)
    assert any(figure.aim is not None for figure in figures)


@pytest.mark.full
@pytest.mark.broker
@pytest.mark.timeout(900)
def test_commits_are_timed_on_their_way_into_gold() -> None:
    found = {figure.name: figure.ours for figure in latency.figures(latency.TINY)}
    assert len(found) == 4
    assert all(0 < seconds < 300 for seconds in found.values())


def test_a_figure_is_judged_by_its_ratio_or_by_itself() -> None:
    assert Figure("", 10, "ms", "that", 40, 1 / 3, of_ratio=True).met is True
    assert Figure("", 20, "ms", "that", 40, 1 / 3, of_ratio=True).met is False
    assert Figure("", 20, "ms", aim=15).met is False
    assert Figure("", 20, "ms").met is None


def test_the_table_says_what_misses() -> None:
    lines = list(table([Figure("one", 250, "ms", "another", 100, 2, of_ratio=True), Figure("two", 1.5, "s", aim=2)]))
    assert lines[1].split() == ["one", "250", "ms", "100", "ms", "2.5", "≤", "2×", "MISS", "another"]
    assert lines[2].split() == ["two", "1.5", "s", "≤", "2", "ok"]


def test_a_percentile_is_one_of_the_values() -> None:
    assert percentile([float(number) for number in range(1, 101)], 0.98) == 99
    assert percentile([3.0], 0.99) == 3.0
