"""The footer, which shows the most important keys of the screen. Keys whose action is unavailable are struck out."""

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
        key: the key as the footer shows it.
        name: name of the action, which the footer shows in lower case.
        help: one sentence about the action, for the tooltip.
    """

    action: str
    key: str
    name: str
    help: str

    @property
    def width(self) -> int:
        """Width of key, name and blanks between them, in terminal cells."""
        return cell_len(self.key) + cell_len(self.name) + 3


class ActionFooter(LineWidget):
    """The line with the keys and the names of their actions. A click on an action runs it.

    Args:
        items: the keys from left to right.
        why_unavailable: returns the reason why an action is unavailable; None if the action is available.
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
        """Return the keys that fit into the width. The last two keys, help and quit, are left out after all others."""
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
        """Return the key that is drawn in terminal cell `x` of the footer; None if there is no key."""
        return next((item for end, item in self._ends if x < end), None)

    def on_click(self, event: events.Click) -> None:
        """Ask the screen to run the action that was clicked, or to say why the action is unavailable."""
        item = self.item_at(event.x)
        if item is not None:
            self.post_message(ActionRequested(item.action))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Set the tooltip to what the key under the mouse does, or to the reason why its action is unavailable."""
        item = self.item_at(event.x)
        if item is None:
            self.tooltip = None
            return
        why = self._why_unavailable(item.action)
        self.tooltip = f"{item.name}: {why}" if why else item.help


def _fitting(items: Sequence[FooterItem], width: int) -> list[FooterItem]:
    """Leave out items from the right until the rest fits. The last two items are left out only after all others."""
    kept = list(items)
    while len(kept) > 1 and sum(item.width for item in kept) > width:
        kept.pop(-3 if len(kept) > 2 else 0)
    return kept
