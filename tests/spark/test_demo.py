"""`kgtui pipeline demo`: the pipeline finds every incident in the simulated history."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kgtui.commands.pipeline import update_gold
from kgtui.commands.pipeline_demo import DemoHistory, record_history
from kgtui.insights.apply_rules import read_insights
from kgtui.insights.finding import Kind
from kgtui.insights.report import build_report
from tests.spark.record_samples import ignore

if TYPE_CHECKING:
    from kgtui.pipeline.spark_lake import SparkLake

END = 20_404 * 86_400.0 + 15 * 3_600
"""End of the simulated history: 12 November 2025, 15:00 UTC, in seconds since the epoch."""


@pytest.mark.full
@pytest.mark.timeout(900)
def test_the_pipeline_finds_every_incident_in_the_demo_history(lake: SparkLake) -> None:
    path = lake.folder.path
    asyncio.run(record_history(str(path), DemoHistory(days=3.25, interval=900.0, until=END), ignore))
    update_gold(lake)
    found = read_insights(path)
    assert found.missing == ()
    assert found.as_of == END
    assert {(finding.kind, finding.subject) for finding in found.findings} >= {
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
    episodes = {episode.group: episode for episode in build_report(path, END).episodes}
    stopped = episodes["orders.archive"]
    assert not stopped.ongoing, "the group must have caught up after it stopped for four hours"
    # The group commits nothing for four hours. Its status becomes STOP only when its last commit is older than the time
    # span of its last ten commits, which is 2¼ hours with one poll per 15 minutes. The episode is therefore shorter
    # than two hours.
    assert 1 < (stopped.until - stopped.since) / 3_600 < 2
