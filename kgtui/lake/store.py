"""Paths in stores (object stores such as S3, and HDFS), with the methods of `pathlib.Path` that lakes need.

deltalake is imported only when a store is read or written.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit

from kgtui.errors import LakeError
from kgtui.model.paths import expanded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeAlias

    LakePath: TypeAlias = "Path | StorePath"
    """Path of a lake, or of a file or folder in a lake."""

SCHEMES = ("s3a", "s3", "abfss", "abfs", "gs", "hdfs")
"""URI schemes of stores that can contain a lake."""

DEFAULT_OPTIONS = {"connect_timeout": "5s", "timeout": "20s", "max_retries": "3", "retry_timeout": "20s"}
"""Default options for object stores and HDFS. Users can override them in `config.toml`.

With these options, kgtui waits about 40 s for a store that does not respond. Without them, it would wait minutes.
"""

configured_options: Callable[[], Mapping[str, Mapping[str, str]]] = dict
"""Function that returns the configured storage options as a dict: prefix of a URI → options for URIs with this prefix.

When kgtui starts, it replaces this function with one that reads `[storage]` in `config.toml`.
"""

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+):(/?)")
_OTHER_SCHEMES = ("adl", "dbfs", "gcs", "http", "https", "oss", "s3n", "viewfs", "wasb", "wasbs", "webhdfs")
"""URI schemes that kgtui does not support.

Because of this list, kgtui rejects a text such as `s3n:b`. Otherwise, it would be the name of a local folder.
"""
_WRITE_BUFFER = 8 << 20


@dataclass(frozen=True, slots=True)
class StorePath:
    """A file or folder in a store (an object store such as S3, or HDFS). A folder exists as long as it contains a file.

    Methods raise `OSError` if the store cannot be accessed. The function `store_errors.lake_error_text` converts this
    error to a text for users.

    Attributes:
        root: first part of the URI, such as `s3a://bucket`.
        key: path in the store, such as `team/lake`; empty for the whole bucket.
    """

    root: str
    key: str = ""

    def __str__(self) -> str:
        return f"{self.root}/{self.key}" if self.key else self.root

    def __truediv__(self, name: str) -> StorePath:
        return StorePath(self.root, f"{self.key}/{name}".strip("/"))

    @property
    def name(self) -> str:
        """Last part of the path. If the path is a whole bucket, this is the name of the bucket."""
        return self.key.rpartition("/")[2] or self.root.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """Last part of the path, without its suffix, such as `lake` for `lake.json`."""
        return self.name.rpartition(".")[0] or self.name

    @property
    def parent(self) -> StorePath:
        return StorePath(self.root, self.key.rpartition("/")[0])

    def absolute(self) -> StorePath:
        """Return this path unchanged, because the URI of a store is always absolute."""
        return self

    def exists(self) -> bool:
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        return bool(self.key) and self._info().is_file

    def is_dir(self) -> bool:
        return any(True for _ in self._entries())

    def iterdir(self) -> Iterator[StorePath]:
        """Yield the files and folders in this folder. If the folder does not exist, yield nothing."""
        for entry in self._entries():
            yield StorePath(self.root, entry.path.strip("/"))

    def folder_names(self) -> list[str]:
        from pyarrow.fs import FileType

        return [entry.base_name for entry in self._entries() if entry.type == FileType.Directory]

    def size(self) -> int:
        """Return the size of this file, or of all files in this folder, in bytes."""
        if self.is_file():
            return int(self._info().size)
        return sum(entry.size for entry in self._entries(recursive=True) if entry.is_file)

    def modified(self) -> float:
        """Return when this file was last written, in seconds since the epoch; 0 if unknown."""
        modified = self._info().mtime
        return modified.timestamp() if isinstance(modified, datetime) else 0.0

    def read_bytes(self) -> bytes:
        """Return the content of this file. Raises `FileNotFoundError` if it does not exist."""
        with self.file_system().open_input_file(self.key) as file:
            data: bytes = file.read()
        return data

    def read_text(self, encoding: str = "utf-8") -> str:
        """Return the content of this text file. Raises `FileNotFoundError` if it does not exist."""
        return self.read_bytes().decode(encoding)

    def write_bytes(self, data: bytes) -> None:
        """Write this file, completely or not at all. If the file exists, it is replaced."""
        # Write the data in parts, because deltalake accepts no more data per call than its write buffer holds.
        with self.file_system().open_output_stream(self.key, buffer_size=_WRITE_BUFFER) as file:
            for start in range(0, len(data), _WRITE_BUFFER // 2):
                file.write(data[start : start + _WRITE_BUFFER // 2])

    def unlink(self, missing_ok: bool = False) -> None:
        """Delete this file. Raises `FileNotFoundError` if it does not exist, unless `missing_ok` is true."""
        try:
            self.file_system().delete_file(self.key)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing, because a store creates folders when files are written into them."""

    def remove_files(self) -> None:
        """Delete all files in this folder and its subfolders."""
        for entry in self._entries(recursive=True):
            if entry.is_file:
                self.file_system().delete_file(entry.path)

    def file_system(self) -> Any:
        """Return a pyarrow file system for the store. In it, the path of this file or folder is `self.key`."""
        return _file_system(self.root, tuple(sorted(options_for(self).items())))

    def _info(self) -> Any:
        return self.file_system().get_file_info([self.key])[0]

    def _entries(self, *, recursive: bool = False) -> list[Any]:
        from pyarrow.fs import FileSelector

        selector = FileSelector(self.key, allow_not_found=True, recursive=recursive)
        found: list[Any] = self.file_system().get_file_info(selector)
        return found


def remove_folder(path: LakePath) -> None:
    """Delete a folder with everything in it."""
    if isinstance(path, StorePath):
        path.remove_files()
    else:
        shutil.rmtree(path)


@cache
def _file_system(root: str, options: tuple[tuple[str, str], ...]) -> Any:
    from deltalake.fs import DeltaStorageHandler
    from pyarrow.fs import PyFileSystem

    return PyFileSystem(DeltaStorageHandler(root, dict(options)))


def lake_path(text: str | LakePath) -> LakePath:
    """Convert the URI of a store to a `StorePath`, and a local path or `file://` URI to a `Path`.

    A `~` at the start of a local path becomes the home folder.

    Raises:
        LakeError: the URI is not valid, or its scheme is not supported, or it names no bucket or no local folder.
        ConfigError: the home folder is unknown, or the local path contains a NUL character.
    """
    if isinstance(text, StorePath):
        return text
    uri, found = str(text), _SCHEME.match(str(text))
    scheme = found[1].lower() if found else ""
    if found is None or not (found[2] or scheme in (*SCHEMES, *_OTHER_SCHEMES, "file")):
        return expanded(text)
    if scheme not in (*SCHEMES, "file"):
        known = ", ".join(f"{name}://" for name in SCHEMES)
        raise LakeError(f"{uri}: lakes can be local folders, or have URIs that begin with file://, {known}")
    if not found[2]:
        form = "file:///FOLDER" if scheme == "file" else f"{scheme}://BUCKET/FOLDER"
        raise LakeError(f"{uri} is not a valid URI: write it as {form}. A local folder of this name is ./{uri}")
    try:
        parts = urlsplit(uri)
    except ValueError as error:
        raise LakeError(f"{uri} is not a valid URI: {error}") from None
    if "?" in uri or "#" in uri:
        raise LakeError(f"{uri}: the URI of a lake must not contain ? or #; in a file:// URI, write %3F or %23")
    if scheme == "file":
        return _local_path(uri, parts)
    if not parts.netloc:
        raise LakeError(f"{uri} names no bucket: write it as {scheme}://BUCKET/FOLDER")
    return StorePath(f"{scheme}://{parts.netloc}", parts.path.strip("/"))


def _local_path(uri: str, parts: SplitResult) -> Path:
    if parts.netloc not in ("", "localhost"):
        raise LakeError(
            f"{uri} names the host {parts.netloc}: kgtui reads only local files. Write file:///FOLDER with three "
            "slashes, and mount folders of other machines"
        )
    if not parts.path.strip("/"):
        raise LakeError(f"{uri} names no folder: write file:///FOLDER")
    return Path(unquote(parts.path))


def options_for(path: LakePath) -> dict[str, str]:
    """Return the storage options for deltalake; empty for a local path.

    Options in `config.toml` override `DEFAULT_OPTIONS`. Environment variables override options in `config.toml`: if a
    variable has the name of an option in upper case, this option is left out. deltalake reads the variables itself.
    """
    if not isinstance(path, StorePath):
        return {}
    uri, options = str(path), dict(DEFAULT_OPTIONS)
    for prefix, table in sorted(configured_options().items(), key=lambda item: len(item[0])):
        if uri.startswith(prefix):
            options |= {name: value for name, value in table.items() if name.upper() not in os.environ}
    return options


def arrow_file(path: LakePath) -> tuple[str, Any]:
    """Return the pair (path, file system) with which pyarrow opens a file. For a local file, the file system is None.

    A local path is made absolute, because pyarrow would take the relative path `a:b` for a URI.
    """
    return (path.key, path.file_system()) if isinstance(path, StorePath) else (str(path.absolute()), None)


def file_size(path: LakePath) -> int:
    """Return the size of a file in bytes."""
    return path.size() if isinstance(path, StorePath) else path.stat().st_size
