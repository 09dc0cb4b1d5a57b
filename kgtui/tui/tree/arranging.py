"""One pass over a snapshot: choose, arrange, sort. Asynchronous, so that keys are answered in between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.tui.tree.forest import arrange
from kgtui.tui.tree.order import ordered
from kgtui.tui.tree.work import sliced

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from kgtui.model.query import Query
    from kgtui.tui.tree.forest import Forest, Path
    from kgtui.tui.tree.view import TreeView


@dataclass(frozen=True, slots=True, eq=False)
class Arrangement:
    """What a pass found.

    Attributes:
        chosen: ids that the filter lets through; None for all.
        order: the groups of open nodes, where they are not sorted by name.
        shown: how many groups are shown.
        searched: of how many groups the filter's data was there, of how many; None when the list says all.
    """

    forest: Forest
    chosen: Collection[str] | None
    order: Mapping[Path, Sequence[str]]
    shown: int
    searched: tuple[int, int] | None


async def arranged(view: TreeView, query: Query, valid: Callable[[], bool]) -> Arrangement:
    """Arrange the view's snapshot. Raises `Superseded` once `valid()` is false."""
    snapshot = view.snapshot
    chosen = None
    if query.terms:
        chosen = set(await sliced(query.steps(snapshot, view.marked), valid))
    forest = await sliced(arrange(snapshot, view.grouping, chosen), valid)
    order: dict[Path, Sequence[str]] = {}
    for node in forest.nodes.values():
        if node.parts and (not node.path or view.is_open(node)):
            ids = await sliced(view.by_name(node), valid)
            if view.sort != "name":
                order[node.path] = await sliced(ordered(ids, snapshot, view.sort, view.descending), valid)
    searched = await sliced(query.search_steps(snapshot), valid) if query.needs else None
    return Arrangement(forest, chosen, order, len(snapshot.groups if chosen is None else chosen), searched)
