"""Tests of `safety_of`, which says whether deleting a group is safe: yes, no or uncertain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgtui.actions.plan import RECENT, Allowed, DeletionLoss, Refused, SafeToDelete, Undo, safety_of
from kgtui.model.group import GroupDescription
from kgtui.model.offsets import LagTotal

NOW = 10_000.0
LOSS = DeletionLoss(1, 2, 100, LagTotal(0, 0, 2), None, Undo.RESTORABLE)


def allowed(**changes: object) -> Allowed:
    """Return a plan entry that allows the deletion of a group.

    By default, the group has no unread records. `changes` replaces fields of the predicted data loss (`LOSS`).
    """
    return Allowed(GroupDescription("g", "consumer", "consumer", "Empty", 1), replace(LOSS, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "answer", "reason"),
    [
        (allowed(), SafeToDelete.YES, "the group has read all records, and the backup can restore its offsets"),
        (allowed(partitions=0), SafeToDelete.YES, "the group has no offsets"),
        (allowed(unread=LagTotal(5, 0, 2)), SafeToDelete.NO, "the group has not read 5 records"),
        (allowed(unread=LagTotal(1, 1, 2)), SafeToDelete.NO, "the group has not read at least 1 record,"),
        (allowed(unread=LagTotal(0, 1, 2)), SafeToDelete.UNCERTAIN, "it is not known whether"),
        (allowed(unread=LagTotal(None, 2, 2)), SafeToDelete.UNCERTAIN, "it is not known whether"),
        (allowed(hidden=True, partitions=0), SafeToDelete.UNCERTAIN, "in topics that you are not allowed to describe"),
        (allowed(undo=Undo.IRREVERSIBLE), SafeToDelete.NO, "no backup can restore the offsets of deleted topics"),
        (allowed(last_commit=NOW - 12), SafeToDelete.NO, "offsets were committed 12 s ago"),
        (allowed(last_commit=NOW - RECENT), SafeToDelete.YES, "the group has read all records"),
        (Refused("g", "Stable with 2 members: stop them first"), SafeToDelete.NO, "Stable with 2 members"),
    ],
)
def test_safety_of_a_deletion_depends_on_unread_records_and_recent_commits(
    line: Allowed | Refused, answer: SafeToDelete, reason: str
) -> None:
    safety = safety_of(line, now=NOW)
    assert safety.answer is answer
    assert reason in safety.reason


def test_safety_of_a_deletion_is_uncertain_just_after_members_left() -> None:
    safety = safety_of(allowed(), now=NOW, empty_since=NOW - 40)
    assert safety.text == "uncertain: all members left 40 s ago, so the application may just be restarting"
    assert safety_of(allowed(), now=NOW, empty_since=NOW - RECENT).answer is SafeToDelete.YES
