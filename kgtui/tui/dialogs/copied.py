"""The dialog that shows a command after kgtui has copied it to the clipboard.

Some terminals ignore OSC 52, the escape sequence that sets the clipboard. The user can then select the command in the
dialog with the mouse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

if TYPE_CHECKING:
    from textual.app import ComposeResult


class CopiedDialog(ModalScreen[None]):
    """Shows a command line that was copied to the clipboard, and a note about this command."""

    DEFAULT_CSS = """
    CopiedDialog {
        align: center bottom;
        & #box { height: auto; max-height: 60%; background: $panel; border-top: tall $kg-accent; padding: 0 1; }
        & #title { color: $kg-accent; text-style: bold; }
        & #copied { height: auto; margin: 1 0; }
        & #note { height: auto; color: $kg-muted; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter,q,y,Y", "dismiss", "Close", show=False)]

    def __init__(self, copied: str, note: str = "") -> None:
        super().__init__()
        self._copied = copied
        self._note = note

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static("Copied (OSC 52)", id="title", markup=False)
            yield Static(self._copied, id="copied", markup=False)
            by_hand = "Not in your clipboard? Select it with shift and the mouse. esc closes."
            note = f"{self._note[:1].upper()}{self._note[1:]}. " if self._note else ""
            yield Static(note + by_hand, id="note", markup=False)
