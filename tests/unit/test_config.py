"""Tests of the configuration of kgtui: settings, Kafka client properties, secrets, and the choice of the cluster."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from argparse import Namespace
from typing import TYPE_CHECKING

import pytest

from kgtui import config
from kgtui.client.client_settings import from_properties
from kgtui.config import ASSUMED
from kgtui.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set `KGTUI_CONFIG_DIR` to an empty folder, and return it. All other `KGTUI_` variables are unset."""
    for name in list(os.environ):
        if name.startswith("KGTUI_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path))
    return tmp_path


def write(folder: Path, text: str) -> None:
    (folder / "config.toml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = " + "[" * 5_000, "the file is not valid TOML: the values are nested too deeply"),
        ("a = " + "9" * 5_000, "the file is not valid TOML: a number has too many digits"),
        ('default = ""', "default is empty: write the name of a cluster"),
        ('[clusters.a]\nbootstrap = "b:9092"\ncommand_config = ""', "clusters.a.command_config is empty"),
        ('[clusters.a]\nbootstrap = ""', "clusters.a.bootstrap is empty"),
    ],
    ids=["nested", "digits", "default", "command_config", "bootstrap"],
)
def test_too_large_or_empty_configuration_values_are_rejected(folder: Path, text: str, message: str) -> None:
    assert load_error(folder, text).startswith(message)


def load_error(folder: Path, text: str) -> str:
    """Write `text` to `config.toml`, load it, and return the error message without the file name at its start."""
    write(folder, text)
    with pytest.raises(ConfigError) as caught:
        config.load()
    message = str(caught.value)
    assert message.startswith(f"{folder / 'config.toml'}: ")
    return message.removeprefix(f"{folder / 'config.toml'}: ")


def test_all_settings_of_the_configuration_file_have_defaults() -> None:
    settings = config.load()
    assert (settings.default, settings.clusters, settings.keys, settings.presets) == ("", {}, {}, {})
    assert settings.ui == config.UiSettings(theme="", interval=2.0, ascii=False, utc=False)


def test_a_configuration_file_with_settings_of_every_kind_is_read(folder: Path) -> None:
    write(
        folder,
        """
        version = 2
        default = "prod"
        [clusters.prod]
        bootstrap = ["a:9092", "[::1]:9093"]
        read_only = true
        color = "red"
        environment = "PROD"
        security.protocol = "SASL_SSL"
        "request.timeout.ms" = 5000
        enable.metrics.push = false
        [ui]
        theme = "dark"
        interval = 5
        [keys]
        refresh = "f5"
        [presets]
        stuck = "lag:1k+ members:0"
        """,
    )
    settings = config.load()
    assert settings.ui == config.UiSettings(theme="dark", interval=5, ascii=False, utc=False)
    assert (settings.keys, settings.presets) == ({"refresh": "f5"}, {"stuck": "lag:1k+ members:0"})
    target = config.resolve(settings)
    assert (target.name, target.seeds) == ("prod", ("a:9092", "[::1]:9093"))
    assert (target.read_only, target.color, target.environment) == (True, "red", "PROD")
    assert target.properties == {
        "security.protocol": "SASL_SSL",
        "request.timeout.ms": "5000",
        "enable.metrics.push": "false",
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[ui]\ninterval = 'fast'", "ui.interval: Expected float, got str"),
        ("[ui]\nthem = 'x'", "ui.them is not known; expected one of ascii, columns, interval, theme, utc"),
        (
            "[ui]\ncolumns = ['lag', 'size']",
            "ui.columns: size is not known; expected one of lag, members, problem, state, plot, age, trend, timelag",
        ),
        ("[ui]\ninterval = 0", "ui.interval: 0 is out of range: expected 0.1 to 3600 seconds"),
        ("[ui]\nascii = 1", "ui.ascii: Expected bool, got int"),
        ("ui = 3", "ui: Expected object, got int"),
        ("color = 'red'", "color is not known; expected one of clusters, default, keys, presets, storage, ui, version"),
        ("[keys]\nrefresh = 5", "keys.…: Expected str, got int"),
        ("clusters = 3", "clusters: expected a table that begins with [clusters]"),
        ("[clusters]\nprod = 'a:1'", "clusters.prod: expected a table that begins with [clusters.prod]"),
        ("[clusters.prod]\nbootstrap = 9092", "clusters.prod.bootstrap: Expected str | array, got int"),
        (
            "[clusters.prod]\nread_onyl = true",
            (
                "clusters.prod.read_onyl is not known; expected one of bootstrap, color, command_config, environment, "
                "read_only, or a Kafka property such as security.protocol"
            ),
        ),
        (
            "[clusters.prod]\nssl.enabled.protocols = ['TLSv1.2']",
            "clusters.prod.ssl.enabled.protocols: expected a string, a number, true or false",
        ),
        ("version = true", "version (the version of the file's format) must be a number from 1 to 2"),
        ("version = 'one'", "version (the version of the file's format) must be a number from 1 to 2"),
        (
            "version = 2\n[clusters.prod]\ncolour = 'red'",
            (
                "clusters.prod.colour is not known; expected one of bootstrap, color, "
                "command_config, environment, read_only, or a Kafka property such as security.protocol"
            ),
        ),
        (
            "[clusters.prod]\ncolor = 'red'\ncolour = 'red'",
            "clusters.prod: colour is the old name of color; keep only color",
        ),
    ],
)
def test_a_configuration_error_mentions_the_file_the_key_and_the_expected_value(
    folder: Path, text: str, says: str
) -> None:
    assert load_error(folder, text) == says


def test_the_error_about_a_newer_file_version_says_to_upgrade_kgtui(folder: Path) -> None:
    says = load_error(folder, "version = 3\n[something_new]\nx = 1")
    assert says.startswith("version 3 of the format is newer than version 2, the newest that this kgtui can read: ")
    assert "upgrade kgtui" in says


@pytest.mark.parametrize("version", ["", "version = 1\n"])
def test_the_old_configuration_key_colour_is_read_as_color(folder: Path, version: str) -> None:
    write(folder, f"{version}[clusters.prod]\nbootstrap = 'a:9092'\ncolour = 'red'\n")
    assert config.load().clusters["prod"].color == "red"


def test_invalid_toml_is_rejected_with_the_position_of_the_error(folder: Path) -> None:
    assert "line 2" in load_error(folder, "[ui]\ntheme = dark\n")
    (folder / "config.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="the file is not valid TOML"):
        config.load()


def test_environment_variables_take_precedence_over_the_configuration_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "[ui]\ntheme = 'dark'\ninterval = 5\nascii = true")
    monkeypatch.setenv("KGTUI_THEME", "light")
    monkeypatch.setenv("KGTUI_ASCII", "no")
    monkeypatch.setenv("KGTUI_UTC", "1")
    assert config.load().ui == config.UiSettings(theme="light", interval=5, ascii=False, utc=True)
    monkeypatch.setenv("KGTUI_INTERVAL", "soon")
    with pytest.raises(ConfigError, match="KGTUI_INTERVAL=soon: expected a number of seconds"):
        config.load()
    monkeypatch.setenv("KGTUI_INTERVAL", "2")
    monkeypatch.setenv("KGTUI_UTC", "maybe")
    with pytest.raises(ConfigError, match="KGTUI_UTC=maybe: expected true or false"):
        config.load()


CLUSTERS = """
    default = "test"
    [clusters.test]
    bootstrap = "test:9092"
    [clusters.prod]
    bootstrap = "prod-1:9092, prod-2:9092"
    command_config = "prod.properties"
    read_only = true
    color = "red"
    environment = "PROD"
    client.id = "from-toml"
"""


def test_kgtui_chooses_the_cluster_from_the_first_source_that_is_set(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kgtui looks for a cluster in this order: command line, environment variables, configuration file.

    If none of them names a cluster, kgtui uses `localhost:9092`. `Target.source` says where the cluster was found.
    """
    assert config.resolve(config.load()) == config.Target("localhost:9092", ("localhost:9092",), source=ASSUMED)
    write(folder, CLUSTERS)
    (folder / "prod.properties").write_text("client.id=from-file\nsecurity.protocol=SSL\n", encoding="latin-1")
    settings = config.load()
    assert (found := config.resolve(settings)).name == "test"
    assert found.source == f"{folder / 'config.toml'}: default"
    monkeypatch.setenv("KGTUI_CLUSTER", "prod")
    assert (found := config.resolve(settings)).source == "KGTUI_CLUSTER"
    assert found.seeds == ("prod-1:9092", "prod-2:9092")
    assert found.properties == {"client.id": "from-toml", "security.protocol": "SSL"}
    flags = Namespace(bootstrap_server="new:1", cluster=None, command_config=None, read_only=False)
    assert config.resolve(settings, flags) == config.Target("new:1", ("new:1",), source="--bootstrap-server")
    assert config.resolve(settings, Namespace(cluster="test")).seeds == ("test:9092",)


def test_an_address_together_with_the_name_of_a_cluster_is_rejected(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, CLUSTERS)
    settings = config.load()
    with pytest.raises(ConfigError, match="--bootstrap-server and --cluster cannot be used together"):
        config.resolve(settings, Namespace(bootstrap_server="a:1", cluster="test"))
    monkeypatch.setenv("KGTUI_CLUSTER", "test")
    monkeypatch.setenv("KGTUI_BOOTSTRAP_SERVER", "a:1")
    with pytest.raises(ConfigError, match="KGTUI_BOOTSTRAP_SERVER and KGTUI_CLUSTER cannot be used together"):
        config.resolve(settings)


def test_the_error_about_an_unknown_cluster_lists_the_configured_clusters(folder: Path) -> None:
    write(folder, CLUSTERS)
    with pytest.raises(ConfigError, match=r"--cluster: there is no cluster 'prd'; the clusters in .* are: prod, test"):
        config.resolve(config.load(), Namespace(cluster="prd"))


@pytest.mark.parametrize(
    "cluster",
    [
        'bootstrap = "prod:9092"',
        'bootstrap = ["Prod:9092"]',
        '"bootstrap.servers" = "prod:9092"',
        '"bootstrap.servers" = "${HOST_OF_PROD}:9092"',
        'command_config = "prod.properties"',
    ],
)
def test_a_read_only_cluster_is_recognized_by_its_addresses(
    folder: Path, monkeypatch: pytest.MonkeyPatch, cluster: str
) -> None:
    """With an address of a read-only cluster, kgtui is read-only, even if a writable cluster has the same address.

    The cluster is recognized even if its password refers to an environment variable that is not set, as in this test.
    """
    (folder / "prod.properties").write_text("bootstrap.servers=prod:9092\n")
    monkeypatch.setenv("HOST_OF_PROD", "prod")
    write(
        folder,
        f"""
        [clusters.alias]
        bootstrap = "prod:9092"
        [clusters.prod]
        read_only = true
        ssl.key.password = "${{UNSET}}"
        {cluster}
    """,
    )
    assert config.resolve(config.load(), Namespace(bootstrap_server="PROD:9092")).read_only
    assert not config.resolve(config.load(), Namespace(bootstrap_server="other:9092")).read_only


def test_options_and_variables_can_make_a_cluster_read_only_but_never_writable(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, CLUSTERS)
    (folder / "prod.properties").write_text("")
    settings = config.load()
    assert not config.resolve(settings).read_only
    assert config.resolve(settings, Namespace(read_only=True)).read_only
    assert config.resolve(settings, Namespace(cluster="prod", read_only=False)).read_only
    monkeypatch.setenv("KGTUI_READ_ONLY", "true")
    assert config.resolve(settings).read_only


def test_option_bootstrap_server_uses_settings_of_the_cluster_with_that_address(folder: Path) -> None:
    write(folder, CLUSTERS)
    target = config.resolve(config.load(), Namespace(bootstrap_server="prod-2:9092"))
    assert (target.name, target.read_only, target.color, target.environment) == ("prod-2:9092", True, "red", "PROD")


def test_option_command_config_replaces_all_properties_of_a_configured_cluster(folder: Path, tmp_path: Path) -> None:
    write(folder, CLUSTERS)
    (folder / "prod.properties").write_text("client.id=from-file\n")
    other = tmp_path / "other.properties"
    other.write_text("security.protocol=SASL_SSL\nbootstrap.servers=elsewhere:9092\n")
    settings = config.load()
    flags = Namespace(cluster="prod", command_config=str(other))
    target = config.resolve(settings, flags)
    assert target.seeds == ("prod-1:9092", "prod-2:9092")
    assert target.properties == {"security.protocol": "SASL_SSL", "bootstrap.servers": "elsewhere:9092"}
    alone = config.resolve(settings, Namespace(command_config=str(other)))
    assert (alone.seeds, alone.source) == (("elsewhere:9092",), f"{other}: bootstrap.servers")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kafka", "'kafka' has no port: write kafka:9092"),
        ("kafka:", "'' in 'kafka:' is not a port"),
        (":9092", "':9092' has no host"),
        ("kafka:http", "'http' in 'kafka:http' is not a port: expected a number from 1 to 65535"),
        ("kafka:65536", "'65536' in 'kafka:65536' is not a port"),
        ("kafka:0", "'0' in 'kafka:0' is not a port"),
        ("[::1]", "'[::1]' has no port: write [::1]:9092"),
        ("::1:9092", "write an IPv6 address in brackets"),
        ("fe80::1", "write an IPv6 address in brackets"),
        ("SSL://kafka:9093", "write only host:port"),
        ("https://user:S3cret@kafka:9093", "an address contains @: write only host:port"),
        ("user:S3cret@kafka:9093", "an address contains @: write only host:port"),
        (" , ", "no address is given"),
    ],
)
def test_invalid_broker_addresses_are_rejected(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config.parse_bootstrap(text, "--bootstrap-server")
    assert str(caught.value).startswith("--bootstrap-server: ")
    assert says in str(caught.value)
    assert "S3cret" not in str(caught.value)


def test_a_list_of_broker_addresses_is_split_at_commas() -> None:
    assert config.parse_bootstrap(" a:1 ,[::1]:9092,,10.0.0.1:65535", "x") == ("a:1", "[::1]:9092", "10.0.0.1:65535")


def test_the_warning_about_an_unused_property_mentions_the_line_and_the_reason(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "client.properties"
    file.write_text(
        "client.id=a\nsasl.jaas.config=x.PlainLoginModule required\n  username=u\nclient.id=b\n"
        "client.rack=${env:S3cret}\nbootstrap.servers=other:1\nclient.dns.lookup=${S3cret:x}\n"
    )
    (folder / "config.toml").write_text(
        'version = 2\n[clusters.prod]\nbootstrap = "a:1"\ncommand_config = "client.properties"\n"client.id" = "c"\n'
    )
    literally = "is used as it is written, as in Kafka, because config.providers does not declare this provider"
    common = (
        f"line 1 of {file}: client.id is not used, because line 4 sets it, too",
        f"{file}: client.rack: ${{env:…}} {literally}",
        f"{file}: client.dns.lookup: a reference ${{…:…}} {literally}",
    )
    key = f"{folder}/config.toml: clusters.prod"
    properties = config.resolve(config.load(), Namespace(cluster="prod")).properties
    assert properties["client.id"] == "c"
    assert properties.warnings == (
        *common,
        f"line 4 of {file}: client.id is not used, because {key} sets it, too",
        f"line 6 of {file}: bootstrap.servers is not used, because {key}.bootstrap names the brokers",
    )
    assert properties.places["username"] == f"line 3 of {file}"
    assert from_properties(properties).warnings[5].startswith(f"line 3 of {file}: username is not a property")
    properties = config.resolve(config.load(), Namespace(cluster="prod", command_config=str(file))).properties
    assert properties["client.id"] == "b"
    assert properties.warnings == (
        *common,
        f"line 6 of {file}: bootstrap.servers is not used, because --cluster names the brokers",
        f"the client properties of the cluster prod are not used, because {file} is given",
    )
    flags = Namespace(bootstrap_server="other:1", command_config=str(file))
    assert config.resolve(config.load(), flags).properties.warnings == common


def test_secrets_in_settings_appear_in_no_repr_and_no_traceback(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, "[clusters.prod]\nbootstrap='a:1'\nssl.key.password='hunter2'")
    settings = config.load()
    target = config.resolve(settings, Namespace(cluster="prod"))
    assert target.properties["ssl.key.password"] == "hunter2"
    assert "hunter2" not in f"{settings!r} {target!r} {target.properties} {settings.clusters['prod']}"
    write(folder, "[clusters.prod]\nssl.key.password=['hunter2']\n")
    with pytest.raises(ConfigError) as caught:
        config.load()
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_environment_variables_choose_the_configuration_and_state_folders(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path / "c"))
    monkeypatch.setenv("KGTUI_STATE_DIR", str(tmp_path / "s"))
    assert (config.config_dir(), config.state_folder().path) == (tmp_path / "c", tmp_path / "s")
    monkeypatch.delenv("KGTUI_CONFIG_DIR")
    monkeypatch.delenv("KGTUI_STATE_DIR")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xc"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xs"))
    if sys.platform == "linux":
        assert (config.config_dir(), config.state_folder().path) == (tmp_path / "xc/kgtui", tmp_path / "xs/kgtui")


def test_importing_kgtui_config_loads_no_third_party_package() -> None:
    code = (
        "import sys, kgtui.config; print([m for m in ('msgspec','javaproperties','platformdirs') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
