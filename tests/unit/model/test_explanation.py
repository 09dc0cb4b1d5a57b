"""Tests of the texts that explain errors, group states and unknown lag."""

from __future__ import annotations

import pytest

from kgtui.model import explanation
from kgtui.model.access import HIDDEN, HIDDEN_TOPICS
from kgtui.model.answer import Fault
from kgtui.model.group_types import STATES
from kgtui.model.offsets import CommittedOffset, GroupOffsets, PartitionBounds
from kgtui.protocol.error_codes import lookup
from tests.pilot.panes.data import example_snapshot


@pytest.mark.parametrize(
    "name", ["NOT_CONNECTED", "NO_ANSWER", "DISCONNECTED", "NOT_SUPPORTED", "DAMAGED_ANSWER", HIDDEN, HIDDEN_TOPICS]
)
def test_every_error_name_that_kgtui_itself_defines_is_explained(name: str) -> None:
    found = explanation.explain_fault(Fault(name, "message"))
    assert found.meaning
    assert found.check
    assert found.advice
    assert found.title == name


@pytest.mark.parametrize("code", [3, 5, 14, 15, 16, 24, 29, 30, 31, 58, 68, 69, 86, 88, 89, 35, 7])
def test_explanation_of_a_common_error_code_contains_the_kafka_error_name(code: int) -> None:
    error = lookup(code)
    found = explanation.explain_fault(Fault(error.name, error.message, code))
    assert found.title == f"{error.name} ({code})"
    assert "no explanation for this error code" not in found.meaning


def test_explanation_of_a_forbidden_group_contains_the_acl_operation() -> None:
    found = explanation.explain_fault(Fault("GROUP_AUTHORIZATION_FAILED", "no", 30))
    assert "DESCRIBE" in found.check
    assert "kafka-acls.sh" in found.advice


def test_explanation_mentions_the_acl_operation_that_the_request_needs() -> None:
    fault = Fault("GROUP_AUTHORIZATION_FAILED", "no", 30, advice="grant DESCRIBE_CONFIGS on the group to this user")
    found = explanation.explain_fault(fault)
    assert found.advice.startswith("Grant DESCRIBE_CONFIGS on the group to this user. ")
    assert "--operation DESCRIBE_CONFIGS --group" in found.advice
    assert found.check == "the ACLs on the group: DESCRIBE_CONFIGS"


def test_explanation_of_an_unrecognized_error_has_the_message_of_the_broker() -> None:
    found = explanation.explain_fault(Fault("UNKNOWN_999", "strange", 999))
    assert (found.title, found.message) == ("UNKNOWN_999 (999)", "strange")
    assert "no explanation for this error code" in found.meaning


def test_explained_error_keeps_its_own_advice_before_the_general_advice() -> None:
    found = explanation.explain_fault(Fault("NO_ANSWER", "m", advice="look at broker 4"))
    assert found.advice.startswith("Look at broker 4. ")


@pytest.mark.parametrize("state", STATES)
def test_every_group_state_is_explained(state: str) -> None:
    found = explanation.explain_state(state)
    assert "does not know this state" not in found.meaning
    assert not found.is_problem


def test_explanation_of_an_unrecognized_state_contains_its_name() -> None:
    assert explanation.explain_state("Hovering").title == "Hovering"
    assert "does not know this state" in explanation.explain_state("Hovering").meaning


def test_partitions_with_the_same_problem_get_one_common_explanation() -> None:
    offsets = GroupOffsets(
        (CommittedOffset("a", 0, None), CommittedOffset("a", 1, None), CommittedOffset("b", 0, None, error=29),
         CommittedOffset("c", 0, 5)),
        bounds={("c", 0): PartitionBounds(10, 20)},
    )  # fmt: skip
    titles = [one.title for one in explanation.explain_offsets(offsets)]
    assert titles == ["records lost, 1 partition", "no commit, 2 partitions", "forbidden, 1 partition"]


def test_errors_of_a_group_include_the_error_of_its_coordinator() -> None:
    assert [fault.broker for fault in explanation.faults_of(example_snapshot(), "stale.group")] == [4]


def test_reason_for_a_refused_action_becomes_a_whole_sentence() -> None:
    assert explanation.explain_refusal("Delete", "stable with 3 members").meaning == "Stable with 3 members."
