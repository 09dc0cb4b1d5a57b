"""Test that the findings of `kgtui pipeline demo` are exactly the incidents (problems of groups) that it simulates."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kgtui.commands.pipeline import update_gold
from kgtui.commands.pipeline_demo import DemoHistory, record_history
from kgtui.insights.apply_rules import read_insights
from kgtui.insights.finding import Kind
from kgtui.insights.report import build_report, render_page
from kgtui.simulator.demo_history import HistoryPlan
from tests.spark.demo_incidents import HOUR, incidents
from tests.spark.record_samples import ignore

if TYPE_CHECKING:
    from kgtui.insights.finding import Finding
    from kgtui.pipeline.spark_lake import SparkLake
    from tests.spark.demo_incidents import Incident

END = 20_404 * 86_400.0 + 15 * HOUR
"""End of the simulated history: 12 November 2025, 15:00 UTC, in seconds since the epoch."""

DAYS = 3.25
POLL = 300.0
"""Time between two polls, in seconds."""

TOLERANCE = 2 * POLL
"""Maximum deviation of a finding's start or end from the start or end of the simulated incident, in seconds."""


@pytest.mark.full
@pytest.mark.timeout(1_800)
def test_the_pipeline_demo_reports_exactly_the_simulated_incidents(lake: SparkLake) -> None:
    path = lake.folder.local_path
    history = DemoHistory(days=DAYS, interval=POLL, until=END)
    asyncio.run(record_history(str(path), history, ignore))
    update_gold(lake)
    found = read_insights(path, since=history.start)
    assert found.missing == ()
    assert found.as_of == END
    check_findings([*found.findings, *found.past], HistoryPlan(history.start, DAYS * 86_400))
    past = {finding.subject: finding for finding in found.past}
    assert past["orders.archive"].ended == "the group committed again"
    assert past["emails.send"].ended == "the group's members stopped joining and leaving"
    page = render_page(build_report(path, END), "1").decode()
    assert "Past problems" in page
    assert "It ended: the group committed again." in page


def check_findings(findings: list[Finding], plan: HistoryPlan) -> None:
    """Assert that there is exactly one finding per incident, with the same group and kind, and about the same times."""
    expected, healthy = incidents(plan)
    assert len(healthy) >= 20
    assert healthy.isdisjoint(group for finding in findings for group in finding.groups)
    by_subject = {(f.kind, group, f.until is None): f for f in findings for group in f.groups}
    assert {(one.kind, one.group, one.end is None) for one in expected} == by_subject.keys()
    assert [
        text for one in expected for text in differences(one, by_subject[one.kind, one.group, one.end is None])
    ] == []


def differences(incident: Incident, finding: Finding) -> list[str]:
    """Return a message for each time of the finding (start, end, forecast) that deviates too much from the incident."""
    name = f"{incident.group} {incident.kind.value}"
    texts = []
    if incident.begin is None:
        texts += [] if finding.since_at_least else [f"{name}: the finding does not say that it began earlier"]
    elif finding.since is None or abs(finding.since - incident.begin) > TOLERANCE:
        texts.append(f"{name} since {finding.since}, but it began at {incident.begin}")
    if incident.end is not None and (finding.until is None or abs(finding.until - incident.end) > TOLERANCE):
        texts.append(f"{name} until {finding.until}, but it ended at {incident.end}")
    if incident.seconds is not None:
        column = "drain_seconds" if incident.kind is Kind.DRAIN else "loss_seconds"
        remaining = remaining_seconds(finding, column)
        if remaining is None or abs(remaining - incident.seconds) > 0.1 * incident.seconds + TOLERANCE:
            texts.append(f"{name}: {column} is {remaining}, but it should be {incident.seconds}")
    return texts


def remaining_seconds(finding: Finding, column: str) -> float | None:
    """Return the finding's forecast: the seconds until the group has caught up, or until it loses records.

    Return 0 if records are already lost, and None if there is no forecast.

    Args:
        column: `drain_seconds` (until the group has caught up) or `loss_seconds` (until it loses records).
    """
    row = dict(zip(finding.evidence.columns, finding.evidence.rows[0], strict=True))
    if row.get("lost"):
        return 0.0
    if column == "loss_seconds":
        at = row["loss_at"]
        return None if at is None else at.timestamp() - END  # type: ignore[union-attr]
    value = row[column]
    return value if isinstance(value, float) else None
