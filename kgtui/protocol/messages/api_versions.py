"""ApiVersions: which versions of which API a broker speaks, and its features (KIP-35, KIP-511, KIP-584)."""

from __future__ import annotations

from kgtui.protocol.schema import Api, Rows

REQUEST: Rows = (
    ("ClientSoftwareName", "string", "3+", "ignorable"),
    ("ClientSoftwareVersion", "string", "3+", "ignorable"),
)

_API_VERSION: Rows = (
    ("ApiKey", "int16", "0+"),
    ("MinVersion", "int16", "0+"),
    ("MaxVersion", "int16", "0+"),
)

_SUPPORTED_FEATURE_KEY: Rows = (
    ("Name", "string", "3+"),
    ("MinVersion", "int16", "3+"),
    ("MaxVersion", "int16", "3+"),
)

_FINALIZED_FEATURE_KEY: Rows = (
    ("Name", "string", "3+"),
    ("MaxVersionLevel", "int16", "3+"),
    ("MinVersionLevel", "int16", "3+"),
)

RESPONSE: Rows = (
    ("ErrorCode", "int16", "0+"),
    ("ApiKeys", "[]ApiVersion", "0+", _API_VERSION),
    ("ThrottleTimeMs", "int32", "1+", "ignorable"),
    ("SupportedFeatures", "[]SupportedFeatureKey", "3+", "tag 0, ignorable", _SUPPORTED_FEATURE_KEY),
    ("FinalizedFeaturesEpoch", "int64", "3+", "tag 1, default -1, ignorable"),
    ("FinalizedFeatures", "[]FinalizedFeatureKey", "3+", "tag 2, ignorable", _FINALIZED_FEATURE_KEY),
    ("ZkMigrationReady", "bool", "3+", "tag 3, ignorable"),
)

API_VERSIONS = Api.of(18, "ApiVersions", versions=(0, 4), flexible=3, request=REQUEST, response=RESPONSE)
