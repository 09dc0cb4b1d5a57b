"""Who is in a group, as one compact text: three tuples of texts for each of 100,000 groups would cost thrice."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgtui.model.members import Member

_BETWEEN, _PART = "\x1f", "\x1e"  # ASCII's unit and record separators
_INSTEAD = str.maketrans({_BETWEEN: "?", _PART: "?"})  # in ids that hold them: a roster is for searching alone


def member_index_of(members: Iterable[Member] | None) -> str:
    """The roster of some members; `` of none."""
    known = tuple(members or ())
    if not known:
        return ""
    return encode_member_index(
        sorted({member.client_id for member in known}),
        sorted({member.host for member in known}),
        [member.member_id for member in known],
    )


def encode_member_index(clients: Iterable[str], hosts: Iterable[str], member_ids: Iterable[str]) -> str:
    """A roster of client ids, hosts and member ids."""
    return _PART.join(
        _BETWEEN.join(text.translate(_INSTEAD) if not text.isprintable() else text for text in texts)
        for texts in (clients, hosts, member_ids)
    )


def clients(text: str) -> tuple[str, ...]:
    """Client ids, sorted, without repeats."""
    return _part(text, 0)


def hosts(text: str) -> tuple[str, ...]:
    """Client hosts, sorted, without repeats."""
    return _part(text, 1)


def member_ids(text: str) -> tuple[str, ...]:
    """Member ids."""
    return _part(text, 2)


def _part(text: str, number: int) -> tuple[str, ...]:
    if not text:
        return ()
    part = text.split(_PART)[number]
    return tuple(part.split(_BETWEEN)) if part else ()
