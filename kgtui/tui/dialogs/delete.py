"""The delete dialog shows which data would be lost, asks for confirmation, and deletes groups.

`kgtui.actions` plans which groups can be deleted, and checks each group again before the deletion.
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
from kgtui.actions.results import Results
from kgtui.errors import KgtuiError
from kgtui.model.facts import last_progress
from kgtui.model.offsets import consumed_until
from kgtui.tui import text
from kgtui.tui.dialogs.delete_table import (
    DeleteResultDialog,
    DeleteTable,
    ObservedGroups,
    group_details,
    kafka_commands,
    plan_rows,
    plan_summary,
)
from kgtui.tui.dialogs.prompt import StatusLine
from kgtui.tui.messages import SnapshotArrived
from kgtui.tui.panes.base import to_content
from kgtui.tui.panes.cells import ERROR, MUTED, Cell, fit_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual import events
    from textual.app import ComposeResult

    from kgtui.actions.confirm import Challenge
    from kgtui.actions.plan import Plan
    from kgtui.actions.results import GroupResult
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.session import Session

_LINES_WITHOUT_DETAILS = 13
"""Number of lines that the dialog needs in addition to the details: title, text fields, buttons and so on."""


MOST_REPLANNED_GROUPS = 100
"""Maximum number of groups for which the dialog makes a new deletion plan whenever one of the groups changes.

If more groups are to be deleted, the dialog keeps its first plan, because a plan needs many requests to the brokers.
"""


class DeleteDialog(ModalScreen[Results | None]):
    """Shows what a deletion of groups would lose, asks for confirmation, and deletes the groups.

    The dialog's result is a `Results` object with the outcome for each group, or None if no deletion was started.

    Args:
        session: provides the `GroupAdmin`, and the folder for backups and the audit log.
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
    | escape | close the dialog without deleting anything; no effect while groups are being deleted |
    """

    class Planned(Message):
        """Posted when the deletion plan is ready. The plan says which groups can be deleted, and what would be lost."""

        def __init__(self, plan: Plan) -> None:
            super().__init__()
            self.plan = plan

    class Finished(Message):
        """Posted at the end of the deletion. The message contains the result for each group."""

        def __init__(self, results: Results) -> None:
            super().__init__()
            self.results = results

    class Failed(Message):
        """Posted after an error that occurred before any delete request was sent.

        The error can occur while the deletion is planned, or at the start of the deletion.
        """

        def __init__(self, reason: str) -> None:
            super().__init__()
            self.reason = reason

    def __init__(self, session: Session, groups: Sequence[str]) -> None:
        super().__init__()
        self.groups = tuple(dict.fromkeys(groups))
        self.plan: Plan | None = None
        self.deleting = False
        """Whether groups are being deleted now. While this is true, the app shows a warning before it quits."""
        self._session = session
        self._folder = session.state_folder
        self._challenge: Challenge | None = None
        self._finished_groups = 0
        self._unsubscribe: Callable[[], None] | None = None
        self._planning = False
        self._rejected = False
        """Whether the status line says that the text typed as confirmation is wrong."""
        self._planned_from: tuple[object, ...] = ()
        """The monitor's data about the groups when the plan was requested. If the data changes, a new plan is made."""

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
        monitor = self._session.monitor
        if monitor is not None and len(self.groups) <= MOST_REPLANNED_GROUPS:
            # The monitor calls `_post` in its own task, where the context variable with the display settings (such as
            # the time zone) is not set. Therefore, `_post` draws nothing, but posts a message to this dialog.
            self._unsubscribe = monitor.subscribe(self._post)
        self._make_plan()

    def _post(self, snapshot: Snapshot) -> None:
        self.post_message(SnapshotArrived(snapshot))

    def on_unmount(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()

    def on_resize(self) -> None:
        if len(self.groups) == 1:
            self.query_one("#about").styles.max_height = max(3, self.app.size.height - _LINES_WITHOUT_DETAILS)
        self.call_after_refresh(self._show_details)

    def _title(self) -> tuple[Cell, ...]:
        if len(self.groups) != 1:
            return (Cell(f"Delete {len(self.groups):,} groups?", ERROR),)
        return Cell("Delete group ", ERROR), Cell(fit_text(self.groups[0], 90, cut="middle")), Cell(" ?", ERROR)

    def _make_plan(self) -> None:
        self._planning, self._planned_from = True, self._observed_groups()
        self._plan()

    @work(exclusive=True, group="delete", exit_on_error=False)
    async def _plan(self) -> None:
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

    def _observed_groups(self) -> tuple[object, ...]:
        monitor = self._session.monitor
        if monitor is None:
            return ()
        snapshot = monitor.snapshot
        readings = (readings.get(group) for group in self.groups for readings in (snapshot.details, snapshot.offsets))
        return (*map(snapshot.groups.get, self.groups), *(one.value if one is not None else None for one in readings))

    @on(SnapshotArrived)
    def _snapshot_arrived(self) -> None:
        if self.deleting or self.has_class("-done"):
            return
        if not self._planning and self._observed_groups() != self._planned_from:
            self._make_plan()
        # Draw the details again even if the plan is the same, because the details contain ages, such as `2 h ago`.
        self._show_details()

    def _last_commits(self) -> dict[str, float]:
        monitor = self._session.monitor
        if monitor is None:
            return {}
        times: dict[str, float] = {}
        for group in self.groups:
            series = monitor.series.get(group)
            found = (series.last_progress() if series is not None else None, last_progress(monitor.snapshot, group))
            if known := [at for at in found if at is not None]:
                times[group] = max(known)
        return times

    def _observed(self) -> ObservedGroups:
        now, monitor = text.display_settings().now(), self._session.monitor
        if monitor is None:
            return ObservedGroups(now)
        snapshot = monitor.snapshot
        empty = {group: snapshot.state_since[group] for group in self.groups if group in snapshot.state_since}
        times = {group: consumed_until(one.value) for group in self.groups if (one := snapshot.offsets.get(group))}
        return ObservedGroups(
            now, empty, {group: at for group, at in times.items() if at is not None}, frozenset(snapshot.appeared)
        )

    @on(Planned)
    def _show_plan(self, message: Planned) -> None:
        self._planning = False
        if self.deleting or self.has_class("-done"):
            return
        first, self.plan = self.plan is None, message.plan
        allowed = message.plan.allowed
        self._show_details()
        if len(self.groups) != 1:
            self.query_one(DeleteTable).table.set_rows(plan_rows(message.plan, self._observed()), fresh=first)
        asked = challenge([line.group for line in allowed], irreversible=message.plan.irreversible) if allowed else None
        if asked != self._challenge:
            self._ask(asked)
        self._show_status("" if allowed else "Nothing can be deleted", MUTED if allowed else ERROR)

    def _ask(self, asked: Challenge | None) -> None:
        """Ask the user to confirm the deletion by typing a text. If `asked` is None (nothing to delete), do not ask."""
        self._challenge = asked
        for field in self.query(Input):
            field.value = ""
        self._typed()
        self.set_class(asked is not None, "-asking")
        if asked is None:
            self.query_one("#cancel").focus()
            return
        # Show the text that the user must type without escaping, because escaping would double each backslash. The text
        # is always printable ASCII, so it contains no control characters.
        question = Content.assemble(f"To confirm, {asked.what}:\n", (asked.asked, "bold"))
        self.query_one("#question", Static).update(question)
        self.query_one("#second-word", Input).placeholder = f"type {asked.second_word} here as well"
        self.set_class(asked.second_word is not None, "-irreversible")

    def _show_details(self) -> None:
        if self.plan is None:
            return
        details, observed = self.query_one("#details", Static), self._observed()
        if len(self.groups) == 1:
            target = self._session.target
            commands = kafka_commands(self.plan, target.bootstrap, target.command_config)
            width = self.query_one("#about").size.width - 1
            details.update(group_details(self.plan.lines[0], self._folder, commands, width, observed))
        else:
            details.update(plan_summary(self.plan, self._folder, observed))

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        self.deleting = self._planning = False
        self._enable_controls()
        self._show_status(f"No delete request was sent: {message.reason}", ERROR)

    def on_key(self, event: events.Key) -> None:
        """If a character is typed while a button has the focus, focus the first text field, and insert the character.

        Blanks are not inserted. If no text field is shown, or if groups are being deleted, the character is ignored.
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
        self._enable_controls()
        if self._rejected:
            self._rejected = False
            self._show_status("", MUTED)  # Remove the message about the wrong text, because the user changes the text.

    @property
    def _confirmed(self) -> bool:
        if self.plan is None or self._challenge is None or self.deleting:
            return False
        first, second = self.query_one("#typed", Input).value, self.query_one("#second-word", Input).value
        return self._challenge.met(first) and self._challenge.second_word_met(second)

    @on(Button.Pressed, "#delete")
    @on(Input.Submitted)
    def _confirm(self) -> None:
        if not self._confirmed or self.plan is None:
            self._reject()
            return
        self.deleting = True
        self._enable_controls()
        self._show_status("Writing the backup and checking the groups again", MUTED)
        self._execute(self.plan)

    def _enable_controls(self) -> None:
        """Enable the text fields and the buttons, but `Delete` only if the typed texts are right.

        While groups are being deleted, disable all of them instead.
        """
        for control in self.query("#typed, #second-word, #cancel"):
            control.disabled = self.deleting
        self.query_one("#delete", Button).disabled = self.deleting or not self._confirmed

    def _reject(self) -> None:
        """Show which of the two typed texts is wrong.

        If the first text is right and the second text field is still empty, move the focus to the second field instead.
        The second field is shown only for deletions that cannot be undone.
        """
        if self._challenge is None or self.deleting:
            return
        second, word = self.query_one("#second-word", Input), self._challenge.second_word
        if not self._challenge.met(self.query_one("#typed", Input).value):
            reason = "the typed text differs from the requested text"
        elif second.value:
            reason = f"the second text is not {word}"
        else:
            second.focus()
            return
        self._rejected = True
        self._show_status(f"Nothing was deleted, because {reason}", ERROR)

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
        self.deleting = False
        self.add_class("-done")
        if self._session.monitor is not None:
            self._session.monitor.refresh()

        def close() -> None:
            self.dismiss(message.results)

        def closed(_: None) -> None:
            # Textual can dismiss only the topmost screen, so dismiss the delete dialog after the result dialog is gone.
            self.call_next(close)

        self.app.push_screen(DeleteResultDialog(message.results, self._folder), closed)

    @on(Button.Pressed, "#cancel")
    def action_cancel(self) -> None:
        """Close the dialog without deleting anything. While groups are being deleted, this action has no effect."""
        if not self.deleting:
            self.dismiss(None)

    def _show_status(self, message: str, role: str) -> None:
        self.query_one(StatusLine).show(message, role)
