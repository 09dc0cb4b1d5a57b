"""Tests of the fields in the Overview pane. The app is not started."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.model.series import SeriesStore
from kgtui.tui import text as display
from kgtui.tui.panes.overview import overview_sections
from kgtui.tui.panes.overview_health import summarize_offsets
from tests.pilot.panes import data

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.model.snapshot import Snapshot


def overview_text(snapshot: Snapshot, group: str, label: str, *, series: SeriesStore | None = None) -> str:
    """Return the text of a field in the Overview pane, or an empty string if there is no such field.

    `series` contains the measured lags from which the field `trend` is computed.
    """
    reading = snapshot.offsets.get(group)
    offset_summary = summarize_offsets(reading.value) if reading is not None else None
    for section in overview_sections(snapshot, group, offset_summary, series=series):
        for one in section.fields:
            if one.label == label or (not one.label and section.title == label):
                return "\n".join("".join(cell.text for cell in line) for line in one.lines)
    return ""


def test_overview_shows_state_members_lag_and_kafka_command() -> None:
    snapshot = data.example_snapshot()
    assert overview_text(snapshot, "payments.settle", "state").startswith("↻ Reconciling")
    assert "10.0.0.3:9092" in overview_text(snapshot, "payments.settle", "coordinator")
    assert "2 members behind the assignment epoch" in overview_text(snapshot, "payments.settle", "epochs")
    assert "1 member still on the classic protocol" in overview_text(snapshot, "payments.settle", "members")
    assert overview_text(snapshot, "payments.settle", "total").startswith("6.5k")
    assert "500 records" in overview_text(snapshot, "payments.settle", "lost")
    assert overview_text(snapshot, "payments.settle", "unread") == "6.5k records"
    assert overview_text(snapshot, "payments.settle", "With Kafka's tools").startswith("kafka-consumer-groups.sh")


def test_overview_shows_permissions_or_the_reason_why_they_are_unknown() -> None:
    snapshot = data.example_snapshot()
    assert "delete" in overview_text(snapshot, "payments.settle", "Permissions")
    assert "this broker does not report permissions" in overview_text(snapshot, "orders.enrich", "Permissions")
    assert "DELETE not allowed" in overview_text(snapshot, "fraud.score", "Permissions")
    assert overview_text(snapshot, "secret.group", "Permissions") == "unknown (access denied)"
    assert overview_text(snapshot, "new.group", "Permissions") == "?  not read yet"


def test_overview_never_shows_an_unknown_lag_as_zero() -> None:
    snapshot = data.example_snapshot()
    assert overview_text(snapshot, "orders.enrich", "total").startswith("≥ 6.6k")
    assert overview_text(snapshot, "secret.group", "total") == "unknown (access denied)"
    assert overview_text(snapshot, "new.group", "total").startswith("?")
    assert overview_text(snapshot, "legacy.export", "total") == "0"


def test_overview_of_a_simple_group_shows_the_number_of_committed_offsets() -> None:
    snapshot = data.example_snapshot()
    assert "it commits offsets without members" in overview_text(snapshot, "legacy.export", "type")
    assert overview_text(snapshot, "legacy.export", "offsets") == "1  committed offsets in 1 topic"
    assert overview_text(snapshot, "legacy.export", "delete") == ""


@pytest.fixture
def clock_at_midnight() -> Iterator[None]:
    display.use_display_settings(display.DisplaySettings(utc=True, now=lambda: 0.0))
    yield
    display.use_display_settings(display.DisplaySettings())


@pytest.mark.usefixtures("clock_at_midnight")
def test_overview_of_falling_lag_shows_trend_and_catch_up_time() -> None:
    snapshot, series = data.example_snapshot(), SeriesStore()
    assert overview_text(snapshot, "payments.settle", "trend", series=series) == ""
    for second in range(11):
        series.add("payments.settle", 100.0 + second, 1_000 - 50 * second, 6)
    text = overview_text(snapshot, "payments.settle", "trend", series=series)
    assert text == "lag −50/s  over the last 10 s  caught up in about 10 s, 00:00"


def test_overview_of_growing_lag_shows_a_positive_trend() -> None:
    series = SeriesStore()
    for second in range(11):
        series.add("payments.settle", 100.0 + second, 7 * second, 6)
    assert overview_text(data.example_snapshot(), "payments.settle", "trend", series=series).startswith("lag +7/s")
