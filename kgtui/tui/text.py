"""Format numbers, ages and times, and make text from a cluster safe for the terminal.

Control characters in strings from a cluster, such as group ids, are escaped. The strings are drawn as `Text`, because
Textual would parse a group id such as `[/red]` in a plain `str` as markup.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from kgtui.model.marks import ASCII, UNICODE, VERDICT_LOOKS, Marks, state_look
from kgtui.model.rfc3339 import utc_datetime
from kgtui.model.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, tzinfo

Cut = Literal["end", "middle"]


@dataclass
class DisplaySettings:
    """Settings for symbols, text and times.

    Attributes:
        ascii: whether to draw only ASCII characters. All other characters are then escaped.
        utc: whether times are shown in UTC instead of the time zone `zone`.
        now: returns the current time, in seconds since the epoch.
        zone: local time zone; None for the time zone of the system.
    """

    ascii: bool = False
    utc: bool = False
    now: Callable[[], float] = field(default=time.time)
    zone: tzinfo | None = None

    @property
    def marks(self) -> Marks:
        """The symbols to draw: `ASCII` or `UNICODE`."""
        return ASCII if self.ascii else UNICODE


_display_settings: ContextVar[DisplaySettings] = ContextVar("display_settings")
_DEFAULT = DisplaySettings()


def display_settings() -> DisplaySettings:
    """Return the display settings of the running app; the default settings if no app has set them."""
    return _display_settings.get(_DEFAULT)


def use_display_settings(settings: DisplaySettings) -> None:
    """Use these settings in the current asyncio task, and in all tasks that the current task starts later."""
    _display_settings.set(settings)


def marks() -> Marks:
    """Return the symbols to draw, such as arrows: ASCII or Unicode, depending on the current display settings."""
    return display_settings().marks


def plain(value: str | None, width: int | None = None, *, cut: Cut = "end") -> str:
    """Escape control characters in a string from a cluster, and cut the string to at most `width` terminal cells.

    If `value` is None, return `–`. If `width` is None, do not cut the string. Square brackets are not escaped, so do
    not pass the result to code that parses markup.
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
    """Return a string from a cluster as one line of `Text`. Control characters are escaped.

    The text is cut to at most `width` terminal cells, at its end or in its middle. If `value` is None, the text is `–`.
    """
    return Text(plain(value, width, cut=cut), style=style, no_wrap=True, end="")


def label(*parts: str | Text | tuple[str, str]) -> Text:
    """Join strings, `(string, style)` pairs and `Text` objects into one line of `Text`, without parsing markup.

    Strings from a cluster must already be escaped, because this function does not escape them.
    """
    return Text.assemble(*parts, no_wrap=True, end="")


def dotted(words: str) -> str:
    """Escape control characters in a text with the separator ` · `, such as `classic · connect`.

    In ASCII mode, the separator becomes ` - `.
    """
    return f" {marks().dot} ".join(plain(word) for word in words.split(" · "))


def one_line(value: str, width: int | None = None) -> Text:
    """Return a message, such as a broker's error message, as one line of `Text`. Line breaks become blanks."""
    return cell(" ".join(value.split()), width)


def _harmless(value: str) -> str:
    shown = visible(value)
    if display_settings().ascii and not shown.isascii():
        return shown.encode("ascii", "backslashreplace").decode("ascii")
    return shown


def fit(shown: str, width: int, *, cut: Cut = "end") -> str:
    """Cut a text to at most `width` cells, at its end or in its middle. An ellipsis marks the cut.

    Args:
        shown: the text, in which `plain` has already escaped control characters.
    """
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
    # Drop accents and other combining marks at the start. The letter before them was cut off, so the terminal would
    # draw them over the ellipsis.
    while start < len(shown) and cell_len(shown[start]) == 0:
        start += 1
    return shown[start:]


def pad(shown: str, width: int, *, right: bool = False) -> str:
    """Cut a text, or add blanks, so that it has exactly `width` cells.

    Args:
        shown: the text, in which `plain` has already escaped control characters.
        right: whether to align the text to the right.
    """
    shown = fit(shown, width)
    blanks = " " * (width - (len(shown) if shown.isascii() else cell_len(shown)))
    return blanks + shown if right else shown + blanks


_UNITS = ("", "k", "M", "G", "T", "P", "E")


def exact(value: int | None) -> str:
    """Format a number with all digits, such as `1,284`; `–` for None."""
    return marks().none if value is None else f"{value:,}"


def short(value: int | None) -> str:
    """Format a number in at most six cells, such as `312`, `18.2k` or `1.2M`; `–` for None."""
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


def lag(value: int | None, lower_bound: bool | int = False) -> str:
    """Format a total lag (in records), such as `18.2k`, or `≥ 4.1k` if the total is a lower bound.

    If `value` is None, return `?` if some lags are unknown (`lower_bound` is true), and `–` otherwise.

    Args:
        value: sum of the known lags; None if no lag is known.
        lower_bound: whether the real total can be larger than `value`, because some lags are unknown. Instead of True
            or False, callers can pass the number of partitions whose lag is unknown.
    """
    if value is None:
        return marks().unknown if lower_bound else marks().none
    return (marks().at_least if lower_bound else "") + short(value)


def percent_of(part: int, whole: int) -> str:
    """Format `part / whole` as a percentage, such as `96%`; `–` if `whole` is 0.

    The result is `100%` only if `part` equals `whole`, and `0%` only if `part` is 0.
    """
    if whole <= 0:
        return marks().none
    percent = round(100 * part / whole)
    if part < whole:
        percent = min(percent, 99)
    if part > 0:
        percent = max(percent, 1)
    return f"{percent}%"


def age(seconds: float | None) -> str:
    """Format a duration in its largest unit, such as `12 s`, `3 min`, `2 h` or `5 d`; `–` for None."""
    if seconds is None:
        return marks().none
    seconds = max(0.0, seconds)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


def coarse_age(seconds: float | None) -> str:
    """Format a duration like `age`, but below one minute in steps of 10 s: `<10 s`, `10 s`, `20 s` and so on.

    This text changes less often than the text of `age`, so that a row with an age needs fewer redraws.
    """
    if seconds is not None and seconds < 10:
        return "<10 s"
    if seconds is not None and seconds < 60:
        seconds -= seconds % 10
    return age(seconds)


def ago(at: float | None) -> str:
    """Format the time since `at` (seconds since the epoch), such as `12 s`, without the word "ago"; `–` for None."""
    return age(None if at is None else display_settings().now() - at)


def milliseconds(value: float | None) -> str:
    """Format milliseconds, such as `84 ms` or `1.4 s`; `–` for None."""
    if value is None:
        return marks().none
    return f"{value:.0f} ms" if value < 1000 else f"{value / 1000:.1f} s"


def to_datetime(at: float) -> datetime:
    """Convert seconds since the epoch into a `datetime` in UTC or local time, depending on the display settings."""
    settings = display_settings()
    utc = utc_datetime(at)
    return utc if settings.utc else utc.astimezone(settings.zone)


_CLOCK, _CLOCK_MINUTES, _DATE, _DAY = "%H:%M:%S", "%H:%M", "%Y-%m-%d", "%m-%d"


def clock(at: float | None, *, offset: bool = False) -> str:
    """Format seconds since the epoch as a time of day, such as `10:04:23`; `–` for None.

    If `offset` is true, the UTC offset follows, as in `10:04:23 +01:00` or `10:04:23 UTC`.
    """
    if at is None:
        return marks().none
    local = to_datetime(at)
    shown = f"{local:{_CLOCK}}"
    if not offset:
        return shown
    return f"{shown} UTC" if display_settings().utc else f"{shown} {local.isoformat()[-6:]}"


def date(at: float | None) -> str:
    """Format seconds since the epoch with date and UTC offset, such as `2026-11-21 10:04:23 +01:00`; `–` for None."""
    return marks().none if at is None else f"{to_datetime(at):{_DATE}} {clock(at, offset=True)}"


def clock_minutes(at: float) -> str:
    """Format seconds since the epoch as a time of day without seconds, such as `10:04`."""
    return f"{to_datetime(at):{_CLOCK_MINUTES}}"


def date_seconds(at: float) -> str:
    """Format seconds since the epoch as date and time, such as `2026-11-21 10:04:23`."""
    return f"{to_datetime(at):{_DATE} {_CLOCK}}"


def date_minutes(at: float) -> str:
    """Format seconds since the epoch as date and time without seconds, such as `2026-11-21 10:04`."""
    return f"{to_datetime(at):{_DATE} {_CLOCK_MINUTES}}"


def day_minutes(at: float) -> str:
    """Format seconds since the epoch as month, day and time, such as `11-21 10:04`."""
    return f"{to_datetime(at):{_DAY} {_CLOCK_MINUTES}}"


def state_mark(state: str | None) -> str:
    """Return the symbol (one cell wide) for a group state, such as `Stable`; `?` if the state is missing or unknown."""
    return getattr(marks(), state_look(state).mark)  # type: ignore[no-any-return]


def verdict_mark(verdict: str) -> str:
    """Return the symbol (one cell wide) for a health verdict, such as `WARN`. `verdict` is a key of `VERDICT_LOOKS`."""
    return getattr(marks(), VERDICT_LOOKS[verdict].mark)  # type: ignore[no-any-return]


def verdict_role(verdict: str) -> str:
    """Return the name of the theme color for a health verdict, such as `kg-warn` for `WARN`.

    `verdict` is a key of `VERDICT_LOOKS`.
    """
    return VERDICT_LOOKS[verdict].role


def state_role(state: str | None) -> str:
    """Return the name of the theme color for a group state: `kg-ok`, `kg-warn`, `kg-error` or `kg-muted`."""
    return state_look(state).role
