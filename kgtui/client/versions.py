"""What one broker speaks: negotiated on every connection, because brokers differ while a cluster is upgraded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.protocol.api import Api


@dataclass(frozen=True, slots=True)
class Negotiated:
    """A broker's answer to ApiVersions.

    Attributes:
        ranges: API key → lowest and highest version that the broker speaks.
        features: finalized features by name (their level), None where the broker does not tell (before 2.7).
        epoch: of the finalized features, -1 when unknown; the higher, the newer.
    """

    ranges: Mapping[int, tuple[int, int]]
    features: Mapping[str, int] | None = None
    epoch: int = -1

    def pick(self, api: Api) -> int | None:
        """The highest version that both sides speak, or None."""
        low, high = self.ranges.get(api.key, (0, -1))
        version = min(api.high, high)
        return version if version >= max(api.low, low) else None


def read_api_versions(answer: Mapping[str, Any]) -> Negotiated:
    """Read a decoded ApiVersions response."""
    epoch = int(answer["FinalizedFeaturesEpoch"])
    features = None
    if epoch >= 0:
        features = {row["Name"]: int(row["MaxVersionLevel"]) for row in answer["FinalizedFeatures"]}
    ranges = {row["ApiKey"]: (row["MinVersion"], row["MaxVersion"]) for row in answer["ApiKeys"]}
    return Negotiated(ranges=ranges, features=features, epoch=epoch)
