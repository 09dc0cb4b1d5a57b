"""From what went wrong on the wire to a `Fault` that a person can read."""

from __future__ import annotations

import time

from kgtui.errors import (
    BrokerError,
    ClientError,
    ConnectError,
    DeadlineError,
    DecodeError,
    DisconnectedError,
    KgtuiError,
    UnsupportedError,
)
from kgtui.model.answer import Fault
from kgtui.protocol.codes import lookup

_NAMES: tuple[tuple[type[KgtuiError], str, str], ...] = (
    (UnsupportedError, "NOT_SUPPORTED", ""),
    (ConnectError, "NOT_CONNECTED", ""),
    (DeadlineError, "NO_ANSWER", "the broker is slow or cannot be reached; what it coordinates keeps its last values"),
    (DisconnectedError, "DISCONNECTED", "the connection broke; it is made again by itself"),
    (
        DecodeError,
        "DAMAGED_ANSWER",
        "the answer is not what Kafka's protocol says; is something between us and the broker?",
    ),
)

GROUP_ACL = {
    30: "READ or DESCRIBE on the group",
    29: "DESCRIBE on every topic the group subscribes to",
    31: "DESCRIBE on the cluster",
}


class Deadline:
    """A moment by which a call must be over; handed down so that every step knows what is left.

    Args:
        timeout: seconds from now.
    """

    def __init__(self, timeout: float) -> None:
        self.at = time.monotonic() + timeout

    def left(self) -> float:
        """Seconds left, never below a millisecond: a step that starts too late fails by its own deadline."""
        return max(self.at - time.monotonic(), 0.001)

    @property
    def over(self) -> bool:
        """Whether there is no time left."""
        return time.monotonic() >= self.at


def fault_of_code(
    code: int, *, message: str | None = None, broker: int | None = None, group: str | None = None, asked: str = ""
) -> Fault:
    """The fault behind an error code of Kafka's; `asked` names what was asked for, such as `describe`."""
    error = lookup(code)
    text = message or error.message
    if asked:
        text = f"{asked}: {text}"
    return Fault(error.name, text, code, broker, group, error.advice)


def fault_of_error(error: KgtuiError, *, broker: int | None = None, group: str | None = None) -> Fault:
    """The fault behind an exception of the client."""
    if isinstance(error, BrokerError):
        return fault_of_code(error.code, message=str(error), broker=error.broker or broker, group=group)
    if isinstance(error, ClientError) and error.broker is not None:
        broker = error.broker
    for kind, name, advice in _NAMES:
        if isinstance(error, kind):
            return Fault(name, str(error), None, broker, group, advice)
    return Fault("FAILED", str(error), None, broker, group)


def not_supported(what: str, *, broker: int | None = None, group: str | None = None, advice: str = "") -> Fault:
    """The fault for what a broker cannot answer: neither an error nor 0."""
    return Fault("NOT_SUPPORTED", f"{what} is not supported by this broker", None, broker, group, advice)
