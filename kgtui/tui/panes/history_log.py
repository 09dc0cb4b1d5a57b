"""The log of changes in the History pane, and the summary above the plots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model import facts
from kgtui.model.access import VISIBLE_ONLY
from kgtui.model.group_types import REBALANCING
from kgtui.model.member_names import names_of_ids
from kgtui.model.number_format import counted
from kgtui.tui import text
from kgtui.tui.panes.cells import ACCENT, ERROR, MUTED, WARN, Cell, PaneLine, SafeText, event_text
from kgtui.tui.panes.columns import Column

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kgtui.model.members import Member
    from kgtui.model.snapshot import Snapshot
    from kgtui.model.timeline import Change, GroupTimeline

MOST_MEMBERS_NAMED = 100
"""Maximum number of joined members, and also maximum number of left members, to name in the details of a change."""


def _role(change: Change) -> str:
    now = change.now
    if change.event is not None:
        return ACCENT
    if not now.listed:
        return ERROR
    if now.gap or now.state in REBALANCING:
        return WARN
    return text.state_role(now.state) if change.before is None or change.before.state != now.state else MUTED


def _state(state: str | None) -> str:
    return text.plain(state, 24) if state is not None else text.marks().unknown


def _state_text(change: Change) -> SafeText:
    """Return the text of the column CHANGE, such as `Stable`, `Empty → Stable` or `deleted`.

    The text says which state the group is in, or which states it has changed from and to. If the change is an event
    (`Change.event`), return the kind of the event instead, such as `joined`.
    """
    before, now = change.before, change.now
    if change.event is not None:
        return SafeText(change.event.kind.value)
    if not now.listed:
        return SafeText("no such group" if before is None else "deleted")
    if before is None:
        why = f"  {text.plain(now.gap, 40)}" if now.gap else "  first read"
        return SafeText(_state(now.state) + why)
    if not before.listed:
        return SafeText(f"created, {_state(now.state)}")
    if before.state == now.state:
        return SafeText(_state(now.state))
    return SafeText(f"{_state(before.state)} {text.marks().arrow} {_state(now.state)}")


def _duration_text(change: Change) -> str | None:
    """Return the text of the column TOOK, such as `12 s`; None for a change that has no duration.

    The text is the duration of a rebalance, or of a gap (a time without data about the group).
    """
    if change.now.gap and change.now.since is not None:
        return text.age(change.at - change.now.since)
    return None if change.rebalanced is None else text.age(change.rebalanced)


def _before_after(before: int | None, now: int | None) -> str | None:
    """Format a number as `41→42` if it has changed, otherwise as `42`. Return None if the number is unknown now."""
    if now is None:
        return None
    return str(now) if before is None or before == now else f"{before}{text.marks().arrow}{now}"


def _pair_cell(change: Change, name: str) -> Cell:
    if change.event is not None:
        return Cell("")
    before, now = getattr(change.before, name, None), getattr(change.now, name)
    content = _before_after(before, now)
    if content is None:
        return Cell(SafeText(text.marks().none), MUTED)
    return Cell(SafeText(content), "" if before is not None and before != now else MUTED)


def _pair_text(change: Change, name: str) -> str:
    return _before_after(getattr(change.before, name, None), getattr(change.now, name)) or ""


def _members_text(change: Change, most: int = 3) -> SafeText:
    """Return a text such as `+app-3 -app-1 rewound by 200`: app-3 joined, app-1 left, offsets went back 200 records.

    If the change is an event (`Change.event`), return the text of the event instead.

    Args:
        most: maximum number of joined members to name, and also maximum number of left members to name.
    """
    if change.event is not None:
        return event_text(change.event, with_kind=False)
    now = change.now
    content = [f"+{text.plain(name, 60, cut='middle')}" for name in now.joined[:most]]
    content += _more(len(now.joined) - most)
    content += [f"-{text.plain(name, 60, cut='middle')}" for name in now.left[:most]]
    content += _more(len(now.left) - most)
    if now.rewound:
        content.append(f"rewound by {text.exact(now.rewound)}")
    return SafeText(" ".join(content))


def _more(count: int) -> list[str]:
    return [f"and {count:,} more"] if count > 0 else []


def _moved(change: Change) -> Cell:
    return Cell(text.exact(change.now.moved)) if change.now.moved else Cell("")


COLUMNS: tuple[Column[Change], ...] = (
    Column("at", "TIME", lambda _: text.clock(0.0), lambda change: Cell(SafeText(text.clock(change.at)), MUTED)),
    Column(
        "state", "CHANGE", _state_text, lambda change: Cell(_state_text(change), _role(change)),
        min_width=20, max_width=44,
    ),
    Column(
        "took", "TOOK", _duration_text, lambda change: Cell(SafeText(_duration_text(change) or "")), rank=1, right=True
    ),
    Column(
        "epoch", "EPOCH", lambda change: _pair_text(change, "epoch"), lambda change: _pair_cell(change, "epoch"),
        rank=2, min_width=11,
    ),
    Column(
        "members", "MEMBERS", lambda change: _pair_text(change, "members"),
        lambda change: _pair_cell(change, "members"), rank=3,
    ),
    Column("moved", "MOVED", lambda change: change.now.moved, _moved, rank=4, right=True),
    Column(
        "who", "DETAILS", _members_text,
        lambda change: Cell(_members_text(change), ACCENT if change.now.rewound else ""),
        rank=5, min_width=10, max_width=60, full=lambda change: Cell(_members_text(change, MOST_MEMBERS_NAMED)),
    ),
)  # fmt: skip


def with_member_names(changes: Iterable[Change], members: Iterable[Member]) -> list[Change]:
    """Return the changes with readable member names in place of member ids.

    Args:
        members: current members of the group. Their instance ids or client ids are used as names. The name of a member
            that has left is made from its member id.
    """
    every = list(changes)
    ids = {one for change in every for one in (*change.now.joined, *change.now.left)}
    if not ids:
        return every
    names = names_of_ids(ids, members)
    return [
        change._replace(
            now=change.now._replace(
                joined=tuple(names[one] for one in change.now.joined), left=tuple(names[one] for one in change.now.left)
            )
        )
        for change in every
    ]


def observed_times(snapshot: Snapshot, group: str) -> dict[str, float | None]:
    """Return the times that the summary of the History pane shows, as a dict: title → time.

    An example of a title is `last progress`. Times are in seconds since the epoch. An unknown time is None.
    """
    return {
        f"{snapshot.state_of(group)} since": snapshot.state_since.get(group),
        "last progress": facts.last_progress(snapshot, group),
        "first seen": facts.first_seen(snapshot, group),
    }


def history_summary(timeline: GroupTimeline, times: Mapping[str, float | None]) -> list[PaneLine]:
    """Return the parts of the summary above the plots, such as `3 rebalances`.

    Args:
        times: title → time (the result of `observed_times`); empty in a recording.
    """
    changes = timeline.changes
    known = [change for change in changes if change.before is not None]
    rebalances = sum(1 for change in known if change.rebalanced is not None)
    joined, left = (sum(len(getattr(change.now, name)) for change in changes) for name in ("joined", "left"))
    parts: list[PaneLine] = [
        (Cell(f"{text.age(timeline.until - timeline.since)}", ACCENT),),
        *((Cell(f"{title} {text.clock(at)}"),) for title, at in times.items() if at is not None),
        (Cell(counted(rebalances, "rebalance"), WARN if rebalances else ""),),
    ]
    if joined or left:
        parts.append((Cell(f"{text.exact(joined)} joined, {text.exact(left)} left"),))
    moved = sum(change.now.moved for change in changes)
    if moved:
        parts.append((Cell(f"{counted(moved, 'partition')} moved"),))
    unseen = sum(min(end, timeline.until) - max(start, timeline.since) for start, end, _ in timeline.gaps)
    if unseen > 0:
        parts.append((Cell(f"{text.age(unseen)} not recorded", WARN),))
    if timeline.may_lack_topics:
        parts.append((Cell(f"lag {VISIBLE_ONLY}", WARN),))
    return parts
