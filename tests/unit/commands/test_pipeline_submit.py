"""Tests of `kgtui pipeline submit --print`, which prints a `spark-submit` command for YARN or Kubernetes."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kgtui
from kgtui.cli import main
from kgtui.pipeline import submit
from kgtui.pipeline.requirements import JARS

if TYPE_CHECKING:
    from collections.abc import Sequence

YARN = ("--master", "yarn", "--lake", "s3a://bucket/lake")
KUBERNETES = ("--master", "k8s://https://api:6443", "--lake", "s3a://bucket/lake", "--image", "registry/kgtui:1")
OPTIONS = {
    "spark.buffer.pageSize": "2m",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.hadoop.fs.permissions.umask-mode": "077",
    "spark.scheduler.mode": "FAIR",
    "spark.sql.codegen.cache.maxEntries": "10000",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
}


def printed(capsys: pytest.CaptureFixture[str], words: Sequence[str]) -> tuple[list[str], dict[str, str], list[str]]:
    """Run `kgtui pipeline submit --print` with the arguments `words`. Return the parts of the printed command.

    Returns:
        The options of `spark-submit` except `--conf`, the Spark configuration from `--conf` without the property
            `spark.redaction.regex`, and the program with its arguments.
    """
    assert main(["pipeline", "submit", "--print", *words]) == 0
    command, *rest = shlex.split(capsys.readouterr().out)
    assert command == "spark-submit"
    options = [word for word in rest if word.startswith("--") and "pipeline" not in rest[: rest.index(word)]]
    conf = dict(word.removeprefix("--conf=").split("=", 1) for word in options if word.startswith("--conf="))
    assert "(?i)secret|password" in conf.pop("spark.redaction.regex")
    return [word for word in options if not word.startswith("--conf=")], conf, rest[len(options) :]


def test_spark_submit_command_for_yarn_uploads_python_environment_jars_and_properties(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for jar in JARS:
        (tmp_path / jar.file).touch()
    monkeypatch.setenv("KGTUI_SPARK_JARS", str(tmp_path))
    monkeypatch.setattr(submit, "decoder_jar", lambda: tmp_path / "decoder.jar")
    options, conf, program = printed(
        capsys,
        [
            *YARN,
            "--bootstrap-server=a:9092",
            "--command-config=/etc/kafka/client.properties",
            "--since=30d",
            "--executors=8",
        ],
    )
    assert options == [
        "--master=yarn",
        "--deploy-mode=cluster",
        "--name=kgtui",
        "--driver-memory=4g",
        "--executor-memory=4g",
        f"--jars={','.join(str(tmp_path / name) for name in (*(jar.file for jar in JARS), 'decoder.jar'))}",
        "--archives=kgtui.tar.gz#environment",
        "--files=/etc/kafka/client.properties",
    ]
    assert conf == OPTIONS | {
        "spark.executor.instances": "8",
        "spark.pyspark.python": "./environment/bin/python",
    }
    assert program == [
        str(Path(kgtui.__file__).with_name("__main__.py")),
        "pipeline",
        "run",
        "--lake=s3a://bucket/lake",
        "--since=30d",
        "--bootstrap-server=a:9092",
        "--command-config=client.properties",
    ]


def test_spark_submit_command_for_kubernetes_has_image_and_urls_of_jars(
    capsys: pytest.CaptureFixture[str],
) -> None:
    options, conf, program = printed(
        capsys, [*KUBERNETES, "--every=30s", "--memory=8g", "--command-config=/secrets/client.properties"]
    )
    jars = options.pop().removeprefix("--jars=").split(",")
    assert options == [
        "--master=k8s://https://api:6443",
        "--deploy-mode=cluster",
        "--name=kgtui",
        "--driver-memory=8g",
        "--executor-memory=8g",
    ]
    assert [jar.rpartition("/")[2] for jar in jars] == [jar.file for jar in JARS]
    assert all(jar.startswith("https://") for jar in jars)
    assert conf == OPTIONS | {
        "spark.executor.instances": "2",
        "spark.kubernetes.container.image": "registry/kgtui:1",
    }
    assert program == [
        "local:///opt/kgtui.py",
        "pipeline",
        "watch",
        "--lake=s3a://bucket/lake",
        "--every=30s",
        "--command-config=/secrets/client.properties",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (YARN, "only prints a command: add --print"),
        (("--print", *KUBERNETES[:4]), "--image is missing"),
        (("--print", "--master", "spark://a:7077", "--lake", "s3a://b/l"), "--master takes yarn or k8s://"),
        (
            ("--print", "--master", "yarn", "--lake", "s3a://b/l", "--executors", "0"),
            "--executors takes a number above 0",
        ),
        (
            ("--print", "--master", "yarn", "--lake", "s3a://b/l", "--memory", "4 GB"),
            "--memory takes a size such as 4g",
        ),
        (("--print", "--master", "yarn", "--lake", "lake"), "lake is a relative path"),
        (("--print", *YARN, "--every", "soon"), "--every"),
    ],
)
def test_pipeline_submit_rejects_missing_and_invalid_options(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pipeline", "submit", *words]) == 2
    assert message in capsys.readouterr().err
