"""The right side: what the selected group is, in a line, and its panes as tabs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import ContentSwitcher

from kgtui.model import facts
from kgtui.tui import text
from kgtui.tui.panes import PANES, pane_titles
from kgtui.tui.tree.grouping import type_label
from kgtui.tui.widgets.line import LineWidget, Piece, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult

    from kgtui.model.series import SeriesStore
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.panes import Pane
    from kgtui.tui.session import ReplayPosition


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
        kind = text.fit(text.dotted(type_label(facts.type_of(snapshot, group), listing.protocol)), 24)
        found: list[Piece] = [
            (f"{text.state_mark(state)} {text.plain(state or 'unknown state', 24)}",
             f"title--{text.state_role(state)}"),
            dot,
            (kind, "title--quiet"),
        ]  # fmt: skip
        reading = snapshot.details.get(group)
        if reading is not None and reading.value.group_epoch is not None:
            epochs = f"epoch {text.exact(reading.value.assignment_epoch)}/{text.exact(reading.value.group_epoch)}"
            found += [dot, (epochs, "title--quiet")]
        return [*found, dot, (f"broker {listing.coordinator}", "title--quiet")]


class PaneTabs(LineWidget):
    """The panes' titles; a click brings a pane to the front.

    One line of ours instead of Textual's tabs: those are a dozen widgets that are made before the first frame, and
    looked at in every other.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"tabs--front", "tabs--behind"}
    """
    | Class | Description |
    | :- | :- |
    | `tabs--front` | The title of the pane in front. |
    | `tabs--behind` | The others. |
    """

    DEFAULT_CSS = """
    PaneTabs {
        background: $surface;
        & > .tabs--front {
            color: $block-cursor-foreground; background: $block-cursor-background; text-style: bold;
        }
        & > .tabs--behind { color: $kg-muted; }
    }
    """

    class Chosen(Message):
        """A title was clicked.

        Attributes:
            pane: its id.
        """

        def __init__(self, pane: str) -> None:
            super().__init__()
            self.pane = pane

    def __init__(self, front: str) -> None:
        super().__init__()
        self._front = front
        self._ends: list[tuple[int, str]] = []

    def bring(self, pane: str) -> None:
        """Show that this pane is in front."""
        self._front = pane
        self.redraw()

    def pieces(self, width: int) -> Sequence[Piece]:
        """Titles are shortened where they would not fit."""
        pieces: list[Piece] = []
        self._ends = []
        used = 0
        for pane, title in pane_titles(width - 1).items():  # the first one stands one cell from the edge
            pieces += [(" ", ""), (title, "tabs--front" if pane == self._front else "tabs--behind")]
            used += 1 + len(title)
            self._ends.append((used, pane))
        return pieces

    def on_click(self, event: events.Click) -> None:
        """The blank before a title belongs to it."""
        pane = next((pane for end, pane in self._ends if event.x < end), None)
        if pane is not None:
            self.post_message(self.Chosen(pane))


class GroupDetail(Vertical):
    """Title and panes of the selected group. Only the pane in front is drawn; a pane is made when it first comes there.

    `fill` makes the others too, when nothing else is to be done.
    """

    DEFAULT_CSS = """
    GroupDetail {
        background: $surface;
        & ContentSwitcher { height: 1fr; }
    }
    """

    def __init__(
        self,
        snapshot: Snapshot,
        command_config: str | None = None,
        series: SeriesStore | None = None,
        timeline: ReplayPosition | None = None,
        front: str = PANES[0].id,
    ) -> None:
        super().__init__()
        self.active = front
        """The id of the pane in front."""
        self._snapshot = snapshot
        self._group: str | None = None
        self._command_config = command_config
        self._series = series
        self._timeline = timeline
        self._panes: dict[str, Pane] = {}

    def compose(self) -> ComposeResult:
        """The title, the tabs, and the pane in front."""
        yield GroupTitle()
        yield PaneTabs(self.active)
        pane = self._made(self.active)
        with ContentSwitcher(initial=pane.id):
            yield pane

    @work(group="fill", exclusive=True)
    async def fill(self) -> None:
        """Load and make the panes that are not there yet, one after the other."""
        for entry in PANES:
            if entry.id not in self._panes:
                await asyncio.to_thread(getattr, entry, "widget")
                if not self.query(ContentSwitcher):
                    return  # the screen was taken down meanwhile
                self._pane(entry.id)

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
            pane = self._made(name)
            pane.display = False
            self.query_one(ContentSwitcher).mount(pane)
        return self._panes[name]

    def _made(self, name: str) -> Pane:
        entry = next(entry for entry in PANES if entry.id == name)
        pane = self._panes[name] = entry.widget(id=f"pane-{name}")
        pane.command_config = self._command_config
        pane.series = self._series
        pane.replay_position = self._timeline
        return pane

    def show(self, snapshot: Snapshot, group: str | None) -> None:
        """Show a group, or a newer snapshot of it."""
        self._snapshot, self._group = snapshot, group
        self.query_one(GroupTitle).show(snapshot, group)
        self.pane.show(snapshot, group)

    def redraw(self) -> None:
        """Draw the pane in front again though nothing in it changed."""
        self.pane.redraw()

    def bring(self, name: str) -> None:
        """Bring a pane to the front."""
        self.active = name
        pane = self.pane
        self.query_one(ContentSwitcher).current = pane.id
        self.query_one(PaneTabs).bring(name)
        pane.show(self._snapshot, self._group)

    @on(PaneTabs.Chosen)
    def _chosen(self, message: PaneTabs.Chosen) -> None:
        self.bring(message.pane)
