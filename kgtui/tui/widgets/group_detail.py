"""Title, tabs and panes of the selected group."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.containers import Vertical
from textual.widgets import ContentSwitcher

from kgtui.model import facts
from kgtui.model.access import NONE_VISIBLE
from kgtui.tui import text
from kgtui.tui.panes import PANES, PANES_BY_ID, pane_titles
from kgtui.tui.tree.grouping import type_label
from kgtui.tui.widgets.line import LineWidget, Piece, spread
from kgtui.tui.widgets.tabs import LineTabs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from kgtui.model.series import SeriesStore
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.panes.base import Pane
    from kgtui.tui.session import ReplayPosition

FILL_DELAY = 0.3
"""Time from the first display of groups to the creation of all panes except the visible pane, in seconds.

Creating all panes immediately would delay the first display of groups.
"""


class GroupTitle(LineWidget):
    """The title of the selected group: its id on the left, and its state, type, epochs and coordinator on the right."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "title--name", "title--quiet", "title--kg-ok", "title--kg-warn", "title--kg-error", "title--kg-muted",
    }  # fmt: skip
    """
    | Class | Description |
    | :- | :- |
    | `title--name` | The group id. |
    | `title--quiet` | Type, epochs, coordinator. |
    | `title--kg-…` | The state, in the color of its role. |
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
        """Show the title of a group. If `group` is None, show an empty line."""
        self._snapshot, self._group = snapshot, group
        self.redraw()

    def release_snapshot(self) -> None:
        """Drop the snapshot, so that its memory can be freed while the title is hidden."""
        self._snapshot = None

    def pieces(self, width: int) -> Sequence[Piece]:
        """Return the title of the group.

        If the title is too wide, leave out texts from the right until the id fits, or until 20
        cells remain for a longer id. If the id still does not fit, cut it in its middle.
        """
        snapshot, group = self._snapshot, self._group
        if snapshot is None or group is None:
            return []
        right = self._facts(snapshot, group)
        while right and sum(len(fact) for fact, _ in right) + min(len(group), 20) + 3 > width:
            right = right[:-2]
        id_width = width - sum(len(fact) for fact, _ in right) - 3
        return spread(
            [(" " + text.plain(group, max(id_width, 1), cut="middle"), "title--name")], [*right, (" ", "")], width
        )

    def _facts(self, snapshot: Snapshot, group: str) -> list[Piece]:
        listing = snapshot.groups.get(group)
        if listing is None:
            return [("no longer listed", "title--kg-warn")]
        dot = (f" {text.marks().dot} ", "title--quiet")
        state = snapshot.state_of(group)
        kind = text.fit(text.dotted(type_label(facts.type_of(snapshot, group), listing.protocol)), 24)
        pieces: list[Piece] = [
            (f"{text.state_mark(state)} {text.plain(state or 'unknown state', 24)}",
             f"title--{text.state_role(state)}"),
        ]  # fmt: skip
        if facts.may_hide_topics(snapshot, group):
            none_visible = facts.has_no_offsets(snapshot, group)
            pieces += [dot, (NONE_VISIBLE if none_visible else "topics may be hidden", "title--kg-warn")]
        pieces += [dot, (kind, "title--quiet")]
        reading = snapshot.details.get(group)
        if reading is not None and reading.value.group_epoch is not None:
            epochs = f"epoch {text.exact(reading.value.assignment_epoch)}/{text.exact(reading.value.group_epoch)}"
            pieces += [dot, (epochs, "title--quiet")]
        return [*pieces, dot, (f"broker {listing.coordinator}", "title--quiet")]


class PaneTabs(LineTabs):
    """The line with the titles of the panes."""

    def titles(self, width: int) -> dict[str, str]:
        """Return a dict: pane id → title. Titles are shortened until all fit into `width` terminal cells."""
        return pane_titles(width)


class GroupDetail(Vertical):
    """Title and panes of the selected group. Hidden panes are not drawn.

    Args:
        command_config: path for the option `--command-config` in displayed Kafka commands; None to omit the option.
        series: past lags and member counts of the groups; None if no past values are available.
        replay_position: the displayed time in the recording; None for a live cluster.
        front: id of the pane that is shown first.
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
        replay_position: ReplayPosition | None = None,
        front: str = PANES[0].id,
    ) -> None:
        super().__init__()
        self.active = front
        """Id of the visible pane."""
        self._snapshot: Snapshot | None = snapshot
        self._group: str | None = None
        self._command_config = command_config
        self._series = series
        self._replay_position = replay_position
        self._panes: dict[str, Pane] = {}

    def compose(self) -> ComposeResult:
        yield GroupTitle()
        yield PaneTabs(self.active)
        pane = self._create(self.active)
        with ContentSwitcher(initial=pane.id):
            yield pane

    def create_remaining_panes_soon(self) -> None:
        """Create the panes that do not exist yet, after `FILL_DELAY`, so that the groups are displayed first."""
        self.set_timer(FILL_DELAY, self.create_remaining_panes)

    @work(group="fill", exclusive=True)
    async def create_remaining_panes(self) -> None:
        """Create the panes that do not exist yet, so that the first switch to them is fast."""
        for entry in PANES:
            if entry.id not in self._panes:
                await asyncio.to_thread(getattr, entry, "widget")
                if not self.query(ContentSwitcher):
                    return  # The screen was closed during the import of the pane's module, so no panes are needed.
                self._pane(entry.id)

    @property
    def pane(self) -> Pane:
        return self._pane(self.active)

    def enter(self) -> None:
        """Move the focus to the visible pane, as soon as the pane is mounted."""
        pane = self.pane
        if pane.is_mounted:
            pane.focus_target().focus()
        else:
            pane.call_after_refresh(lambda: pane.focus_target().focus())

    def _pane(self, name: str) -> Pane:
        if name not in self._panes:
            pane = self._create(name)
            pane.display = False
            self.query_one(ContentSwitcher).mount(pane)
        return self._panes[name]

    def _create(self, name: str) -> Pane:
        entry = PANES_BY_ID[name]
        pane = self._panes[name] = entry.widget(id=f"pane-{name}")
        pane.command_config = self._command_config
        pane.series = self._series
        pane.replay_position = self._replay_position
        return pane

    def show(self, snapshot: Snapshot, group: str | None) -> None:
        """Show a group with the data of a snapshot. If `group` is None, show no group."""
        self._snapshot, self._group = snapshot, group
        self.query_one(GroupTitle).show(snapshot, group)
        self.pane.show(snapshot, group)

    def release_snapshot(self) -> None:
        """Drop the snapshot, so that its memory can be freed while this widget is hidden."""
        self._snapshot = None
        self.query_one(GroupTitle).release_snapshot()
        self.pane.release_snapshot()

    def redraw(self) -> None:
        """Redraw the visible pane, even if its data has not changed."""
        self.pane.redraw()

    def bring(self, name: str) -> None:
        """Show the pane with the id `name` in place of the visible pane."""
        if name != self.active:
            self.pane.release_snapshot()
        self.active = name
        pane = self.pane
        self.query_one(ContentSwitcher).current = pane.id
        self.query_one(PaneTabs).bring(name)
        if self._snapshot is not None:
            pane.show(self._snapshot, self._group)

    @on(PaneTabs.Chosen)
    def _chosen(self, message: PaneTabs.Chosen) -> None:
        self.bring(message.tab)
