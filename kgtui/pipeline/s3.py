"""Jars, options and credentials for lakes in S3.

They are used if Spark runs on this machine, or on a standalone Spark cluster.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kgtui.lake.store import StorePath, options_for
from kgtui.pipeline.requirements import Jar

if TYPE_CHECKING:
    from kgtui.lake.store import LakePath

_JARS_FILE = Path(__file__).with_name("s3_jars.txt")
"""Text file in which each line describes a jar: Maven group, artifact, version and SHA-256.

The jars are Hadoop's S3 connector, and the parts of the AWS SDK that the connector needs. The jar
with the whole SDK is not used, because its size is 600 MB.
"""

_CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


def is_in_s3(lake: LakePath | None) -> bool:
    """Return whether a lake is in S3, or in another store with the API of S3."""
    return isinstance(lake, StorePath) and lake.root.startswith(("s3://", "s3a://"))


def s3_jars() -> tuple[Jar, ...]:
    """Return the jars that Spark needs for S3, in addition to `requirements.JARS`."""
    lines = _JARS_FILE.read_text(encoding="utf-8").splitlines()
    return tuple(Jar(group, artifact, version, sha256) for group, artifact, version, sha256 in map(str.split, lines))


def s3_options(lake: LakePath) -> dict[str, str]:
    """Return Spark's options for the endpoint and the region of an S3 store.

    The values come from the lake's storage options and from environment variables.
    """
    found = _storage_options(lake)
    options = {}
    if endpoint := found.get("AWS_ENDPOINT_URL") or found.get("AWS_ENDPOINT"):
        virtual = found.get("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "").lower() == "true"
        options["spark.hadoop.fs.s3a.endpoint"] = endpoint
        options["spark.hadoop.fs.s3a.path.style.access"] = "false" if virtual else "true"
    if region := found.get("AWS_REGION") or found.get("AWS_DEFAULT_REGION"):
        options["spark.hadoop.fs.s3a.endpoint.region"] = region
    return options


def export_credentials(lake: LakePath) -> None:
    """Copy the credentials of a lake in S3 to environment variables, which Spark's JVM reads.

    The credentials come from the storage options of the lake. They are not passed as Spark options,
    because other users of the machine could see these options.
    """
    found = _storage_options(lake)
    for name in _CREDENTIALS:
        if name in found:
            os.environ[name] = found[name]


def _storage_options(lake: LakePath) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    return environment | {name.upper(): value for name, value in options_for(lake).items()}
