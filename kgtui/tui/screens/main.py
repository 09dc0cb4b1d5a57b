"""The main screen: header, filter bar, tree, panes, fault lines, footer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Horizontal, Vertical
from textual.screen import Screen

from kgtui.model.query import parse
from kgtui.tui import keys
from kgtui.tui.availability import reason
from kgtui.tui.messages import ActionRequested, GroupOpened, GroupSelected, MomentRequested, SnapshotArrived
from kgtui.tui.panes import PANES
from kgtui.tui.recording import mark as recording_mark
from kgtui.tui.screens.deeds import Deeds
from kgtui.tui.settings import good_presets
from kgtui.tui.tree.grouping import GROUPING_TITLES
from kgtui.tui.tree.widget import GroupTree
from kgtui.tui.widgets.broker_faults import BrokerFaults
from kgtui.tui.widgets.detail import GroupDetail
from kgtui.tui.widgets.filter_bar import FilterBar
from kgtui.tui.widgets.footer import ActionFooter
from kgtui.tui.widgets.header import ClusterHeader
from kgtui.tui.widgets.situation import Situation, situation
from kgtui.tui.widgets.tree_heading import TreeHeading

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.timer import Timer

    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.session import GroupMonitor, Session
    from kgtui.tui.tree.model import TreeModel

PANE_DELAY = 0.1
"""Seconds that the cursor rests before the panes are drawn: a key held down never waits for them."""
FILL_DELAY = 0.3
"""Seconds from the first groups until the panes behind the one in front are made."""


class Body(Horizontal):
    """Tree and panes, side by side."""

    BLANK = True


class Left(Vertical):
    """The tree, with what stands above it or in its place."""

    BLANK = True


class MainScreen(Screen[None]):
    """One cluster, live."""

    # Here as above: drawn as one colour. Textual draws what lies behind a line that changed, to the last of its lines.
    BLANK = True
    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings()]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012 - as Textual declares it
    AUTO_FOCUS = "GroupTree"

    DEFAULT_CSS = """
    MainScreen {
        layout: vertical;
        & #body { height: 1fr; }
        & #left { width: 40%; min-width: 44; max-width: 84; }
        & GroupTree { height: 1fr; }
        & GroupDetail { width: 1fr; border-left: vkey $panel; }
        &.-narrow #left { width: 1fr; max-width: 100%; }
        &.-narrow GroupDetail { display: none; border-left: none; }
        &.-narrow.-pane #left { display: none; }
        &.-narrow.-pane GroupDetail { display: block; }
        &.-full #left { display: none; }
        &.-full GroupDetail { display: block; border-left: none; }
        &.-bare #left { width: 1fr; max-width: 100%; }
        &.-bare GroupDetail, &.-bare GroupTree, &.-bare TreeHeading, &.-bare BrokerFaults { display: none; }
    }
    """

    def __init__(self, session: Session, watch: GroupMonitor, *, like: MainScreen | None = None) -> None:
        """A screen on one cluster, with the groups arranged `like` on another.

        On a recording opened from a live screen the cursor is on the same group, and the same pane in front.
        """
        # What the first snapshot and the first size would make of it: each change of a class styles every widget anew.
        super().__init__(classes="" if watch.snapshot.groups else "-bare")
        self.session = session
        self.watched = watch
        self.snapshot = watch.snapshot
        self._like = like.groups.model if like is not None else None
        self._front = like.detail.active if like is not None and session.live_session is not None else PANES[0].id
        self.only_faults = False
        self.group: str | None = None
        self._shown: int | None = None
        self._visible: tuple[str, ...] = ()
        self._pane_timer: Timer | None = None
        self._deeds = Deeds(self)

    def compose(self) -> ComposeResult:
        """Top to bottom."""
        session = self.session
        past, visit = session.replay_position is not None, session.live_session is not None
        width = self.app.size.width
        self.add_class(next(name for least, name in reversed(self.HORIZONTAL_BREAKPOINTS) if width >= least))
        yield ClusterHeader(
            session.target, self.watched, read_only=session.read_only, timeline=session.replay_position,
            extra=partial(recording_mark, session),
        )  # fmt: skip
        yield FilterBar(session.filter, good_presets(session.presets))
        with Body(id="body"):
            with Left(id="left"):
                yield TreeHeading()
                yield Situation()
                yield GroupTree(self.snapshot)
            yield GroupDetail(
                self.snapshot, session.target.command_config, self.watched.series,
                session.replay_position, front=self._front,
            )  # fmt: skip
        yield BrokerFaults()
        shown = keys.in_footer(read_only=session.read_only, past=past, visit=visit)
        yield ActionFooter(self.reason, shown, keymap=session.keymap)

    def on_mount(self) -> None:
        """Show what is known already."""
        if self._like is not None:
            self._be_like(self._like)
        self.show(self.snapshot)
        if self.snapshot.groups:
            self.set_timer(FILL_DELAY, self.detail.fill)

    def _be_like(self, view: TreeModel) -> None:
        visit = self.session.live_session is not None
        self.groups.copy_arrangement(view, cursor=visit)
        self._like = None  # its groups need not stay in memory
        if visit:
            self.group = self.groups.group
            self._look()

    # The parts

    @property
    def groups(self) -> GroupTree:
        """The tree of groups."""
        return self.query_one(GroupTree)

    @property
    def detail(self) -> GroupDetail:
        """The panes."""
        return self.query_one(GroupDetail)

    @property
    def filter_bar(self) -> FilterBar:
        """The filter bar."""
        return self.query_one(FilterBar)

    @property
    def marked(self) -> set[str]:
        """The groups marked."""
        return self.groups.model.marked

    def reason(self, action: str) -> str | None:
        """Why an action cannot be done now; None when it can."""
        return reason(action, self.session, self.snapshot, self.group, marked=len(self.marked))

    # Snapshots

    @on(SnapshotArrived)
    def _snapshot_arrived(self, message: SnapshotArrived) -> None:
        first = not self.snapshot.groups and bool(message.snapshot.groups)
        self.show(message.snapshot)
        if first:
            # Once the groups are on the screen: nobody waits for the panes behind.
            self.set_timer(FILL_DELAY, self.detail.fill)

    def show(self, snapshot: Snapshot) -> None:
        """Show a newer snapshot everywhere; nothing moves."""
        self.snapshot = snapshot
        self.groups.show(snapshot)
        self.query_one(BrokerFaults).show(snapshot)
        self.draw_panes()
        self.draw_bars()

    def draw_bars(self) -> None:
        """Bring header and footer up to date, and what stands in the place of an empty tree."""
        marked = len(self.marked)
        self.query_one(ClusterHeader).show(self.snapshot, shown=self._shown, marked=marked)
        self.query_one(ActionFooter).redraw()
        filtered_out = self._shown == 0
        said = situation(self.snapshot, self.session.target, filtered_out=filtered_out, interval=self.watched.interval)
        nothing = self.query_one(Situation).say(said)
        self.set_class(not self.snapshot.groups, "-bare")
        self.groups.display = not nothing

    def draw_panes(self) -> None:
        """Show the selected group in the pane in front, if it is on the screen."""
        if self.detail.display:
            self.detail.show(self.snapshot, self.group)

    # The tree tells

    @on(GroupSelected)
    def _group_selected(self, message: GroupSelected) -> None:
        self.group = message.group
        self._look()
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
        self._look()

    def bring(self, pane: str) -> None:
        """Bring a pane to the front; on a narrow screen it takes the tree's place."""
        self.detail.bring(pane)
        if self.in_panes or self.has_class("-narrow"):
            self.enter_panes()
        self.want_configs()

    def go_to(self, group: str) -> None:
        """Put the cursor on a group, taking away a filter that hides it."""
        if not self.groups.reveal(group):
            self.only_faults = False
            self.filter_bar.drop()
            self.apply_filter()
            self.groups.reveal_later(group)
        self.leave_panes()

    def redraw(self) -> None:
        """Draw everything again, as when times are written otherwise."""
        self.draw_bars()
        self.query_one(BrokerFaults).show(self.snapshot)
        self.detail.redraw()

    def _look(self) -> None:
        self.watched.set_view(self.group, self._visible)
        self.want_configs()

    def want_configs(self) -> None:
        """Have the selected group's configs read while their pane is in front."""
        on_screen = self.detail.display and self.detail.active == "config"
        self.watched.want_configs(self.group if on_screen else None)

    @on(GroupTree.LaidOut)
    def _arranged(self, message: GroupTree.LaidOut) -> None:
        filtered = self.only_faults or bool(self.filter_bar.in_force.strip())
        self._shown = message.shown if filtered else None
        self.filter_bar.note_searched(message.searched if filtered else None, only_faults=self.only_faults)
        self.draw_bars()

    @on(GroupTree.SettingsChanged)
    def _reordered(self) -> None:
        view = self.groups.model
        self.query_one(TreeHeading).show(GROUPING_TITLES[view.grouping], view.sort, descending=view.descending)
        self.draw_bars()

    # The filter

    @on(FilterBar.Changed)
    def _filter_changed(self) -> None:
        self.apply_filter()

    def apply_filter(self) -> None:
        """Put the filter in force, and `only faults`, to the tree."""
        words = self.filter_bar.in_force
        self.groups.filter(parse(f"{words} fault:yes" if self.only_faults else words))

    def set_filter(self, expression: str) -> None:
        """Put another expression into the filter bar."""
        self.filter_bar.input.value = expression

    @on(FilterBar.Done)
    def _filter_done(self) -> None:
        self.leave_panes()

    # Focus, full screen, narrow screens

    @property
    def in_panes(self) -> bool:
        """Whether the panes have the focus."""
        focused = self.focused
        return focused is not None and self.detail in focused.ancestors_with_self

    def enter_panes(self) -> None:
        """Give the focus to the pane in front; on a narrow screen it takes the tree's place."""
        if self.group is None:
            return
        self.add_class("-pane")
        self.detail.show(self.snapshot, self.group)
        self.detail.enter()
        self.want_configs()

    def leave_panes(self) -> None:
        """Give the focus back to the tree."""
        self.remove_class("-pane", "-full")
        self.set_focus(self.groups)
        self.want_configs()

    @on(MomentRequested)
    def _moment_requested(self, message: MomentRequested) -> None:
        self._deeds.go_to_moment(message.at)

    @on(ActionRequested)
    def _action_requested(self, message: ActionRequested) -> None:
        self.action_do(message.action)

    def action_do(self, action: str) -> None:
        """Do what a key stands for, or say why it cannot be done."""
        # Keys that come at once, as over a slow line, run before the tree's message about the first of them does.
        if self.group != self.groups.group:
            self.group = self.groups.group
            self._look()
        why = self.reason(action)
        if why is not None:
            name = keys.BY_ID[action].name
            self.notify(why, title=f"{name}: not now", severity="warning", timeout=6, markup=False)
            return
        self._deeds.do(action)
        self.draw_bars()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Read-only removes every key that writes; all others run and tell their reason themselves."""
        if action != "do" or not parameters:
            return True
        known = keys.BY_ID.get(str(parameters[0]))
        return not (known is not None and known.writes and self.session.read_only)
