"""The base class of dialogs that ask for text, and the status line in which dialogs show errors."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from kgtui.errors import KgtuiError
from kgtui.tui import text

if TYPE_CHECKING:
    from textual.app import ComposeResult

ResultT = TypeVar("ResultT")


class StatusLine(Static):
    """The status line of a dialog. It shows an error message, or says what the dialog is doing now.

    The line is hidden while it has no text.
    """

    DEFAULT_CSS = """
    StatusLine { display: none; height: auto; max-height: 6; }
    StatusLine.-visible { display: block; }
    """

    def __init__(self) -> None:
        super().__init__(id="status", markup=False)

    def show(self, message: str, role: str = "kg-error") -> None:
        """Show a message, or hide the line if the message is empty. `role` is a theme color, such as `kg-error`."""
        self.set_class(bool(message), "-visible")
        safe = "\n".join(text.plain(line, 500) for line in message.split("\n"))
        self.update(Content.assemble((safe, f"${role}")))


class TextPrompt(ModalScreen["ResultT | None"], Generic[ResultT]):
    """A dialog with text fields. Enter submits the text; Escape closes the dialog with the result None.

    Subclasses override `compose_fields` and `submit`. If `submit` raises an error, the dialog shows the error message.

    Attributes:
        action_done: asyncio event that is set, except while `submit` is running. During that time, but for at most
            `key_order.ACTION_TIMEOUT` seconds, `KeyOrder` holds back all keys, except Escape, which closes the dialog,
            and Ctrl+C and Ctrl+Q, which quit kgtui.
    """

    PROMPT_TITLE: ClassVar[str]
    """Title of the dialog's frame."""

    DEFAULT_CSS = """
    TextPrompt {
        align: center middle;
        & #box {
            width: 76; max-width: 98%; height: auto; max-height: 96%;
            background: $surface; border: round $kg-accent; border-title-color: $kg-accent; padding: 0 1;
        }
        & .note { height: auto; color: $kg-muted; }
        & Input { background: $panel; margin-bottom: 1; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Close", show=False)]
    """
    | key | does |
    |---|---|
    | tab | go to the next field |
    | enter | submit |
    | escape | close |
    """

    def __init__(self) -> None:
        super().__init__()
        self.action_done = asyncio.Event()
        self.action_done.set()

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = self.PROMPT_TITLE
            yield from self.compose_fields()
            yield StatusLine()
            yield Static(f" {text.marks().dot} ".join(self.key_hints()), classes="note", markup=False)

    def compose_fields(self) -> ComposeResult:
        """Create the text fields, and the texts that explain them. Subclasses must override this method."""
        raise NotImplementedError

    def key_hints(self) -> tuple[str, ...]:
        """Return hints for the last line of the dialog. Each hint says what a key does, such as `enter submits`."""
        return ("enter submits", "esc closes")

    async def submit(self) -> ResultT | None:
        """Perform the dialog's action with the text in the fields, and return the dialog's result.

        Raises:
            KgtuiError, OSError, RuntimeError: the action failed, for example because the text is invalid. The dialog
                shows the error message to the user.
        """
        raise NotImplementedError

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self.action_done.clear()
        self._submit()

    @work(exclusive=True, group="submit", exit_on_error=False, description="submit")
    async def _submit(self) -> None:
        try:
            result = await self.submit()
        except (KgtuiError, OSError, RuntimeError) as error:
            self.query_one(StatusLine).show(" ".join(str(error).split()))
        else:
            self.dismiss(result)
        finally:
            self.action_done.set()
