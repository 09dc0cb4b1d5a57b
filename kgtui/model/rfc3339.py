"""Converts times to RFC 3339 text, the format in JSON, backups, the audit log and messages, and parses this text."""

from __future__ import annotations

from datetime import UTC, datetime

_EARLIEST, _LATEST = (datetime(year, 1, 2, tzinfo=UTC).timestamp() for year in (1000, 9999))


def utc_datetime(seconds: float) -> datetime:
    """Convert epoch seconds to a `datetime` in UTC.

    A time before January 2, 1000 or after January 2, 9999 is replaced with the nearer of these two limits, because
    `datetime` does not support all times that a record timestamp can have.
    """
    return datetime.fromtimestamp(min(max(seconds, _EARLIEST), _LATEST), UTC)


def rfc3339(seconds: float, precision: str = "milliseconds") -> str:
    """Format seconds since the epoch as RFC 3339 in UTC: `2026-11-23T04:32:02.250Z`.

    Args:
        precision: `milliseconds`, `seconds` or `minutes`.
    """
    return utc_datetime(seconds).isoformat(timespec=precision).removesuffix("+00:00") + "Z"


def rfc3339_or_none(seconds: float | None) -> str | None:
    """Return the result of `rfc3339`, or None if the time is None."""
    return None if seconds is None else rfc3339(seconds)


def file_stamp(seconds: float) -> str:
    """Format seconds since the epoch for a file name, in UTC: `20261123T043202Z`."""
    return utc_datetime(seconds).strftime("%Y%m%dT%H%M%SZ")


def parse_rfc3339(text: str) -> float:
    """Convert an RFC 3339 text to seconds since the epoch. A text without a UTC offset is taken as local time.

    Raises:
        ValueError: the text is not a time.
    """
    return datetime.fromisoformat(text).astimezone().timestamp()
