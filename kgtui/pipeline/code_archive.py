"""Send kgtui's code to the executors of a Spark cluster, because kgtui is not installed there."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import kgtui

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SHIPPED = ("__init__.py", "errors.py", "private_files.py", "model", "protocol", "lake", "pipeline")
"""Files and packages of kgtui that are sent to Spark executors.

These files import only each other, and libraries that are installed on the executors.
"""


def ship_code(spark: SparkSession) -> None:
    """Send kgtui's code to a Spark cluster as a zip file.

    The file is kept until this process exits, because executors that start later must also download the file.
    """
    archive = Path(tempfile.mkdtemp(prefix="kgtui-"), "kgtui.zip")
    atexit.register(shutil.rmtree, archive.parent, ignore_errors=True)
    pack_code(archive)
    spark.addArtifacts(str(archive), pyfile=True)


def pack_code(archive: Path) -> None:
    """Write the pipeline, and the parts of kgtui that it imports, into a zip file from which Python can import them."""
    root = Path(kgtui.__file__).parent
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for part in _SHIPPED:
            path = root / part
            for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
                zipped.write(file, Path("kgtui") / file.relative_to(root))
