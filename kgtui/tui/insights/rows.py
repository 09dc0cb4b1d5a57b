"""Findings as rows of a table, and one of them in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kgtui.insights.finding import Kind, Severity, lasted
from kgtui.model.command_line import join
from kgtui.tui import text
from kgtui.tui.panes.cells import ACCENT, ERROR, MUTED, WARN, Cell, Shown, fitted, wrap
from kgtui.tui.panes.columns import Column

if TYPE_CHECKING:
    from collections.abc import Collection

    from kgtui.insights.finding import Finding, Insights
    from kgtui.tui.panes.lines import Line

NARROW = 76
"""Cells below which a finding tells how long it has lasted, and not since when."""

ROLES = {Severity.ERROR: ERROR, Severity.WARN: WARN, Severity.NOTE: MUTED}


class Row(NamedTuple):
    """One finding in the table.

    Attributes:
        number: its place by urgency, by which it is known.
        as_of: what "now" means in it, in seconds since the epoch.
        marked: all of its groups are marked in the tree.
    """

    number: int
    finding: Finding
    as_of: float | None = None
    marked: bool = False


def rows_of(found: Insights, there: Collection[str], marked: Collection[str], kind: Kind | None = None) -> list[Row]:
    """The findings by urgency.

    Args:
        there: groups of the cluster.
        marked: those that are marked.
        kind: only of this one.
    """
    return [
        Row(number, finding, found.as_of, marked_of(finding, there, marked))
        for number, finding in enumerate(found.findings)
        if kind is None or finding.kind is kind
    ]


def marked_of(finding: Finding, there: Collection[str], marked: Collection[str]) -> bool:
    """Whether all groups of a finding that are on the cluster are marked."""
    if finding.kind is not Kind.UNUSED or not marked:
        return False
    groups = [group for group in finding.groups if group in there]
    return bool(groups) and all(group in marked for group in groups)


# -- the table -------------------------------------------------------------------------------------------------------


def _lasted(row: Row) -> str | None:
    since, least = row.finding.since, row.finding.since_at_least
    if since is None or row.as_of is None:
        return None
    if row.as_of - since < 1:
        return "now"
    return f"{text.marks().at_least if least else ''}{text.age(row.as_of - since)}"


def _subject(row: Row) -> Cell:
    return Cell(row.finding.subject, ACCENT)


def _many(row: Row) -> str:
    return f" ({text.exact(len(row.finding.groups))})" if row.finding.family else ""


COLUMNS: tuple[Column[Row], ...] = (
    Column("mark", " ", lambda row: " ", lambda row: Cell(text.marks().marked if row.marked else " ", ACCENT), least=1),
    Column(
        "severity", "", lambda row: row.finding.severity.value,
        lambda row: Cell(row.finding.severity.value.upper(), ROLES[row.finding.severity]), least=5,
    ),
    Column("kind", "FINDING", lambda row: row.finding.kind.value, rank=3, least=12),
    Column("group", "GROUP", lambda row: row.finding.subject, _subject, least=16, most=48, cut="middle"),
    Column("since", "FOR", _lasted, lambda row: Cell(Shown(_lasted(row) or ""), MUTED), rank=2, right=True),
    Column("what", "WHAT", lambda row: row.finding.what, rank=1, least=20, most=200),
)  # fmt: skip


# -- one finding -----------------------------------------------------------------------------------------------------


def told(row: Row, width: int, most: int = 6) -> list[Line]:
    """What is known of a finding and what to do next, in at most so many lines, four or more, of so many cells."""
    finding = row.finding
    since = _since(row, short=width < NARROW)
    name = fitted(finding.subject, max(width - len(since) - len(finding.kind.value) - 10, 16), cut="middle")
    head = (
        Cell(f"{finding.severity.value.upper()} ", ROLES[finding.severity]), Cell(name, ACCENT),
        Cell(f"  {finding.kind.value}"), Cell(Shown(since), MUTED),
    )  # fmt: skip
    command = (Cell("      ", MUTED), Cell(fitted(join(finding.command), width - 6), MUTED))
    room = most - 1 - bool(finding.command)
    what = wrap([Cell(f"{_start(finding.what)}.")], width)
    advice = wrap([Cell("next: ", MUTED), Cell(finding.advice)], width)
    what = _cut(what, room - min(len(advice), room // 2), width)
    advice = _cut(advice, room - len(what), width)
    return [head, *what, *advice, *([command] if finding.command else [])]


def _cut(lines: list[Line], most: int, width: int) -> list[Line]:
    """The first of them, with an ellipsis where there are more."""
    if len(lines) <= most:
        return lines
    *before, last = lines[:most]
    words = Shown("".join(cell.text for cell in last))
    more = f" {text.marks().ellipsis}"
    return [*before, (Cell(fitted(Shown(f"{words}{more}"), width), last[-1].role),)]


def _since(row: Row, *, short: bool) -> str:
    """Since when, and how long that is; in short only the latter."""
    finding = row.finding
    if finding.since is None:
        return ""
    long = lasted(finding, row.as_of)
    if short:
        return f" for{' at least' if finding.since_at_least else ''} {long}" if long else ""
    least = " at the latest" if finding.since_at_least else ""
    return f" since{least} {minute(finding.since)}{f' ({long})' if long else ''}"


def _start(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def minute(at: float) -> str:
    """A moment without seconds and offset."""
    return text.date(at)[:16]
