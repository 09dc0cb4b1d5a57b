"""Start the S3 server `s3_server`, and create buckets in it."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket in the S3 server.

    Attributes:
        url: address of the server: `http://127.0.0.1:PORT`.
    """

    url: str
    name: str

    def uri(self, path: str = "lake", scheme: str = "s3a") -> str:
        return f"{scheme}://{self.name}/{path}"

    def switch_on(self, fault: str) -> None:
        """Switch on a fault of the server; `s3_server` lists the faults."""
        request(f"{self.url}/-/{fault}", "PUT")

    def switch_off(self) -> None:
        """Switch off all faults of the server."""
        request(f"{self.url}/-/", "DELETE")

    def environment(self) -> dict[str, str]:
        """Return the environment variables that tell S3 clients the server's address and the credentials."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "test-key",
            "AWS_SECRET_ACCESS_KEY": "test-secret",
            "AWS_REGION": "us-east-1",
        }


class S3Server:
    """A process that runs `s3_server`. Use this class as a context manager.

    Attributes:
        url: `http://127.0.0.1:PORT` of the server.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.stores.s3_server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.communicate()

    def new_bucket(self) -> Bucket:
        bucket = Bucket(self.url, f"kgtui-{uuid.uuid4().hex[:12]}")
        request(f"{self.url}/{bucket.name}", "PUT")
        return bucket


def request(url: str, method: str) -> None:
    """Send a request without a body. Raises `urllib.error.URLError` if the request fails."""
    urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=60).close()  # noqa: S310 - a test server
