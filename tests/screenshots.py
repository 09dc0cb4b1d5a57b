"""Create `screenshots/*.svg` from the terminal UI on a simulated cluster: `python -m tests.screenshots`.

Run this program after each visible change to the terminal UI.
"""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from datetime import timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from kgtui.admin import connect
from kgtui.config import StateFolder, UiSettings
from kgtui.monitor import Monitor, MonitorOptions
from kgtui.simulator import ManualClock, Simulator
from kgtui.tui.app import KgtuiApp
from kgtui.tui.session import ClusterLabel, Session
from kgtui.tui.text import DisplaySettings

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from kgtui.admin import KafkaGroupAdmin

FOLDER = Path(__file__).parent.parent / "screenshots"
STARTED = 1_795_000_000.0
"""Simulated time at which the cluster starts, in seconds since the Unix epoch."""

UPTIME = 600.0
"""Simulated time between the start of the cluster and the screenshots, in seconds."""

BETWEEN_READS = 15.0
"""Simulated time between two background reads of all groups, in seconds."""

READS = 5
"""Number of background reads of all groups before a screenshot, so that the tree can plot the lag over time."""

PATIENCE = 60.0
"""Maximum time to wait until the app has read all groups once, in seconds of real time."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One screenshot: its file name, the keys to press before it, and the filter, size and theme of the terminal UI."""

    name: str
    keys: tuple[str, ...]
    filter: str = ""
    size: tuple[int, int] = (120, 36)
    theme: str | None = None


SCENES = (
    Scene("cluster", (), size=(130, 40)),
    Scene("main", ("n",), filter="type:consumer,share,streams"),
    Scene("members", ("n", "2"), filter="connect-cluster"),
    Scene("assignments", ("n", "3"), filter="orders.invoice"),
    Scene("offsets", ("n", "4"), filter="search.index"),
    Scene("delete", ("n", "d"), filter="state:Empty customers"),
    Scene("families", ("b", "b", "b", "b"), size=(100, 30)),
    Scene("narrow", ("n", "enter"), filter="payments", size=(80, 24)),
    Scene("light", ("n",), filter="lag:1k+", theme="kgtui-light"),
    Scene("contrast", ("n",), filter="lag:1k+", theme="kgtui-contrast"),
)


async def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for scene in SCENES:
        async with Simulator(clock=ManualClock(STARTED), groups=400) as cluster:
            cluster.advance(UPTIME - (READS - 1) * BETWEEN_READS)
            async with connect(cluster.bootstrap.split(",")) as admin:
                await _picture(scene, admin, cluster)
        print(f"screenshots/{scene.name}.svg")  # noqa: T201 - what the command did


async def _picture(scene: Scene, admin: KafkaGroupAdmin, cluster: Simulator) -> None:
    bootstrap = cluster.bootstrap
    monitor = Monitor(
        admin,
        MonitorOptions(sweep_rate=10_000, sweep_pause=0.2, empty_pause=0.2, describe_pause=0.0),
        now=cluster.clock.now,
    )
    with tempfile.TemporaryDirectory() as state:
        session = Session(
            ClusterLabel("prod-eu", bootstrap, environment="PROD"),
            monitor,
            admin=admin,
            filter=scene.filter,
            ui=UiSettings(theme=scene.theme or ""),
            state_folder=StateFolder(Path(state)),
            display=DisplaySettings(now=cluster.clock.now, zone=timezone(timedelta(hours=1))),
        )
        app = KgtuiApp(session)
        async with app.run_test(size=scene.size) as pilot:
            async with asyncio.timeout(PATIENCE):
                while not monitor.snapshot.groups or monitor.snapshot.swept < len(monitor.snapshot.groups):
                    await pilot.pause(0.05)
            for _ in range(READS - 1):
                cluster.advance(BETWEEN_READS)
                await pilot.pause(1.0)
            await pilot.pause(2.5)  # Wait for the cluster page, which is recomputed about once per second.
            for key in scene.keys:
                await _wait_until_drawn(pilot)
                await pilot.press(key)
            await _wait_until_drawn(pilot)
            app.save_screenshot(f"{scene.name}.svg", str(FOLDER))


async def _wait_until_drawn(pilot: Pilot[int]) -> None:
    """Give the terminal UI enough time to handle the last key and to draw the result."""
    await pilot.pause(0.4)
    await pilot.pause()


if __name__ == "__main__":
    asyncio.run(main())
