"""Build the report about a lake, and render it as one HTML page.

The report shows problems of groups, plots, and episodes (time spans in which a group was unhealthy). The page has no
scripts and loads no other files. Jinja2 escapes every value, and `visible` replaces control characters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from kgtui.errors import LakeError
from kgtui.insights.apply_rules import end_of, find_insights, readable_ages
from kgtui.insights.finding import Kind
from kgtui.insights.past_problems import Episode, read_episodes
from kgtui.insights.report_plots import Bar, plot_episodes, plot_lag_history
from kgtui.lake.gold import WHOLE_GROUPS, Gold
from kgtui.lake.schemas.gold import LAG
from kgtui.lake.tables import recorded_cluster_id
from kgtui.model.command_line import join
from kgtui.model.health.wording import duration
from kgtui.model.marks import UNICODE
from kgtui.model.number_format import short
from kgtui.model.rfc3339 import utc_datetime
from kgtui.model.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from kgtui.insights.finding import Finding, Insights
    from kgtui.lake.store import LakePath
    from kgtui.model.timeline import LagHistory

DEFAULT_INTERVAL = 14 * 86_400.0
"""Length of the interval that a report covers by default, in seconds."""

MAX_PLOTTED_GROUPS = 60
"""Maximum number of groups with plots of lag and rates. With more plots, the page would be larger than 5 MB."""

MAX_FINDINGS = 40
"""Maximum number of findings of each kind on the page. With more findings, the page would be larger than 5 MB."""

MAX_PAST_PROBLEMS = 100
"""Maximum number of past problems (problems that have ended) on the page."""

MAX_EPISODES = 200
"""Maximum number of episodes (time spans in which a group was unhealthy) in the table on the page."""

MAX_BARS = 1_000
"""Maximum number of bars in the plot of the times at which groups were unhealthy. Each bar is one episode."""

MAX_COMMAND_LENGTH = 2_000
"""Maximum length of a command line on the page, in characters.

A longer command line is left out, because a shortened one would do something different.
"""

MAX_BAR_ROWS = 40
"""Maximum number of groups in the plot of the times at which groups were unhealthy. Each group has one row of bars."""

MAX_ID_LENGTH = 160
"""Maximum number of characters of an id on the page.

Longer ids are shortened, because Kafka allows ids of up to 32,767 bytes.
"""

_MAX_LABEL_LENGTH = 28
_UNKNOWN = UNICODE.none


@dataclass(frozen=True, slots=True)
class Report:
    """The contents of a report.

    Attributes:
        lake: path of the lake.
        cluster: cluster id; None if unknown.
        since, until: start and end of the time axis of all plots, in epoch seconds. If all lag histories begin later
            than the user requested, `since` is the start of the earliest one. Episodes can begin and end before
            `since`.
        made_at: when the report was built, in epoch seconds.
        lag_histories: group id → plotted lag and rates, for at most `MAX_PLOTTED_GROUPS` groups.
        episodes: time spans in which groups were unhealthy, the most recently ended one first.
        groups: number of groups in the cluster.
        not_plotted: number of groups that have problems but no plot, because of `MAX_PLOTTED_GROUPS`.
    """

    lake: str
    cluster: str | None
    since: float
    until: float
    made_at: float
    insights: Insights
    lag_histories: Mapping[str, LagHistory] = field(default_factory=dict)
    episodes: tuple[Episode, ...] = ()
    groups: int = 0
    not_plotted: int = 0


def build_report(
    path: LakePath | str, made_at: float, *, since: float | None = None, until: float | None = None
) -> Report:
    """Build a report of a lake.

    Episodes (time spans in which a group was unhealthy) and plots cover the time from `since` to `until`. The report
    also contains the problems in the newest data of the gold tables, and problems that ended after `since`.

    Args:
        made_at: current time, in epoch seconds.
        since: start of this time, in epoch seconds; None for `DEFAULT_INTERVAL` seconds before `until`.
        until: end of this time, in epoch seconds; None for the end of the time that the gold tables cover.

    Raises:
        LakeError: the lake or its gold tables cannot be read, or `until` is None and the gold tables are empty.
    """
    gold = Gold(path)
    end = until if until is not None else end_of(readable_ages(gold))
    if end is None:
        raise LakeError(f"the gold tables of {gold.path} are empty, so there is nothing to report")
    begin = since if since is not None else end - DEFAULT_INTERVAL
    insights = find_insights(gold, begin)
    unused = {group for finding in insights.findings if finding.kind is Kind.UNUSED for group in finding.groups}
    episodes = tuple(episode for episode in read_episodes(gold, begin, end) if episode.group not in unused)
    on_page = {id(finding) for some in _by_kind(insights).values() for finding in some[:MAX_FINDINGS]}
    with_findings = [finding.groups[0] for finding in insights.findings if finding.groups and id(finding) in on_page]
    candidates = list(dict.fromkeys([*with_findings, *(episode.group for episode in episodes)]))
    groups = candidates[:MAX_PLOTTED_GROUPS]
    histories = gold.lag_histories(groups, since=utc_datetime(begin), until=utc_datetime(end))
    first = min((history.minutes[0] for history in histories.values()), default=begin)
    group_count = len({row["group"] for row in gold.newest(LAG, "minute", ("group",), where=WHOLE_GROUPS)})
    cluster = recorded_cluster_id(gold.path)
    return Report(str(gold.path), cluster, max(begin, first), end, made_at, insights, histories, episodes, group_count,
                  len(candidates) - len(groups))  # fmt: skip


def _by_kind(insights: Insights) -> dict[Kind, list[Finding]]:
    """Return a dict: kind → findings of this kind, the most urgent first. The dict contains all kinds."""
    found: dict[Kind, list[Finding]] = {kind: [] for kind in Kind}
    for finding in insights.findings:
        found[finding.kind].append(finding)
    return found


def render_page(report: Report, version: str) -> bytes:
    """Render a report as an HTML page in UTF-8, with times in UTC.

    Args:
        version: version of kgtui.

    Raises:
        LakeError: Jinja2 or matplotlib is not installed.
    """
    environment, markup = _environment()
    by_group: dict[str, list[Episode]] = {}
    for episode in report.episodes[:MAX_BARS]:
        if episode.group in by_group or len(by_group) < MAX_BAR_ROWS:
            by_group.setdefault(episode.group, []).append(episode)

    def plot_of(finding: Finding) -> object:
        history = None if finding.family else report.lag_histories.get(finding.subject)
        if history is None or finding.kind is Kind.UNUSED:
            return ""
        return markup(plot_lag_history(history, report.since, report.until, finding.since))

    page: str = environment.get_template("report.html.j2").render(
        report=report,
        insights=report.insights,
        version=version,
        cluster=f"cluster {report.cluster}" if report.cluster else "a Kafka cluster",
        kinds=_by_kind(report.insights),
        episode_plot=markup(_plot_episodes(report, by_group)) if by_group else "",
        episode_rows=[_episode_cells(episode) for episode in report.episodes[:MAX_EPISODES]],
        more_bars=len(report.episodes) - sum(map(len, by_group.values())),
        more_groups=len({episode.group for episode in report.episodes}) - len(by_group),
        plot_of=plot_of,
        most=MAX_FINDINGS,
        most_past=MAX_PAST_PROBLEMS,
        most_plots=MAX_PLOTTED_GROUPS,
    )
    return page.encode("utf-8", "backslashreplace")


@cache
def _environment() -> tuple[Any, type[str]]:
    """Return the Jinja2 environment, and the class `Markup`, for text that is already HTML and must not be escaped."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup, escape
    except ImportError as error:
        raise LakeError(
            f"the report needs {error.name}, which is not installed. Run: pip install 'kgtui[report]'"
        ) from error

    def finalize(value: object) -> object:
        if value is None:
            return _UNKNOWN
        return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    environment = Environment(
        loader=PackageLoader("kgtui.insights"),
        autoescape=True,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "cell": _cell,
        "command_line": _command_line,
        "duration": duration,
        "number": lambda number: f"{number:,}",
        "shorten": lambda text: escape(_shorten(visible(text), MAX_ID_LENGTH)),
        "time": _time,
    }
    return environment, Markup


def _plot_episodes(report: Report, by_group: Mapping[str, Iterable[Episode]]) -> str:
    rows = {
        group: [Bar(one.since, one.until, one.worst != "WARN", _episode_text(one)) for one in episodes]
        for group, episodes in by_group.items()
    }
    labels = {group: _shorten(visible(group), _MAX_LABEL_LENGTH) for group in rows}
    return plot_episodes([(labels[group], bars) for group, bars in rows.items()], report.since, report.until)


def _episode_text(episode: Episode) -> str:
    end = "ongoing" if episode.ongoing else f"to {_time(episode.until)} UTC"
    return f"{visible(episode.worst)} from {_time(episode.since)} {end}"


def _episode_cells(episode: Episode) -> tuple[str | int | None, ...]:
    return (
        episode.group,
        episode.worst,
        _time(episode.since),
        "ongoing" if episode.ongoing else _time(episode.until),
        duration(episode.until - episode.since),
        episode.max_lag,
    )


def _cell(value: float | bool | datetime | None) -> str:
    """Format a value for a table.

    Integers become `12,345`, floats `0.25` or (from 1,000 on) `12.3k`, booleans `yes` or `no`, and
    times a date and time in UTC.
    """
    if value is None:
        return _UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return short(value) if abs(value) >= 1_000 else f"{value:,.2f}"
    return _time(value.timestamp())


def _command_line(words: Sequence[str]) -> str | None:
    """Return a command line for a shell, with quotes where needed; None if it is longer than `MAX_COMMAND_LENGTH`."""
    text = join(words)
    return text if len(text) <= MAX_COMMAND_LENGTH else None


def _time(seconds: float) -> str:
    """Format a time, in seconds since the epoch, as date, hour and minute in UTC."""
    return f"{utc_datetime(seconds):%Y-%m-%d %H:%M}"


def _shorten(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
