"""Tests of the functions that compute texts, columns and rows of the panes. The app is not started."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kgtui.model.answer import Fault
from kgtui.model.assignment import assignment_of
from kgtui.model.event import Event, EventKind
from kgtui.model.health import Watching, health_of
from kgtui.model.member_names import member_names
from kgtui.model.members import StreamsMember
from kgtui.model.offsets import CommittedOffset, GroupOffsets, PartitionBounds
from kgtui.model.record_times import BY_SIZE, COMPACTED, RecordTime, TimeRange
from kgtui.model.series import SeriesStore
from kgtui.model.snapshot import Reading, Snapshot
from kgtui.tui import text as display
from kgtui.tui.panes import offset_bars, offset_rows
from kgtui.tui.panes.assignment_rows import lag_by_item, placement_rows
from kgtui.tui.panes.assignments import grid_columns, grid_mark, grid_members, legend
from kgtui.tui.panes.base import awaited_text, reading_notices
from kgtui.tui.panes.cells import (
    Cell,
    SafeText,
    event_text,
    fit_text,
    format_partitions,
    format_ranges,
    no_value_cell,
    safe_text,
    wrap_cells,
)
from kgtui.tui.panes.columns import Column, column_at, fit_columns, preferred_width
from kgtui.tui.panes.config import config_rows
from kgtui.tui.panes.member_loads import member_loads
from kgtui.tui.panes.member_rows import (
    member_columns,
    member_restore_lag,
    member_rows,
    row_restore_lag,
)
from kgtui.tui.panes.members import members_summary
from kgtui.tui.panes.overview import overview_sections
from kgtui.tui.panes.overview_health import summarize_offsets
from kgtui.tui.sparkline import scale_of
from tests.pilot.panes import data
from tests.scripted import member
from tests.unit.model.health.reads import offsets, watch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.model.group import GroupDescription
    from kgtui.model.members import Member

COLUMNS: list[Column[tuple[str, int, str]]] = [
    Column("name", "NAME", lambda row: row[0], min_width=6, max_width=20),
    Column("count", "COUNT", lambda row: row[1], right=True),
    Column("note", "NOTE", lambda row: row[2], rank=1, min_width=6, max_width=30),
]


def overview_text(snapshot: Snapshot, group: str, label: str, *, series: SeriesStore | None = None) -> str:
    """Return the text of the field with this label in the Overview pane, or an empty text if there is no such field.

    `series` contains the lag samples from which the pane computes the lag trend.
    """
    reading = snapshot.offsets.get(group)
    offset_summary = summarize_offsets(reading.value) if reading is not None else None
    for section in overview_sections(snapshot, group, offset_summary, series=series):
        for one in section.fields:
            if one.label == label or (not one.label and section.title == label):
                return "\n".join("".join(cell.text for cell in line) for line in one.lines)
    return ""


def test_symbol_for_an_unknown_offset_depends_on_the_reason() -> None:
    marks = {reason: no_value_cell(reason).text for reason in ("no commit", "forbidden", "topic deleted", "not told")}
    assert marks == {"no commit": "–", "forbidden": "x", "topic deleted": "x", "not told": "?"}


def test_text_that_is_already_escaped_is_not_escaped_again() -> None:
    once = safe_text("a\x1bb\\nc")
    assert safe_text(once) == once == "a\\x1bb\\\\nc"
    assert fit_text(once, 100) == once
    assert cell_len(fit_text("x" * 32_000, 10)) == 10


@given(st.lists(st.text(max_size=40), max_size=6), st.integers(min_value=4, max_value=30))
def test_wrapped_table_cells_fit_the_width_and_keep_every_word(texts: list[str], width: int) -> None:
    lines = wrap_cells([Cell(text) for text in texts], width)
    for line in lines:
        assert cell_len("".join(cell.text for cell in line).rstrip()) <= width
    before = "".join("".join(safe_text(text) for text in texts).split())
    after = "".join("".join("".join(cell.text for cell in line) for line in lines).split())
    assert after == before


def test_wrapping_escapes_table_cells_and_marks_them_as_escaped() -> None:
    (line,) = wrap_cells([Cell("a\x1b")], 20)
    assert line[0].text == "a\\x1b"
    assert isinstance(line[0].text, SafeText)


def test_preferred_width_of_a_column_fits_its_widest_value_up_to_a_maximum() -> None:
    rows = [("ab", 1, ""), ("x" * 50, 1_234_567, "")]
    assert [preferred_width(column, rows) for column in COLUMNS] == [20, 9, 4]


def test_narrow_table_drops_the_least_important_columns_and_never_cuts_numbers() -> None:
    preferred = {"name": 20, "count": 9, "note": 10}
    assert [(column.id, width) for column, width in fit_columns(COLUMNS, preferred, 41)] == [
        ("name", 20), ("count", 9), ("note", 10),
    ]  # fmt: skip
    assert [(column.id, width) for column, width in fit_columns(COLUMNS, preferred, 24)] == [
        ("name", 7), ("count", 9), ("note", 6),
    ]  # fmt: skip
    assert [(column.id, width) for column, width in fit_columns(COLUMNS, preferred, 20)] == [("name", 10), ("count", 9)]


def test_function_column_at_returns_the_column_that_covers_a_terminal_cell() -> None:
    arranged = fit_columns(COLUMNS, {"name": 6, "count": 5, "note": 6}, 80)
    assert [column_at(arranged, x) for x in (0, 6, 7, 13, 19, 20)] == ["name", "name", "count", "note", "note", None]


def rows_of(offsets: GroupOffsets) -> list[offset_bars.OffsetRow]:
    return offset_rows.partition_rows(offsets, data.classic_group())


def test_offset_rows_show_lag_and_distance_to_data_loss_as_bars() -> None:
    """A full bar of the lag is the largest lag, rounded up. The bar of the lead is empty at the log start."""
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
def test_scale_of_bars_is_the_largest_value_rounded_up(largest: float, scale: float) -> None:
    assert scale_of(largest) == pytest.approx(scale)


def test_topic_row_in_the_offsets_pane_shows_the_total_lag_of_its_partitions() -> None:
    rows = rows_of(data.classic_offsets())
    shown_rows = offset_rows.filter_and_sort(rows, "topic", descending=False, lagging=True)
    first = shown_rows[0]
    assert (first.topic, first.partition) == ("orders.created", -1)
    assert first.topic_total is not None
    assert (first.topic_total.lag, first.topic_total.partitions) == (6600, 12)
    assert len([row for row in shown_rows if row.topic == "orders.created"]) == 12, (
        "the partition without lag must be left out"
    )


def test_offsets_of_a_topic_with_one_partition_have_no_total_row() -> None:
    shown_rows = offset_rows.filter_and_sort(rows_of(data.classic_offsets()), "topic", descending=False, lagging=False)
    assert [row.partition for row in shown_rows if row.topic == "secret.audit"] == [0]


def test_offset_rows_with_unknown_lag_are_last_in_both_sort_orders() -> None:
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


def test_offset_row_with_lost_records_has_a_note_and_a_lead_of_zero() -> None:
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


def test_offset_row_shows_the_age_and_expiry_of_its_first_unread_record(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_share_group_shows_missing_start_offset_and_unreported_lag_differently() -> None:
    rows = offset_rows.partition_rows(data.share_offsets(), data.share_group())
    columns = {column.id: column for column in offset_rows.offset_columns(share=True)}
    assert "metadata" not in columns
    assert [columns["lag"].cell(row).text for row in rows] == ["120", "?", "–"]
    assert [columns["committed"].cell(row).text for row in rows] == ["5,000", "5,100", "–"]
    assert rows[0].owner == "3 members"


def test_streams_partition_is_owned_by_the_member_with_its_active_task() -> None:
    rows = offset_rows.partition_rows(data.streams_offsets(), data.streams_group())
    assert [row.member_id for row in rows] == ["clicks-0-b0a4", "clicks-0-b0a4", "clicks-1-b0a4"]


def test_offsets_pane_shows_lag_0_if_committed_offset_equals_log_end_offset() -> None:
    offsets = GroupOffsets((CommittedOffset("t", 0, 5),), bounds={("t", 0): PartitionBounds(0, 5)})
    (row,) = offset_rows.partition_rows(offsets, None)
    columns = {column.id: column for column in offset_rows.offset_columns(share=False)}
    assert columns["lag"].cell(row).text == "0"
    assert not offset_rows.is_lagging(row)


def column_ids(description: GroupDescription) -> list[str]:
    return [column.id for column in member_columns(description)]


def test_member_columns_depend_on_group_type_and_protocol() -> None:
    assert column_ids(data.consumer_group())[:5] == ["name", "host", "assigned", "epoch", "protocol"]
    assert "epoch" not in column_ids(data.classic_group())
    assert column_ids(data.connect_group())[:4] == ["url", "leads", "connectors", "tasks"]
    assert column_ids(data.registry_group())[:3] == ["url", "leads", "eligible"]
    assert column_ids(data.streams_group())[:4] == ["process", "active", "standby", "warmup"]
    assert "undecoded" in column_ids(data.hostile_group())


def test_members_pane_shows_partitions_lag_and_rate_of_each_member_as_bars() -> None:
    """A member whose load is far above the average is highlighted, and so is a member without partitions."""
    members = (
        member("hot", client_id="a", assignment=(("t", (0, 1, 2, 3)),)),
        member("cold", client_id="b", assignment=(("t", (4,)),)),
        member("idle", client_id="c", assignment=(), target=()),
    )
    group = replace(data.consumer_group(), members=members)
    reads = [offsets(*((100 + 100 * step, 1_000) for _ in range(4)), (900 + 5 * step, 1_000)) for step in range(3)]
    health = health_of(watch(reads, watching=Watching()))
    rows = member_rows(group, loads=member_loads(group, reads[-1], health))
    columns = {column.id: column for column in member_columns(group, rows)}
    assert [columns["assigned"].cell(row) for row in rows] == [
        Cell("    4 ████", "kg-warn"), Cell("    1 █", "kg-accent"), Cell("    0 idle", "kg-warn"),
    ]  # fmt: skip
    assert [columns["lag"].cell(row).text for row in rows] == [" 2.8k ████▋", "   90 ▏", "    0"]
    assert [columns["rate"].cell(row).text for row in rows] == ["   80 ████", "    1 ▏", "    0"]
    without = member_columns(group, member_rows(group, loads=member_loads(group, None, None)))
    assert not {"lag", "rate"} & {column.id for column in without}


def test_lag_of_a_partition_with_several_owners_belongs_to_no_member() -> None:
    loads = member_loads(data.share_group(), data.share_offsets(), None)
    assert {load.lag.value for load in loads.values()} == {None}


def test_members_pane_lists_a_blocking_member_first_and_says_how_it_blocks() -> None:
    members = (
        member("a", client_id="a", epoch=7, assignment=(("t", (0,)),), target=(("t", (0,)),)),
        member("b", client_id="b", epoch=7, assignment=(), target=(("t", (1,)),)),
        member("c", client_id="c", epoch=6, assignment=(("t", (1, 2)),), target=(("t", (2,)),)),
    )
    group = replace(data.consumer_group(), members=members, group_epoch=7, assignment_epoch=7)
    assignment = assignment_of(group)
    assert assignment is not None
    rows = member_rows(group, assignment.blockers)
    assert [(row.member.member_id, row.holds_up) for row in rows] == [
        ("c", "must revoke 1, behind"), ("a", ""), ("b", ""),
    ]  # fmt: skip
    assert "holds" in [column.id for column in member_columns(group, rows)]
    assert "holds" not in [column.id for column in member_columns(group, member_rows(group))]


def test_members_with_the_same_client_id_have_different_names_in_the_members_pane() -> None:
    """The client id then has a column of its own, which a narrow screen leaves out."""
    members = (
        member("a-3fa8", client_id="billing", host="/10.0.3.7"),
        member("a-91cc", client_id="billing", host="/10.0.3.8"),
    )
    description = replace(data.consumer_group(), members=members)
    rows = member_rows(description)
    columns = {column.id: column for column in member_columns(description, rows)}
    assert [columns["name"].cell(row).text for row in rows] == ["billing@10.0.3.7", "billing@10.0.3.8"]
    assert [columns["client_id"].cell(row).text for row in rows] == ["billing", "billing"]
    alone = replace(description, members=members[:1])
    assert [row.name for row in member_rows(alone)] == ["billing"]
    assert "client_id" not in [column.id for column in member_columns(alone, member_rows(alone))]


def test_members_summary_counts_only_members_without_target_partitions_as_idle() -> None:
    assigned = member("a", assignment=(("t", (0, 1)),), target=(("t", (0,)),))
    waiting = member("b", assignment=(), target=(("t", (1,)),))
    idle = member("c", assignment=(), target=())

    def summary(*members: Member) -> str:
        lines = members_summary(replace(data.consumer_group(), members=members))
        return " ".join(cell.text for line in lines for cell in line)

    assert "idle" not in summary(assigned, waiting)
    assert "1 idle" in summary(assigned, waiting, idle)


def test_members_pane_highlights_classic_members_of_a_consumer_group() -> None:
    columns = {column.id: column for column in member_columns(data.consumer_group())}
    rows = {row.member.client_id: row for row in member_rows(data.consumer_group())}
    assert columns["protocol"].cell(rows["settle-4"]) == Cell("! classic", "kg-warn")
    assert "not upgraded" in columns["protocol"].full_cell(rows["settle-4"]).text
    assert columns["protocol"].cell(rows["settle-0"]) == Cell("consumer")


def test_epoch_column_of_members_marks_members_that_are_behind_or_have_left() -> None:
    columns = {column.id: column for column in member_columns(data.consumer_group())}
    rows = {row.member.client_id: row for row in member_rows(data.consumer_group())}
    assert columns["epoch"].cell(rows["settle-0"]).text == "40 < 41"
    assert columns["epoch"].cell(rows["settle-2"]).text == "41"
    left = replace(rows["settle-0"], member=replace(rows["settle-0"].member, epoch=-2))
    assert columns["epoch"].cell(left).text == "left"
    assert "assignment is kept" in columns["epoch"].full_cell(left).text


def test_row_of_a_streams_process_counts_the_tasks_of_all_its_threads() -> None:
    rows = member_rows(data.streams_group())
    columns = {column.id: column for column in member_columns(data.streams_group())}
    assert [bool(row.threads) for row in rows] == [True, False, False, True, False, False]
    assert [columns["active"].cell(row).text for row in rows] == ["3", "2", "1", "3", "2", "1"]
    assert columns["active"].full_cell(rows[0]).text == "0:0-1 0:2"
    assert len({row.key for row in rows}) == 6


def test_restore_lag_of_streams_tasks_is_unknown_until_offsets_are_reported() -> None:
    rows = member_rows(data.streams_group())
    assert [row_restore_lag(row) for row in rows] == [0, 0, None, 102_611, 12_400, 90_211]
    without_tasks = StreamsMember("p", 1, task_end_offsets=(("0", 0, 5),))
    assert member_restore_lag(without_tasks) == 0, "without standby and warm-up tasks there is nothing to restore"


def test_members_pane_shows_undecoded_member_metadata_as_hex() -> None:
    (row,) = member_rows(data.hostile_group())
    columns = {column.id: column for column in member_columns(data.hostile_group())}
    assert columns["undecoded"].cell(row).text.startswith("00 01 02 03")
    assert columns["undecoded"].cell(row).text.endswith("100 bytes")


@pytest.mark.parametrize(
    ("parts", "text"), [((), ""), ((3,), "3"), ((0, 1, 2, 5), "0-2,5"), ((5, 4, 1), "1,4-5"), ((0, 2, 4), "0,2,4")]
)
def test_consecutive_partition_numbers_are_formatted_as_ranges(parts: tuple[int, ...], text: str) -> None:
    assert format_ranges(parts) == text


def test_partitions_are_formatted_as_topic_name_and_ranges() -> None:
    assert format_partitions((("a", (0, 1)), ("b", (3,)))) == "a:0-1 b:3"


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


def test_overview_of_a_simple_group_says_which_data_a_deletion_would_lose() -> None:
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


def test_pane_with_current_data_has_no_notice() -> None:
    snapshot = data.example_snapshot()
    assert reading_notices(snapshot, "payments.settle", snapshot.details) == []


def test_pane_notice_about_old_data_shows_the_datas_age_and_the_reason() -> None:
    snapshot = data.example_snapshot()
    (line, advice) = reading_notices(snapshot, "stale.group", snapshot.details)
    text = "".join(cell.text for cell in line)
    assert "as of " in text
    assert "broker 4 did not answer" in text
    assert "network" in advice[1].text


def test_pane_notice_says_that_the_group_is_no_longer_listed() -> None:
    snapshot = replace(data.example_snapshot(), groups={})
    (line,) = reading_notices(snapshot, "payments.settle", snapshot.details)
    assert "no longer listed" in line[0].text


def test_pane_shows_a_placeholder_until_its_data_has_been_read() -> None:
    snapshot = data.example_snapshot()
    assert reading_notices(snapshot, "new.group", snapshot.details) == []
    assert awaited_text(snapshot, "new.group", snapshot.details, "members") == "reading members…"
    for group in ("payments.settle", "nowhere"):
        assert awaited_text(snapshot, group, snapshot.details, "members") == ""


def test_pane_notice_about_an_unsupported_request_has_no_error_color() -> None:
    snapshot = data.example_snapshot()
    fault = Fault("NOT_SUPPORTED", "reading group configs is not supported by this broker")
    configs = {"orders.enrich": Reading((), data.NOW, fault)}
    (line,) = reading_notices(snapshot, "orders.enrich", configs)
    assert line[0] == Cell("Reading group configs is not supported by this broker.", "kg-muted")


def test_configs_that_are_set_for_the_group_are_listed_before_other_configs() -> None:
    own = ["consumer.session.timeout.ms", "consumer.some.secret"]
    rows = config_rows(data.configs(), "consumer")
    assert [row.config.name for row in rows] == [*own, "consumer.heartbeat.interval.ms"]
    assert [row.config.name for row in config_rows(data.configs(), "classic")] == own, "classic groups have no configs"
    assert len(config_rows(data.configs(), None)) == len(data.configs()), "the type of the group is not known"


def test_text_of_an_event_has_no_control_characters_and_a_displayable_arrow() -> None:
    event = Event(1.0, EventKind.CONFIG, "g", None, "evil\x1b[31m", "5", "share.name")
    assert event_text(event) == "share.name: evil\\x1b[31m → 5"
    display.use_display_settings(display.DisplaySettings(ascii=True))
    try:
        assert event_text(event) == "share.name: evil\\x1b[31m -> 5"
    finally:
        display.use_display_settings(display.DisplaySettings())


def test_grid_shows_the_lag_of_owned_partitions_by_symbol_and_color() -> None:
    """Partitions without lag have another symbol than partitions with lag, so that no color is needed."""
    group = replace(data.classic_group(), members=(member("a", assignment=(("t", (0, 1, 2, 3)),)),))
    read = offsets((100, 100), (90, 100), (450, 1_000), (0, 1_000))
    assignment = assignment_of(group, read)
    assert assignment is not None
    names, lag_of = member_names(group.members or ()), lag_by_item(group, read)
    (column,) = grid_members(assignment, names)
    rows = placement_rows(assignment, names, unsettled=False, lag_of=lag_of)
    assert [grid_mark(column, row) for row in rows] == [
        Cell("▪", "kg-ok"), Cell("▁", "kg-accent"), Cell("▅", "kg-warn"), Cell("█", "kg-warn"),
    ]  # fmt: skip
    meaning = "".join(cell.text for cell in legend(assignment, [column], 0, 0, 1, rows[0].scale))
    assert "▁ owns, with lag  █ up to 1k" in meaning
    columns, _ = grid_columns(rows, [column], 0, 70)
    assert columns[1].full_cell(rows[2]).text.endswith("settled, lag 550")
    display.use_display_settings(display.DisplaySettings(ascii=True))
    try:
        assert [grid_mark(column, row).text for row in rows] == ["#", "1", "5", "8"]
    finally:
        display.use_display_settings(display.DisplaySettings())
    without = placement_rows(assignment, names, unsettled=False)
    assert {grid_mark(column, row).text for row in without} == {"▪"}
    assert "lag" not in "".join(cell.text for cell in legend(assignment, [column], 0, 0, 1))


def test_lag_of_a_streams_task_is_the_sum_over_its_partitions() -> None:
    lag_of = lag_by_item(data.streams_group(), data.streams_offsets())
    tasks = {(item.name, item.number): lag for item, lag in lag_of.items() if item.role == "active"}
    assert tasks == {("0", 0): 500, ("0", 1): 499, ("0", 2): 498}
