"""The texts of the Insights screen: rows and descriptions of findings, and warnings about gold tables.

Findings are problems that kgtui has found in gold tables, which a Spark job computes from a recording.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kgtui.insights.finding import CREATE_GOLD_TABLES, Kind, Severity, lasted
from kgtui.model.command_line import join
from kgtui.model.guard import READ_ONLY
from kgtui.model.number_format import counted
from kgtui.tui import text
from kgtui.tui.panes.cells import (
    ACCENT,
    ERROR,
    MUTED,
    WARN,
    Cell,
    PaneLine,
    SafeText,
    fit_text,
    wrap_cells,
)
from kgtui.tui.panes.columns import Column

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kgtui.insights.finding import Finding, Insights
    from kgtui.lake.store import LakePath
    from kgtui.tui.recording import LakeChoice
    from kgtui.tui.screens.cluster import ClusterScreen

NARROW = 76
"""Minimum width of the description of a finding, in terminal cells, for showing when the problem began.

A narrower description shows only how long the problem has lasted.
"""

SEVERITY_ROLES = {Severity.ERROR: ERROR, Severity.WARN: WARN, Severity.NOTE: MUTED}


class FindingRow(NamedTuple):
    """One row of the table of findings (problems of groups).

    Attributes:
        number: position in the list of all findings, which identifies the row; 0 for the most urgent finding.
        as_of: time of the newest data in the gold tables, in epoch seconds; None if the tables are empty.
        marked: whether all existing groups of the finding are marked in the group tree. Always False unless the finding
            is about unused groups, because the groups of other findings cannot be marked on this screen.
    """

    number: int
    finding: Finding
    as_of: float | None = None
    marked: bool = False


def finding_rows(
    found: Insights, group_ids: Collection[str], marked: Collection[str], kind: Kind | None = None
) -> list[FindingRow]:
    """Return one row per finding, the most urgent first.

    Args:
        group_ids: ids of the groups that exist now.
        marked: ids of the groups that are marked in the group tree.
        kind: kind of findings to return, such as `Kind.UNUSED`; None for all findings.
    """
    return [
        FindingRow(number, finding, found.as_of, is_marked(finding, group_ids, marked))
        for number, finding in enumerate(found.findings)
        if kind is None or finding.kind is kind
    ]


def is_marked(finding: Finding, group_ids: Collection[str], marked: Collection[str]) -> bool:
    """Return whether all groups of a finding that still exist are marked in the group tree.

    Return False if the finding is not about unused groups, or if none of its groups exists any more.

    Args:
        group_ids: ids of the groups that exist now.
        marked: ids of the groups that are marked in the tree.
    """
    if finding.kind is not Kind.UNUSED or not marked:
        return False
    groups = [group for group in finding.groups if group in group_ids]
    return bool(groups) and all(group in marked for group in groups)


def _lasted(row: FindingRow) -> str | None:
    since, least = row.finding.since, row.finding.since_at_least
    if since is None or row.as_of is None:
        return None
    if row.as_of - since < 1:
        return "now"
    return f"{text.marks().at_least if least else ''}{text.age(row.as_of - since)}"


def _subject(row: FindingRow) -> Cell:
    return Cell(row.finding.subject, ACCENT)


FINDING_COLUMNS: tuple[Column[FindingRow], ...] = (
    Column(
        "mark", " ", lambda row: " ", lambda row: Cell(text.marks().marked if row.marked else " ", ACCENT), min_width=1
    ),
    Column(
        "severity", "", lambda row: row.finding.severity.value,
        lambda row: Cell(row.finding.severity.value.upper(), SEVERITY_ROLES[row.finding.severity]), min_width=5,
    ),
    Column("kind", "FINDING", lambda row: row.finding.kind.value, rank=3, min_width=12),
    Column("group", "GROUP", lambda row: row.finding.subject, _subject, min_width=16, max_width=48, cut="middle"),
    Column("since", "LASTS", _lasted, lambda row: Cell(SafeText(_lasted(row) or ""), MUTED), rank=2, right=True),
    Column("what", "WHAT", lambda row: row.finding.what, rank=1, min_width=20, max_width=200),
)  # fmt: skip


def describe_finding(row: FindingRow, width: int, most: int = 6) -> list[PaneLine]:
    """Return lines that describe a finding and say what to do next.

    Args:
        width: width of a line in terminal cells.
        most: maximum number of lines, at least 4. A text that does not fit is cut off, and ends with an ellipsis.
    """
    finding = row.finding
    since = _since(row, short=width < NARROW)
    name = fit_text(finding.subject, max(width - len(since) - len(finding.kind.value) - 10, 16), cut="middle")
    head = (
        Cell(f"{finding.severity.value.upper()} ", SEVERITY_ROLES[finding.severity]), Cell(name, ACCENT),
        Cell(f"  {finding.kind.value}"), Cell(SafeText(since), MUTED),
    )  # fmt: skip
    command = (Cell("      ", MUTED), Cell(fit_text(join(finding.command), width - 6), MUTED))
    room = most - 1 - bool(finding.command)
    what = wrap_cells([Cell(f"{_start(finding.what)}.")], width)
    advice = wrap_cells([Cell("next: ", MUTED), Cell(finding.advice)], width)
    what = _cut(what, room - min(len(advice), room // 2), width)
    advice = _cut(advice, room - len(what), width)
    return [head, *what, *advice, *([command] if finding.command else [])]


def _cut(lines: list[PaneLine], most: int, width: int) -> list[PaneLine]:
    if len(lines) <= most:
        return lines
    *before, last = lines[:most]
    content = SafeText("".join(cell.text for cell in last))
    more = f" {text.marks().ellipsis}"
    return [*before, (Cell(fit_text(SafeText(f"{content}{more}"), width), last[-1].role),)]


def _since(row: FindingRow, *, short: bool) -> str:
    """Format the start and the duration of a finding's problem, such as ` since 2026-11-21 10:04 (2 h)`.

    If `short` is true, format only the duration, such as ` for 2 h`. Return an empty text if the start is unknown.
    """
    finding = row.finding
    if finding.since is None:
        return ""
    long = lasted(finding, row.as_of)
    if short:
        return f" for{' at least' if finding.since_at_least else ''} {long}" if long else ""
    least = " at the latest" if finding.since_at_least else ""
    return f" since {text.date_minutes(finding.since)}{least}{f' ({long})' if long else ''}"


def _start(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def toggle_marks(row: FindingRow, main: ClusterScreen, recorded: str | None) -> tuple[bool, str]:
    """Mark the groups of a finding in the group tree or, if all of them are marked, unmark them.

    The user can then delete the marked groups. Return `(whether a mark has changed, message for the user)`.

    Args:
        recorded: id of the cluster that the finding is about; None if unknown.
    """
    why = _why_not(row, main, recorded)
    if why:
        return False, why
    existing = [group for group in row.finding.groups if group in main.snapshot.groups]
    main.group_tree.set_marks(existing, marked=not row.marked)
    missing = len(row.finding.groups) - len(existing)
    gone = f" ({missing:,} no longer listed)" if missing else ""
    many = counted(len(existing), "group")
    if row.marked:
        return True, f"{many} unmarked{gone}"
    return True, f"{many} marked{gone}; to delete those that are Empty, press d in the tree"


def cluster_mismatch(recorded: str | None, main: ClusterScreen) -> str:
    """Return a warning if the main screen shows a different cluster than the findings; otherwise an empty string.

    Args:
        recorded: id of the cluster that the findings are about; None if unknown.
    """
    live = main.snapshot.cluster.cluster_id
    if recorded is None or live is None or recorded == live:
        return ""
    return f"these findings are about cluster {recorded}; kgtui shows cluster {live}"


def _why_not(row: FindingRow, main: ClusterScreen, recorded: str | None) -> str:
    if row.finding.kind is not Kind.UNUSED:
        return "groups can be marked only in findings about unused groups; press enter to go to the group"
    if main.session.replay_position is not None:
        return "groups cannot be marked in a recording, because they cannot be deleted there"
    if main.session.read_only:
        return READ_ONLY
    if cluster_mismatch(recorded, main):
        return "these findings are about another cluster, so their groups cannot be marked"
    if not any(group in main.snapshot.groups for group in row.finding.groups):
        return "the groups of this finding no longer exist on this cluster"
    return ""


OLD_SECONDS = 3_600.0
"""Maximum age of current data in the gold tables, in seconds. The age of older data is shown in a warning color."""

BEHIND_SECONDS = 2 * 86_400.0
"""A gold table is outdated if its data ends more than this many seconds before the newest data in any gold table.

This time is longer than a day, because a table that contains only whole days can end a day before the other tables.
"""


def findings_summary(found: Insights, now: float) -> list[PaneLine]:
    """Return the parts of the line above the findings.

    The parts are the number of findings per severity, the time and age of the newest data in the gold tables, and how
    long ago Spark computed the gold tables. If it computed them at different times, the earliest time counts.

    Args:
        now: current time in seconds since the epoch.
    """
    counts = [(severity, sum(1 for one in found.findings if one.severity is severity)) for severity in Severity]
    parts: list[PaneLine] = [
        (Cell(f"{text.exact(count)} {one.value}", SEVERITY_ROLES[one]),) for one, count in counts if count
    ]
    if not parts:
        parts.append((Cell("no findings"),))
    if found.as_of is None:
        return [*parts, (Cell("the tables are empty", WARN),)]
    age = now - found.as_of
    role = WARN if age > OLD_SECONDS else ""
    parts.append(
        (
            Cell("as of ", MUTED),
            Cell(SafeText(f"{text.date_minutes(found.as_of)}, ")),
            Cell(SafeText(f"{text.age(age)} ago"), role),
        )
    )
    made = [table.written for table in found.tables if table.written is not None]
    if made:
        parts.append((Cell(SafeText(f"computed {text.age(now - min(made))} ago"), MUTED),))
    return parts


def table_warnings(found: Insights, path: LakePath, now: float) -> list[PaneLine]:
    """Return lines with warnings about missing, unreadable and outdated gold tables; may be empty.

    The last line contains the command that creates or updates the tables. This line is left out if there are no
    warnings and the newest data is at most `OLD_SECONDS` old, and also if the tables contain no data.

    Args:
        path: folder with the recording and the gold tables.
        now: current time in seconds since the epoch.
    """
    never = [table.table for table in found.missing if not _broken(table.error)]
    lines: list[PaneLine] = []
    if never:
        kinds = ", ".join(kind.value for kind in Kind if kind.table.title in never)
        missing = f"missing tables: {', '.join(never)}"
        lines.append(_warning(f"{missing}; no findings about: {kinds}" if kinds else missing))
    lines += [
        _warning(f"{table.table} cannot be read: {table.error}", ERROR)
        for table in found.missing
        if _broken(table.error)
    ]
    if found.as_of is None:
        return lines
    behind = [
        one.table
        for one in found.tables
        if one.covered_to is not None and found.as_of - one.covered_to > BEHIND_SECONDS
    ]
    if behind:
        lines.append(_warning(f"outdated tables: {', '.join(behind)}"))
    if lines or now - found.as_of > OLD_SECONDS:
        verb = "creates the tables" if never else "updates the tables"
        lines.append((Cell(f"{pipeline_command(path)} ", ACCENT), Cell(verb, MUTED)))
    return lines


def _warning(content: str, role: str = WARN) -> PaneLine:
    return Cell(f"{text.marks().fault} ", role), Cell(content)


def _broken(error: str) -> bool:
    from kgtui.lake.gold import NEVER_WRITTEN

    return bool(error) and error != NEVER_WRITTEN


def pipeline_command(path: LakePath) -> str:
    """Return the command line that computes the gold tables from the recording in the folder `path`."""
    return join(("kgtui", "pipeline", "run", f"--lake={path}"))


def no_findings_lines(
    which: LakeChoice, error: str, *, recorded: bool, seeds: Sequence[str], width: int
) -> list[PaneLine]:
    """Return lines that say why there are no findings, and which commands the user must run to get findings.

    Args:
        which: the lake (folder for a recording and its gold tables), and whether the user has chosen this folder.
        error: why the gold tables could not be read.
        recorded: whether the folder contains a recording.
        seeds: bootstrap addresses `host:port` of the cluster, for the commands in the lines.
        width: width of a line in terminal cells.
    """
    path, blank = which.path, Cell("   ")
    servers = ("--bootstrap-server", ",".join(seeds)) if seeds else ()
    makes: list[PaneLine] = [
        (Cell("A Spark job computes the tables, here or on another machine:"),),
        (blank, Cell(pipeline_command(path), ACCENT)),
    ]
    if recorded or which.chosen:
        # Remove the advice at the end of the error message, because the lines that follow give the same advice.
        reason = error.removesuffix(CREATE_GOLD_TABLES)
        paragraphs: list[PaneLine] = [(Cell("There are no findings. ", WARN), Cell(reason)), (), *makes]
    else:
        paragraphs = [
            (Cell("There are no findings: this cluster is not recorded.", WARN),),
            (),
            (
                Cell(
                    "Findings come from a lake: a folder with a recording of the cluster, and with tables that Spark "
                    "computes from it."
                ),
            ),
            (),
            (
                Cell("Press "),
                Cell("R", ACCENT),
                Cell(" to record the cluster while kgtui is open. To record without the terminal UI:"),
            ),
            (blank, Cell(join(("kgtui", "record", str(path), *servers)), ACCENT)),
            *makes,
            (),
            (
                Cell("To read another lake, set the environment variable ", MUTED),
                Cell("KGTUI_LAKE", ACCENT),
                Cell(" to its folder.", MUTED),
            ),
            (Cell("kgtui pipeline demo", ACCENT), Cell(" creates an example lake with findings of every kind.", MUTED)),
        ]
    return [line for paragraph in paragraphs for line in (wrap_cells(paragraph, width) or [()])]
