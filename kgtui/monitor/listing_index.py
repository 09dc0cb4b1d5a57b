"""Index from each `Listing` (type, protocol, state and coordinator) to the ids of its groups.

For example, all Stable consumer groups of one broker have the same `Listing`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from kgtui.monitor.gc_tuning import untrack
from kgtui.monitor.sorted_ids import index_of, merged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.model.group import Listing


class ListingMoves:
    """The changes since the last update of `ListingIndex`: changed, added and removed groups.

    A changed group has a new `Listing` (type, protocol type, state and coordinator).

    Attributes:
        joined: new `Listing` → ids of changed and added groups that now have it.
        left: old `Listing` → ids of changed and removed groups that had it.
    """

    def __init__(self) -> None:
        self.joined: dict[Listing, list[str]] = defaultdict(list)
        self.left: dict[Listing, list[str]] = defaultdict(list)

    def __bool__(self) -> bool:
        return bool(self.joined or self.left)


class ListingIndex:
    """Index of the groups by `Listing`: type, protocol type, state and coordinator.

    Attributes:
        by_listing: `Listing` → sorted ids of its groups. A `Listing` without groups is left out.
    """

    def __init__(self) -> None:
        self.by_listing: dict[Listing, list[str]] = {}

    def stored_id(self, group: str, listing: Listing) -> str:
        """Return the string object that the index stores for a group id; `group` itself if the index has none.

        To save memory, the caller uses this object instead of its own, equal string.

        Args:
            listing: type, protocol type, state and coordinator under which the index contains the group.
        """
        ids = self.by_listing.get(listing, ())
        at = index_of(ids, group)
        return group if at is None else ids[at]

    def coordinated_by(self, node: int) -> set[str]:
        """Return the ids of the groups that this broker coordinates according to the newest lists of groups."""
        lists = (ids for listing, ids in self.by_listing.items() if listing.coordinator == node)
        return {group for ids in lists for group in ids}

    def update(self, moves: ListingMoves, groups: Mapping[str, Listing]) -> None:
        """Move the ids of changed groups in `by_listing` from the old `Listing` of each group to its new one.

        Changed lists of ids are replaced, not modified, because earlier snapshots still use the old lists.

        Args:
            moves: groups whose `Listing` (type, protocol type, state and coordinator) has changed. A new `Listing` that
                differs from the one in `groups` is outdated, and is ignored.
            groups: group id → newest `Listing`.
        """
        for listing in moves.joined.keys() | moves.left.keys():
            added = [group for group in moves.joined.get(listing, ()) if groups.get(group) == listing]
            ids = merged(self.by_listing.get(listing, []), added, moves.left.get(listing, []))
            if ids:
                self.by_listing[listing] = untrack(ids)
            else:
                self.by_listing.pop(listing, None)
