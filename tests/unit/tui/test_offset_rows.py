"""Tests of the rows in the Offsets pane. The app is not started."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgtui.model.offsets import CommittedOffset, GroupOffsets, PartitionBounds
from kgtui.model.record_times import BY_SIZE, COMPACTED, RecordTime, TimeRange
from kgtui.tui import text as display
from kgtui.tui.panes import offset_bars, offset_rows
from kgtui.tui.panes.cells import (
    Cell,
)
from kgtui.tui.sparkline import scale_of
from tests.pilot.panes import data


def rows_of(offsets: GroupOffsets) -> list[offset_bars.OffsetRow]:
    return offset_rows.partition_rows(offsets, data.classic_group())


def test_offset_rows_show_lag_and_distance_to_data_loss_as_bars() -> None:
    """The full length of a lag bar stands for the largest lag of the group, rounded up.

    The lead bar shows how far the committed offset is from the log start, where records are deleted.
    """
    offsets = GroupOffsets(
        tuple(CommittedOffset("t", number, offset) for number, offset in enumerate((1_000, 500, 990, 100, 0, None))),
        bounds={("t", number): PartitionBounds(100, 1_000) for number in range(6)},
    )
    rows = rows_of(offsets)
    assert {row.scale for row in rows} == {1_000}
    columns = {column.id: column for column in offset_rows.offset_columns(share=False)}
    assert [columns["lag-bar"].cell(row).text for row in rows] == ["", "███", "▏", "█████▍", "██████", ""]
    leads = [columns["lead-bar"].cell(row) for row in rows]
    assert [cell.text for cell in leads] == ["████████", "███▌····", "███████▉", "········", "✘·······", ""]
    assert [cell.role for cell in leads] == ["kg-muted", "kg-muted", "kg-muted", "kg-warn", "kg-error", ""]
    by_lead = offset_rows.filter_and_sort(rows, "lead-bar", descending=False, lagging=False)
    assert [row.partition for row in by_lead] == [3, 4, 1, 2, 0, 5]
    display.use_display_settings(display.DisplaySettings(ascii=True))
    try:
        assert [columns["lag-bar"].cell(row).text for row in rows[:3]] == ["", "###", "#"]
        assert [columns["lead-bar"].cell(row).text for row in rows[1:5]] == [
            "####----", "########", "--------", "X-------",
        ]  # fmt: skip
    finally:
        display.use_display_settings(display.DisplaySettings())


@pytest.mark.parametrize(
    ("largest", "scale"), [(0, 0), (1, 1), (2, 2), (8, 10), (10, 10), (11, 15), (10_014, 15_000), (0.2, 0.2)]
)
def test_full_length_of_a_bar_stands_for_the_largest_value_rounded_up(largest: float, scale: float) -> None:
    assert scale_of(largest) == pytest.approx(scale)


def test_topic_row_shows_the_total_lag_of_its_partitions() -> None:
    rows = rows_of(data.classic_offsets())
    shown_rows = offset_rows.filter_and_sort(rows, "topic", descending=False, lagging=True)
    first = shown_rows[0]
    assert (first.topic, first.partition) == ("orders.created", -1)
    assert first.topic_total is not None
    assert (first.topic_total.lag, first.topic_total.partitions) == (6600, 12)
    assert len([row for row in shown_rows if row.topic == "orders.created"]) == 12, (
        "the partition without lag must be left out"
    )


def test_topic_with_one_partition_has_no_row_with_totals() -> None:
    shown_rows = offset_rows.filter_and_sort(rows_of(data.classic_offsets()), "topic", descending=False, lagging=False)
    assert [row.partition for row in shown_rows if row.topic == "secret.audit"] == [0]


def test_unknown_lag_is_sorted_last_in_both_directions() -> None:
    rows = rows_of(data.classic_offsets())
    down = [row.lag.lag for row in offset_rows.filter_and_sort(rows, "lag", descending=True, lagging=False) if row.lag]
    up = [row.lag.lag for row in offset_rows.filter_and_sort(rows, "lag", descending=False, lagging=False) if row.lag]
    assert down[0] == 1100
    assert up[0] == 0
    assert down[-4:] == up[-4:] == [None] * 4


@pytest.mark.parametrize(
    ("filter_text", "topics"),
    [
        ("PAID", {"orders.paid"}),
        ("orders.created-11", {"orders.created"}),
        ("forbid", {"secret.audit"}),
        ("orders-enrich", {"orders.created"}),
        ("nothing at all", set()),
    ],
)
def test_offsets_filter_searches_topic_partition_owner_and_note(filter_text: str, topics: set[str]) -> None:
    rows = rows_of(data.classic_offsets())
    found = offset_rows.filter_and_sort(rows, "lag", descending=True, lagging=False, filter_text=filter_text)
    assert {row.topic for row in found} == topics


def test_offset_row_shows_the_number_of_lost_records_and_a_lead_of_0() -> None:
    rows = offset_rows.partition_rows(data.consumer_offsets(), data.consumer_group())
    (lost,) = [row for row in rows if row.lost]
    columns = {column.id: column for column in offset_rows.offset_columns(share=False)}
    assert columns["note"].cell(lost) == Cell("! 500 lost", "kg-error")
    assert columns["lead"].cell(lost).text == "0"
    assert offset_rows.is_lagging(lost)


def test_offset_row_with_unknown_lag_has_a_note_with_the_reason() -> None:
    columns = {column.id: column for column in offset_rows.offset_columns(share=False)}
    found = {
        f"{row.topic}-{row.partition}": [
            columns[name].cell(row).text for name in ("committed", "log_end", "lag", "note")
        ]
        for row in rows_of(data.classic_offsets())
        if row.topic != "orders.created"
    }
    assert found == {
        "orders.late-0": ["5", "?", "?", "no leader"],
        "orders.paid-0": ["–", "500", "–", "no commit"],
        "orders.paid-1": ["77", "77", "0", ""],
        "orders.v1-0": ["12,345", "x", "x", "topic deleted"],
        "secret.audit-0": ["x", "x", "x", "forbidden"],
    }


def test_offset_row_shows_age_and_expiry_of_unread_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(display.display_settings(), "now", lambda: 10_000.0)
    monkeypatch.setattr(display.display_settings(), "utc", True)
    found = RecordTime(100, TimeRange(6_400.0, 6_400.0), expires_at=13_600.0)
    by_size = replace(found, expires_at=None, any_time=True, expiry_reason=BY_SIZE)
    times = [found, replace(found, offset=90), by_size, RecordTime(100, reason=COMPACTED), None]
    offsets = GroupOffsets(
        tuple(CommittedOffset("t", part, 100) for part in range(6)),
        bounds={("t", part): PartitionBounds(0, 100 + 10 * (part < 5)) for part in range(6)},
        record_times={("t", part): row for part, row in enumerate(times) if row is not None},
    )
    columns = {column.id: column for column in offset_rows.offset_columns(share=False)}
    rows = offset_rows.partition_rows(offsets, None)
    assert [(columns["age"].cell(row).text, columns["expires"].cell(row).text) for row in rows] == [
        ("1 h", "03:46:40"), ("≤ 1 h", ""), ("1 h", "any time"), ("?", "?"), ("", ""), ("", ""),
    ]  # fmt: skip
    assert columns["age"].full_cell(rows[0]).text == "1 h, first unread record written 1970-01-01 01:46:40"
    assert columns["expires"].full_cell(rows[0]).text.endswith("may expire from 1970-01-01 03:46:40")
    assert columns["expires"].full_cell(rows[2]).text == BY_SIZE
    assert columns["age"].full_cell(rows[3]).text == COMPACTED
    newest = offset_rows.filter_and_sort(rows, "age", descending=False, lagging=True)
    assert [row.partition for row in newest][:3] == [0, 1, 2]
    shown = {column.id for column in offset_rows.offset_columns(share=False, timed=False)}
    assert not shown & {"age", "expires"}


def test_lag_of_share_partition_without_start_offset_is_a_dash() -> None:
    rows = offset_rows.partition_rows(data.share_offsets(), data.share_group())
    columns = {column.id: column for column in offset_rows.offset_columns(share=True)}
    assert "metadata" not in columns
    assert [columns["lag"].cell(row).text for row in rows] == ["120", "?", "–"]
    assert [columns["committed"].cell(row).text for row in rows] == ["5,000", "5,100", "–"]
    assert rows[0].owner == "3 members"


def test_owner_of_a_streams_partition_is_the_member_with_the_active_task() -> None:
    rows = offset_rows.partition_rows(data.streams_offsets(), data.streams_group())
    assert [row.member_id for row in rows] == ["clicks-0-b0a4", "clicks-0-b0a4", "clicks-1-b0a4"]


def test_offsets_pane_shows_lag_0_if_committed_offset_equals_log_end_offset() -> None:
    offsets = GroupOffsets((CommittedOffset("t", 0, 5),), bounds={("t", 0): PartitionBounds(0, 5)})
    (row,) = offset_rows.partition_rows(offsets, None)
    columns = {column.id: column for column in offset_rows.offset_columns(share=False)}
    assert columns["lag"].cell(row).text == "0"
    assert not offset_rows.is_lagging(row)
