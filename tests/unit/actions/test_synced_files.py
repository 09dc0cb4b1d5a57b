"""Tests of files such as backups: other users cannot read them, and kgtui never writes through symbolic links."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from kgtui.actions.audit import read_entries
from kgtui.actions.backup import read_backup
from kgtui.actions.synced_files import append_line, check_writable, remove_drafts, shared_lock, sole_lock, write_new
from kgtui.config import StateFolder
from kgtui.config.crash import write_report
from kgtui.config.state_folder import private_folder
from kgtui.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def take_shared_lock(path: Path) -> None:
    with shared_lock(path):
        pass


def take_sole_lock(path: Path) -> None:
    with sole_lock(path):
        pass


def test_backups_are_not_written_into_a_folder_that_is_a_symbolic_link(tmp_path: Path) -> None:
    elsewhere, state = tmp_path / "elsewhere", StateFolder(tmp_path / "state")
    elsewhere.mkdir(mode=0o755)
    state.path.mkdir()
    state.backups.symlink_to(elsewhere)
    with pytest.raises(OSError, match="backups is a symbolic link"):
        write_new(state.backups / "backup.jsonl", b"{}")
    with pytest.raises(RefusedError, match="backups is a symbolic link"):
        check_writable(state)
    assert list(elsewhere.iterdir()) == []
    assert elsewhere.stat().st_mode & 0o777 == 0o755


def test_audit_log_that_is_a_named_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    os.mkfifo(log)
    for use in (lambda: append_line(log, b"{}"), lambda: read_entries(log)):
        with pytest.raises(OSError, match="not a regular file"):
            use()


@pytest.mark.parametrize("value", ["[" * 100_000, "9" * 5_000, '{"a": 1e999}'])
def test_damaged_audit_log_lines_are_skipped_and_damaged_backups_are_rejected(tmp_path: Path, value: str) -> None:
    log = tmp_path / "audit.jsonl"
    log.write_text(value + "\n")
    assert read_entries(log)[0] == []
    with pytest.raises(UsageError, match="is not a backup"):
        read_backup(log)


@pytest.mark.parametrize(
    "write",
    [
        lambda folder: write_new(folder / "backup.jsonl", b"{}"),
        lambda folder: append_line(folder / "audit.jsonl", b"{}"),
        lambda folder: take_shared_lock(folder / "writing.lock"),
        lambda folder: take_sole_lock(folder / "writing.lock"),
        lambda folder: write_report(ValueError("x"), folder, "kgtui"),
    ],
    ids=["backup", "audit", "shared lock", "sole lock", "crash report"],
)
def test_writing_a_file_makes_the_state_folder_accessible_only_to_its_owner(
    tmp_path: Path, write: Callable[[Path], object]
) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    folder.chmod(0o777)
    write(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in folder.iterdir())


@pytest.mark.parametrize(
    ("name", "write"),
    [
        (".backup.jsonl.part", lambda folder: write_new(folder / "backup.jsonl", b"{}")),
        ("audit.jsonl", lambda folder: append_line(folder / "audit.jsonl", b"{}")),
        ("writing.lock", lambda folder: take_shared_lock(folder / "writing.lock")),
        ("writing.lock", lambda folder: take_sole_lock(folder / "writing.lock")),
    ],
    ids=["backup", "audit", "shared lock", "sole lock"],
)
def test_files_in_the_state_folder_are_not_written_through_symbolic_links(
    tmp_path: Path, name: str, write: Callable[[Path], object]
) -> None:
    folder, target = tmp_path / "state", tmp_path / "target"
    folder.mkdir()
    target.write_text("precious")
    (folder / name).symlink_to(target)
    with pytest.raises(OSError, match=r"symbolic link|File exists"):
        write(folder)
    assert target.read_text() == "precious"


def test_state_folder_of_another_user_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(PermissionError, match="belongs to another user; set KGTUI_STATE_DIR"):
        private_folder(tmp_path)


def test_function_remove_drafts_deletes_only_incomplete_backups(tmp_path: Path) -> None:
    (tmp_path / ".a.jsonl.part").write_bytes(b"{")
    (tmp_path / "b.jsonl").write_bytes(b"{}")
    remove_drafts(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["b.jsonl"]


def test_function_remove_drafts_ignores_a_folder_that_is_a_symbolic_link(tmp_path: Path) -> None:
    elsewhere, link = tmp_path / "elsewhere", tmp_path / "link"
    elsewhere.mkdir()
    (elsewhere / ".a.jsonl.part").write_bytes(b"{")
    link.symlink_to(elsewhere)
    remove_drafts(link)
    assert len(list(elsewhere.iterdir())) == 1
