"""Tests of files with Java client properties, and of references to secrets in them."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

import pytest

from kgtui import config
from kgtui.config.properties import filled_in
from kgtui.errors import ConfigError
from kgtui.private_files import LARGEST_INPUT


def test_properties_files_are_read_in_the_same_way_as_by_kafka(tmp_path: Path) -> None:
    """There is one difference: kgtui replaces a key that does not look like a property name with its line number.

    Such a key could be part of a secret.
    """
    file = tmp_path / "client.properties"
    file.write_bytes(
        b"# comment\n! also\nclient.id : kgtui\\\n    -two\nssl.key.password=\xe4\\u00df \nempty=\n"
        b"a\\=b=c\nclient.rack=first\nclient.rack=last\n"
    )
    assert config.read_properties(file) == {
        "client.id": "kgtui-two",
        "ssl.key.password": "äß ",
        f"line 6 of {file}": "",
        f"line 7 of {file}": "c",
        "client.rack": "last",
    }
    for path, problem in (("~no-such-user/f", "~no-such-user/f: the home folder of this"), ("a\0", "contains a NUL")):
        with pytest.raises(ConfigError, match=problem):
            config.read_properties(path)
        with pytest.raises(ConfigError, match=f"^PLACE: client.id: .*{problem}"):
            filled_in({"client.id": f"file:{path}"}, "PLACE", tmp_path)
    with pytest.raises(ConfigError, match="No such file or directory; expected a file of Java client properties"):
        config.read_properties(tmp_path / "none")
    file.write_bytes(b"# comment\nb=1\n\na=\\u12\n")
    with pytest.raises(ConfigError, match=f"^line 4 of {file}: .*u12 is not a valid escape"):
        config.read_properties(file)


PEM = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIE+h/N\nabcdefghijklmnopqrstuvwx\n-----END PRIVATE KEY-----\n"


@pytest.mark.parametrize(
    ("text", "line"), [(PEM, 1), (f"acks=1\n\n{PEM}", 3), (f"security.protocol=SSL\nssl.keystore.key={PEM}", 3)]
)
def test_error_about_a_pem_file_does_not_contain_its_content(tmp_path: Path, text: str, line: int) -> None:
    file = tmp_path / "client.properties"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        config.read_properties(file)
    assert str(caught.value).startswith(f"{file}: line {line} is not a property: this looks like a PEM file.")
    assert not any(part in str(caught.value) for part in PEM.splitlines())


def test_error_about_a_pem_line_in_a_properties_file_mentions_the_line_number(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    body = "MC4CAQAwBQYDK2VwBCIEIGh/Nabcdefghijklmnopqrstuvwxvalue/ABCDEFGH="
    file.write_text(f"client.id=x\n{body}\n")
    with pytest.raises(ConfigError, match=r"line 2 is not a property: this looks like a PEM file") as caught:
        config.read_properties(file)
    assert body[:20] not in str(caught.value)


@pytest.mark.parametrize("name", ["bootstap.servers", "sals.mechanism", "securty.protocol", "schema.registry.urll"])
def test_keys_that_look_like_misspelled_property_names_are_kept(tmp_path: Path, name: str) -> None:
    """Other unknown keys are replaced with their line numbers, because they could be parts of a secret."""
    file = tmp_path / "client.properties"
    file.write_text(f"{name}=1\n")
    assert set(config.read_properties(file)) == {name}


def test_only_regular_files_and_shell_pipes_are_read_as_properties_files(tmp_path: Path) -> None:
    """A named pipe, `/dev/zero` and a file with more than 1,000,000 bytes are refused.

    `/dev/null` counts as an empty file.
    """
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(ConfigError, match="this is not a regular file"):
            config.read_properties(path)
    assert config.read_properties(os.devnull) == {}
    large = tmp_path / "large"
    large.write_bytes(b"#" * (LARGEST_INPUT + 1))
    with pytest.raises(ConfigError, match="the file has more than 1,000,000 bytes"):
        config.read_properties(large)
    read, write = os.pipe()
    os.write(write, b"client.id=from-a-pipe\n")
    os.close(write)
    assert config.read_properties(f"/dev/fd/{read}") == {"client.id": "from-a-pipe"}
    os.close(read)


def test_key_unlike_a_property_name_is_replaced_with_its_line_number(tmp_path: Path) -> None:
    """A key that does not look like a property name could be part of a secret.

    kgtui shows unknown keys in warnings, so it replaces this key with `line N of FILE`.
    """
    file = tmp_path / "client.properties"
    lines = (
        "# comment", "client.id=a\\", "  b", "MC4CAQAwBQYDK2VwBCIE", "custom.Name=1",
        "ssl.keystore.key=-----BEGIN X-----\\n\\", "  abc\\n-----END X-----", "P+w/d!=2",
    )  # fmt: skip
    file.write_text("\n".join(lines))
    unclear = {f"line 4 of {file}", f"line 8 of {file}"}
    assert set(config.read_properties(file)) == {"client.id", "custom.Name", "ssl.keystore.key"} | unclear


def filled(tmp_path: Path, text: str) -> dict[str, str]:
    """Write `text` to a properties file. Return its properties after references to secrets were replaced."""
    file = tmp_path / "client.properties"
    file.write_text(text, encoding="latin-1")
    return config.resolve(config.load(), Namespace(command_config=str(file))).properties


def test_secrets_in_properties_are_read_from_environment_variables_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "password"
    secret.write_text("s3cret ${HOME}\n")
    monkeypatch.setenv("KEY_PASSWORD", "fr\N{LATIN SMALL LETTER O WITH DIAERESIS}sch")
    properties = filled(tmp_path, f"ssl.key.password=a-${{KEY_PASSWORD}}-b\nssl.keystore.password=file:{secret}\n")
    assert properties == {"ssl.key.password": "a-frösch-b", "ssl.keystore.password": "s3cret ${HOME}"}


def test_file_url_in_a_url_property_is_not_replaced_with_content(tmp_path: Path) -> None:
    """In most properties, kgtui replaces `file:PATH` with the content of the file.

    In properties whose names end with `.url`, Kafka expects a `file:` URL, so kgtui does not replace the URL.
    """
    token = tmp_path / "token"
    token.write_text("S3cret")
    key = "sasl.oauthbearer.token.endpoint.url"
    assert filled(tmp_path, f"{key}={token.as_uri()}\n") == {key: token.as_uri()}


@pytest.mark.parametrize("option", ["useKeytab=", "useKeytab = ", "useCcache="])
def test_file_urls_in_ibm_kerberos_options_are_not_read_as_secrets(tmp_path: Path, option: str) -> None:
    value = f'com.ibm.security.auth.module.Krb5LoginModule required {option}"{(tmp_path / "k").as_uri()}";'
    assert filled(tmp_path, f"sasl.jaas.config={value}\n") == {"sasl.jaas.config": value}


def test_secrets_are_escaped_in_jaas_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quotes and backslashes in a secret must not end the value of the JAAS option."""
    from kgtui.client.properties import parse_jaas

    secret = tmp_path / "password"
    secret.write_text('f\\"1;\n')
    monkeypatch.setenv("PASS", "p\"a'\\;s")
    for option in ('"${PASS}"', "${PASS}", "'${PASS}'"):
        jaas = filled(tmp_path, f'sasl.jaas.config=x.PlainLoginModule required username="u" password={option};')
        assert parse_jaas(jaas["sasl.jaas.config"]).options["password"].reveal() == "p\"a'\\;s"
    jaas = filled(tmp_path, f'sasl.jaas.config=x.PlainLoginModule required password="file:{secret}" username="u";')
    assert parse_jaas(jaas["sasl.jaas.config"]).options["password"].reveal() == 'f\\"1;'


def test_the_error_about_a_secret_mentions_the_missing_variable_or_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ssl\.key.password: the environment variable NOT_SET_AT_ALL is not set"):
        filled(tmp_path, "ssl.key.password=${NOT_SET_AT_ALL}")
    with pytest.raises(ConfigError, match=r"ssl\.key.password: .*none: No such file or directory"):
        filled(tmp_path, f"ssl.key.password=file:{tmp_path}/none")
