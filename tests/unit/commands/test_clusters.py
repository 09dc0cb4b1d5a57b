"""Tests of `kgtui clusters`, which lists the configured clusters without secrets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kgtui.cli import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path))
    return tmp_path


def test_kgtui_clusters_says_what_to_configure_if_there_are_no_clusters(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["clusters"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "[clusters.NAME]" in err
    assert str(folder / "config.toml") in err


def test_kgtui_clusters_prints_names_but_not_values_of_client_properties(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "config.toml").write_text(
        """
        default = "prod"
        [clusters.prod]
        bootstrap = ["a:9092", "b:9092"]
        read_only = true
        environment = "PROD"
        color = "red"
        sasl.jaas.config = "password=hunter2"
        [clusters.test]
        bootstrap = "t:9092"
        command_config = "test.properties"
        """
    )
    assert main(["clusters"]) == 0
    table = capsys.readouterr().out
    assert table.splitlines()[1].split() == ["prod", "*", "a:9092,b:9092", "PROD", "no", "–"]
    assert main(["clusters", "--format", "json"]) == 0
    text = capsys.readouterr().out
    found = json.loads(text)
    assert found["version"] == 1
    assert found["clusters"][0]["properties"] == ["sasl.jaas.config"]
    assert found["clusters"][1]["command_config"] == "test.properties"
    assert [cluster["color"] for cluster in found["clusters"]] == ["red", None]
    assert [cluster["colour"] for cluster in found["clusters"]] == ["red", None], (
        "colour is the old name of the key color"
    )
    assert "hunter2" not in text + table


def test_kgtui_clusters_rejects_an_invalid_configuration_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "config.toml").write_text("[clusters.x]\nbotstrap = 'a'\n")
    assert main(["clusters"]) == 2
    assert "clusters.x.botstrap" in capsys.readouterr().err
