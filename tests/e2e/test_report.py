"""Test the HTML page of `kgtui report` in a real browser.

The page must send no requests, must have a light and a dark color scheme, and must not run scripts from group ids.
"""

from __future__ import annotations

import os
import re
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest

from kgtui.cli import main
from kgtui.lake.schemas.gold import HEALTH, LAG
from tests.e2e.browser import Browser, top_left_color
from tests.unit.insights.gold_rows import NOW, lag_rows, row, rows_with_problems, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class RequestCounter:
    """A server on this machine that counts the requests that it receives."""

    def __init__(self) -> None:
        asked = self.asked = []  # type: list[str]

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Print nothing on stderr."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def listener() -> Iterator[RequestCounter]:
    made = RequestCounter()
    yield made
    made.stop()


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    (tmp_path / "browser").mkdir()
    return Browser(tmp_path / "browser")


def report_page(tmp_path: Path, *groups: str) -> Path:
    """Write a report with incidents of every kind and with stopped groups; return the path of the report.

    `groups` are the ids of the stopped groups.
    """
    rows = rows_with_problems()
    for name in groups:
        bad = {"window_start": NOW, "status": "ERR", "worst": "STOP", "affected": 1, "lag": 7, "bad_since": NOW}
        rows[HEALTH] += [row(HEALTH, group=name, **bad), row(HEALTH, group=name, topic=name, partition=0, **bad)]
        rows[LAG] += lag_rows(name)
    out = tmp_path / "report.html"
    assert main(["report", str(write(tmp_path / "lake", rows)), "-o", str(out)]) == 0
    return out


def test_markup_in_group_ids_causes_no_requests_and_runs_no_scripts(
    tmp_path: Path, browser: Browser, listener: RequestCounter
) -> None:
    url = listener.url
    harmful = [
        f"<img src={url}/img onerror=\"document.title='owned'\">",
        f"<script>document.title='owned';fetch('{url}/script')</script>",
        f"</title><link rel=stylesheet href={url}/style>",
        f'"><iframe src="{url}/frame"></iframe>',
        f"<svg/onload=\"location='{url}/svg'\">",
        f"</style><body background={url}/back>",
    ]
    dom = browser.dom(report_page(tmp_path, *harmful))
    assert listener.asked == []
    assert re.findall(r"<title>([^<]*)</title>", dom)[0].startswith("Groups of ")
    assert not re.findall(r"<(script|img|iframe|link|object|embed)\b", dom)
    assert "&lt;img src=" in dom, "the report does not show the group id"
    assert "<path" in dom


def test_the_request_counter_counts_a_request_from_a_page(
    tmp_path: Path, browser: Browser, listener: RequestCounter
) -> None:
    """Another test asserts that a report sends no requests. With a broken counter, that test would always pass."""
    page = tmp_path / "careless.html"
    page.write_text(f"<body><img src={listener.url}/img>")
    browser.dom(page)
    assert listener.asked == ["/img"]


def test_the_report_uses_the_color_scheme_of_the_browser(tmp_path: Path, browser: Browser) -> None:
    page = report_page(tmp_path)
    assert top_left_color(browser.screenshot(page)) == (0xFF, 0xFF, 0xFF)
    assert top_left_color(browser.screenshot(page, "--blink-settings=preferredColorScheme=0")) == (0x14, 0x17, 0x1C)


def test_the_report_file_is_readable_only_by_its_owner(tmp_path: Path) -> None:
    assert os.stat(report_page(tmp_path)).st_mode & 0o777 == 0o600
