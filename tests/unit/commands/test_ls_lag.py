"""Tests of the lag that `kgtui ls --lag` prints for users with and without DESCRIBE on all topics."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from kgtui.errors import UnreachableError
from kgtui.model.access import Access
from kgtui.model.answer import Fault
from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset
from kgtui.model.record_times import RecordTime, TimeRange
from tests.scripted import ScriptedAdmin, member
from tests.unit.commands.listing import calls, groups, listed_cluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.commands.runs import Completed


@pytest.fixture
def admin() -> ScriptedAdmin:
    return listed_cluster()


def test_kgtui_ls_reads_log_start_offsets_only_for_empty_groups(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    ran = run("ls", "--lag")
    assert [line.split()[-1] for line in ran.out.splitlines()] == ["LAG", "–", "5", "1500", "7"]
    asked = calls(admin)
    # kgtui reads committed offsets only of `idle` and `pay`. The group `connect` is a Connect group, which commits no
    # offsets. The group `queue` is a share group, which has share offsets instead.
    assert asked["committed_offsets"] == ("idle", "pay")
    assert asked["share_offsets"] == ("queue",)
    bounds = [sorted(ids) for method, ids in admin.calls if method == "partition_bounds"]
    assert bounds == [["t-idle-0", "t-pay-0"], ["t-idle-0"]], (
        "log start offsets must be read only for groups without members"
    )
    assert "describe_groups" not in asked


def test_kgtui_ls_shows_no_lag_if_the_user_lacks_describe_on_the_group(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    admin.broken["pay"] = Fault(
        "GROUP_AUTHORIZATION_FAILED", "may not be described", 30, group="pay", advice="ask for DESCRIBE on the group"
    )
    ran = run("ls", "--lag", "pay")
    assert ran.code == 1
    assert ran.out.splitlines()[1].split()[-1] == "x"
    assert "group pay: may not be described [GROUP_AUTHORIZATION_FAILED] (ask for DESCRIBE on the group)" in ran.err
    row = json.loads(run("ls", "--lag", "--format", "json", "pay").out)["groups"][0]
    assert (row["lag"], row["lag_unknown"]) == (None, None)
    # The lag of the group `pay` is unknown, so no lag filter selects the group, not even `not:lag:0`.
    for expression in ("lag:0", "not:lag:0", "lag:1+"):
        ran = run("ls", "pay", expression)
        assert (ran.code, groups(ran)) == (1, [])


def test_kgtui_ls_reports_empty_groups_with_old_unread_records_as_unused(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    """The group `idle` is `unused`, because its oldest unread record is over a day old. `recent` is only `empty`."""
    admin.add("recent", state="Empty", lag=5)
    for group, age in (("idle", 90_000.0), ("recent", 80_000.0)):
        written = time.time() - age
        admin.times[f"t-{group}", 0] = RecordTime(1_000, TimeRange(written, written))
    found = json.loads(run("ls", "--lag", "--format", "json", "idle,recent").out)["groups"]
    assert [(row["verdict"], row["problem"]) for row in found] == [("WARN", "unused"), ("WARN", "empty")]
    assert groups(run("ls", "verdict:unused")) == ["idle"]


RESTRICTED = Access(frozenset({"DESCRIBE"}), any_topic=False)
"""Permissions of a user who can see all groups, but lacks DESCRIBE on some topics."""


def test_lags_in_kgtui_ls_are_lower_bounds_if_some_topics_are_forbidden(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    """The user can see no offsets of the group `quiet`. Its lag is unknown, so the exit code is 1.

    A lag that is only a lower bound does not change the exit code.
    """
    admin.add("quiet", "consumer")
    admin.user_access = RESTRICTED
    ran = run("ls", "--lag")
    lags = [" ".join(line.split()[6:]) for line in ran.out.splitlines()[1:]]
    assert lags == ["–", "≥ 5", "≥ 1500", "≥ 7", "?"]
    assert ran.code == 1
    hidden, bounds = ran.err.splitlines()
    assert hidden == (
        "kgtui: group quiet: no offsets that you are allowed to see; brokers leave out the topics that you are not "
        "allowed to describe [OFFSETS_MAY_BE_HIDDEN] (grant DESCRIBE on the topics of the group to this user)"
    )
    assert bounds == (
        "kgtui: the lags of 3 groups are lower bounds. Brokers leave out the topics that you are not allowed to "
        "describe. To see the whole lag, ask for the ACL operation DESCRIBE on all topics"
    )
    (row,) = json.loads(run("ls", "--lag", "--format", "json", "quiet").out)["groups"]
    assert (row["lag"], row["lag_unknown"], row["offsets_may_be_hidden"]) == (None, None, True)
    ran = run("ls", "--lag", "idle,pay,queue")
    assert ran.code == 0
    assert "the lags of 3 groups are lower bounds" in ran.err
    ran = run("ls", "quiet")
    assert (ran.code, ran.err) == (0, "")


def test_kgtui_ls_json_and_wide_format_say_whether_offsets_may_be_hidden(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    for access, hidden, cells in ((RESTRICTED, True, "empty ≥ 5 ≥ 1"), (Access(any_topic=True), False, "empty 5 1")):
        admin.user_access = access
        (row,) = json.loads(run("ls", "--lag", "--format", "json", "idle").out)["groups"]
        assert (row["lag"], row["lag_unknown"], row["offsets_may_be_hidden"]) == (5, 0, hidden)
        ran = run("ls", "--lag", "--format", "wide", "idle")
        assert " ".join(ran.out.splitlines()[1].split()[8:-2]) == cells
        assert ("lower bound" in ran.err) == hidden
    (row,) = json.loads(run("ls", "--lag", "--format", "json", "kind:connect").out)["groups"]
    assert row["offsets_may_be_hidden"] is False
    (row,) = json.loads(run("ls", "--format", "json", "idle").out)["groups"]
    assert row["offsets_may_be_hidden"] is None


def test_lag_filter_selects_a_group_only_if_every_possible_lag_matches(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    """The user lacks DESCRIBE on some topics, so the lag 5 of `idle` is only a lower bound.

    The real lag could be above 10, so `lag:..10` does not select `idle`.
    """
    admin.user_access = RESTRICTED
    ran = run("ls", "idle", "lag:..10")
    assert (ran.code, groups(ran)) == (1, [])
    assert "the filter selects the group only if the whole range matches" in ran.err
    assert groups(run("ls", "lag:6+")) == ["pay", "queue"]
    admin.user_access = Access(any_topic=True)
    ran = run("ls", "idle", "lag:..10")
    assert (groups(ran), ran.err) == (["idle"], "")


def test_kgtui_ls_mentions_a_forbidden_topic_to_which_a_member_subscribes(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    """An ACL denies DESCRIBE on the topic `secret`, to which a member of the group `old` subscribes."""
    admin.add("old", "classic", members=(member("m", topics=("t-old", "secret")),), lag=3)
    admin.bounds["secret", 0] = PartitionBounds(None, None, 29)
    admin.user_access = Access(any_topic=True)
    ran = run("ls", "--lag", "--members", "old")
    assert (ran.code, ran.out.splitlines()[1].split()[-2:]) == (1, ["≥", "3"])
    assert "kgtui: group old: the offsets in topic secret are hidden" in ran.err
    assert run("ls", "--lag", "--members", "pay").err == ""


def test_kgtui_ls_reports_no_hidden_offsets_if_the_user_can_describe_all_topics(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    admin.add("quiet", "consumer")
    admin.user_access = Access(frozenset(), any_topic=True)
    ran = run("ls", "--lag", "quiet")
    assert (ran.code, ran.out.splitlines()[1].split()[-1], ran.err) == (0, "–", "")


def test_kgtui_ls_reads_permissions_only_if_it_needs_the_lag(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    run("ls", "--members", "pay")
    assert "access" not in calls(admin)
    run("ls", "lag:1+")
    assert [call for call, _ in admin.calls].count("access") == 1


def test_lag_of_a_group_without_offsets_is_unknown_if_permissions_are_unknown(
    run: Callable[..., Completed], admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*, max_age: float, timeout: float) -> Access:
        raise UnreachableError("no broker answered")

    admin.add("quiet", "consumer")
    monkeypatch.setattr(admin, "access", fails)
    ran = run("ls", "--lag", "quiet")
    assert (ran.code, ran.out.splitlines()[1].split()[-1]) == (1, "?")


def test_lag_is_a_lower_bound_if_one_partition_has_an_unknown_lag(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    admin.commits["idle"] += (CommittedOffset("gone", 0, 3), CommittedOffset("t-idle", 1, None))
    admin.shares["queue"] += (ShareOffset("t-queue", 1, 5), ShareOffset("t-queue", 2, None))
    admin.bounds["t-idle", 1] = PartitionBounds(0, 50)
    ran = run("ls", "--lag", "idle,queue")
    assert [line.split()[-2:] for line in ran.out.splitlines()[1:]] == [["≥", "5"], ["≥", "7"]]
    rows = json.loads(run("ls", "--lag", "--format", "json", "idle").out)["groups"]
    assert [(row["lag"], row["lag_unknown"]) for row in rows] == [(5, 1)]
    assert groups(run("ls", "lag:5+")) == ["idle", "pay", "queue"]
    assert groups(run("ls", "lag:..5")) == []
