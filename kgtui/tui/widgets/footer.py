"""The footer: the keys that can be pressed now; greyed ones tell their reason when pressed or clicked."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len

from kgtui.tui import keys
from kgtui.tui.messages import ActionRequested
from kgtui.tui.widgets.line import LineWidget, Piece

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from textual import events


class ActionFooter(LineWidget):
    """Keys and what they do, from the table of keys.

    Args:
        reason: why an action cannot be done now, or None when it can.
        actions: in their order.
        keymap: keys as remapped by the user.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"footer--key", "footer--name", "footer--off"}
    """
    | Class | Description |
    | :- | :- |
    | `footer--key`, `footer--name` | A key, and what it does. |
    | `footer--off` | Both, when it cannot be done now. |
    """

    DEFAULT_CSS = """
    ActionFooter {
        background: $panel;
        & > .footer--key { color: $kg-accent; text-style: bold; }
        & > .footer--name { color: $foreground; }
        & > .footer--off { color: $kg-muted; text-style: strike; }
    }
    """

    def __init__(
        self,
        reason: Callable[[str], str | None],
        actions: Sequence[keys.Action],
        *,
        keymap: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        self._reason = reason
        self._keymap = keymap or {}
        self._actions = actions
        self._at: list[tuple[int, str]] = []

    def pieces(self, width: int) -> Sequence[Piece]:
        """As many keys as there is room for; help and quit are kept to the last."""
        kept = _fitting([(action, _words(action, self._keymap)) for action in self._actions], width)
        pieces: list[Piece] = []
        self._at = []
        used = 0
        for action, (key, name) in kept:
            off = self._reason(action.id) is not None
            pieces += [
                (f" {key}", "footer--off" if off else "footer--key"),
                (f" {name} ", "footer--off" if off else "footer--name"),
            ]
            used += cell_len(key) + cell_len(name) + 3
            self._at.append((used, action.id))
        return pieces

    def action_at(self, x: int) -> str | None:
        """The action whose key is drawn at a cell."""
        return next((action for end, action in self._at if x < end), None)

    def on_click(self, event: events.Click) -> None:
        """A click does what the key does, and tells the reason where it cannot."""
        action = self.action_at(event.x)
        if action is not None:
            self.post_message(ActionRequested(action))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """The tooltip tells what the key under the pointer does, or why it cannot."""
        action = self.action_at(event.x)
        if action is None:
            self.tooltip = None
            return
        why = self._reason(action)
        self.tooltip = f"{keys.BY_ID[action].name}: {why}" if why else keys.BY_ID[action].does


Fitted = list[tuple[keys.Action, tuple[str, str]]]


def _words(action: keys.Action, keymap: Mapping[str, str]) -> tuple[str, str]:
    shown = keys.shown_keys(action, keymap).split(" ")[0]
    return shown, action.name.lower()


def _fitting(actions: Fitted, width: int) -> Fitted:
    """Drop actions from before the last two until the rest fits."""
    kept = list(actions)
    while len(kept) > 1 and sum(cell_len(key) + cell_len(name) + 3 for _, (key, name) in kept) > width:
        kept.pop(-3 if len(kept) > 2 else 0)
    return kept
