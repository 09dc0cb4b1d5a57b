"""Delete groups with `kgtui.actions` and `kgtui delete`, on simulated clusters (Kafka 2.4 to 4.4) and real brokers."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.actions.audit import read_entries
from kgtui.actions.backup import list_backups
from kgtui.actions.execute import execute
from kgtui.actions.plan import Undo, plan
from kgtui.actions.results import DeletionStatus
from kgtui.actions.verification import unfinished
from kgtui.admin.kafka import connect
from tests.contract import simulated_live_groups
from tests.contract.deletable_groups import COMMITTED, DeletionCluster, deletion_clusters
from tests.contract.target_cluster import NEWEST, PARAMS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from kgtui.config import StateFolder
    from tests.brokers.cluster import Cluster
    from tests.brokers.live import Live
    from tests.brokers.secure import Secure


@pytest.fixture(params=PARAMS)
async def deletion_cluster(request: pytest.FixtureRequest) -> AsyncIterator[DeletionCluster]:
    """Run a test once on each simulated and each real cluster. The test may delete only groups that it creates."""
    async for deletion_cluster in deletion_clusters(request.param, request, with_deletable=False):
        yield deletion_cluster


@pytest.fixture(params=PARAMS)
async def with_deletable(request: pytest.FixtureRequest) -> AsyncIterator[DeletionCluster]:
    """Run a test once on each cluster. The cluster has one deletable Empty group of each supported type."""
    async for deletion_cluster in deletion_clusters(request.param, request, with_deletable=True):
        yield deletion_cluster


async def test_empty_groups_of_every_type_are_backed_up_and_deleted(
    with_deletable: DeletionCluster, folder: StateFolder
) -> None:
    """Groups of every type are backed up and deleted, and kgtui verifies that they no longer exist.

    No other group is deleted.
    """
    admin, deletable = with_deletable.admin, with_deletable.deletable
    before = set((await admin.list_groups()).rows)
    planned = await plan(admin, deletable)
    assert {line.group: getattr(line, "reason", "") for line in planned.refused} == {}
    assert {line.group: line.type for line in planned.allowed} == deletable
    losses = {line.group: line.loss for line in planned.allowed}
    for group in deletable.keys() - {"deletable-connect", "deletable-share", "deletable-streams"}:
        assert (losses[group].partitions, losses[group].positions) == (3, 3 * COMMITTED), group
        assert losses[group].undo is Undo.PARTLY
    for group in deletable.keys() & {"deletable-share", "deletable-streams"}:
        assert losses[group].partitions > 0
    assert losses["deletable-connect"].undo is Undo.RESTORABLE
    results = await execute(admin, planned, folder)
    assert {r.group: (r.status, r.verified, r.reason) for r in results.by_group.values()} == dict.fromkeys(
        deletable, (DeletionStatus.DELETED, True, "")
    )
    assert set((await admin.list_groups()).rows) == before - deletable.keys()
    backups, faults = list_backups(folder)
    assert faults == []
    assert {backup.group: backup.offsets for backup in backups} == {g: loss.partitions for g, loss in losses.items()}
    assert all(backup.complete for backup in backups)
    assert await unfinished(admin, folder) == ()


async def test_deleting_groups_with_members_is_refused(deletion_cluster: DeletionCluster, folder: StateFolder) -> None:
    """The refusal contains the group's state, the number of its members, and what to do.

    No group is deleted and no file is written.
    """
    live = {group.id: group for group in deletion_cluster.live}
    planned = await plan(deletion_cluster.admin, [*live, "no-such-group"])
    assert planned.allowed == ()
    reasons = {line.group: line.reason for line in planned.refused}
    assert reasons.pop("no-such-group") == "no group has this id"
    for group, reason in reasons.items():
        count = live[group].members
        assert reason.startswith(f"Stable with {count} member{'' if count == 1 else 's'}: stop "), group
        assert ("session times out" in reason) == bool(live[group].instance_ids), group
    assert (await execute(deletion_cluster.admin, planned, folder)).exit_code == 4
    assert not folder.path.exists()
    states = {group: row.state for group, row in (await deletion_cluster.admin.list_groups()).rows.items()}
    assert {states[group] for group in live} == {"Stable"}


async def test_deletion_is_refused_if_a_member_joined_after_the_plan_was_made(
    deletion_cluster: DeletionCluster, folder: StateFolder
) -> None:
    """A member joins after the plan was made. After the member has left, a new plan can delete the group."""
    deletion_cluster.make_simple("awakened")
    planned = await plan(deletion_cluster.admin, ["awakened"])
    assert [line.group for line in planned.allowed] == ["awakened"]
    with deletion_cluster.joined("awakened"):
        result = (await execute(deletion_cluster.admin, planned, folder)).by_group["awakened"]
        assert result.status is DeletionStatus.REFUSED
        assert "changed after the deletion was planned: Stable with 1 member" in result.reason
    ((entry,), _) = read_entries(folder.audit)
    assert entry.outcome is not None
    assert entry.outcome["result"] == "refused"
    assert (
        await execute(deletion_cluster.admin, await plan(deletion_cluster.admin, ["awakened"]), folder)
    ).exit_code == 0


async def test_a_group_deleted_by_a_different_client_is_reported_as_gone(
    deletion_cluster: DeletionCluster, folder: StateFolder
) -> None:
    """A different client deletes the group after kgtui has made the plan and before kgtui executes the plan.

    The result then has the status GONE instead of DELETED.
    """
    deletion_cluster.make_simple("raced")
    planned = await plan(deletion_cluster.admin, ["raced"])
    await deletion_cluster.admin.delete_groups(["raced"])
    assert (await execute(deletion_cluster.admin, planned, folder)).by_group["raced"].status is DeletionStatus.GONE


async def test_the_next_run_finds_out_whether_an_interrupted_deletion_succeeded(
    deletion_cluster: DeletionCluster, folder: StateFolder
) -> None:
    """The first run is canceled after the broker has deleted the group, but before kgtui has recorded the result.

    The next run finds out that the group was deleted.
    """
    deletion_cluster.make_simple("interrupted")
    planned = await plan(deletion_cluster.admin, ["interrupted"])
    delete, sent = deletion_cluster.admin.delete_groups, asyncio.Event()

    async def cut_short(groups: Any, *, timeout: float = 30.0) -> Any:
        await delete(groups)
        sent.set()
        await asyncio.Event().wait()

    deletion_cluster.admin.delete_groups = cut_short  # type: ignore[method-assign]
    running = asyncio.create_task(execute(deletion_cluster.admin, planned, folder))
    await asyncio.wait_for(sent.wait(), 30)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    (result,) = await unfinished(deletion_cluster.admin, folder)
    assert (result.group, result.status, result.verified) == ("interrupted", DeletionStatus.DELETED, True)


async def test_a_deletion_has_an_uncertain_outcome_if_the_broker_is_silent(folder: StateFolder) -> None:
    """The broker does not respond to the delete request, and kgtui does not repeat the request.

    When the broker responds again, kgtui finds out whether the group was deleted.
    """
    async with simulated_live_groups.simulator("4.4") as cluster:
        simulated_live_groups.add_empty_group(cluster, "silenced")
        async with connect(cluster.bootstrap.split(",")) as admin:
            planned = await plan(admin, ["silenced"])
            delete, sent = admin.delete_groups, 0

            async def silenced(groups: Any, *, timeout: float = 30.0) -> Any:
                nonlocal sent
                sent += 1
                cluster.faults.black_hole(cluster.state.coordinator("silenced"))
                return await delete(groups, timeout=timeout)

            admin.delete_groups = silenced  # type: ignore[method-assign]
            result = (await execute(admin, planned, folder, timeout=1)).by_group["silenced"]
            assert (result.status, sent) == (DeletionStatus.UNCERTAIN, 1)
            assert await unfinished(admin, folder, timeout=1) == ()
            cluster.faults.clear()
        async with connect(cluster.bootstrap.split(",")) as admin:
            (found,) = await unfinished(admin, folder)
            assert found.status is (
                DeletionStatus.DELETED if cluster.state.find("silenced") is None else DeletionStatus.FAILED
            )


async def test_a_deletion_succeeds_although_the_coordinator_changes(folder: StateFolder) -> None:
    """The test creates and deletes the group twice, and each time moves the group to a different coordinator.

    The first time, the coordinator changes directly after the plan was made. The second time, it changes just before
    the delete request is sent.
    """
    async with simulated_live_groups.simulator("4.4") as cluster:
        simulated_live_groups.add_empty_group(cluster, "moved")
        async with connect(cluster.bootstrap.split(",")) as admin:
            planned = await plan(admin, ["moved"])
            cluster.state.move_coordinator("moved", cluster.state.coordinator("moved") % 3 + 1)
            assert (await execute(admin, planned, folder)).by_group["moved"].status is DeletionStatus.DELETED
            simulated_live_groups.add_empty_group(cluster, "moved")
            planned = await plan(admin, ["moved"])
            delete = admin.delete_groups

            async def moving(groups: Any, *, timeout: float = 30.0) -> Any:
                cluster.state.move_coordinator("moved", cluster.state.coordinator("moved") % 3 + 1)
                return await delete(groups, timeout=timeout)

            admin.delete_groups = moving  # type: ignore[method-assign]
            assert (await execute(admin, planned, folder)).by_group["moved"].status is DeletionStatus.DELETED


@pytest.fixture(params=NEWEST)
async def newest(request: pytest.FixtureRequest) -> AsyncIterator[DeletionCluster]:
    """Run a test once with a simulated Kafka 4.4 cluster and once with a real Kafka 4.3.1 cluster."""
    async for deletion_cluster in deletion_clusters(request.param, request, with_deletable=False):
        yield deletion_cluster


def environment(folder: StateFolder) -> dict[str, str]:
    """Return a copy of the environment variables, with kgtui's configuration and state folder set to test folders."""
    return os.environ | {
        "KGTUI_STATE_DIR": str(folder.path),
        "KGTUI_CONFIG_DIR": str(folder.path.parent / "config"),
    }


async def kgtui(folder: StateFolder, *words: str, typed: str = "") -> tuple[int, str, str]:
    """Run kgtui in a child process with `typed` on stdin; return the exit code, stdout and stderr."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "kgtui", *words,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env=environment(folder),
    )  # fmt: skip
    out, errors = await asyncio.wait_for(process.communicate(typed.encode()), 60)
    assert process.returncode is not None
    return process.returncode, out.decode(), errors.decode()


async def test_the_delete_command_deletes_all_matching_groups(newest: DeletionCluster, folder: StateFolder) -> None:
    """Only the last of four `kgtui delete` commands deletes the groups.

    The others have `--dry-run`, a wrong number of groups in `--expect`, or no terminal for the confirmation.
    """
    for name in ("cmd-one", "cmd-two"):
        newest.make_simple(name)
    words = ("delete", "/^cmd-/", "--bootstrap-server", newest.bootstrap)
    code, out, errors = await kgtui(folder, *words, "--dry-run")
    assert (code, errors) == (0, "")
    assert "DeleteGroups" in out
    code, _, errors = await kgtui(folder, *words, "--yes", "--expect", "1")
    assert code == 4
    assert "2 groups match, but --expect is 1" in errors
    code, _, errors = await kgtui(folder, *words, typed="2\n")
    assert code == 4
    assert "there is no terminal to confirm on" in errors
    code, out, _ = await kgtui(folder, *words, "--yes", "--expect", "2", "--format", "json")
    assert code == 0
    assert {line["group"]: line["result"] for line in json.loads(out)["results"]} == {
        "cmd-one": "deleted",
        "cmd-two": "deleted",
    }
    code, out, _ = await kgtui(folder, "audit")
    assert code == 0
    assert out.count("deleted") == 2


async def test_a_deletion_is_confirmed_by_typing_the_group_id(newest: DeletionCluster, folder: StateFolder) -> None:
    """On a terminal, kgtui asks for the group id. If the typed id is wrong, kgtui does not delete the group."""
    newest.make_simple("typed-by-hand")
    words = ("delete", "--group", "typed-by-hand", "--bootstrap-server", newest.bootstrap)
    code, shown = await asyncio.to_thread(on_terminal, folder, "typed-by-hant\n", *words)
    assert (code, "the confirmation does not match" in shown) == (4, True)
    code, shown = await asyncio.to_thread(on_terminal, folder, "typed-by-hand\n", *words)
    assert "To confirm, type the group id: typed-by-hand\r\n> " in shown
    assert code == 0


def on_terminal(folder: StateFolder, typed: str, *words: str) -> tuple[int, str]:
    """Run kgtui on a pseudo-terminal, and type the text `typed`; return the exit code and the output."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "kgtui", *words],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=environment(folder),
    )
    os.close(terminal)
    os.write(controller, typed.encode())
    shown = b""
    try:
        while part := os.read(controller, 65536):
            shown += part
    except OSError:  # `os.read` raises this error when the child process has closed the pseudo-terminal.
        pass
    os.close(controller)
    return process.wait(60), shown.decode()


async def test_the_delete_command_refuses_groups_with_members(newest: DeletionCluster, folder: StateFolder) -> None:
    """`kgtui delete` prints the reason, and returns the exit code 4.

    With `--read-only`, kgtui refuses the deletion before it reads any group.
    """
    group = next(group for group in newest.live if group.type == "share")
    words = ("delete", "--group", group.id, "--bootstrap-server", newest.bootstrap, "--yes", "--expect", "1")
    code, out, _ = await kgtui(folder, *words)
    assert code == 4
    assert f"Stable with {group.members} members: stop them first" in out
    code, _, errors = await kgtui(folder, *words, "--read-only")
    assert code == 4
    assert "read-only" in errors


async def test_deletion_without_the_required_acl_is_refused(secure_broker: Secure, folder: StateFolder) -> None:
    """The plan refuses the deletion, and names the missing operation: DELETE for `viewer`, DESCRIBE for `nobody`."""
    properties = _properties(secure_broker.command_config("viewer"))
    async with connect([secure_broker.sasl], properties) as admin:
        (line,) = (await plan(admin, ["team-b-app"])).lines
        assert (
            getattr(line, "reason", "")
            == "you need permission to delete the group: ask for the ACL operation DELETE on this group"
        )
    properties = _properties(secure_broker.command_config("nobody"))
    async with connect([secure_broker.sasl], properties) as admin:
        (line,) = (await plan(admin, ["team-b-app"])).lines
        assert "ask for the ACL operation DESCRIBE on this group" in getattr(line, "reason", "")


async def test_a_principal_can_delete_only_groups_on_which_it_has_delete_permission(
    secure_broker: Secure, folder: StateFolder
) -> None:
    """The principal `team` has DELETE permission only on the groups `team-a-*`.

    The principal can delete the group `team-a-old`, but not the group `team-b-app`.
    """
    secure_broker.cluster.commit("team-a-old", {("team-a-events", 0): 4})
    properties = _properties(secure_broker.command_config("team"))
    async with connect([secure_broker.sasl], properties) as admin:
        planned = await plan(admin, ["team-a-old", "team-b-app"])
        assert [line.group for line in planned.allowed] == ["team-a-old"]
        results = await execute(admin, planned, folder)
        assert results.by_group["team-a-old"].status is DeletionStatus.DELETED
        assert results.by_group["team-b-app"].status is DeletionStatus.REFUSED


async def test_the_deletion_plan_warns_that_missing_permissions_can_hide_offsets(secure_broker: Secure) -> None:
    """The user lacks DESCRIBE on the topic of a different team.

    The broker omits the offsets in this topic without an error, so the backup could be incomplete.
    """
    properties = _properties(secure_broker.command_config("team"))
    async with connect([secure_broker.sasl], properties) as admin:
        (line,) = (await plan(admin, ["team-a-and-b"])).allowed
        assert line.loss.partitions == 1
        assert "any offsets in topics on which you have no DESCRIBE permission" in line.loss.not_restored


def _properties(path: Path) -> dict[str, str]:
    from kgtui.config import read_properties

    return dict(read_properties(path))


async def test_the_kafka_consumer_groups_tool_restores_offsets_from_the_csv_backup(
    live: Live, folder: StateFolder
) -> None:
    """`kafka-consumer-groups --reset-offsets --from-file` restores exactly the offsets that were deleted."""
    offsets = {("orders", 0): 11, ("orders", 2): 33, ("trimmed", 0): 60}
    cluster: Cluster = live.cluster
    cluster.commit("to-be-restored", offsets)
    async with connect([live.bootstrap], {}) as admin:
        results = await execute(admin, await plan(admin, ["to-be-restored"]), folder)
        backup = results.by_group["to-be-restored"].backup
        assert backup is not None
        words = ["--reset-offsets", "--group", "to-be-restored", "--from-file", str(backup.with_suffix(".csv"))]
        done = await asyncio.to_thread(cluster.tool, "ConsumerGroupCommand", *words, "--execute")
        assert "Error" not in done.out + done.err
        rows = (await admin.committed_offsets(["to-be-restored"])).rows["to-be-restored"]
        assert {(row.topic, row.partition): row.offset for row in rows} == offsets
        await admin.delete_groups(["to-be-restored"])
