"""The right side: what the selected group is, in a line, and its panes as tabs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.containers import Vertical
from textual.widgets import TabbedContent, TabPane

from kgtui.model import facts
from kgtui.tui import text
from kgtui.tui.panes import PANES, titles
from kgtui.tui.tree.forest import kind_name
from kgtui.tui.widgets.line import LineWidget, Piece, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from kgtui.model.series import SeriesStore
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.panes import Pane, PaneEntry
    from kgtui.tui.session import Timeline


WIDE = 80
"""Cells in which every tab has its whole title."""


class GroupTitle(LineWidget):
    """The group's id; type, state, epochs and coordinator on the right."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "title--name", "title--quiet", "title--kg-ok", "title--kg-warn", "title--kg-error", "title--kg-muted",
    }  # fmt: skip
    """
    | Class | Description |
    | :- | :- |
    | `title--name` | The id. |
    | `title--quiet` | Type, epochs, coordinator. |
    | `title--kg-…` | The state, by role. |
    """

    DEFAULT_CSS = """
    GroupTitle {
        background: $surface;
        & > .title--name { color: $kg-accent; text-style: bold; }
        & > .title--quiet { color: $kg-muted; }
        & > .title--kg-ok { color: $kg-ok; }
        & > .title--kg-warn { color: $kg-warn; }
        & > .title--kg-error { color: $kg-error; }
        & > .title--kg-muted { color: $kg-muted; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._snapshot: Snapshot | None = None
        self._group: str | None = None

    def show(self, snapshot: Snapshot, group: str | None) -> None:
        """Show the title of this group."""
        self._snapshot, self._group = snapshot, group
        self.redraw()

    def pieces(self, width: int) -> Sequence[Piece]:
        """The facts give way before the id does."""
        snapshot, group = self._snapshot, self._group
        if snapshot is None or group is None:
            return []
        right = self._facts(snapshot, group)
        while right and sum(len(words) for words, _ in right) + min(len(group), 20) + 3 > width:
            right = right[:-2]
        room = width - sum(len(words) for words, _ in right) - 3
        return spread(
            [(" " + text.plain(group, max(room, 1), cut="middle"), "title--name")], [*right, (" ", "")], width
        )

    def _facts(self, snapshot: Snapshot, group: str) -> list[Piece]:
        listing = snapshot.groups.get(group)
        if listing is None:
            return [("gone", "title--kg-warn")]
        dot = (f" {text.marks().dot} ", "title--quiet")
        state = snapshot.state_of(group)
        kind = text.fit(text.dotted(kind_name(facts.type_of(snapshot, group), listing.protocol)), 24)
        found: list[Piece] = [
            (f"{text.state_mark(state)} {text.plain(state or 'state not told', 24)}",
             f"title--{text.state_role(state)}"),
            dot,
            (kind, "title--quiet"),
        ]  # fmt: skip
        reading = snapshot.details.get(group)
        if reading is not None and reading.value.group_epoch is not None:
            epochs = f"epoch {text.exact(reading.value.assignment_epoch)}/{text.exact(reading.value.group_epoch)}"
            found += [dot, (epochs, "title--quiet")]
        return [*found, dot, (f"broker {listing.coordinator}", "title--quiet")]


class GroupDetail(Vertical):
    """Title and panes of the selected group. Only the pane in front is drawn; a pane is made when it first comes there.

    `fill` makes the others too, when nothing else is to be done.
    """

    DEFAULT_CSS = """
    GroupDetail {
        background: $surface;
        & TabbedContent { height: 1fr; }
        & ContentTabs, & Tabs { height: 1; }
        & Underline { display: none; }
        & ContentTab { padding: 0; margin: 0 1 0 0; height: 1; color: $kg-muted; }
        & Tabs #tabs-list-bar { padding-left: 1; }
        & ContentTab.-active {
            color: $block-cursor-foreground; background: $block-cursor-background; text-style: bold;
        }
        & TabPane { padding: 0; height: 1fr; }
    }
    """

    def __init__(
        self,
        snapshot: Snapshot,
        command_config: str | None = None,
        series: SeriesStore | None = None,
        timeline: Timeline | None = None,
        front: str = PANES[0].id,
    ) -> None:
        super().__init__()
        self._front = front
        self._snapshot = snapshot
        self._group: str | None = None
        self._command_config = command_config
        self._series = series
        self._timeline = timeline
        self._panes: dict[str, Pane] = {}
        self._titles = titles(WIDE)

    def compose(self) -> ComposeResult:
        """The title, and one tab per pane."""
        yield GroupTitle()
        with TabbedContent(initial=self._front):
            for entry in PANES:
                with TabPane(self._titles[entry.id], id=entry.id):
                    if entry.id == self._front:
                        yield self._made(entry)

    def on_resize(self) -> None:
        """Shorten the tabs' titles where they would not fit."""
        # A layout asked for while this one is under way would be lost.
        self.call_after_refresh(self._entitle)

    def _entitle(self) -> None:
        width = self.size.width
        wanted = titles(width - 1) if width else self._titles  # the first tab stands one cell from the edge
        for name, title in wanted.items():
            if title != self._titles[name]:
                self.tabs.get_tab(name).label = title
        self._titles = wanted

    @work(group="fill", exclusive=True)
    async def fill(self) -> None:
        """Load and make the panes that are not there yet, one after the other."""
        for entry in PANES:
            if entry.id not in self._panes:
                await asyncio.to_thread(getattr, entry, "widget")
                if not any(tab.is_attached for tab in self.query(f"#{entry.id}")):
                    return  # the screen was taken down meanwhile
                self._pane(entry.id)

    @property
    def tabs(self) -> TabbedContent:
        """The tabs."""
        return self.query_one(TabbedContent)

    @property
    def active(self) -> str:
        """The id of the pane in front."""
        return self.tabs.active

    @property
    def pane(self) -> Pane:
        """The pane in front."""
        return self._pane(self.active)

    def enter(self) -> None:
        """Give the focus to the pane in front, at once or as soon as it is there."""
        pane = self.pane
        if pane.is_mounted:
            pane.focus_target().focus()
        else:
            pane.call_after_refresh(lambda: pane.focus_target().focus())

    def _pane(self, name: str) -> Pane:
        if name not in self._panes:
            entry = next(entry for entry in PANES if entry.id == name)
            self.query_one(f"#{name}", TabPane).mount(self._made(entry))
        return self._panes[name]

    def _made(self, entry: PaneEntry) -> Pane:
        pane = self._panes[entry.id] = entry.widget(id=f"pane-{entry.id}")
        pane.command_config = self._command_config
        pane.series = self._series
        pane.timeline = self._timeline
        return pane

    def show(self, snapshot: Snapshot, group: str | None) -> None:
        """Show a group, or a newer snapshot of it."""
        self._snapshot, self._group = snapshot, group
        self.query_one(GroupTitle).show(snapshot, group)
        self.pane.show(snapshot, group)

    def redraw(self) -> None:
        """Draw the pane in front again though nothing in it changed."""
        self.pane.redraw()

    def bring(self, pane: str) -> None:
        """Bring a pane to the front."""
        self.tabs.active = pane

    def on_tabbed_content_tab_activated(self) -> None:
        """Draw the pane that came to the front."""
        self.pane.show(self._snapshot, self._group)
