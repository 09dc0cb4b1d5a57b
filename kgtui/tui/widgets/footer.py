"""The footer: the most important keys of the screen, and which of them are unavailable."""

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
        key: the key as it is shown.
        name: name of the action; shown in lower case.
        help: one sentence about the action, for the tooltip.
    """

    action: str
    key: str
    name: str
    help: str

    @property
    def width(self) -> int:
        """Width of the item in cells, including the blanks around key and name."""
        return cell_len(self.key) + cell_len(self.name) + 3


class ActionFooter(LineWidget):
    """A line of keys with the names of their actions; a click runs the action.

    Args:
        items: the keys in their order.
        why_unavailable: returns why an action is unavailable now, or None when it is available.
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
        """Return as many keys as fit into the width; the last two, help and quit, are kept longest."""
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
        """Return the key of the footer that is drawn at a column of the screen; None if there is no key."""
        return next((item for end, item in self._ends if x < end), None)

    def on_click(self, event: events.Click) -> None:
        """Run the action that was clicked, or show why it is unavailable."""
        item = self.item_at(event.x)
        if item is not None:
            self.post_message(ActionRequested(item.action))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Show in the tooltip what the key under the pointer does, or why it is unavailable."""
        item = self.item_at(event.x)
        if item is None:
            self.tooltip = None
            return
        why = self._why_unavailable(item.action)
        self.tooltip = f"{item.name}: {why}" if why else item.help


def _fitting(items: Sequence[FooterItem], width: int) -> list[FooterItem]:
    """Drop items until the rest fits. The last two items are kept."""
    kept = list(items)
    while len(kept) > 1 and sum(item.width for item in kept) > width:
        kept.pop(-3 if len(kept) > 2 else 0)
    return kept
