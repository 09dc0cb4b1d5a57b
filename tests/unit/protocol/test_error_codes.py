"""Tests that kgtui's table of error codes equals Kafka's table, and that kgtui reacts correctly to each error."""

from __future__ import annotations

import pytest

from kgtui.model import error_numbers
from kgtui.protocol.error_codes import CODES, Reaction, lookup
from tests.unit.protocol.java_oracle import ask


@pytest.fixture(scope="module")
def kafka_errors() -> dict[int, tuple[str, bool, str]]:
    """Return a dict: error code of Kafka 4.4.0 → `(name, whether the error is retriable, message)`."""
    rows = [line.split("\t") for line in ask(["errors"])]
    return {int(code): (name, retriable == "true", message) for code, name, retriable, message in rows}


def test_error_names_and_messages_equal_those_of_kafka(kafka_errors: dict[int, tuple[str, bool, str]]) -> None:
    ours = {code: (error.name, error.message) for code, error in CODES.items()}
    theirs = {code: (name, message if code else "") for code, (name, _, message) in kafka_errors.items()}
    assert ours == theirs
    assert len(ours) == 138


def test_kgtui_and_kafka_retry_requests_after_the_same_errors(
    kafka_errors: dict[int, tuple[str, bool, str]],
) -> None:
    """kgtui retries a request after every error whose reaction is not `Reaction.FINAL`.

    The table of errors also contains code 0, which means no error and causes no retry. Code 129 (REBOOTSTRAP_REQUIRED)
    is the only difference: only kgtui retries after it, through the bootstrap servers.
    """
    retried = {code for code, error in CODES.items() if error.reaction is not Reaction.FINAL}
    retriable = {code for code, (_, again, _) in kafka_errors.items() if again}
    assert retried == retriable | {0, 129}


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
def test_kgtui_reacts_as_expected_to_error_codes_of_the_group_apis(codes: tuple[int, ...], reaction: Reaction) -> None:
    assert {lookup(code).reaction for code in codes} == {reaction}


def test_error_number_constants_equal_the_error_codes_of_kafka() -> None:
    named = {name: number for name, number in vars(error_numbers).items() if isinstance(number, int)}
    assert named == {name: code for code, error in CODES.items() if (name := error.name) in named}
    assert len(named) == 22


@pytest.mark.parametrize("code", [137, 999, -2, 32767, -32768])
def test_an_unrecognized_error_code_has_a_name_and_is_not_retried(code: int) -> None:
    error = lookup(code)
    assert (error.code, error.name, error.reaction) == (code, f"UNKNOWN_{code}", Reaction.FINAL)
    assert str(code) in error.message


def test_common_kafka_errors_have_advice_for_the_user() -> None:
    for code in (29, 30, 31, 35, 58, 68, 69, 86):
        assert lookup(code).advice
