"""The one door through which text of a cluster reaches the screen, and how numbers, ages and times are written.

A cluster's strings (group, member, topic, client, host, error messages) become `Text`, never `str`: Textual parses a
`str` as markup, and a group may be called `[/red]`. What could act on the terminal is made visible on the way.

`look()` says how this run of the program writes: with ASCII marks or not, in UTC or local time, and what time it is.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from kgtui.model import group_types as states
from kgtui.model.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable

Cut = Literal["end", "middle"]


@dataclass(frozen=True, slots=True)
class Marks:
    """Every mark that screens draw. Each is one cell wide; those in columns are of unambiguous width."""

    none: str = "–"
    unknown: str = "?"
    forbidden: str = "x"
    at_least: str = "≥ "
    ellipsis: str = "…"
    opened: str = "▾"
    closed: str = "▸"
    marked: str = "✱"
    dot: str = "·"
    arrow: str = "→"
    fault: str = "!"
    warn: str = "▴"
    error: str = "✘"
    stable: str = "✓"
    rebalancing: str = "↻"
    empty: str = "◦"
    dead: str = "✗"
    not_ready: str = "⋯"
    odd: str = "?"
    bar: str = "▪"
    rule: str = "─"
    record: str = "●"


UNICODE = Marks()
ASCII = Marks(
    none="-", at_least=">=", ellipsis="~", opened="v", closed=">", marked="*", dot="-", arrow="->",
    warn="^", error="X", stable="=", rebalancing="~", empty=".", dead="x", not_ready="_", bar="#", rule="-", record="*",
)  # fmt: skip

_STATE_MARKS = {
    states.STABLE: "stable",
    states.EMPTY: "empty",
    states.DEAD: "dead",
    states.NOT_READY: "not_ready",
} | dict.fromkeys(states.REBALANCING, "rebalancing")

# The role (a `$kg-…` theme variable without the `$`) in which a state is coloured.
_STATE_ROLES = {
    states.STABLE: "kg-ok",
    states.EMPTY: "kg-muted",
    states.DEAD: "kg-error",
    states.NOT_READY: "kg-warn",
} | dict.fromkeys(states.REBALANCING, "kg-warn")


@dataclass
class Look:
    """How this run writes.

    Attributes:
        ascii: only ASCII leaves the program; anything else in a cluster's text is escaped.
        utc: times in UTC instead of `zone`.
        now: seconds since the epoch.
        zone: local time zone; None for the system's.
    """

    ascii: bool = False
    utc: bool = False
    now: Callable[[], float] = field(default=time.time)
    zone: tzinfo | None = None

    @property
    def marks(self) -> Marks:
        """The set of marks in use."""
        return ASCII if self.ascii else UNICODE


_look: ContextVar[Look] = ContextVar("look")
_DEFAULT = Look()


def look() -> Look:
    """The look of the running app; a plain one outside of an app."""
    return _look.get(_DEFAULT)


def use_look(chosen: Look) -> None:
    """Make this the look of the current task and of those it starts. The app calls it before it composes."""
    _look.set(chosen)


def marks() -> Marks:
    """The set of marks in use."""
    return look().marks


# Text of a cluster


def plain(value: str | None, width: int | None = None, *, cut: Cut = "end") -> str:
    """A cluster's string made visible and at most `width` cells wide; `–` for None.

    The result may still look like markup: give it only to what takes it literally (`Text`, `Strip`, a clipboard).
    """
    if value is None:
        return marks().none
    if width is None:
        return _harmless(value)
    if len(value) <= 4 * width + 4:
        return fit(_harmless(value), width, cut=cut)
    reach = 2 * width + 2
    shortened = _harmless(value[:reach]) + marks().ellipsis + _harmless(value[-reach:])
    return fit(shortened, width, cut=cut)


def cell(value: str | None, width: int | None = None, *, style: str = "", cut: Cut = "end") -> Text:
    """A cluster's string as `Text`: made visible, never markup, at most `width` cells wide; `–` for None."""
    return Text(plain(value, width, cut=cut), style=style, no_wrap=True, end="")


def label(*parts: str | Text | tuple[str, str]) -> Text:
    """Our own words and finished `Text` joined into one line; a pair is `(words, style)`. Nothing is markup."""
    return Text.assemble(*parts, no_wrap=True, end="")


def dotted(words: str) -> str:
    """Our own ` · ` between words of a cluster, in the mark set in use; each word made visible."""
    return f" {marks().dot} ".join(plain(word) for word in words.split(" · "))


def one_line(value: str, width: int | None = None) -> Text:
    """A message, perhaps a broker's, as one harmless line."""
    return cell(" ".join(value.split()), width)


def _harmless(value: str) -> str:
    shown = visible(value)
    if look().ascii and not shown.isascii():
        return shown.encode("ascii", "backslashreplace").decode("ascii")
    return shown


def fit(shown: str, width: int, *, cut: Cut = "end") -> str:
    """Text that is harmless already, cut to `width` cells with an ellipsis at the end or in the middle."""
    if width <= 0:
        return ""
    if len(shown) <= width and shown.isascii():
        return shown
    if cell_len(shown) <= width:
        return shown
    mark = marks().ellipsis
    if width <= len(mark):
        return mark[:width]
    if cut == "end":
        return set_cell_size(shown, width - len(mark)).rstrip(" ") + mark
    tail_width = (width - len(mark)) // 2
    head = set_cell_size(shown, width - len(mark) - tail_width).rstrip(" ")
    return head + mark + _tail(shown, tail_width)


def _tail(shown: str, width: int) -> str:
    start, used = len(shown), 0
    while start > 0:
        used += cell_len(shown[start - 1])
        if used > width:
            break
        start -= 1
    # A combining mark without its letter would climb onto the ellipsis.
    while start < len(shown) and cell_len(shown[start]) == 0:
        start += 1
    return shown[start:]


def pad(shown: str, width: int, *, right: bool = False) -> str:
    """Harmless text in exactly `width` cells: cut or filled with blanks, on the left if `right`."""
    shown = fit(shown, width)
    blanks = " " * (width - (len(shown) if shown.isascii() else cell_len(shown)))
    return blanks + shown if right else shown + blanks


# Numbers

_UNITS = ("", "k", "M", "G", "T", "P", "E")


def exact(value: int | None) -> str:
    """`1,284`; `–` for None."""
    return marks().none if value is None else f"{value:,}"


def short(value: int | None) -> str:
    """`312`, `18.2k`, `890k`, `1.2M`; `–` for None. Four cells or five, and never more."""
    if value is None:
        return marks().none
    if value < 0:
        return "-" + short(-value)
    if value < 1000:
        return str(value)
    scaled, unit = float(value), 0
    while scaled >= 999.5 and unit < len(_UNITS) - 1:
        scaled, unit = scaled / 1000, unit + 1
    digits = f"{scaled:.1f}" if scaled < 99.95 else f"{scaled:.0f}"
    return digits.removesuffix(".0") + _UNITS[unit]


def lag(value: int | None, unknown: int = 0) -> str:
    """A summed lag: `18.2k`, `≥ 4.1k` when `unknown` parts are missing, `?` when all are, `–` when there is none."""
    if value is None:
        return marks().unknown if unknown else marks().none
    return (marks().at_least if unknown else "") + short(value)


def share_of(part: int, whole: int) -> str:
    """`96%`: never `100%` unless it is all, and never `0%` unless it is nothing."""
    if whole <= 0:
        return marks().none
    percent = round(100 * part / whole)
    if part < whole:
        percent = min(percent, 99)
    if part > 0:
        percent = max(percent, 1)
    return f"{percent}%"


# Time


def age(seconds: float | None) -> str:
    """`0 s`, `12 s`, `3 m`, `2 h`, `5 d`; `–` for None."""
    if seconds is None:
        return marks().none
    seconds = max(0.0, seconds)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


def ago(at: float | None) -> str:
    """The age of something that was read at `at`, in seconds since the epoch."""
    return age(None if at is None else look().now() - at)


def milliseconds(value: float | None) -> str:
    """`84 ms`, `1.4 s`, `–`."""
    if value is None:
        return marks().none
    return f"{value:.0f} ms" if value < 1000 else f"{value / 1000:.1f} s"


def _moment(at: float) -> datetime:
    moment = datetime.fromtimestamp(at, UTC)
    return moment if look().utc else moment.astimezone(look().zone)


def clock(at: float | None, *, offset: bool = False) -> str:
    """`10:04:23`, with `offset` `10:04:23 +01:00` (`10:04:23 UTC`); `–` for None."""
    if at is None:
        return marks().none
    moment = _moment(at)
    shown = f"{moment:%H:%M:%S}"
    if not offset:
        return shown
    return f"{shown} UTC" if look().utc else f"{shown} {moment.isoformat()[-6:]}"


def date(at: float | None) -> str:
    """`2026-11-21 10:04:23 +01:00`; `–` for None."""
    return marks().none if at is None else f"{_moment(at):%Y-%m-%d} {clock(at, offset=True)}"


# States


def state_mark(state: str | None) -> str:
    """The mark of a state, one cell wide; `?` for one that is unknown or that this version has never heard of."""
    return getattr(marks(), _STATE_MARKS.get(state or "", "odd"))  # type: ignore[no-any-return]


def state_role(state: str | None) -> str:
    """The role whose colour a state wears: `kg-ok`, `kg-warn`, `kg-error`, `kg-muted`."""
    return _STATE_ROLES.get(state or "", "kg-muted")
