"""What goes wrong in the days of a demo history: each group is an incident that somebody should find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.simulator.days.lives import Paced, Roster, restless
from kgtui.simulator.days.plan import HOUR
from kgtui.simulator.groups.base import Client, Reads
from kgtui.simulator.groups.classic import ClassicGroup
from kgtui.simulator.groups.consumer import ConsumerGroup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kgtui.simulator.days.plan import Plan
    from kgtui.simulator.groups.base import Group
    from kgtui.simulator.topics import Topic

LEFT = (
    "perf-test.small", "perf-test.large", "perf-test.soak", "console-consumer-11877", "console-consumer-20514",
    "tmp-debug-anna",
)  # fmt: skip
"""Groups that everybody left long before the first day."""


def groups(plan: Plan, topics: Mapping[str, Topic]) -> Iterator[Group]:
    """All of them."""
    yield from _stopped(plan, topics)
    yield from _behind(plan, topics)
    yield from _restless(plan, topics)
    yield from _unused(plan, topics)


def _stopped(plan: Plan, topics: Mapping[str, Topic]) -> Iterator[Group]:
    """One stands still now, though its members are there; one did for hours and has caught up since; one went away."""
    stuck = plan.before_end(4, "settle")
    yield ConsumerGroup(
        "payments.settle",
        Roster((0, 1, 2)),
        [Reads(topics["payments.authorised"], Paced(((stuck, 0.0),)))],
        client=Client("settle"),
        epoch=41,
        seed=plan.seed,
    )
    stood = plan.share(0.4, "archive")
    yield ClassicGroup(
        "orders.archive",
        Roster((0, 1)),
        [Reads(topics["orders.shipped"], Paced(((stood, 0.0), (stood + 4 * HOUR, 3.0))))],
        client=Client("archiver"),
        seed=plan.seed,
    )
    gone = plan.before_end(9, "sync")
    yield ConsumerGroup(
        "customers.sync",
        Roster((0, 1), ((gone, ()),)),
        [Reads(topics["customers.changed"], Paced())],
        client=Client("crm-sync"),
        seed=plan.seed,
    )


def _behind(plan: Plan, topics: Mapping[str, Topic]) -> Iterator[Group]:
    """One loses data already, one will within hours, one works off a backlog, one has more to do than ever."""
    lost = plan.before_end(16, "index")
    yield ConsumerGroup(
        "search.index",
        Roster((0, 1)),
        [Reads(topics["search.documents"], Paced(((lost, 0.25),)))],
        client=Client("indexer"),
        seed=plan.seed,
    )
    # Records are kept for 14 hours: so far behind after 15 hours at a quarter of the speed, it has about two left.
    slow = plan.before_end(15, "score")
    yield ClassicGroup(
        "fraud.score",
        Roster((0, 1)),
        [Reads(topics["fraud.scores"], Paced(((slow, 0.2),)))],
        client=Client("fraud-model"),
        seed=plan.seed,
    )
    stood = plan.before_end(11, "backfill")
    yield ConsumerGroup(
        "dwh.backfill",
        Roster((0, 1, 2)),
        [Reads(topics["dwh.loads"], Paced(((stood, 0.0), (stood + 7 * HOUR, 2.0))))],
        client=Client("backfill"),
        seed=plan.seed,
    )
    surge = plan.before_end(2.5, "surge")
    yield ConsumerGroup(
        "web.welcome",
        Roster((0, 1)),
        [Reads(topics["web.signups"], Paced(((surge, 0.9),)))],
        client=Client("welcome"),
        seed=plan.seed,
    )


def _restless(plan: Plan, topics: Mapping[str, Topic]) -> Iterator[Group]:
    """One rebalances every few minutes since some hours; one did for a while on an earlier day."""
    begin = plan.before_end(6, "enrich")
    yield ConsumerGroup(
        "orders.enrich",
        restless(begin, plan.seconds, 190.0, ((0, 1, 2), (0, 1), (0, 1, 2, 3))),
        [Reads(topics["orders.placed"], Paced(((begin, 0.97),), delay=20.0))],
        client=Client("enricher"),
        epoch=2_190,
        seed=plan.seed,
    )
    began = plan.share(0.3, "send")
    yield ClassicGroup(
        "emails.send",
        restless(began, began + 2 * HOUR, 240.0, ((0, 1), (0, 1, 2))),
        [Reads(topics["emails.outbox"], Paced())],
        client=Client("mailer"),
        seed=plan.seed,
    )


def _unused(plan: Plan, topics: Mapping[str, Topic]) -> Iterator[Group]:
    """Some that everybody left before the first day, and a family whose team was given up on the first."""
    for name in LEFT:
        yield ClassicGroup(
            name, Roster(()), [Reads(topics["orders.placed"], Paced(((-5 * HOUR, 0.0),)))], epoch=12, seed=plan.seed
        )
    gone = plan.share(0.1, "team-099")
    for job in ("ingest", "report", "cache"):
        yield ClassicGroup(
            f"team-099.{job}",
            Roster((0,), ((gone, ()),)),
            [Reads(topics["inventory.levels"], Paced())],
            client=Client(f"{job}-099"),
            seed=plan.seed,
        )
