"""One table of keys, and everything made from it."""

from __future__ import annotations

import pytest
from textual.binding import Binding

from kgtui.tui import keys
from kgtui.tui.screens.deeds import Deeds


def test_ids_and_keys_are_unique() -> None:
    ids = [action.id for action in keys.ACTIONS]
    assert len(set(ids)) == len(ids)
    pressed = [key for action in keys.ACTIONS for key in action.keys.split(",")]
    assert len(set(pressed)) == len(pressed)
    assert {action.group for action in keys.ACTIONS} == set(keys.GROUPS)


@pytest.mark.parametrize("action", [a for a in keys.ACTIONS if not a.everywhere and not a.id.startswith("pane-")],
                         ids=lambda action: action.id)  # fmt: skip
def test_every_key_has_a_deed(action: keys.Action) -> None:
    assert callable(getattr(Deeds, action.id.replace("-", "_")))


def test_bindings_carry_the_ids_of_the_keymap() -> None:
    bindings = [*keys.bindings(), *keys.bindings(everywhere=True)]
    assert {binding.id for binding in bindings} == set(keys.BY_ID)
    assert list(Binding.make_bindings(bindings))


def test_read_only_leaves_out_what_writes() -> None:
    assert "delete" not in {action.id for action in keys.offered(read_only=True)}
    assert "delete" in {action.id for action in keys.offered(read_only=False)}


def test_the_table_of_the_readme_names_every_key() -> None:
    table = keys.markdown()
    assert all(f"`{action.id}` |" in table for action in keys.ACTIONS)
    assert "| `page up` |" in table
    assert "| `home` `g` |" in table


def test_unknown_ids_of_a_keymap_are_found() -> None:
    assert keys.unknown_ids(["pause", "no-such"]) == ["no-such"]
    assert keys.shown_keys(keys.BY_ID["pause"], {"pause": "x, ctrl+x"}) == "x ctrl+x"
