"""`kgtui insights`: list the findings of a lake (unhealthy, unusual and unused groups), each with advice and a command.

The most urgent findings come first.
"""

from __future__ import annotations

import asyncio
import os
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kgtui.commands.printing import notify, print_result, terminal_width
from kgtui.commands.time_options import parse_time
from kgtui.errors import LakeError, UsageError
from kgtui.insights.finding import Kind, finding_object, lasted
from kgtui.lake.folder import LAKE_VARIABLE
from kgtui.model.command_line import join
from kgtui.model.health.wording import duration
from kgtui.model.number_format import counted
from kgtui.model.rfc3339 import rfc3339_or_none, utc_datetime
from kgtui.model.text import visible
from kgtui.output import marks
from kgtui.output.formats import VERSION, json_bytes
from kgtui.output.table import Column, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Sequence

    from kgtui.insights.finding import Evidence, Finding, Insights, Value
    from kgtui.lake.gold import TableAge
    from kgtui.model.query import Query

_INDENT = "    "


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kgtui insights`."""
    from kgtui.commands.parser import add_format_option

    parser.add_argument(
        "expr", nargs="*", type=str, metavar="EXPR", help="filter terms, joined by AND; see kgtui ls --help"
    )
    parser.add_argument("--lake", metavar="LAKE", help=f"folder or URI of the lake (default: ${LAKE_VARIABLE})")
    parser.add_argument(
        "--since",
        metavar="TIME",
        help="also list problems that ended at or after this time: 2026-11-21T10:04Z, or 6h for 6 h before the newest "
        "data",
    )
    parser.add_argument("--evidence", action="store_true", help="add the table rows that each finding is based on")
    add_format_option(parser, "table", "json")


def epilog() -> str:
    """Return the text below the options of `kgtui insights --help`."""
    return (
        "Findings come from the gold tables of the lake, which kgtui pipeline computes. The last line of the output\n"
        "says how old the tables are. With --since, problems that have ended are listed too, with their duration and\n"
        "what ended them.\n"
        "Neither a cluster nor Java is needed. Exit code 1: a table could not be read."
    )


def run(args: argparse.Namespace) -> int:
    """Run `kgtui insights`. The exit code is 1 if a table could not be read, otherwise 0."""
    from kgtui.insights.apply_rules import end_of, find_insights
    from kgtui.lake.gold import Gold

    query = query_of(" ".join(args.expr))
    lake = lake_of(args)
    gold, since = Gold(lake), None
    if args.since is not None:
        end = end_of(gold.ages())
        since = parse_time("--since", args.since, time.time() if end is None else end)
    found = find_insights(gold, since)
    findings = select_findings((*found.findings, *found.past), query, lake)
    print_result(
        args.format,
        {
            "table": lambda: as_text(
                found, findings, time.time(), since=since, evidence=args.evidence, width=terminal_width()
            ),
            "json": lambda: as_json(found, findings, str(lake)),
        },
    )
    return report_missing_tables(found)


def lake_of(args: argparse.Namespace) -> str:
    """Return the folder or URI of the lake, from the option `--lake` or the environment variable `KGTUI_LAKE`.

    Raises `UsageError` if neither is set.
    """
    lake = args.lake or os.environ.get(LAKE_VARIABLE)
    if not lake:
        raise UsageError(
            f"no lake is named; pass --lake LAKE or set {LAKE_VARIABLE}; kgtui pipeline demo creates an example lake"
        )
    return str(lake)


def query_of(text: str) -> Query | None:
    """Parse a filter. Returns None if the text is empty. Raises `QueryError` if the text is not a valid filter."""
    if not text.strip():
        return None
    from kgtui.model.query import parse

    return parse(text)


def select_findings(findings: Sequence[Finding], query: Query | None, lake: str) -> list[Finding]:
    """Return the findings about groups that match the filter; all findings if `query` is None.

    The filter is applied to the newest recorded state of the groups in `lake`.
    """
    if query is None:
        return list(findings)
    groups = _matching(query, {group for finding in findings for group in finding.groups}, lake)
    return [finding for finding in findings if not groups.isdisjoint(finding.groups)]


def report_missing_tables(found: Insights) -> int:
    """Print on stderr which tables are missing or unreadable. Return 1 if a table is unreadable, otherwise 0."""
    from kgtui.lake.gold import NEVER_WRITTEN

    never = [one.table for one in found.missing if one.error == NEVER_WRITTEN]
    if never:
        notify(f"missing tables: {', '.join(never)}; kgtui pipeline run computes them, if the lake has data for them")
    unreadable = [one for one in found.missing if one.error and one.error != NEVER_WRITTEN]
    for one in unreadable:
        notify(f"cannot read {one.table}: {one.error}")
    return 1 if unreadable else 0


def _matching(query: Query, groups: Collection[str], lake: str) -> set[str]:
    from kgtui.commands.connecting import open_recording
    from kgtui.commands.selection import select_groups

    async def select() -> set[str]:
        selection = await select_groups(await open_recording(lake, None), query, timeout=60.0)
        return set(selection.ids)

    try:
        return asyncio.run(select())
    except LakeError:
        # The lake has no readable recording, so only the ids of the groups are known. Apply the filter to the ids.
        from kgtui.model.cluster import ClusterInfo
        from kgtui.model.group import Listing
        from kgtui.model.snapshot import Snapshot

        listing = Listing(None, "", None, -1)
        bare = Snapshot(1, 0.0, ClusterInfo(None, {}), dict.fromkeys(groups, listing), {listing: sorted(groups)})
        return set(query.select(bare))


def as_text(
    found: Insights,
    findings: Sequence[Finding],
    now: float,
    *,
    since: float | None = None,
    evidence: bool = False,
    width: int | None = None,
) -> str:
    """Format findings with their advice. Current problems come first, then problems that have ended.

    Args:
        now: current time, in seconds since the epoch.
        since: the past problems in `findings` ended at or after this time, in seconds since the epoch. None if only
            current problems were requested.
        evidence: whether to add the table rows on which each finding is based.
        width: maximum length of a line, in terminal cells; None for no limit. Commands are never wrapped.
    """
    if not findings:
        unknown = [kind.value for kind in Kind if not found.known(kind)]
        text = "no findings" if since is None else f"no findings, and no past problems since {_local_time(since)}"
        if unknown:
            text = f"{text}; tables are missing, so kgtui could not look for: {', '.join(unknown)}"
        return f"{text}\n\n{_age(found, now)}\n"
    current = [finding for finding in findings if finding.until is None]
    past = [finding for finding in findings if finding.until is not None]
    sections = [(kind.value, [finding for finding in current if finding.kind is kind]) for kind in Kind]
    blocks = []
    for title, some in (*sections, ("past problems", past)):
        if some:
            texts = [_block(finding, found, evidence, width) for finding in some]
            blocks.append(f"{title} ({len(some)})\n" + "".join(texts))
    return "\n".join(blocks) + f"\n{_age(found, now)}\n"


def as_json(found: Insights, findings: Sequence[Finding], lake: str) -> bytes:
    """Encode findings as JSON: unknown values are null, and times are RFC 3339 in UTC."""
    return json_bytes(
        {
            "version": VERSION,
            "lake": lake,
            "as_of": rfc3339_or_none(found.as_of),
            "findings": [finding_object(finding) for finding in findings],
            "tables": [_table_object(one) for one in found.tables],
        }
    )


def _age(found: Insights, now: float) -> str:
    if found.as_of is None:
        return "the tables are empty"
    made = [one.written for one in found.tables if one.written is not None]
    data = f"the data is from {_local_time(found.as_of)}, {duration(now - found.as_of)} ago"
    return f"{data}; the tables were computed {duration(now - min(made))} ago" if made else data


def _since(finding: Finding, as_of: float | None) -> str:
    """Return a text that says when a problem began, such as `since 2026-11-21 10:04+00:00 (3 h)`.

    If the problem has ended, the text has the form `from … to … (3 h)`. If the start is unknown, the text is empty.
    """
    if finding.since is None:
        return ""
    latest = " at the latest" if finding.since_at_least else ""
    long = lasted(finding, as_of)
    span = f" ({long})" if long else ""
    if finding.until is not None:
        return f"from {_local_time(finding.since)}{latest} to {_local_time(finding.until)}{span}"
    return f"since {_local_time(finding.since)}{latest}{span}"


def _local_time(seconds: float) -> str:
    return utc_datetime(seconds).astimezone().isoformat(" ", "minutes")


def _cell(value: Value) -> str:
    if value is None:
        return marks.NONE
    if isinstance(value, datetime):
        return _local_time(value.timestamp())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.2f}" if isinstance(value, float) else value


def _block(finding: Finding, found: Insights, evidence: bool, width: int | None) -> str:
    when = _since(finding, found.as_of)
    label = finding.severity.value.upper() if finding.until is None else "PAST"
    lines = [f"  {label:<5}  {visible(finding.subject)}" + (f"  {when}" if when else "")]
    lines += _lines(visible(finding.what), width)
    if finding.ended:
        lines += _lines(f"ended: {visible(finding.ended)}", width)
    advice, command = f"next: {visible(finding.advice)}:", join(finding.command)
    if width is None or len(_INDENT) + len(advice) + 1 + len(command) <= width:
        lines.append(f"{_INDENT}{advice} {command}")
    else:
        lines += [*_lines(advice, width), f"{2 * _INDENT}{command}"]
    return "\n".join(lines) + "\n" + (_evidence(finding.evidence) if evidence else "")


def _lines(sentence: str, width: int | None) -> list[str]:
    if width is None:
        return [_INDENT + sentence]
    import textwrap

    return textwrap.wrap(
        sentence,
        max(width, 40),
        initial_indent=_INDENT,
        subsequent_indent=f"{_INDENT}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _evidence(evidence: Evidence) -> str:
    columns = [
        Column(name.upper(), number=any(isinstance(row[index], int | float) for row in evidence.rows))
        for index, name in enumerate(evidence.columns)
    ]
    rows = [tuple(_cell(value) for value in row) for row in evidence.rows]
    more = f"{_INDENT}… and {counted(evidence.more, 'more row')} of {evidence.table}\n" if evidence.more else ""
    return table(columns, rows, indent=_INDENT) + more


def _table_object(one: TableAge) -> dict[str, Any]:
    return {
        "table": one.table,
        "covered_to": rfc3339_or_none(one.covered_to),
        "written_at": rfc3339_or_none(one.written),
        "trouble": one.error or None,
    }
