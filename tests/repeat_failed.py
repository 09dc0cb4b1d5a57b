"""Repeat the failed tests of the last run, one after the other: `python -m tests.repeat_failed [PYTEST OPTIONS]`.

If all repeated tests pass, the machine was probably too busy in the last run. The program then prints a warning and
exits with code 0. If no test or more than `MOST_FAILURES` tests failed in the last run, the program repeats no test and
exits with code 1.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

MOST_FAILURES = 3
"""Maximum number of failed tests to repeat. If more tests failed, no test is repeated."""

_CACHE = Path(".pytest_cache/v/cache/lastfailed")


def _id_of(name: str) -> str:
    """Return a test's id without the suffix `@GROUP`, which xdist appends if `--dist loadgroup` is used."""
    return re.sub(r"@\w+$", "", name)


def main(options: list[str]) -> int:
    failed = [_id_of(name) for name in json.loads(_CACHE.read_text())] if _CACHE.exists() else []
    if not 0 < len(failed) <= MOST_FAILURES:
        return 1
    names = "\n".join(failed)
    sys.stdout.write(f"\n── these tests failed and run once more, alone:\n{names}\n")
    sys.stdout.flush()
    command = [sys.executable, "-m", "pytest", "-n", "0", *options, *failed]
    code = subprocess.run(command, check=False).returncode
    if code == 0:
        sys.stdout.write(f"\n── warning: these tests failed at first and passed when they ran alone:\n{names}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
