"""Texts that say why a group without members has a problem.

These texts replace `Judgment.reason` in two cases. In a recording, the words `before kgtui started` would be wrong. For
a simple group, a text about missing members would be misleading, because its offsets are always committed without
members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.group_types import EMPTY, SIMPLE
from kgtui.model.judgment import BEFORE_START
from kgtui.model.problem import ABANDONED_TIME, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.model.group import Listing
    from kgtui.model.judgment import Judgment

_WITHOUT_MEMBERS = "no members (offsets are committed without them)"

SIMPLE_ADVICE = (
    "If the unread records must be processed, check that the application that commits these offsets still runs."
)
"""The advice for a simple group (whose offsets are committed without members) with unread records."""


class StateSearch(NamedTuple):
    """The part of a recording in which kgtui searched for the times at which groups entered their current states.

    Attributes:
        begin: time of the first searched poll, in epoch seconds.
        whole: whether the first searched poll is the first poll of the recording.
    """

    begin: float
    whole: bool = True


def before_text(search: StateSearch | None, clock: Callable[[float], str] | None = None) -> str:
    """Return a text that says when something changed, for a change that kgtui did not observe.

    For a live cluster, the text is `before kgtui started`. For a recording, it is `before the recording`. If only a
    part of the recording was searched, the text contains the time at which this part begins, such as `before 09:12`.

    Args:
        search: the searched part of a recording; None for a live cluster.
        clock: converts epoch seconds to text; None for a text without a time.
    """
    if search is None:
        return BEFORE_START
    if search.whole:
        return "before the recording"
    return "before the searched part of the recording" if clock is None else f"before {clock(search.begin)}"


def is_simple(listing: Listing | None) -> bool:
    """Return whether a group is a simple group, whose offsets are committed without members."""
    return listing is not None and listing.kind == SIMPLE


def empty_group_reason(
    judgment: Judgment,
    listing: Listing | None,
    state: str | None,
    search: StateSearch | None,
    *,
    observed_at: float | None = None,
    clock: Callable[[float], str] | None = None,
) -> str:
    """Return a text that says why a group has a problem.

    If the problem is that the group has no members, the text is computed from `judgment.no_members`. Otherwise, the
    text is `judgment.reason`.

    Args:
        listing: the group in the newest list of groups; None if it is not listed.
        state: newest known state of the group, or None.
        search: the searched part of a recording; None for a live cluster.
        observed_at: when kgtui last saw a committed offset move forward or, if it never did, when it first read the
            group, in epoch seconds; None if neither is known. Used only for simple groups.
        clock: converts epoch seconds to text; None for a text without a time.
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
