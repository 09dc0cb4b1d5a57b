"""Tests of executing a planned deletion: the order of the steps, groups that change after planning, disk errors."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kgtui.actions.audit import read_entries
from kgtui.actions.backup import list_backups
from kgtui.actions.execute import BATCH, execute
from kgtui.actions.plan import Plan, plan
from kgtui.actions.results import DeletionStatus, GroupResult
from kgtui.model.answer import Fault, Outcome
from kgtui.model.offsets import CommittedOffset
from tests.scripted import ScriptedAdmin, member
from tests.unit.actions.deleting import delete, delete_requests, on_call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kgtui.config import StateFolder


def member_joins(admin: ScriptedAdmin, group: str = "g") -> Callable[[], None]:
    """Return a function that adds a member to the group, so that the group becomes active."""
    return lambda: admin.add(group, members=(member(),), lag=5)


@pytest.mark.parametrize("type_", ["classic", "consumer", "share", "streams"])
async def test_empty_group_is_described_again_and_backed_up_before_it_is_deleted(
    admin: ScriptedAdmin, folder: StateFolder, type_: str
) -> None:
    """kgtui describes the group three times: for the plan, directly before the deletion, and after the deletion.

    Directly before the deletion, kgtui also reads the group's offsets again. After the deletion, it logs the outcome.
    """
    admin.add("g", type_, state="Empty", lag=5)
    made = await plan(admin, ["g"])
    admin.calls.clear()
    result = (await execute(admin, made, folder)).by_group["g"]
    assert (result.status, result.verified) == (DeletionStatus.DELETED, True)
    names = [call for call, _ in admin.calls]
    sent = names.index("delete_groups")
    assert names[sent - 2 : sent] == ["describe_groups", "share_offsets" if type_ == "share" else "committed_offsets"]
    assert names[sent + 1] == "describe_groups"
    assert delete_requests(admin) == [("g",)]
    ((entry,), damaged) = read_entries(folder.audit)
    assert damaged == 0
    assert entry.id == result.entry
    assert entry.outcome is not None
    assert (entry.outcome["result"], entry.outcome["verified"]) == ("deleted", True)
    ((backup,), _) = list_backups(folder)
    assert backup.path == result.backup
    assert (backup.group, backup.offsets, backup.complete) == ("g", 1, True)


@pytest.mark.parametrize("kind", ["connect", "sr", ""])
async def test_simple_connect_and_schema_registry_groups_can_be_deleted(
    admin: ScriptedAdmin, folder: StateFolder, kind: str
) -> None:
    """Such groups are classic groups with the protocol type "" (simple), `connect` or `sr` (schema registry)."""
    admin.add("g", "classic", kind, state="Empty")
    assert (await delete(admin, folder, "g")).exit_code == 0


async def test_intent_and_backup_are_written_before_the_delete_request_is_sent(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """When the broker receives the request, the audit log contains the intent to delete, but no outcome yet."""
    seen: list[object] = []

    def look() -> None:
        ((entry,), _) = read_entries(folder.audit)
        ((backup,), _) = list_backups(folder)
        seen.extend((entry.group, entry.outcome, backup.complete, entry.intent["backup"] == str(backup.path)))

    admin.add("g", state="Empty", lag=5)
    on_call(admin, "delete_groups", look)
    await delete(admin, folder, "g")
    assert seen == ["g", None, True, True]


async def test_group_that_became_active_after_the_plan_is_not_deleted(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """No delete request is sent, and the backup is removed."""
    admin.add("g", state="Empty", lag=5)
    made = await plan(admin, ["g"])
    member_joins(admin)()
    results = await execute(admin, made, folder)
    assert results.by_group["g"].status is DeletionStatus.REFUSED
    assert results.by_group["g"].reason == (
        "the group changed after the deletion was planned: Stable with 1 member: stop it first"
    )
    assert results.exit_code == 4
    assert delete_requests(admin) == []
    assert list_backups(folder) == ([], [])


async def test_group_that_becomes_active_during_its_backup_is_not_deleted(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """kgtui describes the group once more after the backup, and finds the new member."""
    admin.add("g", state="Empty", lag=5)
    made = await plan(admin, ["g"])
    on_call(admin, "partition_bounds", member_joins(admin))
    assert (await execute(admin, made, folder)).by_group["g"].status is DeletionStatus.REFUSED
    assert delete_requests(admin) == []


async def test_group_whose_offsets_change_after_its_backup_is_not_deleted(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """An application commits an offset after the backup, when kgtui describes the group again."""
    admin.add("g", state="Empty", lag=5)
    made = await plan(admin, ["g"])

    def commit() -> None:
        (row,) = admin.commits["g"]
        admin.commits["g"] = (replace(row, offset=(row.offset or 0) + 1),)

    on_call(admin, "describe_groups", commit)
    result = (await execute(admin, made, folder)).by_group["g"]
    assert result.status is DeletionStatus.REFUSED
    assert result.reason.startswith("the group's offsets changed after the backup")
    assert delete_requests(admin) == []
    assert list_backups(folder) == ([], [])


@pytest.mark.parametrize("whole_group", [True, False])
async def test_group_is_not_deleted_if_its_offsets_cannot_be_read_again(
    admin: ScriptedAdmin, folder: StateFolder, whole_group: bool
) -> None:
    """After the plan was made, the offsets of the whole group or of one partition cannot be read any more."""
    admin.add("g", state="Empty", lag=5)
    made = await plan(admin, ["g"])

    def fail() -> None:
        if whole_group:
            admin.broken["g"] = Fault("NO_ANSWER", "broker 1 is down", broker=1, group="g")
        else:
            admin.commits["g"] = (CommittedOffset("t-g", 0, None, error=29),)

    on_call(admin, "committed_offsets", fail)
    result = (await execute(admin, made, folder)).by_group["g"]
    assert (result.status, result.backup) == (DeletionStatus.REFUSED, None)
    assert "backup is not possible" in result.reason
    assert delete_requests(admin) == []


async def test_deletion_is_refused_if_the_broker_reports_a_non_empty_group(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """The broker responds with NON_EMPTY_GROUP (68). The refusal is logged, and the backup is kept."""
    admin.add("g", state="Empty", lag=5)
    on_call(admin, "delete_groups", member_joins(admin))
    result = (await delete(admin, folder, "g")).by_group["g"]
    assert result.status is DeletionStatus.REFUSED
    assert "became active, so the broker refused" in result.reason
    assert result.fault is not None
    assert result.fault.code == 68
    assert [backup.path for backup in list_backups(folder)[0]] == [result.backup]
    assert "g" in admin.groups
    ((entry,), _) = read_entries(folder.audit)
    assert entry.outcome is not None
    assert entry.outcome["result"] == "refused"


async def test_group_is_not_deleted_if_its_type_changed_after_the_plan(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """After the plan, the classic group was replaced with a share group that has the same id."""
    admin.add("g", state="Empty", lag=5)
    made = await plan(admin, ["g"])
    admin.add("g", "share", state="Empty")
    result = (await execute(admin, made, folder)).by_group["g"]
    assert (result.status, result.reason) == (
        DeletionStatus.REFUSED,
        "the group was a classic group when the deletion was planned, but is a share group now",
    )
    assert delete_requests(admin) == []


async def test_no_delete_request_is_sent_for_a_group_that_no_longer_exists(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """Another client deleted the group after the plan was made. The result is therefore GONE instead of DELETED."""
    admin.add("g", state="Empty", lag=5)
    made = await plan(admin, ["g"])
    admin.groups.clear()
    admin.descriptions.clear()
    results = await execute(admin, made, folder)
    assert results.by_group["g"].status is DeletionStatus.GONE
    assert results.exit_code == 1
    assert delete_requests(admin) == []


async def test_group_that_disappears_before_the_delete_request_is_reported_as_gone(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """The broker responds with GROUP_ID_NOT_FOUND (69)."""
    admin.add("g", state="Empty", lag=5)
    on_call(admin, "delete_groups", admin.groups.clear)
    assert (await delete(admin, folder, "g")).by_group["g"].status is DeletionStatus.GONE


async def test_deletion_is_refused_if_the_offsets_cannot_be_backed_up(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """kgtui could read the offsets for the plan, but not for the backup."""
    admin.add("g", state="Empty", lag=5)
    made = await plan(admin, ["g"])
    admin.commits["g"] = (CommittedOffset("t-g", 0, None, error=29),)
    result = (await execute(admin, made, folder)).by_group["g"]
    assert (result.status, result.entry) == (DeletionStatus.REFUSED, None)
    assert delete_requests(admin) == []


async def test_all_deletions_are_refused_if_the_state_folder_is_not_writable(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """kgtui can write neither the backup nor the intent (audit log entry), so it sends no delete request."""
    folder.path.write_text("a file where the folder should be")
    admin.add("g", state="Empty", lag=5)
    results = await delete(admin, folder, "g")
    assert results.by_group["g"].status is DeletionStatus.REFUSED
    assert "cannot be written" in results.by_group["g"].reason
    assert results.exit_code == 4
    assert delete_requests(admin) == []


@pytest.mark.parametrize("step", ["write_backup", "write_intent"])
async def test_kgtui_deletes_nothing_if_the_disk_is_too_full_for_the_backup(
    admin: ScriptedAdmin, folder: StateFolder, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """No delete request is sent, and no incomplete backup remains on disk."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"kgtui.actions.execute.{step}", full)
    admin.add("g", state="Empty", lag=5)
    result = (await delete(admin, folder, "g")).by_group["g"]
    assert result.status is DeletionStatus.REFUSED
    assert "No space left on device" in result.reason
    assert delete_requests(admin) == []
    assert list_backups(folder) == ([], [])


async def test_deletion_of_many_groups_gives_exactly_one_result_per_group(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """Most groups are deleted. One group is active, the deletion of one group fails, and one group is already gone."""
    names = [f"g-{number:03}" for number in range(3 * BATCH)]
    for number, name in enumerate(names):
        admin.add(name, state="Empty", lag=number, coordinator=1 + number % 3)
    admin.add("g-007", members=(member(),))
    made = await plan(admin, names)
    del admin.groups["g-011"], admin.descriptions["g-011"]
    admin.delete_outcomes["g-013"] = Outcome("g-013", Fault("GROUP_DELETION_FAILED", "Failed.", 134, group="g-013"))
    reported: list[GroupResult] = []
    results = await execute(admin, made, folder, on_result=reported.append)
    assert list(results.by_group) == names
    odd = {
        name: result.status for name, result in results.by_group.items() if result.status is not DeletionStatus.DELETED
    }
    assert odd == {"g-007": DeletionStatus.REFUSED, "g-011": DeletionStatus.GONE, "g-013": DeletionStatus.FAILED}
    assert sorted(result.group for result in reported) == names
    assert max(len(groups) for groups in delete_requests(admin)) <= BATCH
    assert len(list_backups(folder)[0]) == len(names) - 1


async def test_slow_coordinator_does_not_delay_deletions_by_another_coordinator(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """Broker 1 deletes a group before broker 2 has responded to the delete request for a different group."""
    admin.add("fast", state="Empty", coordinator=1)
    admin.add("slow", state="Empty", coordinator=2)
    made = await plan(admin, ["fast", "slow"])
    held, fast_done = asyncio.Event(), asyncio.Event()
    asked = admin._record_call

    async def hold(name: str, groups: Iterable[str] = ()) -> None:
        requested = tuple(groups)
        await asked(name, requested)
        if name == "delete_groups" and "slow" in requested:
            await held.wait()

    admin._record_call = hold  # type: ignore[assignment,method-assign]
    running = asyncio.create_task(execute(admin, made, folder, on_result=lambda _: fast_done.set()))
    await asyncio.wait_for(fast_done.wait(), 60)
    assert "fast" not in admin.groups
    assert not running.done()
    held.set()
    assert (await running).exit_code == 0


async def test_deleting_a_group_does_not_delete_a_group_with_a_similar_id(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    admin.add("payment", state="Empty", lag=1)
    admin.add("p\u0430yment", state="Empty", lag=1)
    await delete(admin, folder, "p\u0430yment")
    assert set(admin.groups) == {"payment"}


UNUSUAL_IDS = ["[/red]", "a\nb", "../../etc/passwd", "\x1b[31mred", "x" * 32_000, "\u202eevil", "", "\udcff"]


@pytest.mark.parametrize("name", UNUSUAL_IDS, ids=lambda name: ascii(name)[:20])
async def test_groups_with_unusual_ids_are_deleted(admin: ScriptedAdmin, folder: StateFolder, name: str) -> None:
    """The backup file stays inside the backup folder. Backup and audit log contain the exact group id."""
    admin.add(name, state="Empty")
    result = (await delete(admin, folder, name)).by_group[name]
    assert result.status is DeletionStatus.DELETED
    assert result.backup is not None
    assert result.backup.parent == folder.backups
    assert list_backups(folder)[0][0].group == name
    assert read_entries(folder.audit)[0][0].group == name
    assert folder.audit.read_bytes().isascii()


async def test_executing_a_deletion_plan_without_groups_does_nothing(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """No request is sent, and the state folder is not created."""
    results = await execute(admin, Plan((), 0.0), folder)
    assert results.exit_code == 0
    assert not folder.path.exists()
    assert admin.calls == []
