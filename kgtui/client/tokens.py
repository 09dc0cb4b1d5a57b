"""Get tokens for logins with OAUTHBEARER, and refresh the tokens before they expire."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import re
import time
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from kgtui.client.claims import SKEW, claims_of, clock_advice, describe, time_of
from kgtui.client.concurrency import DaemonThread
from kgtui.client.msk_iam import region_of, sign
from kgtui.client.secret import NO_SECRET, Secret
from kgtui.errors import ConnectError
from kgtui.model.rfc3339 import rfc3339
from kgtui.private_files import read_input

if TYPE_CHECKING:
    from kgtui.client.oauth import OAuth

REFRESH_AFTER = (0.80, 0.85)
"""Lowest and highest fraction of a token's lifetime after which the next login gets a new token.

For each token, a random fraction in this range is chosen. The range is the default of Kafka's clients.
"""

RETRY_PAUSE = 10.0
"""Pause after a failed attempt to refresh a token, in seconds. The old token stays in use while it is valid.

`RETRY_PAUSE` is also the minimum age, in seconds, at which kgtui replaces a token that a broker has refused. Without
this minimum, kgtui would request a new token after every refused login.
"""

_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
"""Matches a bearer token (RFC 6750). Kafka refuses tokens that contain other characters."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token for OAUTHBEARER, with the times at which kgtui received it and at which it expires.

    Attributes:
        received, expires: times on this machine's clock, in seconds since the epoch. `expires` is infinite if unknown.
        ahead: time of the token endpoint's clock minus time of this machine's clock, in seconds; 0 if unknown.
    """

    text: Secret
    received: float
    expires: float = inf
    ahead: float = 0.0


class Tokens:
    """Gets tokens from the source in `OAuth`, and caches the current token. Concurrent callers share one request."""

    def __init__(self, oauth: OAuth) -> None:
        self._oauth = oauth
        self._token: Token | None = None
        self._is_refused = False
        self._refresh_at = 0.0
        self._fetching: asyncio.Task[Token] | None = None
        self._region = ""
        self._identity = ""

    async def get(self, host: str = "") -> Token:
        """Return the cached token, or a new one if the cached token expires soon or was refused (see `refuse`).

        Args:
            host: host name of the broker. For Amazon MSK, this name contains the AWS region.

        Raises:
            ConnectError: no valid token can be obtained.
        """
        if self._oauth.msk_iam is not None and (region := region_of(host) or self._region) != self._region:
            self._region, self._token, self._fetching = region, None, None
        if self._is_refused and self._token is not None and time.time() >= self._token.received + RETRY_PAUSE:
            self._token = None
        if self._token is not None and time.time() < self._refresh_at:
            return self._token
        if self._fetching is None or self._fetching.done():
            self._fetching = asyncio.create_task(self._fetch())
            self._fetching.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            return await asyncio.shield(self._fetching)
        except ConnectError:
            if self._token is None or time.time() >= self._token.expires:
                raise
            self._refresh_at = min(time.time() + RETRY_PAUSE, self._token.expires)
            return self._token

    def refuse(self) -> None:
        """Record that a broker refused the current token. `get` replaces it once it is `RETRY_PAUSE` seconds old.

        The broker might accept a new token, for example after the credentials were corrected.
        """
        self._is_refused = True

    def advice(self) -> str:
        """Return advice for a user whose token was refused by a broker.

        Brokers do not say why they refuse a token. Therefore, the advice lists everything that brokers check.
        """
        if self._oauth.msk_iam is not None:
            identity = f" for {self._identity}" if self._identity else ""
            return (
                f"check that an IAM policy allows kafka-cluster:Connect{identity}, that the credentials are valid in "
                "the region of the brokers, and that the clock of this machine is right"
            )
        if not self._oauth.url:
            return "the broker requires signed tokens; set sasl.oauthbearer.token.endpoint.url"
        token = Token(NO_SECRET, 0.0) if self._token is None else self._token
        described = describe(claims_of(token.text.reveal()))
        check = f"check that sasl.oauthbearer.expected.* of the broker match this token{described}"
        if abs(token.ahead) > SKEW:
            return f"{check}, and that the broker knows the key that signed it; {clock_advice(token.ahead)}"
        return (
            f"{check}, that the broker knows the key that signed it, and that the clocks of the broker, the identity "
            "provider and this machine agree"
        )

    async def _fetch(self) -> Token:
        region = self._region
        token = await DaemonThread("kgtui-tokens").run(partial(self._read, region))
        if region == self._region:
            self._token, self._is_refused = token, False
            lifetime = token.expires - token.received
            self._refresh_at = token.received + lifetime * random.uniform(*REFRESH_AFTER)  # noqa: S311
        return token

    def _read(self, region: str) -> Token:
        if self._oauth.msk_iam is not None:
            signed = sign(self._oauth.msk_iam, region)
            self._identity = signed.identity
            return checked(signed.text.reveal(), "Amazon's signer", lifetime=signed.lifetime)
        if not self._oauth.url:
            return _unsecured(self._oauth)
        if self._oauth.url.startswith("file:"):
            return _from_file(self._oauth.url)
        from kgtui.client.token_endpoint import request_token

        response = request_token(self._oauth)
        return checked(response.token, self._oauth.url, lifetime=response.lifetime, clock=response.clock)


def checked(text: str, source: str, *, lifetime: float | None = None, clock: float | None = None) -> Token:
    """Check the characters and the validity period of a token, and return a `Token`.

    Args:
        text: the token. If it is a JSON Web Token, its times are read from its claims.
        source: where the token comes from, such as a URL, for error messages.
        lifetime: lifetime in seconds, for tokens without the claim `exp`; None if unknown.
        clock: current time on the token endpoint's clock, in seconds since the epoch; None if unknown.

    Raises:
        ConnectError: the token has invalid characters, has expired, or is not valid yet. The message does not contain
            the token.
    """
    now = time.time()
    ahead = 0.0 if clock is None else clock - now
    if not _TOKEN.fullmatch(text):
        raise ConnectError(f"{source} returned a token with characters that are not allowed in a token: check the URL")
    claims = claims_of(text)
    expires = time_of(claims, "exp")
    if expires is None:
        expires = inf if lifetime is None else now + lifetime
    elif ahead > SKEW:
        expires -= ahead
    valid_from = time_of(claims, "nbf")
    if expires <= now:
        when = rfc3339(time_of(claims, "exp") or expires, "seconds")
        advice = "get a new token" if source.startswith("file:") else "check for how long the tokens are valid"
        raise ConnectError(f"the token of {source} expired at {when}: {advice}, and {clock_advice(ahead)}")
    if valid_from is not None and valid_from > now + SKEW:
        when = rfc3339(valid_from, "seconds")
        raise ConnectError(f"the token of {source} is not valid before {when}: {clock_advice(ahead)}")
    return Token(Secret(text), now, expires, ahead)


def _from_file(url: str) -> Token:
    path = url2pathname(urlsplit(url).path)
    try:
        text = read_input(Path(path)).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "the file does not contain UTF-8 text"
        raise ConnectError(f"sasl.oauthbearer.token.endpoint.url={url}: {why}; expected a file with a token") from None
    return checked(text, url)


def _unsecured(oauth: OAuth) -> Token:
    now = time.time()
    claims = {"iat": now, "exp": now + oauth.lifetime, **oauth.claims}
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in ({"alg": "none"}, claims))
    return checked(b".".join(parts).decode() + ".", "sasl.jaas.config")
