"""Tests that the app draws only ASCII characters in ASCII mode."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.scrollbar import ScrollBar

from kgtui.config import StateFolder
from kgtui.model.answer import Fault
from kgtui.tui.app import KgtuiApp
from kgtui.tui.ascii_filter import AsciiFilter
from kgtui.tui.screens.comparison import ComparisonScreen
from kgtui.tui.screens.main import MainScreen
from kgtui.tui.session import ClusterChoice, Session
from kgtui.tui.text import DisplaySettings
from tests.pilot.app_driver import HOSTILE, main_screen, screen_text, session_of, settled, until
from tests.pilot.health_snapshots import with_health
from tests.pilot.history import sample_history
from tests.pilot.scripted_monitor import NOW, ScriptedMonitor, many_groups, snapshot_of, with_details
from tests.scripted import ScriptedAdmin
from tests.snapshots.test_history_screens import COMPARISON

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

GROUP = "payments.settle"
REFUSED = Fault("NOT_CONNECTED", "broker-2:9092 refused the connection", advice="check the port", broker=2)
CLUSTERS = tuple(ClusterChoice(f"cluster-{number}", f"broker-{number}:9092") for number in range(30))
MAIN_SCREEN_KEYS = ("1", "2", "3", "v", "4", "5", "6", "f", "home", "b", "slash", *"g:")
"""Keys that open panes and pages or change the tree on the main screen."""
DIALOGS = {
    "question_mark": "HelpScreen",
    "ctrl+p": "CommandPalette",
    "E": "EventsScreen",
    "I": "InsightsScreen",
    "d": "DeleteDialog",
    "e": "ExplainDialog",
    "x": "ExportDialog",
    "Y": "CopiedDialog",
    "C": "ColumnsDialog",
    "c": "ClusterDialog",
    "R": "RecordDialog",
    "t": "OpenRecordingDialog",
}
"""Key → name of the class of the dialog or screen that the key opens."""
SIZES = ((80, 15), (120, 30))


async def never(*arguments: str) -> Session:
    raise AssertionError(arguments)


def ascii_app(tmp_path: Path) -> KgtuiApp:
    """Return the app in ASCII mode on a cluster with many groups, some of which have unusual ids."""
    rows = [(GROUP, "consumer", "consumer", "Stable", 3), *many_groups(40)]
    rows += [(group, "consumer", "consumer", "Empty", 1) for group in HOSTILE if group]
    snapshot = with_details(snapshot_of(rows, faults={2: REFUSED}), GROUP, 30, 900)
    monitor = ScriptedMonitor(with_health(snapshot, GROUP, "stuck"))
    monitor.series = sample_history.live_samples()
    session = session_of(
        monitor, state_folder=StateFolder(tmp_path), clusters=CLUSTERS, open_cluster=never, open_recording=never,
        display=DisplaySettings(ascii=True, utc=True, now=lambda: NOW), admin=ScriptedAdmin(),
    )  # fmt: skip
    return KgtuiApp(session)


async def select(pilot: Pilot[int], app: KgtuiApp) -> None:
    """Select and mark the group `payments.settle` on the main screen."""
    await settled(pilot)
    main_screen(app).go_to(GROUP)
    await settled(pilot)
    await pilot.press("space")
    await settled(pilot)


def other_characters(app: KgtuiApp) -> str:
    """Return all characters on the screen that are not ASCII."""
    drawn = screen_text(app)
    assert drawn.strip()
    return "".join(sorted(set(re.findall(r"[^\x00-\x7f]", drawn))))


async def other_characters_in_sizes(pilot: Pilot[int], app: KgtuiApp) -> str:
    """Resize the terminal to each size in `SIZES`; return all characters on the screen that are not ASCII."""
    found = ""
    for size in SIZES:
        await pilot.resize_terminal(*size)
        await settled(pilot)
        found += other_characters(app)
    return found


async def test_ascii_mode_draws_scroll_bars_with_blanks_instead_of_block_characters(tmp_path: Path) -> None:
    """Textual usually draws the ends of the movable part as block characters, which the app would replace with dashes.

    The blanks are visible, because they have a background color.
    """
    app = ascii_app(tmp_path)
    async with app.run_test() as pilot:
        await settled(pilot)
        for position in range(20):
            bar = ScrollBar.renderer.render_bar(size=10, virtual_size=100, window_size=35, position=position)
            assert {segment.text.strip() for segment in bar.segments} == {""}


async def test_main_screen_with_all_panes_has_only_ascii_characters_in_ascii_mode(tmp_path: Path) -> None:
    app, found = ascii_app(tmp_path), {}
    async with app.run_test(size=SIZES[-1]) as pilot:
        await select(pilot, app)
        for key in MAIN_SCREEN_KEYS:
            await pilot.press(key)
            found[key] = await other_characters_in_sizes(pilot, app)
    assert found == dict.fromkeys(MAIN_SCREEN_KEYS, "")


async def test_each_dialog_has_only_ascii_characters_in_ascii_mode(tmp_path: Path) -> None:
    app, found = ascii_app(tmp_path), {}
    async with app.run_test(size=SIZES[-1]) as pilot:
        await select(pilot, app)
        for key, name in DIALOGS.items():
            await pilot.press(key)
            await until(pilot, lambda name=name: type(app.screen).__name__ == name)  # type: ignore[misc]
            found[key] = await other_characters_in_sizes(pilot, app)
            app.screen.dismiss(None)
            await until(pilot, lambda: isinstance(app.screen, MainScreen))
    assert found == dict.fromkeys(DIALOGS, "")


async def test_notices_comparison_and_start_screen_have_only_ascii_characters_in_ascii_mode(tmp_path: Path) -> None:
    app = ascii_app(tmp_path)
    async with app.run_test(size=(100, 24), notifications=True) as pilot:
        await select(pilot, app)
        app.notify("← a message … with other characters: 日本 ü", title="→ title", markup=False)
        await until(pilot, lambda: "a message ~ with other characters: ???? ?" in screen_text(app))
        assert other_characters(app) == ""
        app.push_screen(ComparisonScreen(COMPARISON, GROUP))
        await pilot.pause(0.2)
        assert "Comparison" in screen_text(app)
        assert other_characters(app) == ""
    app = KgtuiApp(
        session_of(None, state_folder=StateFolder(tmp_path), open_demo=never, open_address=never,
                   failed_attempts=(("localhost:9092", "refused"),), display=DisplaySettings(ascii=True))
    )  # fmt: skip
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "choose a Kafka cluster" in screen_text(app)
        assert other_characters(app) == ""


async def test_dialog_frames_and_the_filter_hint_are_readable_in_ascii_mode(tmp_path: Path) -> None:
    app = ascii_app(tmp_path)
    async with app.run_test(size=(80, 15)) as pilot:
        await select(pilot, app)
        assert "filter: a word, lag:1k+, state:Empty ... (? lists all)" in screen_text(app)
        await pilot.press("c")
        await until(pilot, lambda: "Clusters" in screen_text(app))
        lines = screen_text(app).splitlines()
        top = next(line for line in lines if "Clusters" in line)
        assert re.search(r"\+- Clusters -+\+", top)
        assert sum(line.count("|") >= 2 for line in lines) >= 3


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        ("plain", "plain"),
        ("╭─ x ─╮", "+- x -+"),
        ("│▌█▐┃", "||#||"),
        ("▁▔▄▀━", "-----"),
        ("┼╔═╗└", "++-++"),
        ("a…b", "a~b"),
        ("日x", "??x"),
        ("é", "?"),
        ("⚠️!", None),
    ],
)
def test_replacing_non_ascii_characters_keeps_the_width_of_a_text(drawn: str, expected: str | None) -> None:
    (segment,) = AsciiFilter().apply([Segment(drawn)], Color(0, 0, 0))
    assert segment.text.isascii()
    assert cell_len(segment.text) == cell_len(drawn)
    assert expected is None or segment.text == expected
