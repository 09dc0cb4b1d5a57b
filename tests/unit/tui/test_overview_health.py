"""Tests of the verdict and the Health section of the Overview pane."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.model.health import EmptyPeriod, Loss, RebalanceRate, TimeLag
from kgtui.model.offsets import Position
from kgtui.model.series import Series
from kgtui.model.trail import Trail
from kgtui.tui import text
from kgtui.tui.panes.cells import ERROR, WARN
from kgtui.tui.panes.overview import verdict_fields
from kgtui.tui.panes.overview_health import health_fields
from tests.pilot.app_driver import sample_snapshot
from tests.pilot.health_snapshots import with_health

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.panes.cells import Field

GROUP = "payments.settle"


@pytest.fixture(autouse=True)
def _clock_at_midnight() -> Iterator[None]:
    text.use_display_settings(text.DisplaySettings(utc=True, now=lambda: 0.0))
    yield
    text.use_display_settings(text.DisplaySettings())


def snapshot_with(**fields: Any) -> Snapshot:
    snapshot = with_health(sample_snapshot(), GROUP, "well")
    return replace(snapshot, health={GROUP: replace(snapshot.health[GROUP], **fields)})


def fields_by_label(snapshot: Snapshot, series: Series | None = None) -> dict[str, Field]:
    found = (*verdict_fields(snapshot, GROUP), *health_fields(snapshot, GROUP, None, series))
    return {one.label: one for one in found}


def text_of(field: Field) -> str:
    return " ".join("".join(cell.text for line in field.lines for cell in line).split())


@pytest.mark.parametrize(
    ("fields", "label", "expected"),
    [
        ({"trend": -12.0, "trend_seconds": 90.0, "drain": 190.0}, "trend",
         "lag −12/s over the last 1 min 30 s caught up in about 3 min 10 s, 00:03"),
        ({"trend": 0.01, "trend_seconds": 90.0}, "trend", "steady over the last 1 min 30 s"),
        ({"time_lag": TimeLag(75.0)}, "time lag", "1 min 15 s age of the oldest unread record"),
        ({"time_lag": TimeLag(75.0, at_least=True)}, "time lag", "≥ 1 min 15 s age of the oldest unread record"),
        ({"time_lag": TimeLag(0.0)}, "time lag", "0 s no unread records"),
        ({"lost": 1_200}, "lost", "1,200 records expired before being read"),
        ({"loss": Loss("t", 3, 10_800.0, "log start", 12_000)}, "data loss",
         "in about 3 h unread records in t-3 the group is 12,000 records ahead of the log start"),
        ({"loss": Loss("t", 3, 10_800.0, "retention", None, at_most=True)}, "data loss",
         "in at most 3 h unread records in t-3"),
        ({"loss": Loss("t", 3, 4_684.0, "retention", None, at=4_684.0, exact=True)}, "data loss",
         "possible from 01:18:04 unread records in t-3"),
        ({"loss": Loss("t", 3, 1_440.0, "retention", None, at=1_440.0)}, "data loss",
         "in about 24 min, 00:24 unread records in t-3"),
        ({"loss": Loss("t", 3, 0.0, "size", None)}, "data loss",
         "possible at any time unread records in t-3 because retention.bytes is set"),
        ({"loss": None, "expiry_reason": "grant DESCRIBE_CONFIGS on the topic to this user"}, "data loss",
         "? grant DESCRIBE_CONFIGS on the topic to this user"),
        ({"time_lag": TimeLag(7_200.0, at_most=7_800.0, exact=True)}, "time lag",
         "2 h to 2 h 10 min age of the oldest unread record"),
        ({"time_lag": TimeLag(75.0, at_least=True, reason="the topic is compacted")}, "time lag",
         "≥ 1 min 15 s age of the oldest unread recordexact age not known: the topic is compacted"),
        ({"rebalances": RebalanceRate(2, 2, 2, 600.0)}, "rebalances", "2 in 10 min"),
        ({"rebalances": RebalanceRate(8, 8, 8, 600.0)}, "rebalances",
         "8 in 10 min the group is flapping: 48 rebalances per hour"),
        ({"holding_up": {"m1": 2, "m2": None}}, "held up by", "m1 2 epochs behind m2 has left"),
        ({"holding_up": {f"{GROUP}-m1": 1}}, "held up by", "client-1 1 epoch behind"),
        ({"holding_up": dict.fromkeys("abcde", 1)}, "held up by",
         "a 1 epoch behind b 1 epoch behind c 1 epoch behind and 2 more"),
        ({"empty": EmptyPeriod(300.0, at_least=True)}, "Empty for", "≥ 5 min"),
        ({"empty": EmptyPeriod(300.0, expires_in=86_400.0), "read_at": 0.0}, "Empty for",
         "5 min offsets may expire in 1 d, 1970-01-02 00:00"),
        ({"empty": EmptyPeriod(300.0, at_least=True, expires_in=7_200.0), "read_at": 0.0}, "Empty for",
         "≥ 5 min offsets may expire in at most 2 h, 02:00"),
    ],
)  # fmt: skip
def test_overview_shows_each_health_value_in_its_own_field(fields: dict[str, Any], label: str, expected: str) -> None:
    assert text_of(fields_by_label(snapshot_with(**fields))[label]) == expected


@pytest.mark.parametrize(
    "fields",
    [
        {"trend": None},
        {"time_lag": None},
        {"lost": None},
        {"lost": 0},
        {"loss": None},
        {"loss": Loss("t", 3, 4 * 86_400.0, "retention", None)},
        {"rebalances": RebalanceRate(0, 0, 0, 600.0)},
        {"holding_up": {}},
        {"empty": None},
        {"undecided": ()},
    ],
)
def test_overview_leaves_out_health_fields_without_a_value(fields: dict[str, Any]) -> None:
    """The pane also leaves out counts of 0, and a data loss that is expected more than three days from now."""
    nothing = {"trend": None, "time_lag": None, "lost": None, "rebalances": None}
    assert fields_by_label(snapshot_with(**(nothing | fields))).keys() == {"verdict"}


def test_overview_shows_urgent_health_fields_in_red_or_amber() -> None:
    found = fields_by_label(
        snapshot_with(loss=Loss("t", 3, 60.0, "log start", 5), rebalances=RebalanceRate(8, 8, 8, 600.0))
    )
    assert found["data loss"].lines[0][0].role == ERROR
    assert (
        fields_by_label(snapshot_with(loss=Loss("t", 3, 100_000.0, "log start", 5)))["data loss"].lines[0][0].role
        == WARN
    )
    assert found["rebalances"].lines[0][0].role == WARN


def test_overview_shows_how_long_ago_an_old_health_verdict_was_computed() -> None:
    found = fields_by_label(with_health(sample_snapshot(), GROUP, "stuck", ago=180.0))
    verdict = text_of(found["verdict"])
    assert verdict.startswith("✘ STOPPED since before ")
    assert "observed 2 min as of 3 min ago" in verdict


def test_overview_shows_time_of_last_progress_and_of_first_read() -> None:
    trail = Trail()
    for number, position in enumerate((5, 9, 9)):
        trail.add(1_759_999_000 + 60 * number, [Position(("t", 0), position, 20, 20 - position)])
    snapshot = with_health(sample_snapshot(), GROUP, "stuck")
    summary = replace(snapshot.summaries[GROUP], trail=trail.encode())
    snapshot_with_trail = replace(snapshot, summaries={**snapshot.summaries, GROUP: summary})
    assert "08:37" in text_of(fields_by_label(snapshot_with_trail)["progress"])
    live = replace(snapshot_with_trail, events_since=1_759_998_000)
    assert "first seen 2025-10-09 08:36" in text_of(fields_by_label(live)["progress"])
    assert "progress" not in fields_by_label(snapshot)


def test_overview_shows_a_lag_trend_computed_from_background_reads() -> None:
    trail = Trail()
    for number, position in enumerate((0, 100)):
        trail.add(1_759_999_000 + 10 * number, [Position(("t", 0), position, 600, 600 - position)])
    snapshot = sample_snapshot()
    summary = replace(snapshot.summaries[GROUP], lag=500, trail=trail.encode())
    found = fields_by_label(replace(snapshot, summaries={**snapshot.summaries, GROUP: summary}))
    assert text_of(found["trend"]).startswith("lag −10/s over the last 10 s caught up in about 50 s")
    assert "trend" not in fields_by_label(snapshot)


def test_overview_computes_lag_trend_only_if_health_data_has_none() -> None:
    series = Series()
    series.add(0.0, 100, 1)
    series.add(10.0, 50, 1)
    assert (
        text_of(fields_by_label(sample_snapshot(), series)["trend"])
        == "lag −5/s over the last 10 s caught up in about 10 s, 00:00"
    )
    found = fields_by_label(snapshot_with(trend=3.0, trend_seconds=60.0), series)
    assert text_of(found["trend"]) == "lag +3/s over the last 1 min"
