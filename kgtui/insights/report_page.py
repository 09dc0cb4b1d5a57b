"""The page: what was found, when groups were not well, and how each of them went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.insights.finding import Kind, Severity
from kgtui.insights.report_html import element, moment, name, table, text
from kgtui.insights.report_plot import Axis, Line, bars, plot
from kgtui.insights.report_style import CSS
from kgtui.model.amounts import short
from kgtui.model.command_line import join
from kgtui.model.health.wording import duration

if TYPE_CHECKING:
    from datetime import datetime

    from kgtui.insights.finding import Evidence, Finding, Value
    from kgtui.insights.report import Episode, Report

MOST_BARS = 40
"""Groups of which the times when they were not well are drawn."""

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
"""


def page(report: Report, version: str) -> bytes:
    """The whole page, in UTF-8. Times are UTC.

    Args:
        version: of the program.
    """
    cluster = f"cluster {report.cluster}" if report.cluster else "a Kafka cluster"
    title = element("title", text(f"Groups of {cluster}, {moment(report.since)} to {moment(report.until)} UTC"))
    body = [
        _header(report, cluster),
        _missing(report),
        _tiles(report),
        _episodes(report),
        *(_kind(report, kind) for kind in Kind),
        _footer(report, version),
    ]
    inner = "\n".join(part for part in body if part)
    whole = f"{_HEAD}{title}\n<style>{CSS}</style>\n</head>\n<body>\n<main>\n{inner}\n</main>\n</body>\n</html>\n"
    return whole.encode("utf-8", "backslashreplace")


def _header(report: Report, cluster: str) -> str:
    as_of = report.insights.as_of
    lines = [f"{moment(report.since)} to {moment(report.until)} UTC, {report.groups:,} groups"]
    if as_of is not None:
        lines.append(
            f"findings as of {moment(as_of)} UTC, {duration(report.made_at - as_of)} before this page was made"
        )
    told = "".join(element("p", text(line), class_="about") for line in lines)
    return f"<header><h1>Groups of {text(cluster)}</h1>{told}</header>"


def _missing(report: Report) -> str:
    if not report.insights.missing:
        return ""
    told = "; ".join(f"{one.table}: {one.trouble}" for one in report.insights.missing)
    return element("p", f"What these tables would tell is not here: {text(told)}", class_="note")


def _tiles(report: Report) -> str:
    tiles = []
    for kind in Kind:
        some = [finding for finding in report.insights.findings if finding.kind is kind]
        worst = min((finding.severity for finding in some), key=lambda one: one.rank, default=None)
        style = "tile" if worst is None else f"tile {worst.value}"
        number = len(some) if report.insights.known(kind) else "–"
        count = f"<b>{number}</b> {text(kind.value)}"
        tiles.append(
            f'<a class="{style}" href="#{_anchor(kind)}">{count}</a>' if some else f"<span class='tile'>{count}</span>"
        )
    return element("nav", "".join(tiles))


def _episodes(report: Report) -> str:
    by_group: dict[str, list[Episode]] = {}
    for episode in report.episodes:
        by_group.setdefault(episode.group, []).append(episode)
    if not by_group:
        return element("section", "<h2>Groups that were not well</h2><p>None in this time.</p>")
    axis = Axis(report.since, report.until)
    shown = list(by_group.items())[:MOST_BARS]
    rows = [
        (_short_name(group), [(one.since, one.until, _style(one.worst), _told(one)) for one in some])
        for group, some in shown
    ]
    more = len(by_group) - len(shown)
    rest = f"<p>… and {more} more groups.</p>" if more else ""
    listed = table(
        ("group", "worst", "since", "until", "for", "most records waiting"),
        [_episode_cells(one) for one in report.episodes[: 5 * MOST_BARS]],
    )
    details = f"<details><summary>{len(report.episodes)} times</summary>{listed}</details>"
    drawn = bars("when groups were not well", axis, rows)
    return element("section", f"<h2>Groups that were not well</h2>{drawn}{rest}{details}")


def _episode_cells(one: Episode) -> tuple[str, ...]:
    until = "going on" if one.going_on else moment(one.until)
    most = "–" if one.most_lag is None else f"{one.most_lag:,}"
    return name(one.group), text(one.worst), moment(one.since), until, duration(one.until - one.since), most


def _told(one: Episode) -> str:
    end = "and going on" if one.going_on else f"to {moment(one.until)}"
    return f"{one.worst} from {moment(one.since)} {end} UTC"


def _style(worst: str) -> str:
    return Severity.WARN.value if worst == "WARN" else Severity.ERROR.value


def _short_name(group: str) -> str:
    """A name beside a bar, where there is little room."""
    return name(group if len(group) <= 28 else group[:27] + "…").removeprefix("<bdi>").removesuffix("</bdi>")


def _kind(report: Report, kind: Kind) -> str:
    some = [finding for finding in report.insights.findings if finding.kind is kind]
    if not some:
        return ""
    cards = "\n".join(_card(report, finding) for finding in some)
    return element("section", f"<h2>{text(kind.value.capitalize())}</h2>\n{cards}", id=_anchor(kind))


def _card(report: Report, finding: Finding) -> str:
    when = ""
    if finding.since is not None:
        least = "since at the latest" if finding.since_at_least else "since"
        long = "" if report.insights.as_of is None else f" ({duration(report.insights.as_of - finding.since)})"
        when = f'<span class="when">{least} {moment(finding.since)} UTC{long}</span>'
    badge = element("span", text(finding.severity.value), class_=f"badge {finding.severity.value}")
    command = f"<code>{text(join(finding.command))}</code>" if finding.command else ""
    return element(
        "article",
        f"<h3>{badge} {name(finding.subject)} {when}</h3>\n<p>{text(finding.what)}.</p>\n"
        f'<p class="next">Next: {text(finding.advice)}. {command}</p>\n'
        + _plots(report, finding)
        + _evidence(finding.evidence),
    )


def _plots(report: Report, finding: Finding) -> str:
    course = None if finding.family else report.lag_histories.get(finding.subject)
    if course is None or finding.kind is Kind.UNUSED:
        return ""
    axis = Axis(report.since, report.until)
    lag = plot(
        "records that wait", axis, course.minutes, [Line("lag", "one", course.lag)],
        breaks=course.breaks, mark=finding.since,
    )  # fmt: skip
    rates = plot(
        "records a second", axis, course.minutes,
        [Line("in", "two", course.rate_in), Line("out", "three", course.rate_out)],
        breaks=course.breaks, mark=finding.since,
    )  # fmt: skip
    return lag + rates


def _evidence(evidence: Evidence) -> str:
    rows = [[_cell(value) for value in row] for row in evidence.rows]
    more = f"<p>… and {evidence.more} more rows.</p>" if evidence.more else ""
    inner = table([text(column) for column in evidence.columns], rows) + more
    return f"<details><summary>{text(evidence.table)}</summary>{inner}</details>"


def _cell(value: Value | datetime) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return short(value) if abs(value) >= 1_000 else f"{value:,.2f}"
    return name(value) if isinstance(value, str) else moment(value.timestamp())


def _footer(report: Report, version: str) -> str:
    made = f"Made {moment(report.made_at)} UTC by kgtui {version} from {report.lake}. All times are UTC."
    return element("footer", text(made))


def _anchor(kind: Kind) -> str:
    return kind.value.replace(" ", "-")
