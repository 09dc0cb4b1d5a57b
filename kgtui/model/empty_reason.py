"""Texts that say why a group without members has a problem.

`Judgment.reason` already contains the text for a live cluster, and for groups that can have members. This module makes
the texts for recordings, and for simple groups, whose offsets are committed without members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.group_types import EMPTY, SIMPLE
from kgtui.model.judgment import ABANDONED_TIME, BEFORE_START, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.model.group import Listing
    from kgtui.model.judgment import Judgment

_WITHOUT_MEMBERS = "no members (offsets are committed without them)"

SIMPLE_ADVICE = (
    "If the unread records must be processed, check that the application that commits these offsets still runs."
)
"""The advice for a simple group with unread records."""


class StateSearch(NamedTuple):
    """The part of a recording that was searched for the polls in which the groups entered their current states.

    Attributes:
        begin: time of the first poll that was searched, in seconds since the epoch.
        whole: whether the search began at the first poll of the recording.
    """

    begin: float
    whole: bool = True


def before_text(search: StateSearch | None, clock: Callable[[float], str] | None = None) -> str:
    """Return a text for a time that kgtui did not observe: `before kgtui started` or `before the recording`.

    If only the end of a long recording was searched, the text is `before` and the time at which the search began.

    Args:
        search: the part of the recording that was searched; None for a live cluster.
        clock: function that converts a time in seconds since the epoch to text; None if the result must not contain a
            time.
    """
    if search is None:
        return BEFORE_START
    if search.whole:
        return "before the recording"
    return "before the searched part of the recording" if clock is None else f"before {clock(search.begin)}"


def is_simple(listing: Listing | None) -> bool:
    """Return whether a group is a simple group, whose offsets are committed without members."""
    return listing is not None and listing.kind == SIMPLE


def reason_of(
    judgment: Judgment,
    listing: Listing | None,
    state: str | None,
    search: StateSearch | None,
    *,
    observed_at: float | None = None,
    clock: Callable[[float], str] | None = None,
) -> str:
    """Return a text that says why a group has a problem.

    For a group with members, the text is `judgment.reason`. For a group without members, it depends on the other
    arguments.

    Args:
        listing: newest listing of the group, or None.
        state: newest known state of the group, or None.
        search: the part of the recording that was searched; None for a live cluster.
        observed_at: time at which a committed offset was last observed to move forward, in seconds since the epoch. If
            this was not observed, the time of the first read of the group; None if that is not known either.
        clock: function that converts a time in seconds since the epoch to text; None if the result must not contain a
            time.
    """
    facts = judgment.no_members
    if facts is None:
        return judgment.reason
    if not (is_simple(listing) and state in (EMPTY, None)):
        return facts.reason(facts.since.format(before=before_text(search, clock)))
    words = _WITHOUT_MEMBERS
    if judgment.kind is Problem.ABANDONED:
        words = f"{_WITHOUT_MEMBERS}; no commit seen for at least {ABANDONED_TIME}"
    elif clock is not None and observed_at is not None:
        words = f"{_WITHOUT_MEMBERS}; no commit seen since {clock(observed_at)}"
    return facts.reason(words)
