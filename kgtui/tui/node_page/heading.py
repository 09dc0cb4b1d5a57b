"""The lines above the tables of the node page (the page about a tree node): the page title and the table titles."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from kgtui.model.number_format import counted
from kgtui.tui import text
from kgtui.tui.widgets.line import LineWidget, Piece, spread
from kgtui.tui.widgets.tabs import LineTabs

if TYPE_CHECKING:
    from collections.abc import Sequence


class PagePart(NamedTuple):
    """One of the tables of the node page. Key `1` shows the first table in `PARTS`, key `2` the second, and so on.

    Attributes:
        short: short title, which is shown if the page is too narrow for the long titles of all tables.
    """

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
    """The title line of the node page: the name of the cluster or tree node, and the number of its groups."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"title--name", "title--quiet"}
    """
    | Class | Description |
    | :- | :- |
    | `title--name` | The name of the cluster or tree node. |
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
        """Show the name of the cluster or tree node (`title`), and the number of its groups."""
        self._title, self._groups = title, groups
        self.redraw()

    def pieces(self, width: int) -> Sequence[Piece]:
        """Return the parts of the title line: the name on the left, and the number of groups on the right.

        Together, the parts are `width` terminal cells wide. A name that is too long is shortened.
        """
        if not self._title:
            return []
        groups = f"{counted(self._groups, 'group')} "
        name = text.plain(self._title, max(width - len(groups) - 2, 1), cut="middle")
        return spread([(f" {name}", "title--name")], [(groups, "title--quiet")], width)


class PartTabs(LineTabs):
    """The line with the titles of the node page's tables, and the number of groups that need attention."""

    def __init__(self) -> None:
        super().__init__(PARTS[0].id)
        self._counts: dict[str, int] = {}

    def show(self, counts: dict[str, int]) -> None:
        """Set the numbers that are shown after the titles of the tables.

        Args:
            counts: table id → number, such as the number of groups that need attention. No number is shown for a table
                that is not in this dict, or whose number is 0.
        """
        self._counts = counts
        self.redraw()

    def titles(self, width: int) -> dict[str, str]:
        """Return a dict: table id → text with the table's key, title and number, such as `1 Needs attention 3`.

        If the texts of all tables together are wider than `width` terminal cells, the texts contain the short titles.
        """
        shown = self._numbered([part.title for part in PARTS])
        if sum(len(title) + 1 for title in shown.values()) > width:
            return self._numbered([part.short for part in PARTS])
        return shown

    def _numbered(self, names: Sequence[str]) -> dict[str, str]:
        titles = {}
        for number, (part, name) in enumerate(zip(PARTS, names, strict=True), 1):
            count = self._counts.get(part.id)
            titles[part.id] = f"{number} {name} {text.short(count)}" if count else f"{number} {name}"
        return titles
