"""Deleting through `kgtui.actions` and `kgtui delete`, on simulated clusters from 2.4 to 4.4 and on real brokers."""

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
from kgtui.actions.state_folder import StateFolder
from kgtui.actions.verification import unfinished
from kgtui.admin.kafka import connect
from tests.contract import mirror
from tests.contract.subject import NEWEST, PARAMS
from tests.contract.victims import COMMITTED, Ground, grounds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.brokers.cluster import Cluster
    from tests.brokers.live import Live
    from tests.brokers.secure import Secure


@pytest.fixture
def folder(tmp_path: Path) -> StateFolder:
    """Where backups and the log go."""
    return StateFolder(tmp_path / "state")


@pytest.fixture(params=PARAMS)
async def ground(request: pytest.FixtureRequest) -> AsyncIterator[Ground]:
    """Each cluster in turn."""
    async for ground in grounds(request.param, request, every_record_type=False):
        yield ground


@pytest.fixture(params=PARAMS)
async def with_victims(request: pytest.FixtureRequest) -> AsyncIterator[Ground]:
    """Each cluster in turn, with an Empty group of every kind that it has."""
    async for ground in grounds(request.param, request, every_record_type=True):
        yield ground


async def test_empty_groups_of_every_record_type_are_deleted(with_victims: Ground, folder: StateFolder) -> None:
    """Classic, Connect, simple, consumer, share and streams groups: backed up, gone, verified, and nothing else is."""
    admin, victims = with_victims.admin, with_victims.victims
    before = set((await admin.list_groups()).rows)
    made = await plan(admin, victims)
    assert {line.group: getattr(line, "reason", "") for line in made.refused} == {}
    assert {line.group: line.type for line in made.allowed} == victims
    losses = {line.group: line.loss for line in made.allowed}
    for group in victims.keys() - {"victim-connect", "victim-share", "victim-streams"}:
        assert (losses[group].partitions, losses[group].positions) == (3, 3 * COMMITTED), group
        assert losses[group].undo is Undo.PARTLY
    for group in victims.keys() & {"victim-share", "victim-streams"}:
        assert losses[group].partitions > 0
    assert losses["victim-connect"].undo is Undo.RESTORABLE
    results = await execute(admin, made, folder)
    assert {r.group: (r.status, r.verified, r.reason) for r in results.by_group.values()} == dict.fromkeys(
        victims, (DeletionStatus.DELETED, True, "")
    )
    assert set((await admin.list_groups()).rows) == before - victims.keys()
    backups, faults = list_backups(folder)
    assert faults == []
    assert {backup.group: backup.offsets for backup in backups} == {g: loss.partitions for g, loss in losses.items()}
    assert all(backup.complete for backup in backups)
    assert await unfinished(admin, folder) == ()


async def test_live_groups_are_refused(ground: Ground, folder: StateFolder) -> None:
    """Each with its state, its members and what to do; nothing is sent, nothing is written."""
    live = {group.id: group for group in ground.live}
    made = await plan(ground.admin, [*live, "no-such-group"])
    assert made.allowed == ()
    reasons = {line.group: line.reason for line in made.refused}
    assert reasons.pop("no-such-group") == "no group has this id"
    for group, reason in reasons.items():
        count = live[group].members
        assert reason.startswith(f"Stable with {count} member{'' if count == 1 else 's'}: stop "), group
        assert ("session times out" in reason) == bool(live[group].instance_ids), group
    assert (await execute(ground.admin, made, folder)).exit_code == 4
    assert not folder.path.exists()
    states = {group: row.state for group, row in (await ground.admin.list_groups()).rows.items()}
    assert {states[group] for group in live} == {"Stable"}


async def test_a_group_that_became_active_in_between_is_refused(ground: Ground, folder: StateFolder) -> None:
    """An application joins between the plan and its execution, and keeps its group and its offsets."""
    ground.make_simple("awakened")
    made = await plan(ground.admin, ["awakened"])
    assert [line.group for line in made.allowed] == ["awakened"]
    with ground.joined("awakened"):
        result = (await execute(ground.admin, made, folder)).by_group["awakened"]
        assert result.status is DeletionStatus.REFUSED
        assert "changed since the plan: Stable with 1 member" in result.reason
    ((entry,), _) = read_entries(folder.audit)
    assert entry.outcome is not None
    assert entry.outcome["result"] == "refused"
    assert (await execute(ground.admin, await plan(ground.admin, ["awakened"]), folder)).exit_code == 0


async def test_a_group_that_another_deleted_is_gone(ground: Ground, folder: StateFolder) -> None:
    """Not counted as ours."""
    ground.make_simple("raced")
    made = await plan(ground.admin, ["raced"])
    await ground.admin.delete_groups(["raced"])
    assert (await execute(ground.admin, made, folder)).by_group["raced"].status is DeletionStatus.GONE


async def test_a_delete_cut_short_is_found_out_later(ground: Ground, folder: StateFolder) -> None:
    """The session ends right after sending: the next one looks, and logs what it finds."""
    ground.make_simple("interrupted")
    made = await plan(ground.admin, ["interrupted"])
    delete, sent = ground.admin.delete_groups, asyncio.Event()

    async def cut_short(groups: Any, *, timeout: float = 30.0) -> Any:
        await delete(groups)
        sent.set()
        await asyncio.Event().wait()

    ground.admin.delete_groups = cut_short  # type: ignore[method-assign]
    running = asyncio.create_task(execute(ground.admin, made, folder))
    await asyncio.wait_for(sent.wait(), 30)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    (result,) = await unfinished(ground.admin, folder)
    assert (result.group, result.status, result.verified) == ("interrupted", DeletionStatus.DELETED, True)


async def test_the_broker_goes_silent_as_it_is_sent(folder: StateFolder) -> None:
    """Nobody knows what became of it: told so, sent once, and found out when the broker is back."""
    async with mirror.simulator("4.4") as cluster:
        mirror.empty_group(cluster, "silenced")
        async with connect(cluster.bootstrap.split(",")) as admin:
            made = await plan(admin, ["silenced"])
            delete, sent = admin.delete_groups, 0

            async def silenced(groups: Any, *, timeout: float = 30.0) -> Any:
                nonlocal sent
                sent += 1
                cluster.faults.black_hole(cluster.state.coordinator("silenced"))
                return await delete(groups, timeout=timeout)

            admin.delete_groups = silenced  # type: ignore[method-assign]
            result = (await execute(admin, made, folder, timeout=1)).by_group["silenced"]
            assert (result.status, sent) == (DeletionStatus.UNCERTAIN, 1)
            assert await unfinished(admin, folder, timeout=1) == ()
            cluster.faults.clear()
        async with connect(cluster.bootstrap.split(",")) as admin:
            (found,) = await unfinished(admin, folder)
            assert found.status is (
                DeletionStatus.DELETED if cluster.state.find("silenced") is None else DeletionStatus.FAILED
            )


async def test_the_coordinator_moves_before_it_is_sent(folder: StateFolder) -> None:
    """The old coordinator refuses; the new one is found and does it."""
    async with mirror.simulator("4.4") as cluster:
        mirror.empty_group(cluster, "moved")
        async with connect(cluster.bootstrap.split(",")) as admin:
            made = await plan(admin, ["moved"])
            cluster.state.move_coordinator("moved", cluster.state.coordinator("moved") % 3 + 1)
            assert (await execute(admin, made, folder)).by_group["moved"].status is DeletionStatus.DELETED
            mirror.empty_group(cluster, "moved")
            made = await plan(admin, ["moved"])
            delete = admin.delete_groups

            async def moving(groups: Any, *, timeout: float = 30.0) -> Any:
                cluster.state.move_coordinator("moved", cluster.state.coordinator("moved") % 3 + 1)
                return await delete(groups, timeout=timeout)

            admin.delete_groups = moving  # type: ignore[method-assign]
            assert (await execute(admin, made, folder)).by_group["moved"].status is DeletionStatus.DELETED


@pytest.fixture(params=NEWEST)
async def newest(request: pytest.FixtureRequest) -> AsyncIterator[Ground]:
    """The newest of each kind of cluster."""
    async for ground in grounds(request.param, request, every_record_type=False):
        yield ground


def environment(folder: StateFolder) -> dict[str, str]:
    """With folders of the test's own."""
    return os.environ | {
        "KGTUI_STATE_DIR": str(folder.path),
        "KGTUI_CONFIG_DIR": str(folder.path.parent / "config"),
    }


async def kgtui(folder: StateFolder, *words: str, typed: str = "") -> tuple[int, str, str]:
    """Run the program in a process of its own: exit code, stdout, stderr."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "kgtui", *words,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env=environment(folder),
    )  # fmt: skip
    out, errors = await asyncio.wait_for(process.communicate(typed.encode()), 60)
    assert process.returncode is not None
    return process.returncode, out.decode(), errors.decode()


async def test_the_command_deletes_what_matches(newest: Ground, folder: StateFolder) -> None:
    """A dry run changes nothing; a wrong number neither; the right one does; the log shows it."""
    for name in ("cmd-one", "cmd-two"):
        newest.make_simple(name)
    words = ("delete", "/^cmd-/", "--bootstrap-server", newest.bootstrap)
    code, out, errors = await kgtui(folder, *words, "--dry-run")
    assert (code, errors) == (0, "")
    assert "DeleteGroups" in out
    code, _, errors = await kgtui(folder, *words, "--yes", "--expect", "1")
    assert code == 4
    assert "2 groups match, and 1 were expected" in errors
    code, _, errors = await kgtui(folder, *words, typed="2\n")
    assert code == 4
    assert "not on a terminal" in errors
    code, out, _ = await kgtui(folder, *words, "--yes", "--expect", "2", "--format", "json")
    assert code == 0
    assert {line["group"]: line["result"] for line in json.loads(out)["results"]} == {
        "cmd-one": "deleted",
        "cmd-two": "deleted",
    }
    code, out, _ = await kgtui(folder, "audit")
    assert code == 0
    assert out.count("deleted") == 2


async def test_the_name_is_typed_on_a_terminal(newest: Ground, folder: StateFolder) -> None:
    """With a real terminal: the wrong name is refused, the right one deletes."""
    newest.make_simple("typed-by-hand")
    words = ("delete", "--group", "typed-by-hand", "--bootstrap-server", newest.bootstrap)
    code, shown = await asyncio.to_thread(on_terminal, folder, "typed-by-hant\n", *words)
    assert (code, "that is something else" in shown) == (4, True)
    code, shown = await asyncio.to_thread(on_terminal, folder, "typed-by-hand\n", *words)
    assert "Type its name to go on, typed-by-hand :" in shown
    assert code == 0


def on_terminal(folder: StateFolder, typed: str, *words: str) -> tuple[int, str]:
    """Run the program on a terminal of its own: exit code, and all that it showed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "kgtui", *words], stdin=theirs, stdout=theirs, stderr=theirs, env=environment(folder)
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # the terminal's other end is closed
        pass
    os.close(ours)
    return process.wait(60), shown.decode()


async def test_the_command_refuses_live_groups(newest: Ground, folder: StateFolder) -> None:
    """Exit code 4 and why; read-only refuses before that."""
    group = next(group for group in newest.live if group.type == "share")
    words = ("delete", "--group", group.id, "--bootstrap-server", newest.bootstrap, "--yes", "--expect", "1")
    code, out, _ = await kgtui(folder, *words)
    assert code == 4
    assert f"Stable with {group.members} members: stop them first" in out
    code, _, errors = await kgtui(folder, *words, "--read-only")
    assert code == 4
    assert "read-only" in errors


async def test_what_one_may_not_delete(secure_broker: Secure, folder: StateFolder) -> None:
    """A principal without DELETE is refused before anything is sent, and told which ACL is missing."""
    properties = _properties(secure_broker.command_config("viewer"))
    async with connect([secure_broker.sasl], properties) as admin:
        (line,) = (await plan(admin, ["team-b-app"])).lines
        assert (
            getattr(line, "reason", "")
            == "you need permission to delete it: ask for the ACL operation DELETE on this group"
        )
    properties = _properties(secure_broker.command_config("nobody"))
    async with connect([secure_broker.sasl], properties) as admin:
        (line,) = (await plan(admin, ["team-b-app"])).lines
        assert "ACL operation DESCRIBE on this Group is missing" in getattr(line, "reason", "")


async def test_what_one_may_delete(secure_broker: Secure, folder: StateFolder) -> None:
    """A principal with DELETE on its own groups deletes one of them, and none of another team."""
    secure_broker.cluster.commit("team-a-old", {("team-a-events", 0): 4})
    properties = _properties(secure_broker.command_config("team"))
    async with connect([secure_broker.sasl], properties) as admin:
        made = await plan(admin, ["team-a-old", "team-b-app"])
        assert [line.group for line in made.allowed] == ["team-a-old"]
        results = await execute(admin, made, folder)
        assert results.by_group["team-a-old"].status is DeletionStatus.DELETED
        assert results.by_group["team-b-app"].status is DeletionStatus.REFUSED


async def test_offsets_that_one_may_not_see_are_named(secure_broker: Secure) -> None:
    """The broker leaves out another team's topic without a word; the plan says that this may be so."""
    properties = _properties(secure_broker.command_config("team"))
    async with connect([secure_broker.sasl], properties) as admin:
        (line,) = (await plan(admin, ["team-a-and-b"])).allowed
        assert line.loss.partitions == 1
        assert "offsets in topics that you may not describe, if there are any" in line.loss.not_restored


def _properties(path: Path) -> dict[str, str]:
    from kgtui.config import read_properties

    return dict(read_properties(path))


async def test_kafkas_own_tool_reads_the_csv(live: Live, folder: StateFolder) -> None:
    """`kafka-consumer-groups --reset-offsets --from-file` brings back exactly what was deleted."""
    offsets = {("orders", 0): 11, ("orders", 2): 33, ("trimmed", 0): 60}
    cluster: Cluster = live.cluster
    cluster.commit("to-be-restored", offsets)
    async with connect([live.bootstrap], {}) as admin:
        results = await execute(admin, await plan(admin, ["to-be-restored"]), folder)
        backup = results.by_group["to-be-restored"].backup
        assert backup is not None
        words = ["--reset-offsets", "--group", "to-be-restored", "--from-file", str(backup.with_suffix(".csv"))]
        done = await asyncio.to_thread(cluster.tool, "ConsumerGroupCommand", *words, "--execute")
        assert "Error" not in done.stdout + done.stderr
        rows = (await admin.committed_offsets(["to-be-restored"])).rows["to-be-restored"]
        assert {(row.topic, row.partition): row.offset for row in rows} == offsets
        await admin.delete_groups(["to-be-restored"])
