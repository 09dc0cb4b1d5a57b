"""Names of generated groups and topics, as a company with many teams would give them."""

from __future__ import annotations

from itertools import count, islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DOMAINS = (
    "payments", "orders", "inventory", "catalog", "pricing", "shipping", "returns", "fraud", "risk", "ledger",
    "customers", "identity", "sessions", "search", "recommend", "ads", "emails", "push", "audit", "billing",
    "invoices", "loyalty", "iot", "telemetry", "maps",
)  # fmt: skip
VERBS = (
    "settle", "enrich", "index", "aggregate", "sync", "archive", "notify", "score", "dedupe", "export",
    "import", "reconcile", "project", "replicate", "validate", "route", "cache", "join", "alert", "expire",
)  # fmt: skip
TEAMS = 200


def group_names() -> Iterator[str]:
    """Endless different names: `team-007.orders.enrich`, with a version once all are taken."""
    for version in count(1):
        suffix = "" if version == 1 else f"-v{version}"
        for verb in range(len(VERBS)):
            for domain in range(len(DOMAINS)):
                for team in range(TEAMS):
                    # Neighbours differ in all three, so that a small cluster has a bit of everything.
                    what, how = DOMAINS[(domain + team) % len(DOMAINS)], VERBS[(verb + team // 3) % len(VERBS)]
                    yield f"team-{team:03d}.{what}.{how}{suffix}"


def topic_names(number: int) -> list[str]:
    """The first `number` names of topics: `orders.enrich.events`."""
    names = (f"{what}.{how}.{kind}" for kind in _kinds() for how in VERBS for what in DOMAINS)
    return list(islice(names, number))


def _kinds() -> Iterator[str]:
    yield from ("events", "commands", "state")
    yield from (f"events-{number}" for number in count(2))
