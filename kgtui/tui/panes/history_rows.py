"""The log of the History pane: what changed of a group, a line each, the newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model.group_types import REBALANCING
from kgtui.tui import text
from kgtui.tui.panes.cells import ACCENT, ERROR, MUTED, WARN, Cell, Shown, some
from kgtui.tui.panes.columns import Column

if TYPE_CHECKING:
    from kgtui.model.past import Change, Past

MOST_NAMED = 100
"""Members that the detail of a line names."""


def _role(change: Change) -> str:
    now = change.now
    if not now.listed:
        return ERROR
    if now.gap or now.state in REBALANCING:
        return WARN
    return text.state_role(now.state) if change.before is None or change.before.state != now.state else MUTED


def _state(state: str | None) -> str:
    return text.plain(state, 24) if state is not None else text.marks().unknown


def _happened(change: Change) -> Shown:
    """The state, and the one before where it was another."""
    before, now = change.before, change.now
    if not now.listed:
        return Shown("no such group" if before is None else "deleted")
    if before is None:
        why = f"  {text.plain(now.gap, 40)}" if now.gap else "  first seen"
        return Shown(_state(now.state) + why)
    if not before.listed:
        return Shown(f"created, {_state(now.state)}")
    if before.state == now.state:
        return Shown(_state(now.state))
    return Shown(f"{_state(before.state)} {text.marks().arrow} {_state(now.state)}")


def _took(change: Change) -> str | None:
    """How long a rebalance took, or no look was taken."""
    if change.now.gap and change.now.since is not None:
        return text.age(change.at - change.now.since)
    return None if change.rebalanced is None else text.age(change.rebalanced)


def _pair(before: int | None, now: int | None) -> str | None:
    """`41→42`; one number where it is the same or nothing is known of before."""
    if now is None:
        return None
    return str(now) if before is None or before == now else f"{before}{text.marks().arrow}{now}"


def _paired(change: Change, name: str) -> Cell:
    before, now = getattr(change.before, name, None), getattr(change.now, name)
    words = _pair(before, now)
    if words is None:
        return Cell(Shown(text.marks().none), MUTED)
    return Cell(Shown(words), "" if before is not None and before != now else MUTED)


def _width(change: Change, name: str) -> str:
    return _pair(getattr(change.before, name, None), getattr(change.now, name)) or ""


def _who(change: Change, most: int = 3) -> Shown:
    """Who joined and who left, and what else there is to say."""
    now = change.now
    words = [f"+{text.plain(name, 60, cut='middle')}" for name in now.joined[:most]]
    words += _more(len(now.joined) - most)
    words += [f"-{text.plain(name, 60, cut='middle')}" for name in now.left[:most]]
    words += _more(len(now.left) - most)
    if now.rewound:
        words.append(f"went back by {text.exact(now.rewound)}")
    return Shown(" ".join(words))


def _more(count: int) -> list[str]:
    return [f"and {count:,} more"] if count > 0 else []


def _moved(change: Change) -> Cell:
    return Cell(text.exact(change.now.moved)) if change.now.moved else Cell("")


COLUMNS: tuple[Column[Change], ...] = (
    Column("at", "TIME", lambda change: "00:00:00", lambda change: Cell(Shown(text.clock(change.at)), MUTED)),
    Column(
        "state", "STATE", _happened, lambda change: Cell(_happened(change), _role(change)),
        least=20, most=44,
    ),
    Column("took", "TOOK", _took, lambda change: Cell(Shown(_took(change) or "")), rank=1, right=True),
    Column("epoch", "EPOCH", lambda change: _width(change, "epoch"), lambda change: _paired(change, "epoch"), rank=2,
           least=11),
    Column(
        "members", "MEMBERS", lambda change: _width(change, "members"), lambda change: _paired(change, "members"),
        rank=3,
    ),
    Column("moved", "MOVED", lambda change: change.now.moved, _moved, rank=4, right=True),
    Column(
        "who", "WHO", _who, lambda change: Cell(_who(change), ACCENT if change.now.rewound else ""),
        rank=5, least=10, most=60, whole=lambda change: Cell(_who(change, MOST_NAMED)),
    ),
)  # fmt: skip


def history_summary(past: Past) -> list[tuple[Cell, ...]]:
    """How often the group rebalanced in the interval, who came and went, and what was not seen."""
    changes = past.changes
    known = [change for change in changes if change.before is not None]
    rebalances = sum(1 for change in known if change.rebalanced is not None)
    joined, left = (sum(len(getattr(change.now, name)) for change in changes) for name in ("joined", "left"))
    parts: list[tuple[Cell, ...]] = [
        (Cell(f"{text.age(past.until - past.since)}", ACCENT),),
        (Cell(some(rebalances, "rebalance"), WARN if rebalances else ""),),
    ]
    if joined or left:
        parts.append((Cell(f"{text.exact(joined)} joined, {text.exact(left)} left"),))
    moved = sum(change.now.moved for change in changes)
    if moved:
        parts.append((Cell(f"{some(moved, 'partition')} moved"),))
    unseen = sum(min(end, past.until) - max(start, past.since) for start, end, _ in past.gaps)
    if unseen > 0:
        parts.append((Cell(f"nothing known of {text.age(unseen)}", WARN),))
    return parts
