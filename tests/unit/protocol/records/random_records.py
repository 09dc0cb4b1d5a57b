"""Generate random records of every type and version, as defined by kgtui's record tables."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from kgtui.protocol.records import RECORD_SCHEMAS, encode
from tests.unit.protocol.samples import Samples

if TYPE_CHECKING:
    from kgtui.protocol.records import RecordSchema
    from tests.unit.protocol.records.kafka_coordinator import Record

CASES = [(kind, version) for kind in RECORD_SCHEMAS.values() for version in range(kind.value.high + 1)]
"""Pairs `(record schema, version)` for all record schemas and all versions of their values."""


def name_of(case: object) -> str:
    """Return the text for a parameter (a record schema or a version number) in the name of a parametrized test."""
    return str(getattr(case, "type", case)).rpartition(".")[2].lower()


def random_record(random: Random, kind: RecordSchema, version: int) -> Record:
    """Return the key and value of a random record; `version` is the version of the value.

    One record in eight is a tombstone (it has no value).
    """
    samples = Samples(random)
    key = samples.value(kind.key.struct, 0)
    if random.random() < 1 / 8:
        return encode(kind.type, key, None)
    return encode(kind.type, key, samples.value(kind.value.struct, version), version=version)


def every_record_type(seed: int, count: int) -> list[Record]:
    """Return `count` random records for each pair in `CASES`. The same seed always gives the same records."""
    random = Random(seed)
    return [random_record(random, kind, version) for kind, version in CASES for _ in range(count)]
