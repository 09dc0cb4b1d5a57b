"""Writes times as RFC 3339 text in UTC, the form that JSON, backups, the audit log and file names use."""

from __future__ import annotations

from datetime import UTC, datetime


def rfc3339(seconds: float) -> str:
    """Write a time in seconds since the epoch as RFC 3339 in UTC with milliseconds: `2026-11-23T04:32:02.250Z`."""
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return text.removesuffix("+00:00") + "Z"


def rfc3339_or_none(seconds: float | None) -> str | None:
    """Write a time as `rfc3339` does; None if the time is not known."""
    return None if seconds is None else rfc3339(seconds)
