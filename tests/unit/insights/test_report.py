"""The report's page: what it tells, and that nothing from a cluster can act in it."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.insights.finding import Evidence, Finding, Insights, Kind, Severity
from kgtui.insights.report import Episode, Report, report_of
from kgtui.insights.report_html import LONGEST, name
from kgtui.insights.report_page import page
from kgtui.insights.report_plot import Axis, round_up, stretches, thinned, time_label
from kgtui.lake.schemas.gold import HEALTH
from tests.unit.insights.gold_rows import HOUR, NOW, incidents, row, write

if TYPE_CHECKING:
    from pathlib import Path

MADE = NOW.timestamp() + 600

ALLOWED = frozenset(
    [
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "header",
        "h1",
        "h2",
        "h3",
        "p",
        "nav",
        "a",
        "span",
        "b",
        "section",
        "article",
        "div",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "details",
        "summary",
        "figure",
        "figcaption",
        "svg",
        "line",
        "text",
        "polyline",
        "circle",
        "rect",
        "bdi",
        "code",
        "footer",
    ]
)


class Reader(HTMLParser):
    """Checks that every element is closed, and collects elements, attributes and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.words = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def read(report: Report) -> Reader:
    return Reader(page(report, "1.0").decode())


@pytest.fixture
def report(tmp_path: Path) -> Report:
    return report_of(write(tmp_path, incidents()), MADE)


def test_the_page_tells_every_finding_with_its_evidence_and_plots(report: Report) -> None:
    html = page(report, "9.9").decode()
    words = Reader(html).words
    for finding in report.insights.findings:
        assert finding.subject in words
        assert finding.what in words
    assert "since 2026-11-21 12:00 UTC (4 h)" in words
    assert "kgtui show pay" in words
    assert "gold/health" in words
    assert "findings as of 2026-11-21 16:00 UTC, 10 min before this page was made" in words
    assert "kgtui 9.9" in words
    assert html.count("<polyline") == 4 * 3  # pay, fraud, fill and calm: lag, in, out


def test_there_is_nothing_that_acts_or_comes_from_elsewhere(report: Report) -> None:
    reader = read(report)
    assert reader.tags <= ALLOWED
    assert not any(name.startswith("on") for name in reader.attributes)
    assert all(link.startswith("#") for link in reader.links)
    html = page(report, "1.0").decode()
    assert "url(" not in html
    assert "http://" not in html
    assert "https://" not in html


HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</title><b>", "a\x00b\x1b[31m", "\u202eevil",
    "caf\udce9", "]]>", "&lt;", "x" * 32_000, "' onload='x", "\n\n", "",
]  # fmt: skip


def about(group: str) -> Report:
    evidence = Evidence("gold/health", ("topic", "lag"), ((group, 1),), 0)
    finding = Finding(
        Kind.UNHEALTHY,
        Severity.ERROR,
        group,
        (group,),
        f"about {group}",
        1.0,
        "look",
        evidence,
        ("kgtui", "show", group),
    )
    episodes = (Episode(group, "STOP", 10.0, 20.0, True, 5),)
    return Report(group, group, 0.0, 100.0, 100.0, Insights((finding,), (), 50.0), {}, episodes, 1)


@pytest.mark.parametrize("group", HOSTILE)
def test_hostile_ids_are_text(group: str) -> None:
    reader = read(about(group))
    assert reader.tags <= ALLOWED
    assert not any(name.startswith("on") for name in reader.attributes)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\ud800-\udfff]", page(about(group), "1").decode())


@given(st.text(st.characters(codec=None), max_size=40))
def test_any_id_is_text(group: str) -> None:
    assert read(about(group)).tags <= ALLOWED


def test_a_very_long_id_is_cut() -> None:
    assert len(name("x" * 32_000)) < LONGEST + 20


def test_times_when_groups_were_not_well(tmp_path: Path) -> None:
    rows = incidents()
    began = NOW - 9 * HOUR
    rows[HEALTH] += [
        row(HEALTH, group="was-ill", window_start=NOW - back * HOUR, status="ERR", worst=worst, affected=1, lag=back,
            bad_since=began, covered_to=NOW - back * HOUR)
        for back, worst in ((9, "WARN"), (8, "STOP"), (7, "WARN"))
    ]  # fmt: skip
    rows[HEALTH].append(row(HEALTH, group="tmp", window_start=NOW, status="ERR", worst="STOP", affected=1, lag=1))
    made = report_of(write(tmp_path, rows), MADE)
    assert "tmp" not in {one.group for one in made.episodes}, "that nobody uses it is told already"
    pay = next(one for one in made.episodes if one.group == "pay")
    assert (pay.going_on, pay.worst, pay.since, pay.most_lag) == (True, "STOP", (NOW - 4 * HOUR).timestamp(), 1_000)
    longest = max((one for one in made.episodes if one.group == "was-ill"), key=lambda one: one.until - one.since)
    assert (longest.worst, longest.going_on, longest.most_lag) == ("STOP", False, 9)
    assert (longest.since, longest.until) == (began.timestamp(), (NOW - 7 * HOUR).timestamp())
    words = read(made).words
    assert "STOP from 2026-11-21 07:00 to 2026-11-21 09:00 UTC" in words


def test_an_interval_cuts_plots_and_times(tmp_path: Path) -> None:
    lake = write(tmp_path, incidents())
    since = NOW.timestamp() - 600
    made = report_of(lake, MADE, since=since)
    assert made.lag_histories["pay"].minutes[0] == since
    assert {one.group for one in made.episodes} == {"pay"}
    assert made.insights.findings, "what is wrong now is told whatever is drawn"


def test_what_is_missing_is_said(report: Report) -> None:
    broken = replace(report.insights.tables[2], trouble="it was <never> made")
    without = tuple(one for one in report.insights.findings if one.kind is not Kind.FLAPPING)
    made = replace(report, insights=replace(report.insights, findings=without, tables=(broken,)), episodes=())
    words = read(made).words
    assert "gold/churn: it was <never> made" in words
    assert "– flapping" in words, "nobody knows: that is not 0"
    assert "None in this time" in words


def test_a_line_breaks_where_nothing_is_known() -> None:
    points = list(thinned([1, 2, 3, 4, 5], [1.0, None, 3.0, 4.0, 5.0], {5}))
    assert stretches(points) == [[(1, 1.0)], [(3, 3.0), (4, 4.0)], [(5, 5.0)]]


def test_of_many_points_the_peaks_stay() -> None:
    values = [0.0] * 10_000
    values[1_234], values[-1] = 99.0, 7.0
    points = list(thinned(list(range(10_000)), values, ()))
    assert len(points) < 400
    assert max(value for _, value in points if value is not None) == 99.0
    assert points[-1] == (9_999, 7.0)


@pytest.mark.parametrize(("most", "top"), [(0, 1), (0.3, 0.5), (1, 1), (999, 1_000), (1_001, 2_000), (6e9, 1e10)])
def test_axes_end_at_round_numbers(most: float, top: float) -> None:
    assert round_up(most) == pytest.approx(top)


@given(st.floats(60, 4e7))
def test_there_are_a_few_times_below_a_plot(span: float) -> None:
    axis = Axis(1_795_000_000.0, 1_795_000_000.0 + span)
    assert len(axis.times()) <= 9
    assert all(axis.since <= at <= axis.until for at in axis.times())
    assert all(time_label(at, axis) for at in axis.times())
