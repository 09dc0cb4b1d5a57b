"""Tests that a recording contains the permissions of the user who made it, and that replays use these permissions."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kgtui.cli import main
from kgtui.errors import UnreachableError
from kgtui.history import RecordingReader, ReplayAdmin
from kgtui.history.recorded_access import AccessRecorder, load_access
from kgtui.lake.folder import LakeFolder
from kgtui.model.access import FULL_ACCESS, Access
from tests.scripted import ScriptedAdmin
from tests.unit.history.test_recorder import recording, scripted, until

if TYPE_CHECKING:
    from pathlib import Path

ONLY_GROUPS = Access(frozenset({"DESCRIBE"}), any_topic=False)


async def record(lake: Path, access: Access) -> None:
    """Record a cluster as a user with the permissions `access`. The group `quiet` in this cluster has no offsets."""
    admin = scripted()
    admin.add("quiet", "consumer")
    admin.user_access = access
    async with recording(lake, admin) as (made, _):
        await until(lambda: made.status.polls >= 2)
    assert [call for call, _ in admin.calls].count("access") >= 1


async def test_a_replay_returns_the_permissions_of_the_user_who_made_the_recording(tmp_path: Path) -> None:
    await record(tmp_path / "lake", ONLY_GROUPS)
    replay = await ReplayAdmin.open(RecordingReader(tmp_path / "lake"))
    assert await replay.access() == ONLY_GROUPS
    (tmp_path / "lake" / "access.json").unlink()
    assert await replay.access() == replace(FULL_ACCESS, any_topic=False)


@pytest.mark.parametrize(
    ("access", "lacks"),
    [
        (FULL_ACCESS, None),
        (ONLY_GROUPS, "leave out the topics that"),
        (Access(frozenset(), any_topic=False), "leave out the groups and topics that"),
    ],
)
async def test_recorder_reports_once_that_a_recording_may_be_incomplete(
    tmp_path: Path, access: Access, lacks: str | None
) -> None:
    """Brokers hide topics and groups that the user is not allowed to describe, so a recording may lack them.

    The message says whether only topics may be missing (`ONLY_GROUPS`), or both groups and topics (no permissions). A
    user with all permissions gets no message.
    """
    admin = scripted()
    admin.user_access = access
    async with recording(tmp_path / "lake", admin) as (made, messages):
        await until(lambda: made.status.polls >= 3)
    found = [message for message in messages if "the recording may be incomplete" in message]
    assert len(found) == (lacks is not None)
    assert all((lacks or "") in message for message in found)


async def test_recorder_stores_permissions_that_change_while_it_records(tmp_path: Path) -> None:
    folder, admin = LakeFolder.of(tmp_path), ScriptedAdmin(user_access=ONLY_GROUPS)
    recorder = AccessRecorder(admin, folder)
    denied = replace(FULL_ACCESS, denied_topics=frozenset({"payments", "pay-*"}))
    for access in (ONLY_GROUPS, FULL_ACCESS, denied, ONLY_GROUPS):
        admin.user_access = access
        await recorder.record(timeout=1)
        assert load_access(folder) == access


async def test_recorder_reads_permissions_again_after_the_first_read_failed(tmp_path: Path) -> None:
    class Gone(ScriptedAdmin):
        async def access(self, *, max_age: float = 0.0, timeout: float = 30.0) -> Access:
            await super().access(max_age=max_age, timeout=timeout)
            if len(self.calls) == 1:
                raise UnreachableError("no broker answered")
            return ONLY_GROUPS

    folder, admin = LakeFolder.of(tmp_path), Gone()
    recorder = AccessRecorder(admin, folder)
    await recorder.record(timeout=1)
    assert load_access(folder) == FULL_ACCESS
    await recorder.record(timeout=1)
    assert load_access(folder) == ONLY_GROUPS


def test_kgtui_commands_warn_if_a_recording_may_lack_offsets(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    asyncio.run(record(tmp_path / "lake", ONLY_GROUPS))
    lake = ("--lake", str(tmp_path / "lake"))
    for words in (("ls", "--lag", "quiet"), ("show", "quiet"), ("check", "quiet")):
        capfd.readouterr()
        assert main([*words, *lake]) == 1
        assert "no offsets that you are allowed to see" in "".join(capfd.readouterr())
