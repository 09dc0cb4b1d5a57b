"""Tests of the incident export: a private file with all data about one group, in Markdown or JSON.

The file contains no secrets, and special characters in a group id cannot break its format.
"""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.model.members import ConnectWorker
from kgtui.model.snapshot import Reading, Snapshot
from kgtui.model.summary import Summary
from kgtui.model.text import REMOVED, redact
from kgtui.output.export_file import EXPORTS, file_stem, write
from kgtui.output.incident import code, fenced, incident, markdown
from tests.pilot.panes.data import HOSTILE, connect_group, example_snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.output.export_file import ExportFormat


def incident_of(group: str, snapshot: Snapshot | None = None) -> dict[str, Any]:
    """Return the data of a group's incident export as a dict, before it is encoded as Markdown or JSON.

    By default, the data is from `example_snapshot()`.
    """
    return incident(snapshot or example_snapshot(), group, version="9.9")


def test_json_export_of_a_group_has_brokers_assignment_and_kgtui_version() -> None:
    read = json.loads(EXPORTS["json"].encode(incident_of("payments.settle")))
    assert read["tool"] == "kgtui 9.9"
    assert read["group"]["state"] == "Reconciling"
    assert len(read["group"]["members"]) == 6
    assert {one["status"] for one in read["assignment"]["unsettled"]} == {"leaving", "arriving"}
    assert read["brokers"][3]["fault"]["name"] == "NO_ANSWER"
    assert read["read_at"]["offsets"] == "2025-11-21T10:04:22.000Z"
    assert read["command"].startswith("kafka-consumer-groups.sh ")


def test_markdown_export_of_a_group_has_every_section() -> None:
    text = markdown(incident_of("payments.settle"))
    assert text.startswith("# Group `payments.settle`\n")
    for part in ("## Assignment", "## Members", "## Partitions", "## Config", "## Brokers", "kgtui 9.9"):
        assert part in text
    assert "500 lost" in text


def test_markdown_export_mentions_data_that_was_not_read() -> None:
    text = markdown(incident_of("payments.settle", replace(example_snapshot(), configs={})))
    assert "- configs: not read" in text
    assert "- offsets read: 20" in text


def test_export_of_a_group_contains_no_sensitive_configs_and_no_secrets() -> None:
    worker = replace(connect_group().members[0], connect=ConnectWorker("http://me:hunter2@w:8083"))  # type: ignore[index]
    snapshot = example_snapshot()
    described = replace(connect_group(), members=(worker,))
    snapshot = replace(snapshot, details=dict(snapshot.details) | {"connect-prod": Reading(described, 1.0)})
    forms: tuple[ExportFormat, ...] = ("markdown", "json")
    for form in forms:
        text = EXPORTS[form].encode(incident_of("connect-prod", snapshot)).decode()
        assert "hunter2" not in text
    assert REMOVED in json.dumps(incident_of("connect-prod", snapshot))
    secrets = [row for row in incident_of("payments.settle")["group"]["configs"] if row["sensitive"]]
    assert [row["value"] for row in secrets] == [None]


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("http://u:p@h/x", f"http://{REMOVED}@h/x"),
        ("password=hunter2 rest", f"password={REMOVED} rest"),
        ('sasl.jaas.config="a b;"; x', f"sasl.jaas.config={REMOVED}; x"),
        ("ssl.key.password: 'abc' ok", f"ssl.key.password: {REMOVED} ok"),
        ("tokens of groups", "tokens of groups"),
        ("http://host/path", "http://host/path"),
    ],
)
def test_redacting_a_text_replaces_secrets_and_nothing_else(text: str, clean: str) -> None:
    assert redact(text) == clean


def test_export_of_a_group_that_cannot_be_described_has_error_and_advice() -> None:
    text = markdown(incident_of("secret.group"))
    assert "`GROUP_AUTHORIZATION_FAILED`" in text
    assert "Ask for DESCRIBE" in text
    assert "not read" in text


def test_deleted_group_is_exported_with_its_last_known_data() -> None:
    snapshot = example_snapshot()
    gone = replace(snapshot, groups={})
    read = incident_of("payments.settle", gone)
    assert read["listed"] is False
    assert read["group"]["state"] == "Reconciling"
    assert "no longer listed" in markdown(read)


def test_group_that_was_never_listed_is_exported_with_its_id_only() -> None:
    read = incident_of("nowhere")
    assert read["group"] == {"group": "nowhere"}
    assert markdown(read).startswith("# Group `nowhere`")


def test_export_of_a_group_lists_other_groups_that_read_the_same_topics() -> None:
    summary = Summary(1, 5, 0, 1, ("payments.settled",), "", 1.0, 1.0)
    other = replace(summary, topics=("elsewhere",))
    snapshot = replace(example_snapshot(), summaries={"orders.enrich": summary, "legacy.export": other}, swept=2)
    near = incident_of("payments.settle", snapshot)["neighbours"]
    assert [one["group"] for one in near["groups"]] == ["orders.enrich"]
    assert "## Groups on the same topics" in markdown(incident_of("payments.settle", snapshot))


@pytest.mark.parametrize("text", ["a`b", "``", "`x`", "|", "a\nb", "<script>", "[x](y)", "\x1b[31m", " lead"])
def test_no_group_id_can_end_its_code_span_in_a_markdown_export(text: str) -> None:
    shown = code(text)
    fence = shown[: len(shown) - len(shown.lstrip("`"))]
    assert fence
    assert shown.endswith(fence)
    inner = shown[len(fence) : -len(fence)]
    assert fence not in inner
    assert "\n" not in inner
    assert "\x1b" not in inner


def test_markdown_code_fence_is_longer_than_fences_in_the_enclosed_text() -> None:
    assert fenced("````").startswith("`````\n")


def test_no_group_id_can_break_out_of_its_markdown_table_cell() -> None:
    text = markdown(incident_of(HOSTILE))
    assert "\x1b" not in text
    assert "\u202e" not in text
    table = [line for line in text.splitlines() if line.startswith("| `[/red]")]
    assert len(table) == 1


def test_pipe_character_in_an_id_is_escaped_in_markdown_tables() -> None:
    snapshot = example_snapshot()
    described = snapshot.details["orders.enrich"].value
    member = replace(described.members[0], client_id="a|b")  # type: ignore[index]
    snapshot = replace(snapshot, details={"orders.enrich": Reading(replace(described, members=(member,)), 1.0)})
    assert "`a\\|b`" in markdown(incident_of("orders.enrich", snapshot))


def test_export_file_is_readable_only_by_its_owner_and_is_never_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "exports"
    first = write(folder, incident_of("payments.settle"), "markdown")
    second = write(folder, incident_of("payments.settle"), "markdown")
    assert first.name == "kgtui-payments.settle-20251121T100423Z.md"
    assert second.name == "kgtui-payments.settle-20251121T100423Z-2.md"
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert first.read_text(encoding="utf-8").startswith("# Group")


@pytest.mark.parametrize(
    "group",
    ["../../etc/passwd", "a/b", "", ".hidden", "x" * 32_000, HOSTILE, "\udcff", "-rf"],
    ids=["up", "slash", "empty", "hidden", "long", "hostile", "surrogate", "option"],
)
def test_export_of_every_group_id_gets_a_safe_unique_file_name(group: str, tmp_path: Path) -> None:
    stem = file_stem(group)
    assert "/" not in stem
    assert stem.isascii()
    assert len(stem) < 90
    assert stem != file_stem(group + "2")
    path = write(tmp_path, incident_of(group), "json")
    assert path.parent == tmp_path
