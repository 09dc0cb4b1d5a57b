"""Member bytes of schema registries (protocol type `sr`): JSON without a header.

Registries of other makers write the same with fields more or less: what is missing is None, what is unknown is
not looked at.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

DUPLICATE_URLS = 1
"""The error of an assignment when two registries gave the same address."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a schema registry says of itself."""

    version: int | None
    host: str
    port: int | None
    master_eligibility: bool | None
    """Whether it may become the primary, the only one that writes."""
    scheme: str = "http"
    leader: bool | None = None
    """Newer registries only: whether it is the primary."""

    @property
    def url(self) -> str:
        """Where the registry answers."""
        return f"{self.scheme}://{self.host}" + ("" if self.port is None else f":{self.port}")


@dataclass(frozen=True, slots=True)
class Assignment:
    """Which registry is the primary."""

    version: int | None
    error: int | None
    """0, or `DUPLICATE_URLS`."""
    master: str | None
    """Member id of the primary; None when no registry is eligible."""
    master_identity: Identity | None


def identity(data: bytes) -> Identity | None:
    """Read a registry's metadata; None when there is none or it is something else."""
    return _identity(_fields(data))


def assignment(data: bytes) -> Assignment | None:
    """Read a registry's assignment; None when there is none or it is something else."""
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
    """Write a registry's metadata; what is None is left out."""
    return _json(_identity_fields(value))


def encode_assignment(value: Assignment) -> bytes:
    """Write a registry's assignment; what is None is left out."""
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
    except (ValueError, RecursionError):  # not JSON, not UTF-8, a number without end, nested without end
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
