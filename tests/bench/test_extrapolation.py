"""Tests of the extrapolation: the cost per record from two pipeline runs, and the load of a large cluster."""

from __future__ import annotations

from tests.bench import extrapolation


def run(records: int, bronze: float, silver: float, gold: float) -> dict[str, object]:
    """Return the result of a run with `records` records. The other arguments are each layer's duration in seconds."""
    seconds = {"bronze": bronze, "silver": silver, "gold": gold}
    return {"records": records, "seconds": seconds, "bytes": {"bronze": records * 30, "silver": records * 20}}


def test_the_cost_per_record_excludes_the_fixed_cost_of_a_run() -> None:
    costs = extrapolation.layer_costs(2, run(10**6, 11, 13, 20), run(3 * 10**6, 13, 17, 21))
    layers = {layer.name: layer for layer in costs}
    assert {name: layer.micros for name, layer in layers.items()} == {"bronze": 2.0, "silver": 4.0, "gold": 1.0}
    assert extrapolation.RECORDS_PER_SECOND == 200_000
    assert layers["silver"].cores == 0.8
    assert layers["silver"].cores_needed == 2
    assert round(layers["bronze"].gigabytes_per_day) == 518
    assert layers["gold"].stored == 0


def test_the_extrapolation_yields_results_for_the_bronze_job_and_the_gold_job() -> None:
    costs = extrapolation.layer_costs(2, run(1, 0, 0, 0), run(10**6, 1, 2, 3))
    names = [figure.name for figure in extrapolation.figures(costs)]
    assert any("cores that the bronze job keeps busy" in name for name in names)
    assert any("gold" in name for name in names)
