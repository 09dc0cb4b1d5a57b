"""How old a lake's findings are, what is not among them, and what to do where there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.insights.finding import Kind, Severity
from kgtui.model.command_line import join
from kgtui.tui import text
from kgtui.tui.insights.rows import ROLES, minute
from kgtui.tui.panes.cells import ACCENT, ERROR, MUTED, WARN, Cell, Shown, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kgtui.insights.finding import Insights
    from kgtui.tui.lakes import Which
    from kgtui.tui.panes.lines import Line

OLD = 3_600.0
"""Seconds after which findings are called old."""

BEHIND = 2 * 86_400.0
"""Seconds that a table knows less than the others before that is said; some tables rest on whole days."""


def summary(found: Insights, now: float) -> list[Line]:
    """How many findings, as of when, and when the tables were made."""
    counts = [(severity, sum(1 for one in found.findings if one.severity is severity)) for severity in Severity]
    parts: list[Line] = [(Cell(f"{text.exact(count)} {one.value}", ROLES[one]),) for one, count in counts if count]
    if not parts:
        parts.append((Cell("nothing to tell"),))
    if found.as_of is None:
        return [*parts, (Cell("the tables are empty", WARN),)]
    age = now - found.as_of
    role = WARN if age > OLD else ""
    parts.append(
        (Cell("as of ", MUTED), Cell(Shown(f"{minute(found.as_of)}, ")), Cell(Shown(f"{text.age(age)} ago"), role))
    )
    made = [table.written for table in found.tables if table.written is not None]
    if made:
        parts.append((Cell(Shown(f"made {text.age(now - min(made))} ago"), MUTED),))
    return parts


def warnings(found: Insights, path: Path, now: float) -> list[Line]:
    """What the findings do not tell: of tables that are not there, cannot be read or are behind; and old ones."""
    never = [table.table for table in found.missing if not _broken(table.trouble)]
    lines: list[Line] = []
    if never:
        kinds = ", ".join(kind.value for kind in Kind if kind.table in never)
        lines.append(
            _warning(f"not made yet: {', '.join(never)}" + (f"; nothing is known of: {kinds}" if kinds else ""))
        )
    lines += [
        _warning(f"{table.table} cannot be read: {table.trouble}", ERROR)
        for table in found.missing
        if _broken(table.trouble)
    ]
    if found.as_of is None:
        return lines
    behind = [one.table for one in found.tables if one.covered_to is not None and found.as_of - one.covered_to > BEHIND]
    if behind:
        lines.append(_warning(f"behind the others: {', '.join(behind)}"))
    if lines or now - found.as_of > OLD:
        verb = "makes them" if never else "brings them up to date"
        lines.append((Cell(f"{command(path)} ", ACCENT), Cell(verb, MUTED)))
    return lines


def _warning(words: str, role: str = WARN) -> Line:
    return Cell(f"{text.marks().fault} ", role), Cell(words)


def _broken(trouble: str) -> bool:
    from kgtui.lake.gold import NEVER_MADE

    return bool(trouble) and trouble != NEVER_MADE


def command(path: Path) -> str:
    """What makes the tables of a lake."""
    return join(("kgtui", "pipeline", "run", f"--lake={path}"))


def unmade(which: Which, trouble: str, *, recorded: bool, seeds: Sequence[str], width: int) -> list[Line]:
    """What to do where there are no findings of the cluster with these addresses, in lines of so many cells."""
    path, blank = which.path, Cell("   ")
    servers = ("--bootstrap-server", ",".join(seeds)) if seeds else ()
    makes: list[Line] = [
        (Cell("Spark makes the tables of it, on this machine or elsewhere:"),),
        (blank, Cell(command(path), ACCENT)),
    ]
    if recorded or which.named:
        said = trouble.split(": make them with")[0]
        paragraphs: list[Line] = [(Cell("There are no findings. ", WARN), Cell(said)), (), *makes]
    else:
        paragraphs = [
            (Cell("There are no findings: this cluster is not recorded.", WARN),),
            (),
            (Cell("They come from a lake: a folder into which it is recorded, and in which Spark makes tables."),),
            (),
            (Cell("R", ACCENT), Cell(" records it while this screen is open. Without a screen:")),
            (blank, Cell(join(("kgtui", "record", str(path), *servers)), ACCENT)),
            *makes,
            (),
            (Cell("KGTUI_LAKE", ACCENT), Cell(" names another lake, in the environment of kgtui.", MUTED)),
            (Cell("kgtui pipeline demo", ACCENT), Cell(" makes an example with everything in it.", MUTED)),
        ]
    return [line for paragraph in paragraphs for line in (wrap(paragraph, width) or [()])]
