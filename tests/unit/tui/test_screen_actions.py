"""Tests of the table of actions. The key bindings, the footer and a table in the README are generated from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.binding import Binding

from kgtui.tui.screen_actions import table
from kgtui.tui.session import ClusterLabel, Session

if TYPE_CHECKING:
    from kgtui.tui.session import ReplayPosition


def test_ids_and_keys_of_actions_are_unique() -> None:
    ids = [action.id for action in table.ACTIONS]
    assert len(set(ids)) == len(ids)
    keys = [key for action in table.ACTIONS for key in action.keys.split(",")]
    assert len(set(keys)) == len(keys)


def test_every_action_has_all_required_attributes() -> None:
    """Each action needs the functions `run` and `unavailable`, a name, a help sentence and a section."""
    for action in table.ACTIONS:
        assert callable(action.run), action.id
        assert callable(action.unavailable), action.id
        assert action.name, action.id
        assert action.help.endswith("."), action.id
        assert action.section in table.SECTIONS, action.id


def test_actions_are_in_the_order_of_the_help_screen_sections() -> None:
    sections = [action.section for action in table.ACTIONS]
    assert sections == [section for section in table.SECTIONS for _ in range(sections.count(section))]


def test_each_action_has_a_key_binding_with_the_id_of_the_action() -> None:
    bindings = [*table.bindings(), *table.bindings(everywhere=True)]
    assert {binding.id for binding in bindings} == set(table.BY_ID)
    assert list(Binding.make_bindings(bindings))


def test_read_only_session_does_not_offer_the_delete_action() -> None:
    assert "delete" not in {action.id for action in table.offered(read_only=True)}
    assert "delete" in {action.id for action in table.offered(read_only=False)}


def test_generated_readme_table_lists_every_action() -> None:
    markdown = table.markdown()
    assert all(f"`{action.id}` |" in markdown for action in table.ACTIONS)
    assert "| `page up` |" in markdown
    assert "| `home` `g` |" in markdown


def test_unknown_action_ids_in_a_keymap_are_reported() -> None:
    assert table.unknown_ids(["pause", "no-such"]) == ["no-such"]


def test_keys_in_the_keymap_replace_the_default_keys_of_an_action() -> None:
    assert table.BY_ID["pause"].keys_in({"pause": "x, ctrl+x"}) == "x ctrl+x"
    assert table.BY_ID["pause"].keys_in({}) == "p"


def test_footer_of_a_recording_shows_replay_keys_but_no_delete_key() -> None:
    """If the user opened the recording from a cluster, the footer also has a key that returns to the cluster."""
    position = cast("ReplayPosition", object())
    live_session = Session(ClusterLabel("live"))
    recorded_session = Session(ClusterLabel("recording"), replay_position=position, read_only=True)
    overlay_session = Session(
        ClusterLabel("recording"), replay_position=position, read_only=True, live_session=live_session
    )  # fmt: skip
    live, recorded, overlay = (
        [action.id for action in table.in_footer(session)]
        for session in (live_session, recorded_session, overlay_session)
    )
    assert live[0] == recorded[0] == "filter"
    assert live[-2:] == recorded[-2:] == ["help", "quit"]
    assert {"time", "earlier", "later", "play"} <= set(recorded)
    assert not {"refresh", "delete", "live"} & set(recorded)
    assert set(overlay) - set(recorded) == {"live"}
