"""Contents of the delete dialogs: fields about one group, and a table of several groups or results."""

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
    from kgtui.config import StateFolder
    from kgtui.model.command_line import CommandLine

LABEL_WIDTH = 12
"""Width of the label of a field, in cells."""

_STATUS_ROLES = {
    DeletionStatus.DELETED: OK,
    DeletionStatus.REFUSED: WARN,
    DeletionStatus.GONE: WARN,
    DeletionStatus.FAILED: ERROR,
    DeletionStatus.UNCERTAIN: ERROR,
}

_WORST_FIRST = (
    DeletionStatus.UNCERTAIN,
    DeletionStatus.FAILED,
    DeletionStatus.GONE,
    DeletionStatus.REFUSED,
    DeletionStatus.DELETED,
)


@dataclass(frozen=True, slots=True)
class DeleteRow:
    """One row of the table in a delete dialog: one group.

    Attributes:
        status: `delete` or `refused` before the delete, and the result afterwards, such as `deleted`.
        role: color role of the status.
        details: what will be lost, why the delete is refused or failed, or the name of the backup file.
    """

    group: str
    type: str
    status: str
    role: str
    details: str


def columns(details_title: str) -> tuple[Column[DeleteRow], ...]:
    """Return the columns of a delete dialog's table. The last column, `details_title`, shows `DeleteRow.details`."""
    return (
        Column("verdict", "WHAT", lambda row: row.status, lambda row: Cell(row.status, row.role), max_width=12),
        Column("group", "GROUP", lambda row: row.group, min_width=16, max_width=60, cut="middle"),
        Column("type", "TYPE", lambda row: row.type, lambda row: Cell(row.type, MUTED), rank=2, max_width=18),
        Column("words", details_title, lambda row: row.details, min_width=12, max_width=200),
    )


class DeleteTable(DetailedTable[DeleteRow]):
    """A table with one row per group, and the full text of the selected row below it."""

    def __init__(self, rows: Sequence[DeleteRow] = (), details_title: str = "WHY, OR WHAT IS LOST") -> None:
        super().__init__(LineTable(columns(details_title), lambda row: row.group, id="lines"), id="many")
        self._initial_rows = rows

    def on_mount(self) -> None:
        self.table.set_rows(self._initial_rows, fresh=True)


def plan_rows(made: Plan) -> list[DeleteRow]:
    """Return the rows of a plan: first the groups that will be deleted, then the groups whose delete is refused."""
    allowed = [
        DeleteRow(
            line.group,
            type_text(line.description),
            "delete",
            ERROR,
            f"{loss_text(line.loss)}; {undo_text(line.loss)}",
        )
        for line in made.allowed
    ]
    refused = [DeleteRow(line.group, line.type or "?", "refused", WARN, line.reason) for line in made.refused]
    return allowed + refused


def result_rows(results: Results) -> list[DeleteRow]:
    """Return one row per result: the deletes that failed or may have failed first, the successful ones last."""
    ordered = sorted(results.by_group.values(), key=lambda result: _WORST_FIRST.index(result.status))
    return [
        DeleteRow(
            result.group,
            "",
            result.status.value,
            _STATUS_ROLES[result.status],
            result.reason or (f"backup {result.backup.name}" if result.backup else ""),
        )
        for result in ordered
    ]


def plan_summary(made: Plan, folder: StateFolder) -> Content:
    """Return the lines above a table of several groups: how many will be deleted, and the backup folder."""
    allowed, refused = made.allowed, made.refused
    total = sum(line.loss.partitions for line in allowed)
    at_least = "at least " if any(line.loss.hidden for line in allowed) else ""
    return to_content(
        [
            (
                Cell(f"{len(allowed):,} will be deleted, with the offsets of {at_least}{total:,} partitions; "),
                Cell(f"{len(refused):,} refused", WARN if refused else MUTED),
            ),
            (Cell("Backups ", MUTED), Cell(str(folder.backups))),
        ]
    )


def group_details(line: Allowed | Refused, folder: StateFolder, commands: list[CommandLine], width: int) -> Content:
    """Return the details in a dialog about one group: what will be lost, or why the delete is refused.

    Args:
        line: what the plan says about the group.
        folder: state folder with the backups.
        commands: Kafka commands that delete the same group.
        width: cells per line.
    """
    if not isinstance(line, Allowed):
        fields = [("Refused", (Cell(line.reason, WARN),))]
        return _fields([("Type", (Cell(line.type),)), *fields] if line.type else fields, width)
    description, loss = line.description, line.loss
    source = f" ({description.source} of broker {description.coordinator})"
    fields_of_group = _fields(
        [
            ("Type", (Cell(type_text(description)),)),
            ("State", (Cell(description.state), Cell(source, MUTED))),
            ("Lost", (Cell(loss_text(loss), WARN if loss.partitions else ""),)),
            ("Last commit", (Cell("unknown" if loss.last_commit is None else text.date(loss.last_commit)),)),
            ("Undo", (Cell(undo_text(loss), ERROR if loss.undo is Undo.IRREVERSIBLE else ""),)),
            ("Backup", (Cell(str(folder.backups)),)),
        ],
        width,
    )
    return Content.assemble(fields_of_group, *(part for command in commands for part in _command(command, width)))


def _fields(fields: Iterable[tuple[str, tuple[Cell, ...]]], width: int) -> Content:
    """Return one line per `(label, value)`. A long value is wrapped; all its lines begin in the same column."""
    lines: list[tuple[Cell, ...]] = []
    for name, cells in fields:
        for index, part in enumerate(wrap_cells(cells, max(16, width - LABEL_WIDTH))):
            lines.append((Cell(f"{'' if index else name:<{LABEL_WIDTH}}", MUTED), *part))
    return to_content(lines)


def _command(command: CommandLine, width: int) -> Iterable[Content]:
    """Yield a Kafka command and its note. The command is not escaped here, because it is quoted for the shell."""
    yield Content.assemble(("\nSame as     ", f"${MUTED}"), text.fit(command.text, 600, cut="middle"))
    if command.note:
        yield Content.assemble("\n", _fields([("", (Cell(command.note, MUTED),))], width))


def kafka_commands(made: Plan, bootstrap: str, command_config: str | None) -> list[CommandLine]:
    """Return commands of Kafka's own tools that delete the groups of a plan, except groups whose delete is refused.

    There is one command per kind of group, such as `consumer` or `share`.

    Args:
        made: the plan.
        bootstrap: bootstrap servers of the cluster, separated by commas.
        command_config: path of the client properties file for the commands; None to leave out this option.
    """
    by_kind: dict[str, list[str]] = {}
    for line in made.allowed:
        by_kind.setdefault(line.description.kind, []).append(line.group)
    seeds = tuple(filter(None, bootstrap.split(",")))
    return [
        command_line.delete(groups, kind, seeds, command_config=command_config)
        for kind, groups in sorted(by_kind.items())
    ]
