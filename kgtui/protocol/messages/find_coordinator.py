"""FindCoordinator: which broker coordinates a group (KIP-699)."""

from __future__ import annotations

from kgtui.protocol.schema import Api, Rows

REQUEST: Rows = (
    ("Key", "string", "0-3"),
    ("KeyType", "int8", "1+"),
    ("CoordinatorKeys", "[]string", "4+"),
)

_COORDINATOR: Rows = (
    ("Key", "string", "4+"),
    ("NodeId", "int32", "4+"),
    ("Host", "string", "4+"),
    ("Port", "int32", "4+"),
    ("ErrorCode", "int16", "4+"),
    ("ErrorMessage", "string", "4+", "nullable 4+, ignorable"),
)

RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "1+", "ignorable"),
    ("ErrorCode", "int16", "0-3"),
    ("ErrorMessage", "string", "1-3", "nullable 1-3, ignorable"),
    ("NodeId", "int32", "0-3"),
    ("Host", "string", "0-3"),
    ("Port", "int32", "0-3"),
    ("Coordinators", "[]Coordinator", "4+", _COORDINATOR),
)

FIND_COORDINATOR = Api.of(10, "FindCoordinator", versions=(0, 6), flexible=3, request=REQUEST, response=RESPONSE)
