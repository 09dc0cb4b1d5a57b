"""Explain to the user why a lake cannot be read or written, for example because a store refuses access.

Errors are recognized by their texts, not by their classes. The classes are defined in deltalake and obstore, which are
not always installed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kgtui.model.text import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

_COLORS = re.compile(r"\x1b\[[0-9;]*m|↳")
_MESSAGE = re.compile(r"<Message>([^<]*)</Message>")
_DEBUG = "\n\nDebug source:"
_FROM_STORE = re.compile(r"Generic \w+ error|https?://")
"""Matches error texts about object stores such as S3, but not error texts about local disks."""
_MOST_CHARACTERS = 300

_NO_CREDENTIALS = (
    "no credentials for the store were found. For S3, set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; for Azure, "
    "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY; for Google Cloud, GOOGLE_APPLICATION_CREDENTIALS; or "
    "set them in [storage] of config.toml"
)
_REFUSED_CREDENTIALS = (
    "the store does not accept the credentials: check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and "
    "AWS_REGION, or the corresponding variables of Azure or Google Cloud"
)
_NO_BUCKET = (
    "the store has no bucket or container with this name: check the URI, and for S3 also AWS_ENDPOINT_URL and "
    "AWS_REGION"
)
_NO_PERMISSION = (
    "the store refuses access: the user needs permission to list, read, write and delete the files of the lake "
    "(s3:ListBucket, s3:GetObject, s3:PutObject and s3:DeleteObject)"
)
_NO_ANSWER = (
    "the store does not answer: check that it can be reached from here, and for S3 also AWS_ENDPOINT_URL and AWS_REGION"
)
_NO_CONDITIONAL_WRITES = (
    "the store does not support conditional writes, which Delta tables need. For S3, set "
    "AWS_S3_LOCKING_PROVIDER=dynamodb. If only one process writes to the lake, set AWS_CONDITIONAL_PUT=disabled and "
    "AWS_S3_ALLOW_UNSAFE_RENAME=true instead"
)
_HTTP = "kgtui refuses http:// addresses, because the connection is not encrypted; to allow it, set AWS_ALLOW_HTTP=true"

_EXPLANATIONS: Sequence[tuple[str, str]] = (
    (r"/latest/api/token|169\.254\.169\.254|metadata\.google\.internal|(?i:credential provider)", _NO_CREDENTIALS),
    (r"NoSuchBucket|ContainerNotFound|FilesystemNotFound|The specified bucket does not exist", _NO_BUCKET),
    (r"InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|AuthenticationFailed", _REFUSED_CREDENTIALS),
    (r"AccessDenied|403 Forbidden|AuthorizationPermissionMismatch|PermissionDenied", _NO_PERMISSION),
    (r"501 Not Implemented", _NO_CONDITIONAL_WRITES),
    (r"URL scheme is not allowed|builder error", _HTTP),
    (r"Connection refused|Connection reset|timed out|dns error|error sending request|HDFS| 50[0234] ", _NO_ANSWER),
)
"""Pairs (regular expression for an error text, explanation). The first match is used."""


def lake_error_text(error: BaseException) -> str:
    """Return a text that says why a lake cannot be read or written.

    For known errors of stores, the text also says what the user can do.
    """
    text = " ".join(_COLORS.sub("", str(error).partition(_DEBUG)[0]).split())
    if _FROM_STORE.search(text):
        for pattern, explanation in _EXPLANATIONS:
            if re.search(pattern, text):
                return explanation
        if found := _MESSAGE.search(text):
            text = found[1]
        text = text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"
    elif isinstance(error, OSError) and error.strerror:
        # Do not use `str(error)`, because this text begins with the error number, such as `[Errno 40]`.
        text = ": ".join(str(part) for part in (error.filename, error.strerror) if part is not None)
    return visible(text or type(error).__name__)
