"""Findings for a terminal and for machines."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from kgtui.insights.finding import Kind, lasted
from kgtui.model.command_line import join
from kgtui.model.health.wording import duration
from kgtui.model.rfc3339 import rfc3339
from kgtui.model.text import visible
from kgtui.output import marks
from kgtui.output.formats import VERSION, json_bytes
from kgtui.output.table import Column, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.insights.finding import Evidence, Finding, Insights, Value
    from kgtui.lake.gold import TableAge

_INDENT = "    "


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
            "as_of": _time(found.as_of),
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


def finding_object(finding: Finding) -> dict[str, Any]:
    """A finding as JSON has it."""
    return {
        "kind": finding.kind.value,
        "severity": finding.severity.value,
        "subject": finding.subject,
        "family": finding.family,
        "groups": list(finding.groups),
        "what": finding.what,
        "since": _time(finding.since),
        "since_at_least": finding.since_at_least,
        "advice": finding.advice,
        "command": join(finding.command),
        "evidence": {
            "table": finding.evidence.table,
            "rows": [
                {name: _plain(value) for name, value in zip(finding.evidence.columns, row, strict=True)}
                for row in finding.evidence.rows
            ],
            "more": finding.evidence.more,
        },
    }


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
        "covered_to": _time(one.covered_to),
        "written_at": _time(one.written),
        "trouble": one.trouble or None,
    }


def _plain(value: Value) -> object:
    return rfc3339(value.timestamp()) if isinstance(value, datetime) else value


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else rfc3339(seconds)
