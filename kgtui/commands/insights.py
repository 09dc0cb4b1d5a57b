"""`kgtui insights`: what the tables of a lake say that somebody should know, by urgency."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING

from kgtui.commands.printing import put_bytes, put_text, say, terminal_width
from kgtui.errors import LakeError, UsageError
from kgtui.lake.folder import LAKE_VARIABLE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Sequence

    from kgtui.insights.finding import Finding, Insights
    from kgtui.model.query import Query


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("expr", nargs="*", metavar="EXPR", help="only of groups that match: filter terms of kgtui ls")
    parser.add_argument("--lake", metavar="LAKE", help=f"the lake; by default what {LAKE_VARIABLE} says")
    parser.add_argument("--evidence", action="store_true", help="add the rows that each finding rests on")
    parser.add_argument("--format", choices=("table", "json"), default="table")


def epilog() -> str:
    """What else there is to know."""
    return (
        "Findings come from the lake's gold tables, which kgtui pipeline makes; how old they are is told. Nothing is\n"
        "asked of a cluster, and no Java is needed. Exit code 1: a table could not be read."
    )


def run(args: argparse.Namespace) -> int:
    """Run the command; the exit code: 1 when a table could not be read."""
    from kgtui.commands import findings_text as output
    from kgtui.insights.reader import insights

    query = query_of(" ".join(args.expr))
    lake = lake_of(args)
    found = insights(lake)
    findings = chosen(found.findings, query, lake)
    if args.format == "json":
        put_bytes(output.as_json(found, findings, str(lake)))
    else:
        put_text(output.as_text(found, findings, time.time(), evidence=args.evidence, width=terminal_width()))
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
    from kgtui.lake.gold import NEVER_MADE

    never = [one.table for one in found.missing if one.trouble == NEVER_MADE]
    if never:
        say(f"without {', '.join(never)}: not made yet by kgtui pipeline, or nothing was recorded that they need")
    troubled = [one for one in found.missing if one.trouble and one.trouble != NEVER_MADE]
    for one in troubled:
        say(f"{one.table} cannot be read: {one.trouble}")
    return 1 if troubled else 0


def _matching(query: Query, groups: Collection[str], lake: str) -> set[str]:
    from kgtui.commands.connecting import open_recording
    from kgtui.commands.gather import gather

    async def look() -> set[str]:
        found = await gather(await open_recording(lake, None), query, timeout=60.0)
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
