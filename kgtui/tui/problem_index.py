"""`ProblemIndex` stores which groups have a problem, and which problem it is, such as `stopped`.

The index is updated with each new snapshot (all data about a cluster at one time).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kgtui.model.problem import ONLY_COUNTED, Problem
from kgtui.monitor.sorted_ids import merged

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from kgtui.model.answer import Fault
    from kgtui.model.judgment import Judgment
    from kgtui.model.snapshot import ChangeMark, Snapshot
    from kgtui.model.summary import Summary

JUDGED_PER_SLICE = 200
"""Number of groups whose status and problem are determined in one step. A step takes about 1 ms.

Other tasks can run between two steps.
"""

STORED_PER_SLICE = 4_000
"""Number of groups whose new judgments (status and problem) are stored together, while no other task can run.

In a cluster with 100,000 groups, storing them takes at most 10 ms. The number must be a multiple of `JUDGED_PER_SLICE`,
so that `ProblemIndex.steps` lets other tasks run immediately afterward.
"""


SORTED_AT_MOST = 2_000
"""Maximum number of groups with the same problem that are sorted by the start of the problem.

If more groups have the problem, they are sorted by group id. This is fast, because their ids are stored in this order.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Problems:
    """The groups with a problem, as `ProblemIndex.problems` returns them.

    The mappings `judgments` and `summaries` are not copied, so they also show later changes.

    Attributes:
        version: number that grows whenever the problem or the status of a group changes.
        groups: problem → sorted ids of the groups with this problem, the most severe problem first.
        judgments: group id → current status and problem, only for groups with a problem.
        hidden: ids of groups whose problem the user has acknowledged with key `A`.
        summaries: group id → newest lag and other values of the group.
    """

    version: int = 0
    groups: Mapping[Problem, Sequence[str]] = field(default_factory=dict)
    judgments: Mapping[str, Judgment] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()
    summaries: Mapping[str, Summary] = field(default_factory=dict)

    def same_as(self, other: Problems) -> bool:
        """Return whether no problem, status or acknowledgment of a group differs between this object and `other`.

        The start times and the reasons of the problems are not compared.
        """
        return (self.version, self.hidden) == (other.version, other.hidden)

    def visible(self, kind: Problem) -> Sequence[str]:
        """Return the sorted ids of the groups with this problem, without groups whose problem is acknowledged."""
        groups = self.groups.get(kind, ())
        return [group for group in groups if group not in self.hidden] if self.hidden else groups

    def worst_first(self) -> Iterator[tuple[str, Judgment]]:
        """Yield (group id, judgment) of the groups that need attention, the most severe problem first.

        A judgment is the status and the problem of a group. Groups with the same problem are sorted by the start of the
        problem, the latest first; but if more than `SORTED_AT_MOST` groups have it, they are sorted by group id.
        Unused groups, abandoned groups, and groups whose problem the user has acknowledged are left out.
        """
        for kind in self.groups:
            groups = self.visible(kind) if kind not in ONLY_COUNTED else ()
            for group in groups if len(groups) > SORTED_AT_MOST else sorted(groups, key=self._order):
                judgment = self.judgments.get(group)
                if judgment is not None:
                    yield group, judgment

    def _order(self, group: str) -> tuple[float, int, str]:
        judgment, summary = self.judgments.get(group), self.summaries.get(group)
        since = None if judgment is None else judgment.since if judgment.since is not None else judgment.after
        lag = None if summary is None else summary.lag
        # Use only the order of magnitude of the lag. If the exact lag were used, groups would change places at every
        # poll.
        return -(since or 0.0), -(lag or 0).bit_length(), group

    @property
    def counts(self) -> dict[Problem, int]:
        """Problem → number of groups with this problem, including acknowledged problems.

        The problems unused and abandoned are left out.
        """
        return {kind: len(groups) for kind, groups in self.groups.items() if kind not in ONLY_COUNTED}


class ProblemIndex:
    """Stores the groups with a problem. The method `steps` updates them with a new snapshot.

    An update determines status and problem only for groups whose problem may have changed since the previous snapshot.
    """

    def __init__(self) -> None:
        self._judgments: dict[str, Judgment] = {}
        self._groups: dict[Problem, list[str]] = {}
        self._version = 0
        self._mark: ChangeMark | None = None
        self._faults: dict[int, Fault] = {}
        self._observed: frozenset[str] = frozenset()
        self._newest: Snapshot | None = None

    @property
    def judgments(self) -> Mapping[str, Judgment]:
        """Group id → status and problem, for all groups with a problem."""
        return self._judgments

    def problems(self, hidden: Iterable[str] = ()) -> Problems:
        """Return the groups with a problem. `judgments` and `summaries` of the result also show later changes.

        Args:
            hidden: ids of the groups whose problem the user has acknowledged with key `A`.
        """
        groups = {kind: self._groups[kind] for kind in Problem if kind in self._groups}
        summaries = {} if self._newest is None else self._newest.summaries
        return Problems(self._version, groups, self._judgments, frozenset(hidden), summaries)

    def steps(self, snapshot: Snapshot) -> Generator[None, None, None]:
        """Determine status and problem of groups whose problem may have changed since the previous snapshot.

        The generator yields often so that other tasks can run. It ends early if `steps` is called for a newer snapshot.
        """
        self._newest = snapshot
        faults = {node: broker.fault for node, broker in snapshot.brokers.items() if broker.fault is not None}
        # kgtui observes the groups in `snapshot.health` closely, because they are selected, visible, or possibly have a
        # problem. Judge these groups (determine status and problem) even if they have not changed, because the result
        # also depends on the current time.
        observed = frozenset(snapshot.health)
        changed = None if snapshot.changes is None else snapshot.changes.changed_since(self._mark)
        if changed is None:
            changed = {*self._judgments, *snapshot.candidates()}
        else:
            changed |= observed | self._observed
            nodes = {node for node in faults.keys() | self._faults.keys() if faults.get(node) != self._faults.get(node)}
            changed.update(*(ids for row, ids in snapshot.by_listing.items() if row.coordinator in nodes))
        found: dict[str, Judgment | None] = {}
        for number, group in enumerate(changed, 1):
            judgment = snapshot.judgment(group)
            found[group] = None if judgment.kind is None else judgment
            if number % STORED_PER_SLICE == 0:
                self._store(found)
                found.clear()
            if number % JUDGED_PER_SLICE == 0:
                yield
                if self._newest is not snapshot:
                    return
        self._store(found)
        self._mark, self._faults, self._observed = snapshot.changes, faults, observed

    def _store(self, found: Mapping[str, Judgment | None]) -> None:
        """Store new judgments (group id → judgment). The judgment is None if the group has no problem."""
        added: dict[Problem, list[str]] = defaultdict(list)
        removed: dict[Problem, list[str]] = defaultdict(list)
        for group, judgment in found.items():
            before = self._judgments.get(group)
            old, new = None if before is None else before.kind, None if judgment is None else judgment.kind
            if judgment is not None:
                self._judgments[group] = judgment
            elif before is not None:
                del self._judgments[group]
            if old is not new:
                if old is not None:
                    removed[old].append(group)
                if new is not None:
                    added[new].append(group)
            elif before is None or judgment is None or before.status is judgment.status:
                continue
            self._version += 1
        for kind in added.keys() | removed.keys():
            self._groups[kind] = merged(self._groups.get(kind, []), added[kind], removed[kind])
            if not self._groups[kind]:
                del self._groups[kind]
