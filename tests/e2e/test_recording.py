"""Test recordings of real brokers: they are complete, only their owner can read them, and they contain no passwords."""

from __future__ import annotations

import json
import os
import stat
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.brokers.secure import PASSWORDS
from tests.unit.commands import runs

if TYPE_CHECKING:
    from pathlib import Path

    from tests.brokers.live import Live
    from tests.brokers.secure import Secure

kgtui = partial(runs.kgtui, timeout=120)


def json_of(*words: str) -> dict[str, Any]:
    """Run kgtui with the arguments `words` and `--format json`; return the JSON that it prints."""
    ran = kgtui(*words, "--format", "json")
    assert ran.stdout, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


@pytest.fixture(scope="module")
def lake(newest_live: Live, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("recorded") / "lake")
    ran = kgtui("record", path, "--bootstrap-server", newest_live.bootstrap, "--interval", "1", "--for", "12")
    assert (ran.returncode, ran.stdout) == (0, "")
    assert "polls with" in ran.stderr
    return path


def test_kgtui_ls_prints_equal_values_for_a_recording_and_live_brokers(newest_live: Live, lake: str) -> None:
    """`kgtui ls` prints the same values for a recording (`--lake`) as for the brokers that were recorded.

    `kgtui show --lake` must also show every group that the tests created on the brokers.
    """
    where = ("--bootstrap-server", newest_live.bootstrap)
    fields = ("group", "type", "state", "coordinator", "lag", "members")
    live, recorded = (json_of("ls", "--lag", "--members", *of) for of in (where, ("--lake", lake)))
    ids = {group.id for group in newest_live.groups.values()}
    assert ids <= {row["group"] for row in recorded["groups"]}
    of_brokers = {row["group"]: [row.get(name) for name in fields] for row in live["groups"] if row["group"] in ids}
    of_lake = {row["group"]: [row.get(name) for name in fields] for row in recorded["groups"] if row["group"] in ids}
    assert of_lake == of_brokers
    # Leave out group ids with a NUL character, because command-line arguments cannot contain this character.
    arguments = {name for name in ids if "\0" not in name}
    shown = json_of("show", *sorted(arguments), "--lake", lake)
    assert {row["group"] for row in shown["groups"]} == arguments


def test_kgtui_check_finds_stopped_groups_in_a_recording(newest_live: Live, lake: str) -> None:
    """No group committed offsets during the recording.

    `kgtui check` must therefore report STOP for every classic or consumer group with lag.
    """
    ran = kgtui("check", "--lake", lake, "--for", "10s", "--commit-interval", "0.1s", "--all", "--format", "json")
    found = json.loads(ran.stdout)
    groups = {row["group"]: row for row in found["groups"]}
    assert {group.id for group in newest_live.groups.values()} <= groups.keys()
    assert {row["basis"] for row in groups.values()} == {"observed"}
    assert {name: row["reads"] for name, row in groups.items() if row["reads"] < 2} == {}
    stopped = {name for name, row in groups.items() if row["cause"] == "STOP"}
    lagging = {group.id for group in newest_live.groups.values() if group.lag and group.type in ("classic", "consumer")}
    assert lagging
    assert lagging <= stopped
    assert (ran.returncode, found["check"]["failed"]) == (1, True)


def test_a_recording_is_private_to_its_owner_and_contains_no_password(secure_broker: Secure, tmp_path: Path) -> None:
    lake, login = tmp_path / "lake", str(secure_broker.command_config("viewer"))
    words = ("--bootstrap-server", secure_broker.sasl, "--command-config", login, "--interval", "1", "--for", "3")
    assert kgtui("record", str(lake), *words).returncode == 0
    assert json_of("ls", "--lake", str(lake))["groups"]
    found = [lake]
    for folder, folders, files in os.walk(lake):
        found += [lake / folder / name for name in (*folders, *files)]
    assert len(found) > 20
    for path in found:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
        data = b"" if path.is_dir() else path.read_bytes()
        for secret in PASSWORDS.values():
            assert secret.encode() not in data, path
