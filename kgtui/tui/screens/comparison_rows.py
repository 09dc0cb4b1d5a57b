"""What differs between two moments of a recording, as rows to look through."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kgtui.tui import text
from kgtui.tui.panes.cells import ACCENT, ERROR, MUTED, OK, WARN, Cell, SafeText, plural
from kgtui.tui.panes.columns import Column

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kgtui.history.point_in_time import Comparison
    from kgtui.model.group import Listing

MOST = 2_000
"""Rows of one kind that are listed; more than anybody looks through."""

VIEWS = ("all", "groups", "members", "partitions", "lag")
"""What can be looked at by itself, in the order of the key."""


class Difference(NamedTuple):
    """One row. `what` and `detail` are harmless already.

    Attributes:
        number: its place, by which it is known.
        view: one of `VIEWS` but the first.
        verb: what happened: `joined`, `left`, `changed`, `moved`, `grew`, `shrank`.
    """

    number: int
    view: str
    verb: str
    group: str
    what: SafeText
    role: str = ""


def differences(found: Comparison, only: str | None = None) -> tuple[list[Difference], int]:
    """The rows, and how many more there are than are listed.

    Args:
        only: a group, to leave out all others.
    """
    rows: list[Difference] = []
    left_out = 0
    for part in (_groups(found), _members(found), _partitions(found), _lags(found)):
        count = 0
        for view, verb, group, what, role in part:
            if only is not None and group != only:
                continue
            count += 1
            if count <= MOST:
                rows.append(Difference(len(rows), view, verb, group, what, role))
        left_out += max(count - MOST, 0)
    return rows, left_out


Told = tuple[str, str, str, SafeText, str]


def _groups(found: Comparison) -> Iterator[Told]:
    for group in found.joined:
        yield "groups", "joined", group, SafeText("a group that was not there before"), OK
    for group in found.left:
        yield "groups", "left", group, SafeText("there is no such group any more"), ERROR
    for group, before, after in found.relisted:
        yield "groups", "changed", group, _relisted(before, after), WARN


def _relisted(before: Listing, after: Listing) -> SafeText:
    """What is listed otherwise, such as `Stable → Empty, broker 1 → 3`."""
    arrow, words = text.marks().arrow, []
    pairs = (
        ("", before.state, after.state),
        ("", before.type, after.type),
        ("protocol ", before.protocol, after.protocol),
    )
    for name, old, new in pairs:
        if old != new:
            words.append(f"{name}{text.plain(old, 24)} {arrow} {text.plain(new, 24)}")
    if before.coordinator != after.coordinator:
        words.append(f"broker {before.coordinator} {arrow} {after.coordinator}")
    return SafeText(", ".join(words))


def _members(found: Comparison) -> Iterator[Told]:
    for group, member in found.members_joined:
        yield "members", "joined", group, SafeText(f"member {text.plain(member, 120, cut='middle')}"), OK
    for group, member in found.members_left:
        yield "members", "left", group, SafeText(f"member {text.plain(member, 120, cut='middle')}"), WARN


def _partitions(found: Comparison) -> Iterator[Told]:
    arrow = text.marks().arrow
    for group, topic, partition, before, after in found.moved:
        owners = f"{_owner(before)} {arrow} {_owner(after)}"
        yield "partitions", "moved", group, SafeText(f"{text.plain(topic, 40)}-{partition}: {owners}"), ACCENT


def _owner(member: str | None) -> str:
    return "nobody" if member is None else text.plain(member, 40, cut="middle")


def _lags(found: Comparison) -> Iterator[Told]:
    arrow, unknown = text.marks().arrow, text.marks().unknown
    for grown in found.lags:
        before, after = (unknown if lag is None else text.exact(lag) for lag in (grown.before, grown.after))
        by = f" ({grown.by:+,})" if grown.before is not None and grown.after is not None else ""
        verb = "grew" if grown.by > 0 else "shrank" if grown.by < 0 else "changed"
        yield "lag", verb, grown.group, SafeText(f"lag {before} {arrow} {after}{by}"), WARN if grown.by > 0 else ""


COLUMNS: tuple[Column[Difference], ...] = (
    Column("verb", "WHAT", lambda row: row.verb, lambda row: Cell(row.verb, row.role)),
    Column("group", "GROUP", lambda row: row.group, min_width=16, max_width=44, cut="middle"),
    Column("how", "HOW", lambda row: row.what, lambda row: Cell(row.what), min_width=20, max_width=160),
)


def comparison_summary(found: Comparison) -> list[tuple[Cell, ...]]:
    """How much differs, in a line."""
    grew = sum(1 for grown in found.lags if grown.by > 0)
    counts = (
        (len(found.joined), "group joined", "groups joined"),
        (len(found.left), "group left", "groups left"),
        (len(found.relisted), "changed", "changed"),
        (len(found.members_joined), "member joined", "members joined"),
        (len(found.members_left), "member left", "members left"),
        (len(found.moved), "partition moved", "partitions moved"),
        (grew, "lag grew", "lags grew"),
        (sum(1 for grown in found.lags if grown.by < 0), "shrank", "shrank"),
    )
    parts: list[tuple[Cell, ...]] = [(Cell(plural(count, one, many)),) for count, one, many in counts if count]
    return parts or [(Cell("nothing differs", MUTED),)]


def of_view(rows: Iterable[Difference], view: str) -> list[Difference]:
    """Those of one view."""
    return [row for row in rows if view in ("all", row.view)]
