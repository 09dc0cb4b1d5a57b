"""DescribeConfigs: configuration of brokers, topics, groups (KIP-133, KIP-569, KIP-848)."""

from __future__ import annotations

from kgtui.protocol.schema import Api, Rows

_RESOURCE: Rows = (
    ("ResourceType", "int8", "0+"),
    ("ResourceName", "string", "0+"),
    ("ConfigurationKeys", "[]string", "0+", "nullable 0+"),
)

REQUEST: Rows = (
    ("Resources", "[]DescribeConfigsResource", "0+", _RESOURCE),
    ("IncludeSynonyms", "bool", "1+"),
    ("IncludeDocumentation", "bool", "3+"),
)

_SYNONYM: Rows = (
    ("Name", "string", "1+"),
    ("Value", "string", "1+", "nullable 0+"),
    ("Source", "int8", "1+"),
)

_RESOURCE_RESULT: Rows = (
    ("Name", "string", "0+"),
    ("Value", "string", "0+", "nullable 0+"),
    ("ReadOnly", "bool", "0+"),
    ("ConfigSource", "int8", "1+", "default -1, ignorable"),
    ("IsSensitive", "bool", "0+"),
    ("Synonyms", "[]DescribeConfigsSynonym", "1+", "ignorable", _SYNONYM),
    ("ConfigType", "int8", "3+", "ignorable"),
    ("Documentation", "string", "3+", "nullable 0+, ignorable"),
)

_RESULT: Rows = (
    ("ErrorCode", "int16", "0+"),
    ("ErrorMessage", "string", "0+", "nullable 0+"),
    ("ResourceType", "int8", "0+"),
    ("ResourceName", "string", "0+"),
    ("Configs", "[]DescribeConfigsResourceResult", "0+", _RESOURCE_RESULT),
)

RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "0+"),
    ("Results", "[]DescribeConfigsResult", "0+", _RESULT),
)

DESCRIBE_CONFIGS = Api.of(32, "DescribeConfigs", versions=(1, 4), flexible=4, request=REQUEST, response=RESPONSE)
