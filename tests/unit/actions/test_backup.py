"""Tests of backups: they are complete, only their owner can read them, and they are written before the deletion."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kgtui.actions.backup import backup_path, list_backups, read_backup, write_backup
from kgtui.actions.execute import execute
from kgtui.actions.group_data import GroupData
from kgtui.actions.plan import plan
from kgtui.errors import UsageError
from kgtui.model.answer import Fault
from kgtui.model.cluster import ClusterInfo
from kgtui.model.group import GroupConfig, GroupDescription
from kgtui.model.offsets import CommittedOffset, GroupOffsets, PartitionBounds, ShareOffset

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kgtui.config import StateFolder
    from tests.scripted import ScriptedAdmin

CLUSTER = ClusterInfo("cluster-1", seeds=("b:9092",))
CONFIG = GroupConfig("consumer.session.timeout.ms", "50000", "DYNAMIC_GROUP_CONFIG", type="INT")
COMMITTED = (
    CommittedOffset("orders", 0, 7, 3, "AgAAAaH8zkW1"),
    CommittedOffset("orders", 1, None),
    CommittedOffset("old", 0, 9),
)
GONE = PartitionBounds(None, None, 3)
BOUNDS = {("orders", 0): PartitionBounds(1, 20), ("old", 0): GONE}


def consumer(group: str = "g") -> GroupData:
    """Return the data of a consumer group with three partitions and one group config.

    One partition has no committed offset. Another partition belongs to a deleted topic.
    """
    described = GroupDescription(
        group, "consumer", "consumer", "Empty", 1, "uniform", 4, 4, operations=frozenset({"READ", "DELETE"})
    )
    return GroupData(described, GroupOffsets(COMMITTED, bounds=BOUNDS), (CONFIG,))


def share() -> GroupData:
    """Return the data of a share group whose configs could not be read."""
    described = GroupDescription("s", "share", "share", "Empty", 1, group_epoch=3, assignment_epoch=2)
    offsets = GroupOffsets(share=(ShareOffset("t", 0, 5, 1, 2), ShareOffset("t", 1, None)), bounds={})
    return GroupData(described, offsets, None, Fault("NOT_SUPPORTED", "no configs before 3.7"))


def write_a_backup(folder: StateFolder, data: GroupData) -> Path:
    """Write a backup of `data` with a fixed id and time, and return its path."""
    path = backup_path(folder, data.group, "0123456789abcdef", 1763712000.25)
    write_backup(path, data, CLUSTER, "0123456789abcdef", 1763712000.25)
    return path


def test_backup_contains_all_data_that_the_broker_reported(folder: StateFolder) -> None:
    """The backup includes leader and group epochs, commit metadata, log start and end offsets, and group configs.

    It also includes partitions without a committed offset.
    """
    backup = read_backup(write_a_backup(folder, consumer()))
    assert backup.complete
    assert backup.header["schema"] == 1
    assert backup.header["made_at"] == "2025-11-21T08:00:00.250Z"
    assert backup.header["cluster"] == {"id": "cluster-1", "seeds": ["b:9092"]}
    assert backup.header["description"]["group_epoch"] == 4
    assert backup.header["description"]["operations"] == ["DELETE", "READ"]
    assert backup.rows[0] == {
        "kind": "committed", "topic": "orders", "partition": 0, "offset": 7, "leader_epoch": 3,
        "metadata": "AgAAAaH8zkW1", "error": 0, "log": {"log_start": 1, "log_end": 20, "error": 0},
    }  # fmt: skip
    assert [row["kind"] for row in backup.rows] == ["committed"] * 3 + ["config"]
    assert backup.rows[3]["value"] == "50000"
    assert backup.offsets == 2


def test_backup_of_a_share_group_contains_share_partition_start_offsets(folder: StateFolder) -> None:
    """The backup also contains lags, leader epochs, and the reason why the group configs could not be read."""
    backup = read_backup(write_a_backup(folder, share()))
    assert backup.rows[0]["kind"] == "share"
    assert (backup.rows[0]["start_offset"], backup.rows[0]["lag"], backup.rows[0]["leader_epoch"]) == (5, 2, 1)
    assert backup.header["configs_fault"] == "no configs before 3.7"
    assert backup.offsets == 1
    assert backup.csv.read_text() == "t,0,5\n"


def test_csv_backup_has_the_format_of_the_kafka_consumer_groups_tool(folder: StateFolder) -> None:
    """Each line of the CSV file is `topic,partition,offset`, as `kafka-consumer-groups --from-file` requires.

    The file omits partitions without a committed offset and partitions that no longer exist.
    """
    assert read_backup(write_a_backup(folder, consumer())).csv.read_text() == "orders,0,7\n"


def test_csv_backup_omits_partitions_that_a_recreated_topic_no_longer_has(folder: StateFolder) -> None:
    offsets = GroupOffsets(
        (CommittedOffset("orders", 0, 7), CommittedOffset("orders", 1, 8)),
        bounds={("orders", 0): PartitionBounds(1, 20), ("orders", 1): GONE},
    )
    data = replace(consumer(), offsets=offsets)
    assert read_backup(write_a_backup(folder, data)).csv.read_text() == "orders,0,7\n"


def test_only_the_owner_can_read_a_backup(folder: StateFolder) -> None:
    """Backup files have mode 0600, and their folders have mode 0700."""
    path = write_a_backup(folder, consumer())
    for file in (path, path.with_suffix(".csv")):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.backups.stat().st_mode) == 0o700
    assert sorted(folder.backups.iterdir()) == sorted((path, path.with_suffix(".csv")))


def test_existing_backup_is_not_overwritten(folder: StateFolder) -> None:
    path = write_a_backup(folder, consumer())
    before = path.read_bytes()
    with pytest.raises(FileExistsError):
        write_a_backup(folder, consumer())
    assert path.read_bytes() == before
    assert path.with_suffix(".csv").exists()


@pytest.mark.parametrize(
    "name", ["../../x", "a/b", "..", "\n", "x" * 32_000, "ünïcode", ""], ids=lambda name: ascii(name)[:9]
)
def test_backup_has_a_safe_file_name_for_any_group_id(folder: StateFolder, name: str) -> None:
    """The file is always inside the backup folder, and its name is short and contains only ASCII characters."""
    path = backup_path(folder, name, "0123456789abcdef", 0.0)
    assert path.parent == folder.backups
    assert path.name.isascii()
    assert len(path.name) < 100


def test_truncated_backup_file_is_reported_as_incomplete(folder: StateFolder) -> None:
    """A backup is incomplete if its last line is cut off, or if the final line, which marks the end, is missing."""
    path = write_a_backup(folder, consumer())
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    assert not read_backup(path).complete
    path.write_text("".join(lines[:2]) + lines[2][:10])
    assert not read_backup(path).complete


def test_listing_backups_reports_files_that_are_not_backups(folder: StateFolder) -> None:
    """`list_backups` returns the valid backups, and one message for each file that is not a valid backup."""
    path = write_a_backup(folder, consumer())
    header = json.loads(path.read_text().splitlines()[0])
    newer = path.with_name("a-newer.jsonl")
    newer.write_text(json.dumps(header | {"schema": 2}))
    (folder.backups / "b-none.jsonl").write_text("{}\n[1]\n")
    (folder.backups / "c-bytes.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="schema version 2, but this kgtui reads versions up to 1"):
        read_backup(newer)
    found, faults = list_backups(folder)
    assert [backup.group for backup in found] == ["g"]
    assert len(faults) == 3


async def test_backup_and_intent_are_flushed_to_disk_before_the_delete_request(
    admin: ScriptedAdmin, folder: StateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the request, kgtui calls fsync for the backup, and for the entry (intent) in the audit log.

    After the request, kgtui adds the outcome to the audit log, and calls fsync again.
    """
    steps: list[str] = []
    fsync, record_call = os.fsync, admin._record_call

    def flush(file: int) -> None:
        steps.append(os.path.basename(os.readlink(f"/proc/self/fd/{file}")))
        fsync(file)

    async def watch(name: str, groups: Iterable[str] = ()) -> None:
        steps.append(name)
        await record_call(name, groups)

    admin.add("g", state="Empty", lag=5)
    made = await plan(admin, ["g"])
    monkeypatch.setattr(os, "fsync", flush)
    admin._record_call = watch  # type: ignore[assignment,method-assign]
    await execute(admin, made, folder)
    sent = steps.index("delete_groups")
    before, after = steps[:sent], steps[sent:]
    assert any(step.endswith(".jsonl.part") for step in before)
    assert any(step.endswith(".csv.part") for step in before)
    assert "audit.jsonl" in before
    assert "backups" in before
    assert "audit.jsonl" in after
