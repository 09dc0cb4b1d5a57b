"""Times on the command line: how long, and when."""

from __future__ import annotations

from datetime import datetime, timedelta

from kgtui.errors import UsageError
from kgtui.model.rfc3339 import parse_rfc3339

_EXPECTED = "a time such as 2026-11-21T10:04:23Z, 10:04 or 15m (before the end of the recording)"


def seconds_of(option: str, text: str) -> float:
    """A length of time above 0, such as 10s, 2m, 1h, 30d, or seconds as a plain number. Raises `UsageError`."""
    from kgtui.model.query.ranges import TIME_UNITS, RangeSyntaxError, read_range

    try:
        found = read_range(text, TIME_UNITS)
    except RangeSyntaxError as error:
        raise UsageError(f"{option}: {error}") from error
    if found.low is None or found.low != found.high or found.low <= 0:
        raise UsageError(f"{option} takes a time above 0, such as 10s, 2m or 1h, not {text!r}")
    return float(found.low)


def instant_of(option: str, text: str, last: float) -> float:
    """A moment: RFC 3339 (local time without an offset), a time of day, or how long before the end.

    Args:
        last: the end, in seconds since the epoch; a time of day is the newest one that is not after it.

    Returns:
        Seconds since the epoch. Raises `UsageError`.
    """
    from kgtui.model.query.ranges import TIME_UNITS, RangeSyntaxError, read_range

    text = text.strip()
    if ":" in text or "-" in text:
        try:
            return _stamp(text, last)
        except ValueError as error:
            raise UsageError(f"{option} takes {_EXPECTED}, not {text!r}") from error
    try:
        back = read_range(text, TIME_UNITS)
    except RangeSyntaxError as error:
        raise UsageError(f"{option} takes {_EXPECTED}, not {text!r}") from error
    if back.low is None or back.low != back.high:
        raise UsageError(f"{option} takes {_EXPECTED}, not {text!r}")
    return last - back.low


def _stamp(text: str, last: float) -> float:
    end = datetime.fromtimestamp(last).astimezone()
    if "-" in text:
        return parse_rfc3339(text)
    day = datetime.fromisoformat(f"{end.date().isoformat()}T{text}").astimezone()
    return (day if day <= end else day - timedelta(days=1)).timestamp()
