"""The error table equals Kafka's, and what we do about a code agrees with what Kafka calls retriable."""

from __future__ import annotations

import pytest

from kgtui.protocol.error_codes import CODES, Reaction, lookup
from tests.unit.protocol.oracle import ask


@pytest.fixture(scope="module")
def kafkas() -> dict[int, tuple[str, bool, str]]:
    """Name, retriable and message of each code, from org.apache.kafka.common.protocol.Errors of 4.4.0."""
    rows = [line.split("\t") for line in ask(["errors"])]
    return {int(code): (name, retriable == "true", message) for code, name, retriable, message in rows}


def test_names_and_messages_are_kafkas(kafkas: dict[int, tuple[str, bool, str]]) -> None:
    ours = {code: (error.name, error.message) for code, error in CODES.items()}
    theirs = {code: (name, message if code else "") for code, (name, _, message) in kafkas.items()}
    assert ours == theirs
    assert len(ours) == 138


def test_final_is_what_kafka_does_not_retry(kafkas: dict[int, tuple[str, bool, str]]) -> None:
    asked_again = {code for code, error in CODES.items() if error.reaction is not Reaction.FINAL}
    retriable = {code for code, (_, again, _) in kafkas.items() if again}
    assert asked_again == retriable | {0, 129}


@pytest.mark.parametrize(
    ("codes", "reaction"),
    [
        ((0,), Reaction.NONE),
        ((14, 88, 78), Reaction.RETRY),
        ((15, 16), Reaction.FIND_COORDINATOR),
        ((3, 5, 6, 74, 75, 100), Reaction.REFRESH_LEADER),
        ((129,), Reaction.REBOOTSTRAP),
        ((24, 29, 30, 31, 35, 42, 68, 69, 86, 110, 113, 128, 130, 131, 132, 134, 135, 136), Reaction.FINAL),
    ],
)
def test_codes_that_groups_meet(codes: tuple[int, ...], reaction: Reaction) -> None:
    assert {lookup(code).reaction for code in codes} == {reaction}


@pytest.mark.parametrize("code", [137, 999, -2, 32767, -32768])
def test_a_code_from_the_future_has_a_name_and_is_final(code: int) -> None:
    error = lookup(code)
    assert (error.code, error.name, error.reaction) == (code, f"UNKNOWN_{code}", Reaction.FINAL)
    assert str(code) in error.message


def test_refusals_that_users_meet_say_what_to_do() -> None:
    for code in (29, 30, 31, 35, 58, 68, 69, 86):
        assert lookup(code).advice
