"""Every key: one table from which bindings, footer, palette, the help screen and the README's table are made.

`python -m kgtui.tui.keys` prints the table in Markdown. Keys are remapped by action id in the configuration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from textual.binding import Binding

GROUPS = ("Move", "Find", "Look", "Act", "Program")


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that a key does.

    Attributes:
        id: what the key is remapped by, and what palette and footer run.
        keys: Textual's names of the keys, comma separated.
        shown: how the keys are written for people.
        name: one or two words, for footer and palette.
        does: one sentence, for help and tooltips.
        group: one of `GROUPS`.
        footer: place in the footer, from 1; 0 keeps it out. The higher ones give way on a narrow screen.
        past: the same in the footer of a recording.
        writes: changes the cluster: gone when read-only.
        palette: offered in the command palette.
        everywhere: works on every screen, and while a text field has the focus.
    """

    id: str
    keys: str
    shown: str
    name: str
    does: str
    group: str
    footer: int = 0
    past: int = 0
    writes: bool = False
    palette: bool = True
    everywhere: bool = False


def _move(action: str, keys: str, shown: str, name: str, does: str) -> Action:
    return Action(action, keys, shown, name, does, "Move", palette=False)


ACTIONS: tuple[Action, ...] = (
    _move("up", "up,k", "up k", "Up", "One row up."),
    _move("down", "down,j", "down j", "Down", "One row down."),
    _move("page-up", "pageup", "page up", "Page up", "One page up."),
    _move("page-down", "pagedown", "page down", "Page down", "One page down."),
    _move("first", "home,g", "home g", "First", "To the first row."),
    _move("last", "end,G", "end G", "Last", "To the last row."),
    _move("expand", "right", "right", "Expand", "Open the node; on an open one, go to its first row."),
    _move("collapse", "left", "left", "Collapse", "Close the node; on a group, go to its node."),
    _move("open", "enter", "enter", "Open", "Open or close a node; go to the panes of a group."),
    _move("switch", "tab", "tab", "Tree or pane", "From the tree to the panes and back."),
    _move("back", "escape", "esc", "Back", "One step back: dialog, full screen, pane, filter, marks; from a recording "
          "that t opened to the live cluster."),
    Action("filter", "slash", "/", "Filter", "Type a filter; enter keeps it, esc drops it.", "Find", footer=1,
           past=1),
    Action("next", "n", "n", "Next match", "To the next group that the filter shows, opening nodes.", "Find"),
    Action("group-by", "b", "b", "Group by", "Group the tree by type, state, coordinator, topic, name or not at all.",
           "Find", footer=2, past=7),
    Action("sort", "s", "s", "Sort", "Sort groups by name, lag or members.", "Find", footer=3, past=8),
    Action("faults", "z", "z", "Only faults", "Show only groups of which something could not be learned.", "Find",
           footer=4),
    Action("mark", "space", "space", "Mark", "Mark the group, or all shown groups of a node.", "Find"),
    Action("mark-all", "asterisk", "*", "Mark all", "Mark all groups shown, or unmark them.", "Find"),
    Action("pane-1", "1", "1", "Overview", "The group at a glance.", "Look"),
    Action("pane-2", "2", "2", "Members", "The group's members.", "Look"),
    Action("pane-3", "3", "3", "Assignments", "Which member has which partition, and what must still move.", "Look"),
    Action("pane-4", "4", "4", "Offsets", "Committed offsets and lag by topic and partition.", "Look"),
    Action("pane-5", "5", "5", "History", "Lag, rates and members over time, and a log of rebalances.", "Look"),
    Action("pane-6", "6", "6", "Config", "The group's configuration with its sources.", "Look"),
    Action("only", "l", "l", "Only open points", "In Offsets only what lags, in Assignments only what must move or is "
           "nobody's, in History only the log; and all again.", "Look"),
    Action("view", "v", "v", "Next view", "Assignments as a list, as a grid with members, or by member, host or rack; "
           "History over an hour, six, a day, a quarter.",
           "Look"),
    Action("full", "f", "f", "Full screen", "The pane alone, and back.", "Look"),
    Action("utc", "U", "U", "UTC", "Times in UTC, and back to local time.", "Look"),
    Action("refresh", "r", "r", "Refresh", "Ask every broker now.", "Look", footer=8),
    Action("pause", "p", "p", "Pause", "Stop polling, and go on.", "Look", footer=7),
    Action("faster", "plus,equals_sign", "+", "Faster", "Poll more often.", "Look"),
    Action("slower", "minus", "-", "Slower", "Poll less often.", "Look"),
    Action("insights", "I", "I", "Insights", "What somebody should know, the most urgent first: findings in the tables "
           "that kgtui pipeline makes.", "Look"),
    Action("time", "t", "t", "Time", "On a live cluster: open a recording at a moment, on the same screen. In a "
           "recording: to a moment that you type.", "Look", past=2),
    Action("live", "L", "L", "Live", "From a recording that t opened back to the live cluster; so does esc, when there "
           "is nothing else to step back from.", "Look", past=6),
    Action("earlier", "left_square_bracket", "[", "Earlier", "In a recording: one moment back.", "Look", past=3),
    Action("later", "right_square_bracket", "]", "Later", "In a recording: one moment on.", "Look", past=4),
    Action("change-before", "left_curly_bracket", "{", "Change before",
           "In a recording: back to where the group changed last.", "Look"),
    Action("change-after", "right_curly_bracket", "}", "Change after",
           "In a recording: on to where the group changes next.", "Look"),
    Action("play", "P", "P", "Play", "In a recording: play it, and stop, as does p; + and - change the speed.", "Look",
           past=5),
    Action("remember", "m", "m", "Remember", "In a recording: remember this moment for a comparison.", "Look"),
    Action("compare", "M", "M", "Compare", "In a recording: what joined, left, moved and grew between the moment "
           "remembered and this one.", "Look"),
    Action("delete", "d", "d", "Delete", "Delete the group, or the marked groups, if Empty.", "Act", footer=5,
           writes=True),
    Action("copy", "y", "y", "Copy id", "Copy the group's id.", "Act", footer=6, past=9),
    Action("copy-command", "Y", "Y", "Copy command", "Copy the Kafka command that shows the same.", "Act"),
    Action("export", "x", "x", "Export", "Write the group and its surroundings to a file, as Markdown or JSON.", "Act"),
    Action("explain", "e", "e", "Explain", "What the group's fault or state means, and what to do.", "Act", footer=9,
           past=10),
    Action("palette", "ctrl+p", "ctrl+p", "Palette", "Every command and every group by name.", "Program", footer=10,
           past=11, palette=False),
    Action("record", "R", "R", "Record", "Record every group into a folder while the screen is open, and stop.",
           "Program"),
    Action("cluster", "c", "c", "Cluster", "The configured clusters: another one in the place of this.", "Program"),
    Action("help", "question_mark,f1", "?", "Help", "This help.", "Program", footer=11, past=12),
    Action("suspend", "ctrl+z", "ctrl+z", "Suspend", "Back to the shell; `fg` returns.", "Program", palette=False,
           everywhere=True),
    Action("quit-or-copy", "ctrl+c", "ctrl+c", "Copy or quit", "Copy what is selected; with nothing selected, quit.",
           "Program", palette=False, everywhere=True),
    Action("quit", "q,ctrl+q", "q", "Quit", "Leave.", "Program", footer=12, past=13),
)  # fmt: skip

BY_ID: Mapping[str, Action] = {action.id: action for action in ACTIONS}


def offered(read_only: bool) -> tuple[Action, ...]:
    """The actions that this session has: read-only removes every write."""
    return tuple(action for action in ACTIONS if not (read_only and action.writes))


def in_footer(*, read_only: bool = False, past: bool = False, visit: bool = False) -> tuple[Action, ...]:
    """The actions of the footer in their order.

    Args:
        past: of a recording.
        visit: which was opened from a live cluster, to which one can go back.
    """
    places = [(action.past if past else action.footer, action) for action in offered(read_only)]
    shown = [(place, action) for place, action in places if place and (visit or action.id != "live")]
    return tuple(action for _, action in sorted(shown, key=lambda placed: placed[0]))


def bindings(*, everywhere: bool = False) -> list[Binding]:
    """Actions as bindings that run `do(id)`: those of the main screen, or those of the app. Ids serve the keymap."""
    from textual.binding import Binding

    return [
        Binding(a.keys, f"do('{a.id}')", a.name, show=False, id=a.id, tooltip=a.does, priority=a.everywhere)
        for a in ACTIONS
        if a.everywhere == everywhere
    ]


def shown_keys(action: Action, keymap: Mapping[str, str]) -> str:
    """How the keys of an action are written, as remapped by the user."""
    changed = keymap.get(action.id)
    return action.shown if changed is None else " ".join(key.strip() for key in changed.split(","))


def unknown_ids(keymap: Iterable[str]) -> list[str]:
    """Ids in a user's keymap that no action has."""
    return sorted(set(keymap) - set(BY_ID))


def markdown() -> str:
    """The table of the README."""
    lines = ["| key | does | id |", "|---|---|---|"]
    for group in GROUPS:
        lines.append(f"| **{group}** | | |")
        for action in ACTIONS:
            if action.group == group:
                keys = " ".join(f"`{key}`" for key in _cells(action))
                lines.append(f"| {keys} | {action.does} | `{action.id}` |")
    return "\n".join(lines)


def _cells(action: Action) -> list[str]:
    return [action.shown] if action.shown.startswith("page ") else action.shown.split(" ")


if __name__ == "__main__":
    import sys

    sys.stdout.write(markdown() + "\n")
