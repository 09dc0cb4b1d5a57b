"""The API versions that each Kafka release supports, and other differences between releases.

The API versions come from `validVersions` in the `kafka-clients` jars. APIs that `kgtui.protocol` does not support are
left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.errors import UsageError
from kgtui.model.group_types import GROUP_TYPES
from kgtui.protocol.messages import APIS

if TYPE_CHECKING:
    from collections.abc import Mapping

Ranges = dict[int, tuple[int, int]]
"""API key → lowest and highest version that brokers of one release support."""

# fmt: off
RANGES: Mapping[str, Ranges] = {
    # API versions in the jar of kafka-clients 2.4.1:
    "2.4": {
        2: (0, 5), 3: (0, 9), 9: (0, 6), 10: (0, 3), 15: (0, 5), 16: (0, 3), 18: (0, 3), 32: (0, 2), 42: (0, 2),
    },
    # API versions in the jar of kafka-clients 2.8.2:
    "2.8": {
        2: (0, 6), 3: (0, 11), 9: (0, 7), 10: (0, 3), 15: (0, 5), 16: (0, 4), 18: (0, 3), 32: (0, 4), 42: (0, 2),
    },
    # API versions in the jar of kafka-clients 3.3.2:
    "3.3": {
        2: (0, 7), 3: (0, 12), 9: (0, 8), 10: (0, 4), 15: (0, 5), 16: (0, 4), 18: (0, 3), 32: (0, 4), 42: (0, 2),
    },
    # API versions in the jar of kafka-clients 3.6.2:
    "3.6": {
        2: (0, 8), 3: (0, 12), 9: (0, 8), 10: (0, 4), 15: (0, 5), 16: (0, 4), 18: (0, 3), 32: (0, 4), 42: (0, 2),
    },
    # API versions in the jar of kafka-clients 3.7.2:
    "3.7": {
        2: (0, 8), 3: (0, 12), 9: (0, 9), 10: (0, 4), 15: (0, 5), 16: (0, 4), 18: (0, 3), 32: (0, 4), 42: (0, 2),
    },
    # API versions in the jar of kafka-clients 3.8.1:
    "3.8": {
        2: (0, 8), 3: (0, 12), 9: (0, 9), 10: (0, 5), 15: (0, 5), 16: (0, 5), 18: (0, 3), 32: (0, 4), 42: (0, 2),
        69: (0, 0),
    },
    # API versions in the jar of kafka-clients 3.9.2:
    "3.9": {
        2: (0, 9), 3: (0, 12), 9: (0, 9), 10: (0, 6), 15: (0, 5), 16: (0, 5), 18: (0, 4), 32: (0, 4), 42: (0, 2),
        69: (0, 0),
    },
    # API versions in the jar of kafka-clients 4.0.1:
    "4.0": {
        2: (1, 10), 3: (0, 13), 9: (1, 9), 10: (0, 6), 15: (0, 6), 16: (0, 5), 18: (0, 4), 32: (1, 4), 42: (0, 2),
        69: (0, 1),
    },
    # API versions in the jar of kafka-clients 4.1.2:
    "4.1": {
        2: (1, 10), 3: (0, 13), 9: (1, 9), 10: (0, 6), 15: (0, 6), 16: (0, 5), 18: (0, 4), 32: (1, 4), 42: (0, 2),
        69: (0, 1), 77: (1, 1), 90: (0, 0),
    },
    # API versions in the jar of kafka-clients 4.2.1:
    "4.2": {
        2: (1, 11), 3: (0, 13), 9: (1, 10), 10: (0, 6), 15: (0, 6), 16: (0, 5), 18: (0, 4), 32: (1, 4), 42: (0, 2),
        69: (0, 1), 77: (1, 1), 89: (0, 0), 90: (0, 1),
    },
    # API versions in the jar of kafka-clients 4.3.1:
    "4.3": {
        2: (1, 11), 3: (0, 13), 9: (1, 10), 10: (0, 6), 15: (0, 6), 16: (0, 5), 18: (0, 4), 32: (1, 4), 42: (0, 2),
        69: (0, 1), 77: (1, 1), 89: (0, 0), 90: (0, 1),
    },
    # API versions in the jar of kafka-clients 4.4.0:
    "4.4": {
        2: (1, 11), 3: (0, 13), 9: (1, 10), 10: (0, 6), 15: (0, 6), 16: (0, 5), 18: (0, 5), 32: (1, 4), 42: (0, 3),
        69: (0, 1), 77: (1, 1), 89: (0, 1), 90: (0, 1),
    },
}
# fmt: on

NEWEST = "4.4"

_KEY_BY_NAME = {api.name: key for key, api in APIS.items()}
DESCRIBED_BY = {entry.name: _KEY_BY_NAME[entry.describe_rpc] for entry in GROUP_TYPES.values() if entry.feature}
"""Dict: group type → API key of the RPC that describes groups of this type.

A release that lacks this RPC does not support the group type. `classic` is missing, because all releases support it.
"""

_METADATA_VERSION = {
    "3.3": 7, "3.6": 14, "3.7": 19, "3.8": 20, "3.9": 21, "4.0": 25, "4.1": 27, "4.2": 29, "4.3": 30, "4.4": 31,
}  # fmt: skip


FEATURE_LEVELS = {
    "metadata.version": (7, 31),
    "group.version": (0, 1),
    "transaction.version": (0, 2),
    "share.version": (0, 2),
    "streams.version": (0, 1),
}
"""Feature name → lowest and highest level of the feature that the newest release supports."""


@dataclass(frozen=True, slots=True)
class Release:
    """A Kafka release of a simulated broker.

    Attributes:
        name: major and minor version, such as `4.3`.
        ranges: API key → lowest and highest supported version.
    """

    name: str
    ranges: Mapping[int, tuple[int, int]]

    @property
    def number(self) -> tuple[int, int]:
        major, _, minor = self.name.partition(".")
        return int(major), int(minor)

    @property
    def scala_coordinator(self) -> bool:
        """Whether the broker runs the old group coordinator, which is written in Scala.

        The simulator assumes that all releases before 3.8 run this coordinator. The old coordinator treats the names of
        states in ListGroups requests as case-sensitive. While it is loading groups, its ListGroups responses contain
        the groups that are already loaded.
        """
        return 69 not in self.ranges

    @property
    def reports_features(self) -> bool:
        """Whether ApiVersions responses contain features, as they do since Kafka 2.7 (KIP-584)."""
        return self.number >= (2, 7)

    @property
    def group_operations(self) -> int:
        """Bit field of the operations on a group that clients may perform if the broker has no authorizer.

        Since Kafka 4.0, clients may also read and change group configs. Observed with Kafka 3.9.2 and 4.3.1.
        """
        return 3400 if self.has_group_configs else 328

    @property
    def has_group_configs(self) -> bool:
        """Whether DescribeConfigs accepts groups, as it does since Kafka 4.0."""
        return self.number >= (4, 0)

    def has_type(self, group_type: str) -> bool:
        """Return whether a broker of this release supports groups of a type."""
        key = DESCRIBED_BY.get(group_type)
        return key is None or key in self.ranges

    def default_features(self) -> dict[str, int]:
        """Return a dict: feature name → finalized level that the feature has in a new cluster of this release."""
        features: dict[str, int] = {}
        if self.name in _METADATA_VERSION:
            features["metadata.version"] = _METADATA_VERSION[self.name]
        if self.number >= (4, 0):
            features["group.version"] = 1
            features["transaction.version"] = 2
        if self.number >= (4, 2):
            features["share.version"] = 2 if self.number >= (4, 4) else 1
            features["streams.version"] = 1
        return features


def supported(ranges: Mapping[int, tuple[int, int]]) -> Ranges:
    """Limit the version ranges of a release to the versions that `kgtui.protocol` supports."""
    common: Ranges = {}
    for key, (low, high) in ranges.items():
        api = APIS.get(key)
        if api is not None and max(low, api.low) <= min(high, api.high):
            common[key] = (max(low, api.low), min(high, api.high))
    return common


def release(name: str) -> Release:
    """Return the release with a name such as `4.3` or `4.3.1`. The patch version is ignored.

    Raises:
        UsageError: the release is not in `RANGES`.
    """
    short = ".".join(name.strip().split(".")[:2])
    if short not in RANGES:
        raise UsageError(f"Kafka {name!r} cannot be simulated; use one of {', '.join(RANGES)}")
    return Release(short, supported(RANGES[short]))


def releases(names: str) -> tuple[Release, ...]:
    """Parse a comma-separated list of releases. If the list is empty, return the newest release.

    Raises:
        UsageError: a release is not in `RANGES`.
    """
    return tuple(release(name) for name in names.split(",") if name.strip()) or (release(NEWEST),)
