"""A recording shown over the live screen: that goes on below, and is there as it was when the recording is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.tui import text
from kgtui.tui.messages import SnapshotArrived
from kgtui.tui.screens.main import MainScreen

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.worker import Worker

    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.app import KgtuiApp
    from kgtui.tui.session import GroupMonitor, Session


class Visit:
    """One recording that is looked at.

    Args:
        session: on the recording, with the live one `beneath`.
        live: the screen below.
    """

    def __init__(self, app: KgtuiApp, session: Session, live: MainScreen) -> None:
        self._app = app
        self.session = session
        self._live = live
        self._screen: MainScreen | None = None
        self._unsubscribe: Callable[[], None] | None = None
        self._worker: Worker[None] | None = None

    def begin(self) -> None:
        """Put the screen of the recording over the live one."""
        monitor = self.session.monitor
        if monitor is not None:
            self._screen = MainScreen(self.session, monitor, like=self._live)
            self._app.push_screen(self._screen)
            self._unsubscribe = subscribed(monitor, self._screen)
            self._worker = self._app.run_worker(monitor.run(), name="replay", group="replay", exclusive=True)

    def end(self) -> None:
        """Take it away, and bring the live screen up to date."""
        if self._unsubscribe is not None:
            self._unsubscribe()
        if self._worker is not None:
            self._worker.cancel()
        if self._app.screen is self._screen:
            self._app.pop_screen()
        self._live.redraw()
        timeline = self.session.replay_position
        if timeline is not None:
            words = f"t goes back to {text.date(timeline.at)[:19]}"
            self._live.notify(words, title="Live again", timeout=4, markup=False)


def subscribed(monitor: GroupMonitor, screen: MainScreen) -> Callable[[], None]:
    """Have a monitor's snapshots told to a screen; returns what ends that."""

    def arrived(snapshot: Snapshot) -> None:
        screen.post_message(SnapshotArrived(snapshot))

    return monitor.subscribe(arrived)
