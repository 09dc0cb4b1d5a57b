"""Tables of the APIs for logging in with SASL (KIP-43, KIP-152, KIP-368).

They are not in `APIS`, because only `kgtui.client.login` uses them, before any other request on a connection.
"""

from __future__ import annotations

from kgtui.protocol.api import Api, Rows

_HANDSHAKE_REQUEST: Rows = (("Mechanism", "string", "0+"),)

_HANDSHAKE_RESPONSE: Rows = (
    ("ErrorCode", "int16", "0+"),
    ("Mechanisms", "[]string", "0+"),
)

SASL_HANDSHAKE = Api.define(
    17, "SaslHandshake", versions=(0, 1), flexible=2, request=_HANDSHAKE_REQUEST, response=_HANDSHAKE_RESPONSE
)

_AUTHENTICATE_REQUEST: Rows = (("AuthBytes", "bytes", "0+"),)

_AUTHENTICATE_RESPONSE: Rows = (
    ("ErrorCode", "int16", "0+"),
    ("ErrorMessage", "string", "0+", "nullable 0+"),
    ("AuthBytes", "bytes", "0+"),
    ("SessionLifetimeMs", "int64", "1+", "ignorable"),
)

SASL_AUTHENTICATE = Api.define(
    36,
    "SaslAuthenticate",
    versions=(0, 2),
    flexible=2,
    request=_AUTHENTICATE_REQUEST,
    response=_AUTHENTICATE_RESPONSE,
)

LOGIN_APIS = (SASL_HANDSHAKE, SASL_AUTHENTICATE)
