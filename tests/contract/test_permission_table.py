"""Test the README's table of permissions on a real Kafka 4.3.1 broker with StandardAuthorizer.

Each line of the table contains an action and the permissions that the action needs. For each line, a test uses a
principal that has only these permissions: the action must succeed. For each of these permissions, another test uses a
principal that has all permissions in the table except this one: the action must fail.
"""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgtui.admin.kafka import KafkaGroupAdmin, connect
from kgtui.cli import main
from kgtui.config import read_properties
from kgtui.model.record_times import FORBIDDEN_TOPIC, LogPosition
from tests.brokers.group_actions import delete_groups
from tests.brokers.kgtui_permissions import (
    CLUSTER_CONFIGS,
    DELETE,
    DELETED_GROUP,
    GROUP,
    GROUP_CONFIGS,
    LINES,
    LIST_ALL,
    LIST_ONE,
    SEE_ANY_TOPIC,
    SEE_TOPIC,
    TOPIC,
    TOPIC_CONFIGS,
    only,
    without,
)
from tests.brokers.members import CLASSIC, Members

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from kgtui.model.answer import Answer
    from tests.brokers.kgtui_permissions import Permission
    from tests.brokers.secure import Secure

README = Path(__file__).parents[2] / "README.md"


def _problem(answer: Answer[object], *, found: bool) -> str:
    """Return kgtui's advice for the first error in `answer`.

    If there is no error, return "" if `found` is true (the answer contains the data), and `missing` otherwise.
    """
    return answer.faults[0].advice if answer.faults else "" if found else "missing"


async def _list_one(admin: KafkaGroupAdmin) -> str:
    answer = await admin.list_groups()
    return _problem(answer, found=GROUP in answer.rows)


async def _list_all(admin: KafkaGroupAdmin) -> str:
    answer = await admin.list_groups()
    complete = {GROUP, "team-b-app"} <= answer.rows.keys()
    assert (await admin.access()).lists_every_group == complete
    return _problem(answer, found=complete)


async def _members(admin: KafkaGroupAdmin) -> str:
    answer = await admin.describe_groups([GROUP])
    return _problem(answer, found=bool(answer.rows and answer.rows[GROUP].members))


async def _offsets(admin: KafkaGroupAdmin) -> str:
    answer = await admin.committed_offsets([GROUP])
    return _problem(answer, found=bool(answer.rows.get(GROUP)))


async def _any_topic(admin: KafkaGroupAdmin) -> str:
    return "" if (await admin.access()).any_topic else "missing"


async def _lag(admin: KafkaGroupAdmin) -> str:
    answer = await admin.partition_bounds([(TOPIC, 0)])
    return _problem(answer, found=answer.rows[TOPIC, 0].log_end is not None)


async def _record_times(admin: KafkaGroupAdmin) -> str:
    answer = await admin.record_times({(TOPIC, 0): LogPosition(1, 0, 10)})
    row = answer.rows[TOPIC, 0]
    return _problem(answer, found=True) or ("" if row.unread is not None else row.reason)


async def _configs(admin: KafkaGroupAdmin) -> str:
    answer = await admin.group_configs([GROUP])
    return _problem(answer, found=bool(answer.rows))


async def _expiry(admin: KafkaGroupAdmin) -> str:
    answer = await admin.retention([TOPIC])
    return _problem(answer, found=TOPIC in answer.rows.topics and answer.rows.offsets is not None)


async def _delete(admin: KafkaGroupAdmin) -> str:
    (outcome,) = await admin.delete_groups([DELETED_GROUP])
    return outcome.fault.advice if outcome.fault is not None else ""


ACTIONS: dict[str, Callable[[KafkaGroupAdmin], Awaitable[str]]] = dict(
    zip(
        LINES,
        (_list_one, _list_all, _members, _offsets, _any_topic, _lag, _record_times, _configs, _expiry, _delete),
        strict=True,
    )
)
"""Action in the README's table → function that tries the action.

The function returns "" if the action succeeds, kgtui's advice if it fails, and `missing` if the broker omits data.
"""

MISSING = [
    ("list a group", LIST_ONE, "missing"),
    ("list every group", LIST_ALL, "missing"),
    ("see members", LIST_ONE, "grant DESCRIBE on the group to this user"),
    ("see members", SEE_TOPIC, "grant DESCRIBE on the topic to this user"),
    ("see offsets", LIST_ONE, "grant DESCRIBE on the group to this user"),
    ("see offsets", SEE_TOPIC, "missing"),
    ("be sure that no offsets are hidden", SEE_ANY_TOPIC, "missing"),
    ("see log ends and lag", SEE_TOPIC, "missing"),
    ("see when unread records were written", SEE_TOPIC, FORBIDDEN_TOPIC),
    ("see configs", GROUP_CONFIGS, "grant DESCRIBE_CONFIGS on the group to this user"),
    ("see when data or offsets will expire", TOPIC_CONFIGS, "grant DESCRIBE_CONFIGS on the topic to this user"),
    ("see when data or offsets will expire", CLUSTER_CONFIGS, "grant DESCRIBE_CONFIGS on the cluster to this user"),
    ("delete", DELETE, "grant DELETE on the group to this user"),
]
"""`(action, permission, result)`: without the permission, the action's function in `ACTIONS` returns `result`."""


@asynccontextmanager
async def _as_principal(secure: Secure, principal: str) -> AsyncIterator[KafkaGroupAdmin]:
    async with connect([secure.sasl], read_properties(secure.command_config(principal))) as admin:
        yield admin


def test_every_line_of_the_permission_table_in_the_readme_is_tested() -> None:
    table = README.read_text().split("| to | you need", 1)[1].split("\n\n", 1)[0]
    lines = [line.split("|")[1].strip() for line in table.splitlines()[2:]]
    assert lines == list(LINES)
    assert {(line, one) for line, one, _ in MISSING} == {(line, one) for line in LINES for one in LINES[line]}


@pytest.mark.parametrize("line", LINES)
async def test_the_permissions_in_the_readme_suffice_for_each_action(secure_broker: Secure, line: str) -> None:
    if line == "delete":
        secure_broker.cluster.commit(DELETED_GROUP, {(TOPIC, 0): 1})
    async with _as_principal(secure_broker, only(line)) as admin:
        assert await ACTIONS[line](admin) == ""


@pytest.mark.parametrize(("line", "permission", "advice"), MISSING)
async def test_an_action_fails_if_one_of_the_required_permissions_is_missing(
    secure_broker: Secure, line: str, permission: Permission, advice: str
) -> None:
    async with _as_principal(secure_broker, without(permission)) as admin:
        assert await ACTIONS[line](admin) == advice


def _kgtui(secure: Secure, principal: str, capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run a kgtui command as principal `principal`; return the exit code, stdout and stderr."""
    capfd.readouterr()
    config = str(secure.command_config(principal))
    code = main([*words, "--bootstrap-server", secure.sasl, "--command-config", config])
    return code, *capfd.readouterr()


def test_kgtui_commands_report_that_the_broker_might_hide_offsets(
    secure_broker: Secure, capfd: pytest.CaptureFixture[str]
) -> None:
    """The user has DESCRIBE on the group, but not on the topic in which the group has committed offsets."""
    code, out, err = _kgtui(secure_broker, "groupsonly", capfd, "ls", "--lag", "--group", "team-b-app")
    assert (code, out.split()[-1]) == (1, "?")
    assert "no offsets that you are allowed to see" in err
    assert "grant DESCRIBE on the topics of the group to this user" in err
    code, out, _ = _kgtui(secure_broker, "groupsonly", capfd, "show", "team-b-app")
    assert code == 1
    assert "no offsets that you are allowed to see" in out
    check = ("check", "--for", "1s", "--interval", "1s", "--group", "team-b-app")
    code, out, _ = _kgtui(secure_broker, "groupsonly", capfd, *check)
    assert code == 1
    assert "no offsets that you are allowed to see" in out


@pytest.mark.parametrize("group", ["team-a-app", "team-a-and-b"])
def test_lags_are_lower_bounds_if_the_user_lacks_describe_on_a_topic(
    secure_broker: Secure, capfd: pytest.CaptureFixture[str], group: str
) -> None:
    """The user `team` lacks DESCRIBE on the topic `team-b-events`. The group `team-a-and-b` has offsets in this topic.

    The group `team-a-app` has none, but brokers do not say which groups have hidden offsets. Therefore, kgtui reports
    the lags of both groups as lower bounds.
    """
    for principal, hidden in (("team", True), ("viewer", False), ("admin", False)):
        lag = 6 if group == "team-a-app" else 0 if hidden else 7
        code, out, err = _kgtui(secure_broker, principal, capfd, "ls", "--lag", "--group", group)
        verdict = "empty" if lag else "ok?"
        assert (code, out.splitlines()[1].split()[5:]) == (0, [verdict, *["≥"] * hidden, str(lag)])
        assert ("the lag of 1 group is a lower bound" in err) == hidden
        # Do not check the exit code of `show`. For `team`, it is 1 even if no offsets are hidden, because `team` lacks
        # the permission for the group's configs.
        _, out, _ = _kgtui(secure_broker, principal, capfd, "show", group)
        assert ("Offsets in topics that you are not allowed to describe are not listed" in out) == hidden
        _, out, _ = _kgtui(secure_broker, principal, capfd, "show", "--format", "json", group)
        (row,) = json.loads(out)["groups"]
        assert (row["lag"], row["offsets_may_be_hidden"]) == (lag, hidden)
        check = ("check", "--for", "1s", "--interval", "1s", "--format", "json", "--all", "--group", group)
        code, out, _ = _kgtui(secure_broker, principal, capfd, *check)
        (row,) = json.loads(out)["groups"]
        assert (code, row["offsets_may_be_hidden"]) == (0, hidden)
        assert ("permission" in {one["lacks"] for one in row["undecided"]}) == hidden


def test_kgtui_mentions_a_denied_topic_that_a_member_consumes(
    secure_broker: Secure, capfd: pytest.CaptureFixture[str]
) -> None:
    """An ACL denies principal `denied` DESCRIBE on `team-b-events`. The principal has DESCRIBE on all other topics."""
    members = Members(secure_broker.cluster, "permission-denied", "team-b-events", CLASSIC)
    try:
        members.wait_until_assigned()
        members.commit({0: 4})
        reason = "the offsets in topic team-b-events are hidden"
        for words in (
            ("ls", "--lag", "--members", "--group", "permission-denied"),
            ("show", "permission-denied"),
            ("check", "--for", "1s", "--interval", "1s", "--group", "permission-denied"),
        ):
            code, _, err = _kgtui(secure_broker, "denied", capfd, *words)
            assert (code, reason in err) == (1, True), words
            _, _, err = _kgtui(secure_broker, "viewer", capfd, *words)
            assert reason not in err, words
    finally:
        members.leave()
        delete_groups(secure_broker.cluster, "permission-denied")


def test_kgtui_mentions_a_denied_topic_that_no_member_consumes(
    secure_broker: Secure, capfd: pytest.CaptureFixture[str]
) -> None:
    """kgtui finds the denied topic in the ACLs. The user `denied` has DESCRIBE on the cluster, and so can read ACLs."""
    advice = "remove the ACL that denies DESCRIBE on topic team-b-events"
    for group, exit_code, lag in (
        ("team-b-app", 1, ["unreadable", "?"]), ("team-a-and-b", 0, ["ok?", "≥", "0"])
    ):  # fmt: skip
        code, out, err = _kgtui(secure_broker, "denied", capfd, "ls", "--lag", "--group", group)
        assert (code, out.splitlines()[1].split()[5:]) == (exit_code, lag)
        assert advice in err
        code, out, err = _kgtui(secure_broker, "viewer", capfd, "ls", "--lag", "--group", group)
        assert (code, err) == (0, "")


def test_hidden_topic_makes_lag_of_group_without_commits_unknown(
    secure_broker: Secure, capfd: pytest.CaptureFixture[str]
) -> None:
    """The user `groupsonly` lacks DESCRIBE on the topic that a member of the group consumes, so the lag is `?`.

    For users with DESCRIBE on all topics, the lag is `–`, because the group has no offsets.
    """
    members = Members(secure_broker.cluster, "permission-no-commit", TOPIC, CLASSIC)
    try:
        members.wait_until_assigned()
        words = ("ls", "--lag", "--group", "permission-no-commit")
        for principal, exit_code, lag in (("admin", 0, "–"), ("viewer", 0, "–"), ("groupsonly", 1, "?")):
            code, out, _ = _kgtui(secure_broker, principal, capfd, *words)
            assert (principal, code, out.split()[-1]) == (principal, exit_code, lag)
        code, out, err = _kgtui(secure_broker, "groupsonly", capfd, "show", "permission-no-commit")
        assert code == 1
        assert f"the offsets in topic {TOPIC} are hidden" in err
        assert _kgtui(secure_broker, "admin", capfd, "show", "permission-no-commit")[0] == 0
    finally:
        members.leave()
        delete_groups(secure_broker.cluster, "permission-no-commit")


def test_kgtui_ls_reports_that_no_group_is_visible(secure_broker: Secure, capfd: pytest.CaptureFixture[str]) -> None:
    code, _, err = _kgtui(secure_broker, "nobody", capfd, "ls")
    assert code == 1
    assert "there is no group that you are allowed to see" in err
    assert "DESCRIBE on the cluster" in err
    assert _kgtui(secure_broker, "nobody", capfd, "ls", "--allow-empty")[0] == 0
