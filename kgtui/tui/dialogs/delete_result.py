"""What became of each group, after a delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from kgtui.actions.results import DeletionStatus
from kgtui.tui.dialogs.delete_lines import DeleteTable, result_lines
from kgtui.tui.panes.base import to_content
from kgtui.tui.panes.cells import ERROR, MUTED, OK, Cell

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from kgtui.actions.results import Results
    from kgtui.actions.state_folder import StateFolder


class DeleteResult(ModalScreen[None]):
    """One line for each group, the worst first, and where backups and the log are."""

    DEFAULT_CSS = """
    DeleteResult { align: center middle; }
    DeleteResult #box {
        width: 96; max-width: 98%; height: 60%; min-height: 14; max-height: 100%;
        background: $surface; border: round $kg-ok; padding: 0 1;
    }
    DeleteResult.-bad #box { border: round $kg-error; }
    DeleteResult #title { text-style: bold; height: auto; }
    DeleteResult #where { height: auto; max-height: 4; }
    DeleteResult #buttons { height: 1; align-horizontal: right; }
    """

    AUTO_FOCUS = "#close"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Close", show=False)]
    """
    | key | does |
    |---|---|
    | escape | closes |
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
            yield DeleteTable(result_lines(self.results), "WHAT TO KNOW")
            yield Static(to_content([backups, log]), id="where")
            with Horizontal(id="buttons"):
                yield Button("Close", id="close", compact=True)

    def _counts(self) -> Cell:
        counts = {status: self.results.count(status) for status in DeletionStatus}
        said = ", ".join(f"{count:,} {status.value}" for status, count in counts.items() if count)
        return Cell(said, OK if self._all_deleted else ERROR)

    @property
    def _all_deleted(self) -> bool:
        return self.results.count(DeletionStatus.DELETED) == len(self.results.by_group)

    @on(Button.Pressed, "#close")
    def action_close(self) -> None:
        """Back to the groups."""
        self.dismiss(None)
