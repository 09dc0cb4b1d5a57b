"""The locks of a lake in a store such as S3. A lock is a file, and the store's conditional writes enforce the lock.

A process takes the lock by creating the file, on condition that the file does not exist. While the process holds the
lock, it rewrites the file at regular intervals. Another process can replace the file as soon as the process that the
file names has ended. A process on another machine counts as ended after `STALE` seconds without a write.

Some stores lack conditional writes. In such a store, two processes can take the lock at the same time.
"""

from __future__ import annotations

import json
import os
import re
import time
import uuid
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from kgtui.errors import LakeError, RefusedError
from kgtui.lake.lock_holder import STALE, Holder, LakeLock, held_by, parse_holder, this_process
from kgtui.lake.store import options_for
from kgtui.lake.store_errors import lake_error_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.lake.store import StorePath

_WITHOUT_CONDITIONS = "hdfs://"
_RETRIES = ("max_retries", "retry_timeout")
_ATTEMPTS = 3
_CLIENT = ("connect_timeout", "timeout")
_HTTP = ("AWS_ALLOW_HTTP", "AZURE_ALLOW_HTTP", "GOOGLE_ALLOW_HTTP", "ALLOW_HTTP")
"""Storage options that allow unencrypted connections. obstore accepts such an option only in `client_options`."""

_OF_DELTALAKE = re.compile(r"unsafe_rename|locking_provider|dynamo|max_concurrency|copy_if_not_exists")
"""Matches the names of storage options that only deltalake knows. They are not passed to obstore."""


class StoreLock(LakeLock):
    """A lock of a lake in a store such as S3: the recorder's or the pipeline's.

    If the store lacks conditional writes, two processes can hold the lock at once.
    """

    def __init__(self, path: StorePath) -> None:
        self._path = path
        self._held: str | None = None
        self._file: ConditionalFile | None = None
        self._holder = this_process()
        self.crashed_holder: Holder | None = None
        self.enforced = True

    def take(self) -> None:
        self._file = file = _conditional_file(self._path)
        self._holder = this_process()
        now = None
        if file is not None:
            with _obstore_errors():
                now = file.test()
        if file is None or now is None:
            self.enforced = False
            self._take_without_conditions()
            return
        while True:
            with _obstore_errors():
                found = file.read()
                if found is not None and found.holder.is_alive(now - found.renewed):
                    raise RefusedError(held_by(self._path, found.holder))
                tag = file.write(self._holder, None if found is None else found.tag)
            if tag is not None:
                self._held, self.crashed_holder = tag, None if found is None else found.holder
                return

    def renew(self) -> None:
        """Write the lock file again. Raises `RefusedError` if another process has taken the lock."""
        if self._held is None:
            return
        file = self._file
        if file is None or not self.enforced:
            self._path.write_bytes(self._holder.encode())
            return
        with _obstore_errors():
            tag = file.write(self._holder, self._held)
            if tag is None:
                found = file.read()
                self._held = None
                raise RefusedError(
                    f"this process did not renew its lock for {STALE:.0f} s, so another process took it: "
                    f"{held_by(self._path, None if found is None else found.holder)}"
                )
        self._held = tag

    def release(self, clean: bool = True) -> None:
        if self._held is not None and clean:
            with suppress(OSError, RefusedError):
                self.renew()
                self._path.unlink(missing_ok=True)
        self._held = None

    def hand_back(self) -> None:
        if self._held is not None and self.crashed_holder is not None:
            with suppress(OSError):
                self._path.write_bytes(self.crashed_holder.encode())
            self._held = None
        else:
            self.release()

    def _take_without_conditions(self) -> None:
        found = read_holder(self._path)
        if found is not None and found.is_alive(time.time() - self._path.modified()):
            raise RefusedError(held_by(self._path, found))
        self._path.write_bytes(self._holder.encode())
        self._held, self.crashed_holder = "", found


def current_store_holder(path: StorePath) -> Holder | None:
    """Return the running process that holds a lock; None if there is none or the store cannot be read.

    Args:
        path: the lock file.
    """
    try:
        holder = read_holder(path)
        return holder if holder is not None and holder.is_alive(time.time() - path.modified()) else None
    except OSError:
        return None


def read_holder(path: StorePath) -> Holder | None:
    """Return the process that a lock file names, even if this process has ended; None without a valid lock file."""
    try:
        return parse_holder(path.read_bytes())
    except FileNotFoundError:
        return None


class LockFile(NamedTuple):
    """The content and metadata of a lock file.

    Attributes:
        holder: the process that the file names. If the content is not valid, the host is unknown, and the pid is 0.
        renewed: when the file was last written, in seconds since the epoch, according to the store's clock.
        tag: the ETag, which changes with every write.
        is_own: whether the `ConditionalFile` object that read the file also wrote it.
    """

    holder: Holder
    renewed: float
    tag: str
    is_own: bool


class ConditionalFile:
    """Reads and writes a lock file. The class uses obstore, because deltalake has no conditional writes."""

    def __init__(self, path: StorePath) -> None:
        from obstore.store import from_url

        options = options_for(path)
        retries: Any = {
            "max_retries": int(options["max_retries"]),
            "retry_timeout": _duration(options["retry_timeout"]),
        }
        client: Any = {name: _duration(options[name]) for name in _CLIENT}
        config: Any = {}
        for name, value in [*((name, os.environ[name]) for name in _HTTP if name in os.environ), *options.items()]:
            if name.upper() in _HTTP:
                client["allow_http"] = value.lower() in ("true", "1", "yes", "y")
            elif name not in (*_RETRIES, *_CLIENT) and not _OF_DELTALAKE.search(name.lower()):
                config[name] = value
        self._path = path
        self._token = uuid.uuid4().hex
        self._store = from_url(path.root, config=config, client_options=client, retry_config=retries)

    def read(self) -> LockFile | None:
        """Return the content of the lock file; None if it does not exist."""
        import obstore

        try:
            found = obstore.get(self._store, self._path.key)
        except FileNotFoundError:
            return None
        data = bytes(found.bytes())
        return LockFile(
            parse_holder(data) or Holder("an unknown host", 0, 0.0),
            found.meta["last_modified"].timestamp(),
            str(found.meta["e_tag"]),
            self._token.encode() in data,
        )

    def write(self, holder: Holder, tag: str | None) -> str | None:
        """Write the lock file if its ETag is still `tag`, that is, if no other process has written the file meanwhile.

        Args:
            holder: the process that the lock file will name.
            tag: ETag that the file must have; None to write the file only if it does not exist.

        Returns:
            The new ETag; None if the file was not written.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError, NotFoundError, PreconditionError

        for _ in range(_ATTEMPTS):
            # S3 computes the ETag from the content. Add a random number, so that every write changes the ETag.
            content = asdict(holder) | {"token": self._token, "number": uuid.uuid4().hex}
            mode: Any = "create" if tag is None else {"e_tag": tag}
            try:
                return str(obstore.put(self._store, self._path.key, json.dumps(content).encode(), mode=mode)["e_tag"])
            except (AlreadyExistsError, PreconditionError, NotFoundError, FileNotFoundError):
                # The conditional write also fails if an earlier attempt of this process succeeded, but the response was
                # lost. In this case, read the new ETag from the store, and try again.
                found = self.read()
                if found is None or not found.is_own:
                    return None
                tag = found.tag
        return None

    def test(self) -> float | None:
        """Test whether the store enforces conditional writes.

        Returns:
            The current time of the store's clock, in seconds since the epoch; None if the store does not enforce
            conditional writes.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError, GenericError, NotSupportedError, PreconditionError

        # Create a test file twice. If the store enforces conditional writes, the second attempt fails.
        key = f"{self._path.key}.test-{uuid.uuid4().hex}"
        try:
            obstore.put(self._store, key, b"", mode="create")
            try:
                obstore.put(self._store, key, b"", mode="create")
            except (AlreadyExistsError, PreconditionError):
                return float(obstore.head(self._store, key)["last_modified"].timestamp())
        except (NotImplementedError, NotSupportedError):
            return None
        except GenericError as error:
            if "501 Not Implemented" not in str(error):
                raise
            return None
        finally:
            with suppress(Exception):
                obstore.delete(self._store, key)
        return None


@contextmanager
def _obstore_errors() -> Iterator[None]:
    from obstore.exceptions import BaseError

    try:
        yield
    except (BaseError, FileNotFoundError) as error:
        raise OSError(lake_error_text(error)) from error


def _conditional_file(path: StorePath) -> ConditionalFile | None:
    """Return a `ConditionalFile` for the lock file; None for HDFS, which has no conditional writes."""
    if str(path).startswith(_WITHOUT_CONDITIONS):
        return None
    try:
        return ConditionalFile(path)
    except ImportError as error:
        raise LakeError(
            f"recording into {path.root} needs {error.name}, which is not installed. Run: pip install 'kgtui[history]'"
        ) from error


def _duration(text: str) -> timedelta:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?", text)
    if found is None:
        raise LakeError(f"the value {text} of a storage option is not a duration: write it as 20s or 2m")
    return timedelta(seconds=float(found[1]) * {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}[found[2] or "s"])
