"""Takes secrets out of any text that leaves the program: logs, crash reports, exports."""

from __future__ import annotations

import re

REMOVED = "[removed]"

# No repetition before the word that matters: an id of 32,000 characters must not cost its square.
_URL_USER = re.compile(r"(\b[a-zA-Z][a-zA-Z0-9+.-]{0,20}://)[^/\s@]+@")
_KEYED = re.compile(
    r"""((?:password|passwd|secret|token|credential|authorization|jaas\.config|api[._-]?key|private[._-]?key)"""
    r"""[\w.-]*["']?\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s,;&}]+)""",
    re.IGNORECASE,
)


def redact(text: str) -> str:
    """The text without user names in URLs and without what follows the name of a secret."""
    return _KEYED.sub(rf"\1{REMOVED}", _URL_USER.sub(rf"\1{REMOVED}@", text))
