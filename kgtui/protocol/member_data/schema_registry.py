"""Member metadata and assignments of schema registries (protocol type `sr`), in JSON.

Versions of schema registries differ in the fields that they send. Unknown fields are ignored. A missing field becomes
None, but a missing `scheme` becomes `http`, and metadata without a `host` is not decoded.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

DUPLICATE_URLS = 1
"""Error code in an assignment. It means that two schema registries of the group have the same URL."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The metadata of a schema registry that joins its group."""

    version: int | None
    host: str
    port: int | None
    master_eligibility: bool | None
    """Whether this registry can become the primary, which is the only registry of a group that writes schemas."""
    scheme: str = "http"
    leader: bool | None = None
    """Whether this registry is the primary; None if its version is too old to send this field."""

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}" + ("" if self.port is None else f":{self.port}")


@dataclass(frozen=True, slots=True)
class Assignment:
    """The assignment of a schema registry. It tells the registry which member of the group is the primary."""

    version: int | None
    error: int | None
    """0 for success, or `DUPLICATE_URLS`; None if the registry omitted the field."""
    master: str | None
    """Member id of the primary; None if there is no primary."""
    master_identity: Identity | None


def decode_identity(data: bytes) -> Identity | None:
    """Decode the metadata of a registry. Return None for empty or malformed bytes, or if the host is missing."""
    return _identity(_fields(data))


def decode_assignment(data: bytes) -> Assignment | None:
    """Decode the assignment of a registry. Return None for empty or malformed bytes."""
    fields = _fields(data)
    if not fields.keys() & {"error", "master", "master_identity"}:
        return None
    return Assignment(
        version=_integer(fields, "version"),
        error=_integer(fields, "error"),
        master=_text(fields, "master"),
        master_identity=_identity(fields.get("master_identity")),
    )


def encode_identity(value: Identity) -> bytes:
    """Encode the metadata of a registry as JSON. Fields that are None are left out."""
    return _json(_identity_fields(value))


def encode_assignment(value: Assignment) -> bytes:
    """Encode the assignment of a registry as JSON. Fields that are None are left out."""
    master = value.master_identity
    return _json(
        {
            "version": value.version,
            "error": value.error,
            "master": value.master,
            "master_identity": None if master is None else _present(_identity_fields(master)),
        }
    )


def _identity(fields: object) -> Identity | None:
    if not isinstance(fields, dict) or not isinstance(fields.get("host"), str):
        return None
    return Identity(
        version=_integer(fields, "version"),
        host=fields["host"],
        port=_integer(fields, "port"),
        master_eligibility=_flag(fields, "master_eligibility"),
        scheme=_text(fields, "scheme") or "http",
        leader=_flag(fields, "leader"),
    )


def _identity_fields(value: Identity) -> dict[str, object]:
    return {
        "version": value.version,
        "host": value.host,
        "port": value.port,
        "master_eligibility": value.master_eligibility,
        "scheme": value.scheme,
        "leader": value.leader,
    }


def _fields(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        # The bytes are not valid text or not JSON, the JSON is nested too deeply, or a number has too many digits.
        return {}
    return value if isinstance(value, dict) else {}


def _json(fields: dict[str, object]) -> bytes:
    return json.dumps(_present(fields), separators=(",", ":")).encode()


def _present(fields: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}


def _text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


def _integer(fields: dict[str, Any], name: str) -> int | None:
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _flag(fields: dict[str, Any], name: str) -> bool | None:
    value = fields.get(name)
    return value if isinstance(value, bool) else None
