"""The table of all actions, from which key bindings, footer, help, and the key table of the README are generated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model.guard import READ_ONLY
from kgtui.tui.screen_actions import group, navigation, program, replay, view

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from textual.binding import Binding

    from kgtui.tui.screen_actions.action import Action, ActionContext
    from kgtui.tui.session import Session

ACTIONS: tuple[Action, ...] = (
    *navigation.ACTIONS,
    *view.ACTIONS,
    *replay.ACTIONS,
    *group.ACTIONS,
    *program.ACTIONS,
)
BY_ID: Mapping[str, Action] = {action.id: action for action in ACTIONS}
SECTIONS: tuple[str, ...] = tuple(dict.fromkeys(action.section for action in ACTIONS))
"""Titles of the sections on the help screen, from top to bottom."""

FOOTER: tuple[str, ...] = (
    "filter", "group-by", "sort", "faults", "delete", "copy", "pause", "refresh", "explain", "events", "palette",
    "help", "quit",
)  # fmt: skip
"""Ids of the actions that the footer shows on a live cluster, from left to right."""

REPLAY_FOOTER: tuple[str, ...] = (
    "filter", "time", "earlier", "later", "play", "live", "group-by", "sort", "copy", "explain", "events", "palette",
    "help", "quit",
)  # fmt: skip
"""Ids of the actions that the footer shows for a recording, from left to right."""


def offered(*, read_only: bool) -> tuple[Action, ...]:
    """Return the actions that a session offers. A read-only session does not offer actions that change the cluster."""
    return tuple(action for action in ACTIONS if not (read_only and action.writes))


def why_unavailable(action_id: str, context: ActionContext) -> str | None:
    """Return why an action is unavailable now; None if it is available."""
    action = BY_ID[action_id]
    if action.writes and context.session.read_only:
        return READ_ONLY
    return action.unavailable(context)


def in_footer(session: Session) -> tuple[Action, ...]:
    """Return the actions in the footer of a session, from left to right."""
    in_order = FOOTER if session.replay_position is None else REPLAY_FOOTER
    available = {action.id for action in offered(read_only=session.read_only) if action.exists(session)}
    return tuple(BY_ID[action_id] for action_id in in_order if action_id in available)


def in_palette(session: Session) -> tuple[Action, ...]:
    """Return the actions in the command palette of a session."""
    return tuple(
        action
        for action in offered(read_only=session.read_only)
        if action.in_palette and action.exists(session)
    )  # fmt: skip


def bindings(*, everywhere: bool = False) -> list[Binding]:
    """Return the key bindings of the actions that work only on the main screen.

    If `everywhere` is true, return the key bindings of the actions that work on all screens instead.
    """
    from textual.binding import Binding

    return [
        Binding(a.keys, f"run_action('{a.id}')", a.name, show=False, id=a.id, tooltip=a.help, priority=a.everywhere)
        for a in ACTIONS
        if a.everywhere == everywhere
    ]


def unknown_ids(keymap: Iterable[str]) -> list[str]:
    """Return, in sorted order, the ids in a user's keymap that do not belong to any action."""
    return sorted(set(keymap) - set(BY_ID))


def markdown() -> str:
    """Return the README's table of all keys, as Markdown."""
    lines = ["| key | does | id |", "|---|---|---|"]
    for section in SECTIONS:
        lines.append(f"| **{section}** | | |")
        for action in ACTIONS:
            if action.section == section:
                keys = " ".join(f"`{key}`" for key in _separate_keys(action))
                lines.append(f"| {keys} | {action.help} | `{action.id}` |")
    return "\n".join(lines)


def _separate_keys(action: Action) -> list[str]:
    shown = action.shown_keys
    return [shown] if shown.startswith("page ") else shown.split(" ")
