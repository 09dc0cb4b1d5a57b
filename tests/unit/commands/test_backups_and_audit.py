"""Tests of `kgtui backups` and `kgtui audit` after deletions on a fake cluster (`ScriptedAdmin`)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgtui import cli
from kgtui.model.answer import Fault, Outcome
from tests.unit.commands.deletions import deletable_cluster

if TYPE_CHECKING:
    from kgtui.config import StateFolder
    from tests.scripted import ScriptedAdmin


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ScriptedAdmin:
    return deletable_cluster(monkeypatch, tmp_path)


def test_output_about_deleted_groups_contains_no_control_characters(
    admin: ScriptedAdmin, folder: StateFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    admin.add("\x1b[31mred\n", state="Empty", lag=1)
    assert cli.main(["delete", "red", "--yes", "--expect", "1"]) == 0
    assert cli.main(["backups"]) == 0
    assert cli.main(["audit"]) == 0
    output = capsys.readouterr()
    assert "\x1b" not in output.out + output.err
    assert output.out.count(r"\x1b[31mred\n") >= 4


def test_kgtui_delete_first_checks_earlier_deletions_whose_outcome_is_unknown(
    admin: ScriptedAdmin, folder: StateFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    admin.delete_outcomes["idle-a"] = Outcome("idle-a", Fault("NO_ANSWER", "lost", group="idle-a"), uncertain=True)
    assert cli.main(["delete", "idle-a", "--yes", "--expect", "1"]) == 1
    assert cli.main(["audit", "--unfinished"]) == 0
    assert "no outcome yet" in capsys.readouterr().out
    del admin.groups["idle-a"], admin.descriptions["idle-a"]
    assert cli.main(["delete", "nothing-like-this"]) == 1
    assert (
        "the outcome of an earlier deletion of idle-a was unknown; a later check found that the group no longer exists"
        in (capsys.readouterr().err)
    )
    assert cli.main(["audit", "--unfinished", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["entries"] == []


def test_backups_command_lists_all_backups_or_prints_one(
    admin: ScriptedAdmin, folder: StateFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a file name, the command prints the offsets in one backup and says how to restore them.

    The exit code is 1 if the backup is incomplete.
    """
    assert cli.main(["backups"]) == 0
    assert "there are no backups" in capsys.readouterr().err
    assert cli.main(["delete", "state:Empty", "--yes", "--expect", "2"]) == 0
    capsys.readouterr()
    assert cli.main(["backups", "--group", "idle-a"]) == 0
    row = capsys.readouterr().out.splitlines()[1].split()
    assert row[1:4] == ["idle-a", "classic", "1"]
    assert cli.main(["backups", row[-1]]) == 0
    shown = capsys.readouterr().out
    assert "t-idle-a" in shown
    assert "kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9092 --group idle-a --reset-offsets" in shown
    assert cli.main(["backups", row[-1].removesuffix(".jsonl"), "--format", "json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert (output["group"], output["rows"][0]["offset"]) == ("idle-a", 1000)
    assert cli.main(["backups", "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["backups"]) == 2
    assert cli.main(["backups", "no-such-file"]) == 2
    assert cli.main(["backups", "--group", "idle-x"]) == 0
    message = "there are no backups of the group idle-x"
    assert re.search(rf"{message} in .*; similar: (idle-a, idle-b|idle-b, idle-a)", capsys.readouterr().err)
    copy = folder.path / "copy.of.backup"
    copy.write_bytes((folder.backups / row[-1]).read_bytes())
    assert cli.main(["backups", str(copy)]) == 0
    assert "t-idle-a" in capsys.readouterr().out
    path = folder.backups / row[-1]
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    assert cli.main(["backups", row[-1]]) == 1
    assert "incomplete" in capsys.readouterr().err


def test_audit_command_lists_the_entries_and_counts_damaged_lines(
    admin: ScriptedAdmin, folder: StateFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 1 if the audit log contains a damaged line."""
    assert cli.main(["audit"]) == 0
    assert "no matching entry" in capsys.readouterr().err
    assert cli.main(["delete", "state:Empty", "--yes", "--expect", "2"]) == 0
    capsys.readouterr()
    assert cli.main(["audit", "--group", "idle-b"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert "share" in lines[1]
    assert "deleted" in lines[1]
    with folder.audit.open("a") as log:
        log.write("{torn\n")
    assert cli.main(["audit", "--format", "json"]) == 1
    output = json.loads(capsys.readouterr().out)
    assert (len(output["entries"]), output["damaged_lines"]) == (2, 1)


@pytest.mark.parametrize("words", [["backups"], ["backups", "x.jsonl"]])
def test_backups_command_reports_a_folder_that_cannot_be_read(
    folder: StateFolder,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
) -> None:
    def forbidden(*_: object, **__: object) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", forbidden)
    monkeypatch.setattr(Path, "is_file", forbidden)
    assert cli.main(words) == 2
    assert "cannot be read: Permission denied" in capsys.readouterr().err
