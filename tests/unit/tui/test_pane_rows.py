"""Tests of functions that create texts and table rows for the panes. The app is not started."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from kgtui.model.answer import Fault
from kgtui.model.assignment import assignment_of
from kgtui.model.event import Event, EventKind
from kgtui.model.member_names import member_names
from kgtui.model.snapshot import Reading
from kgtui.tui import text as display
from kgtui.tui.panes.assignment_grid import grid_columns, grid_mark, grid_members, legend
from kgtui.tui.panes.assignment_rows import lag_by_item, placement_rows
from kgtui.tui.panes.base import awaited_text, reading_notices
from kgtui.tui.panes.cells import (
    Cell,
    event_text,
    fit_text,
    format_partitions,
    format_ranges,
    no_value_cell,
    safe_text,
)
from kgtui.tui.panes.config import config_rows
from tests.pilot.panes import data
from tests.scripted import member
from tests.unit.model.health.reads import offsets


def test_symbol_for_an_unknown_offset_depends_on_the_reason() -> None:
    marks = {reason: no_value_cell(reason).text for reason in ("no commit", "forbidden", "topic deleted", "not told")}
    assert marks == {"no commit": "–", "forbidden": "x", "topic deleted": "x", "not told": "?"}


def test_text_that_is_already_escaped_is_not_escaped_again() -> None:
    once = safe_text("a\x1bb\\nc")
    assert safe_text(once) == once == "a\\x1bb\\\\nc"
    assert fit_text(once, 100) == once
    assert cell_len(fit_text("x" * 32_000, 10)) == 10


@pytest.mark.parametrize(
    ("parts", "text"), [((), ""), ((3,), "3"), ((0, 1, 2, 5), "0-2,5"), ((5, 4, 1), "1,4-5"), ((0, 2, 4), "0,2,4")]
)
def test_consecutive_partition_numbers_are_formatted_as_ranges(parts: tuple[int, ...], text: str) -> None:
    assert format_ranges(parts) == text


def test_partitions_are_formatted_as_topic_name_and_ranges() -> None:
    assert format_partitions((("a", (0, 1)), ("b", (3,)))) == "a:0-1 b:3"


def test_pane_with_up_to_date_data_has_no_notice() -> None:
    snapshot = data.example_snapshot()
    assert reading_notices(snapshot, "payments.settle", snapshot.details) == []


def test_pane_notice_about_old_data_shows_age_and_reason() -> None:
    snapshot = data.example_snapshot()
    (line, advice) = reading_notices(snapshot, "stale.group", snapshot.details)
    text = "".join(cell.text for cell in line)
    assert "as of " in text
    assert "broker 4 did not answer" in text
    assert "network" in advice[1].text


def test_pane_says_that_the_brokers_no_longer_list_the_group() -> None:
    snapshot = replace(data.example_snapshot(), groups={})
    (line,) = reading_notices(snapshot, "payments.settle", snapshot.details)
    assert "no longer listed" in line[0].text


def test_pane_shows_a_placeholder_until_the_group_has_been_read() -> None:
    snapshot = data.example_snapshot()
    assert reading_notices(snapshot, "new.group", snapshot.details) == []
    assert awaited_text(snapshot, "new.group", snapshot.details, "members") == "reading members…"
    for group in ("payments.settle", "nowhere"):
        assert awaited_text(snapshot, group, snapshot.details, "members") == ""


def test_message_about_an_unsupported_request_has_no_error_color() -> None:
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


def test_event_text_is_escaped_and_has_an_ascii_arrow_in_ascii_mode() -> None:
    event = Event(1.0, EventKind.CONFIG, "g", None, "evil\x1b[31m", "5", "share.name")
    assert event_text(event) == "share.name: evil\\x1b[31m → 5"
    display.use_display_settings(display.DisplaySettings(ascii=True))
    try:
        assert event_text(event) == "share.name: evil\\x1b[31m -> 5"
    finally:
        display.use_display_settings(display.DisplaySettings())


def test_assignment_grid_shows_the_lag_of_partitions_by_symbol_and_color() -> None:
    """Each cell of the grid has a symbol for the lag of one partition, so that the lag is visible without colors."""
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
    assert "▪ no lag  ▁…█ lag, up to 1k" in meaning
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


def test_lag_of_a_streams_task_is_the_sum_of_its_partition_lags() -> None:
    lag_of = lag_by_item(data.streams_group(), data.streams_offsets())
    tasks = {(item.name, item.number): lag for item, lag in lag_of.items() if item.role == "active"}
    assert tasks == {("0", 0): 500, ("0", 1): 499, ("0", 2): 498}
