"""Tests that the API versions of each simulated Kafka release equal those in the message schemas of Kafka's jars."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest

from kgtui.errors import UsageError
from kgtui.protocol.messages import APIS
from kgtui.simulator.releases import RANGES, Ranges, release, releases, supported
from tests import jars


def ranges_in(jar: Path) -> Ranges:
    """Return the API versions in the message schemas of a `kafka-clients` jar: API key → (lowest, highest version).

    The result contains only APIs that kgtui uses. Versions that Kafka marks as unstable are left out.
    """
    ranges: Ranges = {}
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if name.startswith("common/message/") and name.endswith("Request.json"):
                text = re.sub(r"//[^\n]*", "", archive.read(name).decode()).strip()
                schema, _ = json.JSONDecoder().raw_decode(text)
                if schema["apiKey"] not in APIS or schema["validVersions"] == "none":
                    continue
                low, _, high = schema["validVersions"].partition("-")
                top = int(high or low) - (1 if schema.get("latestVersionUnstable") else 0)
                if int(low) <= top:
                    ranges[schema["apiKey"]] = (int(low), top)
    return ranges


@pytest.mark.parametrize("version", jars.CLIENT_VERSIONS)
def test_api_version_ranges_equal_those_in_the_clients_jar_of_each_release(version: str) -> None:
    assert RANGES[".".join(version.split(".")[:2])] == ranges_in(jars.clients_jar(version))


def test_simulated_kafka_4_3_has_the_api_versions_of_the_release_4_3_1() -> None:
    folder = Path(jars.classpath("4.3.1")).parent
    assert RANGES["4.3"] == ranges_in(folder / "kafka-clients-4.3.1.jar")


def test_simulated_brokers_support_only_api_versions_that_kgtui_can_encode() -> None:
    for name in RANGES:
        for key, (low, high) in release(name).ranges.items():
            assert APIS[key].low <= low <= high <= APIS[key].high
    assert supported({9: (20, 21), 999: (0, 1)}) == {}


def test_newer_group_types_are_supported_only_by_newer_releases() -> None:
    first = {
        kind: next(name for name in RANGES if release(name).has_type(kind)) for kind in ("consumer", "share", "streams")
    }
    assert first == {"consumer": "3.8", "share": "4.1", "streams": "4.2"}
    assert release("2.4").has_type("classic")


def test_parsing_a_list_of_releases_ignores_patch_numbers_and_keeps_the_order() -> None:
    assert release("3.9.2") == release("3.9")
    assert [found.name for found in releases("2.4, 4.4")] == ["2.4", "4.4"]


@pytest.mark.parametrize("name", ["1.0", "five", "4", "99.1"])
def test_an_unknown_kafka_release_is_rejected(name: str) -> None:
    with pytest.raises(UsageError, match=re.escape(repr(name))):
        release(name)
