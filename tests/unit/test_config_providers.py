"""Tests of references to Kafka's config providers in Java properties, such as `${file:PATH:KEY}`.

`tests/contract` checks that Kafka's own config providers return the same values.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

import pytest

from kgtui import config
from kgtui.config.properties import filled_in
from kgtui.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = "org.apache.kafka.common.config.provider"
DECLARED = {
    "config.providers": "file, env,dir",
    "config.providers.file.class": f"{PACKAGE}.FileConfigProvider",
    "config.providers.env.class": f"{PACKAGE}.EnvVarConfigProvider",
    "config.providers.dir.class": f"{PACKAGE}.DirectoryConfigProvider",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put secrets into the environment variable `PASS` and into two files of a new folder, and return the folder."""
    (tmp_path / "secrets.properties").write_text("pass.word = hunter2\nother=x\n", encoding="utf-8")
    (tmp_path / "word").write_text("hunter2")
    monkeypatch.setenv("PASS", "hunter2")
    return tmp_path


def value(folder: Path, text: str, **more: str) -> str:
    """Return the value of a property after the references in its text, such as `${env:PASS}`, were replaced.

    Args:
        folder: the folder to which relative paths in references refer.
        text: text of the property.
        more: more properties, such as parameters of the config providers in `DECLARED`. `_` in a name stands for a dot.
    """
    given = {**DECLARED, "client.id": text, **{key.replace("_", "."): more[key] for key in more}}
    filled = filled_in(given, "client.properties", folder)
    assert set(filled) == {"client.id"}
    return filled["client.id"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${file:secrets.properties:pass.word}", "hunter2"),
        ("${env:PASS}", "hunter2"),
        ("${dir:.:word}", "hunter2"),
        ('user="u" password="${env:PASS}"; ${file:secrets.properties:other}', 'user="u" password="hunter2"; x'),
        ("${vault:a:b} ${PASS} $PASS", "${vault:a:b} ${PASS} $PASS"),
        ("file:word", "file:word"),
    ],
)
def test_references_to_declared_config_providers_are_replaced_with_values(
    folder: Path, text: str, expected: str
) -> None:
    """References to undeclared providers are not replaced, as in Kafka.

    If config providers are declared, kgtui's own references `${NAME}` and `file:PATH` are not replaced either.
    """
    assert value(folder, text) == expected


def test_config_provider_references_are_not_replaced_if_no_provider_is_declared(folder: Path) -> None:
    """Without config providers, kgtui replaces only its own references, such as `${PASS}`, but not `${env:PASS}`."""
    assert filled_in({"a": "${env:PASS}", "b": "${PASS}"}, "x", folder) == {"a": "${env:PASS}", "b": "hunter2"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("${file:secrets.properties:nope}", "secrets.properties has no key nope"),
        (
            "${file:nope.properties:k}",
            "nope.properties: No such file or directory; expected a properties file with the",
        ),
        ("${file:k}", "the reference has no path: write ${PROVIDER:PATH:KEY}"),
        ("${env:NOT_SET}", "the environment variable NOT_SET is not set"),
        ("${env:path:PASS}", "a reference to an environment variable must not have a path: write ${PROVIDER:PASS}"),
        ("${dir:.:nope}", "nope: No such file or directory; expected a file that contains the value"),
        ("${dir:.:../word}", "'../word' is not the name of a file in ."),
    ],
)
def test_error_about_an_invalid_reference_mentions_property_and_problem(folder: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        value(folder, text)
    assert str(caught.value).startswith("client.properties: client.id: ")
    assert says in str(caught.value)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_config_providers_refuse_files_and_variables_that_are_not_allowed(folder: Path) -> None:
    allowed = {"config_providers_env_param_allowlist_pattern": "PA.*", "config_providers_file_param_allowed_paths": "."}
    allowed = {key.replace("allowlist_pattern", "allowlist.pattern"): text for key, text in allowed.items()}
    assert value(folder, "${env:PASS}${file:secrets.properties:other}", **allowed) == "hunter2x"
    with pytest.raises(ConfigError, match=r"allowlist\.pattern does not allow the environment variable HOME"):
        value(folder, "${env:HOME}", **allowed)
    with pytest.raises(ConfigError, match=r"allowed\.paths does not allow \.\./secrets\.properties"):
        value(folder / "sub", "${file:../secrets.properties:other}", **allowed)


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        ({"config.providers": "v"}, "config.providers.v.class is missing: set it to"),
        (
            {"config.providers": "v", "config.providers.v.class": "com.example.Vault"},
            "config.providers.v.class=com.example.Vault is not supported, because kgtui cannot run Java classes",
        ),
        (
            {**DECLARED, "config.providers.env.param.allowlist.pattern": "("},
            "config.providers.env.param.allowlist.pattern is not a regular expression",
        ),
    ],
)
def test_the_error_about_an_unusable_config_provider_mentions_the_provider(
    folder: Path, properties: dict[str, str], says: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        filled_in(properties, "client.properties", folder)
    assert str(caught.value).startswith(f"client.properties: {says}")


def test_a_command_config_file_can_declare_config_providers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{key}={text}" for key, text in DECLARED.items()]
    (folder / "client.properties").write_text("\n".join([*lines, f"client.id=${{dir:{folder}:word}}"]))
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(folder))
    monkeypatch.setenv("KGTUI_COMMAND_CONFIG", str(folder / "client.properties"))
    assert config.resolve(config.load()).properties == {"client.id": "hunter2"}
