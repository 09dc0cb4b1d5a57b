"""The Textual app. It shows one cluster or recording, loads themes, handles signals, and opens dialogs.

It also runs the monitor, which polls the cluster or reads the recording.
"""

from __future__ import annotations

import asyncio
import contextlib
import locale
import select
import signal
import sys
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, on
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.worker import WorkerError

from kgtui.tui import text, themes
from kgtui.tui.ascii_filter import AsciiFilter, AsciiScrollBar
from kgtui.tui.messages import ClustersRequested, DeleteRequested, LiveRequested, RecordingOpened
from kgtui.tui.palette import ActionCommands, ChoiceCommands, GroupCommands
from kgtui.tui.screen_actions import table
from kgtui.tui.screens.main import MainScreen, ReplayOverlay, forward_snapshots
from kgtui.tui.screens.start import StartScreen
from kgtui.tui.startup_notices import show_invalid_presets, show_unfinished_deletes, show_warnings
from kgtui.tui.textual_compat.crash_message import CrashReportingApp
from kgtui.tui.textual_compat.ignored_input import ignore_input_that_textual_cannot_handle
from kgtui.tui.textual_compat.key_order import KeyOrder
from kgtui.tui.textual_compat.narrow_text import wrap_text_to_at_least_one_cell
from kgtui.tui.textual_compat.rendering import prevent_strip_cycles
from kgtui.tui.textual_compat.terminal_driver import with_workarounds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rich.console import RenderableType
    from textual.binding import BindingType
    from textual.command import Provider
    from textual.driver import Driver
    from textual.filter import LineFilter

    from kgtui.actions.results import Results
    from kgtui.tui.screens.cluster import ClusterScreen
    from kgtui.tui.session import GroupMonitor, Session

EXIT_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Signals that end the app in an orderly way, so that the terminal is restored.

For example, the process gets SIGHUP when its SSH connection is lost.
"""

TERMINAL_CHECK_INTERVAL = 1.0
"""Interval between checks for a closed terminal, in seconds.

These checks are needed because kgtui gets no SIGHUP if the terminal is not its controlling terminal.
"""

UNFINISHED_DELETES_DELAY = 1.0
"""Delay between the opening of a cluster and the search of the audit log for unfinished deletions, in seconds.

A deletion is unfinished if the audit log does not contain its result, for example because kgtui was killed.
"""

_ASCII_FILTER = AsciiFilter()
"""The line filter that replaces non-ASCII characters in ASCII mode.

It is created only once, because Textual caches the filtered lines of each filter object separately.
"""


class KgtuiApp(CrashReportingApp):
    """The Textual app. It shows one session (a cluster or a recording), and can switch to a different session."""

    TITLE = "kgtui"
    BINDINGS: ClassVar[list[BindingType]] = [*table.bindings(everywhere=True)]
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {
        ActionCommands, GroupCommands, ChoiceCommands,
    }  # fmt: skip
    ENABLE_COMMAND_PALETTE = True
    CSS = """
    Toast { width: 70; max-width: 90%; }
    CommandPalette > Vertical { width: 90; max-width: 96%; margin-top: 1; }
    CommandPalette SearchIcon { display: none; }
    """

    def __init__(self, session: Session) -> None:
        self._failed_themes: list[themes.FailedTheme] = []
        super().__init__()
        prevent_strip_cycles()
        ignore_input_that_textual_cannot_handle()
        wrap_text_to_at_least_one_cell()
        self.session = session
        self.display_settings = session.display or text.DisplaySettings()
        self.display_settings.ascii = self.display_settings.ascii or not _locale_writes_unicode()
        ScrollBar.renderer = AsciiScrollBar if self.display_settings.ascii else ScrollBarRender
        self._terminal_poll = select.poll()
        self._quit_requested = False
        self._unsubscribe: Callable[[], None] | None = None
        self._overlay: ReplayOverlay | None = None
        self._key_order = KeyOrder(self, super().on_event)
        self._load_themes()
        self.set_keymap({action: ",".join(_split_keys(value)) for action, value in session.keymap.items()})

    def get_driver_class(self) -> type[Driver]:
        """Return the class of Textual's terminal driver, extended by kgtui's workarounds for bugs of the driver."""
        return with_workarounds(super().get_driver_class())

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filters that change drawn lines. In ASCII mode, the last one replaces non-ASCII characters."""
        filters = super().get_line_filters()
        return [*filters, _ASCII_FILTER] if self.display_settings.ascii else filters

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return a dict: variable name → default color, for kgtui's own theme variables such as `kg-ok`."""
        return themes.variable_defaults(self.current_theme)

    def _load_themes(self) -> None:
        loaded, self._failed_themes = themes.load([themes.shipped_folder(), self.session.themes_folder])
        for theme in loaded:
            self.register_theme(theme)
        configured = self.session.ui.theme or themes.DEFAULT
        self.theme = configured if configured in self.available_themes else themes.DEFAULT

    def on_load(self) -> None:
        """Apply the display settings, such as ASCII mode and the time zone, before anything is drawn."""
        text.use_display_settings(self.display_settings)

    def on_mount(self) -> None:
        """Show the cluster or the start screen, and notices about errors in the configuration."""
        self._catch_signals()
        self.enter(self.session)
        self._show_failed_themes()
        show_invalid_presets(self, self.session.presets)
        unknown = table.unknown_ids(self.session.keymap)
        if unknown:
            message = f"there is no action {', '.join(unknown)}; the README lists the ids of all actions"
            self.notify(message, title="Unknown actions in [keys]", severity="warning", markup=False)

    def enter(self, session: Session) -> None:
        """Show the cluster of a session, and start the monitor that polls the cluster.

        If the session has no monitor, because no cluster is open, show the start screen.
        """
        self.session = session
        if session.monitor is None:
            self.push_screen(StartScreen(session))
            return
        before = next((old for old in self.screen_stack if isinstance(old, MainScreen)), None)
        screen = MainScreen(session, session.monitor, like=before)
        self.switch_screen(screen) if len(self.screen_stack) > 1 else self.push_screen(screen)
        self._run_monitor(session.monitor, screen)
        self.run_worker(self._show_unfinished_deletes(session), name="unfinished", group="unfinished", exclusive=True)
        show_warnings(self, session)

    def _run_monitor(self, monitor: GroupMonitor, screen: MainScreen) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()

        self._unsubscribe = forward_snapshots(monitor, screen)
        # Run the monitor in a worker of the app, and not of the screen, because Textual cancels the workers of a screen
        # when the screen is removed.
        self.run_worker(self.session.monitor_task or monitor.run(), name="monitor", group="monitor", exclusive=True)

    async def _show_unfinished_deletes(self, session: Session) -> None:
        await asyncio.sleep(UNFINISHED_DELETES_DELAY)
        await show_unfinished_deletes(self, session)

    def _show_failed_themes(self) -> None:
        if self._failed_themes:
            message = "; ".join(f"{failed.path}: {failed.reason}".replace("\n", "; ") for failed in self._failed_themes)
            self.notify(text.plain(message, 600), title="Invalid theme", severity="warning", timeout=15, markup=False)

    def _catch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in EXIT_SIGNALS:
            # Ignore errors, because tests can run the app outside the main thread, where signal handlers cannot be
            # added.
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, self._exit_for_signal, number)
        if not self.is_headless:
            # With the event mask 0, `poll()` reports only errors and a closed terminal, not input.
            self._terminal_poll.register(sys.stdin.fileno(), 0)
            self.set_interval(TERMINAL_CHECK_INTERVAL, self._check_terminal)

    def _check_terminal(self) -> None:
        if self._terminal_poll.poll(0):
            self._exit_for_signal(signal.SIGHUP)

    def _exit_for_signal(self, number: int) -> None:
        self.exit(return_code=128 + number)

    def exit(self, result: int | None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """End the app. Exceptions that occur after this call are not reported as crashes."""
        self.exiting = True
        super().exit(result, return_code, message)

    async def on_unmount(self) -> None:
        """If kgtui is recording the cluster, end the recording before the connections to the brokers are closed."""
        recording = (self.session.live_session or self.session).recording
        if recording is not None:
            await recording.end()

    @property
    def crash_folder(self) -> Path:
        """The folder into which crash reports are written."""
        return self.session.state_folder.crashes

    async def on_event(self, event: events.Event) -> None:
        """Handle an event: pass keys and pasted text to `KeyOrder`, and all other events to Textual.

        With `KeyOrder`, keys go to the right widget even if an earlier key moves the focus. Keys and clicks also make
        the monitors delay their background reads, so that kgtui responds faster.
        """
        if isinstance(event, events.InputEvent) and not isinstance(event, events.MouseMove):
            self._note_input()
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            await self._key_order.send(event)
        else:
            await super().on_event(event)

    def _note_input(self) -> None:
        """Tell the monitors that the user has just pressed a key or clicked, so that they delay their background reads.

        There can be two monitors: if a recording was opened while a cluster is open, one monitor reads the recording,
        and the other one still polls the cluster.
        """
        for session in (self.session, self.session.live_session):
            if session is not None and session.monitor is not None:
                session.monitor.note_input()

    def action_run_action(self, action_id: str) -> None:
        """Run an action whose key works on every screen (an action for which `Action.everywhere` is true)."""
        # The screen need not be a `ClusterScreen`. The cast is safe anyway, because these actions call only methods
        # that every Textual screen has.
        table.BY_ID[action_id].run(cast("ClusterScreen", self.screen))

    def leave(self) -> None:
        """End the app. If groups are being deleted, the first call only shows a warning; the next call ends the app."""
        deleting = any(getattr(screen, "deleting", False) for screen in self.screen_stack)
        if deleting and not self._quit_requested:
            self._quit_requested = True
            self.notify(
                "a deletion is still running; press the key again to quit anyway", severity="warning", markup=False
            )
        else:
            self.exit()

    async def action_quit(self) -> None:
        """Handle key `q`: end the app, or first warn that groups are being deleted."""
        self.leave()

    @on(DeleteRequested)
    def _delete_requested(self, message: DeleteRequested) -> None:
        if self.session.admin is None or self.session.read_only:
            return
        from kgtui.tui.dialogs.delete import DeleteDialog

        self.push_screen(DeleteDialog(self.session, message.groups), self._deleted)

    def _deleted(self, results: Results | None) -> None:
        """Update the main screen after the delete dialog has closed.

        Remove the deleted groups from the monitor's data, poll the brokers, and unmark all groups that the user marked.

        Args:
            results: result of the deletion for each group. If None (no deletion was started), do nothing.
        """
        if results is None or self.session.monitor is None:
            return
        self.session.monitor.forget(result.group for result in results.by_group.values() if result.verified)
        self.session.monitor.refresh()
        for screen in self.screen_stack:
            if isinstance(screen, MainScreen):
                screen.group_tree.unmark()

    @on(StartScreen.Opened)
    def _opened(self, message: StartScreen.Opened) -> None:
        self.enter(message.session)

    @on(ClustersRequested)
    def _clusters_requested(self) -> None:
        from kgtui.tui.dialogs.clusters import ClusterDialog

        self.push_screen(ClusterDialog(self.session), self._cluster_chosen)

    def _cluster_chosen(self, session: Session | None) -> None:
        if session is not None:
            # Switch to the new cluster in a worker, so that this method returns at once. The cluster dialog stays
            # visible until the method returns, and closing the connections to the old cluster can take a long time.
            self.run_worker(self._switch_to(session), name="switch", group="switch")

    async def _switch_to(self, session: Session) -> None:
        old = self.session
        for group in ("monitor", "unfinished"):
            for worker in self.workers.cancel_group(self, group):
                with contextlib.suppress(WorkerError):
                    await worker.wait()
        if old.recording is not None:
            await old.recording.end()
        self.enter(session)
        if old.close is not None:
            await old.close()

    @on(RecordingOpened)
    def _recording_opened(self, message: RecordingOpened) -> None:
        if isinstance(self.screen, MainScreen) and self.screen.session is message.session.live_session:
            self.session = message.session
            self._overlay = ReplayOverlay(self, message.session, self.screen)
            self._overlay.open()

    @on(LiveRequested)
    def _live_requested(self) -> None:
        overlay, self._overlay = self._overlay, None
        if overlay is not None and overlay.session.live_session is not None:
            self.session = overlay.session.live_session
            overlay.close()


def _locale_writes_unicode() -> bool:
    return "utf" in locale.getpreferredencoding(False).lower()


def _split_keys(keys: str) -> list[str]:
    return [key.strip() for key in keys.split(",") if key.strip()]


async def run_async(session: Session) -> int:
    """Run the terminal UI until it ends, and return the exit code."""
    app = KgtuiApp(session)
    result = await app.run_async(mouse=session.mouse)
    return result if result is not None else (app.return_code or 0)


def run(session: Session) -> int:
    """Run the terminal UI in a new event loop until it ends, and return the exit code."""
    return asyncio.run(run_async(session))
