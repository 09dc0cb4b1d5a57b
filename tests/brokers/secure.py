"""Run a broker with an authorizer, SASL, TLS, and principals that have limited permissions."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.brokers import kio_client
from tests.brokers.certificates import Certificates, make_certificates
from tests.brokers.cluster import Cluster
from tests.brokers.config import write_properties
from tests.brokers.kdc import SERVICE, Kdc
from tests.brokers.kgtui_permissions import PERMISSIONS, Permission
from tests.brokers.members import KIP_848, Members
from tests.signed_tokens import key_set

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.token_server import TokenServer

VERSION = "4.3.1"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
PROTOCOLS = {
    "INTERNAL": "PLAINTEXT",
    "SASL": "SASL_PLAINTEXT",
    "SASLTLS": "SASL_SSL",
    "TLS": "SSL",
    "MSK": "SASL_PLAINTEXT",
}

PASSWORDS = {
    "admin": "admin-S3cret!",
    "nobody": "nobody-S3cret!",
    "viewer": "viewer-S3cret!",
    "team": "team-S3cret!",
    "groupsonly": "groupsonly-S3cret!",
    "denied": "denied-S3cret!",
    "changing": "changing-S3cret!",
    "unsure": "unsure-S3cret!",
    "oncall": "oncall-S3cret!",
    **{principal: f"{principal}-S3cret!" for principal in PERMISSIONS},
}
"""Maps principals to passwords. The docstrings of `Secure` and `kgtui_permissions` describe the principals."""

SESSION, LONG_SESSION = 2.0, 10.0
"""Lifetimes of SASL sessions, in seconds. A client must log in again before its session expires (KIP-368).

Sessions with SCRAM-SHA-256 and OAUTHBEARER have the lifetime `SESSION` at the address `Secure.sasl`, and `LONG_SESSION`
at `Secure.sasl_tls`. Sessions with GSSAPI have the lifetime `SESSION` at both addresses.
"""

ISSUER, AUDIENCE, KEY_ID = "https://idp.example", "kafka-tests", "key-1"
"""Issuer, audience and key id of the signed tokens that the broker accepts at the address `Secure.sasl`."""

TOKEN_SCOPE = "kafka-admin"
"""Scope of the unsigned tokens that the broker accepts at the address `Secure.sasl_tls`."""

COMMITS = {
    "team-a-app": {("team-a-events", 0): 4},
    "team-a-and-b": {("team-a-events", 0): 10, ("team-b-events", 0): 3},
    "team-b-app": {("team-b-events", 0): 7},
}
"""Maps the id of each simple group on the broker to its committed offsets: (topic, partition) → offset.

Each of these topics has one partition with 10 records.
"""

FORBIDDEN = "payroll.export"
"""Id of a group for which an ACL denies DESCRIBE to the principal `oncall`."""

LIVE_GROUP = "team-a-live"
"""Id of a KIP-848 group. Its only member subscribes to the topic `team-a-events`, and has committed offset 8."""


class Secure:
    """A Kafka 4.3.1 broker with an authorizer, and with listeners that require a login.

    The principals have these permissions; `kgtui_permissions` has more principals:

    ==============  ===================================================================================
    `admin`         a super user
    `viewer`        DESCRIBE on the cluster, all groups and all topics; no DELETE permission
    `team`          READ, DESCRIBE and DELETE on groups `team-a-*`, DESCRIBE on topics `team-a-*`
    `groupsonly`    DESCRIBE on all groups, no permissions on topics
    `denied`        DESCRIBE on the cluster, all groups, and all topics except `team-b-events`, for which an ACL denies
                    DESCRIBE
    `changing`      DESCRIBE on the cluster and all groups; tests add permissions on topics and remove them again
    `unsure`        DESCRIBE on all groups and all topics, but not on the cluster, so that `unsure` cannot read ACLs
    `oncall`        DESCRIBE and DESCRIBE_CONFIGS on the cluster and all topics, DELETE on all groups, and DESCRIBE on
                    all groups except `payroll.export`, for which an ACL denies DESCRIBE
    `nobody`        no permissions
    `CN=tls-client` the principal of the client certificate on the TLS listener: DESCRIBE on all groups
    ==============  ===================================================================================

    Attributes:
        cluster: the broker. Its methods connect without a login, as a super user.
        kdc: Kerberos KDC with the principals `admin`, `team` and `brief`. Tickets of `brief` are valid for 3 s.
        keytabs: principal → path of its keytab.
        sasl: `host:port` of a SASL_PLAINTEXT listener with `MECHANISMS`, GSSAPI, and OAUTHBEARER with signed tokens.
        sasl_tls: `host:port` of a SASL_SSL listener with `MECHANISMS`, GSSAPI, and OAUTHBEARER with unsigned tokens.
        tls: `host:port` of an SSL listener that requires a client certificate.
        msk: `host:port` of a SASL_PLAINTEXT listener with OAUTHBEARER that accepts all tokens, even those for Amazon
            MSK.
        signing_key: private key of an identity provider, for signing tokens.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.kdc = Kdc(folder / "kerberos")
        self.keytabs: dict[str, Path] = {}
        self.certificates: Certificates = make_certificates(folder / "tls")
        self.signing_key = rsa.generate_private_key(65537, 2048)
        self._key_set = folder / "keys.json"
        self._key_set.write_text(key_set(self.signing_key, KEY_ID), encoding="utf-8")
        self.cluster = Cluster(
            VERSION,
            folder,
            protocols=PROTOCOLS,
            extra={
                "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "super.users": "User:ANONYMOUS;User:admin",
                "delegation.token.secret.key": "secret of the brokers",
                **dict(self._listener_settings()),
            },
            format_arguments=list(_scram_credentials()),
            jvm=[
                f"-Djava.security.krb5.conf={self.kdc.config}",
                f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self._key_set.as_uri()}",
            ],
        )
        self.sasl = self.cluster.addresses("SASL")
        self.sasl_tls = self.cluster.addresses("SASLTLS")
        self.tls = self.cluster.addresses("TLS")
        self.msk = self.cluster.addresses("MSK")
        self._members: Members | None = None

    def start(self) -> None:
        """Start the KDC and the broker, and create ACLs, topics and groups."""
        self.kdc.start()
        try:
            self.keytabs = {name: self.kdc.add(name) for name in ("admin", "team")}
            self.keytabs["brief"] = self.kdc.add("brief", "-maxlife", "3 seconds")
            self.cluster.start()
            self._allow()
            for topic in ("team-a-events", "team-b-events"):
                self.cluster.create_topic(topic)
                self.cluster.produce(topic, 10)
            for group, offsets in COMMITS.items():
                self.cluster.commit(group, offsets)
            self.cluster.configure_group(LIVE_GROUP, {"consumer.heartbeat.interval.ms": "500"})
            self._members = Members(self.cluster, LIVE_GROUP, "team-a-events", KIP_848)
            self._members.wait_until_assigned()
            self._members.commit({0: 8})
            kio_client.wait_for_states(self.cluster.bootstrap, {LIVE_GROUP: "Stable"}, 60)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the member of `LIVE_GROUP`, then the broker, and finally the KDC."""
        if self._members is not None:
            self._members.leave()
        self.cluster.stop()
        self.kdc.stop()

    def command_config(
        self, principal: str, *, mechanism: str = "SCRAM-SHA-512", tls: bool = False, password: str | None = None
    ) -> Path:
        """Write a Java properties file with which a client logs in as `principal`; return the path of the file.

        Args:
            principal: a principal in `PASSWORDS`.
            mechanism: one of `MECHANISMS`.
            tls: whether to connect to `sasl_tls` instead of `sasl`.
            password: the password; None for the principal's correct password.
        """
        module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
        secret = PASSWORDS[principal] if password is None else password
        properties = {
            "security.protocol": "SASL_SSL" if tls else "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f"org.apache.kafka.common.security.{module} required "
            f'username="{principal}" password="{secret}";',
        }
        if tls:
            properties |= self._trust()
        wrong = "" if password is None else "-wrong"
        return write_properties(self._folder / f"{principal}-{mechanism}-{tls}{wrong}.properties", properties)

    @contextmanager
    def acl(self, principal: str, permission: Permission, *, deny: bool = False) -> Iterator[None]:
        """During the `with` block, an ACL allows or denies `permission` to the principal."""
        binding = _binding(principal, permission, AclPermissionType.DENY if deny else AclPermissionType.ALLOW)
        for created in self.cluster.admin.create_acls([binding]).values():
            created.result(30)
        try:
            yield
        finally:
            one = AclBindingFilter(
                binding.restype, binding.name, binding.resource_pattern_type, binding.principal, binding.host,
                binding.operation, binding.permission_type,
            )  # fmt: skip
            for removed in self.cluster.admin.delete_acls([one]).values():
                assert len(removed.result(30)) == 1

    def create_token(self, principal: str) -> tuple[str, str]:
        """Create a delegation token for a principal with Kafka's own tool; return the token's id and HMAC."""
        config = str(self.command_config(principal))
        arguments = ("--bootstrap-server", self.sasl, "--command-config", config, "--create")
        done = self.cluster.tool("DelegationTokenCommand", *arguments, "--max-life-time-period", "-1")
        words = done.out.splitlines()[-1].split() if done.out else []
        if done.status or len(words) < 2:
            raise RuntimeError(f"no delegation token was created: {done.out}{done.err}")
        return words[0], words[1]

    def use_signed_tokens(self, endpoint: TokenServer, **claims: Any) -> None:
        """Make a token endpoint return signed tokens that the listener `self.sasl` accepts.

        `claims` replace default claims of the tokens. For example, with `aud="wrong"`, the broker refuses the tokens.
        """
        endpoint.signed_with = (self.signing_key, KEY_ID)
        endpoint.claims = {"sub": "team", "iss": ISSUER, "aud": AUDIENCE, "scope": "kafka", **claims}

    def tls_config(self, *, with_certificate: bool = True) -> Path:
        """Write a Java properties file with which a client connects to `self.tls`; return the path of the file.

        The file configures the client certificate, which the listener requires, only if `with_certificate` is true.
        """
        properties = {"security.protocol": "SSL", **self._trust()}
        if with_certificate:
            properties |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(self.certificates.client)}
        return write_properties(self._folder / f"tls-{with_certificate}.properties", properties)

    def _trust(self) -> dict[str, str]:
        return {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.certificates.authority)}

    def _listener_settings(self) -> Iterator[tuple[str, str]]:
        users = " ".join(f'user_{name}="{password}"' for name, password in PASSWORDS.items())
        package = "org.apache.kafka.common.security"
        for listener in ("sasl", "sasltls"):
            prefix = f"listener.name.{listener}"
            yield f"{prefix}.sasl.enabled.mechanisms", ",".join([*MECHANISMS, "OAUTHBEARER", "GSSAPI"])
            yield f"{prefix}.plain.sasl.jaas.config", f"{package}.plain.PlainLoginModule required {users};"
            for mechanism in MECHANISMS[1:]:
                module = f"{package}.scram.ScramLoginModule required;"
                yield f"{prefix}.{mechanism.lower()}.sasl.jaas.config", module
            token = f'unsecuredLoginStringClaim_sub="broker" unsecuredValidatorRequiredScope="{TOKEN_SCOPE}"'
            module = f"{package}.oauthbearer.OAuthBearerLoginModule required {token if listener == 'sasltls' else ''};"
            yield f"{prefix}.oauthbearer.sasl.jaas.config", module
            options = f'keyTab="{self.kdc.broker_keytab}" principal="{self.kdc.broker}"'
            module = f"com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true {options};"
            yield f"{prefix}.gssapi.sasl.jaas.config", module
            for mechanism in ("scram-sha-256", "oauthbearer", "gssapi"):
                session = LONG_SESSION if listener == "sasltls" and mechanism != "gssapi" else SESSION
                yield f"{prefix}.{mechanism}.connections.max.reauth.ms", str(round(session * 1000))
        yield "listener.name.msk.sasl.enabled.mechanisms", "OAUTHBEARER"
        module = f'{package}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";'
        yield "listener.name.msk.oauthbearer.sasl.jaas.config", module
        yield "listener.name.msk.oauthbearer.sasl.server.callback.handler.class", "Launch$AnyToken"
        validator = f"{package}.oauthbearer.OAuthBearerValidatorCallbackHandler"
        yield "listener.name.sasl.oauthbearer.sasl.server.callback.handler.class", validator
        yield "sasl.oauthbearer.jwks.endpoint.url", self._key_set.as_uri()
        yield "sasl.oauthbearer.expected.issuer", ISSUER
        yield "sasl.oauthbearer.expected.audience", AUDIENCE
        for listener in ("sasltls", "tls"):
            prefix = f"listener.name.{listener}"
            yield f"{prefix}.ssl.keystore.type", "PEM"
            yield f"{prefix}.ssl.keystore.location", str(self.certificates.server)
            yield f"{prefix}.ssl.truststore.type", "PEM"
            yield f"{prefix}.ssl.truststore.location", str(self.certificates.authority)
        yield "sasl.kerberos.service.name", SERVICE
        yield "listener.name.tls.ssl.client.auth", "required"

    def _allow(self) -> None:
        for binding, created in self.cluster.admin.create_acls(list(_bindings())).items():
            if created.result(30) is not None:
                raise RuntimeError(f"the ACL {binding} was not created")


def _scram_credentials() -> Iterator[str]:
    for name, password in PASSWORDS.items():
        for mechanism in MECHANISMS[1:]:
            yield "--add-scram"
            yield f"{mechanism}=[name={name},password={password}]"


def _bindings() -> Iterator[AclBinding]:
    everything, team = ("*", ResourcePatternType.LITERAL), ("team-a-", ResourcePatternType.PREFIXED)
    describe = AclOperation.DESCRIBE
    for principal in ("viewer", "denied"):
        yield _allowed(principal, ResourceType.BROKER, ("kafka-cluster", ResourcePatternType.LITERAL), describe)
        yield _allowed(principal, ResourceType.GROUP, everything, describe)
        yield _allowed(principal, ResourceType.TOPIC, everything, describe)
    yield _allowed("changing", ResourceType.BROKER, ("kafka-cluster", ResourcePatternType.LITERAL), describe)
    yield _allowed("changing", ResourceType.GROUP, everything, describe)
    yield _allowed("unsure", ResourceType.GROUP, everything, describe)
    yield _allowed("unsure", ResourceType.TOPIC, everything, describe)
    denied = ("team-b-events", ResourcePatternType.LITERAL)
    yield _acl("denied", ResourceType.TOPIC, denied, describe, AclPermissionType.DENY)
    for operation in (AclOperation.READ, describe, AclOperation.DELETE):
        yield _allowed("team", ResourceType.GROUP, team, operation)
    yield _allowed("team", ResourceType.TOPIC, team, describe)
    cluster = ("kafka-cluster", ResourcePatternType.LITERAL)
    for operation in (describe, AclOperation.DESCRIBE_CONFIGS):
        yield _allowed("oncall", ResourceType.BROKER, cluster, operation)
        yield _allowed("oncall", ResourceType.TOPIC, everything, operation)
    for operation in (describe, AclOperation.DELETE):
        yield _allowed("oncall", ResourceType.GROUP, everything, operation)
    secret = (FORBIDDEN, ResourcePatternType.LITERAL)
    yield _acl("oncall", ResourceType.GROUP, secret, describe, AclPermissionType.DENY)
    yield _allowed("groupsonly", ResourceType.GROUP, everything, describe)
    yield _allowed("CN=tls-client", ResourceType.GROUP, everything, describe)
    for principal, permissions in PERMISSIONS.items():
        for permission in permissions:
            yield _binding(principal, permission)


def _binding(
    principal: str, permission: Permission, permission_type: AclPermissionType = AclPermissionType.ALLOW
) -> AclBinding:
    kind = {"cluster": ResourceType.BROKER, "group": ResourceType.GROUP, "topic": ResourceType.TOPIC}
    pattern = (permission.name, ResourcePatternType.LITERAL)
    operation = AclOperation[permission.operation]
    return _acl(principal, kind[permission.resource], pattern, operation, permission_type)


def _allowed(
    principal: str, resource: ResourceType, pattern: tuple[str, ResourcePatternType], operation: AclOperation
) -> AclBinding:
    return _acl(principal, resource, pattern, operation, AclPermissionType.ALLOW)


def _acl(
    principal: str,
    resource: ResourceType,
    pattern: tuple[str, ResourcePatternType],
    operation: AclOperation,
    permission: AclPermissionType,
) -> AclBinding:
    return AclBinding(resource, *pattern, f"User:{principal}", "*", operation, permission)
