"""Write the tables of all records of `__consumer_offsets` as text, for the decoder in Java (`kgtui/pipeline/jvm`).

So the Java code contains no tables of its own. Each line of the text is one of the following; its cells are separated
by tabs, and truth values are 0 or 1.

| first cell | other cells |
|---|---|
| `result` | schema of the result of the SQL function, as JSON |
| `type` | record type; name of the value's message; its newest version; columns `type`, `record` and `about` of `group_events` |
| `message` | `key` or `value` of the record type before it, or `assignment`; label for error messages; version; flexible; strict |
| `field` | a field of the message before it: depth of nesting; name; name in JSON; type; array; nullable; tag or -1; whether the version has the field; minimum size of an array's element; whether the default is null; size of a type of fixed size, otherwise 0; whether the type is a struct; default |
"""  # noqa: E501 - a row of a table is one line

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.pipeline.transforms.group_events import type_and_about
from kgtui.protocol.decoder_codegen import least_element_size
from kgtui.protocol.member_data.consumer import ASSIGNMENT
from kgtui.protocol.records import RECORD_SCHEMAS, value_message
from kgtui.protocol.records.schemas import KEY_VERSION
from kgtui.protocol.schema import SIZES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.protocol.api import Message
    from kgtui.protocol.records import RecordSchema
    from kgtui.protocol.schema import Field, Struct


def decoder_tables() -> str:
    from kgtui.pipeline.transforms.record_decoding import DECODED

    rows: list[tuple[object, ...]] = [("result", DECODED.json())]
    for schema in RECORD_SCHEMAS.values():
        rows += _record_type(schema)
    rows += _message("assignment", ASSIGNMENT, ASSIGNMENT.high)
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)


def _record_type(schema: RecordSchema) -> Iterator[tuple[object, ...]]:
    newest = value_message(schema.type, -1)
    group_type, about = type_and_about(schema.type)
    record = schema.type.name.title().replace("_", "")
    yield "type", schema.type.value, newest.name, newest.high, group_type, record, about
    yield from _message("key", schema.key, KEY_VERSION)
    for version in range(newest.high + 1):
        yield from _message("value", value_message(schema.type, version), version)


def _message(part: str, message: Message, version: int) -> Iterator[tuple[object, ...]]:
    flexible = message.is_flexible(version)
    yield "message", part, message.label(version), version, int(flexible), int(message.strict)
    yield from _fields(message.struct, version, 0, flexible=flexible)


def _fields(struct: Struct, version: int, depth: int, *, flexible: bool) -> Iterator[tuple[object, ...]]:
    for field in struct.fields:
        yield (
            "field",
            depth,
            field.name,
            field.name[0].lower() + field.name[1:],
            field.type,
            int(field.array),
            int(field.nullable.has(version)),
            -1 if field.tag is None else field.tag,
            int(field.versions.has(version)),
            least_element_size(field, version, flexible=flexible),
            int(field.null_by_default),
            SIZES.get(field.type, 0),
            int(field.struct is not None),
            _default(field),
        )
        if field.struct is not None:
            yield from _fields(field.struct, version, depth + 1, flexible=flexible)


def _default(field: Field) -> str:
    """Return the default of an integer or a string as text; the defaults of other types follow from the type."""
    return str(field.default) if isinstance(field.default, (int, str)) else ""
