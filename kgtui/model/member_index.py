"""Stores the client ids, hosts and member ids of a group in one string, the member index, in which filters search.

One string per group saves memory: three tuples of strings per group would need three times as much, and there may be
100,000 groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kgtui.model.members import Member

NAMES: dict[str, Callable[[Sequence[Member]], Iterable[str]]] = {
    "client": lambda members: sorted({member.client_id for member in members}),
    "host": lambda members: sorted({member.host for member in members}),
    "member": lambda members: [
        *(member.member_id for member in members),
        *(member.instance_id for member in members if member.instance_id),
    ],
}
"""Maps the key of each filter term about members to a function from members to the texts that the term searches.

For example, the term `client:app*` searches in the client ids of the members. The member index stores the texts of all
keys, in this order. A filter term reads the texts of its key with `facts.of_members(key)`.
"""

_BETWEEN, _PART = "\x1f", "\x1e"
# Translation table that replaces the index's separators with `?` in ids that contain them. The replacement does no
# harm, because the index is used only for searching.
_INSTEAD = str.maketrans({_BETWEEN: "?", _PART: "?"})


def member_index_of(members: Iterable[Member] | None) -> str:
    """Return the member index of a group: its client ids, hosts and member ids in one string; empty without members."""
    known = tuple(members or ())
    return encode_member_index({key: names(known) for key, names in NAMES.items()}) if known else ""


def encode_member_index(names: Mapping[str, Iterable[str]]) -> str:
    """Return the member index, one string, that contains the given texts.

    Args:
        names: key of `NAMES` → texts, such as `client` → client ids.
    """
    return _PART.join(
        _BETWEEN.join(text.translate(_INSTEAD) if not text.isprintable() else text for text in names.get(key, ()))
        for key in NAMES
    )


def names_reader(key: str) -> Callable[[str], tuple[str, ...]]:
    """Return a function that takes a member index and returns the texts that it contains for one key of `NAMES`."""
    number = list(NAMES).index(key)

    def read(text: str) -> tuple[str, ...]:
        part = text.split(_PART)[number] if text else ""
        return tuple(part.split(_BETWEEN)) if part else ()

    return read
