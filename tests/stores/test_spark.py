"""Tests that the pipeline runs on a lake in an S3 server."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kgtui.errors import RefusedError
from kgtui.insights.apply_rules import read_insights
from kgtui.lake import maintenance
from kgtui.lake.folder import LakeFolder
from kgtui.lake.lock import held, recorder_lock
from tests import jars
from tests.spark import sample_data

if TYPE_CHECKING:
    from pathlib import Path

    from tests.stores.s3 import Bucket


def run_pipeline(uri: str, records: Path) -> str:
    """Run `kgtui pipeline run` with a local Spark of two threads. Return its output on standard error."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "kgtui",
            "pipeline",
            "run",
            "--lake",
            uri,
            "--records",
            str(records),
            "--master=local[2]",
        ],
        capture_output=True,
        text=True,
        env=os.environ | {"KGTUI_SPARK_JARS": str(jars.spark_folder()), "KGTUI_SPARK_MEMORY": "1g"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.full
@pytest.mark.timeout(1_800)
def test_the_pipeline_computes_all_tables_of_a_lake_in_s3(bucket: Bucket, tmp_path: Path) -> None:
    """A second run of the pipeline and a compaction do not change the number of rows of any table."""
    (tmp_path / "records").mkdir()
    sample_data.write_records(tmp_path / "records")
    uri = bucket.uri(scheme="s3")
    sample_data.record_seven_minutes(uri)
    assert f"updated {uri}" in run_pipeline(uri, tmp_path / "records")
    before = rows(uri)
    assert all(before[title] for title in ("bronze/coordinator_records", "silver/commits", "gold/lag", "gold/health"))
    run_pipeline(uri, tmp_path / "records")
    assert rows(uri) == before
    assert read_insights(uri).as_of is not None
    assert [result.error for result in maintenance.optimize(uri)] == [""] * 12
    assert rows(uri) == before


def rows(uri: str) -> dict[str, int | None]:
    """Return the number of rows of each table by title, such as `gold/lag`; None if the number is unknown."""
    tables = maintenance.status(uri).tables
    assert all(not table.error for table in tables), tables
    return {table.table.title: table.contents.rows for table in tables if table.contents is not None}


def test_maintenance_and_a_second_run_are_refused_while_the_pipeline_runs(bucket: Bucket) -> None:
    folder = LakeFolder.of(bucket.uri())
    with held(recorder_lock(folder.pipeline_lock), lambda message: None):
        with (
            pytest.raises(RefusedError, match=f"process {os.getpid()} on .* already runs the pipeline on s3a://"),
            held(recorder_lock(folder.pipeline_lock), lambda message: None),
        ):
            pass
        with pytest.raises(RefusedError), maintenance._pipeline_paused(folder):
            pass
    with maintenance._pipeline_paused(folder):
        assert folder.pipeline_lock.exists()
    assert not folder.pipeline_lock.exists()
