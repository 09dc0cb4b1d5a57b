"""The UI on real 4.3.1 brokers: live groups of every type, and users who may do little."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.e2e.terminal import Terminal
from tests.e2e.ui import Ui

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.brokers.live import Live
    from tests.brokers.secure import Secure

PATIENCE = 30.0
LIVE_ROLES = ("classic", "static", "connect", "sr", "consumer", "mixed")
"""Roles of live groups by the RPCs that describe them; those of share and streams groups are told by their type."""


@pytest.fixture(scope="module")
def real(live_431: Live, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    """The UI on the broker with live groups."""
    with Terminal(tmp_path_factory.mktemp("home"), size=(140, 40)) as terminal:
        ui = Ui(terminal, "--interval", "1", "--bootstrap-server", live_431.bootstrap)
        ui.start()
        yield ui


def test_each_live_group_is_shown_and_cannot_be_deleted(live_431: Live, real: Ui) -> None:
    """State, members and lag are those of the groups made; `d` says why not."""
    groups = [live_431[role] for role in LIVE_ROLES]
    groups += [g for g in live_431.groups.values() if g.type in {"share", "streams"} and g.state == "Stable"]
    terminal = real.terminal
    assert {group.type for group in groups} == {"classic", "consumer", "share", "streams"}
    for group in groups:
        real.settle()
        screen = real.select(f"/^{re.escape(group.id)}$/", group.id)
        assert re.search(
            rf"^ state .*{group.state}" if "▏" not in screen else rf"▏ state +. {group.state}", screen, re.M
        )
        terminal.wait_for(re.compile(rf"▏ members +{group.members}\b").search, PATIENCE)
        if group.lag:
            terminal.wait_for(re.compile(rf"▏ total +{group.lag:,}\b").search, PATIENCE)
        terminal.keys("d")
        terminal.wait_for("stop", PATIENCE)
        assert "Type its name" not in terminal.screen()
        real.drop_filter()


def test_an_empty_group_is_deleted(live_431: Live, real: Ui) -> None:
    """One made for this test, and its offsets are in the backup."""
    live_431.cluster.commit("made-to-be-deleted", {("orders", 0): 7})
    real.settle()
    terminal = real.terminal
    terminal.keys("r")
    real.select("made-to-be-deleted")
    terminal.keys("d")
    terminal.wait_for("Type its name")
    terminal.type("made-to-be-deleted")
    terminal.keys("Enter")
    terminal.wait_for("1 deleted", PATIENCE)
    terminal.keys("Escape")
    terminal.wait_for("0 shown")
    real.drop_filter()
    backups = (terminal.state / "backups").rglob("*.jsonl")
    assert any("made-to-be-deleted" in path.read_text(encoding="utf-8") for path in backups)


def test_a_user_who_may_do_nothing_is_told_what_to_ask_for(secure_broker: Secure, terminal: Terminal) -> None:
    login = str(secure_broker.command_config("nobody"))
    terminal.start("--bootstrap-server", secure_broker.sasl, "--command-config", login)
    screen = terminal.wait_for("DESCRIBE on Cluster", PATIENCE)
    assert "no group that this user may see" in screen
    terminal.keys("q")
    assert terminal.status() == 0


def test_a_team_sees_its_own_groups(secure_broker: Secure, terminal: Terminal) -> None:
    login = str(secure_broker.command_config("team"))
    terminal.start("--bootstrap-server", secure_broker.sasl, "--command-config", login)
    screen = terminal.wait_for("team-a-live", PATIENCE)
    assert "team-b-app" not in screen
    terminal.keys("q")
    assert terminal.status() == 0


def test_a_forbidden_topic_is_named_as_what_is_missing(secure_broker: Secure, terminal: Terminal) -> None:
    """ConsumerGroupDescribe needs DESCRIBE on every topic that the group reads."""
    login = str(secure_broker.command_config("groupsonly"))
    ui = Ui(terminal, "--bootstrap-server", secure_broker.sasl, "--command-config", login)
    ui.start()
    ui.filter("team-a-live", shown=1)
    terminal.keys("n", "1")
    screen = terminal.wait_for("TOPIC_AUTHORIZATION_FAILED", PATIENCE)
    assert "DESCRIBE" in screen
    terminal.keys("q")
    assert terminal.status() == 0
