"""Functions for tests that run the app without a cluster, press keys, and read the screen.

The app's monitor is a `ScriptedMonitor`, which publishes the snapshots that a test gives to it.
"""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta, timezone
from typing import TYPE_CHECKING

from textual import events
from textual.command import CommandList

from kgtui.config import StateFolder
from kgtui.tui.app import KgtuiApp
from kgtui.tui.screens.main import MainScreen
from kgtui.tui.session import ClusterLabel, Session
from kgtui.tui.text import DisplaySettings
from tests.pilot.scripted_monitor import NOW, Row, ScriptedMonitor, snapshot_of, with_details

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from textual.pilot import Pilot

    from kgtui.model.snapshot import Snapshot

ROWS: list[Row] = [
    ("payments.settle", "consumer", "consumer", "Stable", 3),
    ("orders.enrich", "consumer", "consumer", "Stable", 1),
    ("orders.export", "consumer", "consumer", "Reconciling", 2),
    ("fraud-scoring", "classic", "consumer", "PreparingRebalance", 1),
    ("connect-s3-sink", "classic", "connect", "Stable", 2),
    ("schema-registry", "classic", "sr", "Stable", 3),
    ("old-batch", "classic", "", "Empty", 1),
    ("legacy-mirror", "classic", "consumer", "Empty", 1),
    ("share-mailer", "share", "share", "Stable", 2),
    ("streams-app", "streams", "streams", "NotReady", 2),
]
LAGS = {
    "payments.settle": 2_700,
    "orders.enrich": 312,
    "orders.export": 1_200_000,
    "share-mailer": 4_100,
    "old-batch": 0,
}

HOSTILE = (
    "[/red]", "[bold]x", "evil\x1b[31m", "two\nlines", "bidi\u202egnirts", "zero\u200bwidth", "smile\U0001f600",
    "\u65e5\u672c\u8a9e", "a" * 249, "b" * 32_000, "[@click=app.quit]quit[/]", "\\[escaped", "%s{0}", "",
)  # fmt: skip
"""Group ids that would break the screen if they were drawn unchanged.

They contain markup, control characters, wide characters or format placeholders, are very long, or are empty.
"""


def sample_snapshot(**fields: Any) -> Snapshot:
    """Return a snapshot of ten groups of all types. Members and offsets are known only for `payments.settle`.

    `fields` are further arguments of `snapshot_of`.
    """
    snapshot = snapshot_of(ROWS, lags=LAGS, **fields)
    return with_details(snapshot, "payments.settle", 3, 900, group_epoch=41, assignment_epoch=41)


def session_of(monitor: ScriptedMonitor | None, **fields: Any) -> Session:
    """Return a `Session` of the app with a fixed clock and a fixed time zone. Without a monitor, no cluster is open.

    `fields` are further arguments of `Session`.
    """
    fields.setdefault("display", DisplaySettings(now=lambda: NOW, zone=timezone(timedelta(hours=1))))
    return Session(ClusterLabel("prod-eu", "broker-1:9092"), monitor, **fields)


def app_on(snapshot: Snapshot, tmp_path: Path, **fields: Any) -> tuple[KgtuiApp, ScriptedMonitor]:
    """Return an app that shows `snapshot`, and the app's monitor, with which a test can publish newer snapshots.

    `fields` are arguments of the app's `Session`.
    """
    monitor = ScriptedMonitor(snapshot)
    return KgtuiApp(session_of(monitor, state_folder=StateFolder(tmp_path), **fields)), monitor


def main_screen(app: KgtuiApp) -> MainScreen:
    """Return the main screen at the bottom of the screen stack, even if a dialog or a recording covers it."""
    return next(screen for screen in app.screen_stack if isinstance(screen, MainScreen))


async def settled(pilot: Pilot[Any]) -> None:
    """Wait until the tree shows the newest snapshot and all widgets are drawn.

    After this, the right side of the screen shows the details of the tree row under the cursor.
    """
    await pilot.pause()
    app = pilot.app
    assert isinstance(app, KgtuiApp)
    screen = next((screen for screen in app.screen_stack if isinstance(screen, MainScreen)), None)
    while screen is not None and not _up_to_date(screen):
        await asyncio.sleep(0)
        await screen.group_tree._layout_done.wait()
        await pilot.pause()
    await pilot.pause()


def _up_to_date(screen: MainScreen) -> bool:
    tree = screen.group_tree
    return not tree._layout_due.is_set() and tree._layout_done.is_set() and screen._pane_timer is None


async def until(pilot: Pilot[Any], true: Callable[[], bool], seconds: float = 60) -> None:
    """Let the app run until the condition `true` holds; fail after `seconds` seconds."""
    async with asyncio.timeout(seconds):
        while not true():
            await pilot.pause()


def post_keys(app: KgtuiApp, *keys: str) -> None:
    """Put all keys into the app's message queue before the app handles the first key."""
    for key in keys:
        app.post_message(events.Key("slash" if key == "/" else key, key if len(key) == 1 else None))


async def search_palette(pilot: Pilot[Any], text: str) -> None:
    """Open the command palette, type `text`, and wait until the first command in the list contains this text."""
    await pilot.press("ctrl+p", *text)
    commands = pilot.app.screen.query_one(CommandList)
    await until(
        pilot, lambda: commands.highlighted == 0 and text in str(commands.get_option_at_index(0).prompt).lower()
    )


def rows(app: KgtuiApp) -> list[str]:
    """Return the visible lines of the tree as text."""
    tree = main_screen(app).group_tree
    return [tree.render_line(y).text.rstrip() for y in range(tree.size.height)]


def screen_words(app: KgtuiApp) -> str:
    """Return the text on the screen without frames and line breaks, so that a test can find text that is wrapped."""
    return " ".join(re.sub("[│▌▊▐▎╭╮╰╯─]", " ", screen_text(app)).split())


def screen_text(app: KgtuiApp) -> str:
    """Return the lines on the screen, separated by newlines."""
    strips = app.screen._compositor.render_strips(app.size)
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)
