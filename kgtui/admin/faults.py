"""From what went wrong on the wire to a `Fault` that a person can read."""

from __future__ import annotations

from kgtui.model.answer import Fault
from kgtui.protocol.error_codes import lookup


def fault_of_code(
    code: int, *, message: str | None = None, broker: int | None = None, group: str | None = None, asked: str = ""
) -> Fault:
    """The fault behind an error code of Kafka's; `asked` names what was asked for, such as `describe`."""
    error = lookup(code)
    text = message or error.message
    if asked:
        text = f"{asked}: {text}"
    return Fault(error.name, text, code, broker, group, error.advice)


def not_supported(what: str, *, broker: int | None = None, group: str | None = None, advice: str = "") -> Fault:
    """The fault for what a broker cannot answer: neither an error nor 0."""
    return Fault("NOT_SUPPORTED", f"{what} is not supported by this broker", None, broker, group, advice)
