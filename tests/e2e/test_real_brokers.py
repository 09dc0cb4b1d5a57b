"""Test the terminal UI with real Kafka 4.3.1 brokers.

Some tests show groups of every type with members (live groups). Others log in as users who lack permissions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.brokers.kgtui_permissions import SEE_ANY_TOPIC
from tests.e2e.terminal import Terminal
from tests.e2e.ui import Ui

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.brokers.live import Live
    from tests.brokers.secure import Secure

BROKER_TIMEOUT = 30.0
LIVE_ROLES = ("classic", "static", "connect", "sr", "consumer", "mixed")
"""The classic and consumer groups to test, as keys of the dict that `tests.brokers.groups.expected` returns.

For example, `static` is the group with static members.
"""


@pytest.fixture(scope="module")
def ui_on_real_broker(live_431: Live, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    """Run the terminal UI, connected to the broker with the live groups (groups of every type that do not change)."""
    with Terminal(tmp_path_factory.mktemp("home"), size=(140, 40)) as terminal:
        ui = Ui(terminal, "--interval", "1", "--bootstrap-server", live_431.bootstrap)
        ui.start()
        yield ui


def test_live_groups_are_shown_and_cannot_be_deleted(live_431: Live, ui_on_real_broker: Ui) -> None:
    """The terminal UI shows the state, the members and the lag of each live group.

    After the key `d`, the terminal UI says why it refuses to delete the group.
    """
    groups = [live_431[role] for role in LIVE_ROLES]
    groups += [g for g in live_431.groups.values() if g.type in {"share", "streams"} and g.state == "Stable"]
    terminal = ui_on_real_broker.terminal
    assert {group.type for group in groups} == {"classic", "consumer", "share", "streams"}
    for group in groups:
        ui_on_real_broker.restore_start_state()
        screen = ui_on_real_broker.select(f"/^{re.escape(group.id)}$/", group.id)
        assert re.search(
            rf"^ state .*{group.state}" if "▏" not in screen else rf"▏ state +. {group.state}", screen, re.M
        )
        terminal.wait_for(re.compile(rf"▏ members +{group.members}\b").search, BROKER_TIMEOUT)
        if group.lag:
            terminal.wait_for(re.compile(rf"▏ total +{group.lag:,}\b").search, BROKER_TIMEOUT)
        terminal.keys("d")
        terminal.wait_for("stop", BROKER_TIMEOUT)
        assert "To confirm, type the group id" not in terminal.screen()
        ui_on_real_broker.remove_filter()


def test_an_empty_group_on_a_real_broker_is_deleted_with_a_backup(live_431: Live, ui_on_real_broker: Ui) -> None:
    live_431.cluster.commit("made-to-be-deleted", {("orders", 0): 7})
    ui_on_real_broker.restore_start_state()
    terminal = ui_on_real_broker.terminal
    terminal.keys("r")
    ui_on_real_broker.select("made-to-be-deleted")
    terminal.keys("d")
    terminal.wait_for("To confirm, type the group id")
    terminal.type("made-to-be-deleted")
    terminal.keys("Enter")
    terminal.wait_for("1 deleted", BROKER_TIMEOUT)
    terminal.keys("Escape")
    terminal.wait_for("0 shown")
    ui_on_real_broker.remove_filter()
    backups = (terminal.state / "backups").rglob("*.jsonl")
    assert any("made-to-be-deleted" in path.read_text(encoding="utf-8") for path in backups)


def test_a_user_without_permissions_sees_which_permission_to_request(secure_broker: Secure, terminal: Terminal) -> None:
    login = str(secure_broker.command_config("nobody"))
    terminal.start("--bootstrap-server", secure_broker.sasl, "--command-config", login)
    screen = terminal.wait_for("DESCRIBE on Cluster", BROKER_TIMEOUT)
    assert "no group that this user is allowed to see" in screen
    terminal.keys("q")
    assert terminal.status() == 0


def test_a_user_of_one_team_sees_only_groups_of_this_team(secure_broker: Secure, terminal: Terminal) -> None:
    login = str(secure_broker.command_config("team"))
    terminal.start("--bootstrap-server", secure_broker.sasl, "--command-config", login)
    screen = terminal.wait_for("team-a-live", BROKER_TIMEOUT)
    assert "team-b-app" not in screen
    terminal.keys("q")
    assert terminal.status() == 0


def test_the_overview_pane_mentions_the_missing_permission_on_a_topic(
    secure_broker: Secure, terminal: Terminal
) -> None:
    """The user has DESCRIBE on the group, but not on the topic to which the group subscribes.

    ConsumerGroupDescribe needs DESCRIBE on every topic of the group.
    """
    login = str(secure_broker.command_config("groupsonly"))
    ui = Ui(terminal, "--bootstrap-server", secure_broker.sasl, "--command-config", login)
    ui.start()
    ui.filter("team-a-live", shown=1)
    terminal.keys("n", "1")
    screen = terminal.wait_for("TOPIC_AUTHORIZATION_FAILED", BROKER_TIMEOUT)
    assert "DESCRIBE" in screen
    terminal.keys("q")
    assert terminal.status() == 0


def test_pressing_r_shows_the_effect_of_changed_permissions(secure_broker: Secure, terminal: Terminal) -> None:
    """While kgtui runs, the user gets DESCRIBE on all topics, and later loses this permission.

    After each press of the key `r`, the screen shows the group's lag if the user has the permission; otherwise, `?`.
    """
    login = str(secure_broker.command_config("changing"))
    ui = Ui(terminal, "--bootstrap-server", secure_broker.sasl, "--command-config", login)
    ui.start()
    ui.filter("team-a-and-b", shown=1)
    terminal.wait_for(lambda screen: "some topics hidden" in screen and re.search(r"team-a-and-b +0 +\? ", screen))
    with secure_broker.acl("changing", SEE_ANY_TOPIC):
        terminal.keys("r")
        terminal.wait_for(
            lambda screen: "some topics hidden" not in screen and re.search(r"team-a-and-b +0 +7 ", screen)
        )
    terminal.keys("r")
    terminal.wait_for(lambda screen: "some topics hidden" in screen and re.search(r"team-a-and-b +0 +\? ", screen))
    terminal.keys("q")
    assert terminal.status() == 0


def test_the_offsets_pane_mentions_the_missing_permission_on_a_topic(secure_broker: Secure, terminal: Terminal) -> None:
    """The user has DESCRIBE on the group, but not on the topic in which the group has a committed offset."""
    login = str(secure_broker.command_config("groupsonly"))
    ui = Ui(terminal, "--bootstrap-server", secure_broker.sasl, "--command-config", login)
    ui.start()
    ui.filter("team-b-app", shown=1)
    terminal.keys("n", "2")
    screen = terminal.wait_for("no offsets that you are allowed to see", BROKER_TIMEOUT)
    assert "some topics hidden" in screen
    terminal.keys("4")
    screen = terminal.wait_for("grant DESCRIBE on the topics of the group", BROKER_TIMEOUT)
    assert "no offsets that you are allowed to see" in screen
    assert "no committed offsets" not in screen
    assert re.search(r"team-b-app +0 +\? ", screen)  # The tree shows 0 members and an unknown lag.
    terminal.keys("q")
    assert terminal.status() == 0
