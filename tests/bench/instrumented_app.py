"""Run kgtui with counters for the benchmarks: `python -m tests.bench.instrumented_app ARGUMENTS OF KGTUI`.

In kgtui's tree of groups, the row under the cursor ends with the number of handled keys. The first frame with a new
number also shows the result of the latest key. So the benchmark can measure the time from the key to this frame.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import kgtui.tui  # Import kgtui first, because it sets the frame rate that Textual reads when Textual is imported.

# isort: split
from rich.segment import Segment
from textual import constants
from textual.strip import Strip

import kgtui.monitor
from kgtui.cli import main
from kgtui.monitor import Monitor, MonitorOptions
from kgtui.monitor.sweep import SweepTier
from kgtui.tui.app import KgtuiApp
from kgtui.tui.screens.main import MainScreen
from kgtui.tui.tree.widget import GroupTree
from tests.bench.instruments import FAST_SWEEP, Callbacks, listen

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.snapshot import Snapshot

COUNTER_CELLS = 8
"""Width of the counter of handled keys, such as `<000042>`, in terminal cells."""


def _replace(owner: type, name: str, function: Callable[..., Any]) -> None:
    setattr(owner, name, function)


class FixedIntervalMonitor(Monitor):
    """A monitor that polls every 2 s if brokers respond within 2 s. kgtui's monitor polls slow brokers less often."""

    def __init__(self, admin: GroupAdmin, options: MonitorOptions) -> None:
        super().__init__(admin, replace(options, list_load=1.0))


class Instruments:
    """Replaces methods of the app, so that handled keys are counted, and responds to requests from the benchmark."""

    def __init__(self) -> None:
        self.callbacks = Callbacks()
        self.count = 0
        self.snapshots = 0
        self.hurried = False
        self._chosen = False
        self._app: KgtuiApp | None = None

    def install(self) -> None:
        """Replace methods of kgtui's app, tree and monitor with instrumented ones. Call this before the app starts."""
        if str(constants.MAX_FPS) != os.environ["TEXTUAL_FPS"]:
            raise RuntimeError(
                "import kgtui.tui before Textual: otherwise Textual draws fewer frames per second than in kgtui"
            )
        kgtui.monitor.Monitor = FixedIntervalMonitor  # type: ignore[misc, assignment]
        self.callbacks.install()
        self._hurry_sweeps()
        self._count_keys()
        self._draw_count()
        mount = KgtuiApp.on_mount
        shown = MainScreen.show

        def on_mount(app: KgtuiApp) -> Any:
            self._app = app
            listen(self.respond)
            return mount(app)

        def show(screen: MainScreen, snapshot: Snapshot) -> None:
            self.snapshots += 1
            shown(screen, snapshot)

        _replace(KgtuiApp, "on_mount", on_mount)
        _replace(MainScreen, "show", show)

    def _hurry_sweeps(self) -> None:
        rate = SweepTier._rate
        _replace(SweepTier, "_rate", lambda tier, first: rate(tier, first=first) * (FAST_SWEEP if self.hurried else 1))

    def _count_keys(self) -> None:
        move, opened, choice, apply_layout = (
            GroupTree.move_to, GroupTree._open_node, GroupTree._choice_made, GroupTree.apply_layout,
        )  # fmt: skip

        def move_to(tree: GroupTree, row: int) -> None:
            self.count += 1
            move(tree, row)
            tree.refresh_line(tree.model.cursor_row)

        def open_node(tree: GroupTree, *args: Any, **named: Any) -> None:
            self.count += 1
            opened(tree, *args, **named)
            tree.refresh_line(tree.model.cursor_row)

        def choice_made(tree: GroupTree) -> None:
            self._chosen = True
            choice(tree)

        def laid(tree: GroupTree, scroll_anchor: Any) -> None:
            apply_layout(tree, scroll_anchor)
            if self._chosen:
                self._chosen = False
                self.count += 1
                tree.refresh_line(tree.model.cursor_row)

        _replace(GroupTree, "move_to", move_to)
        _replace(GroupTree, "_open_node", open_node)
        _replace(GroupTree, "_choice_made", choice_made)
        _replace(GroupTree, "apply_layout", laid)

    def _draw_count(self) -> None:
        render = GroupTree.render_line

        def render_line(tree: GroupTree, y: int) -> Strip:
            strip = render(tree, y)
            if tree.scroll_offset.y + y != tree.model.cursor_row:
                return strip
            width = tree.columns
            return Strip(
                [*strip.crop(0, max(width - COUNTER_CELLS, 0)), Segment(f"<{self.count:06}>"), *strip.crop(width)]
            )

        _replace(GroupTree, "render_line", render_line)

    def respond(self, request: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """Carry out a request from the benchmark, and return statistics.

        For the request `largest`, return only the number of groups in the largest node and the number of handled keys.

        | request | action |
        |---|---|
        | `reset` | set the number of snapshots, and the number and times of callbacks, to zero |
        | `largest` | of the tree nodes without child nodes, move the cursor to the one with the most groups |
        | `hurry` | read groups `FAST_SWEEP` times as fast, or at normal speed if the parameter `hurried` is false |
        | `stats` | only return the statistics |
        """
        assert self._app is not None
        screen = self._app.screen
        assert isinstance(screen, MainScreen)
        tree = screen.group_tree
        if request == "reset":
            self.callbacks.reset()
            self.snapshots = 0
        elif request == "largest":
            # Tree nodes with child nodes have no `parts`. Count their size as 0, so that `max` selects no such node.
            node = max(tree.model.nodes.by_path.values(), key=lambda node: len(node.parts) and node.count)
            tree.move_to(tree.model.layout.node_row(node.path) or 0)
            return {"groups": node.count, "count": self.count}
        elif request == "hurry":
            self.hurried = parameters["hurried"]
        snapshot = screen.snapshot
        return {
            "count": self.count,
            "snapshots": self.snapshots,
            "groups": len(snapshot.groups),
            "swept": snapshot.swept,
            "rows": tree.model.layout.rows,
            "worst": self.callbacks.worst,
            "worst_name": self.callbacks.worst_name,
            "long": dict(self.callbacks.long),
            "callbacks": self.callbacks.count,
        }


if __name__ == "__main__":
    Instruments().install()
    if profile := os.environ.get("KGTUI_BENCH_PROFILE"):
        import cProfile

        profiler = cProfile.Profile()
        try:
            profiler.runcall(main, sys.argv[1:])
        finally:
            profiler.dump_stats(profile)
        sys.exit(0)
    sys.exit(main(sys.argv[1:]))
