"""Writes and reads times as RFC 3339 text, the form that JSON, backups, the audit log and messages use."""

from __future__ import annotations

from datetime import UTC, datetime


def rfc3339(seconds: float, precision: str = "milliseconds") -> str:
    """Write a time in seconds since the epoch as RFC 3339 in UTC: `2026-11-23T04:32:02.250Z`.

    Args:
        precision: `milliseconds` or `seconds`.
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec=precision).removesuffix("+00:00") + "Z"


def rfc3339_or_none(seconds: float | None) -> str | None:
    """Return the result of `rfc3339`, or None if the time is None."""
    return None if seconds is None else rfc3339(seconds)


def file_stamp(seconds: float) -> str:
    """Format a time in seconds since the epoch as a part of a file name, in UTC: `20261123T043202Z`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y%m%dT%H%M%SZ")


def parse_rfc3339(text: str) -> float:
    """Parse a time and return seconds since the epoch. A time without a UTC offset is a local time.

    Raises:
        ValueError: the text is not a time.
    """
    return datetime.fromisoformat(text).astimezone().timestamp()
