"""The report's page in a real browser: it asks for nothing, hostile ids do nothing, and it is light or dark."""

from __future__ import annotations

import os
import re
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest

from kgtui.cli import main
from kgtui.lake.schemas.gold import HEALTH, LAG
from tests.e2e.browser import Browser, corner
from tests.unit.insights.gold_rows import NOW, incidents, lag_rows, row, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Listener:
    """A server on loopback that counts who asks it for something."""

    def __init__(self) -> None:
        asked = self.asked = []  # type: list[str]

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Nothing on stderr."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.stop()


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    (tmp_path / "browser").mkdir()
    return Browser(tmp_path / "browser")


def reported(tmp_path: Path, *groups: str) -> Path:
    """The page on one incident of each kind, and on groups of these names."""
    rows = incidents()
    for name in groups:
        bad = {"window_start": NOW, "status": "ERR", "worst": "STOP", "affected": 1, "lag": 7, "bad_since": NOW}
        rows[HEALTH] += [row(HEALTH, group=name, **bad), row(HEALTH, group=name, topic=name, partition=0, **bad)]
        rows[LAG] += lag_rows(name)
    out = tmp_path / "report.html"
    assert main(["report", str(write(tmp_path / "lake", rows)), "-o", str(out)]) == 0
    return out


def test_hostile_ids_ask_for_nothing_and_do_nothing(tmp_path: Path, browser: Browser, listener: Listener) -> None:
    url = listener.url
    harmful = [
        f"<img src={url}/img onerror=\"document.title='owned'\">",
        f"<script>document.title='owned';fetch('{url}/script')</script>",
        f"</title><link rel=stylesheet href={url}/style>",
        f'"><iframe src="{url}/frame"></iframe>',
        f"<svg/onload=\"location='{url}/svg'\">",
        f"</style><body background={url}/back>",
    ]
    dom = browser.dom(reported(tmp_path, *harmful))
    assert listener.asked == []
    assert re.findall(r"<title>([^<]*)</title>", dom)[0].startswith("Groups of ")
    assert not re.findall(r"<(script|img|iframe|link|object|embed)\b", dom)
    assert "&lt;img src=" in dom, "it is there to read"
    assert "<path" in dom


def test_the_listener_would_have_heard_it(tmp_path: Path, browser: Browser, listener: Listener) -> None:
    page = tmp_path / "careless.html"
    page.write_text(f"<body><img src={listener.url}/img>")
    browser.dom(page)
    assert listener.asked == ["/img"]


def test_the_page_is_light_or_dark_as_the_reader_likes(tmp_path: Path, browser: Browser) -> None:
    page = reported(tmp_path)
    assert corner(browser.picture(page)) == (0xFF, 0xFF, 0xFF)
    assert corner(browser.picture(page, "--blink-settings=preferredColorScheme=0")) == (0x14, 0x17, 0x1C)


def test_the_page_is_for_its_owner_alone(tmp_path: Path) -> None:
    assert os.stat(reported(tmp_path)).st_mode & 0o777 == 0o600
