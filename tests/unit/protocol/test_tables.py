"""Every table equals, field by field and version by version, the schema inside kafka-clients 4.4.0."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import UUID
from zipfile import ZipFile

import pytest

from kgtui.protocol import consumer
from kgtui.protocol.messages import APIS
from kgtui.protocol.table import NEVER, Field, Struct, Versions
from tests.jars import clients_jar
from tests.unit.protocol.samples import name_of

if TYPE_CHECKING:
    from kgtui.protocol.schema import Api, Message

CASES = [m for api in APIS.values() for m in (api.request, api.response)]
CASES += [consumer.SUBSCRIPTION, consumer.ASSIGNMENT]

DEFAULTS: dict[str, object] = {"string": "", "bytes": b"", "bool": False, "uuid": UUID(int=0)}


@cache
def schema(name: str) -> dict[str, Any]:
    """The schema of a message, read from the jar; the files have comments, which JSON has not."""
    with ZipFile(clients_jar("4.4.0")) as jar:
        text = jar.read(f"common/message/{name}.json").decode()
    loaded: dict[str, Any] = json.loads(re.sub(r"^[ \t]*//.*$", "", text, flags=re.MULTILINE))
    return loaded


def versions(text: str | None) -> Versions:
    return NEVER if text in {None, "none"} else Versions.parse(str(text))


def ours(struct: Struct, version: int) -> list[object]:
    """The layout of one version as our table has it: a row for each field, in order."""
    return [
        (
            field.name,
            ("[]" if field.array else "") + field.kind,
            field.nullable.has(version),
            field.tag,
            _our_default(field),
            field.ignorable,
            None if field.struct is None else ours(field.struct, version),
        )
        for field in struct.fields
        if field.versions.has(version)
    ]


def theirs(fields: list[dict[str, Any]], shared: dict[str, Any], version: int) -> list[object]:
    """The same as Kafka's schema has it."""
    rows: list[object] = []
    for field in fields:
        if not versions(field["versions"]).has(version):
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
                None if inner is None else theirs(inner, shared, version),
            )
        )
    return rows


def _our_default(field: Field) -> object:
    if field.array or field.struct is not None:
        return "null" if field.null_by_default else "empty"
    return field.default


def _their_default(field: dict[str, Any], kind: str, *, plain: bool) -> object:
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


@pytest.mark.parametrize("message", CASES, ids=name_of)
def test_every_version_has_kafkas_fields(message: Message) -> None:
    kafka = schema(message.name)
    shared = {struct["name"]: struct["fields"] for struct in kafka.get("commonStructs", [])}
    for version in range(message.low, message.high + 1):
        assert versions(kafka["validVersions"]).has(version)
        assert ours(message.struct, version) == theirs(kafka["fields"], shared, version), version
        assert message.is_flexible(version) == versions(kafka["flexibleVersions"]).has(version)


@pytest.mark.parametrize("message", CASES, ids=name_of)
def test_no_table_has_a_field_that_none_of_its_versions_has(message: Message) -> None:
    """A row with a mistyped range would never be read and never be missed."""

    def check(struct: Struct, low: int, high: int) -> None:
        for field in struct.fields:
            there = [v for v in range(low, high + 1) if field.versions.has(v)]
            assert there, field
            if field.struct is not None:
                check(field.struct, there[0], there[-1])

    check(message.struct, message.low, message.high)


@pytest.mark.parametrize("api", APIS.values(), ids=name_of)
def test_keys_and_names_are_kafkas(api: Api) -> None:
    for message, kind in ((api.request, "request"), (api.response, "response")):
        kafka = schema(message.name)
        assert (kafka["apiKey"], kafka["type"], kafka["name"]) == (api.key, kind, message.name)
        assert not kafka.get("latestVersionUnstable", False)
        assert (message.low, message.high, message.flexible) == (api.low, api.high, api.flexible)


def test_the_versions_are_those_that_were_promised() -> None:
    spoken = {api.name: (api.low, api.high) for api in APIS.values()}
    assert spoken == {
        "ApiVersions": (0, 4),
        "Metadata": (1, 12),
        "FindCoordinator": (0, 6),
        "ListGroups": (0, 5),
        "DescribeGroups": (0, 6),
        "ConsumerGroupDescribe": (0, 1),
        "ShareGroupDescribe": (1, 1),
        "StreamsGroupDescribe": (0, 1),
        "OffsetFetch": (1, 9),
        "ListOffsets": (1, 7),
        "DescribeShareGroupOffsets": (0, 1),
        "DescribeConfigs": (1, 4),
        "DeleteGroups": (0, 3),
    }
    assert all(key == api.key for key, api in APIS.items())
