"""The footer: the most important keys. Keys of unavailable actions are struck out."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.cells import cell_len

from kgtui.tui.messages import ActionRequested
from kgtui.tui.widgets.line import LineWidget, Piece

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual import events


class FooterItem(NamedTuple):
    """One key in the footer.

    Attributes:
        action: id of the action.
        name: name of the action, shown in lower case.
        help: a sentence for the tooltip.
    """

    action: str
    key: str
    name: str
    help: str

    @property
    def width(self) -> int:
        """Width of the item in terminal cells: key, name and the blanks around them."""
        return cell_len(self.key) + cell_len(self.name) + 3


class ActionFooter(LineWidget):
    """The line with keys and the names of their actions. A click runs the action.

    Args:
        items: the keys from left to right.
        why_unavailable: takes an action id, and returns why the action is unavailable; None if it is available.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"footer--key", "footer--name", "footer--off"}
    """
    | Class | Description |
    | :- | :- |
    | `footer--key` | A key. |
    | `footer--name` | The name of an action. |
    | `footer--off` | The key and the name of an unavailable action. |
    """

    DEFAULT_CSS = """
    ActionFooter {
        background: $panel;
        & > .footer--key { color: $kg-accent; text-style: bold; }
        & > .footer--name { color: $foreground; }
        & > .footer--off { color: $kg-muted; text-style: strike; }
    }
    """

    def __init__(self, items: Sequence[FooterItem], why_unavailable: Callable[[str], str | None]) -> None:
        super().__init__()
        self._items = items
        self._why_unavailable = why_unavailable
        self._ends: list[tuple[int, FooterItem]] = []

    def pieces(self, width: int) -> Sequence[Piece]:
        """Return the text of the footer: the keys that fit into the width, and the names of their actions.

        If space is short, help and quit (the last two keys) are kept as long as possible.
        """
        pieces: list[Piece] = []
        self._ends = []
        end = 0
        for item in _fitting(self._items, width):
            off = self._why_unavailable(item.action) is not None
            pieces += [
                (f" {item.key}", "footer--off" if off else "footer--key"),
                (f" {item.name.lower()} ", "footer--off" if off else "footer--name"),
            ]
            end += item.width
            self._ends.append((end, item))
        return pieces

    def item_at(self, x: int) -> FooterItem | None:
        """Return the item at terminal cell `x` of the footer; None if the cell is empty."""
        return next((item for end, item in self._ends if x < end), None)

    def on_click(self, event: events.Click) -> None:
        """Post `ActionRequested`, so that the screen runs the clicked action or shows why it is unavailable."""
        item = self.item_at(event.x)
        if item is not None:
            self.post_message(ActionRequested(item.action))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Set the tooltip for the key under the mouse."""
        item = self.item_at(event.x)
        if item is None:
            self.tooltip = None
            return
        why = self._why_unavailable(item.action)
        self.tooltip = f"{item.name}: {why}" if why else item.help


def _fitting(items: Sequence[FooterItem], width: int) -> list[FooterItem]:
    """Return the items that fit into `width`. Help and quit (the last two items) are kept as long as possible."""
    kept = list(items)
    while len(kept) > 1 and sum(item.width for item in kept) > width:
        kept.pop(-3 if len(kept) > 2 else 0)
    return kept
