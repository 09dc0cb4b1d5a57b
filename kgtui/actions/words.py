"""What a plan says, in words: the same in the dialog and on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.actions.plan import Undo
from kgtui.model.group_types import kind_of

if TYPE_CHECKING:
    from kgtui.actions.plan import Loss
    from kgtui.model.group import GroupDescription


def kind_words(description: GroupDescription) -> str:
    """`classic (connect)`: the type, and what a user calls the group where that is another word."""
    kind = kind_of(description.type, description.protocol)
    if kind == "other":
        kind = description.protocol
    return description.type if kind == description.type else f"{description.type} ({kind})"


def loss_words(loss: Loss) -> str:
    """`3 topics, 12 partitions, positions 1,284 in sum`, or that there is nothing."""
    if not loss.partitions:
        return "no offsets"
    return (
        f"{_count(loss.topics, 'topic')}, {_count(loss.partitions, 'partition')}, positions {loss.positions:,} in sum"
    )


def undo_words(loss: Loss) -> str:
    """`partly restorable, but not: commit time and expiry`."""
    gaps = "; ".join(loss.not_restored)
    if loss.undo is Undo.IRREVERSIBLE:
        return f"irreversible: {gaps}"
    return f"partly restorable, but not: {gaps}" if gaps else "restorable"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
