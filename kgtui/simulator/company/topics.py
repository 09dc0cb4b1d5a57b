"""The topics of the demo company."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.simulator.topics import Topic

if TYPE_CHECKING:
    from collections.abc import Iterator

# name: partitions, records a second and partition, records kept
_TOPICS: dict[str, tuple[int, float, int]] = {
    "payments.authorised": (12, 18.0, 900_000),
    "payments.settled": (12, 12.0, 900_000),
    "payments.refunds": (6, 1.5, 120_000),
    "orders.placed": (12, 22.0, 1_200_000),
    "orders.enriched": (12, 21.0, 1_200_000),
    "orders.shipped": (6, 8.0, 400_000),
    "inventory.levels": (6, 5.0, 200_000),
    "inventory.reservations": (8, 6.0, 200_000),
    "customers.changed": (3, 0.8, 90_000),
    "web.clicks": (24, 60.0, 2_000_000),
    "web.sessions": (12, 9.0, 500_000),
    "fraud.scores": (6, 7.0, 60_000),
    "audit.log": (3, 2.0, 800_000),
    "emails.outbox": (3, 1.2, 50_000),
    "dwh.loads": (6, 4.0, 500_000),
    "iot.telemetry": (24, 80.0, 1_500_000),
    "iot.commands": (4, 0.6, 20_000),
    "search.documents": (6, 3.0, 300_000),
    "notifications.push": (3, 2.5, 80_000),
    "jobs.pending": (8, 3.5, 70_000),
    "catalog.changes": (4, 1.0, 100_000),
    "rewards.earned": (6, 4.0, 150_000),
    "mainframe.feed": (1, 0.4, 400_000),
}


class Topics:
    """Finds topics by name, and makes internal and deleted ones."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._living = {
            name: Topic(name, partitions, rate, base=kept + 400_000, kept=kept, seed=seed)
            for name, (partitions, rate, kept) in _TOPICS.items()
        }

    def __getitem__(self, name: str) -> Topic:
        return self._living[name]

    def internal(self, name: str, partitions: int, rate: float = 3.0) -> Topic:
        """A topic that an application made for itself."""
        return self._living.setdefault(
            name, Topic(name, partitions, rate, configs=(("cleanup.policy", "compact"),), seed=self._seed)
        )

    def deleted(self, name: str, partitions: int) -> Topic:
        """A topic that is gone; only commits remember it."""
        return Topic(name, partitions, rate=0.0, base=48_000, seed=self._seed)

    def living(self) -> Iterator[Topic]:
        """All topics that exist."""
        return iter(self._living.values())
