"""The main screen: shows one cluster, and handles all keys.

If the user opens a recording from a live cluster, the recording is shown on a second main screen, which covers the
first one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on

from kgtui.tui import text
from kgtui.tui.messages import ActionRequested, HelpRequested, SnapshotArrived, TimeRequested
from kgtui.tui.screen_actions import replay, table
from kgtui.tui.screen_actions.action import ActionContext
from kgtui.tui.screens.cluster import ClusterScreen
from kgtui.tui.widgets.footer import ActionFooter, FooterItem

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App
    from textual.binding import BindingType
    from textual.worker import Worker

    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.session import GroupMonitor, Session


class MainScreen(ClusterScreen):
    """The screen of one cluster, live or recorded, with the key bindings of all actions."""

    BINDINGS: ClassVar[list[BindingType]] = [*table.bindings()]

    def compose_footer(self) -> ActionFooter:
        keymap = self.session.keymap
        actions = table.in_footer(self.session)
        items = [FooterItem(a.id, a.keys_in(keymap).split(" ")[0], a.name, a.help) for a in actions]
        return ActionFooter(items, self.why_unavailable)

    def why_unavailable(self, action_id: str) -> str | None:
        """Return why an action is unavailable now; None if it is available."""
        context = ActionContext(self.session, self.snapshot, self.group, marked=len(self.marked))
        return table.why_unavailable(action_id, context)

    def run_action_by_id(self, action_id: str) -> None:
        """Run an action, or show why it is unavailable."""
        action = table.BY_ID[action_id]
        why = self.why_unavailable(action_id)
        if why is not None:
            self.notify(why, title=f"{action.name} is not available", severity="warning", timeout=6, markup=False)
            return
        action.run(self)
        self.draw_bars()

    def action_run_action(self, action_id: str) -> None:
        """Run the action of a pressed key, or show why it is unavailable."""
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
        """Return whether the key of an action is enabled.

        In a read-only session, return False for actions that change the cluster, so that Textual disables their keys.
        """
        if action != "run_action" or not parameters:
            return True
        known = table.BY_ID.get(str(parameters[0]))
        return not (known is not None and known.writes and self.session.read_only)


class ReplayOverlay:
    """Shows a recording on a second main screen, on top of the screen of the live cluster.

    Meanwhile, kgtui continues to poll the live cluster.

    Args:
        session: the session of the recording.
        live: the screen of the live cluster.
    """

    def __init__(self, app: App[int], session: Session, live: MainScreen) -> None:
        self._app = app
        self.session = session
        self._live = live
        self._screen: MainScreen | None = None
        self._unsubscribe: Callable[[], None] | None = None
        self._worker: Worker[None] | None = None

    def open(self) -> None:
        """Show the screen of the recording, and start the monitor that supplies it with snapshots."""
        monitor = self.session.monitor
        if monitor is not None:
            self._screen = MainScreen(self.session, monitor, like=self._live)
            self._app.push_screen(self._screen)
            self._unsubscribe = forward_snapshots(monitor, self._screen)
            self._worker = self._app.run_worker(monitor.run(), name="replay", group="replay", exclusive=True)

    def close(self) -> None:
        """Stop the monitor and close the screen of the recording. Redraw the screen of the live cluster."""
        if self._unsubscribe is not None:
            self._unsubscribe()
        if self._worker is not None:
            self._worker.cancel()
        if self._app.screen is self._screen:
            self._app.pop_screen()
        self._live.redraw()
        position = self.session.replay_position
        if position is not None:
            message = f"press t to open the recording again at {text.date_seconds(position.at)}"
            self._live.notify(message, title="Live again", timeout=4, markup=False)


def forward_snapshots(monitor: GroupMonitor, screen: ClusterScreen) -> Callable[[], None]:
    """Post a `SnapshotArrived` message to a screen for each new snapshot of a monitor.

    Return a function that ends the subscription.
    """

    def post(snapshot: Snapshot) -> None:
        screen.post_message(SnapshotArrived(snapshot))

    return monitor.subscribe(post)
