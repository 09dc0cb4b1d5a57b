"""Tests of the functions with which other tests search outputs and files for secrets."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

import pyarrow.parquet
import pytest

from tests.secret_markers import Markers

if TYPE_CHECKING:
    from pathlib import Path

SECRET = 'S3cret+a b/"c"\n\N{LATIN SMALL LETTER E WITH ACUTE}'
MARKERS = Markers({"password": SECRET, "token": "0ther-secret"})


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        f"x{SECRET!r}",
        repr(SECRET.encode()),
        json.dumps([SECRET]),
        json.dumps(SECRET, ensure_ascii=False),
        quote(SECRET),
        quote_plus(SECRET),
        SECRET.encode().hex(),
        SECRET.encode("utf-16").decode("latin-1"),
        *(base64.b64encode((before + SECRET + "end").encode()).decode() for before in ("", "a", "ab", "abc", "u:")),
        base64.urlsafe_b64encode(f"claims {SECRET}".encode()).decode(),
    ],
)
def test_a_secret_is_found_in_all_usual_encodings(text: str) -> None:
    assert MARKERS.kinds_in(text.encode("latin-1") if "\0" in text else text) == {"password"}


@pytest.mark.parametrize(
    "data", [b"\xff\x01key of a ticket", "ff016b6579", "x\\xff\\x01key of a ticket", "/wFrZXkgb2YgYSB0aWNrZX"]
)
def test_a_secret_given_as_bytes_is_found_in_all_usual_encodings(data: bytes | str) -> None:
    markers = Markers({})
    markers.add("ticket", b"\xff\x01key of a ticket" if len(data) > 10 else b"\xff\x01key")
    assert markers.kinds_in(data) == {"ticket"}


def test_a_secret_in_a_compressed_parquet_file_is_found(tmp_path: Path) -> None:
    rows = pyarrow.table({"value": ["0ther-secret"]})
    pyarrow.parquet.write_table(rows, tmp_path / "rows.parquet", compression="gzip", write_statistics=False)
    assert MARKERS.kinds_in((tmp_path / "rows.parquet").read_bytes()) == set()
    with pytest.raises(AssertionError, match=r"the rows of .*rows\.parquet contains the secret of: token"):
        MARKERS.check_files(tmp_path)


def test_secret_check_fails_only_if_text_or_file_contains_a_whole_secret(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("S3cret is not the whole secret")
    assert MARKERS.check_files(tmp_path) == 1
    with pytest.raises(AssertionError, match="screen contains the secret of: token"):
        MARKERS.check("screen", "an 0ther-secret")
    (tmp_path / "file").write_bytes(b"\xff0ther-secret")
    with pytest.raises(AssertionError, match="file contains the secret of: token"):
        MARKERS.check_files(tmp_path)
