"""One pass over a snapshot: choose, arrange, sort. Asynchronous, so that keys are answered in between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.tui.tree.forest import arrange
from kgtui.tui.tree.order import ordered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kgtui.model.query import Query
    from kgtui.model.slices import Slices
    from kgtui.tui.tree.forest import Forest, Path
    from kgtui.tui.tree.view import TreeView


@dataclass(frozen=True, slots=True, eq=False)
class Arrangement:
    """What a pass found.

    Attributes:
        order: the groups of open nodes, where they are not sorted by name.
        shown: how many groups are shown.
        searched: of how many groups the filter's data was there, of how many; None when the list says all.
    """

    forest: Forest
    order: Mapping[Path, Sequence[str]]
    shown: int
    searched: tuple[int, int] | None


async def arranged(view: TreeView, query: Query, slices: Slices) -> Arrangement:
    """Arrange the view's snapshot. Raises `SupersededError` once the user has chosen otherwise."""
    snapshot = view.snapshot
    chosen = None
    if query.terms:
        chosen = await slices.run(query.choose(snapshot, view.marked, sieve=view.sieve))
    forest = await slices.run(arrange(snapshot, view.grouping, chosen))
    order: dict[Path, Sequence[str]] = {}
    for node in forest.nodes.values():
        if node.parts and (not node.path or view.is_open(node)):
            ids = await slices.run(view.by_name(node))
            if view.sort != "name":
                order[node.path] = await slices.run(ordered(ids, snapshot, view.sort, view.descending))
    searched = await slices.run(query.search_steps(snapshot)) if query.needs else None
    shown = len(snapshot.groups) if chosen is None else sum(len(ids) for ids in chosen.values())
    return Arrangement(forest, order, shown, searched)
