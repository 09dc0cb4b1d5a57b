"""Tests that Kafka's own Java classes decode the messages that kgtui encodes, and encode them to the same bytes."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from kgtui.protocol.member_data import consumer
from kgtui.protocol.messages import APIS
from tests.unit.protocol.java_oracle import ask
from tests.unit.protocol.samples import Samples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.protocol.api import Message

VALUES_PER_VERSION = 12


def _every_message() -> Iterator[tuple[str, Message]]:
    for api in APIS.values():
        yield f"request {api.key}", api.request
        yield f"response {api.key}", api.response
    yield "subscription -", consumer.SUBSCRIPTION
    yield "assignment -", consumer.ASSIGNMENT


def test_java_decodes_every_message_version_and_encodes_the_same_bytes() -> None:
    """Java's decoder must read each message to its last byte."""
    samples = Samples(Random(20261121))
    questions, written = [], []
    for prefix, message in _every_message():
        for version in range(message.low, message.high + 1):
            for _ in range(VALUES_PER_VERSION):
                data = message.encode(version, samples.value(message.struct, version)).hex()
                questions.append(f"echo {prefix} {version} {data}")
                written.append(data)
    answers = ask(questions)
    wrong = [
        (question[:100], answer[:200])
        for question, answer, data in zip(questions, answers, written, strict=True)
        if answer != data
    ]
    assert wrong == []
    assert len(written) > 1500


def test_header_versions_equal_those_of_the_java_classes() -> None:
    cases = [(api, version) for api in APIS.values() for version in range(api.low, api.high + 1)]
    answers = ask(f"headers {api.key} {version}" for api, version in cases)
    ours = [f"{api.request_header(version)} {api.response_header(version)}" for api, version in cases]
    assert ours == answers
