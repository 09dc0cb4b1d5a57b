"""`Refusals` detects that brokers begin or stop refusing requests because of the user's permissions."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kgtui.model.error_numbers import FORBIDDEN

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kgtui.model.answer import Answer
    from kgtui.model.offsets import PartitionBounds, TopicPartition

K = TypeVar("K")


class Refusals:
    """The groups and partitions about which brokers refused requests because of missing permissions.

    Attributes:
        changes: number of answers that refused a request for the first time, or that contained data which had been
            refused before. If the number has grown, the permissions of the user have probably changed.
    """

    def __init__(self) -> None:
        self.changes = 0
        self._groups: set[tuple[str, str]] = set()
        self._partitions: set[TopicPartition] = set()
        self._suspects: set[str] = set()

    def note_groups(self, asked: str, answer: Answer[Mapping[str, object]]) -> None:
        """Record which groups an answer refused or contained.

        Args:
            asked: what was requested about the groups, such as `describe`. The answer is compared only with earlier
                answers to the same request, because each request needs other permissions.
        """
        refused = {(asked, fault.group) for fault in answer.faults if fault.group and fault.code in FORBIDDEN}
        answered = [key for key in self._groups if key[0] == asked and key[1] in answer.rows]
        self._note(self._groups, refused, answered)

    def note_partitions(self, bounds: Mapping[TopicPartition, PartitionBounds]) -> None:
        """Record which partitions had readable log bounds, and for which the request was refused."""
        refused = {tp for tp, row in bounds.items() if row.error in FORBIDDEN}
        answered = [tp for tp in self._partitions if (row := bounds.get(tp)) is not None and not row.error]
        self._note(self._partitions, refused, answered)

    def suspect(self, topics: Collection[str]) -> None:
        """Remember topics that a broker has left out of an answer, possibly for lack of permission."""
        self._note(self._suspects, topics, ())

    @property
    def topics(self) -> frozenset[str]:
        """Topics that a broker has refused or left out, and that have not been visible since."""
        return frozenset(self._suspects.union(topic for topic, _ in self._partitions))

    def allowed(self, topics: Collection[str]) -> None:
        """Stop remembering these topics as refused or left out, because the user may describe them."""
        self._suspects.difference_update(topics)
        self._partitions = {tp for tp in self._partitions if tp[0] not in topics}

    def _note(self, known: set[K], refused: Collection[K], answered: Collection[K]) -> None:
        if answered or not known.issuperset(refused):
            self.changes += 1
            known.difference_update(answered)
            known.update(refused)
