"""Tests of the retention times of topics and committed offsets, which a recorder stores in the recording's folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.errors import UnreachableError
from kgtui.history import RecordingReader
from kgtui.history.recorder import RetentionRefresher
from kgtui.history.replay import ReplayAdmin
from kgtui.lake.folder import LakeFolder, load_retention, update_retention
from kgtui.model.answer import Answer, Fault
from kgtui.model.cluster import Retention
from tests.scripted import ScriptedAdmin
from tests.unit.history.test_recorder import recording, scripted, until

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

HOUR, DAY = 3_600.0, 86_400.0


@pytest.fixture
def folder(tmp_path: Path) -> LakeFolder:
    folder = LakeFolder.of(tmp_path / "lake")
    folder.prepare()
    return folder


def test_newest_retention_time_of_each_topic_is_stored_in_the_lake(folder: LakeFolder) -> None:
    assert load_retention(folder) == Retention()
    update_retention(folder, Retention({"a": HOUR, "caf\udce9": DAY}, DAY), {"a", "caf\udce9"})
    assert load_retention(folder) == Retention({"a": HOUR, "caf\udce9": DAY}, DAY)
    # The second response is about the topics `a` and `b`. It has no retention time of `a`, so the stored time of `a` is
    # removed. It has no retention time of committed offsets, either, but the stored one is kept.
    update_retention(folder, Retention({"b": HOUR}), {"a", "b"})
    assert load_retention(folder) == Retention({"b": HOUR, "caf\udce9": DAY}, DAY)
    assert (folder.local_path / "retention.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"topics": {"a": "x"}, "offsets": 1}', '{"topics": 1, "offsets": 1}']
)
def test_damaged_retention_file_is_treated_as_empty(folder: LakeFolder, text: str) -> None:
    (folder.local_path / "retention.json").write_text(text)
    assert load_retention(folder) == Retention()
    update_retention(folder, Retention({}, DAY), ())
    assert load_retention(folder) == Retention({}, DAY)


async def test_retention_times_are_read_from_the_cluster_again_after_ten_minutes(folder: LakeFolder) -> None:
    admin = ScriptedAdmin()
    admin.topic_retention = Retention({"a": HOUR}, DAY)
    refresher = RetentionRefresher(admin, folder)
    await refresher.refresh((), now=0.0, timeout=1)
    assert refresher.due(1.0), "no topics have been requested yet"
    await refresher.refresh({"a", "b"}, now=1.0, timeout=1)
    assert load_retention(folder) == admin.topic_retention
    assert not refresher.due(600.0)
    assert refresher.due(601.0)


async def test_stored_retention_times_are_kept_if_the_cluster_returns_errors(folder: LakeFolder) -> None:
    update_retention(folder, Retention({"a": HOUR}, DAY), {"a"})

    class Refused(ScriptedAdmin):
        async def retention(self, topics: Iterable[str], *, timeout: float = 30.0) -> Answer[Retention]:
            return Answer(Retention(), (Fault("TOPIC_AUTHORIZATION_FAILED", "not permitted"),))

    await RetentionRefresher(Refused(), folder).refresh({"a"}, now=0.0, timeout=1)

    class Gone(ScriptedAdmin):
        async def retention(self, topics: Iterable[str], *, timeout: float = 30.0) -> Answer[Retention]:
            raise UnreachableError("nobody answers")

    await RetentionRefresher(Gone(), folder).refresh({"a"}, now=0.0, timeout=1)
    assert load_retention(folder) == Retention({"a": HOUR}, DAY)


async def test_a_replay_returns_the_retention_times_stored_in_the_lake(tmp_path: Path) -> None:
    admin = scripted()
    topics = {topic for topic, _ in admin.bounds}
    assert topics
    admin.topic_retention = Retention(dict.fromkeys(topics, HOUR), DAY)
    async with recording(tmp_path / "lake", admin) as (made, _):
        await until(lambda: made.status.polls >= 2)
    replay = await ReplayAdmin.open(RecordingReader(tmp_path / "lake"))
    topic = min(topics)
    assert (await replay.retention([topic, "other"])).rows == Retention({topic: HOUR}, DAY)
    (tmp_path / "lake" / "retention.json").unlink()
    (fault,) = (await replay.retention([topic])).faults
    assert "no retention times" in fault.message
