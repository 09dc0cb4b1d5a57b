"""The arithmetic that carries measured rates to a large cluster."""

from __future__ import annotations

from tests.bench import scale


def run(records: int, bronze: float, silver: float, gold: float) -> dict[str, object]:
    seconds = {"bronze": bronze, "silver": silver, "gold": gold}
    return {"records": records, "seconds": seconds, "bytes": {"bronze": records * 30, "silver": records * 20}}


def test_what_every_run_costs_once_is_not_counted() -> None:
    found = {step.name: step for step in scale.steps(2, run(10**6, 11, 13, 20), run(3 * 10**6, 13, 17, 21))}
    assert {name: step.micros for name, step in found.items()} == {"bronze": 2.0, "silver": 4.0, "gold": 1.0}
    assert scale.RECORDS_PER_SECOND == 200_000
    assert found["silver"].cores == 0.8
    assert found["silver"].needed == 2
    assert round(found["bronze"].day) == 518
    assert found["gold"].stored == 0


def test_a_line_tells_each_step() -> None:
    lines = {figure.name: figure.ours for figure in scale.figures(scale.steps(2, run(1, 0, 0, 0), run(10**6, 1, 2, 3)))}
    assert any("bronze, cores busy" in name for name in lines)
    assert any("core-hours" in name or "gold" in name for name in lines)
