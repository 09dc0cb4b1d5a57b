"""Tests of reading Java client properties. Each property is used, ignored, refused, or reported as unknown."""

from __future__ import annotations

import ssl
import subprocess
import traceback
from typing import TYPE_CHECKING

import pytest

from kgtui.client.client_settings import PLAINTEXT, ClientSettings, Secret, from_properties
from kgtui.client.pool import Pool
from kgtui.client.properties import parse_jaas
from kgtui.client.tls import Tls
from kgtui.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="hunter2";'
SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="hunter2";'
SASL = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN}


def test_without_client_properties_there_is_no_tls_and_no_login() -> None:
    assert from_properties({}) == PLAINTEXT == ClientSettings("PLAINTEXT", None, "", Secret(""), None)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL", "sasl_ssl"])
def test_sasl_mechanism_user_and_password_are_read_from_client_properties(protocol: str, mechanism: str) -> None:
    jaas = PLAIN if mechanism == "PLAIN" else SCRAM
    settings = from_properties({"security.protocol": protocol, "sasl.mechanism": mechanism, "sasl.jaas.config": jaas})
    assert (settings.protocol, settings.mechanism, settings.username) == (protocol.upper(), mechanism, "alice")
    assert settings.password.reveal() == "hunter2"
    assert settings.tls == (Tls() if settings.protocol == "SASL_SSL" else None)


@pytest.mark.parametrize(
    ("mechanism", "option", "token"),
    [
        ("SCRAM-SHA-256", 'tokenauth="true"', True),
        ("SCRAM-SHA-512", "tokenauth=TRUE", True),
        ("SCRAM-SHA-256", 'tokenauth="yes"', False),
        ("PLAIN", 'tokenauth="true"', False),
    ],
)
def test_the_jaas_option_tokenauth_selects_delegation_tokens_only_for_scram(
    mechanism: str, option: str, token: bool
) -> None:
    properties = SASL | {"sasl.mechanism": mechanism, "sasl.jaas.config": f"{SCRAM[:-1]} {option};"}
    assert from_properties(properties).delegation_token is token


def test_timeouts_and_client_id_are_read_from_the_client_properties() -> None:
    settings = from_properties({"client.id": "ops", "request.timeout.ms": "1500", "default.api.timeout.ms": "60000"})
    assert (settings.client_id, settings.request_timeout, settings.api_timeout) == ("ops", 1.5, 60.0)
    for text in ("0", "-1", "1.5", "soon", "٣", "2147483648", "0" * 15 + "9" * 15, "9" * 5000):
        with pytest.raises(ConfigError, match=r"request\.timeout\.ms=.* is not a number of milliseconds from 1 to 21"):
            from_properties({"request.timeout.ms": text})


@pytest.mark.parametrize("value", ["a\0b", "a\udcffb", "a\\000b"])
def test_a_password_with_a_nul_character_or_invalid_unicode_raises_config_error(value: str) -> None:
    with pytest.raises(ConfigError, match=r"^sasl\.jaas\.config: the value .* a NUL character") as caught:
        from_properties(SASL | {"sasl.jaas.config": f'{PLAIN[:-1]} password="{value}";'})
    assert value not in str(caught.value)


@pytest.mark.parametrize(
    ("properties", "pauses"),
    [
        ({}, (0.1, 5.0)),
        ({"reconnect.backoff.ms": "50", "reconnect.backoff.max.ms": "1000"}, (0.05, 1.0)),
        ({"reconnect.backoff.max.ms": "20000"}, (0.1, 20.0)),
        ({"reconnect.backoff.ms": "8000"}, (8.0, 8.0)),
        ({"reconnect.backoff.ms": "0", "client.id": " "}, (0.0, 0.0)),
    ],
)
def test_client_properties_set_the_reconnect_backoff_of_the_pool(
    properties: dict[str, str], pauses: tuple[float, float]
) -> None:
    """`pauses` are the shortest and the longest pause before reconnecting, in seconds.

    If only `reconnect.backoff.ms` is set, it sets both pauses, as in Kafka's clients.
    """
    settings = from_properties(properties)
    pool = Pool(["localhost:9092"], settings)
    assert (pool.options.backoff, pool.options.backoff_max) == pauses
    assert settings.warnings == ()
    with pytest.raises(ConfigError, match=r"reconnect\.backoff\.ms=-1 is not a number of milliseconds from 0 to 9"):
        from_properties({"reconnect.backoff.ms": "-1"})


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        ({"security.protocol": "TLS"}, "security.protocol=TLS is not one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ({"security.protocol": "SASL_SSL"}, "sasl.jaas.config is missing: set it to the login module"),
        (
            SASL | {"sasl.mechanism": "OAUTHBEARER"},
            "OAUTHBEARER needs the login module OAuthBearerLoginModule, not Plain",
        ),
        (
            SASL | {"sasl.mechanism": "plain"},
            "sasl.mechanism=plain is not a mechanism of Kafka: set it to one of PLAIN, SC",
        ),
        (SASL | {"sasl.mechanism": "AWS_MSK_IAM"}, "AWS_MSK_IAM needs the login module IAMLoginModule"),
        (SASL | {"sasl.jaas.config": ""}, "sasl.jaas.config is missing"),
        (SASL | {"sasl.jaas.config": "com.sun.security.auth.module.Krb5LoginModule required;"}, "PLAIN needs"),
        (SASL | {"sasl.jaas.config": PLAIN.replace("username", "user")}, "sasl.jaas.config: username is missing"),
        (SASL | {"sasl.jaas.config": PLAIN.replace("password", "pass")}, "sasl.jaas.config: password is missing"),
        (
            {"security.protocol": "SSL", "ssl.truststore.type": "BKS", "ssl.truststore.location": "/t.bks"},
            "ssl.truststore.type=BKS is not supported; convert the store: keytool -importkeystore -srckeystore FILE",
        ),
        (
            {"security.protocol": "SSL", "ssl.keystore.type": "JKS", "ssl.keystore.location": "/k.jks"},
            "ssl.keystore.password is missing: set it to the password of the key store",
        ),
        (
            {"security.protocol": "SSL", "ssl.truststore.certificates": "c"},
            "ssl.truststore.certificates contains PEM: set ssl.truststore.type=PEM, because Kafka's default is JKS",
        ),
        (
            {"security.protocol": "SSL", "ssl.keystore.type": "PEM", "ssl.keystore.key": "k"},
            "ssl.keystore.key and ssl.keystore.certificate.chain belong together: set both or neither",
        ),
        (
            {
                "security.protocol": "SSL",
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": "a",
                "ssl.truststore.certificates": "b",
            },
            "ssl.truststore.location and ssl.truststore.certificates cannot be set together: remove one of them",
        ),
        ({"security.protocol": "SSL", "ssl.enabled.protocols": "SSLv3"}, "ssl.enabled.protocols: SSLv3 is not one of"),
        (
            {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "ldaps"},
            "ssl.endpoint.identification.algorithm=ldaps is not supported: write https, or leave",
        ),
        ({"ssl.cipher.suites": "TLS_AES"}, "ssl.cipher.suites is not supported"),
        ({"ssl.engine.factory.class": "x.Y"}, "ssl.engine.factory.class is not supported: use ssl.truststore"),
        ({"sasl.login.callback.handler.class": "x.Y"}, "sasl.login.callback.handler.class is not supported"),
        ({"security.providers": "x.Y"}, "security.providers is not supported"),
        ({"config.providers": "file"}, "config.providers is not supported: config providers work only if"),
        (
            {"config.providers.file.class": "x.Y"},
            "config.providers.file.class is not supported: config providers work only if",
        ),
        (
            {"bootstrap.controllers": "c:9093"},
            "bootstrap.controllers is not supported: kgtui does not connect to controllers",
        ),
        ({"ssl.trustmanager.algorithm": "Own"}, "ssl.trustmanager.algorithm is not supported: remove the property"),
    ],
)
def test_config_error_mentions_the_missing_invalid_or_unsupported_property(
    properties: dict[str, str], says: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        from_properties(properties)
    assert says in str(caught.value)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_an_unsupported_client_property_is_accepted_if_its_value_is_the_default() -> None:
    properties = {
        "ssl.protocol": "TLSv1.3",
        "ssl.trustmanager.algorithm": "PKIX",
        "ssl.keymanager.algorithm": "SunX509",
    }
    assert from_properties(properties | {"ssl.cipher.suites": "", "config.providers": " "}) == PLAINTEXT


def test_only_properties_that_no_kafka_client_knows_cause_a_warning() -> None:
    """This test uses only some known properties. Tests in `tests/contract` check all properties of Kafka's clients."""
    passed_over = [
        "acks",
        "group.id",
        "key.serializer",
        "max.poll.records",
        "metric.reporters",
        "retries",
        "check.crcs",
        "sasl.kerberos.kinit.cmd",
        "sasl.login.retry.backoff.ms",
        "sasl.oauthbearer.jwks.endpoint.url",
    ]
    assert from_properties(dict.fromkeys(passed_over, "x")).warnings == ()
    text = "is not a property of Kafka's clients: it has no effect"
    unknown = {
        "sasl.mechanisms": "; did you mean sasl.mechanism?",
        "security.protocl": "; did you mean security.protocol?",
        "sasl.oauthbearer.token.endpont.url": "; did you mean sasl.oauthbearer.token.endpoint.url?",
        "sasl.login.refersh.window.factor": "; did you mean sasl.login.refresh.window.factor?",
        "sasl.kerberos.service": "; did you mean sasl.kerberos.service.name?",
        "ssl.truststore.locaton": "; did you mean ssl.truststore.location?",
        "foo.bar": "",
        "username": "; if this line continues the previous line, end the previous line with a backslash",
    }
    found = from_properties(dict.fromkeys(["group.id", *unknown], "x")).warnings
    assert found == tuple(f"{name} {text}{advice}" for name, advice in unknown.items())


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ('"hunter2"', "hunter2"),
        ("'hunter2'", "hunter2"),
        ('"a \\"quoted\\" word"', 'a "quoted" word'),
        ('"it\'s"', "it's"),
        ("'say \"hi\"'", 'say "hi"'),
        (r'"back\\slash;=//no comment"', r"back\slash;=//no comment"),
        (r'"tab\tnew\nline\101\7\1012"', "tab\tnew\nlineA\aA2"),
        ('""', ""),
        ("bare-word.with_$", "bare-word.with_$"),
        ('"\N{SNOWMAN}"', "\N{SNOWMAN}"),
    ],
)
def test_the_options_in_sasl_jaas_config_are_parsed_as_in_java(option: str, value: str) -> None:
    module = parse_jaas(
        f"a.b.PlainLoginModule  required\n  /* a comment; */ password={option} // more\n username = u ;\n"
    )
    assert (module.name, module.short_name) == ("a.b.PlainLoginModule", "PlainLoginModule")
    assert module.options["password"].reveal() == value
    assert module.options["username"].reveal() == "u"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the value should begin with the class of a login module"),
        ('"x"', "the value should begin with the class of a login module"),
        ("Module", "the class of the login module should be followed by `required`"),
        ('hunter2 username="u";', "the class of the login module should be followed by `required`"),
        ('Module required password="a"hunter2=b";', "a quote is not closed"),
        ('Module required password="a"hunter2=1;', "the value of an option should be in double quotes"),
        ('Module required password="hunter2"', "the value has no semicolon at the end"),
        ('Module required password "hunter2";', 'options should be written name="value"'),
        ("Module required password=;", "the value of password should be in double quotes"),
        ("Module required password=7hunter2;", "the value of password should be in double quotes"),
        ('Module required password="hunter2;', "a quote is not closed"),
        ('Module required password="hun\nter2";', "a quote is not closed"),
        ("Module required password=hunter2!;", "character 33 is not allowed here"),
        (PLAIN + PLAIN, "there should be one login module"),
    ],
)
def test_errors_in_sasl_jaas_config_are_explained_without_showing_the_password(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_jaas(text)
    assert str(caught.value).startswith("sasl.jaas.config: ")
    assert says in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_printed_client_settings_contain_no_secrets() -> None:
    settings = from_properties(SASL)
    tls = Tls(key_pem=Secret("hunter2"), key_password=Secret("hunter2"))
    shown = f"{settings!r} {settings} {settings.password} {settings.password!r} {tls!r} {parse_jaas(PLAIN)!r}"
    assert "hunter2" not in shown
    assert "****" in shown
    assert repr(settings.password.reveal()) == "'****'"
    assert Secret("a") == Secret("a") != Secret("b")
    assert hash(Secret("a")) == hash(Secret("a"))
    assert not Secret("")


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with PEM files: a certificate, its private key, and key stores that contain both.

    The private key is encrypted with a password in `locked.pem` and `locked-store.pem`, but not in the other files.
    """
    folder = tmp_path_factory.mktemp("pem")
    openssl = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=x"]
    run = [*openssl, "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run(run, check=True, capture_output=True)
    lock = ["openssl", "pkcs8", "-topk8", "-in", str(folder / "key.pem"), "-out", str(folder / "locked.pem")]
    subprocess.run([*lock, "-passout", "pass:hunter2"], check=True, capture_output=True)
    certificate = (folder / "cert.pem").read_text()
    (folder / "store.pem").write_text((folder / "key.pem").read_text() + certificate)
    (folder / "locked-store.pem").write_text((folder / "locked.pem").read_text() + certificate)
    return folder


def test_tls_contexts_are_built_from_pem_files_and_from_pem_text(pem: Path) -> None:
    from_files = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(pem / "cert.pem"),
        "ssl.keystore.type": "pem",
        "ssl.keystore.location": str(pem / "locked-store.pem"),
        "ssl.key.password": "hunter2",
        "ssl.endpoint.identification.algorithm": "",
        "ssl.enabled.protocols": "TLSv1.3",
    }
    from_texts = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": (pem / "cert.pem").read_text(),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": (pem / "locked.pem").read_text(),
        "ssl.keystore.certificate.chain": (pem / "cert.pem").read_text(),
        "ssl.key.password": "hunter2",
    }
    for properties in (from_files, from_texts):
        tls = from_properties(properties).tls
        assert tls is not None
        context = tls.context("x")
        assert len(context.get_ca_certs()) == 1
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert context.check_hostname is (properties is from_texts)
        assert context.maximum_version is ssl.TLSVersion.TLSv1_3
        lowest = ssl.TLSVersion.TLSv1_3 if properties is from_files else ssl.TLSVersion.TLSv1_2
        assert context.minimum_version is lowest


def test_the_ca_certificates_of_the_system_are_trusted_by_default() -> None:
    system = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    system.load_default_certs()
    assert Tls().context("x").cert_store_stats() == system.cert_store_stats()


@pytest.mark.parametrize(
    ("tls", "says"),
    [
        (Tls(trust_file="/no/such"), "ssl.truststore.location=/no/such: No such file"),
        (Tls(trust_pem="nonsense"), "ssl.truststore.certificates: "),
        (Tls(key_file="/no/such"), "ssl.keystore.location=/no/such: No such file"),
        (Tls(key_pem=Secret("hunter2"), chain_pem="x"), "ssl.keystore.key and ssl.keystore.certificate.chain: "),
    ],
)
def test_the_tls_error_mentions_the_property_with_an_invalid_certificate_or_key(tls: Tls, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        tls.context("x")
    assert str(caught.value).startswith(says)
    assert "; expected " in str(caught.value)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("password", "says"),
    [("", "the private key is encrypted, and ssl.key.password is missing"), ("n0t-This", "ssl.key.password is wrong")],
)
def test_an_encrypted_key_without_the_right_password_raises_config_error(pem: Path, password: str, says: str) -> None:
    """kgtui always passes a password to OpenSSL, even an empty one, so that OpenSSL does not prompt for a password."""
    in_file = Tls(key_file=str(pem / "locked-store.pem"), key_password=Secret(password))
    in_text = Tls(
        key_pem=Secret((pem / "locked.pem").read_text()),
        chain_pem=(pem / "cert.pem").read_text(),
        key_password=Secret(password),
    )
    for tls in (in_file, in_text):
        with pytest.raises(ConfigError) as caught:
            tls.context("x")
        assert says in str(caught.value)
        assert "n0t-This" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(("file", "missing"), [("cert.pem", "private key"), ("key.pem", "certificate")])
def test_key_store_error_says_whether_the_pem_file_lacks_key_or_certificate(pem: Path, file: str, missing: str) -> None:
    with pytest.raises(ConfigError, match=rf"{file}: there is no {missing} in PEM; expected a PEM file"):
        Tls(key_file=str(pem / file)).context("x")
