"""The delete dialogs: the first shows what will be lost and asks for confirmation, the second shows the results.

A dialog acts on the groups that were selected or marked when it was opened, even if the selection changes later.
`kgtui.actions` plans and executes the delete, and describes each group again immediately before the delete request is
sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from kgtui.actions.confirm import challenge
from kgtui.actions.execute import execute
from kgtui.actions.plan import plan
from kgtui.actions.results import DeletionStatus, Results
from kgtui.errors import KgtuiError
from kgtui.tui.dialogs.delete_table import (
    DeleteTable,
    group_details,
    kafka_commands,
    plan_rows,
    plan_summary,
    result_rows,
)
from kgtui.tui.dialogs.prompt import StatusLine
from kgtui.tui.panes.base import to_content
from kgtui.tui.panes.cells import ERROR, MUTED, OK, Cell, fit_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult

    from kgtui.actions.confirm import Challenge
    from kgtui.actions.plan import Plan
    from kgtui.actions.results import GroupResult
    from kgtui.config import StateFolder
    from kgtui.tui.session import Session

_OTHER_LINES = 13
"""Total height of frame, title, question, text fields, status and buttons, in lines.

The details of the plan may take the remaining lines of the screen.
"""


class DeleteDialog(ModalScreen[Results | None]):
    """Asks for confirmation, and deletes groups. Dismissed with the results, or None if nothing was deleted.

    Args:
        session: provides the `GroupAdmin` that deletes the groups, and the state folder for backups and the audit log.
        groups: ids of the groups to delete.
    """

    DEFAULT_CSS = """
    DeleteDialog { align: center middle; }
    DeleteDialog #box {
        width: 96; max-width: 98%; height: auto; max-height: 100%;
        background: $surface; border: round $kg-error; padding: 0 1;
    }
    DeleteDialog.-many #box { height: 95%; }
    DeleteDialog.-done #box { display: none; }
    DeleteDialog #title { text-style: bold; height: auto; max-height: 3; }
    DeleteDialog #about { height: auto; scrollbar-size-vertical: 1; }
    DeleteDialog #about Static { height: auto; }
    DeleteDialog DetailedTable { display: none; }
    DeleteDialog.-many DetailedTable { display: block; }
    DeleteDialog.-many #about { max-height: 3; }
    DeleteDialog #question, DeleteDialog #typed, DeleteDialog #second-word { display: none; }
    DeleteDialog.-asking #question { display: block; height: auto; max-height: 3; margin-top: 1; }
    DeleteDialog.-asking #typed { display: block; }
    DeleteDialog.-asking.-irreversible #second-word { display: block; }
    DeleteDialog Input { background: $panel; }
    DeleteDialog StatusLine { max-height: 2; }
    DeleteDialog #buttons { height: 1; align-horizontal: right; }
    DeleteDialog Button { margin-left: 2; }
    """

    AUTO_FOCUS = "#cancel"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel", show=False)]
    """
    | key | does |
    |---|---|
    | escape | cancel; has no effect while the delete is running |
    """

    class Planned(Message):
        """Posted when the plan is ready.

        The plan says for each group whether it may be deleted and what will be lost.
        """

        def __init__(self, plan: Plan) -> None:
            super().__init__()
            self.plan = plan

    class Finished(Message):
        """Posted when the delete was executed and each group has a result."""

        def __init__(self, results: Results) -> None:
            super().__init__()
            self.results = results

    class Failed(Message):
        """Posted when the plan or the delete failed before any delete request was sent."""

        def __init__(self, reason: str) -> None:
            super().__init__()
            self.reason = reason

    def __init__(self, session: Session, groups: Sequence[str]) -> None:
        super().__init__()
        self.groups = tuple(dict.fromkeys(groups))
        self.plan: Plan | None = None
        self.deleting = False
        """Whether the delete is running. If it is running and the user quits the app, the app first shows a warning."""
        self._session = session
        self._folder = session.state_folder
        self._challenge: Challenge | None = None
        self._finished_groups = 0

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(to_content([self._title()]), id="title")
            with VerticalScroll(id="about"):
                yield Static(id="details")
            yield DeleteTable()
            yield Static(id="question")
            yield Input(id="typed", compact=True, select_on_focus=False)
            yield Input(id="second-word", compact=True)
            yield StatusLine()
            with Horizontal(id="buttons"):
                yield Button("Cancel", id="cancel", compact=True)
                yield Button("Delete", id="delete", variant="error", compact=True, disabled=True)

    def on_mount(self) -> None:
        self.set_class(len(self.groups) != 1, "-many")
        self._show_status("Describing the groups and reading their offsets", MUTED)
        self._make_plan()

    def on_resize(self) -> None:
        if len(self.groups) == 1:
            self.query_one("#about").styles.max_height = max(3, self.app.size.height - _OTHER_LINES)
        self.call_after_refresh(self._show_details)

    def _title(self) -> tuple[Cell, ...]:
        if len(self.groups) != 1:
            return (Cell(f"Delete {len(self.groups):,} groups?", ERROR),)
        return Cell("Delete group ", ERROR), Cell(fit_text(self.groups[0], 90, cut="middle")), Cell(" ?", ERROR)

    # Methods that make the plan of the delete and show it

    @work(exclusive=True, group="delete", exit_on_error=False)
    async def _make_plan(self) -> None:
        admin = self._session.admin
        if admin is None:
            self.post_message(self.Failed("no cluster is open"))
            return
        try:
            made = await plan(admin, self.groups, last_commits=self._last_commits())
        except KgtuiError as error:
            self.post_message(self.Failed(str(error)))
        else:
            self.post_message(self.Planned(made))

    def _last_commits(self) -> dict[str, float]:
        """Return group id → time of the group's last commit. Groups without an observed commit are left out."""
        if self._session.monitor is None:
            return {}
        every = self._session.monitor.series
        times = {group: one.last_progress() for group in self.groups if (one := every.get(group)) is not None}
        return {group: at for group, at in times.items() if at is not None}

    @on(Planned)
    def _show_plan(self, message: Planned) -> None:
        self.plan = message.plan
        allowed = message.plan.allowed
        self._show_details()
        if len(self.groups) != 1:
            self.query_one(DeleteTable).table.set_rows(plan_rows(message.plan), fresh=True)
        if not allowed:
            self._show_status("Nothing can be deleted", ERROR)
            return
        self._challenge = challenge([line.group for line in allowed], irreversible=message.plan.irreversible)
        question = f"To confirm, type {self._challenge.what}:\n"
        # `asked` is the text that the user must type. It is not escaped, because it is printable ASCII, and because
        # escaping would show each backslash twice.
        self.query_one("#question", Static).update(Content.assemble(question, (self._challenge.asked, "bold")))
        self.query_one("#second-word", Input).placeholder = f"type {self._challenge.second_word} here as well"
        self.set_class(self._challenge.second_word is not None, "-irreversible")
        self.add_class("-asking")
        self._show_status("", MUTED)

    def _show_details(self) -> None:
        if self.plan is None:
            return
        details = self.query_one("#details", Static)
        if len(self.groups) == 1:
            target = self._session.target
            commands = kafka_commands(self.plan, target.bootstrap, target.command_config)
            width = self.query_one("#about").size.width - 1
            details.update(group_details(self.plan.lines[0], self._folder, commands, width))
        else:
            details.update(plan_summary(self.plan, self._folder))

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        self.deleting = False
        self._show_status(f"No delete request was sent: {message.reason}", ERROR)

    # Methods that check the text that the user types to confirm the delete

    def on_key(self, event: events.Key) -> None:
        """If a button has the focus, put a typed character into the text field and focus the field.

        The user can therefore type the confirmation at once, although the button Cancel has the focus at first.
        """
        character = event.character
        if not event.is_printable or character is None or character == " " or not isinstance(self.focused, Button):
            return
        event.stop()
        event.prevent_default()
        if self.has_class("-asking") and not self.deleting:
            field = self.query_one("#typed", Input)
            field.focus()
            field.insert_text_at_cursor(character)

    @on(Input.Changed)
    def _typed(self) -> None:
        self.query_one("#delete", Button).disabled = not self._confirmed

    @property
    def _confirmed(self) -> bool:
        if self.plan is None or self._challenge is None or self.deleting:
            return False
        first, second = self.query_one("#typed", Input).value, self.query_one("#second-word", Input).value
        return self._challenge.met(first) and self._challenge.met_again(second)

    @on(Button.Pressed, "#delete")
    @on(Input.Submitted)
    def _confirm(self) -> None:
        if not self._confirmed or self.plan is None:
            return
        self.deleting = True
        for control in self.query("#typed, #second-word, Button"):
            control.disabled = True
        self._show_status("Writing the backup and checking the groups again", MUTED)
        self._execute(self.plan)

    # Methods that execute the plan of the delete and show the results

    @work(exclusive=True, group="delete", exit_on_error=False)
    async def _execute(self, made: Plan) -> None:
        admin = self._session.admin
        if admin is None:
            self.post_message(self.Failed("no cluster is open"))
            return
        try:
            results = await execute(admin, made, self._folder, command="UI", on_result=self._count)
        except KgtuiError as error:
            self.post_message(self.Failed(str(error)))
        else:
            self.post_message(self.Finished(results))

    def _count(self, _result: GroupResult) -> None:
        self._finished_groups += 1
        self._show_status(f"{self._finished_groups:,} of {len(self.groups):,} done", MUTED)

    @on(Finished)
    def _show_results(self, message: Finished) -> None:
        """Open the dialog with the results. When the user closes it, dismiss this dialog with the same results."""
        self.deleting = False
        self.add_class("-done")
        if self._session.monitor is not None:
            self._session.monitor.refresh()

        def close() -> None:
            self.dismiss(message.results)

        def closed(_: None) -> None:
            # This dialog is dismissed only after the result dialog has been removed from the screen stack, because
            # Textual can dismiss only the top screen.
            self.call_next(close)

        self.app.push_screen(DeleteResultDialog(message.results, self._folder), closed)

    @on(Button.Pressed, "#cancel")
    def action_cancel(self) -> None:
        """Close the dialog without deleting anything; has no effect while the delete is running."""
        if not self.deleting:
            self.dismiss(None)

    def _show_status(self, message: str, role: str) -> None:
        self.query_one(StatusLine).show(message, role)


class DeleteResultDialog(ModalScreen[None]):
    """Shows the result of a delete for each group, failures first, and the paths of the backups and the audit log.

    Args:
        results: the results of the delete.
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
        """Close the dialog."""
        self.dismiss(None)
