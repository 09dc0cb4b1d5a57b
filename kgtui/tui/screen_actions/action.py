"""`Action`: key, texts, availability and function of one action of the main screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.screens.cluster import ClusterScreen
    from kgtui.tui.session import Session


UTC_KEY = "U"
"""Key that switches between UTC and local time."""


@dataclass(frozen=True, slots=True)
class ActionContext:
    """The values that determine whether an action is available.

    Attributes:
        group: id of the selected group; None if no group is selected.
        marked: number of groups that are marked in the tree.
        now: current time in seconds since the epoch. If None, the time of the snapshot is used.
    """

    session: Session
    snapshot: Snapshot
    group: str | None
    marked: int = 0
    now: float | None = None


def always(_: ActionContext) -> str | None:
    """Return None, which means that the action is available. Used for actions that are always available."""
    return None


def needs_group(context: ActionContext) -> str | None:
    """Return why an action that needs a selected group is unavailable; None if a group is selected."""
    return "put the cursor on a group first" if context.group is None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One action of the main screen.

    Attributes:
        id: identifies the action in the user's keymap.
        keys: default keys in Textual's notation, separated by commas, such as `left_square_bracket`.
        shown_keys: the default keys in the notation of the help, separated by blanks, such as `[`.
        name: one or two words for footer and palette.
        help: one sentence for help, palette and tooltips.
        section: title of the section of the help screen that contains the action.
        run: performs the action on a screen.
        unavailable: returns why the action is unavailable now; None if it is available.
        writes: whether the action changes the cluster. Read-only sessions do not offer such actions.
        in_palette: whether the command palette lists the action.
        exists: returns whether the footer and the command palette may list the action in a session. For example, they
            list `live` only in a recording that was opened from a live cluster.
        everywhere: whether the key works on every screen, even in a text field.
    """

    id: str
    keys: str
    shown_keys: str
    name: str
    help: str
    section: str
    run: Callable[[ClusterScreen], None]
    unavailable: Callable[[ActionContext], str | None] = always
    writes: bool = False
    in_palette: bool = True
    exists: Callable[[Session], bool] = lambda _: True
    everywhere: bool = False

    def keys_in(self, keymap: Mapping[str, str]) -> str:
        """Return the keys of the action, separated by blanks.

        These are the keys in the user's keymap or, if the keymap does not contain the action, the default keys.
        """
        remapped = keymap.get(self.id)
        return self.shown_keys if remapped is None else " ".join(key.strip() for key in remapped.split(","))
