"""Tests of the outcome of a deletion: successful, refused, failed or uncertain.

The outcome depends on the response of the broker, and on whether the group still exists afterwards.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.actions.audit import read_entries
from kgtui.actions.execute import execute
from kgtui.actions.plan import plan
from kgtui.actions.results import DeletionStatus
from kgtui.errors import DeadlineError
from kgtui.model.answer import Answer, Fault, Outcome
from tests.unit.actions.deleting import delete, delete_requests, on_call

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pytest

    from kgtui.config import StateFolder
    from kgtui.model.group import GroupDescription
    from tests.scripted import ScriptedAdmin


LOST = Fault("NO_ANSWER", "no answer in 30 s", group="g")


async def test_deletion_fails_if_the_broker_responds_that_it_is_not_the_coordinator(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """The broker responds with NOT_COORDINATOR (16). The request is not sent again, and the group still exists."""
    admin.add("g", state="Empty", lag=5)
    fault = Fault("NOT_COORDINATOR", "This is not the correct coordinator.", 16, group="g")
    admin.delete_outcomes["g"] = Outcome("g", fault)
    results = await delete(admin, folder, "g")
    assert results.by_group["g"].status is DeletionStatus.FAILED
    assert results.exit_code == 1
    assert len(delete_requests(admin)) == 1


async def test_deletion_succeeds_if_the_coordinator_changed_after_the_plan(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """A new coordinator is no reason to refuse the deletion, because the group itself has not changed."""
    admin.add("g", state="Empty", lag=5)
    made = await plan(admin, ["g"])
    admin.add("g", state="Empty", lag=5, coordinator=2)
    assert (await execute(admin, made, folder)).exit_code == 0


async def test_deletion_without_a_response_succeeds_if_the_group_is_gone(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """kgtui does not send a second request. It describes the group, and finds that the group no longer exists."""
    admin.add("g", state="Empty", lag=5)
    admin.delete_outcomes["g"] = Outcome("g", LOST, uncertain=True)

    def carried_out() -> None:
        admin.groups.pop("g")
        admin.descriptions.pop("g")

    on_call(admin, "delete_groups", carried_out)
    result = (await delete(admin, folder, "g")).by_group["g"]
    assert (result.status, result.verified) == (DeletionStatus.DELETED, True)
    assert result.reason == "no response arrived, but the group no longer exists"
    assert len(delete_requests(admin)) == 1


async def test_deletion_is_uncertain_if_the_response_is_lost_and_the_group_exists(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """The broker could still execute the request, so kgtui keeps the backup and logs no outcome."""
    admin.add("g", state="Empty", lag=5)
    admin.delete_outcomes["g"] = Outcome("g", LOST, uncertain=True)
    results = await delete(admin, folder, "g")
    result = results.by_group["g"]
    assert result.status is DeletionStatus.UNCERTAIN
    assert results.exit_code == 1
    assert len(delete_requests(admin)) == 1
    ((entry,), _) = read_entries(folder.audit)
    assert entry.outcome is None
    assert result.backup is not None
    assert result.backup.exists()


async def test_deletion_is_uncertain_if_the_broker_responds_coordinator_not_available(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    admin.add("g", state="Empty", lag=5)
    fault = Fault("COORDINATOR_NOT_AVAILABLE", "The coordinator is not available.", 15, broker=1, group="g")
    admin.delete_outcomes["g"] = Outcome("g", fault, uncertain=True)
    result = (await delete(admin, folder, "g")).by_group["g"]
    assert result.status is DeletionStatus.UNCERTAIN
    assert result.reason.startswith("the broker responded with COORDINATOR_NOT_AVAILABLE, so the result is unknown")
    assert result.backup is not None
    assert result.backup.exists()


async def test_outcome_of_a_deletion_is_uncertain_if_its_request_raises_an_error(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """After an error such as a timeout, kgtui does not know whether the broker received the request."""
    admin.add("g", state="Empty", lag=5)

    async def timed_out(groups: object, *, timeout: float = 30.0) -> object:
        raise DeadlineError("no answer in 30 s", broker=1)

    admin.delete_groups = timed_out  # type: ignore[assignment,method-assign]
    assert (await delete(admin, folder, "g")).by_group["g"].status is DeletionStatus.UNCERTAIN


async def test_outcome_of_a_deletion_is_uncertain_if_its_request_is_canceled(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """If the connection to the cluster is closed, the request is canceled. kgtui then logs no outcome."""
    admin.add("g", state="Empty", lag=5)

    async def closed(groups: object, *, timeout: float = 30.0) -> object:
        raise asyncio.CancelledError

    admin.delete_groups = closed  # type: ignore[assignment,method-assign]
    assert (await delete(admin, folder, "g")).by_group["g"].status is DeletionStatus.UNCERTAIN
    ((entry,), _) = read_entries(folder.audit)
    assert entry.outcome is None


async def test_deletion_on_old_brokers_is_verified_with_group_lists(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """On old brokers, DescribeGroups returns Dead for deleted groups, but also for some existing groups.

    After a deletion, kgtui therefore looks for the group in the lists of all brokers. In this test, kgtui cannot verify
    the second of two deletions, because one broker does not return its list.
    """
    describe = admin.describe_groups

    async def as_of_old(groups: Iterable[str], *, timeout: float = 30.0) -> Answer[Mapping[str, GroupDescription]]:
        asked = list(groups)
        answer = await describe(asked)
        if answer.rows:
            return answer
        dead = replace(made.allowed[0].description, state="Dead", authoritative=False, source="DescribeGroups v5")
        return Answer({group: replace(dead, group=group) for group in asked})

    for group in ("g", "h"):
        admin.add(group, state="Empty")
    made = await plan(admin, ["g"])
    admin.describe_groups = as_of_old  # type: ignore[method-assign]
    result = (await execute(admin, made, folder)).by_group["g"]
    assert (result.status, result.verified) == (DeletionStatus.DELETED, True)

    made = await plan(admin, ["h"])
    admin.broken[3] = Fault("NO_ANSWER", "broker 3 is down", broker=3)
    result = (await execute(admin, made, folder)).by_group["h"]
    assert (result.status, result.verified) == (DeletionStatus.DELETED, False)
    assert "kgtui could not check this" in result.reason


async def test_deletion_counts_as_failed_if_the_group_still_exists(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """The broker reports success. kgtui then describes the group, and finds that the group still exists."""
    admin.add("g", state="Empty", lag=5)
    admin.delete_outcomes["g"] = Outcome("g")
    result = (await delete(admin, folder, "g")).by_group["g"]
    assert result.status is DeletionStatus.FAILED
    assert "the group exists" in result.reason


async def test_reason_for_a_forbidden_deletion_mentions_the_missing_acl_operation(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """The broker responds with GROUP_AUTHORIZATION_FAILED (30)."""
    admin.add("g", state="Empty", lag=5)
    admin.delete_outcomes["g"] = Outcome("g", Fault("GROUP_AUTHORIZATION_FAILED", "", 30, group="g"))
    result = (await delete(admin, folder, "g")).by_group["g"]
    assert result.status is DeletionStatus.REFUSED
    assert "ACL operation DELETE" in result.reason


async def test_result_of_a_deletion_says_that_the_outcome_could_not_be_logged(
    admin: ScriptedAdmin, folder: StateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result is still DELETED, because the group was deleted."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kgtui.actions.execute.write_outcome", full)
    admin.add("g", state="Empty", lag=5)
    result = (await delete(admin, folder, "g")).by_group["g"]
    assert result.status is DeletionStatus.DELETED
    assert "could not be written to the audit log" in result.reason
