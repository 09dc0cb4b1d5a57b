"""The exceptions of kgtui. Imports nothing of ours.

::

    KgtuiError
    ├── UsageError              what the user typed or configured is wrong            exit code 2
    │   ├── ConfigError         a setting, a properties file, a theme
    │   ├── LakeError           a folder that is no lake, or a lake that cannot be read
    │   ├── QueryError          a filter expression (carries position and what was expected)
    │   └── SparkError          Spark cannot be started here, or what it needs is missing
    ├── SourceError             records cannot be read, or fewer came than there are
    ├── UnreachableError        nothing answered; carries what was tried              exit code 3
    ├── RefusedError            a guard said no; carries the reason                   exit code 4
    ├── ClientError             one exchange with one broker failed
    │   ├── ConnectError        no connection: refused, timed out, TLS, SASL, not Kafka
    │   ├── DeadlineError       no answer in time
    │   ├── DisconnectedError   the connection broke while a request was under way
    │   ├── UnsupportedError    this broker has no version of this API that we speak
    │   └── BrokerError         the broker answered with an error code
    └── ProtocolError           bytes that are not what the protocol says
        ├── DecodeError         truncated or damaged
        └── EncodeError         a value that the version cannot carry
"""

from __future__ import annotations


class KgtuiError(Exception):
    """The root of every error that kgtui raises on purpose."""

    exit_code = 1
    fault_name = "FAILED"
    """What a `Fault` that tells of this error is called."""
    advice = ""
    """What to do about it, where the message does not say."""


class UsageError(KgtuiError):
    """What the user typed or configured cannot be used; the message says what was expected."""

    exit_code = 2


class ConfigError(UsageError):
    """A setting, a properties file or a theme is wrong or not supported; names the key, never a secret."""


class LakeError(UsageError):
    """A folder is no lake, the lake is of a newer version, or what reads lakes is not installed."""


class QueryError(UsageError):
    """A filter expression has a mistake.

    Attributes:
        position: offset of the mistake in the text, in characters.
        length: how many characters the mistake spans, at least 1.
        expected: what would have been understood there.
    """

    def __init__(self, message: str, *, position: int = 0, length: int = 1, expected: str = "") -> None:
        super().__init__(message)
        self.position = position
        self.length = max(1, length)
        self.expected = expected


class SparkError(UsageError):
    """Spark cannot be started: no Java, another PySpark, a missing jar; the message says what to do."""


class SourceError(KgtuiError):
    """Records of a topic or a folder cannot be read, or fewer came than there are; the message says why."""


class UnreachableError(KgtuiError):
    """No broker could be reached.

    Attributes:
        attempts: `(address, reason)` of each try, newest last.
    """

    fault_name = "UNREACHABLE"
    advice = "check the addresses, the network and the security settings"

    exit_code = 3

    def __init__(self, message: str, attempts: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(message)
        self.attempts = attempts


class RefusedError(KgtuiError):
    """A guard refused an action; the message is the reason, in the user's words."""

    exit_code = 4


class ClientError(KgtuiError):
    """One exchange with one broker failed.

    Attributes:
        broker: node id, or None for a seed whose id is not known yet.
        address: `host:port` as tried.
    """

    def __init__(self, message: str, *, broker: int | None = None, address: str = "") -> None:
        super().__init__(message)
        self.broker = broker
        self.address = address


class ConnectError(ClientError):
    """No connection could be made; the message says at which step and what to look at."""

    fault_name = "NOT_CONNECTED"


class DeadlineError(ClientError):
    """No answer arrived before the deadline."""

    fault_name = "NO_ANSWER"
    advice = "the broker is slow or cannot be reached; what it coordinates keeps its last values"


class DisconnectedError(ClientError):
    """The connection broke while a request was under way; whether it was carried out is unknown."""

    fault_name = "DISCONNECTED"
    advice = "the connection broke; it is made again by itself"


class UnsupportedError(ClientError):
    """This broker has no version of the API that we speak, or has it switched off."""

    fault_name = "NOT_SUPPORTED"
    advice = "the broker is too old for it, or the feature is switched off on the cluster"


class BrokerError(ClientError):
    """The broker answered with an error code.

    Attributes:
        code: Kafka's error code; the name and advice are in `kgtui.protocol.error_codes`.
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
    """Bytes are not what Kafka's protocol says."""


class DecodeError(ProtocolError):
    """A message is truncated or damaged.

    Attributes:
        position: offset in bytes where decoding stopped, or -1 when not known.
    """

    fault_name = "DAMAGED_ANSWER"
    advice = "the answer is not what Kafka's protocol says; is something between us and the broker?"

    def __init__(self, message: str, position: int = -1) -> None:
        super().__init__(message)
        self.position = position


class EncodeError(ProtocolError):
    """A value cannot be written in this version of the message."""
