"""Actions that change what the main screen shows: panes, views, time zone, polling, findings."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kgtui.tui import text
from kgtui.tui.panes import PANES
from kgtui.tui.recording import missing_library
from kgtui.tui.screen_actions import replay
from kgtui.tui.screen_actions.action import UTC_KEY, Action

if TYPE_CHECKING:
    from kgtui.tui.screen_actions.action import ActionContext
    from kgtui.tui.screens.cluster import ClusterScreen

INTERVALS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Polling intervals, in seconds. On a live cluster, keys + and - switch between them."""


def _bring_pane(pane: str, screen: ClusterScreen) -> None:
    screen.bring(pane)


def _toggle_full_screen(screen: ClusterScreen) -> None:
    if screen.has_class("-full"):
        screen.leave_panes()
    else:
        screen.add_class("-full")
        screen.enter_panes()


def _toggle_utc(screen: ClusterScreen) -> None:
    settings = text.display_settings()
    settings.utc = not settings.utc
    screen.redraw()


def _choose_columns(screen: ClusterScreen) -> None:
    from kgtui.tui.dialogs.columns import ColumnsDialog

    screen.app.push_screen(ColumnsDialog(screen.group_tree.model.columns, screen.left_side.show_columns))


def _show_insights(screen: ClusterScreen) -> None:
    from kgtui.tui.insights.screen import InsightsScreen

    screen.app.push_screen(InsightsScreen(screen), screen.go_to_if_chosen)


def _show_events(screen: ClusterScreen) -> None:
    from kgtui.tui.screens.events import EventsScreen

    screen.playback.stop()
    screen.app.push_screen(EventsScreen(screen), screen.go_to_if_chosen)


def _toggle_pause(screen: ClusterScreen) -> None:
    if screen.session.replay_position is not None:
        replay.toggle_play(screen)
    elif screen.monitor.paused:
        screen.monitor.resume()
    else:
        screen.monitor.pause()


def _poll_more_often(screen: ClusterScreen) -> None:
    _step_interval(screen, -1)


def _poll_less_often(screen: ClusterScreen) -> None:
    _step_interval(screen, 1)


def _step_interval(screen: ClusterScreen, step: int) -> None:
    if screen.session.replay_position is not None:
        replay.change_speed(screen, -step)
        return
    monitor = screen.monitor
    nearest = min(range(len(INTERVALS)), key=lambda index: abs(INTERVALS[index] - monitor.interval))
    seconds = INTERVALS[max(0, min(nearest + step, len(INTERVALS) - 1))]
    monitor.set_interval(seconds)
    screen.toast(f"polling every {seconds:g} s; slow brokers are polled less often")


def _needs_monitor(context: ActionContext) -> str | None:
    return "no cluster is open; press c to open one" if context.session.monitor is None else None


def _cannot_pause(context: ActionContext) -> str | None:
    session = context.session
    if session.monitor is not None and session.recording is not None and session.replay_position is None:
        return "polling cannot be paused during a recording; press R to end the recording first"
    return _needs_monitor(context)


def _needs_lake_library(_: ActionContext) -> str | None:
    library = missing_library()
    return f"findings need {library}; install it with: pip install 'kgtui[history]'" if library else None


_ViewAction = partial(Action, section="View")

ACTIONS: tuple[Action, ...] = (
    *(
        _ViewAction(id=f"pane-{entry.key}", keys=entry.key, shown_keys=entry.key, name=entry.title, help=entry.help,
                    run=partial(_bring_pane, entry.id))
        for entry in PANES
    ),
    _ViewAction(id="only", keys="l", shown_keys="l", name="Hide rows",
                run=lambda screen: screen.detail.pane.action_only(),
                help="Show only partitions with lag (Offsets), only unowned and moving partitions (Assignments), or "
                     "only the log of changes (History); press again to show everything."),
    _ViewAction(id="view", keys="v", shown_keys="v", name="Next view",
                run=lambda screen: screen.detail.pane.action_view(),
                help="Go to the next view: in Assignments a list, a grid, or partitions per member, host or rack; in "
                     "History the last hour, 6 hours, day or 15 minutes."),
    _ViewAction(id="columns", keys="C", shown_keys="C", name="Columns", run=_choose_columns,
                help="Choose the columns of the tree; a click on the title of a column sorts by it."),
    _ViewAction(id="full", keys="f", shown_keys="f", name="Full screen", run=_toggle_full_screen,
                help="Show only the pane; press again to show the tree and the pane."),
    _ViewAction(id="utc", keys=UTC_KEY, shown_keys=UTC_KEY, name="UTC", run=_toggle_utc,
                help="Show times in UTC; press again to show local times."),
    _ViewAction(id="refresh", keys="r", shown_keys="r", name="Refresh", unavailable=_needs_monitor,
                run=lambda screen: screen.monitor.refresh(), help="Poll every broker now."),
    _ViewAction(id="pause", keys="p", shown_keys="p", name="Pause", run=_toggle_pause,
                unavailable=_cannot_pause,
                help="Pause or resume polling. While kgtui is recording the cluster, polling cannot be paused."),
    _ViewAction(id="faster", keys="plus,equals_sign", shown_keys="+", name="Faster", run=_poll_more_often,
                unavailable=_needs_monitor, help="Poll more often."),
    _ViewAction(id="slower", keys="minus", shown_keys="-", name="Slower", run=_poll_less_often,
                unavailable=_needs_monitor, help="Poll less often."),
    _ViewAction(id="events", keys="E", shown_keys="E", name="Events", run=_show_events,
                unavailable=_needs_monitor,
                help="Show what changed in groups and brokers: members, states, offsets, verdicts, with a filter."),
    _ViewAction(id="insights", keys="I", shown_keys="I", name="Insights", run=_show_insights,
                unavailable=_needs_lake_library,
                help="Show findings, the most urgent first; they are read from the tables that kgtui pipeline writes."),
)  # fmt: skip
