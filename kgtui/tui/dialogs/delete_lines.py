"""What the delete dialogs say of each group: fields for one, a line each for many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.content import Content

from kgtui.actions.plan import Allowed, Undo, loss_text, type_text, undo_text
from kgtui.actions.results import DeletionStatus
from kgtui.model import command_line
from kgtui.tui import text
from kgtui.tui.panes.base import to_content
from kgtui.tui.panes.cells import ERROR, MUTED, OK, WARN, Cell, wrap_cells
from kgtui.tui.panes.columns import Column
from kgtui.tui.panes.row_detail import DetailedTable
from kgtui.tui.panes.table import LineTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kgtui.actions.plan import Plan, Refused
    from kgtui.actions.results import Results
    from kgtui.actions.state_folder import StateFolder
    from kgtui.model.command_line import CommandLine

INDENT = 12
"""Cells of the label of a field."""

_STATUS_ROLES = {
    DeletionStatus.DELETED: OK,
    DeletionStatus.REFUSED: WARN,
    DeletionStatus.GONE: WARN,
    DeletionStatus.FAILED: ERROR,
    DeletionStatus.UNCERTAIN: ERROR,
}


@dataclass(frozen=True, slots=True)
class Line:
    """One group in a table: what will become of it or has, and what there is to say."""

    group: str
    type: str
    verdict: str
    role: str
    words: str


def columns(words: str) -> tuple[Column[Line], ...]:
    """The columns of a table of groups, the last of which is headed so."""
    return (
        Column("verdict", "WHAT", lambda line: line.verdict, lambda line: Cell(line.verdict, line.role), max_width=12),
        Column("group", "GROUP", lambda line: line.group, min_width=16, max_width=60, cut="middle"),
        Column("type", "TYPE", lambda line: line.type, lambda line: Cell(line.type, MUTED), rank=2, max_width=18),
        Column("words", words, lambda line: line.words, min_width=12, max_width=200),
    )


class DeleteTable(DetailedTable[Line]):
    """A line for each group, the whole of it below."""

    def __init__(self, rows: Sequence[Line] = (), words: str = "WHY, OR WHAT IS LOST") -> None:
        super().__init__(LineTable(columns(words), lambda line: line.group, id="lines"), id="many")
        self._first = rows

    def on_mount(self) -> None:
        self.table.set_rows(self._first, fresh=True)


def lines_of(made: Plan) -> list[Line]:
    """Allowed and refused apart, the allowed first."""
    allowed = [
        Line(
            line.group,
            type_text(line.description),
            "delete",
            ERROR,
            f"{loss_text(line.loss)}; {undo_text(line.loss)}",
        )
        for line in made.allowed
    ]
    refused = [Line(line.group, line.type or "?", "refused", WARN, line.reason) for line in made.refused]
    return allowed + refused


def result_lines(results: Results) -> list[Line]:
    """What became of each group: what needs a look first."""
    order = [
        DeletionStatus.UNCERTAIN,
        DeletionStatus.FAILED,
        DeletionStatus.GONE,
        DeletionStatus.REFUSED,
        DeletionStatus.DELETED,
    ]
    rows = sorted(results.by_group.values(), key=lambda result: order.index(result.status))
    return [
        Line(
            result.group,
            "",
            result.status.value,
            _STATUS_ROLES[result.status],
            result.reason or (f"backup {result.backup.name}" if result.backup else ""),
        )
        for result in rows
    ]


def allowed_words(made: Plan, folder: StateFolder) -> Content:
    """The first lines above many groups."""
    allowed, refused = made.allowed, made.refused
    total = sum(line.loss.partitions for line in allowed)
    return to_content(
        [
            (
                Cell(f"{len(allowed):,} would be deleted, with offsets of {total:,} partitions; "),
                Cell(f"{len(refused):,} refused", WARN if refused else MUTED),
            ),
            (Cell("Backups ", MUTED), Cell(str(folder.backups))),
        ]
    )


def about(line: Allowed | Refused, folder: StateFolder, quoted: list[CommandLine], width: int) -> Content:
    """All that is to be known before one group is deleted, or why it is not, in lines of `width` cells."""
    if not isinstance(line, Allowed):
        fields = [("Refused", (Cell(line.reason, WARN),))]
        return _fields([("Type", (Cell(line.type),)), *fields] if line.type else fields, width)
    description, loss = line.description, line.loss
    says = f", as {description.source} of broker {description.coordinator} says"
    told = _fields(
        [
            ("Type", (Cell(type_text(description)),)),
            ("State", (Cell(description.state), Cell(says, MUTED))),
            ("Lost", (Cell(loss_text(loss), WARN if loss.partitions else ""),)),
            ("Last commit", (Cell("not known" if loss.last_commit is None else text.date(loss.last_commit)),)),
            ("Undo", (Cell(undo_text(loss), ERROR if loss.undo is Undo.IRREVERSIBLE else ""),)),
            ("Backup", (Cell(str(folder.backups)),)),
        ],
        width,
    )
    return Content.assemble(told, *(part for command in quoted for part in _quoted(command, width)))


def _fields(fields: Iterable[tuple[str, tuple[Cell, ...]]], width: int) -> Content:
    """Labels with what stands beside them, which goes on below itself and not below the label."""
    lines: list[tuple[Cell, ...]] = []
    for name, cells in fields:
        for index, part in enumerate(wrap_cells(cells, max(16, width - INDENT))):
            lines.append((Cell(f"{'' if index else name:<{INDENT}}", MUTED), *part))
    return to_content(lines)


def _quoted(command: CommandLine, width: int) -> Iterable[Content]:
    """The equivalent command: its escapes are the shell's, so it is not escaped once more."""
    yield Content.assemble(("\nSame as     ", f"${MUTED}"), text.fit(command.text, 600, cut="middle"))
    if command.note:
        yield Content.assemble("\n", _fields([("", (Cell(command.note, MUTED),))], width))


def commands(made: Plan, bootstrap: str, command_config: str | None) -> list[CommandLine]:
    """Kafka's own commands for what the plan allows, one for each kind of group."""
    by_kind: dict[str, list[str]] = {}
    for line in made.allowed:
        by_kind.setdefault(line.description.kind, []).append(line.group)
    seeds = tuple(filter(None, bootstrap.split(",")))
    return [
        command_line.delete(groups, kind, seeds, command_config=command_config)
        for kind, groups in sorted(by_kind.items())
    ]
