"""What the keys of the main screen do, by action id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model import facts
from kgtui.model.command_line import describe, quote
from kgtui.model.group_types import kind_of
from kgtui.model.text import is_visible
from kgtui.tui import text
from kgtui.tui.messages import ClustersRequested, DeleteRequested, ExplainRequested
from kgtui.tui.panes import PANES
from kgtui.tui.screens.travel import TravelDeeds
from kgtui.tui.tree.grouping import GROUPINGS
from kgtui.tui.tree.sorting import SORTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.tui.tree.widget import GroupTree

INTERVALS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds between polls, in the steps of the keys."""


class Deeds(TravelDeeds):
    """One public method per action id, hyphens written as underscores."""

    def do(self, action: str) -> None:
        """Do what an action of `keys.ACTIONS` stands for."""
        if action.startswith("pane-"):
            self._bring(action.removeprefix("pane-"))
            return
        deed: Callable[[], None] = getattr(self, action.replace("-", "_"))
        deed()

    @property
    def _tree(self) -> GroupTree:
        return self._screen.groups

    # Moving: the tree's keys also work, as far as they can, in what else has the focus

    def _move(self, of_tree: Callable[[], object], *of_others: str) -> None:
        focused = self._screen.focused
        if focused is None or focused is self._tree:
            of_tree()
            return
        for name in of_others:
            action = getattr(focused, f"action_{name}", None)
            if action is not None:
                action()
                return

    def up(self) -> None:
        """One row up."""
        self._move(lambda: self._tree.move(-1), "cursor_up", "scroll_up")

    def down(self) -> None:
        """One row down."""
        self._move(lambda: self._tree.move(1), "cursor_down", "scroll_down")

    def page_up(self) -> None:
        """One page up."""
        self._move(lambda: self._tree.page(-1), "page_up")

    def page_down(self) -> None:
        """One page down."""
        self._move(lambda: self._tree.page(1), "page_down")

    def first(self) -> None:
        """To the first row."""
        self._move(lambda: self._tree.move_to(0), "scroll_top", "cursor_first", "scroll_home")

    def last(self) -> None:
        """To the last row."""
        self._move(
            lambda: self._tree.move_to(self._tree.model.layout.rows), "scroll_bottom", "cursor_last", "scroll_end"
        )

    def expand(self) -> None:
        """Open the node."""
        self._move(self._tree.unfold, "cursor_right", "scroll_right")

    def collapse(self) -> None:
        """Close the node."""
        self._move(self._tree.fold, "cursor_left", "scroll_left")

    def open(self) -> None:
        """Open or close a node; go to the panes of a group."""
        self._move(self._tree.open, "select_cursor")

    def switch(self) -> None:
        """From the tree to the panes and back."""
        if self._screen.in_panes:
            self._screen.leave_panes()
        elif self._screen.group is None:
            self.say("put the cursor on a group first")
        else:
            self._screen.enter_panes()

    def back(self) -> None:
        """One step back: full screen, panes, filter, only faults, marks, a recording opened from here."""
        screen = self._screen
        if screen.has_class("-full") and screen.has_class("-wide"):
            screen.remove_class("-full")
        elif screen.in_panes or screen.has_class("-pane"):
            screen.leave_panes()
        elif screen.filter_bar.drop():
            screen.apply_filter()
        elif screen.only_faults:
            self.faults()
        elif screen.marked:
            self._tree.unmark()
        elif screen.session.live_session is not None:
            self.live()

    # Finding

    def filter(self) -> None:
        """Type a filter."""
        self._screen.leave_panes()
        self._screen.filter_bar.begin()

    def next(self) -> None:
        """To the next group that the filter shows."""
        if not self._tree.next_match():
            self.say("no group is shown")

    def group_by(self) -> None:
        """Group the tree by the next of the ways."""
        at = GROUPINGS.index(self._tree.model.grouping)
        self._tree.group_by(GROUPINGS[(at + 1) % len(GROUPINGS)])

    def sort(self) -> None:
        """Sort by the next of the columns, the largest first."""
        sort = SORTS[(SORTS.index(self._tree.model.sort) + 1) % len(SORTS)]
        self._tree.sort_by(sort, descending=sort != "name")

    def faults(self) -> None:
        """Show only groups of which something could not be learned, or all again."""
        self._screen.only_faults = not self._screen.only_faults
        self._screen.apply_filter()

    def mark(self) -> None:
        """Mark what the cursor is on."""
        self._tree.mark()

    def mark_all(self) -> None:
        """Mark all groups shown."""
        self._tree.mark_all()

    # Looking

    def _bring(self, key: str) -> None:
        entry = next(entry for entry in PANES if entry.key == key)
        self._screen.bring(entry.id)

    def only(self) -> None:
        """Only what lags or must move, in the pane in front; and all again."""
        self._screen.detail.pane.action_only()

    def view(self) -> None:
        """The next view of the pane in front."""
        self._screen.detail.pane.action_view()

    def full(self) -> None:
        """The pane alone, and back."""
        screen = self._screen
        if screen.has_class("-full"):
            screen.leave_panes()
        elif screen.group is None:
            self.say("put the cursor on a group first")
        else:
            screen.add_class("-full")
            screen.enter_panes()

    def insights(self) -> None:
        """Show what a lake's tables say that somebody should know."""
        from kgtui.tui.insights.screen import InsightsScreen

        self._screen.app.push_screen(InsightsScreen(self._screen), self._chosen)

    def utc(self) -> None:
        """Times in UTC, and back to local time."""
        look = text.display_settings()
        look.utc = not look.utc
        self._screen.redraw()

    def refresh(self) -> None:
        """Ask every broker now."""
        self._screen.watched.refresh()

    def pause(self) -> None:
        """Stop polling, and go on."""
        watched = self._screen.watched
        if self._screen.session.replay_position is not None:
            self.play()
        elif watched.paused:
            watched.resume()
        else:
            watched.pause()

    def faster(self) -> None:
        """Poll more often."""
        self._step_interval(-1)

    def slower(self) -> None:
        """Poll less often."""
        self._step_interval(1)

    def _step_interval(self, step: int) -> None:
        if self._screen.session.replay_position is not None:
            self.change_speed(-step)
            return
        watched = self._screen.watched
        nearest = min(range(len(INTERVALS)), key=lambda at: abs(INTERVALS[at] - watched.interval))
        seconds = INTERVALS[max(0, min(nearest + step, len(INTERVALS) - 1))]
        watched.set_interval(seconds)
        self.say(f"a poll every {seconds:g} s; a slow broker is asked less often")

    # Acting

    def delete(self) -> None:
        """Ask for the dialog about the marked groups, or the selected one."""
        screen = self._screen
        groups = tuple(sorted(screen.marked)) or ((screen.group,) if screen.group is not None else ())
        screen.post_message(DeleteRequested(groups))

    def copy(self) -> None:
        """Copy the group's id; one that would act when pasted into a shell is copied quoted."""
        group = self._screen.group
        if group is None:
            return
        copied = group if is_visible(group) else quote(group)
        self._screen.app.copy_to_clipboard(copied)
        note = "" if copied == group else " (quoted for a shell: it has characters that act)"
        self.say(text.plain(copied, 400), title=f"Copied{note}")

    def copy_command(self) -> None:
        """Copy the Kafka command that shows the same as the pane in front."""
        screen, group = self._screen, self._screen.group
        if group is None:
            return
        snapshot = screen.snapshot
        listing = snapshot.groups.get(group)
        kind = kind_of(facts.type_of(snapshot, group), listing.protocol) if listing is not None else "consumer"
        target = screen.session.target
        seeds = snapshot.cluster.seeds or tuple(target.bootstrap.split(","))
        line = describe(group, kind, seeds, view=screen.detail.pane.tool_view, command_config=target.command_config)
        screen.app.copy_to_clipboard(line.text)
        from kgtui.tui.screens.copied import CopiedDialog

        screen.app.push_screen(CopiedDialog(line.text, line.note))

    def explain(self) -> None:
        """Ask what the group's fault or state means."""
        self._screen.post_message(ExplainRequested(self._screen.group))

    def export(self) -> None:
        """Write the group and its surroundings to a file."""
        from kgtui.tui.dialogs.export import (
            ExportDialog,
        )  # loads what writes files, which the first frame can do without

        screen, group = self._screen, self._screen.group
        if group is not None:
            folder, config = screen.session.state_folder / "exports", screen.session.target.command_config
            screen.app.push_screen(ExportDialog(screen.snapshot, group, folder, command_config=config))

    # The program

    def record(self) -> None:
        """Ask where to record to; end the recording that is under way."""
        from kgtui.tui.dialogs.record import RecordDialog

        screen, session = self._screen, self._screen.session
        if session.recording is not None:
            screen.run_worker(session.recording.end(), group="record", description="record")
        else:
            screen.app.push_screen(RecordDialog(session, self._recording_changed))

    def _recording_changed(self) -> None:
        if self._screen.query("GroupTree"):  # none, when the screen ends
            self._screen.draw_bars()

    def cluster(self) -> None:
        """Ask for the list of clusters."""
        self._screen.post_message(ClustersRequested())

    def palette(self) -> None:
        """Open the command palette."""
        self._screen.app.action_command_palette()

    def help(self) -> None:
        """Show keys and filter terms."""
        from kgtui.tui.screens.help import HelpScreen

        self._screen.app.push_screen(HelpScreen(self._screen.session))

    def quit(self) -> None:
        """Leave."""
        self._screen.app.call_later(self._screen.app.action_quit)
