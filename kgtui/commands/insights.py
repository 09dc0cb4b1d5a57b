"""`kgtui insights`: what the tables of a lake say that somebody should know, by urgency."""

from __future__ import annotations

import asyncio
import os
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kgtui.commands.printing import notify, print_result, terminal_width
from kgtui.errors import LakeError, UsageError
from kgtui.insights.finding import Kind, lasted
from kgtui.insights.finding_fields import finding_object
from kgtui.lake.folder import LAKE_VARIABLE
from kgtui.model.command_line import join
from kgtui.model.health.wording import duration
from kgtui.model.rfc3339 import rfc3339_or_none
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

    parser.add_argument("expr", nargs="*", metavar="EXPR", help="only of groups that match: filter terms of kgtui ls")
    parser.add_argument("--lake", metavar="LAKE", help=f"the lake; by default what {LAKE_VARIABLE} says")
    parser.add_argument("--evidence", action="store_true", help="add the rows that each finding rests on")
    add_format_option(parser, "table", "json")


def epilog() -> str:
    """Return the text below the options of `kgtui insights --help`."""
    return (
        "Findings come from the lake's gold tables, which kgtui pipeline makes; how old they are is told. Nothing is\n"
        "asked of a cluster, and no Java is needed. Exit code 1: a table could not be read."
    )


def run(args: argparse.Namespace) -> int:
    """Run `kgtui insights` and return its exit code: 1 if a table could not be read."""
    from kgtui.insights.reader import read_insights

    query = query_of(" ".join(args.expr))
    lake = lake_of(args)
    found = read_insights(lake)
    findings = chosen(found.findings, query, lake)
    print_result(
        args.format,
        table=lambda: as_text(found, findings, time.time(), evidence=args.evidence, width=terminal_width()),
        json=lambda: as_json(found, findings, str(lake)),
    )
    return complain(found)


def lake_of(args: argparse.Namespace) -> str:
    """The lake that is meant. Raises `UsageError`."""
    lake = args.lake or os.environ.get(LAKE_VARIABLE)
    if not lake:
        raise UsageError(f"which lake? Name it with --lake LAKE, or in {LAKE_VARIABLE}; kgtui pipeline demo makes one")
    return str(lake)


def query_of(text: str) -> Query | None:
    """The filter; None without one. Raises `QueryError`."""
    if not text.strip():
        return None
    from kgtui.model.query import parse

    return parse(text)


def chosen(findings: Sequence[Finding], query: Query | None, lake: str) -> list[Finding]:
    """Findings about groups that the filter chooses, as they were at the end of the recording."""
    if query is None:
        return list(findings)
    groups = _matching(query, {group for finding in findings for group in finding.groups}, lake)
    return [finding for finding in findings if not groups.isdisjoint(finding.groups)]


def complain(found: Insights) -> int:
    """Say which tables are not there or cannot be read; the exit code."""
    from kgtui.lake.gold import NEVER_WRITTEN

    never = [one.table for one in found.missing if one.error == NEVER_WRITTEN]
    if never:
        notify(f"without {', '.join(never)}: not made yet by kgtui pipeline, or nothing was recorded that they need")
    troubled = [one for one in found.missing if one.error and one.error != NEVER_WRITTEN]
    for one in troubled:
        notify(f"{one.table} cannot be read: {one.error}")
    return 1 if troubled else 0


def _matching(query: Query, groups: Collection[str], lake: str) -> set[str]:
    from kgtui.commands.connecting import open_recording
    from kgtui.commands.selection import select_groups

    async def look() -> set[str]:
        found = await select_groups(await open_recording(lake, None), query, timeout=60.0)
        return set(found.ids)

    try:
        return asyncio.run(look())
    except LakeError:  # nothing was recorded: what the tables tell has names only
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
    evidence: bool = False,
    width: int | None = None,
) -> str:
    """Findings by urgency, each with what to do next; what they rest on, and how old that is.

    Args:
        findings: those to show.
        now: seconds since the epoch.
        evidence: add the rows that each rests on.
        width: cells of a line, behind which sentences go on below; commands are never broken.
    """
    if not findings:
        unknown = [kind.value for kind in Kind if not found.known(kind)]
        told = f"nothing to tell; nothing is known of: {', '.join(unknown)}" if unknown else "nothing to tell"
        return f"{told}\n\n{age(found, now)}\n"
    blocks = []
    for kind in Kind:
        some = [finding for finding in findings if finding.kind is kind]
        if some:
            blocks.append(
                f"{kind.value} ({len(some)})\n" + "".join(_block(finding, found, evidence, width) for finding in some)
            )
    return "\n".join(blocks) + f"\n{age(found, now)}\n"


def as_json(found: Insights, findings: Sequence[Finding], lake: str) -> bytes:
    """The same with every column by name; unknown is null, times are RFC 3339 in UTC."""
    return json_bytes(
        {
            "version": VERSION,
            "lake": lake,
            "as_of": rfc3339_or_none(found.as_of),
            "findings": [finding_object(finding) for finding in findings],
            "tables": [_table_object(one) for one in found.tables],
        }
    )


def age(found: Insights, now: float) -> str:
    """How old what findings rest on is, in one sentence."""
    if found.as_of is None:
        return "the tables are empty"
    made = [one.written for one in found.tables if one.written is not None]
    when = f", made {duration(now - min(made))} ago" if made else ""
    return f"as of {local(found.as_of)}, {duration(now - found.as_of)} ago{when}"


def since(finding: Finding, as_of: float | None) -> str:
    """Since when, and how long that is; `` when it is not known."""
    if finding.since is None:
        return ""
    least = "since at the latest" if finding.since_at_least else "since"
    long = lasted(finding, as_of)
    return f"{least} {local(finding.since)}{f' ({long})' if long else ''}"


def local(seconds: float) -> str:
    """A moment in local time with its offset."""
    return datetime.fromtimestamp(seconds).astimezone().isoformat(" ", "minutes")


def cell(value: Value) -> str:
    """One value of evidence."""
    if value is None:
        return marks.NONE
    if isinstance(value, datetime):
        return local(value.timestamp())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.2f}" if isinstance(value, float) else value


def _block(finding: Finding, found: Insights, evidence: bool, width: int | None) -> str:
    when = since(finding, found.as_of)
    lines = [f"  {finding.severity.value.upper():<5}  {visible(finding.subject)}" + (f"  {when}" if when else "")]
    lines += _lines(visible(finding.what), width)
    advice, command = f"next: {visible(finding.advice)}:", join(finding.command)
    if width is None or len(_INDENT) + len(advice) + 1 + len(command) <= width:
        lines.append(f"{_INDENT}{advice} {command}")
    else:
        lines += [*_lines(advice, width), f"{2 * _INDENT}{command}"]
    return "\n".join(lines) + "\n" + (_evidence(finding.evidence) if evidence else "")


def _lines(sentence: str, width: int | None) -> list[str]:
    """A sentence, in lines that fit."""
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
    rows = [tuple(cell(value) for value in row) for row in evidence.rows]
    more = f"{_INDENT}… and {evidence.more} more rows of {evidence.table}\n" if evidence.more else ""
    return table(columns, rows, indent=_INDENT) + more


def _table_object(one: TableAge) -> dict[str, Any]:
    return {
        "table": one.table,
        "covered_to": rfc3339_or_none(one.covered_to),
        "written_at": rfc3339_or_none(one.written),
        "trouble": one.error or None,
    }
