"""Send kgtui's code to the executors of a Spark cluster, on which kgtui may not be installed."""

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

They import only each other, the standard library, and libraries that the executors have.
"""


def ship_code(spark: SparkSession) -> None:
    """Send kgtui's code to a Spark cluster as a zip file.

    The zip file is kept on this machine until this process exits, because executors that start
    later must download the file, too.
    """
    archive = Path(tempfile.mkdtemp(prefix="kgtui-"), "kgtui.zip")
    atexit.register(shutil.rmtree, archive.parent, ignore_errors=True)
    pack_code(archive)
    spark.addArtifacts(str(archive), pyfile=True)


def pack_code(archive: Path) -> None:
    """Write a zip file from which Python can import the pipeline and the other parts of `_SHIPPED`.

    Args:
        archive: path of the zip file.
    """
    root = Path(kgtui.__file__).parent
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for part in _SHIPPED:
            path = root / part
            for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
                zipped.write(file, Path("kgtui") / file.relative_to(root))
