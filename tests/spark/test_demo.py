"""The demo's days through the whole pipeline: every incident is found, with the group and the kind that it is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kgtui.commands.pipeline import update_gold
from kgtui.commands.pipeline_demo import DemoHistory, record_history
from kgtui.insights.finding import Kind
from kgtui.insights.reader import read_insights
from kgtui.insights.report import report_of

if TYPE_CHECKING:
    from kgtui.pipeline.spark_lake import SparkLake

END = 20_404 * 86_400.0 + 15 * 3_600
"""Three in the afternoon of a day in November 2025, UTC."""


@pytest.mark.full
@pytest.mark.timeout(900)
def test_every_incident_of_the_demo_is_found(lake: SparkLake) -> None:
    path = lake.folder.path
    asyncio.run(record_history(str(path), DemoHistory(days=3.25, interval=900.0, until=END), lambda _: None))
    update_gold(lake)
    found = read_insights(path)
    assert found.missing == ()
    assert found.as_of == END
    told = {(finding.kind, finding.subject) for finding in found.findings}
    assert told >= {
        (Kind.UNHEALTHY, "payments.settle"),
        (Kind.UNHEALTHY, "customers.sync"),
        (Kind.AT_RISK, "search.index"),
        (Kind.AT_RISK, "fraud.score"),
        (Kind.DRAIN, "dwh.backfill"),
        (Kind.FLAPPING, "orders.enrich"),
        (Kind.UNUSUAL, "web.welcome"),
        (Kind.UNUSED, "perf-test.*"),
        (Kind.UNUSED, "team-099.*"),
        (Kind.UNUSED, "tmp-debug-anna"),
    }
    healthy = {"payments.ledger", "team-001.cache", "team-003.ingest", "jobs.run", "rewards.points"}
    assert healthy.isdisjoint(group for finding in found.findings for group in finding.groups)
    past = {episode.group: episode for episode in report_of(path, END).episodes}
    assert not past["orders.archive"].going_on, "it stood still for hours and has caught up since"
    # Of its four hours those are told before which a full window had passed: 2¼ hours, with a poll every 15 minutes.
    assert 1 < (past["orders.archive"].until - past["orders.archive"].since) / 3_600 < 2
