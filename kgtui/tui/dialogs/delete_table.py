"""The table and the texts of the delete dialog, and `DeleteResultDialog`, which shows the results of a deletion."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from kgtui.actions.plan import Allowed, SafeToDelete, Undo, loss_text, safety_of, type_text, undo_text, unread_text
from kgtui.actions.results import DeletionStatus
from kgtui.model import command_line
from kgtui.model.health.wording import duration
from kgtui.model.number_format import counted
from kgtui.tui import text
from kgtui.tui.panes.base import join_with_dots, to_content
from kgtui.tui.panes.cells import ERROR, MUTED, OK, WARN, Cell, SafeText, wrap_cells
from kgtui.tui.panes.columns import Column
from kgtui.tui.panes.row_detail import DetailedTable
from kgtui.tui.panes.table import LineTable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from textual.app import ComposeResult

    from kgtui.actions.plan import Plan, Refused, Safety
    from kgtui.actions.results import Results
    from kgtui.config import StateFolder
    from kgtui.model.command_line import CommandLine


class DeleteResultDialog(ModalScreen[None]):
    """Shows the result of a deletion for each group, worst first, and the paths of the backups and the audit log."""

    DEFAULT_CSS = """
    DeleteResultDialog { align: center middle; }
    DeleteResultDialog #box {
        width: 96; max-width: 98%; height: 60%; min-height: 14; max-height: 100%;
        background: $surface; border: round $kg-ok; padding: 0 1;
    }
    DeleteResultDialog.-bad #box { border: round $kg-error; }
    DeleteResultDialog #title { text-style: bold; height: auto; }
    DeleteResultDialog #paths { height: auto; max-height: 4; }
    DeleteResultDialog #buttons { height: 1; align-horizontal: right; }
    """

    AUTO_FOCUS = "#close"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Close", show=False)]
    """
    | key | does |
    |---|---|
    | escape | close |
    """

    def __init__(self, results: Results, folder: StateFolder) -> None:
        super().__init__()
        self.results = results
        self._folder = folder
        self.set_class(not self._all_deleted, "-bad")

    def compose(self) -> ComposeResult:
        backups = (Cell("Backups   ", MUTED), Cell(str(self._folder.backups)))
        log = (Cell("Audit log ", MUTED), Cell(str(self._folder.audit)))
        with Vertical(id="box"):
            yield Static(to_content([(self._counts(),)]), id="title")
            yield DeleteTable(result_rows(self.results), "DETAILS")
            yield Static(to_content([backups, log]), id="paths")
            with Horizontal(id="buttons"):
                yield Button("Close", id="close", compact=True)

    def _counts(self) -> Cell:
        counts = {status: self.results.count(status) for status in DeletionStatus}
        summary = ", ".join(f"{count:,} {status.value}" for status, count in counts.items() if count)
        return Cell(summary, OK if self._all_deleted else ERROR)

    @property
    def _all_deleted(self) -> bool:
        return self.results.count(DeletionStatus.DELETED) == len(self.results.by_group)

    @on(Button.Pressed, "#close")
    def action_close(self) -> None:
        self.dismiss(None)


LABEL_WIDTH = 12
"""Width of the labels in the details of a group, such as `Last commit`, in terminal cells."""

_STATUS_ROLES = {
    DeletionStatus.DELETED: OK,
    DeletionStatus.REFUSED: WARN,
    DeletionStatus.GONE: WARN,
    DeletionStatus.FAILED: ERROR,
    DeletionStatus.UNCERTAIN: ERROR,
}

_ANSWER_ROLES = {SafeToDelete.YES: OK, SafeToDelete.UNCERTAIN: WARN, SafeToDelete.NO: ERROR}

_WORST_FIRST = (
    DeletionStatus.UNCERTAIN,
    DeletionStatus.FAILED,
    DeletionStatus.GONE,
    DeletionStatus.REFUSED,
    DeletionStatus.DELETED,
)


@dataclass(frozen=True, slots=True)
class DeleteRow:
    """One row of the table in a delete dialog.

    Attributes:
        status: what will happen to the group (`delete` or `refused`) or, after the deletion, what has happened, such as
            `deleted`.
        role: theme color of the status, such as `kg-error`.
        details: what will be lost, or why the group cannot be deleted; after the deletion, the backup file or the
            error.
    """

    group: str
    type: str
    status: str
    role: str
    details: str


def columns(details_title: str) -> tuple[Column[DeleteRow], ...]:
    """Return the columns of the table in a delete dialog.

    Args:
        details_title: title of the column that shows `DeleteRow.details`.
    """
    return (
        Column("verdict", "WHAT", lambda row: row.status, lambda row: Cell(row.status, row.role), max_width=12),
        Column("group", "GROUP", lambda row: row.group, min_width=16, max_width=40, cut="middle"),
        Column("type", "TYPE", lambda row: row.type, lambda row: Cell(row.type, MUTED), rank=2, max_width=18),
        Column("words", details_title, lambda row: row.details, min_width=36, max_width=200),
    )


class DeleteTable(DetailedTable[DeleteRow]):
    """A table with one row per group, and below the table the full text of the row under the cursor."""

    def __init__(self, rows: Sequence[DeleteRow] = (), details_title: str = "LOSS, OR WHY REFUSED") -> None:
        super().__init__(LineTable(columns(details_title), lambda row: row.group, id="lines"), id="many")
        self._initial_rows = rows

    def on_mount(self) -> None:
        self.table.set_rows(self._initial_rows, fresh=True)


@dataclass(frozen=True, slots=True)
class ObservedGroups:
    """What kgtui has observed about the groups to delete. Times are in seconds since the epoch.

    Attributes:
        now: current time.
        empty_since: group id → time at which the current state of the group began. For a group in state Empty, this is
            when its last member left, or when it was created. Groups for which this time is unknown are missing.
        consumed_until: group id → time at which the newest record that the group has consumed was written; a lower
            bound if the exact time is unknown. Groups for which no lower bound is known are missing.
        appeared: ids of groups that were created while kgtui was running, and have been in the same state since then.
    """

    now: float
    empty_since: Mapping[str, float] = field(default_factory=dict)
    consumed_until: Mapping[str, float] = field(default_factory=dict)
    appeared: Collection[str] = ()

    def safety_of(self, line: Allowed | Refused) -> Safety:
        """Return whether it is safe to delete a group, and the reason.

        Args:
            line: the group's entry in the deletion plan, which allows or refuses the deletion.
        """
        group = line.group
        return safety_of(line, now=self.now, empty_since=self.empty_since.get(group), appeared=group in self.appeared)


def plan_rows(made: Plan, observed: ObservedGroups) -> list[DeleteRow]:
    """Return one table row per group of a deletion plan. Groups whose deletion is refused come last."""
    allowed = [
        DeleteRow(
            line.group,
            type_text(line.description),
            "delete",
            ERROR,
            f"{observed.safety_of(line).short_text}; {loss_text(line.loss)}; {undo_text(line.loss)}",
        )
        for line in made.allowed
    ]
    refused = [DeleteRow(line.group, line.type or "?", "refused", WARN, line.reason) for line in made.refused]
    return allowed + refused


def result_rows(results: Results) -> list[DeleteRow]:
    """Return one table row per group with the result of its deletion, worst results first."""
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


def plan_summary(made: Plan, folder: StateFolder, observed: ObservedGroups) -> Content:
    """Return the lines above the table of groups: how many are safe to delete, and what would be lost.

    Args:
        made: the deletion plan.
    """
    allowed, refused = made.allowed, made.refused
    answers = [observed.safety_of(line).answer for line in allowed]
    counts = [
        (answers.count(SafeToDelete.YES), "safe to delete", OK),
        (answers.count(SafeToDelete.UNCERTAIN), "uncertain", WARN),
    ]
    counts += [(answers.count(SafeToDelete.NO), "not safe", ERROR), (len(refused), "refused", WARN)]
    cells = [Cell(f"{count:,} {what}", role) for count, what, role in counts if count]
    total = sum(line.loss.partitions for line in allowed)
    unread = sum(line.loss.unread.lag or 0 for line in allowed)
    at_least = "at least " if any(line.loss.hidden for line in allowed) else ""
    more = at_least or ("at least " if any(line.loss.unread.lower_bound for line in allowed) else "")
    lost = f"Lost: the offsets of {at_least}{counted(total, 'partition')} with {more}{counted(unread, 'unread record')}"
    commits = [line.loss.last_commit for line in allowed if line.loss.last_commit is not None]
    if commits:
        lost = f"{lost}; newest commit {_time_text(max(commits), observed.now)}"
    return to_content(
        [
            join_with_dots(cells),
            (Cell(lost),),
            (Cell("Backups ", MUTED), Cell(str(folder.backups))),
        ]
    )


def _time_text(at: float, now: float) -> str:
    return f"{text.date(at)}, {duration(now - at)} ago"


def group_details(
    line: Allowed | Refused, folder: StateFolder, commands: list[CommandLine], width: int, observed: ObservedGroups
) -> Content:
    """Return the details of one group: whether it is safe to delete the group, and what will be lost.

    Args:
        line: the group's entry in the deletion plan, which allows or refuses the deletion.
        commands: commands of Kafka's own tools that would delete the group.
        width: width of a line in terminal cells.
    """
    safety = observed.safety_of(line)
    safe = ("Safe", (Cell(safety.text, _ANSWER_ROLES[safety.answer]),))
    if not isinstance(line, Allowed):
        return _fields([safe, ("Type", (Cell(line.type),))] if line.type else [safe], width)
    description, loss = line.description, line.loss
    source = f" ({description.source} of broker {description.coordinator})"
    fields_of_group = _fields(
        [
            safe,
            ("Unread", (Cell(unread_text(loss), WARN if loss.unread.lag else ""),)),
            ("Last commit", (Cell(_last_commit(line, observed)),)),
            ("Type", (Cell(type_text(description)),)),
            ("State", (Cell(description.state), Cell(source, MUTED))),
            ("Lost", (Cell(loss_text(loss), WARN if loss.partitions else ""),)),
            ("Undo", (Cell(undo_text(loss), ERROR if loss.undo is Undo.IRREVERSIBLE else ""),)),
            ("Backup", (Cell(str(folder.backups)),)),
        ],
        width,
    )
    return Content.assemble(fields_of_group, *(part for command in commands for part in _command(command, width)))


def _last_commit(line: Allowed, observed: ObservedGroups) -> str:
    if line.loss.last_commit is not None:
        return _time_text(line.loss.last_commit, observed.now)
    consumed = observed.consumed_until.get(line.group)
    if consumed is None:
        return "none observed since kgtui started"
    return f"none observed; the last consumed record was written {_time_text(consumed, observed.now)}"


def _fields(fields: Iterable[tuple[str, tuple[Cell, ...]]], width: int) -> Content:
    lines: list[tuple[Cell, ...]] = []
    for name, cells in fields:
        for index, part in enumerate(wrap_cells(cells, max(16, width - LABEL_WIDTH))):
            lines.append((Cell(f"{'' if index else name:<{LABEL_WIDTH}}", MUTED), *part))
    return to_content(lines)


def _command(command: CommandLine, width: int) -> Iterable[Content]:
    """Return lines that show a command and, below the command, its note, unless the note is empty.

    The command is already quoted for the shell, so it contains no control characters that must be escaped.
    """
    shown = Cell(SafeText(text.fit(command.text, 600, cut="middle")))
    yield Content.assemble("\n", _fields([("Command", (shown,))], width))
    if command.note:
        yield Content.assemble("\n", _fields([("", (Cell(command.note, MUTED),))], width))


def kafka_commands(made: Plan, bootstrap: str, command_config: str | None) -> list[CommandLine]:
    """Return the commands with which Kafka's own tools would delete the groups.

    There is one command for each kind of group, such as consumer groups or share groups.

    Args:
        made: the deletion plan. Groups whose deletion it refuses are left out of the commands.
        bootstrap: bootstrap servers of the cluster, separated by commas.
        command_config: path for the option `--command-config`; None to omit it.
    """
    by_kind: dict[str, list[str]] = {}
    for line in made.allowed:
        by_kind.setdefault(line.description.kind, []).append(line.group)
    seeds = tuple(filter(None, bootstrap.split(",")))
    return [
        command_line.delete(groups, kind, seeds, command_config=command_config)
        for kind, groups in sorted(by_kind.items())
    ]
