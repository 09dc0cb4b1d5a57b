"""The main screen: the screen of one cluster with all its keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on

from kgtui.tui.messages import ActionRequested, HelpRequested, TimeRequested
from kgtui.tui.screen_actions import replay, table
from kgtui.tui.screen_actions.action import ActionContext
from kgtui.tui.screens.cluster import ClusterScreen
from kgtui.tui.widgets.footer import ActionFooter, FooterItem

if TYPE_CHECKING:
    from textual.binding import BindingType


class MainScreen(ClusterScreen):
    """The screen of one cluster, live or recorded, with the key bindings of all actions."""

    BINDINGS: ClassVar[list[BindingType]] = [*table.bindings()]

    def compose_footer(self) -> ActionFooter:
        """Create the footer with the keys of this session."""
        keymap = self.session.keymap
        actions = table.in_footer(self.session)
        items = [FooterItem(a.id, a.keys_in(keymap).split(" ")[0], a.name, a.help) for a in actions]
        return ActionFooter(items, self.why_unavailable)

    def why_unavailable(self, action_id: str) -> str | None:
        """Return why an action is unavailable now; None when it is available."""
        context = ActionContext(self.session, self.snapshot, self.group, marked=len(self.marked))
        return table.why_unavailable(action_id, context)

    def run_action_by_id(self, action_id: str) -> None:
        """Run the action with this id, or show why it is unavailable."""
        # If keys are pressed quickly, the tree's message about its last cursor move may not be handled yet. Therefore,
        # the selected group is read from the tree itself.
        if self.group != self.group_tree.group:
            self.group = self.group_tree.group
            self.update_monitor()
        action = table.BY_ID[action_id]
        why = self.why_unavailable(action_id)
        if why is not None:
            self.notify(why, title=f"{action.name}: not now", severity="warning", timeout=6, markup=False)
            return
        action.run(self)
        self.draw_bars()

    def action_run_action(self, action_id: str) -> None:
        """Run the action whose key was pressed."""
        self.run_action_by_id(action_id)

    @on(ActionRequested)
    def _action_requested(self, message: ActionRequested) -> None:
        self.run_action_by_id(message.action)

    @on(HelpRequested)
    def _help_requested(self) -> None:
        from kgtui.tui.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(self.session))

    @on(TimeRequested)
    def _time_requested(self, message: TimeRequested) -> None:
        replay.go_to_time(self, message.at)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """In a read-only session, disable the keys of actions that change the cluster.

        All other keys stay enabled, so that the key of an unavailable action can show the reason.
        """
        if action != "run_action" or not parameters:
            return True
        known = table.BY_ID.get(str(parameters[0]))
        return not (known is not None and known.writes and self.session.read_only)
