"""What the keys of a recording do: to another moment, play, compare two moments."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.errors import KgtuiError
from kgtui.tui import text
from kgtui.tui.messages import LiveRequested, RecordingOpened
from kgtui.tui.recording import cannot_look_back

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.worker import Worker

    from kgtui.tui.screens.main import MainScreen
    from kgtui.tui.session import ReplayPosition, Session

SPEEDS = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600)
"""How many times as fast as it happened, in the steps of the keys."""

TICK = 0.5
"""Seconds between two looks at a recording that plays."""

_REST = 0.1  # seconds that keys have at least between two moments, however slow the disk is


class TravelDeeds:
    """One public method per action id, hyphens written as underscores; see `kgtui.tui.screens.deeds`."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._speed = 60
        self._remembered: float | None = None
        self._player: Worker[None] | None = None
        self._left: Session | None = None  # the recording that was opened last, at the moment at which it was left

    @property
    def _timeline(self) -> ReplayPosition | None:
        return self._screen.session.replay_position

    # To another moment

    def time(self) -> None:
        """Ask for a moment of the recording; on a live cluster also for the recording."""
        from kgtui.tui.dialogs.time import TimeDialog

        if self._timeline is None:
            self._open_recording()
        else:
            self._stop()
            self._screen.app.push_screen(TimeDialog(self._timeline), self._arrived)

    def _open_recording(self, at: float | None = None) -> None:
        from kgtui.tui.dialogs.recording import RecordingDialog

        session, left = self._screen.session, self._left
        if at is None and left is not None and left.replay_position is not None:
            at = left.replay_position.at
        self._screen.app.push_screen(RecordingDialog(session, left.lake if left else None, at), self._opened)

    def _opened(self, session: Session | None) -> None:
        if session is not None:
            screen = self._screen
            self._left = opened = replace(session, live_session=screen.session, filter=screen.filter_bar.in_force)
            screen.post_message(RecordingOpened(opened))

    def live(self) -> None:
        """Back from the recording to the live screen below it."""
        if self._screen.session.live_session is not None:
            self._stop()
            self._screen.post_message(LiveRequested())

    def earlier(self) -> None:
        """One recorded moment back."""
        self._travel(lambda timeline: timeline.step(-1), "this is the first moment recorded")

    def later(self) -> None:
        """One recorded moment on."""
        self._travel(lambda timeline: timeline.step(1), "this is the last moment recorded")

    def change_before(self) -> None:
        """Back to where the group changed last."""
        self._to_change(back=True)

    def change_after(self) -> None:
        """On to where the group changes next."""
        self._to_change(back=False)

    def _to_change(self, *, back: bool) -> None:
        group = self._screen.group
        if group is not None:
            where = "before" if back else "after"
            self._travel(
                lambda timeline: timeline.to_change(group, back=back), f"nothing of it changed {where} this moment"
            )

    def go_to_moment(self, at: float) -> None:
        """To a moment that was pointed at."""

        async def seek(timeline: ReplayPosition) -> bool:
            await timeline.seek(at)
            return True

        why = cannot_look_back(self._screen.session)
        if self._timeline is None and why is None:
            self._open_recording(at)
        elif self._timeline is None:
            self.say(f"this is live: only a recording has other moments; {why}")
        else:
            self._travel(seek, "")

    def _travel(self, go: Callable[[ReplayPosition], Awaitable[bool]], nowhere: str) -> None:
        timeline = self._timeline
        if timeline is None:
            return
        self._stop()

        async def travel() -> None:
            try:
                moved = await go(timeline)
            except KgtuiError as error:
                self.say(text.plain(str(error), 400))
            else:
                self._arrived(moved) if moved else self.say(nowhere)

        self._screen.run_worker(travel(), group="travel", exclusive=True, description="travel")

    def _arrived(self, moved: bool | None) -> None:
        if moved:
            self._screen.watched.refresh()
            self._screen.draw_bars()

    # Playing

    def play(self) -> None:
        """Play the recording from here, and stop."""
        timeline = self._timeline
        if timeline is None:
            return
        if self._stop():
            return
        timeline.playing = self._speed
        self._player = self._screen.run_worker(self._play(timeline), group="play", exclusive=True, description="play")

    def _stop(self) -> bool:
        """Stop playing; whether it played."""
        player, self._player = self._player, None
        if player is None or self._timeline is None:
            return False
        player.cancel()
        self._timeline.playing = None
        return True

    async def _play(self, timeline: ReplayPosition) -> None:
        loop = asyncio.get_running_loop()
        words = "the recording ends here"
        last = loop.time()
        try:
            while True:
                await asyncio.sleep(max(TICK - (loop.time() - last), _REST))
                now, shown = loop.time(), timeline.at
                going = await timeline.advance((now - last) * self._speed)
                last = now
                if not going:
                    break
                self._arrived(timeline.at != shown)
        except KgtuiError as error:
            words = text.plain(str(error), 400)
        self._player, timeline.playing = None, None
        self._screen.draw_bars()
        self.say(words)

    def change_speed(self, step: int) -> None:
        """Play faster or slower."""
        at = SPEEDS.index(self._speed) + step
        self._speed = SPEEDS[max(0, min(at, len(SPEEDS) - 1))]
        if self._timeline is not None and self._timeline.playing is not None:
            self._timeline.playing = self._speed
        self.say(f"plays {self._speed:,} times as fast as it happened")

    # Comparing

    def remember(self) -> None:
        """Keep this moment in mind, to compare another with it."""
        if self._timeline is not None:
            self._remembered = self._timeline.at
            self.say(f"{text.date(self._remembered)} is remembered: at another moment, M compares")

    def compare(self) -> None:
        """Compare the moment shown with the one remembered."""
        timeline, remembered = self._timeline, self._remembered
        if timeline is None:
            return
        if remembered is None or remembered == timeline.at:
            self.say("remember a moment with m, go to another one, and compare the two")
            return
        self._stop()

        async def compare() -> None:
            from kgtui.tui.screens.comparison import ComparisonScreen

            try:
                found = await timeline.compare(remembered)
            except KgtuiError as error:
                self.say(text.plain(str(error), 400))
            else:
                self._screen.app.push_screen(ComparisonScreen(found, self._screen.group), self._chosen)

        self._screen.run_worker(compare(), group="travel", exclusive=True, description="compare")

    def _chosen(self, group: str | None) -> None:
        if group is not None:
            self._screen.go_to(group)

    def say(self, words: str, *, title: str = "") -> None:
        """Tell something in a toast."""
        self._screen.notify(words, title=title, timeout=6, markup=False)
