"""Tests of the log file: it contains no secrets, only its owner can read it, and log messages go only to the file."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from kgtui.commands.log_file import start_log

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    for handler in list(root.handlers):
        if handler not in handlers:
            root.removeHandler(handler)
            handler.close()
    root.setLevel(level)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KGTUI_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


def test_log_file_is_private_and_has_no_secrets_or_control_characters(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = start_log(debug=True)
    assert path == folder / "kgtui.log"
    logging.getLogger("kgtui.x").debug("login with sasl.password=%s as \x1b[31m%s", "hunter2", "me")
    logging.getLogger("aiokafka.conn").debug("SaslAuthenticateRequest hunter2")
    text = path.read_text()
    assert r"sasl.password=[removed] as \x1b[31mme" in text
    assert "hunter2" not in text
    assert path.stat().st_mode & 0o777 == 0o600
    assert capfd.readouterr() == ("", "")


def test_info_messages_are_not_logged_without_the_debug_option(folder: Path) -> None:
    path = start_log(debug=False)
    assert path is not None
    logging.getLogger("kgtui.x").info("chatter")
    logging.getLogger("kgtui.x").warning("worth it")
    assert "chatter" not in path.read_text()
    assert "worth it" in path.read_text()


def test_log_records_are_discarded_if_the_log_folder_cannot_be_created(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder.write_text("in the way")
    assert start_log(debug=True) is None
    logging.getLogger("kgtui.x").error("lost")
    assert capfd.readouterr() == ("", "")
