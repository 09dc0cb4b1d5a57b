"""The code that executors run, sent to a Spark that is not on this machine."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import kgtui

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PARTS = ("__init__.py", "errors.py", "model", "protocol", "lake", "pipeline")
"""The packages that the pipeline may import. They load without the libraries that an executor does not have."""


def ship(spark: SparkSession) -> None:
    """Give executors the code of the pipeline, the model and the protocol."""
    with tempfile.TemporaryDirectory(prefix="kgtui-") as folder:
        archive = Path(folder) / "kgtui.zip"
        pack(archive)
        spark.addArtifacts(str(archive), pyfile=True)


def pack(archive: Path) -> None:
    """Write the code into a zip file that Python imports from."""
    root = Path(kgtui.__file__).parent
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for part in _PARTS:
            path = root / part
            for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
                zipped.write(file, Path("kgtui") / file.relative_to(root))
