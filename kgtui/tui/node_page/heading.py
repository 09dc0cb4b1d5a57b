"""The lines above the page: the title, and the titles of the parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.message import Message

from kgtui.tui import text
from kgtui.tui.panes.cells import plural
from kgtui.tui.widgets.line import LineWidget, Piece, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events


class PagePart(NamedTuple):
    """A part of the page, which the key with its number brings to the front."""

    id: str
    title: str
    short: str


PARTS = (
    PagePart("attention", "Needs attention", "Attention"),
    PagePart("changes", "Recent changes", "Changes"),
    PagePart("brokers", "Brokers", "Brokers"),
    PagePart("groups", "Groups", "Groups"),
)


class PageTitle(LineWidget):
    """The title line, with the name of the set of groups on the left, and the number of groups on the right."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"title--name", "title--quiet"}
    """
    | Class | Description |
    | :- | :- |
    | `title--name` | The name of the set of groups. |
    | `title--quiet` | The number of groups. |
    """

    DEFAULT_CSS = """
    PageTitle {
        background: $surface;
        & > .title--name { color: $kg-accent; text-style: bold; }
        & > .title--quiet { color: $kg-muted; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._title, self._groups = "", 0

    def show(self, title: str, groups: int) -> None:
        """Show the name of a set of groups, and how many groups it has."""
        self._title, self._groups = title, groups
        self.redraw()

    def pieces(self, width: int) -> Sequence[Piece]:
        """Return the texts of the title."""
        if not self._title:
            return []
        groups = f"{plural(self._groups, 'group')} "
        name = text.plain(self._title, max(width - len(groups) - 2, 1), cut="middle")
        return spread([(f" {name}", "title--name")], [(groups, "title--quiet")], width)


class PartTabs(LineWidget):
    """The line with the titles of the parts. A click on a title brings the part to the front."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"tabs--front", "tabs--behind"}
    """
    | Class | Description |
    | :- | :- |
    | `tabs--front` | The title of the part in front. |
    | `tabs--behind` | The titles of the other parts. |
    """

    DEFAULT_CSS = """
    PartTabs {
        background: $surface;
        & > .tabs--front {
            color: $block-cursor-foreground; background: $block-cursor-background; text-style: bold;
        }
        & > .tabs--behind { color: $kg-muted; }
    }
    """

    class Chosen(Message):
        """The user clicked the title of a part; the attribute `part` is the id of the part."""

        def __init__(self, part: str) -> None:
            super().__init__()
            self.part = part

    def __init__(self) -> None:
        super().__init__()
        self.front = PARTS[0].id
        self._counts: dict[str, int] = {}
        self._ends: list[tuple[int, str]] = []

    def show(self, counts: dict[str, int]) -> None:
        """Show the number of rows behind the title of each part: id of the part → number."""
        self._counts = counts
        self.redraw()

    def pieces(self, width: int) -> Sequence[Piece]:
        """Return the titles of the parts. They are shortened if not all of them fit."""
        for names in ([part.title for part in PARTS], [part.short for part in PARTS]):
            titles = [f"{number} {name}" for number, name in enumerate(names, 1)]
            titles = [
                f"{title} {text.short(count)}" if (count := self._counts.get(part.id)) else title
                for part, title in zip(PARTS, titles, strict=True)
            ]
            if sum(len(title) + 1 for title in titles) < width:
                break
        pieces: list[Piece] = []
        self._ends, end = [], 0
        for part, title in zip(PARTS, titles, strict=True):
            pieces += [(" ", ""), (title, "tabs--front" if part.id == self.front else "tabs--behind")]
            end += 1 + len(title)
            self._ends.append((end, part.id))
        return pieces

    def on_click(self, event: events.Click) -> None:
        """Bring the clicked part to the front."""
        part = next((part for end, part in self._ends if event.x < end), None)
        if part is not None:
            self.post_message(self.Chosen(part))
