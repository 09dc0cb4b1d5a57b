"""Read Kafka's own message schemas from its jars, and compare kgtui's message tables with them, field by field."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import UUID
from zipfile import ZipFile

from kgtui.protocol.schema import NEVER, Field, Struct, Versions

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.protocol.api import Message

DEFAULTS: dict[str, object] = {"string": "", "bytes": b"", "bool": False, "uuid": UUID(int=0)}


@cache
def read_schema(jar: Path, name: str) -> dict[str, Any]:
    """Read the JSON schema of a message from a Kafka jar.

    The comments in the schema are removed, because the module `json` cannot parse them.
    """
    with ZipFile(jar) as opened:
        text = opened.read(f"common/message/{name}.json").decode()
    loaded: dict[str, Any] = json.loads(re.sub(r"^[ \t]*//.*$", "", text, flags=re.MULTILINE))
    return loaded


def versions(text: str | None) -> Versions:
    """Parse a version range in Kafka's schemas, such as `0-3` or `2+`. None and `none` mean no version."""
    return NEVER if text in {None, "none"} else Versions.parse(str(text))


def kgtui_layout(struct: Struct, version: int) -> list[object]:
    """Return the fields of a message in one version, as kgtui's message table defines them. Each field is a row.

    A row is `(name, type, nullable, tag, default, ignorable, rows of nested fields)`. The tag and the rows can be None.
    """
    return [
        (
            field.name,
            ("[]" if field.array else "") + field.type,
            field.nullable.has(version),
            field.tag,
            _our_default(field),
            field.ignorable,
            None if field.struct is None else kgtui_layout(field.struct, version),
        )
        for field in struct.fields
        if field.versions.has(version)
    ]


def kafka_layout(fields: list[dict[str, Any]], shared: dict[str, Any], version: int) -> list[object]:
    """Return the fields of a message in one version, as Kafka's schema defines them, in the format of `kgtui_layout`.

    Args:
        fields: the fields in the schema.
        shared: name of a struct that several fields use → fields of that struct.
        version: version of the message.
    """
    rows: list[object] = []
    for field in fields:
        if not versions(field.get("versions", field.get("taggedVersions"))).has(version):
            continue
        kind = field["type"].removeprefix("[]")
        tagged = "tag" in field and versions(field["taggedVersions"]).has(version)
        inner = field.get("fields") or shared.get(kind)
        rows.append(
            (
                field["name"],
                field["type"],
                versions(field.get("nullableVersions")).has(version),
                field["tag"] if tagged else None,
                _their_default(field, kind, plain=inner is None and field["type"] == kind),
                field.get("ignorable", False),
                None if inner is None else kafka_layout(inner, shared, version),
            )
        )
    return rows


def _our_default(field: Field) -> object:
    if field.array or field.struct is not None:
        return "null" if field.null_by_default else "empty"
    return field.default


def _their_default(field: dict[str, Any], kind: str, *, plain: bool) -> object:
    # Kafka's schemas write the default value null as the text "null". `written` is None if the field has no default.
    written = field.get("default")
    if not plain:
        return "null" if written == "null" else "empty"
    if written == "null":
        return None
    if written is None:
        return DEFAULTS.get(kind, 0)
    if kind == "bool":
        return str(written).lower() == "true"
    return written if kind == "string" else int(written)


def check_versions(message: Message, kafka: dict[str, Any]) -> None:
    """Assert that kgtui's definition of a message has the same layout as Kafka's schema in every version."""
    shared = {struct["name"]: struct["fields"] for struct in kafka.get("commonStructs", [])}
    for version in range(message.low, message.high + 1):
        assert versions(kafka["validVersions"]).has(version)
        assert kgtui_layout(message.struct, version) == kafka_layout(kafka["fields"], shared, version), version
        assert message.is_flexible(version) == versions(kafka["flexibleVersions"]).has(version)


def check_every_field_is_used(message: Message) -> None:
    """Assert that each field in kgtui's message table exists in at least one supported version of the message.

    A nested field must exist in a version in which its parent field exists.
    """

    def check(struct: Struct, low: int, high: int) -> None:
        for field in struct.fields:
            present = [v for v in range(low, high + 1) if field.versions.has(v)]
            assert present, field
            if field.struct is not None:
                check(field.struct, present[0], present[-1])

    check(message.struct, message.low, message.high)
