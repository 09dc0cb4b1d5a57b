"""Stores the client ids, hosts and member ids of a group in one string, the member index, in which filters search.

One string per group saves memory: three tuples of strings per group would need three times as much, and there may be
100,000 groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgtui.model.members import Member

_BETWEEN, _PART = "\x1f", "\x1e"  # unit separator and record separator of ASCII
# Separators inside ids are replaced. The changed ids do no harm, because the index is used only for searching.
_INSTEAD = str.maketrans({_BETWEEN: "?", _PART: "?"})


def member_index_of(members: Iterable[Member] | None) -> str:
    """Return the member index of a group, or an empty string if it has no members."""
    known = tuple(members or ())
    if not known:
        return ""
    return encode_member_index(
        sorted({member.client_id for member in known}),
        sorted({member.host for member in known}),
        [*(member.member_id for member in known), *(member.instance_id for member in known if member.instance_id)],
    )


def encode_member_index(clients: Iterable[str], hosts: Iterable[str], member_ids: Iterable[str]) -> str:
    """Return the member index that contains these client ids, hosts and member ids."""
    return _PART.join(
        _BETWEEN.join(text.translate(_INSTEAD) if not text.isprintable() else text for text in texts)
        for texts in (clients, hosts, member_ids)
    )


def clients(text: str) -> tuple[str, ...]:
    """Return the client ids in a member index, sorted and without duplicates."""
    return _part(text, 0)


def hosts(text: str) -> tuple[str, ...]:
    """Return the hosts in a member index, sorted and without duplicates."""
    return _part(text, 1)


def member_ids(text: str) -> tuple[str, ...]:
    """Return the member ids in a member index, followed by the instance ids of static members."""
    return _part(text, 2)


def _part(text: str, number: int) -> tuple[str, ...]:
    if not text:
        return ()
    part = text.split(_PART)[number]
    return tuple(part.split(_BETWEEN)) if part else ()
