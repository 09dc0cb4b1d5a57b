"""The logins that `test_secrets` uses: client properties for a real broker, and the secrets that they contain."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kgtui.client.client_settings import from_properties
from kgtui.client.pool import Pool, PoolOptions
from kgtui.errors import UnreachableError
from tests import aws
from tests.aws import sts_server
from tests.brokers.kdc import with_cache, with_keytab
from tests.brokers.secure import PASSWORDS, TOKEN_SCOPE
from tests.token_server import SECRET, token_server, unsigned_token

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from tests.brokers.secure import Secure

USER = "admin"
MODULES = "org.apache.kafka.common.security"


@dataclass(repr=False)
class Login:
    """Client properties for one login, and its secrets, which kgtui must not show.

    Attributes:
        address: address of the broker's listener for this login.
        secrets: kind of secret, such as `client secret` → the secret itself.
        variables: name → value of the environment variables that the login needs. The properties refer to them, or
            libraries (for Kerberos and AWS) read them.
        created: function that returns further secrets as a dict: kind, such as `ticket` → secrets. Tests call it after
            the login, because some of these secrets are created during the login.
    """

    address: str
    properties: dict[str, str]
    secrets: dict[str, str]
    variables: dict[str, str] = field(default_factory=dict)
    created: Callable[[], dict[str, list[str | bytes]]] = dict


def sasl(mechanism: str, module: str, options: str) -> dict[str, str]:
    """Return client properties for a SASL login without TLS."""
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f"{MODULES}.{module} required {options};",
    }


def _plain(broker: Secure, _: Path, __: ExitStack) -> Login:
    password = PASSWORDS[USER]
    properties = sasl("PLAIN", "plain.PlainLoginModule", f'username="{USER}" password="{password}"')
    return Login(broker.sasl, properties, {"JAAS password": password})


def _scram_with_a_variable(broker: Secure, _: Path, __: ExitStack) -> Login:
    properties = sasl("SCRAM-SHA-512", "scram.ScramLoginModule", f'username="{USER}" password=${{KGTUI_TEST_PASSWORD}}')
    password = PASSWORDS[USER]
    return Login(broker.sasl, properties, {"variable": password}, {"KGTUI_TEST_PASSWORD": password})


def _scram_with_a_file(broker: Secure, folder: Path, _: ExitStack) -> Login:
    file = folder / "password"
    file.write_text(PASSWORDS[USER])
    properties = sasl("SCRAM-SHA-256", "scram.ScramLoginModule", f'username="{USER}" password="file:{file}"')
    return Login(broker.sasl, properties, {"file": PASSWORDS[USER]})


def _providers(broker: Secure, folder: Path, _: ExitStack) -> Login:
    (folder / "vault.properties").write_text(f"kafka={PASSWORDS[USER]}\nunused=S3cret+unused-value\n")
    (folder / "key").write_text("S3cret+directory-provider")
    option = f'username="{USER}" password="${{file:{folder}/vault.properties:kafka}}"'
    provider = "org.apache.kafka.common.config.provider"
    properties = {
        **sasl("PLAIN", "plain.PlainLoginModule", option),
        "config.providers": "file,env,directory",
        "config.providers.file.class": f"{provider}.FileConfigProvider",
        "config.providers.env.class": f"{provider}.EnvVarConfigProvider",
        "config.providers.directory.class": f"{provider}.DirectoryConfigProvider",
        "sasl.oauthbearer.scope": "${env:KGTUI_TEST_SCOPE}",
        "ssl.key.password": f"${{directory:{folder}:key}}",
    }
    secrets = {
        "file provider": PASSWORDS[USER],
        "other value of the file": "S3cret+unused-value",
        "environment provider": "S3cret+environment-provider",
        "directory provider": "S3cret+directory-provider",
    }
    return Login(broker.sasl, properties, secrets, {"KGTUI_TEST_SCOPE": secrets["environment provider"]})


def _delegation_token(broker: Secure, _: Path, __: ExitStack) -> Login:
    name, hmac = _token(broker)
    properties = _token_login(name, hmac)
    return Login(broker.sasl, properties, {"HMAC of the delegation token": hmac})


@cache
def _token(broker: Secure) -> tuple[str, str]:
    name, hmac = broker.create_token(USER)
    deadline = time.monotonic() + 30
    while True:
        try:
            asyncio.run(connect(broker.sasl, _token_login(name, hmac)))
        except UnreachableError:  # Perhaps the broker does not know the new delegation token yet. Try again.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return name, hmac


def _token_login(name: str, hmac: str) -> dict[str, str]:
    options = f'username="{name}" password="{hmac}" tokenauth="true"'
    return sasl("SCRAM-SHA-256", "scram.ScramLoginModule", options)


async def connect(address: str, properties: dict[str, str]) -> None:
    """Log in to the broker, and read the metadata of the cluster."""
    async with Pool([address], from_properties(properties), options=PoolOptions(connect_timeout=10)) as pool:
        await pool.metadata(timeout=10)


def _over_tls(broker: Secure, properties: dict[str, str]) -> dict[str, str]:
    """Return a copy of `properties` for the broker's SASL_SSL listener, which accepts unsigned OAuth tokens."""
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(broker.certificates.authority)}
    return {**properties, "security.protocol": "SASL_SSL", **trust}


def _client_credentials(broker: Secure, _: Path, stack: ExitStack) -> Login:
    endpoint = stack.enter_context(token_server())
    endpoint.claims = {"sub": USER, "scope": TOKEN_SCOPE, "jti": "S3cret+claim"}
    properties = _over_tls(broker, endpoint.properties())
    return Login(broker.sasl_tls, properties, {"client secret": SECRET, "claim of the token": "S3cret+claim"})


def _assertion(broker: Secure, folder: Path, stack: ExitStack) -> Login:
    """Return an OAuth login in which the client sends a signed assertion (a token) instead of a client secret."""
    endpoint = stack.enter_context(token_server())
    endpoint.claims = {"sub": USER, "scope": TOKEN_SCOPE}
    key, encrypted = _encrypted_key(broker, folder, "S3cret+assertion")
    properties = _over_tls(broker, endpoint.properties())
    del properties["sasl.oauthbearer.client.credentials.client.secret"]
    properties |= {
        "sasl.oauthbearer.assertion.private.key.file": str(key),
        "sasl.oauthbearer.assertion.private.key.passphrase": "S3cret+assertion",
        "sasl.oauthbearer.assertion.claim.iss": "kgtui",
    }
    secrets = {"passphrase": "S3cret+assertion", "encrypted key": encrypted, "private key": _key_line(broker)}

    def created() -> dict[str, list[str | bytes]]:
        return {"assertion": [form["client_assertion"][0] for _, form in endpoint.received]}

    return Login(broker.sasl_tls, properties, secrets, created=created)


def _token_file(broker: Secure, folder: Path, _: ExitStack) -> Login:
    token = unsigned_token(sub=USER, scope=TOKEN_SCOPE, jti="S3cret+token-file")
    (folder / "token").write_text(token)
    properties = _over_tls(broker, sasl("OAUTHBEARER", "oauthbearer.OAuthBearerLoginModule", ""))
    properties["sasl.oauthbearer.token.endpoint.url"] = (folder / "token").as_uri()
    return Login(broker.sasl_tls, properties, {"token": token, "claim of the token": "S3cret+token-file"})


def _unsigned_token(broker: Secure, _: Path, __: ExitStack) -> Login:
    options = f'unsecuredLoginStringClaim_sub="{USER}" unsecuredLoginStringClaim_scope="{TOKEN_SCOPE}" '
    options += 'unsecuredLoginStringClaim_jti="S3cret+unsigned"'
    properties = _over_tls(broker, sasl("OAUTHBEARER", "oauthbearer.OAuthBearerLoginModule", options))
    return Login(broker.sasl_tls, properties, {"claim of the token": "S3cret+unsigned"})


def _stores(broker: Secure, folder: Path, _: ExitStack) -> Login:
    files = broker.certificates
    passwords = {"keystore": "S3cret+key-store", "truststore": "S3cret+trust-store"}
    contents = {"keystore": ("-in", files.client), "truststore": ("-nokeys", "-in", files.authority)}
    properties = {"security.protocol": "SSL"}
    for store, password in passwords.items():
        target = folder / f"{store}.p12"
        export: list[str | Path] = [
            "openssl",
            "pkcs12",
            "-export",
            *contents[store],
            "-out",
            target,
            "-passout",
            f"pass:{password}",
        ]
        subprocess.run(export, check=True)
        properties |= {f"ssl.{store}.location": str(target), f"ssl.{store}.password": password}
    return Login(broker.tls, properties, {**passwords, "private key": _key_line(broker)})


def _key_in_pem(broker: Secure, folder: Path, _: ExitStack) -> Login:
    password = "S3cret+key-password"
    key, encrypted = _encrypted_key(broker, folder, password)
    properties = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(broker.certificates.authority),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": key.read_text(),
        "ssl.keystore.certificate.chain": broker.certificates.client_certificate.read_text(),
        "ssl.key.password": password,
    }
    return Login(
        broker.tls,
        properties,
        {"key password": password, "encrypted key": encrypted, "private key": _key_line(broker)},
    )


def _encrypted_key(broker: Secure, folder: Path, password: str) -> tuple[Path, str]:
    """Write the client's private key to a file in encrypted form; return the file's path and one of its lines.

    To find the encrypted key in an output, tests search for this line.
    """
    file = folder / "encrypted.key"
    _openssl("pkcs8", "-topk8", "-in", broker.certificates.client_key, "-out", file, "-passout", f"pass:{password}")
    return file, file.read_text().splitlines()[4]


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True)


def _key_line(broker: Secure) -> str:
    return broker.certificates.client_key.read_text().splitlines()[4]


def _kerberos_keytab(broker: Secure, _: Path, __: ExitStack) -> Login:
    keytab = broker.keytabs[USER]
    keys: list[str | bytes] = list(broker.kdc.keys(keytab))
    return Login(broker.sasl, with_keytab(USER, keytab), {}, dict(broker.kdc.variables), lambda: {"key": keys})


def _kerberos_cache(broker: Secure, folder: Path, _: ExitStack) -> Login:
    """Return a login with a Kerberos ticket cache.

    The login uses its own copy of the cache, because the Kerberos library writes to the cache when kgtui logs in.
    """
    cache = Path(shutil.copy(broker.kdc.ticket_cache(USER), folder / "tickets"))

    def created() -> dict[str, list[str | bytes]]:
        content = cache.read_bytes()
        # The file ends with the ticket and then four zero bytes, which are the length of the empty field
        # `second_ticket`. To find the ticket, tests search for its last 32 bytes.
        return {"session key": [match[1] for match in _SESSION_KEY.finditer(content)], "ticket": [content[-36:-4]]}

    return Login(broker.sasl, with_cache(cache), {}, dict(broker.kdc.variables), created)


_SESSION_KEY = re.compile(rb"\0[\x11-\x14]\0\0\0[\x10\x20](.{16})", re.DOTALL)
"""Matches the encryption type, length and first 16 bytes of a session key in a ticket cache. Group 1: the 16 bytes."""


def _aws_profile(broker: Secure, folder: Path, _: ExitStack) -> Login:
    key, token = "S3cret+aws/key", "S3cretSessionToken"
    settings = f"aws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = {key}\naws_session_token = {token}\n"
    (folder / "credentials").write_text(f"[team]\n{settings}")
    secrets = {"secret access key": key, "session token": token, "signed URL": SIGNATURE}
    return Login(broker.msk, _msk('awsProfileName="team"'), secrets, _aws_variables(folder))


def _aws_role(broker: Secure, folder: Path, stack: ExitStack) -> Login:
    """Return a login that assumes an AWS role with an access key from the client properties."""
    key, token = "S3cret+role/key", "S3cretRoleToken"
    url, _ = stack.enter_context(sts_server())
    options = f'awsRoleArn="{aws.ROLE}" awsRoleAccessKeyId="AKIDEXAMPLE" awsRoleSecretAccessKey="{key}"'
    properties = _msk(f'{options} awsRoleSessionToken="{token}" awsDebugCreds="true"')
    secrets = {
        "JAAS secret access key": key,
        "JAAS session token": token,
        "secret access key": aws.ROLE_SECRET,
        "session token": aws.SESSION,
        "signed URL": SIGNATURE,
    }
    return Login(broker.msk, properties, secrets, _aws_variables(folder) | {"AWS_ENDPOINT_URL_STS": url})


SIGNATURE = "X-Amz-Signature"
"""Name of a URL parameter. Each login token for Amazon MSK is a URL, whose signature is in this parameter.

Tests search outputs for this name instead of the tokens, because the tests do not know the tokens that other processes
create.
"""


def _msk(options: str) -> dict[str, str]:
    return aws.properties_of(options) | {"security.protocol": "SASL_PLAINTEXT"}


def _aws_variables(folder: Path) -> dict[str, str]:
    """Return environment variables that make botocore read only files in `folder`, and use no metadata service."""
    return {
        "AWS_CONFIG_FILE": str(folder / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(folder / "credentials"),
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_REGION": "eu-central-1",
        "no_proxy": "*",
    }


LOGINS: dict[str, Callable[[Secure, Path, ExitStack], Login]] = {
    "PLAIN": _plain,
    "SCRAM-variable": _scram_with_a_variable,
    "SCRAM-file": _scram_with_a_file,
    "config-providers": _providers,
    "delegation-token": _delegation_token,
    "client-credentials": _client_credentials,
    "assertion": _assertion,
    "token-file": _token_file,
    "unsigned-token": _unsigned_token,
    "PKCS12": _stores,
    "PEM": _key_in_pem,
    "Kerberos-keytab": _kerberos_keytab,
    "Kerberos-cache": _kerberos_cache,
    "AWS-profile": _aws_profile,
    "AWS-role": _aws_role,
}
"""Name of a login → function that creates the login.

The arguments of the function are the broker, a folder for files, and an `ExitStack` that stops servers after the test.
"""
