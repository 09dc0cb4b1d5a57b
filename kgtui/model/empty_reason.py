"""The reason for the judgment on a group without members, in words that depend on how kgtui knows the group.

The rules in `kgtui.model.judgment` and `kgtui.monitor.screening` do not know whether a cluster is live or recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.model.judgment import Judgment
    from kgtui.model.snapshot import Snapshot

_BEFORE_START = "before kgtui started"
_BEFORE_SEARCH = "before the searched part of the recording"


def before_text(snapshot: Snapshot, clock: Callable[[float], str] | None = None) -> str:
    """Return the text for the time before everything that is known: `before kgtui started`, `before the recording`.

    If only a part of a long recording was searched, the text has the time at which this part begins.

    Args:
        clock: formats a time in seconds since the epoch; None if the text must not contain a time.
    """
    search = snapshot.state_search
    if search is None:
        return _BEFORE_START
    if search.whole:
        return "before the recording"
    return _BEFORE_SEARCH if clock is None else f"before {clock(search.begin)}"


def reason_of(judgment: Judgment, snapshot: Snapshot, clock: Callable[[float], str] | None = None) -> str:
    """Return the reason for the judgment on an Empty group.

    Args:
        clock: formats a time in seconds since the epoch; None if the reason must not contain a time.
    """
    before = before_text(snapshot, clock)
    return judgment.reason.replace(_BEFORE_START, before).replace(_BEFORE_SEARCH, before)
