"""The delete dialog: what would be lost, where the backup goes, what to type; then what became of each group.

It is about the groups that it was opened for, whatever is selected meanwhile. It plans and acts through
`kgtui.actions`, so each group is described once more right before anything is sent.
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
from kgtui.actions.state_folder import StateFolder
from kgtui.errors import KgtuiError
from kgtui.tui.dialogs.delete_lines import DeleteTable, about, allowed_words, commands, lines_of
from kgtui.tui.dialogs.delete_result import DeleteResult
from kgtui.tui.panes.base import to_content
from kgtui.tui.panes.cells import ERROR, MUTED, Cell, fit_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual import events
    from textual.app import ComposeResult

    from kgtui.actions.confirm import Challenge
    from kgtui.actions.plan import Plan
    from kgtui.actions.results import GroupResult
    from kgtui.tui.session import Session

_FRAME_LINES = 13
"""Lines of the box that are not about the group: frame, title, question, field, box to tick, status, buttons."""

_SURE = "irreversible"
"""The second confirmation, where something is lost for good."""


class DeleteDialog(ModalScreen[Results | None]):
    """Asks before groups are deleted, and deletes them. Dismissed with the results, or None when nothing was done."""

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
    DeleteDialog #question, DeleteDialog #typed, DeleteDialog #sure { display: none; }
    DeleteDialog.-asking #question { display: block; height: auto; max-height: 3; margin-top: 1; }
    DeleteDialog.-asking #typed { display: block; }
    DeleteDialog.-asking.-irreversible #sure { display: block; }
    DeleteDialog Input { background: $panel; }
    DeleteDialog #status { height: auto; max-height: 2; display: none; }
    DeleteDialog #status.-said { display: block; }
    DeleteDialog #buttons { height: 1; align-horizontal: right; }
    DeleteDialog Button { margin-left: 2; }
    """

    AUTO_FOCUS = "#cancel"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel", show=False)]
    """
    | key | does |
    |---|---|
    | escape | leaves everything as it is; while a delete is under way, nothing |
    """

    class Planned(Message):
        """The plan is there."""

        def __init__(self, plan: Plan) -> None:
            super().__init__()
            self.plan = plan

    class Finished(Message):
        """Every group has its result."""

        def __init__(self, results: Results) -> None:
            super().__init__()
            self.results = results

    class Failed(Message):
        """The cluster could not be asked; nothing was sent."""

        def __init__(self, reason: str) -> None:
            super().__init__()
            self.reason = reason

    def __init__(
        self, session: Session, groups: Sequence[str], *, last_commits: Mapping[str, float] | None = None
    ) -> None:
        """Ask about these groups.

        Args:
            session: whose admin and state folder are used.
            groups: the ids that the dialog is about, for good.
            last_commits: group id → time of its last commit, in seconds since the epoch, where it was observed.
        """
        super().__init__()
        self.groups = tuple(dict.fromkeys(groups))
        self.plan: Plan | None = None
        self.writing = False
        """Whether a delete is under way: the program should not end now without asking."""
        self._session = session
        self._folder = StateFolder(session.state_folder)
        self._last_commits = last_commits
        self._challenge: Challenge | None = None
        self._done = 0

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(to_content([self._title()]), id="title")
            with VerticalScroll(id="about"):
                yield Static(id="words")
            yield DeleteTable()
            yield Static(id="question")
            yield Input(id="typed", compact=True, select_on_focus=False)
            yield Input(id="sure", compact=True, placeholder=f"and here the word {_SURE}")
            yield Static(to_content([(Cell("Describing and reading offsets", MUTED),)]), id="status", classes="-said")
            with Horizontal(id="buttons"):
                yield Button("Cancel", id="cancel", compact=True)
                yield Button("Delete", id="delete", variant="error", compact=True, disabled=True)

    def on_mount(self) -> None:
        self.set_class(len(self.groups) != 1, "-many")
        self._make_plan()

    def on_resize(self) -> None:
        if len(self.groups) == 1:
            self.query_one("#about").styles.max_height = max(3, self.app.size.height - _FRAME_LINES)
        self.call_after_refresh(self._write_words)

    def _title(self) -> tuple[Cell, ...]:
        if len(self.groups) != 1:
            return (Cell(f"Delete {len(self.groups):,} groups?", ERROR),)
        return Cell("Delete group ", ERROR), Cell(fit_text(self.groups[0], 90, cut="middle")), Cell(" ?", ERROR)

    @work(exclusive=True, group="delete", exit_on_error=False)
    async def _make_plan(self) -> None:
        admin = self._session.admin
        if admin is None:
            self.post_message(self.Failed("no cluster is connected"))
            return
        try:
            made = await plan(admin, self.groups, last_commits=self._last_commits)
        except KgtuiError as error:
            self.post_message(self.Failed(str(error)))
        else:
            self.post_message(self.Planned(made))

    @on(Planned)
    def _show_plan(self, message: Planned) -> None:
        self.plan = message.plan
        allowed = message.plan.allowed
        self._write_words()
        if len(self.groups) != 1:
            self.query_one(DeleteTable).table.set_rows(lines_of(message.plan), fresh=True)
        if not allowed:
            self._say("Nothing can be deleted", ERROR)
            return
        self._challenge = challenge([line.group for line in allowed])
        question = f"Type {self._challenge.what} to delete {'it' if len(allowed) == 1 else 'them'}:\n"
        # Printable ASCII: made visible already, and doubling its backslashes would ask for another text.
        self.query_one("#question", Static).update(Content.assemble(question, (self._challenge.asked, "bold")))
        self.set_class(message.plan.irreversible, "-irreversible")
        self.add_class("-asking")
        self._say("", MUTED)

    def _write_words(self) -> None:
        if self.plan is None:
            return
        if len(self.groups) == 1:
            target = self._session.target
            quoted = commands(self.plan, target.bootstrap, target.command_config)
            width = self.query_one("#about").size.width - 1
            self.query_one("#words", Static).update(about(self.plan.lines[0], self._folder, quoted, width))
        else:
            self.query_one("#words", Static).update(allowed_words(self.plan, self._folder))

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        self.writing = False
        self._say(f"Nothing was sent: {message.reason}", ERROR)

    def on_key(self, event: events.Key) -> None:
        """Who begins to type means the field, although Cancel has the focus."""
        character = event.character
        if not event.is_printable or character is None or character == " " or not isinstance(self.focused, Button):
            return
        event.stop()
        event.prevent_default()
        if self.has_class("-asking") and not self.writing:
            field = self.query_one("#typed", Input)
            field.focus()
            field.insert_text_at_cursor(character)

    @on(Input.Changed)
    def _typed(self) -> None:
        self.query_one("#delete", Button).disabled = not self._confirmed

    @property
    def _confirmed(self) -> bool:
        if self.plan is None or self._challenge is None or self.writing:
            return False
        sure = not self.plan.irreversible or self.query_one("#sure", Input).value == _SURE
        return sure and self._challenge.met(self.query_one("#typed", Input).value)

    @on(Button.Pressed, "#delete")
    @on(Input.Submitted)
    def _confirm(self) -> None:
        if not self._confirmed or self.plan is None:
            return
        self.writing = True
        for control in self.query("#typed, #sure, Button"):
            control.disabled = True
        self._say("Backing up and checking once more", MUTED)
        self._execute(self.plan)

    @work(exclusive=True, group="delete", exit_on_error=False)
    async def _execute(self, made: Plan) -> None:
        admin = self._session.admin
        if admin is None:
            self.post_message(self.Failed("no cluster is connected"))
            return
        try:
            results = await execute(admin, made, self._folder, command="UI", on_result=self._count)
        except KgtuiError as error:
            self.post_message(self.Failed(str(error)))
        else:
            self.post_message(self.Finished(results))

    def _count(self, _result: GroupResult) -> None:
        self._done += 1
        self._say(f"{self._done:,} of {len(self.groups):,} done", MUTED)

    @on(Finished)
    def _show_results(self, message: Finished) -> None:
        """The results stand in for the dialog, which is dismissed with them when they are closed."""
        self.writing = False
        self.add_class("-done")
        if self._session.monitor is not None:
            self._session.monitor.refresh()

        def closed(_: None) -> None:
            self.dismiss(message.results)

        self.app.push_screen(DeleteResult(message.results, self._folder), closed)

    @on(Button.Pressed, "#cancel")
    def action_cancel(self) -> None:
        """Leave everything as it is."""
        if not self.writing:
            self.dismiss(None)

    def _say(self, words: str, role: str) -> None:
        status = self.query_one("#status", Static)
        status.set_class(bool(words), "-said")
        status.update(to_content([(Cell(words, role),)]))
