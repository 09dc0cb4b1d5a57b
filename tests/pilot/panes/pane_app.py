"""An app that shows a single pane, for tests of this pane."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Generic, TypeVar

from textual.app import App
from textual.containers import Horizontal
from textual.widgets import Static

from kgtui.tui import text
from kgtui.tui.panes.base import Pane
from tests.pilot.panes.data import NOW

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from kgtui.model.snapshot import Snapshot

PaneT = TypeVar("PaneT", bound=Pane)

COLORS = {
    "kg-ok": "#7fbf7f",
    "kg-warn": "#e5c07b",
    "kg-error": "#ff6b6b",
    "kg-muted": "#8a8f98",
    "kg-accent": "#7aa2f7",
    "kg-stale": "#b48ead",
}
"""Color role (CSS variable) → color. In the real app, themes define these variables."""


class PaneApp(App[None], Generic[PaneT]):
    """An app that shows one pane, to the right of an empty area that is `gap` cells wide.

    If `snapshot` is given, the pane shows the group `group` in this snapshot.
    """

    CSS = """
    Screen { layout: horizontal; }
    #gap { width: 0; background: $panel; }
    Pane { width: 1fr; height: 100%; }
    """

    def __init__(self, pane: PaneT, snapshot: Snapshot | None = None, group: str | None = None, gap: int = 0) -> None:
        text.use_display_settings(text.DisplaySettings(utc=True, now=lambda: NOW, zone=UTC))
        super().__init__()
        self.pane = pane
        self.gap = gap
        if snapshot is not None:
            pane.show(snapshot, group)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return COLORS

    def compose(self) -> ComposeResult:
        self.animation_level = "none"
        with Horizontal():
            gap = Static("", id="gap")
            gap.styles.width = self.gap
            yield gap
            yield self.pane

    def on_mount(self) -> None:
        self.pane.focus_target().focus()
