"""The exceptions of kgtui. This module imports no other module of kgtui.

::

    KgtuiError                  exit code 1, unless another one is given below
    ├── UsageError              an option or a setting is wrong                      exit code 2
    │   ├── ConfigError         a setting, a properties file or a theme is wrong
    │   ├── LakeError           a folder with recordings (a lake) cannot be used
    │   ├── QueryError          a filter expression is wrong; stores the position of the error
    │   └── SparkError          Spark cannot be started, or something that it needs is missing
    ├── SourceError             records cannot be read, or fewer records arrived than exist
    ├── UnreachableError        no broker answered; stores the tried addresses       exit code 3
    ├── RefusedError            a safety check refused an action; gives the reason   exit code 4
    ├── ClientError             a request to one broker failed
    │   ├── ConnectError        no connection: refused, timed out, TLS, SASL, not a Kafka broker
    │   ├── DeadlineError       no response before the deadline
    │   ├── DisconnectedError   the connection was lost while a request was in flight
    │   ├── UnsupportedError    the broker and kgtui have no common version of an API
    │   └── BrokerError         the broker responded with an error code
    └── ProtocolError           a message of the Kafka protocol cannot be decoded or encoded
        ├── DecodeError         a message is truncated or damaged
        └── EncodeError         a value cannot be encoded in the requested version of a message
"""

from __future__ import annotations

CRASHED = 70
"""Exit code after an internal error, which is a bug of kgtui (EX_SOFTWARE of sysexits.h)."""


class KgtuiError(Exception):
    """Base class of all errors that kgtui reports to the user, for example as one line on stderr."""

    exit_code = 1
    fault_name = "FAILED"
    """Name of this kind of error, such as `NO_ANSWER`.

    If the error is stored in the result of a read or write, as a `Fault` (see `kgtui.model.answer`), the fault gets
    this name. Commands print the name of a fault in brackets after its message.
    """
    advice = ""
    """What the user can do about the error; empty if there is no advice, or if the message contains the advice."""


class UsageError(KgtuiError):
    """An option or a setting is wrong; the message says what was expected."""

    exit_code = 2


class ConfigError(UsageError):
    """A setting, a properties file or a theme is wrong. The message names the wrong key, and contains no secrets."""


class LakeError(UsageError):
    """A lake (a folder of Delta tables with recordings) cannot be used.

    For example, the folder is not a lake, a newer version of kgtui has written it, or kgtui was installed without the
    extra `history`.
    """


class QueryError(UsageError):
    """A filter expression is wrong.

    Attributes:
        position: index of the first wrong character in the expression, counted from 0.
        length: number of wrong characters, at least 1.
        expected: what the parser expected, such as `expected yes or no`; can be empty.
    """

    def __init__(self, message: str, *, position: int = 0, length: int = 1, expected: str = "") -> None:
        super().__init__(message)
        self.position = position
        self.length = max(1, length)
        self.expected = expected


class SparkError(UsageError):
    """Spark cannot be started, for example because Java or a jar is missing, or the version of PySpark is wrong."""


class SourceError(KgtuiError):
    """The Spark pipeline cannot read the records of a topic or folder, or has received fewer records than exist."""


class UnreachableError(KgtuiError):
    """No broker could be reached.

    Args:
        advice: what the user can do; None for the usual advice (the class attribute `advice`).

    Attributes:
        attempts: pairs `(server, reason)`, one for each bootstrap server or broker that kgtui has tried to reach. The
            reason says why the server could not be reached.
    """

    fault_name = "UNREACHABLE"
    advice = "check the addresses, the network and the security settings"

    exit_code = 3

    def __init__(self, message: str, attempts: tuple[tuple[str, str], ...] = (), advice: str | None = None) -> None:
        super().__init__(message)
        self.attempts = attempts
        if advice is not None:
            self.advice = advice

    def other_reasons(self) -> tuple[str, ...]:
        """Return the reasons why the attempts to connect failed, each with the address of the broker.

        Duplicates are left out, and also reasons that the message of this error already contains.
        """
        reasons = (
            reason if address in reason else f"{address}: {reason}"
            for address, reason in self.attempts
            if reason not in str(self)
        )
        return tuple(dict.fromkeys(reasons))


class RefusedError(KgtuiError):
    """A safety check refused an action. The message is the reason, written for the user."""

    exit_code = 4


class ClientError(KgtuiError):
    """A request to one broker failed.

    Attributes:
        broker: node id of the broker; None if only the bootstrap address is known.
        address: `host:port` of the broker; empty if it is not known.
    """

    def __init__(self, message: str, *, broker: int | None = None, address: str = "") -> None:
        super().__init__(message)
        self.broker = broker
        self.address = address


class ConnectError(ClientError):
    """No connection could be opened. The message names the step that failed and what to check."""

    fault_name = "NOT_CONNECTED"


class DeadlineError(ClientError):
    """No response arrived before the deadline."""

    fault_name = "NO_ANSWER"
    advice = "check the network and the load of the broker; the terminal UI keeps showing the last known values"


class DisconnectedError(ClientError):
    """The connection was lost during a request. The broker might have executed the request."""

    fault_name = "DISCONNECTED"
    advice = "try again; the terminal UI reconnects automatically"


class UnsupportedError(ClientError):
    """The broker and kgtui have no common version of an API, or the API is switched off in the cluster."""

    fault_name = "NOT_SUPPORTED"
    advice = "upgrade the broker, or enable the feature on the cluster"


class BrokerError(ClientError):
    """The broker responded with an error code.

    Attributes:
        code: Kafka's error code (see `kgtui.protocol.error_codes`).
    """

    def __init__(
        self,
        message: str,
        *,
        code: int,
        name: str = "",
        advice: str = "",
        broker: int | None = None,
        address: str = "",
    ) -> None:
        super().__init__(message, broker=broker, address=address)
        self.code = code
        self.fault_name = name or f"ERROR_{code}"
        self.advice = advice


class ProtocolError(KgtuiError):
    """A message of the Kafka protocol cannot be decoded or encoded."""


class DecodeError(ProtocolError):
    """A message is truncated or damaged.

    Attributes:
        position: index of the byte at which decoding stopped; -1 if it is not known.
    """

    fault_name = "DAMAGED_ANSWER"
    advice = "the response does not follow the Kafka protocol; check that the port belongs to a broker, not to a proxy"

    def __init__(self, message: str, position: int = -1) -> None:
        super().__init__(message)
        self.position = position


class EncodeError(ProtocolError):
    """A value cannot be encoded in the requested version of a message."""


PARSE_ERRORS = (ValueError, RecursionError, OverflowError)
"""Exceptions that a JSON or TOML parser raises for a syntax error, for very deep nesting, or for a huge integer."""


def parse_reason(error: Exception) -> str:
    """Return why JSON or TOML could not be parsed, for example `a number has too many digits`.

    Args:
        error: one of `PARSE_ERRORS`.
    """
    if isinstance(error, RecursionError):
        return "the values are nested too deeply"
    if isinstance(error, OverflowError) or "integer string conversion" in str(error):
        return "a number has too many digits"
    return str(error)
