"""Tests of how commands find a lake: by its path or URI, and with storage options for lakes in an S3 server.

Storage options are read from `config.toml` and from environment variables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.cli import main
from kgtui.commands import parser
from tests.unit.history.recording_builder import START, RecordingBuilder
from tests.unit.history.test_recording_reader import poll_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.stores.s3 import Bucket


def write_config(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write `config.toml` into a folder, and make this folder kgtui's configuration folder."""
    (folder / "config.toml").write_text(text)
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(folder))
    parser._storage_options.cache_clear()


def test_environment_variables_override_storage_options_in_the_configuration(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    builder = RecordingBuilder(bucket.uri())
    builder.poll(poll_of(), START)
    builder.flush()
    options = bucket.environment()
    for name in options:
        monkeypatch.delenv(name)
    (tmp_path / "secret").write_text(options["AWS_SECRET_ACCESS_KEY"])
    monkeypatch.setenv("ADDRESS", bucket.url)
    write_config(
        tmp_path,
        f"""
[storage."s3a://{bucket.name}"]
AWS_ENDPOINT_URL = "${{ADDRESS}}"
AWS_ALLOW_HTTP = "true"
AWS_ACCESS_KEY_ID = "test-key"
AWS_SECRET_ACCESS_KEY = "file:secret"
AWS_REGION = "us-east-1"
""",
        monkeypatch,
    )
    assert main(["lake", "status", bucket.uri()]) == 0
    assert "recorded/polls" in capsys.readouterr().out
    assert main(["lake", "optimize", bucket.uri()]) == 0
    capsys.readouterr()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    assert main(["lake", "status", f"s3a://{bucket.name}/elsewhere"]) == 2
    assert "the store does not answer" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("ftp://host/lake", "lakes can be local folders, or have URIs that begin with file://, s3a://"),
        (
            "s3a:bucket/lake",
            "is not a valid URI: write it as s3a://BUCKET/FOLDER. A local folder",
        ),
        ("file:lake", "is not a valid URI: write it as file:///FOLDER"),
        ("file://host/lake", "names the host host: kgtui reads only local files"),
        ("file:///lake#1", "must not contain ? or #"),
        ("s3a://[bucket/lake", "is not a valid URI"),
        ("s3a:/bucket", "names no bucket: write it as s3a://BUCKET/FOLDER"),
    ],
)
def test_a_uri_that_cannot_be_a_lake_is_refused_with_a_reason(
    uri: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lake", "status", uri]) == 2
    assert message in capsys.readouterr().err


def test_a_lake_in_a_local_folder_can_be_opened_with_a_file_uri(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    builder = RecordingBuilder(tmp_path / "my lake")
    builder.poll(poll_of(), START)
    builder.flush()
    assert main(["lake", "status", f"file://{tmp_path}/my%20lake"]) == 0
    assert str(tmp_path / "my lake") in capsys.readouterr().out
