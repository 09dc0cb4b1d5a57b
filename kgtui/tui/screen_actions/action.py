"""The description of one action of the main screen: its key, texts, availability and function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.screens.cluster import ClusterScreen
    from kgtui.tui.session import Session


@dataclass(frozen=True, slots=True)
class ActionContext:
    """What decides whether an action is available.

    Attributes:
        session: the cluster and the user's settings.
        snapshot: the data on the screen.
        group: id of the selected group; None without one.
        marked: number of marked groups.
        now: current time in seconds since the epoch, to compute the age of data; None for the time of the snapshot.
    """

    session: Session
    snapshot: Snapshot
    group: str | None
    marked: int = 0
    now: float | None = None


def always(_: ActionContext) -> str | None:
    """Return None: an action with this check is always available."""
    return None


def needs_group(context: ActionContext) -> str | None:
    """Return why an action on the selected group is unavailable; None when a group is selected."""
    return "put the cursor on a group first" if context.group is None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One action of the main screen.

    Attributes:
        id: name in the user's keymap, and argument of `MainScreen.run_action_by_id`.
        keys: Textual's names of the keys, comma separated.
        shown_keys: the same keys as the help shows them, separated by blanks.
        name: one or two words, for footer and palette.
        help: one sentence, for help, palette and tooltips.
        section: heading in the help.
        run: performs the action on the screen.
        unavailable: returns why the action is unavailable now, or None when it is available.
        footer: position in the footer of a live cluster, from 1; 0 leaves it out. The highest positions disappear first
            on a narrow screen.
        replay_footer: position in the footer of a recording, from 1; 0 leaves it out.
        writes: whether the action changes the cluster; a read-only session does not have it.
        in_palette: whether the command palette offers it.
        exists: returns whether a session has the action at all in footer and palette.
        everywhere: whether the key works on every screen, and while a text field has the focus. The function must then
            accept any screen.
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
        """Return the keys as the help shows them, separated by blanks, after the user's remapping."""
        remapped = keymap.get(self.id)
        return self.shown_keys if remapped is None else " ".join(key.strip() for key in remapped.split(","))
