"""The dialog with the results of a deletion."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from kgtui.actions.results import DeletionStatus
from kgtui.tui.dialogs.delete_table import DeleteTable, result_rows
from kgtui.tui.panes.base import to_content
from kgtui.tui.panes.cells import ERROR, MUTED, OK, Cell

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from kgtui.actions.results import Results
    from kgtui.config import StateFolder


class DeleteResultDialog(ModalScreen[None]):
    """Shows the result of a deletion for each group, failures first, and the paths of the backups and the audit log.

    Args:
        results: the results of the deletion.
        folder: folder with the backups and the audit log.
    """

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
