"""`Refusals` notices when brokers begin or stop to refuse requests because of the permissions of the user."""

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
        changes: number of answers that refused something for the first time, or that contained data which had been
            refused before. If the number has grown, the permissions of the user have probably changed.
    """

    def __init__(self) -> None:
        self.changes = 0
        self._groups: set[tuple[str, str]] = set()
        self._partitions: set[TopicPartition] = set()
        self._suspects: set[str] = set()

    def note_groups(self, asked: str, answer: Answer[Mapping[str, object]]) -> None:
        """Note an answer about groups.

        Args:
            asked: what was requested about the groups, such as `describe`. The answer is compared only with earlier
                answers to the same request, because each request needs other permissions.
        """
        refused = {(asked, fault.group) for fault in answer.faults if fault.group and fault.code in FORBIDDEN}
        answered = [key for key in self._groups if key[0] == asked and key[1] in answer.rows]
        self._note(self._groups, refused, answered)

    def note_partitions(self, bounds: Mapping[TopicPartition, PartitionBounds]) -> None:
        """Note the log bounds of partitions, as they were read or refused."""
        refused = {tp for tp, row in bounds.items() if row.error in FORBIDDEN}
        answered = [tp for tp in self._partitions if (row := bounds.get(tp)) is not None and not row.error]
        self._note(self._partitions, refused, answered)

    def suspect(self, topics: Collection[str]) -> None:
        """Note topics that a broker has left out of an answer, perhaps because the user may no longer describe them."""
        self._note(self._suspects, topics, ())

    @property
    def topics(self) -> frozenset[str]:
        """Topics that a broker has refused or left out, and that have not been visible since."""
        return frozenset(self._suspects.union(topic for topic, _ in self._partitions))

    def allowed(self, topics: Collection[str]) -> None:
        """Note topics that the user may describe, although a broker has refused them or left them out earlier."""
        self._suspects.difference_update(topics)
        self._partitions = {tp for tp in self._partitions if tp[0] not in topics}

    def _note(self, known: set[K], refused: Collection[K], answered: Collection[K]) -> None:
        if answered or not known.issuperset(refused):
            self.changes += 1
            known.difference_update(answered)
            known.update(refused)
