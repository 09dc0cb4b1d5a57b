"""The comparison screen: differences between two times in a recording."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from kgtui.model.number_format import counted
from kgtui.tui import text
from kgtui.tui.panes.base import SummaryLine, join_with_dots, to_content
from kgtui.tui.panes.cells import ACCENT, ERROR, MUTED, OK, WARN, Cell, SafeText, fit_text
from kgtui.tui.panes.columns import Column
from kgtui.tui.panes.row_detail import DetailedTable
from kgtui.tui.panes.table import LineTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from textual.app import ComposeResult

    from kgtui.history.point_in_time import Comparison
    from kgtui.model.group import Listing

MAX_ROWS = 2_000
"""Maximum number of table rows for each kind of difference, such as lag. Further differences are only counted."""

VIEWS = ("all", "groups", "members", "partitions", "lag")
"""The kinds of differences between which key `v` switches. `all` stands for all kinds."""


class Difference(NamedTuple):
    """One difference between two times in a recording, such as a member that has joined a group.

    Attributes:
        kind: `groups`, `members`, `partitions` or `lag`.
        verb: `appeared`, `disappeared`, `joined`, `left`, `moved`, `grew`, `shrank` or `changed`.
        description: what has changed.
        role: color role for the verb, such as `kg-error`; empty for the default color.
        number: index in the list of all differences; identifies the row in the table.
    """

    kind: str
    verb: str
    group: str
    description: SafeText
    role: str = ""
    number: int = 0


def differences(comparison: Comparison, only_group: str | None = None) -> tuple[list[Difference], int]:
    """Return the differences between two times in a recording, and the number of differences that are left out.

    At most `MAX_ROWS` differences of each kind, such as lag, are returned. Further differences are left out.

    Args:
        only_group: id of a group, to return and count only differences of this group; None for all groups.
    """
    rows: list[Difference] = []
    left_out = 0
    for kind in (_groups(comparison), _members(comparison), _partitions(comparison), _lags(comparison)):
        count = 0
        for difference in kind:
            if only_group is not None and difference.group != only_group:
                continue
            count += 1
            if count <= MAX_ROWS:
                rows.append(difference._replace(number=len(rows)))
        left_out += max(count - MAX_ROWS, 0)
    return rows, left_out


def _groups(comparison: Comparison) -> Iterator[Difference]:
    for group in comparison.joined:
        yield Difference("groups", "appeared", group, SafeText("the group is new"), OK)
    for group in comparison.left:
        yield Difference("groups", "disappeared", group, SafeText("the group no longer exists"), ERROR)
    for group, before, after in comparison.relisted:
        yield Difference("groups", "changed", group, _listing_change(before, after), WARN)


def _listing_change(before: Listing, after: Listing) -> SafeText:
    arrow = text.marks().arrow
    pairs = (
        ("", before.state, after.state),
        ("", before.type, after.type),
        ("protocol ", before.protocol, after.protocol),
    )
    changes = [f"{name}{text.plain(old, 24)} {arrow} {text.plain(new, 24)}" for name, old, new in pairs if old != new]
    if before.coordinator != after.coordinator:
        changes.append(f"broker {before.coordinator} {arrow} {after.coordinator}")
    return SafeText(", ".join(changes))


def _members(comparison: Comparison) -> Iterator[Difference]:
    for group, member in comparison.members_joined:
        yield Difference("members", "joined", group, _member_text(comparison, group, member), OK)
    for group, member in comparison.members_left:
        yield Difference("members", "left", group, _member_text(comparison, group, member), WARN)


def _member_text(comparison: Comparison, group: str, member: str) -> SafeText:
    return SafeText(f"member {text.plain(comparison.name_of(group, member), 120, cut='middle')}")


def _partitions(comparison: Comparison) -> Iterator[Difference]:
    arrow = text.marks().arrow
    for group, topic, partition, before, after in comparison.moved:
        owners = f"{_owner(comparison, group, before)} {arrow} {_owner(comparison, group, after)}"
        description = SafeText(f"{text.plain(topic, 40)}-{partition}: {owners}")
        yield Difference("partitions", "moved", group, description, ACCENT)


def _owner(comparison: Comparison, group: str, member: str | None) -> str:
    if member is None:
        return "no owner"
    return text.plain(comparison.name_of(group, member), 40, cut="middle")


def _lags(comparison: Comparison) -> Iterator[Difference]:
    arrow, unknown = text.marks().arrow, text.marks().unknown
    for change in comparison.lags:
        before, after = (
            unknown if lag is None else f"{text.marks().at_least * hidden}{text.exact(lag)}"
            for lag, hidden in ((change.before, change.hidden_before), (change.after, change.hidden_after))
        )
        known = change.before is not None and change.after is not None and change.hidden_before is change.hidden_after
        by = f" ({change.by:+,})" if known else ""
        verb = "grew" if change.by > 0 else "shrank" if change.by < 0 else "changed"
        description = SafeText(f"lag {before} {arrow} {after}{by}")
        yield Difference("lag", verb, change.group, description, WARN if change.by > 0 else "")


COLUMNS: tuple[Column[Difference], ...] = (
    Column("verb", "WHAT", lambda row: row.verb, lambda row: Cell(row.verb, row.role)),
    Column("group", "GROUP", lambda row: row.group, min_width=16, max_width=44, cut="middle"),
    Column("how", "HOW", lambda row: row.description, lambda row: Cell(row.description), min_width=20, max_width=160),
)


def comparison_summary(comparison: Comparison) -> list[tuple[Cell, ...]]:
    """Return the parts of the line that summarizes a comparison, such as `3 groups appeared`.

    If there are no differences, the only part is `no differences`.
    """
    grew = sum(1 for change in comparison.lags if change.by > 0)
    counts = (
        (len(comparison.joined), "group appeared", "groups appeared"),
        (len(comparison.left), "group disappeared", "groups disappeared"),
        (len(comparison.relisted), "group changed", "groups changed"),
        (len(comparison.members_joined), "member joined", "members joined"),
        (len(comparison.members_left), "member left", "members left"),
        (len(comparison.moved), "partition moved", "partitions moved"),
        (grew, "group with more lag", "groups with more lag"),
        (sum(1 for change in comparison.lags if change.by < 0), "group with less lag", "groups with less lag"),
    )
    parts: list[tuple[Cell, ...]] = [(Cell(counted(count, one, many)),) for count, one, many in counts if count]
    return parts or [(Cell("no differences", MUTED),)]


def rows_in_view(rows: Iterable[Difference], view: str) -> list[Difference]:
    """Return the differences of one kind, such as `lag`; all differences if `view` is `all`."""
    return [row for row in rows if view in ("all", row.kind)]


class DifferenceTable(LineTable[Difference]):
    """The table of differences. Enter closes the screen, and puts the tree's cursor on the group of the current row."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "screen.choose", "To the group", id="open", show=False)]
    """
    | key | does |
    |---|---|
    | enter | close the comparison, and put the cursor of the tree on the group of the current row |
    """


class ComparisonScreen(ModalScreen["str | None"]):
    """Shows the differences between two times in a recording.

    When the screen closes, its result is the id of the group that the user has chosen, or None.
    """

    DEFAULT_CSS = """
    ComparisonScreen {
        align: center middle;
        & #box {
            width: 100%; height: 100%; background: $surface; border: round $kg-accent;
            border-title-color: $kg-accent; border-subtitle-color: $kg-muted; padding: 0 1;
        }
        & #times, & #view { height: 1; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,M", "dismiss(None)", "Close", show=False),
        Binding("v", "view", "Show the next kind of difference", show=False),
        Binding("l", "only", "Show only the selected group", show=False),
    ]
    """
    | key | does |
    |---|---|
    | v | show the next kind of difference: groups, members, partitions, lag or all kinds |
    | l | switch between the differences of the selected group and of all groups |
    | escape, q, M | close |
    """

    def __init__(self, comparison: Comparison, group: str | None = None) -> None:
        super().__init__()
        self._comparison = comparison
        self._group = group
        self._only_group = False
        self._view = VIEWS[0]
        self._rows: list[Difference] = []
        self._left_out = 0

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = "Comparison"
            box.border_subtitle = "enter go to group  v next kind  l only selected group  esc close"
            yield Static(id="times", markup=False)
            yield SummaryLine()
            yield Static(id="view", markup=False)
            yield DetailedTable(DifferenceTable(COLUMNS, lambda row: row.number, id="differences"))

    @property
    def table(self) -> DifferenceTable:
        return self.query_one("#differences", DifferenceTable)

    def on_mount(self) -> None:
        earlier, later = self._comparison.earlier.at, self._comparison.later.at
        times = f"{text.date(earlier)} {text.marks().arrow} {text.date(later)}"
        cells = [Cell(SafeText(times), ACCENT), Cell(SafeText(f"  {text.age(later - earlier)} later"), MUTED)]
        self.query_one("#times", Static).update(to_content([cells]))
        self.query_one(SummaryLine).set_cells(join_with_dots(comparison_summary(self._comparison)))
        self.table.focus()
        self._list()

    @work(exclusive=True, description="differences")
    async def _list(self) -> None:
        only = self._group if self._only_group else None
        self._rows, self._left_out = await asyncio.to_thread(differences, self._comparison, only)
        self._show()

    def _show(self) -> None:
        self.table.set_placeholder("no differences")
        self.table.set_rows(rows_in_view(self._rows, self._view), fresh=True)
        everything = self._view == VIEWS[0]
        view = "all differences" if everything else f"only {self._view}"
        cells = [Cell("shown: ", MUTED), Cell(view, ACCENT), Cell(" ")]
        if self._only_group and self._group is not None:
            cells += [Cell("of ", MUTED), Cell(fit_text(self._group, 40, cut="middle"), ACCENT), Cell(" ")]
        if self._left_out:
            cells.append(Cell(f"and {self._left_out:,} more", MUTED))
        self.query_one("#view", Static).update(to_content([cells]))

    def action_view(self) -> None:
        """Show only the next kind of difference, such as members. After the last kind, show all differences."""
        self._view = VIEWS[(VIEWS.index(self._view) + 1) % len(VIEWS)]
        self._show()

    def action_only(self) -> None:
        """Switch between the differences of the selected group and of all groups."""
        if self._group is not None:
            self._only_group = not self._only_group
            self._list()

    def action_choose(self) -> None:
        """Close the screen, and put the tree's cursor on the group of the table's current row."""
        if self.table.row is not None:
            self.dismiss(self.table.row.group)
