"""Parses durations and points in time in the options of commands."""

from __future__ import annotations

from datetime import datetime, timedelta

from kgtui.errors import UsageError
from kgtui.model.rfc3339 import parse_rfc3339, utc_datetime

_EXPECTED = "a time such as 2026-11-21T10:04:23Z or 10:04, or a duration before the end such as 15m"


def parse_duration(option: str, text: str) -> float:
    """Convert a duration such as `10s`, `2m`, `1h`, `30d` or `90` to seconds.

    Raises `UsageError`, with the name of the option, if the text is not a duration above 0.
    """
    from kgtui.model.query.ranges import TIME_UNITS, RangeSyntaxError, read_range

    try:
        found = read_range(text, TIME_UNITS)
    except RangeSyntaxError as error:
        raise UsageError(f"{option}: {error}; expected a duration above 0, such as 90s, 2m or 1.5h") from error
    if found.low is None or found.low != found.high or found.low <= 0:
        raise UsageError(f"{option} takes a duration above 0, such as 90s, 2m or 1.5h, not {text!r}")
    return float(found.low)


def parse_time(option: str, text: str, last: float) -> float:
    """Parse a time, and return seconds since the epoch.

    Examples: `2026-11-21T10:04Z`, `10:04` (local time), `15m` (15 minutes before `last`).

    Args:
        option: name of the option, for the error message.
        last: end of the recorded data, or the current time, in seconds since the epoch. A time of day without a date,
            such as `10:04`, means the latest 10:04 that is not after `last`.

    Raises:
        UsageError: the text has none of the forms in the examples.
    """
    from kgtui.model.query.ranges import TIME_UNITS, RangeSyntaxError, read_range

    text = text.strip()
    if ":" in text or "-" in text:
        try:
            return _parse_date_or_time_of_day(text, last)
        except (ValueError, OverflowError) as error:
            raise UsageError(f"{option} takes {_EXPECTED}, not {text!r}") from error
    try:
        back = read_range(text, TIME_UNITS)
    except RangeSyntaxError as error:
        raise UsageError(f"{option} takes {_EXPECTED}, not {text!r}") from error
    if back.low is None or back.low != back.high:
        raise UsageError(f"{option} takes {_EXPECTED}, not {text!r}")
    return last - back.low


def _parse_date_or_time_of_day(text: str, last: float) -> float:
    end = utc_datetime(last).astimezone()
    if "-" in text:
        return parse_rfc3339(text)
    day = datetime.fromisoformat(f"{end.date()}T{text}")
    # Try several days, because the time on `day` can be later than `last`. If the text has a time zone, the date in
    # this zone can also differ from the local date.
    days = [day + timedelta(days=number) for number in (-2, -1, 0, 1)]
    # When daylight saving time ends, an hour of local time occurs twice. `fold` is 0 for the first, 1 for the second.
    times = [one.replace(fold=fold).timestamp() for one in days for fold in (0, 1)]
    return max(at for at in times if at <= last)
