"""Actions for recordings: open, return to the live cluster, go to another time, play, compare two points in time."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kgtui.errors import KgtuiError
from kgtui.tui import text
from kgtui.tui.messages import LiveRequested, RecordingOpened
from kgtui.tui.recording import why_no_recording_can_be_opened
from kgtui.tui.screen_actions.action import Action, needs_group

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kgtui.tui.screen_actions.action import ActionContext
    from kgtui.tui.screens.cluster import ClusterScreen
    from kgtui.tui.session import ReplayPosition, Session

SPEEDS = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600)
"""Speeds at which a recording can be played, as multiples of real time. Keys + and - switch between them."""

PLAY_INTERVAL = 0.5
"""Time between two moves of the displayed time while a recording is playing, in seconds of real time.

If reading the recording takes longer, the displayed time moves less often, but by a larger amount.
"""

MIN_PAUSE = 0.1
"""Minimum pause before each move of the displayed time while a recording is playing, in seconds.

Without this pause, slow reads of the recording could delay the handling of keys.
"""


def _ask_for_time(screen: ClusterScreen) -> None:
    from kgtui.tui.dialogs.recordings import TimeDialog

    position = screen.session.replay_position
    if position is None:
        _open_recording(screen)
    else:
        screen.playback.stop()
        screen.app.push_screen(TimeDialog(position), partial(_show_if_moved, screen))


def _open_recording(screen: ClusterScreen, at: float | None = None) -> None:
    from kgtui.tui.dialogs.recordings import OpenRecordingDialog

    last = screen.playback.last_opened
    if at is None and last is not None and last.replay_position is not None:
        at = last.replay_position.at
    dialog = OpenRecordingDialog(screen.session, last.lake if last else None, at)
    screen.app.push_screen(dialog, partial(_opened, screen))


def _opened(screen: ClusterScreen, session: Session | None) -> None:
    if session is not None:
        opened = replace(session, live_session=screen.session, filter=screen.filter_bar.active_filter)
        screen.playback.last_opened = opened
        screen.post_message(RecordingOpened(opened))


def _return_to_live(screen: ClusterScreen) -> None:
    screen.playback.stop()
    screen.post_message(LiveRequested())


def _earlier(screen: ClusterScreen) -> None:
    _move(screen, lambda position: position.step(-1), "this is the first poll of the recording")


def _later(screen: ClusterScreen) -> None:
    _move(screen, lambda position: position.step(1), "this is the last poll of the recording")


def _to_change(screen: ClusterScreen, *, back: bool) -> None:
    group = screen.group
    if group is not None:
        where = "before" if back else "after"
        _move(
            screen,
            lambda position: position.to_change(group, back=back),
            f"this group does not change {where} this time in the recording",
        )


def go_to_time(screen: ClusterScreen, at: float) -> None:
    """Go to the time `at` in the displayed recording, in seconds since the epoch.

    On a live cluster, show the dialog that opens a recording, with this time filled in. If no recording can be opened,
    show the reason instead.
    """

    async def seek(position: ReplayPosition) -> bool:
        await position.seek(at)
        return True

    if screen.session.replay_position is not None:
        _move(screen, seek, "")
        return
    why = why_no_recording_can_be_opened(screen.session)
    if why is None:
        _open_recording(screen, at)
    else:
        screen.toast(f"an earlier time can be shown only from a recording: {why}")


def _move(screen: ClusterScreen, move: Callable[[ReplayPosition], Awaitable[bool]], at_the_end: str) -> None:
    """Call `move` in a worker to go to another time in the recording, and update the screen.

    Do nothing on a live cluster. If the recording is playing, stop playing.

    Args:
        move: changes the displayed time, and returns whether it has changed.
        at_the_end: message to show if `move` returns False, for example because there is no earlier or later poll.
    """
    position = screen.session.replay_position
    if position is None:
        return
    screen.playback.stop()

    async def run() -> None:
        try:
            moved = await move(position)
        except KgtuiError as error:
            screen.toast(text.plain(str(error), 400))
        else:
            _show_if_moved(screen, moved) if moved else screen.toast(at_the_end)

    screen.run_worker(run(), group="replay", exclusive=True, description="replay")


def _show_if_moved(screen: ClusterScreen, moved: bool | None) -> None:
    if moved:
        screen.monitor.refresh()
        screen.draw_bars()


def toggle_play(screen: ClusterScreen) -> None:
    """Play the recording from the displayed time, or stop playing."""
    position, playback = screen.session.replay_position, screen.playback
    if position is None or playback.stop():
        return
    position.playing = playback.speed
    playback.worker = screen.run_worker(
        _play(screen, position), group="play", exclusive=True, description="play"
    )  # fmt: skip


async def _play(screen: ClusterScreen, position: ReplayPosition) -> None:
    loop, playback = asyncio.get_running_loop(), screen.playback
    message = "this is the end of the recording"
    last = loop.time()
    try:
        while True:
            await asyncio.sleep(max(PLAY_INTERVAL - (loop.time() - last), MIN_PAUSE))
            now, before = loop.time(), position.at
            more = await position.advance((now - last) * playback.speed)
            last = now
            if not more:
                break
            _show_if_moved(screen, position.at != before)
    except KgtuiError as error:
        message = text.plain(str(error), 400)
    playback.worker, position.playing = None, None
    screen.draw_bars()
    screen.toast(message)


def change_speed(screen: ClusterScreen, step: int) -> None:
    """Switch to the playing speed that is `step` entries later in `SPEEDS` (faster), or earlier if `step` is negative.

    If there is no such entry, switch to the last or the first entry.
    """
    playback, position = screen.playback, screen.session.replay_position
    index = SPEEDS.index(playback.speed) + step
    playback.speed = SPEEDS[max(0, min(index, len(SPEEDS) - 1))]
    if position is not None and position.playing is not None:
        position.playing = playback.speed
    screen.toast(f"playing speed: {playback.speed:,} times real time")


def _remember_time(screen: ClusterScreen) -> None:
    position = screen.session.replay_position
    if position is not None:
        screen.playback.remembered = position.at
        screen.toast(f"{text.date(position.at)} is remembered; go to another time and press M to compare")


def _compare(screen: ClusterScreen) -> None:
    position, remembered = screen.session.replay_position, screen.playback.remembered
    if position is None:
        return
    if remembered is None or remembered == position.at:
        screen.toast("press m to remember this time, go to another time, then press M to compare")
        return
    screen.playback.stop()

    async def run() -> None:
        from kgtui.tui.screens.comparison import ComparisonScreen

        try:
            comparison = await position.compare(remembered)
        except KgtuiError as error:
            screen.toast(text.plain(str(error), 400))
        else:
            screen.app.push_screen(ComparisonScreen(comparison, screen.group), screen.go_to_if_chosen)

    screen.run_worker(run(), group="replay", exclusive=True, description="compare")


def _needs_recording(context: ActionContext) -> str | None:
    if context.session.replay_position is None:
        return "this is a live cluster; press R to record it, or t to open a recording"
    return None


def _needs_recording_and_group(context: ActionContext) -> str | None:
    return _needs_recording(context) or needs_group(context)


def _needs_recording_or_lake(context: ActionContext) -> str | None:
    session = context.session
    return why_no_recording_can_be_opened(session) if session.replay_position is None else None


def _needs_live_session(context: ActionContext) -> str | None:
    if context.session.live_session is None:
        return "there is no live cluster to return to; L works only in a recording that was opened with t"
    return None


_ReplayAction = partial(Action, section="Replay")

ACTIONS: tuple[Action, ...] = (
    _ReplayAction(id="time", keys="t", shown_keys="t", name="Time", run=_ask_for_time,
                  unavailable=_needs_recording_or_lake,
                  help="Go to the time that you type; on a live cluster, this opens a recording."),
    _ReplayAction(id="live", keys="L", shown_keys="L", name="Live", run=_return_to_live,
                  unavailable=_needs_live_session, exists=lambda session: session.live_session is not None,
                  help="Return to the live cluster from a recording opened with t; esc does the same when there is "
                       "nothing else to close."),
    _ReplayAction(id="earlier", keys="left_square_bracket", shown_keys="[", name="Earlier", run=_earlier,
                  unavailable=_needs_recording, help="In a recording: go back one poll."),
    _ReplayAction(id="later", keys="right_square_bracket", shown_keys="]", name="Later", run=_later,
                  unavailable=_needs_recording, help="In a recording: go forward one poll."),
    _ReplayAction(id="change-before", keys="left_curly_bracket", shown_keys="{", name="Change before",
                  run=partial(_to_change, back=True), unavailable=_needs_recording_and_group,
                  help="In a recording: go back to the previous change of the group."),
    _ReplayAction(id="change-after", keys="right_curly_bracket", shown_keys="}", name="Change after",
                  run=partial(_to_change, back=False), unavailable=_needs_recording_and_group,
                  help="In a recording: go forward to the next change of the group."),
    _ReplayAction(id="play", keys="P", shown_keys="P", name="Play", run=toggle_play,
                  unavailable=_needs_recording,
                  help="In a recording: play it, or stop playing; p does the same, + and - change the speed."),
    _ReplayAction(id="remember", keys="m", shown_keys="m", name="Remember", run=_remember_time,
                  unavailable=_needs_recording, help="In a recording: remember this time for a comparison."),
    _ReplayAction(id="compare", keys="M", shown_keys="M", name="Compare", run=_compare, unavailable=_needs_recording,
                  help="In a recording: compare groups, members, owners and lag at this time and at the remembered "
                       "time."),
)  # fmt: skip
