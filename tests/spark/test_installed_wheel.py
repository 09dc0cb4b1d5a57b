"""Test that the pipeline runs from kgtui's wheel, on workers that have only Spark and Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgtui.lake.schemas import BRONZE, GOLD, SILVER
from tests import jars
from tests.spark.spark_settings import ON_CLUSTER
from tests.spark.standalone_cluster import StandaloneCluster
from tests.spark.stored_rows import stored_rows

if TYPE_CHECKING:
    from kgtui.pipeline.spark_lake import SparkLake

REPOSITORY = Path(__file__).parents[2]


def install_wheel(folder: Path) -> Path:
    """Build kgtui's wheel in `folder`, and unpack it without dependencies. Return the folder of the unpacked files."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=REPOSITORY, capture_output=True, check=True)
    (wheel,) = folder.glob("*.whl")
    shutil.unpack_archive(wheel, folder / "installed", "zip")
    return folder / "installed"


@pytest.mark.full
@pytest.mark.timeout(1_800)
def test_installed_wheel_runs_on_spark_workers_without_pyarrow_and_kgtui(
    uninterrupted_lake: SparkLake, recording: Path, record_files: Path, tmp_path: Path
) -> None:
    lake = shutil.copytree(recording, tmp_path / "lake")
    installed = install_wheel(tmp_path / "wheel")
    (tmp_path / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in ON_CLUSTER.items()))
    environment = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"} | {
        "PYTHONPATH": str(installed),
        "SPARK_CONF_DIR": str(tmp_path),
        "KGTUI_SPARK_JARS": str(jars.spark_folder()),
        "KGTUI_SPARK_MEMORY": "700m",
    }
    where = "import kgtui; print(kgtui.__file__)"
    found = subprocess.run(
        [sys.executable, "-c", where], cwd=tmp_path, env=environment, capture_output=True, check=True
    )
    assert str(installed) in found.stdout.decode()
    with StandaloneCluster(tmp_path / "cluster", bare=True) as cluster:
        words = ["pipeline", "run", f"--lake={lake}", f"--records={record_files}", f"--master={cluster.url}"]
        done = subprocess.run(
            [sys.executable, "-m", "kgtui", *words], cwd=tmp_path, env=environment, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        assert cluster.executors == 2
    for table in (*BRONZE, *SILVER, *GOLD):
        assert stored_rows(lake, table) == stored_rows(uninterrupted_lake.folder.local_path, table), table.name
