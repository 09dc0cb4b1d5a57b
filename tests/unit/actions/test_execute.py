"""Deleting: order of the steps, races between them, and what is kept of each."""

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
from kgtui.errors import DeadlineError
from kgtui.model.answer import Answer, Fault, Outcome
from kgtui.model.offsets import CommittedOffset
from tests.scripted import ScriptedAdmin, member

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kgtui.actions.results import Results
    from kgtui.actions.state_folder import StateFolder
    from kgtui.model.group import GroupDescription

LOST = Fault("NO_ANSWER", "no answer in 30 s", group="g")


def sends(admin: ScriptedAdmin) -> list[tuple[str, ...]]:
    """The groups of every DeleteGroups that was sent."""
    return [groups for call, groups in admin.calls if call == "delete_groups"]


def on_call(admin: ScriptedAdmin, call: str, act: Callable[[], None], *, nth: int = 1) -> None:
    """Do something to the cluster right before the nth call of that name is answered."""
    asked = admin._record_call
    seen = 0

    async def watched(name: str, groups: Iterable[str] = ()) -> None:
        nonlocal seen
        await asked(name, groups)
        if name == call:
            seen += 1
            if seen == nth:
                act()

    admin._record_call = watched  # type: ignore[assignment,method-assign]


def activate(admin: ScriptedAdmin, group: str = "g") -> Callable[[], None]:
    """An application joins."""
    return lambda: admin.add(group, members=(member(),), lag=5)


async def delete(admin: ScriptedAdmin, folder: StateFolder, *groups: str) -> Results:
    """Plan and carry out."""
    return await execute(admin, await plan(admin, groups), folder)


@pytest.mark.parametrize("type_", ["classic", "consumer", "share", "streams"])
async def test_an_empty_group_is_deleted(admin: ScriptedAdmin, folder: StateFolder, type_: str) -> None:
    """Backed up, logged, described once more right before it is sent, verified, logged."""
    admin.add("g", type_, state="Empty", lag=5)
    made = await plan(admin, ["g"])
    admin.calls.clear()
    result = (await execute(admin, made, folder)).by_group["g"]
    assert (result.status, result.verified) == (DeletionStatus.DELETED, True)
    names = [call for call, _ in admin.calls]
    sent = names.index("delete_groups")
    assert names[sent - 1] == "describe_groups"
    assert names[sent + 1] == "describe_groups"
    assert sends(admin) == [("g",)]
    ((entry,), damaged) = read_entries(folder.audit)
    assert damaged == 0
    assert entry.id == result.entry
    assert entry.outcome is not None
    assert (entry.outcome["result"], entry.outcome["verified"]) == ("deleted", True)
    ((backup,), _) = list_backups(folder)
    assert backup.path == result.backup
    assert (backup.group, backup.offsets, backup.complete) == ("g", 1, True)


@pytest.mark.parametrize("kind", ["connect", "sr", ""])
async def test_classic_groups_of_other_protocols(admin: ScriptedAdmin, folder: StateFolder, kind: str) -> None:
    """Connect, registry and simple groups are classic groups, and are deleted as such."""
    admin.add("g", "classic", kind, state="Empty")
    assert (await delete(admin, folder, "g")).exit_code == 0


async def test_intent_and_backup_are_there_before_it_is_sent(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """Looked at from inside the send: the log has an intent without an outcome, the backup is whole."""
    seen: list[object] = []

    def look() -> None:
        ((entry,), _) = read_entries(folder.audit)
        ((backup,), _) = list_backups(folder)
        seen.extend((entry.group, entry.outcome, backup.complete, entry.intent["backup"] == str(backup.path)))

    admin.add("g", state="Empty", lag=5)
    on_call(admin, "delete_groups", look)
    await delete(admin, folder, "g")
    assert seen == ["g", None, True, True]


async def test_active_between_plan_and_execute(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """Nothing is sent, and no backup stays of a group that was left alone."""
    admin.add("g", state="Empty", lag=5)
    made = await plan(admin, ["g"])
    activate(admin)()
    results = await execute(admin, made, folder)
    assert results.by_group["g"].status is DeletionStatus.REFUSED
    assert results.by_group["g"].reason == "the group changed since the plan: Stable with 1 member: stop it first"
    assert results.exit_code == 4
    assert sends(admin) == []
    assert list_backups(folder) == ([], [])


async def test_active_while_it_is_backed_up(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """The check is the last thing before the send: later than the backup."""
    admin.add("g", state="Empty", lag=5)
    made = await plan(admin, ["g"])
    on_call(admin, "partition_bounds", activate(admin))
    assert (await execute(admin, made, folder)).by_group["g"].status is DeletionStatus.REFUSED
    assert sends(admin) == []


async def test_active_between_describe_and_send(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """The broker's own guard answers 68: refused, logged as such, still there."""
    admin.add("g", state="Empty", lag=5)
    on_call(admin, "delete_groups", activate(admin))
    result = (await delete(admin, folder, "g")).by_group["g"]
    assert result.status is DeletionStatus.REFUSED
    assert "became active, so the broker refused" in result.reason
    assert result.fault is not None
    assert result.fault.code == 68
    assert "g" in admin.groups
    ((entry,), _) = read_entries(folder.audit)
    assert entry.outcome is not None
    assert entry.outcome["result"] == "refused"


async def test_replaced_by_a_group_of_another_type(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """The broker would delete an Empty share group of that name too; nobody planned that."""
    admin.add("g", state="Empty", lag=5)
    made = await plan(admin, ["g"])
    admin.add("g", "share", state="Empty")
    result = (await execute(admin, made, folder)).by_group["g"]
    assert (result.status, result.reason) == (
        DeletionStatus.REFUSED,
        "the group was a classic group in the plan but is a share group now",
    )
    assert sends(admin) == []


async def test_vanished_before_the_send(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """Another deleted it: not sent, not a success of ours."""
    admin.add("g", state="Empty", lag=5)
    made = await plan(admin, ["g"])
    admin.groups.clear()
    admin.descriptions.clear()
    results = await execute(admin, made, folder)
    assert results.by_group["g"].status is DeletionStatus.GONE
    assert results.exit_code == 1
    assert sends(admin) == []


async def test_vanished_at_the_send(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """The broker answers 69."""
    admin.add("g", state="Empty", lag=5)
    on_call(admin, "delete_groups", admin.groups.clear)
    assert (await delete(admin, folder, "g")).by_group["g"].status is DeletionStatus.GONE


async def test_coordinator_moved_for_good(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """A certain no of the broker that the admin could not get round: failed, sent once, still there."""
    admin.add("g", state="Empty", lag=5)
    fault = Fault("NOT_COORDINATOR", "This is not the correct coordinator.", 16, group="g")
    admin.delete_outcomes["g"] = Outcome("g", fault)
    results = await delete(admin, folder, "g")
    assert results.by_group["g"].status is DeletionStatus.FAILED
    assert results.exit_code == 1
    assert len(sends(admin)) == 1


async def test_coordinator_moved_before_the_check(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """A group described by another broker than planned is the same group."""
    admin.add("g", state="Empty", lag=5)
    made = await plan(admin, ["g"])
    admin.add("g", state="Empty", lag=5, coordinator=2)
    assert (await execute(admin, made, folder)).exit_code == 0


async def test_answer_lost_and_deleted(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """Sent once; the cluster is asked what became of it."""
    admin.add("g", state="Empty", lag=5)
    admin.delete_outcomes["g"] = Outcome("g", LOST, uncertain=True)

    def carried_out() -> None:
        admin.groups.pop("g")
        admin.descriptions.pop("g")

    on_call(admin, "delete_groups", carried_out)
    result = (await delete(admin, folder, "g")).by_group["g"]
    assert (result.status, result.verified) == (DeletionStatus.DELETED, True)
    assert result.reason == "the answer was lost, but the group is gone"
    assert len(sends(admin)) == 1


async def test_answer_lost_and_still_there(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """The request may yet be carried out: uncertain, the backup is kept, the entry stays open."""
    admin.add("g", state="Empty", lag=5)
    admin.delete_outcomes["g"] = Outcome("g", LOST, uncertain=True)
    results = await delete(admin, folder, "g")
    result = results.by_group["g"]
    assert result.status is DeletionStatus.UNCERTAIN
    assert results.exit_code == 1
    assert len(sends(admin)) == 1
    ((entry,), _) = read_entries(folder.audit)
    assert entry.outcome is None
    assert result.backup is not None
    assert result.backup.exists()


async def test_a_send_that_raises_is_uncertain(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """Whether the request left is not known, so it counts as sent."""
    admin.add("g", state="Empty", lag=5)

    async def timed_out(groups: object, *, timeout: float = 30.0) -> object:
        raise DeadlineError("no answer in 30 s", broker=1)

    admin.delete_groups = timed_out  # type: ignore[assignment,method-assign]
    assert (await delete(admin, folder, "g")).by_group["g"].status is DeletionStatus.UNCERTAIN


async def test_a_send_that_is_cancelled_from_below(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """A connection closed under the request: still one result for the group, and the entry stays open."""
    admin.add("g", state="Empty", lag=5)

    async def closed(groups: object, *, timeout: float = 30.0) -> object:
        raise asyncio.CancelledError

    admin.delete_groups = closed  # type: ignore[assignment,method-assign]
    assert (await delete(admin, folder, "g")).by_group["g"].status is DeletionStatus.UNCERTAIN
    ((entry,), _) = read_entries(folder.audit)
    assert entry.outcome is None


async def test_not_there_is_proved_by_a_whole_list_only(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """`Dead` of an old describe proves nothing; a list with a broker missing neither."""
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
    assert "could not be verified" in result.reason


async def test_success_that_is_not_true(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """The broker says done and the group is there: told as a failure."""
    admin.add("g", state="Empty", lag=5)
    admin.delete_outcomes["g"] = Outcome("g")
    result = (await delete(admin, folder, "g")).by_group["g"]
    assert result.status is DeletionStatus.FAILED
    assert "the group exists" in result.reason


async def test_forbidden_by_the_broker(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """Code 30 names the ACL."""
    admin.add("g", state="Empty", lag=5)
    admin.delete_outcomes["g"] = Outcome("g", Fault("GROUP_AUTHORIZATION_FAILED", "", 30, group="g"))
    result = (await delete(admin, folder, "g")).by_group["g"]
    assert result.status is DeletionStatus.REFUSED
    assert "ACL operation DELETE" in result.reason


async def test_offsets_forbidden_since_the_plan(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """The backup is made of what is read now."""
    admin.add("g", state="Empty", lag=5)
    made = await plan(admin, ["g"])
    admin.commits["g"] = (CommittedOffset("t-g", 0, None, error=29),)
    result = (await execute(admin, made, folder)).by_group["g"]
    assert (result.status, result.entry) == (DeletionStatus.REFUSED, None)
    assert sends(admin) == []


async def test_a_state_folder_that_cannot_be_written(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """Refused before anything is sent."""
    folder.path.write_text("a file where the folder should be")
    admin.add("g", state="Empty", lag=5)
    results = await delete(admin, folder, "g")
    assert results.by_group["g"].status is DeletionStatus.REFUSED
    assert "cannot be written" in results.by_group["g"].reason
    assert results.exit_code == 4
    assert sends(admin) == []


@pytest.mark.parametrize("step", ["write_backup", "write_intent"])
async def test_a_full_disk(
    admin: ScriptedAdmin, folder: StateFolder, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """No space for the backup or for the intent: refused, nothing sent, no half backup left."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"kgtui.actions.execute.{step}", full)
    admin.add("g", state="Empty", lag=5)
    result = (await delete(admin, folder, "g")).by_group["g"]
    assert result.status is DeletionStatus.REFUSED
    assert "No space left on device" in result.reason
    assert sends(admin) == []
    assert list_backups(folder) == ([], [])


async def test_an_outcome_that_cannot_be_logged(
    admin: ScriptedAdmin, folder: StateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was deleted, and that is said, with what is missing."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kgtui.actions.execute.write_outcome", full)
    admin.add("g", state="Empty", lag=5)
    result = (await delete(admin, folder, "g")).by_group["g"]
    assert result.status is DeletionStatus.DELETED
    assert "could not be logged" in result.reason


async def test_many_groups_have_one_result_each(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """In batches per coordinator; a live one among them, one with an error, one gone; told as they end."""
    names = [f"g-{number:03}" for number in range(3 * BATCH)]
    for number, name in enumerate(names):
        admin.add(name, state="Empty", lag=number, coordinator=1 + number % 3)
    admin.add("g-007", members=(member(),))
    made = await plan(admin, names)
    del admin.groups["g-011"], admin.descriptions["g-011"]
    admin.delete_outcomes["g-013"] = Outcome("g-013", Fault("GROUP_DELETION_FAILED", "Failed.", 134, group="g-013"))
    told: list[GroupResult] = []
    results = await execute(admin, made, folder, on_result=told.append)
    assert list(results.by_group) == names
    odd = {
        name: result.status for name, result in results.by_group.items() if result.status is not DeletionStatus.DELETED
    }
    assert odd == {"g-007": DeletionStatus.REFUSED, "g-011": DeletionStatus.GONE, "g-013": DeletionStatus.FAILED}
    assert sorted(result.group for result in told) == names
    assert max(len(groups) for groups in sends(admin)) <= BATCH
    assert len(list_backups(folder)[0]) == len(names) - 1


async def test_a_slow_coordinator_delays_its_own_groups_only(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """Broker 2 does not answer the delete; broker 1's group is finished meanwhile."""
    admin.add("fast", state="Empty", coordinator=1)
    admin.add("slow", state="Empty", coordinator=2)
    made = await plan(admin, ["fast", "slow"])
    held, fast_done = asyncio.Event(), asyncio.Event()
    asked = admin._record_call

    async def hold(name: str, groups: Iterable[str] = ()) -> None:
        mine = tuple(groups)
        await asked(name, mine)
        if name == "delete_groups" and "slow" in mine:
            await held.wait()

    admin._record_call = hold  # type: ignore[assignment,method-assign]
    running = asyncio.create_task(execute(admin, made, folder, on_result=lambda _: fast_done.set()))
    await asyncio.wait_for(fast_done.wait(), 10)
    assert "fast" not in admin.groups
    assert not running.done()
    held.set()
    assert (await running).exit_code == 0


async def test_look_alikes_are_kept_apart(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """The one asked for goes, its twin stays."""
    admin.add("payment", state="Empty", lag=1)
    admin.add("p\u0430yment", state="Empty", lag=1)
    await delete(admin, folder, "p\u0430yment")
    assert set(admin.groups) == {"payment"}


HOSTILE = ["[/red]", "a\nb", "../../etc/passwd", "\x1b[31mred", "x" * 32_000, "\u202eevil", "", "\udcff"]


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name)[:20])
async def test_hostile_names(admin: ScriptedAdmin, folder: StateFolder, name: str) -> None:
    """Deleted and backed up like any other, in a file of the backups folder, under its exact name."""
    admin.add(name, state="Empty")
    result = (await delete(admin, folder, name)).by_group[name]
    assert result.status is DeletionStatus.DELETED
    assert result.backup is not None
    assert result.backup.parent == folder.backups
    assert list_backups(folder)[0][0].group == name
    assert read_entries(folder.audit)[0][0].group == name
    assert folder.audit.read_bytes().isascii()


async def test_an_empty_plan_does_nothing(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """Not even the state folder is made."""
    results = await execute(admin, Plan((), 0.0), folder)
    assert results.exit_code == 0
    assert not folder.path.exists()
    assert admin.calls == []
