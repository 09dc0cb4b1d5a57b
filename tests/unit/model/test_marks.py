"""Tests of the symbols that stand for the state of a group (such as Stable) and for its verdict (such as WARN)."""

from __future__ import annotations

from kgtui.model.group_types import STATES
from kgtui.model.marks import ASCII, STATE_LOOKS, UNICODE, VERDICT_LOOKS, legend


def test_every_group_state_of_kafka_has_a_symbol() -> None:
    assert set(STATE_LOOKS) == set(STATES)


def test_legend_explains_the_symbol_of_every_state_and_verdict() -> None:
    for marks in (UNICODE, ASCII):
        rows = legend(marks)
        looks = [*STATE_LOOKS.items(), *((verdict, look) for verdict, look in VERDICT_LOOKS.items() if verdict != "OK")]
        for name, look in looks:
            assert any(mark == getattr(marks, look.mark) and name in meaning for mark, meaning in rows), name
