"""The screen of one cluster: header, filter bar, tree of groups, panes, broker errors, footer. It binds no keys."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.containers import Horizontal
from textual.screen import Screen

from kgtui.model.query import parse
from kgtui.tui import text
from kgtui.tui.messages import GroupOpened, GroupSelected, SnapshotArrived
from kgtui.tui.node_page.page import NodePage
from kgtui.tui.node_page.right_side import RightSide
from kgtui.tui.panes import PANES, PANES_BY_ID
from kgtui.tui.panes.table import LineTable
from kgtui.tui.problem_index import ProblemIndex
from kgtui.tui.recent_events import RecentEvents
from kgtui.tui.recording import recording_mark
from kgtui.tui.session import Playback
from kgtui.tui.startup_notices import valid_presets
from kgtui.tui.tree.left_side import LeftSide
from kgtui.tui.tree.widget import GroupTree
from kgtui.tui.widgets.broker_faults import FaultLines
from kgtui.tui.widgets.empty_state import EmptyState
from kgtui.tui.widgets.filter_bar import FilterBar
from kgtui.tui.widgets.footer import ActionFooter
from kgtui.tui.widgets.group_detail import GroupDetail
from kgtui.tui.widgets.header import ClusterHeader

if TYPE_CHECKING:
    import asyncio

    from textual.app import ComposeResult
    from textual.timer import Timer

    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.session import GroupMonitor, Session
    from kgtui.tui.tree.model import TreeModel

PANE_DELAY = 0.1
"""Delay between a move of the tree's cursor and the drawing of the new group's panes, in seconds.

While an arrow key is held down, the delay prevents drawing the panes of every group that the cursor passes.
"""


class Body(Horizontal):
    """Container that shows the tree of groups and the panes of the selected group side by side."""

    BLANK = True


class ClusterScreen(Screen[None]):
    """The screen of one cluster, live or recorded. `MainScreen` adds key bindings."""

    # If `BLANK` is true, Textual fills the background with one color, which is faster than rendering the widget.
    BLANK = True
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012 - as Textual declares it
    AUTO_FOCUS = "GroupTree"

    DEFAULT_CSS = """
    ClusterScreen {
        layout: vertical;
        & #body { height: 1fr; }
        & LeftSide { width: 40%; min-width: 44; max-width: 120; }
        & GroupTree { height: 1fr; }
        & RightSide { width: 1fr; border-left: vkey $panel; }
        &.-narrow LeftSide { width: 1fr; max-width: 100%; }
        &.-narrow RightSide { display: none; border-left: none; }
        &.-narrow.-pane LeftSide { display: none; }
        &.-narrow.-pane RightSide { display: block; }
        &.-full LeftSide { display: none; }
        &.-full RightSide { display: block; border-left: none; }
        &.-bare LeftSide { width: 1fr; max-width: 100%; }
        &.-bare RightSide, &.-bare GroupTree, &.-bare TreeHeading, &.-bare FaultLines { display: none; }
    }
    """

    def __init__(self, session: Session, monitor: GroupMonitor, *, like: ClusterScreen | None = None) -> None:
        """Create a screen for one cluster or recording.

        Args:
            like: the previous screen, whose tree settings (grouping, sort order and columns) are copied. If the new
                screen shows a recording that was opened from a live cluster, the open tree nodes, the cursor and the
                visible pane are copied as well. If `like` is None, the saved sort order and columns are used.
        """
        # The CSS class "-bare" hides the tree and the panes while there are no groups. Set it here, because setting it
        # after the screen is mounted would make Textual compute all styles again.
        super().__init__(classes="" if monitor.snapshot.groups else "-bare")
        self.session = session
        self.monitor = monitor
        self.snapshot = monitor.snapshot
        self.only_problems = False
        """Whether the tree shows only groups with a problem."""
        self.playback = Playback(session)
        self._like = like.group_tree.model if like is not None else None
        self._front = like.detail.active if like is not None and session.live_session is not None else PANES[0].id
        self._matching: int | None = None
        self._visible: tuple[str, ...] = ()
        self._pane_timer: Timer | None = None
        self._recent_events = RecentEvents(session.replay_position)

    def compose(self) -> ComposeResult:
        session = self.session
        width = self.app.size.width
        problems = ProblemIndex()
        self.add_class(next(name for least, name in reversed(self.HORIZONTAL_BREAKPOINTS) if width >= least))
        yield ClusterHeader(
            session.target, self.monitor, read_only=session.read_only, replay_position=session.replay_position,
            recording_mark=partial(recording_mark, session),
        )  # fmt: skip
        yield FilterBar(session.filter, valid_presets(session.presets))
        with Body(id="body"):
            yield LeftSide(self.snapshot, session, problems)
            yield RightSide(
                GroupDetail(
                    self.snapshot, session.target.command_config, self.monitor.series, session.replay_position,
                    front=self._front,
                ),
                problems,
            )  # fmt: skip
        yield FaultLines()
        yield self.compose_footer()

    def compose_footer(self) -> ActionFooter:
        """Create a footer without keys. `MainScreen` overrides this method."""
        return ActionFooter((), lambda _: None)

    def on_mount(self) -> None:
        """Apply tree settings, such as the sort order, and show the snapshot.

        The tree settings are those of the previous screen or, if there is none, the saved settings.
        """
        if self._like is not None:
            self._arrange_like(self._like)
        else:
            self.left_side.restore_view()
        self.show(self.snapshot)
        if self.snapshot.groups:
            self.detail.create_remaining_panes_soon()

    def _arrange_like(self, view: TreeModel) -> None:
        over_live = self.session.live_session is not None
        self.group_tree.copy_arrangement(view, cursor=over_live)
        # Drop the reference to the previous screen's tree, so that its memory can be freed.
        self._like = None
        if over_live:
            self.update_monitor()

    @property
    def left_side(self) -> LeftSide:
        """The widget that contains the tree of groups and the heading above the tree."""
        return self.query_one(LeftSide)

    @property
    def group_tree(self) -> GroupTree:
        return self.query_one(GroupTree)

    @property
    def detail(self) -> GroupDetail:
        """The panes of the selected group."""
        return self.query_one(GroupDetail)

    @property
    def right_side(self) -> RightSide:
        """The widget on the right: the panes of the selected group, or the page of the tree node under the cursor."""
        return self.query_one(RightSide)

    @property
    def filter_bar(self) -> FilterBar:
        return self.query_one(FilterBar)

    @property
    def group(self) -> str | None:
        """Id of the group under the tree's cursor.

        None if the cursor is on a node that contains groups, such as a group type, or if the tree is empty.
        """
        return self.group_tree.group

    @property
    def action_done(self) -> asyncio.Event:
        """Asyncio event that is set when the tree shows the groups that match the filter.

        Enter in the filter bar clears the event. Until the event is set again,
        `textual_compat.key_order` holds back further keys, so that these keys act on the matching
        groups.
        """
        return self.group_tree.match_selected

    @property
    def marked(self) -> set[str]:
        """Ids of the marked groups."""
        return self.group_tree.model.marked

    @on(SnapshotArrived)
    def _snapshot_arrived(self, message: SnapshotArrived) -> None:
        first = not self.snapshot.groups and bool(message.snapshot.groups)
        self.show(message.snapshot)
        if first:
            self.detail.create_remaining_panes_soon()

    def show(self, snapshot: Snapshot) -> None:
        """Show a newer snapshot in all widgets. The cursor and the focus stay where they are."""
        self.snapshot = snapshot = self._recent_events.with_events(snapshot)
        self.right_side.page.set_changes_placeholder(self._recent_events.placeholder())
        if snapshot.groups and self._recent_events.start_reading():
            self.run_worker(self._read_recent_events(), group="recent-events", exit_on_error=False)
        self.group_tree.show(snapshot)
        self.query_one(FaultLines).show(snapshot)
        self.right_side.set_snapshot(snapshot)
        self.draw_panes()
        self.draw_bars()

    async def _read_recent_events(self) -> None:
        await self._recent_events.read()
        self.show(self.monitor.snapshot)

    @on(RightSide.ProblemsChanged)
    def draw_bars(self) -> None:
        """Update the header, the footer, and the message that is shown instead of an empty tree."""
        self.query_one(ClusterHeader).show(
            self.snapshot, problems=self.right_side.counts, matching=self._matching, marked=len(self.marked)
        )
        self.query_one(ActionFooter).redraw()
        query = parse(self.filter_bar.active_filter) if self._matching == 0 else None
        self.left_side.show_empty_state(self.snapshot, query)
        self.set_class(not self.snapshot.groups, "-bare")

    @on(EmptyState.Explained)
    def _no_match_explained(self, message: EmptyState.Explained) -> None:
        self.filter_bar.show_hint(f"did you mean {message.meant}" if message.meant else "")

    def draw_panes(self) -> None:
        """Show the panes of the selected group, or the page of the tree node under the cursor.

        Do nothing if the right side of the screen is hidden.
        """
        right_side = self.right_side
        if not right_side.display:
            return
        if self.group is not None:
            right_side.show_group(self.group)
        elif self._matching == 0:
            right_side.show_nothing()
        else:
            right_side.show_node(self.group_tree.model, self.session.target.name)

    def redraw(self) -> None:
        """Redraw header, footer, broker errors, visible pane and tables, for example in another time zone."""
        self.draw_bars()
        self.query_one(FaultLines).show(self.snapshot)
        self.detail.redraw()
        for table in self.query(LineTable):
            table.redraw()

    def toast(self, message: str, *, title: str = "") -> None:
        """Show a short message for a few seconds."""
        self.notify(message, title=title, timeout=6, markup=False)

    def acknowledge(self, group: str) -> None:
        """Acknowledge the problem of a group, or withdraw an earlier acknowledgment, and show a message about it."""
        name = text.plain(group, 60)
        if self.right_side.withdraw_acknowledgment(group):
            self.toast(f"{name} needs attention again")
        elif self.right_side.acknowledge(group):
            self.toast(f"{name} needs no attention until its problem changes; to undo, press A on it in the tree")
        else:
            self.toast(f"{name} has no problem to acknowledge")

    @on(GroupSelected)
    def _group_selected(self) -> None:
        self.update_monitor()
        if self._pane_timer is not None:
            self._pane_timer.stop()
        self._pane_timer = self.set_timer(PANE_DELAY, self._cursor_rests)

    def _cursor_rests(self) -> None:
        self._pane_timer = None
        self.draw_panes()
        self.draw_bars()

    @on(GroupOpened)
    def _group_opened(self, message: GroupOpened) -> None:
        self.enter_panes()

    @on(GroupTree.ViewChanged)
    def _view_changed(self, message: GroupTree.ViewChanged) -> None:
        self._visible = message.groups
        self.update_monitor()

    def go_to(self, group: str) -> None:
        """Put the cursor on a group, and focus the tree.

        If the tree does not contain the group, first clear the filter. If the tree shows only
        groups with a problem, also show all groups again.
        """
        if not self.group_tree.reveal(group):
            self.filter_bar.clear_filter()
            if self.only_problems:
                self.toggle_problems()
            else:
                self.apply_filter()
            self.group_tree.reveal_later(group)
        self.leave_panes()

    def go_to_if_chosen(self, group: str | None) -> None:
        """Put the cursor on a group; do nothing if `group` is None."""
        if group is not None:
            self.go_to(group)

    @on(NodePage.GroupChosen)
    def _group_chosen_on_page(self, message: NodePage.GroupChosen) -> None:
        if message.action == "acknowledge":
            self.acknowledge(message.group)
        elif message.action == "explain":
            from kgtui.tui.dialogs.explain import ExplainDialog

            self.app.push_screen(ExplainDialog.about_group(self.snapshot, message.group))
        else:
            self.go_to(message.group)

    def update_monitor(self) -> None:
        """Tell the monitor which groups are selected or visible, so that it reads their data at every poll."""
        self.monitor.set_view(self.group, self._visible)
        self.update_monitored_configs()

    def update_monitored_configs(self) -> None:
        """Let the monitor read the configs of the selected group only while the visible pane shows configs."""
        visible = self.right_side.display and PANES_BY_ID[self.detail.active].needs_configs
        self.monitor.want_configs(self.group if visible else None)

    @on(GroupTree.LaidOut)
    def _arranged(self, message: GroupTree.LaidOut) -> None:
        filtered = self.only_problems or bool(self.filter_bar.active_filter.strip())
        matched_none, self._matching = self._matching == 0, message.shown if filtered else None
        if matched_none != (self._matching == 0):
            self.draw_panes()
        self.filter_bar.show_coverage(
            message.searched if filtered else None,
            only_problems=self.only_problems,
            unobserved=self.snapshot.unobserved,
        )
        self.draw_bars()

    @on(GroupTree.SettingsChanged)
    def _reordered(self) -> None:
        self.draw_bars()

    @on(FilterBar.Changed)
    def apply_filter(self) -> None:
        """Show only groups that match the filter. If `only_problems` is set, they must also have a problem."""
        expression = self.filter_bar.active_filter
        self.group_tree.filter(parse(f"{expression} problem:yes" if self.only_problems else expression))

    def toggle_problems(self) -> None:
        """Show only groups with a problem, the most severe problem first.

        When called again, show all groups in their previous order.
        """
        self.only_problems = not self.only_problems
        self.left_side.set_worst_first(enabled=self.only_problems)
        self.apply_filter()

    def set_filter(self, expression: str) -> None:
        """Replace the filter expression in the filter bar. The filter bar then applies the new filter."""
        self.filter_bar.input.value = expression

    @on(FilterBar.Done)
    def _filter_done(self, message: FilterBar.Done) -> None:
        self.leave_panes()
        self.group_tree.select_match(message.accepted)

    def bring(self, pane: str) -> None:
        """Show a pane of the selected group.

        If the cursor is not on a group, but on a tree node that contains groups, show a table on the page of the node
        instead: the table that has the same number key as the pane.
        """
        if self.group is None and self._matching == 0:
            self.toast("no group matches; press esc to clear the filter")
            return
        if not self.right_side.bring(pane, of_group=self.group is not None):
            self.toast("put the cursor on a group first")
            return
        if self.in_panes or self.has_class("-narrow"):
            self.enter_panes()
        self.update_monitored_configs()

    @property
    def in_panes(self) -> bool:
        """Whether the focus is on the right side: in the panes of a group or on the page of a tree node."""
        focused = self.focused
        return focused is not None and self.right_side in focused.ancestors_with_self

    def enter_panes(self) -> None:
        """Focus the visible pane of the group, or the page of the tree node.

        On a narrow screen, the pane or page replaces the tree.
        """
        if self.group is None and self._matching == 0:
            return
        self.add_class("-pane")
        self.draw_panes()
        self.right_side.enter(of_group=self.group is not None)
        self.update_monitored_configs()

    def leave_panes(self) -> None:
        """Focus the tree. If the panes cover the tree (full screen or narrow screen), show the tree again."""
        self.remove_class("-pane", "-full")
        self.set_focus(self.group_tree)
        self.update_monitored_configs()
