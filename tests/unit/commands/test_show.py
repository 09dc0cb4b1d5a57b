"""Tests of `kgtui show`: groups are shown in detail, and data that could not be read is reported."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kgtui.model.answer import Fault
from tests.scripted import ScriptedAdmin, member
from tests.unit.commands.runs import Completed, runner

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def admin() -> ScriptedAdmin:
    admin = ScriptedAdmin()
    admin.add("pay", "consumer", members=(member("m-1", assignment=(("t-pay", (0,)),)),), lag=15)
    admin.add("queue", "share", lag=7)
    return admin


@pytest.fixture
def run(
    admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Completed]:
    return runner(admin, monkeypatch, capfd)


def test_each_group_is_shown_once_in_the_given_order(run: Callable[..., Completed]) -> None:
    ran = run("show", "queue", "pay", "queue")
    assert (ran.code, ran.err) == (0, "")
    assert [line for line in ran.out.splitlines() if line and line[0] != " "] == ["queue", "pay"]
    assert "m-1" in ran.out


def test_show_reports_a_missing_group_and_shows_the_other_groups(run: Callable[..., Completed]) -> None:
    ran = run("show", "nope", "pay", "--format", "json")
    assert ran.code == 1
    found = json.loads(ran.out)
    assert found["coverage"]["groups"] == [1, 2]
    assert [row["group"] for row in found["groups"]] == ["pay"]
    assert ran.err == "kgtui: group nope: Group nope not found. [GROUP_ID_NOT_FOUND]\n"


def test_show_reports_a_group_that_the_user_may_not_describe(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    admin.broken["pay"] = Fault("GROUP_AUTHORIZATION_FAILED", "forbidden", 30, group="pay", advice="grant DESCRIBE")
    ran = run("show", "pay")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "kgtui: group pay: forbidden [GROUP_AUTHORIZATION_FAILED] (grant DESCRIBE)\n"


def test_csv_of_show_has_one_row_per_partition(run: Callable[..., Completed]) -> None:
    lines = run("show", "pay", "--format", "csv").out.splitlines()
    assert lines[1] == "pay,t-pay,0,1000,,0,1015,15,1000,0,0,,m-1,"


def test_show_without_group_is_rejected(run: Callable[..., Completed]) -> None:
    ran = run("show")
    assert ran.code == 2
    assert "GROUP" in ran.err
