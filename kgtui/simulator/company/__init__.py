"""The demo company: its topics, and groups of every type and kind as they are found in a real one.

One module for each sort of group; each is a list of what there is, and how it behaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.simulator.company import classic, connect, consumer, hostile, idle, share, streams, teams
from kgtui.simulator.company.topics import Topics

if TYPE_CHECKING:
    from kgtui.simulator.world import World

GROUP_CONFIGS = {
    "payments.ledger": {"consumer.session.timeout.ms": "60000", "consumer.heartbeat.interval.ms": "10000"},
    "emails.workers": {"share.delivery.count.limit": "3", "share.record.lock.duration.ms": "60000"},
    "clicks.sessionize": {"streams.num.standby.replicas": "1"},
}


def fill(world: World, *, groups: bool = True, wild: bool = False) -> None:
    """Put the company into a world; without groups, its topics only; `wild` adds what makes Kafka's own tools fail."""
    topics = Topics(world.seed)
    made = [
        group
        for room in (classic, connect, consumer, streams, share, idle, teams, hostile)
        for group in room.groups(topics)
    ]
    world.add_topics(topics.living())
    if groups:
        world.add_groups(made)
        if wild:
            world.add_groups([*hostile.garbled(topics), *hostile.forgotten(topics)])
        world.configs.update({name: dict(own) for name, own in GROUP_CONFIGS.items() if name in world.groups})
