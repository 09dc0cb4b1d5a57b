"""The description of one action of the main screen: its key, texts, availability and function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.screens.cluster import ClusterScreen
    from kgtui.tui.session import Session


UTC_KEY = "U"
"""Key that switches between UTC and local time, on the main screen and on the Insights screen."""


@dataclass(frozen=True, slots=True)
class ActionContext:
    """The values from which an action decides whether it is available.

    Attributes:
        session: the session with the cluster and the user's settings.
        snapshot: the displayed snapshot of the cluster.
        group: id of the selected group; None if no group is selected.
        marked: number of marked groups.
        now: current time in seconds since the epoch, from which the age of data is computed; None to use the time of
            the snapshot.
    """

    session: Session
    snapshot: Snapshot
    group: str | None
    marked: int = 0
    now: float | None = None


def always(_: ActionContext) -> str | None:
    """Return None, because an action with this check is always available."""
    return None


def needs_group(context: ActionContext) -> str | None:
    """Return the reason why an action that needs a selected group is unavailable; None if a group is selected."""
    return "put the cursor on a group first" if context.group is None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One action of the main screen.

    Attributes:
        id: identifies the action in the user's keymap and in calls of `MainScreen.run_action_by_id`.
        keys: the default keys, separated by commas, in Textual's notation, such as `left_square_bracket`.
        shown_keys: the default keys, separated by blanks, as the help shows them, such as `[`.
        name: a name of one or two words, for footer and palette.
        help: a description in one sentence, for help, palette and tooltips.
        section: the section of the help in which the action is listed.
        run: the function that performs the action on a screen.
        unavailable: a function that returns why the action is unavailable now, or None if the action is available.
        footer: position in the footer of a live cluster, counted from 1. 0 means that the footer does not show the
            action. On a narrow screen, the actions with the highest positions are left out first.
        replay_footer: position in the footer of a recording, with the same meaning as `footer`.
        writes: whether the action changes the cluster. Read-only sessions do not offer such actions.
        in_palette: whether the command palette offers the action.
        exists: a function that returns whether footer and palette of a session may offer the action.
        everywhere: whether the key works on every screen, even while a text field has the focus. The function `run`
            must then accept any screen.
    """

    id: str
    keys: str
    shown_keys: str
    name: str
    help: str
    section: str
    run: Callable[[ClusterScreen], None]
    unavailable: Callable[[ActionContext], str | None] = always
    footer: int = 0
    replay_footer: int = 0
    writes: bool = False
    in_palette: bool = True
    exists: Callable[[Session], bool] = lambda _: True
    everywhere: bool = False

    def keys_in(self, keymap: Mapping[str, str]) -> str:
        """Return the action's keys in a user's keymap, separated by blanks, as the help shows them."""
        remapped = keymap.get(self.id)
        return self.shown_keys if remapped is None else " ".join(key.strip() for key in remapped.split(","))
