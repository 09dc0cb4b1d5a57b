"""Share groups (KIP-932)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.simulator.groups.base import Client, Reads
from kgtui.simulator.groups.share import ShareGroup
from kgtui.simulator.habits import Lagging, Steady, Stuck
from kgtui.simulator.life import Settled, Shifts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.simulator.company.topics import Topics
    from kgtui.simulator.groups.base import Group


def groups(topics: Topics) -> Iterator[Group]:
    """All of them."""
    yield ShareGroup(
        "emails.workers",
        Shifts(35.0, ((0, 1, 2, 3), (0, 1, 2, 3, 4, 5)), ahead=10.0),
        [Reads(topics["emails.outbox"], Steady(4.0))],
        client=Client("mail-worker"),
        epoch=57,
    )
    yield ShareGroup(
        "jobs.run",
        Settled(12),
        [Reads(topics["jobs.pending"], Lagging(3_200, 0.92))],
        in_flight=40,
        client=Client("runner", racks=("eu-1a", "eu-1b", "eu-1c")),
        epoch=12,
    )
    # It has members, and nothing was ever fetched from some partitions.
    yield ShareGroup(
        "fraud.review",
        Settled(2),
        [Reads(topics["fraud.scores"], without=frozenset({1, 4}))],
        client=Client("review-desk"),
        epoch=2,
    )
    yield ShareGroup("iot.dispatch", Settled(3), [Reads(topics["iot.commands"])], client=Client("dispatch"))
    yield ShareGroup("jobs.retired", Settled(0), [Reads(topics["jobs.pending"], Stuck(900))], epoch=3)
    yield ShareGroup("jobs.never-started", Settled(0), epoch=1)
