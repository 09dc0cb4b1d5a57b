"""Tests of `kgtui show`, which prints the members and offsets of groups and reports data that could not be read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kgtui.errors import DeadlineError
from kgtui.model.access import Access
from kgtui.model.answer import Fault
from kgtui.model.cluster import Retention, TopicRules
from kgtui.model.offsets import PartitionBounds
from kgtui.model.record_times import COMPACTED, RecordTime, TimeRange
from tests.scripted import ScriptedAdmin, member

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.commands.runs import Completed


@pytest.fixture
def admin() -> ScriptedAdmin:
    admin = ScriptedAdmin()
    admin.add("pay", "consumer", members=(member("m-1", assignment=(("t-pay", (0,)),)),), lag=15)
    admin.add("queue", "share", lag=7)
    return admin


def test_kgtui_show_prints_each_group_once_in_the_given_order(run: Callable[..., Completed]) -> None:
    ran = run("show", "queue", "pay", "queue")
    assert (ran.code, ran.err) == (0, "")
    assert [line for line in ran.out.splitlines() if line and line[0] != " "] == ["queue", "pay"]
    assert "m-1" in ran.out


def test_kgtui_show_requests_no_configs_of_classic_groups(run: Callable[..., Completed], admin: ScriptedAdmin) -> None:
    """Classic groups have no group configs. For a user without DESCRIBE_CONFIGS, the needless request would fail."""
    admin.add("old", "classic", lag=1)
    ran = run("show", "old", "pay")
    assert (ran.code, ran.err) == (0, "")
    assert [ids for method, ids in admin.calls if method == "group_configs"] == [("pay",)]


def test_kgtui_show_reports_missing_groups_and_shows_existing_groups(run: Callable[..., Completed]) -> None:
    ran = run("show", "nope", "pay", "--format", "json")
    assert ran.code == 1
    found = json.loads(ran.out)
    assert found["coverage"]["groups"] == [1, 2]
    assert [row["group"] for row in found["groups"]] == ["pay"]
    assert ran.err == "kgtui: group nope: Group nope not found. [GROUP_ID_NOT_FOUND]\n"


def test_kgtui_show_reports_missing_groups_even_if_finding_similar_ids_fails(
    run: Callable[..., Completed], admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> object:
        raise DeadlineError("no answer")

    monkeypatch.setattr(admin, "list_groups", fail)
    assert run("show", "payy").err == "kgtui: group payy: Group payy not found. [GROUP_ID_NOT_FOUND]\n"


def test_kgtui_show_reports_that_the_user_is_not_allowed_to_describe_a_group(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    admin.broken["pay"] = Fault("GROUP_AUTHORIZATION_FAILED", "forbidden", 30, group="pay", advice="grant DESCRIBE")
    ran = run("show", "pay")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "kgtui: group pay: forbidden [GROUP_AUTHORIZATION_FAILED] (grant DESCRIBE)\n"


def test_kgtui_show_prints_the_write_and_expiry_times_of_the_first_unread_record(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    admin.times = {
        ("t-pay", 0): RecordTime(1000, TimeRange(3600.0, 3600.0), TimeRange(3540.0, 3541.0)),
        ("t-queue", 0): RecordTime(1000, reason=COMPACTED),
    }
    admin.topic_retention = Retention(
        rules={"t-pay": TopicRules(7200.0), "t-queue": TopicRules(7200.0, compacted=True)}
    )
    rows = {
        row["group"]: row["partitions"][0]
        for row in json.loads(run("show", "pay", "queue", "--format", "json").out)["groups"]
    }
    times = ("unread_since", "unread_since_latest", "consumed_at", "expires_from", "times_reason")
    assert [rows["pay"][name] for name in times] == [
        "1970-01-01T01:00:00.000Z", "1970-01-01T01:00:00.000Z", "1970-01-01T00:59:00.000Z", "1970-01-01T03:00:00.000Z",
        None,
    ]  # fmt: skip
    assert [rows["queue"][name] for name in times] == [None, None, None, None, COMPACTED]
    table = run("show", "pay").out
    assert "UNREAD-SINCE" in table
    assert "1970-01-01T01:00:00Z" in table
    wide = run("show", "pay", "--format", "wide").out
    assert "EXPIRES-FROM" in wide
    assert "1970-01-01T03:00:00Z" in wide
    admin.times.clear()
    assert "UNREAD-SINCE" not in run("show", "pay").out


def test_kgtui_show_csv_has_one_row_per_partition(run: Callable[..., Completed]) -> None:
    lines = run("show", "pay", "--format", "csv").out.splitlines()
    assert lines[1] == "pay,t-pay,0,1000,,0,1015,15,1000,0,,,,,,0,,m-1,,client"


def test_kgtui_show_without_a_group_id_exits_with_code_2(run: Callable[..., Completed]) -> None:
    ran = run("show")
    assert ran.code == 2
    assert "GROUP" in ran.err


@pytest.mark.parametrize(("any_topic", "exit_code"), [(False, 1), (True, 0)])
def test_kgtui_show_says_that_the_user_can_see_no_offsets_of_a_group(
    run: Callable[..., Completed], admin: ScriptedAdmin, any_topic: bool, exit_code: int
) -> None:
    admin.add("quiet", "consumer")
    admin.user_access = Access(frozenset({"DESCRIBE"}), any_topic=any_topic)
    ran = run("show", "quiet")
    assert (ran.code, "\n  no offsets that you are allowed to see\n" in ran.out) == (exit_code, True)
    assert ("OFFSETS_MAY_BE_HIDDEN" in ran.err) == (not any_topic)
    assert next(line.split()[1] for line in ran.out.splitlines() if "lag  " in line) == ("–" if any_topic else "?")


def test_kgtui_show_mentions_no_permissions_to_a_user_with_all_permissions(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    admin.add("quiet", "consumer")
    ran = run("show", "quiet")
    assert (ran.code, ran.err) == (0, "")
    assert "allowed to see" not in ran.out


def test_kgtui_show_says_which_assigned_topic_the_user_cannot_describe(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    admin.add("old", "classic", members=(member("m", assignment=(("t-old", (0,)), ("secret", (0,)))),), lag=3)
    admin.bounds["secret", 0] = PartitionBounds(None, None, 29)
    ran = run("show", "old")
    assert ran.code == 1
    assert "the offsets in topic secret are hidden" in ran.err
    assert [line.split()[2] for line in ran.out.splitlines() if line.split()[:1] == ["secret"]] == ["x"]
    (row,) = json.loads(run("show", "old", "--format", "json").out)["groups"]
    assert [part["reason"] for part in row["partitions"]] == ["forbidden", None]
    assert (row["lag"], row["lag_unknown"]) == (3, 1)


def test_kgtui_show_says_that_it_does_not_list_offsets_in_hidden_topics(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    """The user lacks DESCRIBE on some topics. Brokers do not return committed offsets in these topics.

    `kgtui show` prints a note about the missing offsets, but still exits with code 0.
    """
    admin.user_access = Access(any_topic=False)
    ran = run("show", "pay")
    assert (ran.code, ran.err) == (0, "")
    assert next(line.split()[1:] for line in ran.out.splitlines() if "lag  " in line) == ["≥", "15"]
    assert "\n  Offsets in topics that you are not allowed to describe are not listed.\n" in ran.out
    (row,) = json.loads(run("show", "pay", "--format", "json").out)["groups"]
    assert (row["lag"], row["offsets_may_be_hidden"], row["hidden_topics"]) == (15, True, [])
    admin.user_access = Access(any_topic=True)
    ran = run("show", "pay")
    assert next(line.split()[1:] for line in ran.out.splitlines() if "lag  " in line) == ["15"]
    assert "not listed" not in ran.out


def test_kgtui_show_says_which_subscribed_topic_the_user_cannot_describe(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    admin.add("old", "classic", members=(member("m", topics=("t-old", "secret")),), lag=3)
    admin.bounds["secret", 0] = PartitionBounds(None, None, 29)
    ran = run("show", "old")
    assert ran.code == 1
    assert "the offsets in topic secret are hidden" in ran.err
    (row,) = json.loads(run("show", "old", "--format", "json").out)["groups"]
    assert (row["lag"], row["offsets_may_be_hidden"], row["hidden_topics"]) == (3, True, ["secret"])
