"""Tests of private files: files that only their owner can read and write."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from kgtui.lake.lock import RecorderLock
from kgtui.private_files import open_private, replace_private

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_nobody_but_the_owner_can_access_a_replaced_file(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    path.chmod(0o644)
    replace_private(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_unchanged_if_writing_its_replacement_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        replace_private(path, b"new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "write",
    [lambda path: os.close(open_private(path, os.O_RDWR | os.O_CREAT)), lambda path: RecorderLock(path).take()],
    ids=["open_private", "lock of a lake"],
)
def test_a_file_that_is_a_symbolic_link_is_not_opened(tmp_path: Path, write: Callable[[Path], None]) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("kept")
    link.symlink_to(target)
    with pytest.raises(OSError, match="symbolic link"):
        write(link)
    assert target.read_text() == "kept"
