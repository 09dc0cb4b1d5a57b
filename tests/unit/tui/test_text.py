"""Tests of functions that format ids, numbers, durations and times for the screen."""

from __future__ import annotations

from datetime import timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kgtui.model.group_types import STATES
from kgtui.model.health.wording import local_clock
from kgtui.model.marks import ASCII, UNICODE, Marks
from kgtui.model.rfc3339 import rfc3339
from kgtui.model.text import visible
from kgtui.tui import text

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def fixed_settings() -> Iterator[text.DisplaySettings]:
    settings = text.DisplaySettings(now=lambda: 1_000.0, zone=timezone(timedelta(hours=5, minutes=30)))
    text.use_display_settings(settings)
    yield settings
    text.use_display_settings(text.DisplaySettings())


@given(st.text(max_size=300), st.integers(0, 60), st.sampled_from(["end", "middle"]))
def test_text_for_the_terminal_has_no_control_characters_and_fits_the_width(
    value: str, width: int, cut: text.Cut
) -> None:
    shown = text.plain(value, width, cut=cut)
    assert cell_len(shown) <= width
    assert "\x1b" not in shown
    assert "\n" not in shown


@given(st.text(max_size=80), st.integers(1, 40), st.booleans())
def test_padded_text_has_exactly_the_requested_width(value: str, width: int, right: bool) -> None:
    assert cell_len(text.pad(text.plain(value), width, right=right)) == width


def test_markup_in_table_cells_is_shown_as_plain_text() -> None:
    cell = text.cell("[bold red]x[/]")
    assert cell.plain == "[bold red]x[/]"
    assert not cell.spans
    assert text.label("[b]", text.cell("[/b]"), ("[i]", "bold")).plain == "[b][/b][i]"


def test_long_ids_are_shortened_at_the_end_or_in_the_middle() -> None:
    assert text.plain("a" * 32_000, 9, cut="middle") == "aaaa…aaaa"
    assert text.plain("a" * 32_000, 5) == "aaaa…"
    wide = "\u65e5" * 20
    assert cell_len(text.plain(wide, 8, cut="middle")) <= 8


def test_ascii_mode_escapes_all_characters_outside_ascii(fixed_settings: text.DisplaySettings) -> None:
    fixed_settings.ascii = True
    assert text.plain("caf\u00e9 \u65e5") == "caf\\xe9 \\u65e5"
    assert text.plain("abcdef", 4) == "abc~"
    assert all(getattr(ASCII, name).isascii() for name in Marks.__slots__)


@pytest.mark.parametrize("marks", [UNICODE, ASCII])
def test_each_symbol_is_one_terminal_cell_wide(marks: Marks) -> None:
    for name in ("marked", "fault", "opened", "closed", "stable", "rebalancing", "empty", "dead", "not_ready", "odd"):
        assert cell_len(getattr(marks, name)) == 1


def test_every_group_state_has_a_symbol_and_a_color_role() -> None:
    assert all(text.state_mark(state) != "?" for state in STATES)
    assert text.state_mark("Marvellous") == text.state_mark(None) == "?"
    assert text.state_role("Stable") == "kg-ok"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"), (0, "0"), (999, "999"), (1_000, "1k"), (18_234, "18.2k"), (99_949, "99.9k"), (99_950, "100k"),
        (890_000, "890k"), (999_499, "999k"), (999_500, "1M"), (1_200_000, "1.2M"), (-5, "-5"), (10**18, "1E"),
    ],
)  # fmt: skip
def test_large_numbers_are_shortened_with_a_metric_prefix(value: int | None, shown: str) -> None:
    assert text.short(value) == shown


@given(st.integers(0, 10**20))
def test_shortened_numbers_take_at_most_six_cells(value: int) -> None:
    assert len(text.short(value)) <= 6


def test_known_partly_known_unknown_and_missing_lags_are_shown_differently() -> None:
    assert [text.lag(0), text.lag(None), text.lag(None, 2), text.lag(4_100, 1)] == ["0", "–", "?", "≥ 4.1k"]


def test_percentages_are_never_rounded_to_0_or_100_percent() -> None:
    shares = [
        text.percent_of(0, 1_000),
        text.percent_of(1, 1_000),
        text.percent_of(999, 1_000),
        text.percent_of(1_000, 1_000),
    ]
    assert shares == ["0%", "1%", "99%", "100%"]
    assert text.percent_of(0, 0) == "–"


@pytest.mark.parametrize(
    ("seconds", "shown"), [(None, "–"), (-3, "0 s"), (59.9, "59 s"), (60, "1 min"), (7_300, "2 h"), (200_000, "2 d")]
)
def test_durations_are_shown_in_their_largest_unit(seconds: float | None, shown: str) -> None:
    assert text.age(seconds) == shown


def test_times_are_shown_in_local_time_or_utc(fixed_settings: text.DisplaySettings) -> None:
    assert text.clock(0.0, offset=True) == "05:30:00 +05:30"
    assert text.ago(988.0) == "12 s"
    fixed_settings.utc = True
    assert text.clock(0.0, offset=True) == "00:00:00 UTC"
    assert text.date(0.0) == "1970-01-01 00:00:00 UTC"
    assert text.clock(None) == "–"


@pytest.mark.parametrize("seconds", [-(2.0**63), -62_135_596_800.0, 253_402_300_800.0, 2.0**63])
def test_times_outside_the_calendar_are_shown_as_the_nearest_valid_date(
    fixed_settings: text.DisplaySettings, seconds: float
) -> None:
    """A Kafka timestamp can be any 64-bit number, but kgtui shows no date before 1000-01-02 or after 9999-01-02."""
    shown = text.date(seconds)
    assert shown[:10] == ("1000-01-02" if seconds < 0 else "9999-01-02")
    assert rfc3339(seconds).startswith(shown[:10])
    assert local_clock(0.0)(seconds).startswith(shown[:4])


def test_short_time_formats_omit_seconds_year_or_utc_offset(
    fixed_settings: text.DisplaySettings,
) -> None:
    fixed_settings.utc = True
    at = 86_399.0
    short = text.clock_minutes(at), text.day_minutes(at), text.date_minutes(at), text.date_seconds(at)
    assert short == ("23:59", "01-01 23:59", "1970-01-01 23:59", "1970-01-01 23:59:59")


def test_group_id_without_control_characters_is_not_changed_by_escaping() -> None:
    assert text.plain("payments.settle") == "payments.settle"
    assert visible("payments.settle") == "payments.settle"
