"""Tests of the HTML report about findings (reported problems): its size, its plots, and that it is safe to open.

The report contains no scripts, and loads nothing from the network.
"""

from __future__ import annotations

import math
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtui.errors import LakeError
from kgtui.insights import report as report_module
from kgtui.insights.finding import Evidence, Finding, Insights, Kind, Severity
from kgtui.insights.past_problems import Episode
from kgtui.insights.report import (
    MAX_BARS,
    MAX_FINDINGS,
    MAX_ID_LENGTH,
    MAX_PAST_PROBLEMS,
    MAX_PLOTTED_GROUPS,
    Report,
    build_report,
    render_page,
)
from kgtui.insights.report_plots import Bar, plot_episodes, plot_lag_history, thin_out
from kgtui.insights.rules import MAX_EVIDENCE_ROWS
from kgtui.lake.schemas.gold import HEALTH
from kgtui.model.timeline import LagHistory
from tests.unit.insights.gold_rows import HOUR, NOW, row, rows_with_problems, write

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

MADE = NOW.timestamp() + 600

PAGE = {"html", "head", "meta", "title", "style", "body", "main", "header", "nav", "section", "article", "footer"}
TEXT = {"h1", "h2", "h3", "p", "a", "span", "b", "div", "bdi", "code", "details", "summary"}
TABLES = {"table", "thead", "tbody", "tr", "th", "td"}
PLOTS = {"figure", "figcaption", "svg", "g", "path", "text"}

ALLOWED = PAGE | TEXT | TABLES | PLOTS
"""HTML and SVG elements that the report is allowed to contain. None of them can run a script or load a resource."""


class Reader(HTMLParser):
    """An HTML parser that collects elements, attributes, links and text, and asserts that each element is closed."""

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
    return Reader(render_page(report, "1.0").decode())


@pytest.fixture
def report(tmp_path: Path) -> Report:
    return build_report(write(tmp_path, rows_with_problems()), MADE)


def test_report_page_shows_findings_with_evidence_and_plots(report: Report) -> None:
    html = render_page(report, "9.9").decode()
    words = Reader(html).words
    for finding in report.insights.findings:
        assert finding.subject in words
        assert finding.what in words
    assert "since 2026-11-21 12:00 UTC (4 h)" in words
    assert "kgtui show pay" in words
    assert "gold/health" in words
    assert "findings as of 2026-11-21 16:00 UTC, 10 min before this page was made" in words
    assert "kgtui 9.9" in words
    assert html.count("<svg") == 1 + 4, (
        "one plot of unhealthy episodes, and plots of the lag of pay, fraud, fill and calm"
    )
    for variable in ("--one", "--two", "--three"):
        assert html.count(f"stroke: var({variable})") == 4


def test_report_page_has_no_scripts_and_loads_no_resources(report: Report) -> None:
    reader = read(report)
    assert reader.tags <= ALLOWED
    assert not any(name.startswith("on") for name in reader.attributes)
    assert all(link.startswith("#") for link in reader.links)
    html = render_page(report, "1.0").decode()
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
def test_report_escapes_markup_and_control_characters_in_group_ids(group: str) -> None:
    reader = read(about(group))
    assert reader.tags <= ALLOWED
    assert not any(name.startswith("on") for name in reader.attributes)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\ud800-\udfff]", render_page(about(group), "1").decode())


@settings(max_examples=20)
@given(st.text(st.characters(codec=None), max_size=40))
def test_group_ids_never_add_html_elements_to_the_report(group: str) -> None:
    assert read(about(group)).tags <= ALLOWED


def test_report_shortens_long_group_ids() -> None:
    html = render_page(about("x" * 32_000), "1.0").decode()
    headings = re.findall("<bdi>(x+…)</bdi>", html)
    assert {len(heading) for heading in headings} == {MAX_ID_LENGTH}


def test_each_episode_in_a_report_is_an_unhealthy_period_of_a_group(tmp_path: Path) -> None:
    rows = rows_with_problems()
    began = NOW - 9 * HOUR
    rows[HEALTH] += [
        row(HEALTH, group="was-ill", window_start=NOW - back * HOUR, status="ERR", worst=worst, affected=1, lag=back,
            bad_since=began, covered_to=NOW - back * HOUR)
        for back, worst in ((9, "WARN"), (8, "STOP"), (7, "WARN"))
    ]  # fmt: skip
    rows[HEALTH].append(row(HEALTH, group="tmp", window_start=NOW, status="ERR", worst="STOP", affected=1, lag=1))
    made = build_report(write(tmp_path, rows), MADE)
    assert "tmp" not in {one.group for one in made.episodes}, (
        "an unused group already has a finding, so it has no episodes"
    )
    pay = next(one for one in made.episodes if one.group == "pay")
    assert (pay.ongoing, pay.worst, pay.since, pay.max_lag) == (True, "STOP", (NOW - 4 * HOUR).timestamp(), 1_000)
    longest = max((one for one in made.episodes if one.group == "was-ill"), key=lambda one: one.until - one.since)
    assert (longest.worst, longest.ongoing, longest.max_lag) == ("STOP", False, 9)
    assert (longest.since, longest.until) == (began.timestamp(), (NOW - 7 * HOUR).timestamp())
    words = read(made).words
    assert "STOP from 2026-11-21 07:00 to 2026-11-21 09:00 UTC" in words


def test_report_time_range_applies_to_plots_but_not_to_findings(tmp_path: Path) -> None:
    lake = write(tmp_path, rows_with_problems())
    since = NOW.timestamp() - 600
    made = build_report(lake, MADE, since=since)
    assert made.lag_histories["pay"].minutes[0] == since
    assert {one.group for one in made.episodes} == {"pay"}
    assert made.insights.findings, "findings do not depend on the time range of the plots"


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (NOW - 5.5 * HOUR, {"long": (True, NOW - 5.5 * HOUR), "short": (True, NOW - 5.5 * HOUR)}),
        # The table `health` has only the status at the end of each time window. In the window that begins 5 h before
        # `NOW`, the group `short` becomes healthy. The report ends before the end of this window, so the new status is
        # not part of the report.
        (NOW - 4.9 * HOUR, {"long": (True, NOW - 4.9 * HOUR), "short": (True, NOW - 5.1 * HOUR)}),
        (NOW - 4 * HOUR, {"long": (True, NOW - 4 * HOUR), "short": (False, NOW - 4.5 * HOUR)}),
        (None, {"long": (False, NOW - HOUR), "short": (False, NOW - 4.5 * HOUR)}),
    ],
)
def test_unhealthy_period_that_reaches_the_end_of_a_report_is_shown_as_ongoing(
    tmp_path: Path, end: datetime | None, expected: dict[str, tuple[bool, datetime]]
) -> None:
    began = NOW - 8 * HOUR
    ill: dict[str, Any] = {"status": "ERR", "worst": "STOP", "affected": 1, "lag": 5, "bad_since": began}
    rows = [
        row(HEALTH, group="long", window_start=NOW - back * HOUR, covered_to=NOW - (back - 0.9) * HOUR, **ill)
        for back in range(8, 1, -1)
    ]
    well: dict[str, Any] = {"status": "OK", "ended_since": began, "lag": 0}
    rows += [
        row(HEALTH, group="long", window_start=NOW - HOUR, covered_to=NOW - HOUR, **well),
        row(HEALTH, group="short", window_start=NOW - 6 * HOUR, covered_to=NOW - 5.1 * HOUR, **ill),
        row(HEALTH, group="short", window_start=NOW - 5 * HOUR, covered_to=NOW - 4.5 * HOUR, **well),
        row(HEALTH, group="other", window_start=NOW, status="OK"),
    ]
    made = build_report(write(tmp_path, {HEALTH: rows}), MADE, until=None if end is None else end.timestamp())
    found = {one.group: one for one in made.episodes}
    for group, (ongoing, until) in expected.items():
        one = found[group]
        assert (one.since, one.until) == (began.timestamp(), until.timestamp())
        assert (one.ongoing, bool(one.ended), one.lag_after) == (ongoing, not ongoing, None if ongoing else 0)
    assert ("ongoing" in read(made).words) == any(ongoing for ongoing, _ in expected.values())


def test_report_says_why_a_gold_table_is_missing(report: Report) -> None:
    """The number of findings from this table is unknown, so the page shows a dash instead of 0."""
    broken = replace(report.insights.tables[2], error="it was <never> made")
    without = tuple(one for one in report.insights.findings if one.kind is not Kind.FLAPPING)
    made = replace(report, insights=replace(report.insights, findings=without, tables=(broken,)), episodes=())
    words = read(made).words
    assert "gold/churn: it was <never> made" in words
    assert "– flapping" in words, "an unknown number is not 0"
    assert "No group was unhealthy in this interval" in words


def test_line_of_a_plot_has_breaks_at_unknown_values_and_at_missing_polls() -> None:
    points = list(thin_out([1, 2, 3, 4, 5], [1.0, None, 3.0, 4.0, 5.0], {5}))
    known = [value for _, value in points if not math.isnan(value)]
    assert [math.isnan(value) for _, value in points] == [False, True, False, False, True, False]
    assert known == [1.0, 3.0, 4.0, 5.0]


def test_points_of_a_plot_with_unknown_neighbors_are_drawn_as_bars() -> None:
    unknown: tuple[None, ...] = (None,) * 5
    history = LagHistory(
        (0, 60, 120, 180, 240), (1, None, 3, 4, 5), unknown, unknown, unknown, unknown, frozenset({240})
    )
    svg = plot_lag_history(history, 0, 240, None)
    drawn = re.findall(r'<path d="([^"]*)" style="[^"]*var\(--one\)', svg)
    assert sum(path.count("L") for path in drawn) == 3, "two single points as bars, and one line of two points"


def test_reducing_the_points_of_a_plot_keeps_the_largest_and_the_last_value() -> None:
    values = [0.0] * 10_000
    values[1_234], values[-1] = 99.0, 7.0
    points = list(thin_out(list(range(10_000)), values))
    assert len(points) < 400
    assert max(value for _, value in points) == 99.0
    assert points[-1] == (9_999, 7.0)


@pytest.mark.parametrize("days", [0.001, 0.3, 1, 5, 14, 400])
def test_time_axis_of_any_plot_has_two_to_ten_labels(days: float) -> None:
    since = 1_795_000_000.0
    svg = plot_episodes([("pay", [Bar(since, since + 1, True, "STOP")])], since, since + days * 86_400)
    assert 2 <= svg.count("<text") - 1 <= 10
    assert "<title>STOP</title>" in svg


def test_plots_of_two_weeks_in_a_report_take_less_than_four_megabytes() -> None:
    """A report may have at most 5 MB: 4 MB for its plots, and 1 MB for its texts."""
    minutes = tuple(float(minute) for minute in range(0, 14 * 86_400, 60))
    noise = tuple(number * 7_919 % 1_000 for number in range(len(minutes)))
    svg = plot_lag_history(LagHistory(minutes, noise, noise, noise, noise, noise), 0.0, minutes[-1], 1_000.0)
    assert MAX_PLOTTED_GROUPS * len(svg) < 4_000_000


def many_findings(number: int, kinds: list[Kind]) -> list[Finding]:
    """Return `number` findings. Finding n has the kind `kinds[n % len(kinds)]`.

    Each finding has the maximum number of evidence rows (`MAX_EVIDENCE_ROWS`).
    """
    columns = ("topic", "partition", "status", "lag", "position", "last_commit", "complete")
    rows = tuple((f"orders.eu.{part}", part, "STOP", 12_345, 987_654, NOW, 1.0) for part in range(MAX_EVIDENCE_ROWS))
    return [
        Finding(
            kinds[number % len(kinds)], Severity.ERROR, group, (group,), "stopped committing; 12,345 unread records",
            NOW.timestamp() - 60, "look in the logs of its members", Evidence("gold/health", columns, rows, 1_234),
            ("kgtui", "show", group),
        )
        for number in range(number)
        for group in [f"team-{number % 400:03d}.orders-service-{number:06d}"]
    ]  # fmt: skip


def test_report_of_100_000_findings_is_below_one_megabyte(report: Report) -> None:
    """A report may have at most 5 MB: 1 MB for its texts, such as findings, and 4 MB for its plots."""
    past = tuple(
        replace(one, until=NOW.timestamp(), ended="the group committed again")
        for one in many_findings(20_000, [Kind.UNHEALTHY])
    )
    insights = Insights(tuple(many_findings(100_000, list(Kind))), as_of=NOW.timestamp(), past=past)
    episodes = tuple(
        Episode(f"group-{number % 3_000}", "STOP", at, at + 60, False, 5)
        for number in range(30_000)
        for at in [NOW.timestamp() - 3_600 - number]
    )
    large = replace(report, insights=insights, episodes=episodes, lag_histories={}, not_plotted=23_456)
    page = render_page(large, "1.0")
    assert len(page) < 1_000_000
    words = " ".join(read(large).words.split())
    for kind in list(Kind):
        count = sum(finding.kind is kind for finding in insights.findings)
        assert f"{count:,} {kind.value}" in words
        assert f"… and {count - MAX_FINDINGS:,} more, which this page leaves out" in words
    assert f"… and {len(past) - MAX_PAST_PROBLEMS:,} more, which this page leaves out" in words
    assert "The plot leaves out 29,960 episodes; 2,960 more groups were unhealthy" in words
    assert "… and 29,800 more episodes, which are older" in words
    assert "23,456 more groups with problems have no plot" in words


def test_plot_of_unhealthy_periods_has_at_most_1_000_bars(report: Report) -> None:
    times = [NOW.timestamp() - 3_600 * number for number in range(3_000)]
    episodes = tuple(Episode("pay", "STOP", at, at + 60, False, 5) for at in times)
    words = " ".join(read(replace(report, episodes=episodes)).words.split())
    assert f"The plot leaves out {3_000 - MAX_BARS:,} episodes." in words


def test_groups_with_findings_on_the_page_are_plotted_before_other_groups(tmp_path: Path) -> None:
    groups = [f"group-{number:03d}" for number in range(MAX_FINDINGS + 20)]
    rows = rows_with_problems()
    rows[HEALTH] = [
        row(HEALTH, group=group, window_start=NOW, status="ERR", worst="STOP", affected=1, bad_since=NOW - HOUR, lag=9)
        for group in groups
    ]
    made = build_report(write(tmp_path, rows), MADE)
    assert {"fraud", "fill"} <= made.lag_histories.keys(), (
        "groups with findings on the page are plotted before other unhealthy groups"
    )
    with_problems = {finding.groups[0] for finding in made.insights.findings}
    assert made.not_plotted == len(with_problems) - MAX_PLOTTED_GROUPS


def test_report_omits_a_command_that_is_too_long(report: Report) -> None:
    finding = replace(report.insights.findings[0], command=("kgtui", "delete", "x" * 3_000))
    page = read(replace(report, insights=replace(report.insights, findings=(finding,))))
    assert "x" * 100 not in page.words
    assert "The command is too long for this page; kgtui insights prints it." in page.words


def test_error_for_a_missing_jinja2_package_has_the_command_that_installs_it(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    report_module._environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(LakeError, match=r"pip install 'kgtui\[report\]'"):
        render_page(report, "1.0")
