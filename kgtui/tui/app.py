"""The app: owns the polling worker, the themes, the signals and the crash report, and shows one cluster."""

from __future__ import annotations

import asyncio
import contextlib
import locale
import select
import signal
import sys
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.widgets import Input
from textual.worker import WorkerError

from kgtui.tui import keys, text, themes
from kgtui.tui.messages import (
    ClustersRequested,
    DeleteRequested,
    ExplainRequested,
    LiveRequested,
    RecordingOpened,
)
from kgtui.tui.palette import ActionCommands, ChoiceCommands, GroupCommands
from kgtui.tui.screens.main import MainScreen
from kgtui.tui.screens.start import StartScreen
from kgtui.tui.settings import tell_mistaken_presets, tell_warnings
from kgtui.tui.textual_compat.crash_message import CrashReportingApp
from kgtui.tui.textual_compat.key_order import KeyOrder
from kgtui.tui.textual_compat.rendering import prevent_strip_cycles
from kgtui.tui.textual_compat.terminal_driver import with_workarounds
from kgtui.tui.unfinished import look_into_unfinished
from kgtui.tui.visit import Visit, subscribed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rich.console import RenderableType
    from textual.binding import BindingType
    from textual.command import Provider
    from textual.driver import Driver

    from kgtui.actions.results import Results
    from kgtui.tui.session import GroupMonitor, Session

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Each ends the app as `q` does, so that the terminal is left clean; a dropped SSH line sends the last."""

LINE_LOOKED_AT = 1.0
"""Seconds between looks whether the terminal is there: who has no controlling terminal gets no signal."""

LOOK_BACK_AFTER = 1.0
"""Seconds from the opening of a cluster until it is asked what became of earlier deletes."""


class KgtuiApp(CrashReportingApp):
    """The terminal UI on one session."""

    TITLE = "kgtui"
    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings(everywhere=True)]
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
        self.session = session
        self._line = select.poll()
        self.look = session.display or text.DisplaySettings()
        self.look.ascii = self.look.ascii or not _writes_unicode()
        self._asked_to_leave = False
        self._unsubscribe: Callable[[], None] | None = None
        self._visit: Visit | None = None
        self._key_order = KeyOrder(self, super().on_event)
        self._load_themes()
        self.set_keymap({action: ",".join(_keys(words)) for action, words in session.keymap.items()})

    def get_driver_class(self) -> type[Driver]:
        """The platform's driver, writing fewer bytes, and on after the terminal's end."""
        return with_workarounds(super().get_driver_class())

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The roles' colours for themes that do not name them."""
        return themes.variable_defaults(self.current_theme)

    def _load_themes(self) -> None:
        loaded, self._failed_themes = themes.load([themes.shipped_folder(), self.session.themes_folder])
        for theme in loaded:
            self.register_theme(theme)
        wanted = self.session.theme or themes.DEFAULT
        self.theme = wanted if wanted in self.available_themes else themes.DEFAULT

    # Start and end

    def on_load(self) -> None:
        """Before anything is drawn: how this run writes."""
        text.use_display_settings(self.look)

    def on_mount(self) -> None:
        """Show the cluster, or how to find one."""
        self._catch_signals()
        self.enter(self.session)
        self._tell_failed_themes()
        tell_mistaken_presets(self, self.session.presets)
        unknown = keys.unknown_ids(self.session.keymap)
        if unknown:
            self.notify(f"no action is called {', '.join(unknown)}", title="Keys", severity="warning", markup=False)

    def enter(self, session: Session) -> None:
        """Show a session's cluster and watch it; or, without a monitor, the start screen."""
        self.session = session
        if session.monitor is None:
            self.push_screen(StartScreen(session))
            return
        before = next((old for old in self.screen_stack if isinstance(old, MainScreen)), None)
        screen = MainScreen(session, session.monitor, like=before)
        self.switch_screen(screen) if len(self.screen_stack) > 1 else self.push_screen(screen)
        self._watch(session.monitor, screen)
        self.run_worker(self._look_back(session), name="unfinished", group="unfinished", exclusive=True)
        tell_warnings(self, session)

    def _watch(self, monitor: GroupMonitor, screen: MainScreen) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()

        self._unsubscribe = subscribed(monitor, screen)
        # The worker is the app's: one of a screen would die with it.
        self.run_worker(self.session.monitor_task or monitor.run(), name="monitor", group="monitor", exclusive=True)

    async def _look_back(self, session: Session) -> None:
        """What became of earlier deletes; the first frame does not wait for it."""
        await asyncio.sleep(LOOK_BACK_AFTER)
        await look_into_unfinished(self, session)

    def _tell_failed_themes(self) -> None:
        if self._failed_themes:
            words = "\n".join(f"{failed.path}: {failed.reason}" for failed in self._failed_themes)
            self.notify(text.plain(words.replace("\n", "; "), 600), title="A theme could not be read",
                        severity="warning", timeout=15, markup=False)  # fmt: skip

    def _catch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in ENDING_SIGNALS:
            # Outside of the main thread, as in some tests, there are no signal handlers.
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, self._ended_by, number)
        if not self.is_headless:
            self._line.register(sys.stdin.fileno(), 0)  # asks for nothing, and so is told only of its end
            self.set_interval(LINE_LOOKED_AT, self._look_at_line)

    def _look_at_line(self) -> None:
        if self._line.poll(0):
            self._ended_by(signal.SIGHUP)

    def exit(self, result: int | None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """End the app."""
        self.exiting = True
        super().exit(result, return_code, message)

    async def on_unmount(self) -> None:
        """Write what a recording has seen: the connections that it uses are closed next."""
        recording = (self.session.live_session or self.session).recording
        if recording is not None:
            await recording.end()

    def _ended_by(self, number: int) -> None:
        self.exit(return_code=128 + number)

    @property
    def crash_folder(self) -> Path:
        """The folder in which crash reports are written."""
        return self.session.state_folder

    # Keys that work everywhere

    async def on_event(self, event: events.Event) -> None:
        """Keys go to what has the focus one after the other; see `key_order`."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            await self._key_order.send(event)
        else:
            await super().on_event(event)

    def action_do(self, action: str) -> None:
        """Do what a key of every screen stands for."""
        if action == "suspend":
            self.action_suspend_process()
        elif action == "quit-or-copy":
            self._quit_or_copy()
        elif action == "quit":
            self.leave()

    def _quit_or_copy(self) -> None:
        selected = self.screen.get_selected_text()
        focused = self.focused
        if not selected and isinstance(focused, Input):
            selected = focused.selected_text
        if selected:
            self.copy_to_clipboard(selected)
            self.notify("copied", timeout=3)
        else:
            self.leave()

    def leave(self) -> None:
        """End the app; while a write is under way, only when asked twice."""
        writing = any(getattr(screen, "writing", False) for screen in self.screen_stack)
        if writing and not self._asked_to_leave:
            self._asked_to_leave = True
            self.notify("a delete is under way: once more to leave anyway", severity="warning", markup=False)
        else:
            self.exit()

    async def action_quit(self) -> None:
        """Leave, as `q` does."""
        self.leave()

    # Dialogs

    @on(DeleteRequested)
    def _delete_requested(self, message: DeleteRequested) -> None:
        if self.session.admin is None or self.session.read_only:
            return
        from kgtui.tui.dialogs.delete import DeleteDialog

        self.push_screen(DeleteDialog(self.session, message.groups), self._deleted)

    def _deleted(self, results: Results | None) -> None:
        """Ask the cluster at once what is left, and let go of marks on what is gone."""
        if results is None or self.session.monitor is None:
            return
        self.session.monitor.forget(result.group for result in results.by_group.values() if result.verified)
        self.session.monitor.refresh()
        for screen in self.screen_stack:
            if isinstance(screen, MainScreen):
                screen.groups.unmark()

    @on(StartScreen.Opened)
    def _opened(self, message: StartScreen.Opened) -> None:
        self.enter(message.session)

    @on(ClustersRequested)
    def _clusters_requested(self) -> None:
        from kgtui.tui.dialogs.clusters import ClusterDialog

        self.push_screen(ClusterDialog(self.session), self._cluster_chosen)

    def _cluster_chosen(self, session: Session | None) -> None:
        if session is not None:
            # A worker: the dialog still stands on the stack of screens, and closing may take a moment.
            self.run_worker(self._change_to(session), name="switch", group="switch")

    async def _change_to(self, session: Session) -> None:
        """Put another cluster in the place of the one on the screen, which is let go of."""
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

    # A recording over the live screen

    @on(RecordingOpened)
    def _recording_opened(self, message: RecordingOpened) -> None:
        if isinstance(self.screen, MainScreen) and self.screen.session is message.session.live_session:
            self.session = message.session
            self._visit = Visit(self, message.session, self.screen)
            self._visit.begin()

    @on(LiveRequested)
    def _live_requested(self) -> None:
        visit, self._visit = self._visit, None
        if visit is not None and visit.session.live_session is not None:
            self.session = visit.session.live_session
            visit.end()

    @on(ExplainRequested)
    def _explain_requested(self, message: ExplainRequested) -> None:
        from kgtui.tui.dialogs.explain import ExplainDialog

        if message.group is not None and self.session.monitor is not None:
            self.push_screen(ExplainDialog.about_group(self.session.monitor.snapshot, message.group))


def _writes_unicode() -> bool:
    """Whether the locale can write more than ASCII."""
    return "utf" in locale.getpreferredencoding(False).lower()


def _keys(words: str) -> list[str]:
    return [word.strip() for word in words.split(",") if word.strip()]


async def run_async(session: Session) -> int:
    """Run the UI until it ends. Returns the exit code."""
    app = KgtuiApp(session)
    result = await app.run_async(mouse=session.mouse)
    return result if result is not None else (app.return_code or 0)


def run(session: Session) -> int:
    """Run the UI until it ends, in an event loop of its own. Returns the exit code."""
    return asyncio.run(run_async(session))
