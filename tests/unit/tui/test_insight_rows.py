"""Tests of functions that turn findings into rows, descriptions and warnings on the Insights screen."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from kgtui.insights.finding import Evidence, Finding, Insights, Kind, Severity
from kgtui.lake.gold import NEVER_WRITTEN, TableAge
from kgtui.model.timeline import LagHistory
from kgtui.tui import text
from kgtui.tui.insights.evidence import evidence_columns, evidence_rows, evidence_title
from kgtui.tui.insights.findings import (
    FINDING_COLUMNS,
    FindingRow,
    describe_finding,
    finding_rows,
    findings_summary,
    no_findings_lines,
    table_warnings,
)
from kgtui.tui.panes.cells import safe_text
from kgtui.tui.plots.stacked_plots import plot_lines
from kgtui.tui.recording import LakeChoice
from tests.pilot.app_driver import HOSTILE

if TYPE_CHECKING:
    from kgtui.tui.panes.cells import PaneLine

NOW = 1_795_000_000.0
HOUR = 3_600.0

EVIDENCE = Evidence(
    "gold/forecast",
    ("hour", "lag", "trend", "drain_seconds", "topic", "partition", "flapping"),
    ((datetime.fromtimestamp(NOW, UTC), 1_000, -0.25, 5_400.0, "[/t]", None, True),),
    3,
)
FINDING = Finding(
    Kind.DRAIN, Severity.NOTE, "dwh.backfill", ("dwh.backfill",),
    "the group catches up on 1,000 unread records in about 2 h",
    NOW - 2 * HOUR, "do nothing if the group will catch up soon enough", EVIDENCE, ("kgtui", "show", "dwh.backfill"),
)  # fmt: skip
FAMILY = replace(FINDING, kind=Kind.UNUSED, subject="perf.*", groups=("perf.a", "perf.b"), family=True)
ALL = ("lag", "health", "churn", "cleanup", "forecast", "baseline")


@pytest.fixture(autouse=True)
def in_utc() -> None:
    """Set a fixed current time and UTC, so that the texts are the same on every machine."""
    text.use_display_settings(text.DisplaySettings(utc=True, now=lambda: NOW))


def words(lines: list[PaneLine]) -> list[str]:
    return ["".join(safe_text(cell.text) for cell in line) for line in lines]


def ages(**changes: TableAge) -> tuple[TableAge, ...]:
    return tuple(changes.get(name, TableAge(f"gold/{name}", NOW - 60, NOW - 30)) for name in ALL)


def test_finding_row_shows_severity_kind_duration_and_description() -> None:
    cells = {column.id: safe_text(column.cell(FindingRow(0, FINDING, NOW)).text) for column in FINDING_COLUMNS}
    assert cells["severity"] == "NOTE"
    assert cells["kind"] == "drain time"
    assert cells["since"] == "2 h"
    assert cells["what"].startswith("the group catches up")
    least = {
        column.id: safe_text(column.cell(FindingRow(0, replace(FINDING, since_at_least=True), NOW)).text)
        for column in FINDING_COLUMNS
    }
    assert least["since"] == "≥ 2 h"


@pytest.mark.parametrize("subject", HOSTILE)
def test_finding_description_fits_the_width_and_escapes_control_characters(subject: str) -> None:
    finding = replace(FINDING, subject=subject, what=f"{subject} waits", command=("kgtui", "show", subject))
    for width in (60, 78, 118):
        lines = words(describe_finding(FindingRow(0, finding, NOW), width))
        assert len(lines) <= 6
        assert all(cell_len(line) <= width for line in lines)
        assert not {"\x1b", "\u202e", "\u200b", "\n"} & set("".join(lines))


def test_evidence_shows_duration_units_and_a_dash_for_unknown_values() -> None:
    (fact,) = evidence_rows(EVIDENCE)
    cells = {column.title: safe_text(column.cell(fact).text) for column in evidence_columns(EVIDENCE)}
    assert cells == {
        "HOUR": text.date(NOW)[:16], "LAG": "1,000", "TREND": "-0.25", "DRAIN": "1 h 30 min", "TOPIC": "[/t]",
        "PARTITION": "–", "FLAPPING": "yes",
    }  # fmt: skip
    assert evidence_title(EVIDENCE) == "evidence: 1 row of gold/forecast, and 3 more that are not shown"


def test_finding_is_marked_if_the_user_marked_all_its_groups() -> None:
    """A finding is marked if it is about unused groups, and all of them that still exist are marked in the tree."""
    found = Insights((FINDING, FAMILY), as_of=NOW)
    existing = {"dwh.backfill", "perf.a"}
    assert [row.marked for row in finding_rows(found, existing, {"dwh.backfill", "perf.a"})] == [False, True]
    assert [row.marked for row in finding_rows(found, {"perf.a", "perf.b"}, {"perf.a"})] == [False, False]
    assert [row.number for row in finding_rows(found, existing, (), Kind.UNUSED)] == [1]


def test_insights_summary_shows_severities_and_age_of_the_data() -> None:
    summary = words(findings_summary(Insights((FINDING, FAMILY), ages(), NOW - 60), NOW))
    assert summary == ["2 note", f"as of {text.date(NOW - 60)[:16]}, 1 min ago", "computed 30 s ago"]
    assert words(findings_summary(Insights((), ages(), None), NOW))[:2] == ["no findings", "the tables are empty"]


def test_a_warning_is_shown_for_each_missing_unreadable_or_outdated_gold_table() -> None:
    """Each warning is followed by the command that updates the tables. Up-to-date tables cause no warning."""
    path = Path("/lake with blanks")
    assert table_warnings(Insights((), ages(), NOW - 60), path, NOW) == []
    (old,) = words(table_warnings(Insights((), ages(), NOW - 2 * HOUR), path, NOW))
    assert old == "kgtui pipeline run '--lake=/lake with blanks' updates the tables"
    broken = ages(
        churn=TableAge("gold/churn", error=NEVER_WRITTEN),
        forecast=TableAge("gold/forecast", error="[/torn]"),
        cleanup=TableAge("gold/cleanup", NOW - 80 * HOUR, NOW),
    )
    never, torn, behind, command = words(table_warnings(Insights((), broken, NOW - 60), path, NOW))
    assert never == "! missing tables: gold/churn; no findings about: flapping"
    assert torn == "! gold/forecast cannot be read: [/torn]"
    assert behind == "! outdated tables: gold/cleanup"
    assert command.endswith("creates the tables")


def test_screen_without_findings_says_which_commands_to_run() -> None:
    """The commands are `kgtui record` and `kgtui pipeline`.

    If the lake (the folder of the recording) cannot be read, the screen shows the error instead of `kgtui record`.
    """
    path = Path("/state/lakes/prod")
    which, seeds = LakeChoice(path, "", chosen=False), ("a:1", "b:2")
    nothing = " ".join(words(no_findings_lines(which, "", recorded=False, seeds=seeds, width=98)))
    assert "kgtui record /state/lakes/prod --bootstrap-server a:1,b:2" in nothing
    assert "kgtui pipeline run --lake=/state/lakes/prod" in nothing
    trouble = "/x is a file, but a lake is a folder"
    unread = " ".join(words(no_findings_lines(LakeChoice(path, ""), trouble, recorded=False, seeds=seeds, width=78)))
    assert "a lake is a folder" in unread
    assert "kgtui record" not in unread


def test_plot_of_a_finding_shows_lag_and_rates_but_no_group_states() -> None:
    """The plot has a gap where nothing was recorded.

    If the plot covers several days, its time axis shows dates.
    """
    minutes = (0.0, 60.0, 600.0, 660.0)
    history = LagHistory(minutes, (5, 5, None, 7), (None, 1.0, None, 2.0), (None,) * 4, (None,) * 4, (1, 1, 2, 2),
                    frozenset({600.0}))  # fmt: skip
    timeline = history.timeline(0.0, 660.0)
    assert timeline.gaps == ((60.0, 600.0, "nothing recorded"),)
    assert timeline.value_at(timeline.lag, 600.0) is None
    assert timeline.value_at(timeline.lag) == 7
    lines = words(plot_lines(timeline, 80, 8, with_curves=False, since=330.0, states=False))
    labels = [line[:12].split()[0] for line in lines if line[:12].strip()]
    assert labels[0] == "lag"
    assert {"in", "out", "members"} <= set(labels)
    assert not {"state", "epoch", "changes"} & set(labels)
    assert "^" in lines[-1]
    assert len(lines) == 8
    days = words(plot_lines(history.timeline(NOW, NOW + 3 * 86_400), 80, 8, with_curves=False, states=False))
    assert text.date(NOW)[5:16] in days[-1]
