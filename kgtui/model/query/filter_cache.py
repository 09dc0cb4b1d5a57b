"""What the terms about ids let through of each list, kept for the next letter of a filter and for the next poll."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kgtui.model.group import Listing
    from kgtui.model.query.terms import IdTerm

_Terms = tuple["IdTerm", ...]


class FilterCache:
    """Remembers by list, as lists are replaced and never mutated; whoever filters again and again keeps one."""

    def __init__(self) -> None:
        self._kept: dict[Listing, tuple[Sequence[str], _Terms, Sequence[str]]] = {}

    def forget(self, lists: Mapping[Listing, Sequence[str]], terms: _Terms) -> None:
        """Begin a pass over these lists: what is kept of others, or of filters without such terms, is of no use."""
        self._kept = {listing: kept for listing, kept in self._kept.items() if terms and lists.get(listing) is kept[0]}

    def left(self, listing: Listing, ids: Sequence[str], terms: _Terms) -> tuple[Sequence[str], _Terms]:
        """The ids of a list that are still to be looked at, and with which of the terms."""
        kept = self._kept.get(listing)
        if kept is None or kept[0] is not ids or not all(any(new.within(old) for new in terms) for old in kept[1]):
            return ids, terms
        return kept[2], tuple(term for term in terms if term not in kept[1])

    def keep(self, listing: Listing, ids: Sequence[str], terms: _Terms, passed: Sequence[str]) -> None:
        """These ids of a list passed all of the terms."""
        self._kept[listing] = (ids, terms, passed)
