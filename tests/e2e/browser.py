"""A headless Chromium that loads a page and returns its DOM or a screenshot."""

from __future__ import annotations

import shutil
import struct
import subprocess
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
)  # fmt: skip
_PAGE_TIMEOUT = 120.0


class Browser:
    """Loads each page in a new browser process with a new profile.

    Args:
        folder: an empty folder, into which profiles and screenshots are written.
    """

    def __init__(self, folder: Path) -> None:
        found = next((path for name in _NAMES if (path := shutil.which(name))), None)
        assert found is not None, (
            "the tests of reports need Chromium; install it with tests/run or apt-get install chromium"
        )
        self._program = found
        self._folder = folder
        self._runs = 0

    def dom(self, page: Path, *flags: str) -> str:
        """Load the page, and return its DOM as HTML. `flags` are additional command-line options of Chromium."""
        return self._run(*flags, "--dump-dom", page.as_uri()).decode()

    def screenshot(self, page: Path, *flags: str) -> bytes:
        """Load the page, and return a PNG of 900×1200 pixels.

        `flags` are additional command-line options of Chromium.
        """
        path = self._folder / f"screenshot-{self._runs}.png"
        self._run(*flags, "--window-size=900,1200", f"--screenshot={path}", page.as_uri())
        return path.read_bytes()

    def _run(self, *words: str) -> bytes:
        self._runs += 1
        profile = self._folder / f"profile-{self._runs}"
        profile.mkdir()
        command = [self._program, *_FLAGS, f"--user-data-dir={profile}", *words]
        return subprocess.run(command, check=True, capture_output=True, timeout=_PAGE_TIMEOUT).stdout


def top_left_color(png: bytes) -> tuple[int, int, int]:
    """Return the red, green and blue values of the top left pixel of a PNG.

    PNG can store a pixel as its difference from earlier pixels. There is no pixel before the top left one, so its color
    can be read directly from the decompressed data.
    """
    at, data, channels = 8, b"", 3
    while at < len(png):
        length, kind = struct.unpack_from(">I4s", png, at)
        if kind == b"IHDR":
            channels = {2: 3, 6: 4}[png[at + 8 + 9]]
        if kind == b"IDAT":
            data += png[at + 8 : at + 8 + length]
        at += 12 + length
    first = zlib.decompress(data)[1 : 1 + channels]
    return first[0], first[1], first[2]
