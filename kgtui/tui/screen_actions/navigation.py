"""Actions of the help sections Move and Find: cursor, focus, filter, grouping, sorting, marks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kgtui.model.query.sort_keys import CYCLED_SORT_KEYS, SORT_KEYS, joined
from kgtui.tui.messages import LiveRequested
from kgtui.tui.screen_actions.action import Action, needs_group
from kgtui.tui.tree.grouping import GROUPING_TITLES, GROUPINGS

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.tui.screens.cluster import ClusterScreen


def _move(screen: ClusterScreen, in_tree: Callable[[], object], *actions_elsewhere: str) -> None:
    """Call `in_tree` if the tree of groups or no widget has the focus. Otherwise, run an action of the focused widget.

    Args:
        actions_elsewhere: names of actions. The first action that the focused widget supports is run.
    """
    focused = screen.focused
    if focused is None or focused is screen.group_tree:
        in_tree()
        return
    for name in actions_elsewhere:
        action = getattr(focused, f"action_{name}", None)
        if action is not None:
            action()
            return


def _up(screen: ClusterScreen) -> None:
    _move(screen, lambda: screen.group_tree.move(-1), "cursor_up", "scroll_up")


def _down(screen: ClusterScreen) -> None:
    _move(screen, lambda: screen.group_tree.move(1), "cursor_down", "scroll_down")


def _page_up(screen: ClusterScreen) -> None:
    _move(screen, lambda: screen.group_tree.page(-1), "page_up")


def _page_down(screen: ClusterScreen) -> None:
    _move(screen, lambda: screen.group_tree.page(1), "page_down")


def _first(screen: ClusterScreen) -> None:
    _move(screen, lambda: screen.group_tree.move_to(0), "scroll_top", "cursor_first", "scroll_home")


def _last(screen: ClusterScreen) -> None:
    tree = screen.group_tree
    _move(screen, lambda: tree.move_to(tree.model.layout.rows), "scroll_bottom", "cursor_last", "scroll_end")


def _expand(screen: ClusterScreen) -> None:
    _move(screen, screen.group_tree.unfold, "cursor_right", "scroll_right")


def _collapse(screen: ClusterScreen) -> None:
    _move(screen, screen.group_tree.fold, "cursor_left", "scroll_left")


def _open(screen: ClusterScreen) -> None:
    _move(screen, screen.group_tree.open, "select_cursor")


def _switch(screen: ClusterScreen) -> None:
    if screen.in_panes:
        screen.leave_panes()
    else:
        screen.enter_panes()


def _back(screen: ClusterScreen) -> None:
    if screen.has_class("-full") and screen.has_class("-wide"):
        screen.remove_class("-full")
    elif screen.in_panes or screen.has_class("-pane"):
        screen.leave_panes()
    elif screen.filter_bar.clear_filter():
        screen.apply_filter()
    elif screen.only_problems:
        _toggle_problems(screen)
    elif screen.marked:
        screen.group_tree.unmark()
    elif screen.session.live_session is not None:
        screen.playback.stop()
        screen.post_message(LiveRequested())


def _filter(screen: ClusterScreen) -> None:
    screen.leave_panes()
    screen.filter_bar.begin()


def _next_match(screen: ClusterScreen) -> None:
    if not screen.group_tree.next_match():
        screen.toast("no group matches; press esc to clear the filter")


def _next_grouping(screen: ClusterScreen) -> None:
    index = GROUPINGS.index(screen.group_tree.model.grouping)
    screen.group_tree.group_by(GROUPINGS[(index + 1) % len(GROUPINGS)])


def _next_sorting(screen: ClusterScreen) -> None:
    sort, keys = screen.group_tree.model.sort, CYCLED_SORT_KEYS
    following = keys[(keys.index(sort) + 1) % len(keys)] if sort in keys else keys[0]
    screen.left_side.sort_by(following, descending=SORT_KEYS[following].largest_first)


def _toggle_problems(screen: ClusterScreen) -> None:
    screen.toggle_problems()


def _next_problem(screen: ClusterScreen) -> None:
    group = screen.right_side.next_problem(screen.group)
    if group is None:
        screen.toast("no group needs attention")
    else:
        screen.go_to(group)


def _acknowledge(screen: ClusterScreen) -> None:
    if screen.group is not None:
        screen.acknowledge(screen.group)


_MoveAction = partial(Action, section="Move", in_palette=False)
_FindAction = partial(Action, section="Find")

ACTIONS: tuple[Action, ...] = (
    _MoveAction(id="up", keys="up,k", shown_keys="up k", name="Up", help="Move up one row.", run=_up),
    _MoveAction(id="down", keys="down,j", shown_keys="down j", name="Down", help="Move down one row.", run=_down),
    _MoveAction(id="page-up", keys="pageup", shown_keys="page up", name="Page up", help="Move up one page.",
                run=_page_up),
    _MoveAction(id="page-down", keys="pagedown", shown_keys="page down", name="Page down", help="Move down one page.",
                run=_page_down),
    _MoveAction(id="first", keys="home,g", shown_keys="home g", name="First", help="Go to the first row.", run=_first),
    _MoveAction(id="last", keys="end,G", shown_keys="end G", name="Last", help="Go to the last row.", run=_last),
    _MoveAction(id="expand", keys="right", shown_keys="right", name="Expand",
                help="Expand the node; on an expanded node, go to its first row.", run=_expand),
    _MoveAction(id="collapse", keys="left", shown_keys="left", name="Collapse",
                help="Collapse the node; on a group, go to the node that contains it.", run=_collapse),
    _MoveAction(id="open", keys="enter", shown_keys="enter", name="Open",
                help="Expand or collapse the node; on a group, go to its panes.", run=_open),
    _MoveAction(id="switch", keys="tab", shown_keys="tab", name="Tree or pane",
                help="Switch between the tree and the panes.", run=_switch),
    _MoveAction(id="back", keys="escape", shown_keys="esc", name="Back", run=_back,
                help="Go back one step: close the dialog, full screen or pane; clear the filter; show all groups; "
                     "unmark all groups; or return to the live cluster from a recording opened with t."),
    _FindAction(id="filter", keys="slash", shown_keys="/", name="Filter", run=_filter,
                help="Type a filter; enter keeps it and, if only one group matches, goes to this group; esc restores "
                     "the previous filter."),
    _FindAction(id="next", keys="n", shown_keys="n", name="Next match", run=_next_match,
                help="Go to the next group that matches the filter, expanding its node if necessary."),
    _FindAction(id="group-by", keys="b", shown_keys="b", name="Group by", run=_next_grouping,
                help=f"Go to the next grouping of the tree: {'; '.join(GROUPING_TITLES.values())}."),
    _FindAction(id="sort", keys="s", shown_keys="s", name="Sort", run=_next_sorting,
                help=f"Sort groups by {joined(CYCLED_SORT_KEYS)}."),
    _FindAction(id="faults", keys="z", shown_keys="z", name="Problems", run=_toggle_problems,
                help="Show only groups with a problem (a verdict other than OK, a failed read, or a rebalance), the "
                     "worst first; press again to show all groups."),
    _FindAction(id="next-problem", keys="exclamation_mark", shown_keys="!", name="Next problem", run=_next_problem,
                help="Go to the group with the most severe problem; press again to go to the next one."),
    _FindAction(id="acknowledge", keys="A", shown_keys="A", name="Acknowledge", run=_acknowledge,
                unavailable=needs_group,
                help="Acknowledge the problem of the group: it needs no attention until its problem changes. Press "
                     "again to undo this."),
    _FindAction(id="mark", keys="space", shown_keys="space", name="Mark", run=lambda screen: screen.group_tree.mark(),
                help="Mark or unmark the group; on a node, all groups of the node that match the filter."),
    _FindAction(id="mark-all", keys="asterisk", shown_keys="*", name="Mark all",
                run=lambda screen: screen.group_tree.mark_all(),
                help="Mark all groups that match the filter, or unmark them."),
)  # fmt: skip
