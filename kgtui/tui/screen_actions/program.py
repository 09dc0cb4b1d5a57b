"""Actions of the help section Program: palette, recording, other clusters, help, quit."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from textual.widgets import Input

from kgtui.tui import text
from kgtui.tui.messages import ClustersRequested, HelpRequested
from kgtui.tui.recording import why_not_recordable
from kgtui.tui.screen_actions.action import Action

if TYPE_CHECKING:
    from textual.screen import Screen

    from kgtui.tui.screen_actions.action import ActionContext
    from kgtui.tui.screens.cluster import ClusterScreen


def _toggle_recording(screen: ClusterScreen) -> None:
    from kgtui.tui.dialogs.recordings import RecordDialog

    session = screen.session
    if session.recording is not None:
        screen.run_worker(session.recording.end(), group="record", description="record")
    else:
        screen.app.push_screen(RecordDialog(session, partial(_show_recording, screen)))


def _show_recording(screen: ClusterScreen) -> None:
    # Do not draw if the tree no longer exists. Textual is then removing the screen with its header and footer.
    if screen.query("GroupTree"):
        screen.draw_bars()


def _why_recording_cannot_be_toggled(context: ActionContext) -> str | None:
    return why_not_recordable(context.session) if context.session.recording is None else None


def _choose_cluster(screen: ClusterScreen) -> None:
    screen.post_message(ClustersRequested())


def _needs_other_cluster(context: ActionContext) -> str | None:
    if context.session.open_cluster is not None:
        return None
    file = context.session.config_file
    return f"no other cluster is configured; add one in {text.plain(str(file)) if file else 'config.toml'}"


def _show_help(screen: ClusterScreen) -> None:
    # Let the main screen open the help screen, because importing the help screen here would be a circular import.
    screen.post_message(HelpRequested())


def _suspend(screen: Screen[Any]) -> None:
    screen.app.action_suspend_process()


def _quit(screen: Screen[Any]) -> None:
    screen.app.call_later(screen.app.action_quit)


def _copy_or_quit(screen: Screen[Any]) -> None:
    selected = screen.get_selected_text()
    focused = screen.app.focused
    if not selected and isinstance(focused, Input):
        selected = focused.selected_text
    if selected:
        screen.app.copy_to_clipboard(selected)
        screen.app.notify("copied", timeout=3)
    else:
        _quit(screen)


_ProgramAction = partial(Action, section="Program")

ACTIONS: tuple[Action, ...] = (
    _ProgramAction(id="palette", keys="ctrl+p", shown_keys="ctrl+p", name="Palette",
                   in_palette=False, run=lambda screen: screen.app.action_command_palette(),
                   help="Search all commands and groups by name."),
    _ProgramAction(id="record", keys="R", shown_keys="R", name="Record", run=_toggle_recording,
                   unavailable=_why_recording_cannot_be_toggled,
                   help="Record all groups into a folder while the terminal UI is open, or stop recording."),
    _ProgramAction(id="cluster", keys="c", shown_keys="c", name="Cluster", run=_choose_cluster,
                   unavailable=_needs_other_cluster, exists=lambda session: session.open_cluster is not None,
                   help="Switch to another configured cluster."),
    _ProgramAction(id="help", keys="question_mark,f1", shown_keys="?", name="Help", run=_show_help,
                   help="Show this help."),
    _ProgramAction(id="suspend", keys="ctrl+z", shown_keys="ctrl+z", name="Suspend", run=_suspend, in_palette=False,
                   everywhere=True, help="Suspend kgtui and return to the shell; `fg` resumes it."),
    _ProgramAction(id="quit-or-copy", keys="ctrl+c", shown_keys="ctrl+c", name="Copy or quit", run=_copy_or_quit,
                   in_palette=False, everywhere=True, help="Copy the selected text; quit if no text is selected."),
    _ProgramAction(id="quit", keys="q,ctrl+q", shown_keys="q", name="Quit", run=_quit,
                   help="Quit kgtui."),
)  # fmt: skip
