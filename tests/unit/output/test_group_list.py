"""Tests of the output of `kgtui ls`. JSON and CSV contain exact group ids. Unknown values are never shown as 0."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kgtui.model.answer import Coverage, Fault
from kgtui.model.fields.group_fields import LISTED
from kgtui.model.marks import TO_ASCII
from kgtui.model.rfc3339 import rfc3339
from kgtui.output import group_list, marks
from tests.unit.model.query_snapshots import CONSUMER, mixed_snapshot, snapshot, summary

if TYPE_CHECKING:
    from kgtui.model.snapshot import Snapshot

HOSTILE = ("[/red]", "a,b", 'q"q', "two\nlines", "\x1b[31m", "x\u202ey", "🦄", "=cmd()", "raw\udcff", " ", "y" * 32_000)


def group_list_of(snap: Snapshot, *, members: bool = True, lag: bool = True, **more: Any) -> group_list.GroupList:
    """Return a list with all groups of a snapshot. `more` sets other attributes of the list, such as `faults`."""
    ids = sorted(snap.groups)
    coverage = Coverage((2, 2), (len(ids), len(ids)))
    return group_list.GroupList(snap, ids, coverage, members=members, lag=lag, **more)


def rows(snap: Snapshot, **more: Any) -> dict[str, dict[str, Any]]:
    found = json.loads(group_list.as_json(group_list_of(snap, **more)))
    return {row["group"]: row for row in found["groups"]}


def test_json_of_kgtui_ls_has_the_documented_fields() -> None:
    fault = Fault("GROUP_AUTHORIZATION_FAILED", "not yours", 30, 1, "Orders-Share", "ask")
    found = json.loads(group_list.as_json(group_list_of(mixed_snapshot(), faults=(fault,))))
    assert list(found) == ["version", "cluster", "taken_at", "coverage", "groups", "faults"]
    assert found["version"] == 1
    assert found["cluster"]["id"] == "test"
    assert found["coverage"] == {"brokers": [2, 2], "groups": [6, 6]}
    assert found["faults"] == [
        {"broker": 1, "group": "Orders-Share", "code": 30, "name": "GROUP_AUTHORIZATION_FAILED", "message": "not yours"}
    ]
    assert found["groups"][-1] == {
        "group": "payments.settle",
        "type": "consumer",
        "protocol": "consumer",
        "state": "Stable",
        "kind": "consumer",
        "coordinator": 1,
        "members": 3,
        "lag": 18_200,
        "lag_unknown": 0,
        "read_at": "1970-01-12T13:46:35.000Z",
        "offsets_may_be_hidden": None,
        "verdict": "UNKNOWN",
        "problem": None,
        "problem_since": None,
        "verdict_basis": "read once",
        "first_seen": None,
        "state_since": None,
        "last_progress": None,
    }


def test_unknown_values_in_the_json_of_kgtui_ls_are_null_and_never_zero() -> None:
    found = rows(mixed_snapshot())
    unread = found["old.group"]
    assert [unread[name] for name in ("type", "state", "members", "lag", "lag_unknown", "read_at")] == [None] * 6
    assert found["payments.refund"]["lag"] == 0
    assert (found["backfill tool"]["lag"], found["backfill tool"]["lag_unknown"]) == (700, 2)
    assert {row["lag_unknown"] for row in rows(mixed_snapshot(), lag=False).values()} == {None}


def test_times_in_the_json_of_kgtui_ls_are_in_rfc_3339_and_utc() -> None:
    assert rfc3339(0) == "1970-01-01T00:00:00.000Z"
    assert datetime.fromisoformat(rfc3339(1_700_000_000.25)).timestamp() == 1_700_000_000.25


def test_json_and_csv_of_kgtui_ls_contain_unusual_group_ids_unchanged() -> None:
    snap = snapshot(dict.fromkeys(HOSTILE, CONSUMER))
    assert set(rows(snap)) == set(HOSTILE)
    text = group_list.as_csv(group_list_of(snap)).decode("utf-8", "surrogateescape")
    assert [row["group"] for row in csv.DictReader(io.StringIO(text, newline=""))] == sorted(HOSTILE)


def test_json_of_kgtui_ls_escapes_control_characters_and_invisible_characters() -> None:
    ids = [
        *HOSTILE,
        "\x7fdel",
        "\x9b2Jc1",
        "\u202ebidi\u2066",
        "zero\u200bwidth",
        "\U000e0001tag",
        "caf\udce9",
        "\ufeffbom",
    ]
    encoded = group_list.as_json(group_list_of(snapshot(dict.fromkeys(ids, CONSUMER))))
    assert {row["group"] for row in json.loads(encoded)["groups"]} == set(ids)
    unsafe = {char for char in encoded.decode() if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}
    assert unsafe == {"\n"}


def test_tables_of_kgtui_ls_escape_control_characters_in_group_ids() -> None:
    text = group_list.as_table(group_list_of(snapshot(dict.fromkeys(HOSTILE, CONSUMER))))
    assert len(text.splitlines()) == len(HOSTILE) + 1
    assert all(line.isprintable() for line in text.splitlines())


def test_csv_of_kgtui_ls_has_empty_cells_for_unknown_values() -> None:
    text = group_list.as_csv(group_list_of(mixed_snapshot())).decode()
    found = {row["group"]: row for row in csv.DictReader(io.StringIO(text))}
    assert (found["old.group"]["lag"], found["payments.refund"]["lag"]) == ("", "0")
    assert list(found["old.group"]) == [field.name for field in LISTED]


def test_table_of_kgtui_ls_has_no_columns_for_members_and_lag_unless_requested() -> None:
    text = group_list.as_table(group_list_of(mixed_snapshot(), members=False, lag=False))
    assert text.splitlines()[0].split() == ["GROUP", "TYPE", "PROTOCOL", "STATE", "COORDINATOR"]
    assert text.splitlines()[-1].split() == ["payments.settle", "consumer", "consumer", "Stable", "1"]
    assert text.splitlines()[3].split() == ["connect-cluster", "classic", "connect", "Stable", "1"]


def test_table_of_kgtui_ls_has_different_symbols_for_missing_and_forbidden_values() -> None:
    silent = Fault("NO_ANSWER", "late", group="late")
    forbidden = Fault("GROUP_AUTHORIZATION_FAILED", "no", 30, group="mine")
    snap = snapshot(
        dict.fromkeys(("late", "mine", "nothing", "part", "zero"), CONSUMER),
        {
            "late": summary(None, None, fault=silent),
            "mine": summary(None, None, fault=forbidden),
            "nothing": summary(0, None),
            "part": summary(1, 7, 2),
            "zero": summary(1, 0),
        },
        faults={"late": silent, "mine": forbidden},
    )
    text = group_list.as_table(group_list_of(snap))
    assert [line.split()[5:] for line in text.splitlines()[1:]] == [
        ["?", "unreadable", "?"], ["x", "unreadable", "x"], ["0", "ok", "–"], ["1", "?", "≥", "7"], ["1", "ok", "0"],
    ]  # fmt: skip


def test_wide_table_of_kgtui_ls_has_coordinator_address_topics_and_hosts() -> None:
    line = group_list.as_table(group_list_of(mixed_snapshot()), wide=True).splitlines()[-1]
    assert "one.kafka:9092 (1)" in line
    assert line.endswith("payments,rates  10.0.3.7")


def test_symbols_in_tables_have_ascii_replacements() -> None:
    assert marks.lag(5, 1).translate(TO_ASCII) == ">= 5"
    assert marks.NONE.translate(TO_ASCII) == "-"
