"""Show a recording over the live screen. The live screen keeps running and is unchanged afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.tui import text
from kgtui.tui.messages import SnapshotArrived
from kgtui.tui.screens.main import MainScreen

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App
    from textual.worker import Worker

    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.screens.cluster import ClusterScreen
    from kgtui.tui.session import GroupMonitor, Session


class ReplayOverlay:
    """The screen of one recording, above the screen of the live cluster.

    Args:
        app: the app that shows both screens.
        session: session of the recording; its `live_session` is the session of `live`.
        live: screen of the live cluster.
    """

    def __init__(self, app: App[int], session: Session, live: MainScreen) -> None:
        self._app = app
        self.session = session
        self._live = live
        self._screen: MainScreen | None = None
        self._unsubscribe: Callable[[], None] | None = None
        self._worker: Worker[None] | None = None

    def open(self) -> None:
        """Show the screen of the recording, and start its monitor."""
        monitor = self.session.monitor
        if monitor is not None:
            self._screen = MainScreen(self.session, monitor, like=self._live)
            self._app.push_screen(self._screen)
            self._unsubscribe = forward_snapshots(monitor, self._screen)
            self._worker = self._app.run_worker(monitor.run(), name="replay", group="replay", exclusive=True)

    def close(self) -> None:
        """Close the screen of the recording, and update the live screen."""
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
    """Post each snapshot of a monitor to a screen. Return a function that stops the posting."""

    def post(snapshot: Snapshot) -> None:
        screen.post_message(SnapshotArrived(snapshot))

    return monitor.subscribe(post)
