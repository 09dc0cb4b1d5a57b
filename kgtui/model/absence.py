"""Says why a group is not listed, and why no group matches a filter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model.event import EventKind
from kgtui.model.query.query import Query
from kgtui.model.query.spelling import meant_steps, similar_steps
from kgtui.model.query.terms import IdTerm
from kgtui.model.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from kgtui.model.answer import Fault
    from kgtui.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class NoMatch:
    """Why no group matches a filter. If the filter has no condition on group ids, only `meant` can be set.

    Attributes:
        meant: the filter that the user probably meant, or None. If it is set, no other attribute is set.
        word: the word that group ids must contain, if this is the only condition on group ids; otherwise None.
        excluded: number of groups that meet the conditions on group ids, but not all other
            conditions of the filter.
        example: id of one of the `excluded` groups; empty if `excluded` is 0.
        similar: group ids that are similar to the words in the filter; empty if `excluded` is not 0.
    """

    meant: Query | None = None
    word: str | None = None
    excluded: int = 0
    example: str = ""
    similar: tuple[str, ...] = ()


def no_match_steps(query: Query, snapshot: Snapshot) -> Generator[None, None, NoMatch]:
    """Find out why no group matches a filter. The return value of this generator is the result.

    The generator yields regularly, so that other tasks can run in between.
    """
    meant = yield from meant_steps(query, snapshot)
    about_ids = [term for term in query.terms if isinstance(term, IdTerm)]
    if not about_ids or meant is not None:
        return NoMatch(meant)
    words = query.words
    word = words[0] if len(words) == len(about_ids) == 1 else None
    if len(about_ids) < len(query.terms):
        found = yield from Query(tuple(about_ids)).steps(snapshot)
        if found:
            return NoMatch(None, word, len(found), found[0])
    similar = yield from similar_steps(words, snapshot.groups)
    return NoMatch(None, word, similar=tuple(similar))


def why_not_listed(
    snapshot: Snapshot,
    group: str,
    clock: Callable[[float], str],
    *,
    fault: Fault | None = None,
    gone_at: float | None = None,
    events: bool = True,
    whole: bool = True,
) -> list[str]:
    """Return sentences that say why a group is not listed, such as `payments.settle was deleted or expired at 01:18`.

    Args:
        group: group id, or a part of a group id.
        clock: converts epoch seconds to text.
        fault: why the group could not be described, or None.
        gone_at: when the group disappeared according to a recording, in epoch seconds; None if no recording shows this.
        events: whether to search `snapshot.events` for the time at which the group disappeared.
        whole: True if `group` is a whole group id, False if it is a part of one.
    """
    name = visible(group)
    lines = [f"{name} was deleted or expired at {clock(gone_at)}, as the recording shows."] if gone_at else []
    lines += _gone_in_this_run(snapshot, group, clock) if events else []
    if fault is not None and fault.name.endswith("AUTHORIZATION_FAILED"):
        lines.append(f"If {name} exists, it is hidden: you lack the ACL operation DESCRIBE on this group.")
    elif snapshot.access is not None and not snapshot.access.lists_every_group:
        lines.append(
            f"{name} may exist but be hidden from you, because you are not allowed to describe the cluster. "
            f"Ask for DESCRIBE on the group {name} or on the cluster."
        )
    return lines + _brokers(snapshot, name, whole=whole)


def _gone_in_this_run(snapshot: Snapshot, group: str, clock: Callable[[float], str]) -> list[str]:
    for event in reversed(snapshot.events):
        if event.kind is EventKind.DISAPPEARED and event.group == group and group not in snapshot.groups:
            return [f"{visible(group)} was deleted or expired at {clock(event.at)}."]
    return []


def _brokers(snapshot: Snapshot, name: str, *, whole: bool) -> list[str]:
    silent = [one for one in snapshot.brokers.values() if one.answered_at is None or one.fault is not None]
    every = len(snapshot.brokers)
    answered = every - len(silent)
    lines = []
    missing = f"group {name}" if whole else f"group id that contains {name}"
    one = missing if whole else f"a {missing}"
    if answered:
        if whole or silent:
            several = f"{answered} of {every} brokers answered, and none lists {one}."
            lines.append(f"The broker lists no {missing}." if every == 1 else several)
        else:
            lines.append(f"No group id contains {name}.")
    for status in silent:
        line = f"Broker {status.node} ({status.address}) may have {one}, but does not answer"
        why = None if status.fault is None else " ".join((status.fault.message or status.fault.name).split())
        lines.append(f"{line}." if why is None else f"{line}: {why}.")
    return lines
