"""Tests of `kgtui delete` on a fake cluster (`ScriptedAdmin`)."""

from __future__ import annotations

import io
import json
import signal
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from kgtui import cli
from kgtui.actions.audit import read_entries
from kgtui.actions.backup import list_backups
from kgtui.model.access import Access
from kgtui.model.answer import Fault, Outcome
from kgtui.model.offsets import PartitionBounds
from tests.unit.commands.deletions import deletable_cluster

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator
    from pathlib import Path

    from kgtui.config import StateFolder
    from tests.scripted import ScriptedAdmin


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ScriptedAdmin:
    return deletable_cluster(monkeypatch, tmp_path)


class Terminal(io.StringIO):
    """A text stream that imitates a terminal. If it replaces stdin, it contains the lines that the user types."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function whose arguments are the lines that the user types.

    The function replaces stdin and stderr with fake terminals, and returns the new stderr.
    """
    screen = Terminal()

    def typed(*lines: str) -> Terminal:
        monkeypatch.setattr("sys.stdin", Terminal("".join(f"{line}\n" for line in lines)))
        monkeypatch.setattr("sys.stderr", screen)
        return screen

    return typed


def sent(admin: ScriptedAdmin) -> list[str]:
    """Return the sorted ids of the groups for which DeleteGroups was sent."""
    return sorted(group for call, groups in admin.calls if call == "delete_groups" for group in groups)


def test_kgtui_delete_can_run_without_asking_for_confirmation(
    admin: ScriptedAdmin, folder: StateFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `--yes` and `--expect`, the command asks no question.

    It prints the plan and the results to stdout, and writes backups and the audit log.
    """
    assert cli.main(["delete", "state:Empty", "--yes", "--expect", "2"]) == 0
    out = capsys.readouterr().out
    assert "offsets of 1 partition in 1 topic" in out
    assert out.count("deleted") == 2
    assert str(folder.backups) in out
    assert set(admin.groups) == {"live"}
    assert {backup.group for backup in list_backups(folder)[0]} == {"idle-a", "idle-b"}
    assert [entry.intent["command"] for entry in read_entries(folder.audit)[0]] == ["kgtui delete"] * 2


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--yes", "--expect", "3"], "2 groups match, but --expect is 3"),
        (["--expect", "1"], "2 groups match, but --expect is 1"),
        (["--yes"], "--yes needs --expect N"),
        ([], "there is no terminal to confirm on"),
        (["--expect", "2"], "there is no terminal to confirm on"),
        (["--read-only", "--yes", "--expect", "2"], "read-only"),
        (["--dry-run", "--expect", "7"], "2 groups match, but --expect is 7"),
    ],
)
def test_a_refused_kgtui_delete_exits_with_4_and_sends_no_request(
    admin: ScriptedAdmin, folder: StateFolder, capsys: pytest.CaptureFixture[str], words: list[str], reason: str
) -> None:
    assert cli.main(["delete", "state:Empty", *words]) == 4
    assert reason in capsys.readouterr().err
    assert sent(admin) == []
    assert not folder.path.exists()


def test_kgtui_delete_on_a_read_only_cluster_is_refused_without_a_request(
    admin: ScriptedAdmin, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster is read-only if the configuration contains `read_only = true` for the cluster or its address.

    The environment variable KGTUI_READ_ONLY makes every cluster read-only.
    """
    config = tmp_path / "config"
    config.mkdir()
    (config / "config.toml").write_text('version = 1\n[clusters.prod]\nbootstrap = "k:9092"\nread_only = true\n')
    words = ["delete", "state:Empty", "--yes", "--expect", "2"]
    assert cli.main([*words, "--cluster", "prod"]) == 4
    assert "the configuration makes prod read-only" in capsys.readouterr().err
    assert cli.main([*words, "--bootstrap-server", "k:9092"]) == 4
    monkeypatch.setenv("KGTUI_READ_ONLY", "1")
    assert cli.main(words) == 4
    assert admin.calls == []


def test_dry_run_of_kgtui_delete_sends_no_delete_request(
    admin: ScriptedAdmin, folder: StateFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 4 if kgtui would refuse to delete one of the groups."""
    assert cli.main(["delete", "state:Empty", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert ["DeleteGroups", "1", "1", "idle-a"] in [line.split() for line in out.splitlines()]
    assert ["DeleteGroups", "2", "1", "idle-b"] in [line.split() for line in out.splitlines()]
    assert cli.main(["delete", "/./", "--dry-run"]) == 4
    assert "Stable with 1 member: stop it first" in capsys.readouterr().out
    assert sent(admin) == []
    assert not folder.path.exists()


def test_kgtui_delete_refuses_a_group_with_members_but_deletes_the_empty_groups(
    admin: ScriptedAdmin, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["delete", "/./", "--yes", "--expect", "3"]) == 4
    assert sent(admin) == ["idle-a", "idle-b"]
    assert "Stable with 1 member" in capsys.readouterr().out


def test_kgtui_delete_exits_with_1_if_a_deletion_fails(admin: ScriptedAdmin) -> None:
    admin.delete_outcomes["idle-a"] = Outcome("idle-a", Fault("UNKNOWN_SERVER_ERROR", "oops", -1, group="idle-a"))
    assert cli.main(["delete", "state:Empty", "--yes", "--expect", "2"]) == 1


def test_kgtui_delete_can_delete_exactly_the_given_group_ids(
    admin: ScriptedAdmin, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--group type:share` means the group with this id. It is not parsed as a filter for share groups.

    `--expect` is the expected number of groups to delete. The id of a group that does not exist is not counted.
    """
    admin.add("type:share", state="Empty")
    assert cli.main(["delete", "--group", "type:share", "--yes", "--expect", "1"]) == 0
    assert sent(admin) == ["type:share"]
    assert cli.main(["delete", "--group", "nope", "--group", "nope", "--yes", "--expect", "1"]) == 4
    assert "there is no group 'nope'" in capsys.readouterr().err


def test_kgtui_delete_suggests_similar_ids_for_a_missing_group(
    admin: ScriptedAdmin, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["delete", "--group", "idle-aa", "--dry-run"]) == 1
    out, err = capsys.readouterr()
    assert "there is no group 'idle-aa'; similar: idle-a" in err
    assert "REFUSED" not in out
    assert cli.main(["delete", "--group", "idle-aa", "--dry-run", "--allow-empty"]) == 0
    assert cli.main(["delete", "--group", "idle-aa", "--group", "idle-a", "--yes", "--expect", "2"]) == 4
    assert "idle-a" in admin.groups
    assert cli.main(["delete", "--group", "idle-aa", "--group", "idle-a", "--yes", "--expect", "1"]) == 1
    assert "idle-a" not in admin.groups


@pytest.mark.parametrize("words", [[], ["sort:name"], ["--group", "a", "idle"], ["a", "--expect", "-1"], ["lag:x"]])
def test_kgtui_delete_rejects_an_invalid_selection_of_groups(admin: ScriptedAdmin, words: list[str]) -> None:
    assert cli.main(["delete", *words]) == 2
    assert admin.calls == []


def test_kgtui_delete_combines_filters_before_and_after_the_command_name(admin: ScriptedAdmin) -> None:
    """`kgtui --filter X delete Y` deletes only groups that match both filters."""
    assert cli.main(["--filter", "type:share", "delete", "state:Empty", "--yes", "--expect", "1"]) == 0
    assert sent(admin) == ["idle-b"]


def test_kgtui_delete_skips_groups_to_which_the_filter_cannot_be_applied(
    admin: ScriptedAdmin, capsys: pytest.CaptureFixture[str]
) -> None:
    admin.broken["idle-b"] = Fault("GROUP_AUTHORIZATION_FAILED", "not authorized", 30, group="idle-b")
    assert cli.main(["delete", "not:topic:other", "state:Empty", "--yes", "--expect", "1"]) == 0
    assert sent(admin) == ["idle-a"]
    assert capsys.readouterr().err.splitlines()[:2] == [
        "kgtui: group idle-b: not authorized [GROUP_AUTHORIZATION_FAILED]",
        (
            "kgtui: the filter could not be applied to 1 of 2 groups, because their data is unknown; "
            "these groups are not deleted"
        ),
    ]


@pytest.mark.parametrize("words", [[], ["--dry-run"]])
def test_kgtui_delete_exits_with_1_without_asking_for_confirmation_if_no_group_matches(
    admin: ScriptedAdmin, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert cli.main(["delete", "idle-q", *words]) == 1
    assert capsys.readouterr().err == "kgtui: no group matches the filter; similar: idle-b, idle-a\n"
    assert cli.main(["delete", "idle-q", "--allow-empty", *words]) == 0
    assert cli.main(["delete", "idle-q", "--yes", "--expect", "0", *words]) == 0
    assert sent(admin) == []


def test_kgtui_delete_says_that_no_groups_are_visible_to_the_user(
    admin: ScriptedAdmin, capsys: pytest.CaptureFixture[str]
) -> None:
    admin.groups.clear()
    admin.user_access = Access(frozenset(), any_topic=False)
    assert cli.main(["delete", "--dry-run", "state:Empty"]) == 1
    assert "there is no group that you are allowed to see" in capsys.readouterr().err


def test_kgtui_delete_rejects_several_group_ids_given_as_filters(
    admin: ScriptedAdmin, capsys: pytest.CaptureFixture[str]
) -> None:
    """`kgtui delete idle-a idle-b` is rejected. The error message says to pass each id with the option `--group`."""
    assert cli.main(["delete", "idle-a", "idle-b"]) == 2
    assert "for groups with exactly these ids, pass --group idle-a --group idle-b" in capsys.readouterr().err
    assert admin.calls == []


def test_deletion_of_one_group_is_confirmed_by_typing_the_group_id(admin: ScriptedAdmin, terminal: Any) -> None:
    screen = terminal("idle-a")
    assert cli.main(["delete", "idle-a"]) == 0
    assert "To confirm, type the group id: idle-a\n> " in screen.getvalue()
    assert sent(admin) == ["idle-a"]


@pytest.mark.parametrize("typed", ["", "y", "yes", "2 ", "3"])
def test_deletion_is_refused_if_the_typed_confirmation_is_wrong(
    admin: ScriptedAdmin, terminal: Any, typed: str
) -> None:
    """To confirm the deletion of two groups, the user must type exactly `2`. The deletion is also refused at EOF."""
    terminal(typed)
    assert cli.main(["delete", "state:Empty"]) == 4
    terminal()
    assert cli.main(["delete", "state:Empty"]) == 4
    assert sent(admin) == []


def test_deletion_of_several_groups_is_confirmed_by_typing_the_number_of_groups(
    admin: ScriptedAdmin, terminal: Any
) -> None:
    """Two of three groups can be deleted, so the user types 2. One group cannot be deleted, so the exit code is 4."""
    terminal("2")
    assert cli.main(["delete", "/./"]) == 4
    assert sent(admin) == ["idle-a", "idle-b"]


def test_irreversible_deletion_needs_a_second_confirmation(
    admin: ScriptedAdmin, terminal: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The deletion of the group is irreversible: its topic does not exist, so its offset could not be restored.

    On a terminal, the user must type the group id and then `irreversible`. In a script, the user must pass both `--yes`
    and `--irreversible`.
    """
    admin.bounds["t-idle-a", 0] = PartitionBounds(None, None, 3)
    words = ["delete", "idle-a", "--yes", "--expect", "1"]
    assert cli.main(words) == 4
    assert "add --irreversible" in capsys.readouterr().err
    terminal("idle-a", "yes")
    assert cli.main(["delete", "idle-a"]) == 4
    assert sent(admin) == []
    terminal("idle-a", "irreversible")
    assert cli.main(["delete", "idle-a"]) == 0
    admin.add("idle-a", state="Empty", lag=1)
    admin.bounds["t-idle-a", 0] = PartitionBounds(None, None, 3)
    assert cli.main([*words, "--irreversible"]) == 0


def test_json_output_of_kgtui_delete_is_one_document(
    admin: ScriptedAdmin, folder: StateFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["delete", "/./", "--yes", "--expect", "3", "--format", "json"]) == 4
    output = json.loads(capsys.readouterr().out)
    assert output["version"] == 1
    plan = {line["group"]: line for line in output["plan"]}
    assert plan["idle-a"]["loss"] == {
        "topics": 1, "partitions": 1, "positions": 1000, "last_commit": None, "undo": "partly",
        "not_restored": ["commit time and expiry"], "offsets_may_be_hidden": False,
    }  # fmt: skip
    assert plan["live"]["allowed"] is False
    results = {line["group"]: line for line in output["results"]}
    assert results["idle-b"]["result"] == "deleted"
    assert results["live"]["result"] == "refused"
    assert results["idle-b"]["audit_id"] in {entry.id for entry in read_entries(folder.audit)[0]}
    assert cli.main(["delete", "live", "--dry-run", "--format", "json"]) == 4
    assert json.loads(capsys.readouterr().out)["results"] is None


def test_kgtui_delete_opens_only_one_connection_to_the_cluster(
    admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second connection would print the warnings about client properties a second time."""
    opened = []

    @asynccontextmanager
    async def connected(_args: argparse.Namespace) -> AsyncIterator[ScriptedAdmin]:
        opened.append("warned")
        yield admin

    monkeypatch.setattr("kgtui.commands.delete.connected", connected)
    assert cli.main(["delete", "state:Empty", "--yes", "--expect", "2", "--irreversible"]) == 0
    assert "idle-a" in capsys.readouterr().out
    assert opened == ["warned"]


def test_ctrl_c_at_the_confirmation_of_a_deletion_ends_kgtui_immediately(
    admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kgtui does not wait until the user finishes the line, and does not delete the group."""

    class Interrupted(Terminal):
        def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
            signal.raise_signal(signal.SIGINT)
            raise AssertionError("Ctrl-C did not end the command")

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr("sys.stdin", Interrupted())
    monkeypatch.setattr("sys.stderr", Terminal())
    assert cli.main(["delete", "--group", "idle-a"]) == 130
    assert sent(admin) == []
    assert signal.getsignal(signal.SIGINT) is before
