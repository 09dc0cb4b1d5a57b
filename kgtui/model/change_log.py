"""`ChangeLog`: which groups have changed, so that results about all groups are updated without visiting all."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice

MOST_CHANGES = 30_000
"""Default number of changes that are remembered. With 8 bytes per change, they take up 240 kB."""


class ChangeLog:
    """The ids of the groups that changed last, in the order of the changes.

    Args:
        most: number of changes that are remembered. Who has missed more changes must visit all groups.

    Attributes:
        total: number of changes so far.
        newest: ids of the groups of the newest changes, the newest one last.
    """

    def __init__(self, most: int = MOST_CHANGES) -> None:
        self.total = 0
        self.newest: deque[str] = deque(maxlen=most)
        self._last: str | None = None

    def add(self, group: str) -> None:
        """Add a change of a group. Several changes in a row are added once, unless a mark is between them."""
        if group != self._last:
            self._last = group
            self.total += 1
            self.newest.append(group)

    @property
    def mark(self) -> ChangeMark:
        """The place of the next change in this log."""
        self._last = None
        return ChangeMark(self, self.total)


@dataclass(frozen=True, slots=True, eq=False)
class ChangeMark:
    """A place in a change log: all changes so far are before it, and all later changes are after it.

    Attributes:
        number: number of changes before this place.
    """

    log: ChangeLog
    number: int

    def changed_since(self, earlier: ChangeMark | None) -> set[str] | None:
        """Return the ids of the groups that have changed since an earlier mark, up to now.

        Return None if all groups must be visited: there is no earlier mark, it belongs to another log, or the log has
        already forgotten some of the changes.
        """
        if earlier is None or earlier.log is not self.log:
            return None
        count = self.log.total - earlier.number
        newest = self.log.newest
        return set(islice(reversed(newest), count)) if count <= len(newest) else None
