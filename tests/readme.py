"""Generate the tables in the README. `python -m tests.readme` updates README.md."""

from __future__ import annotations

import re
from pathlib import Path

from kgtui.model.query import filter_help
from kgtui.tui.screen_actions import table as actions

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
SECTIONS = {"keys": actions.markdown, "filter": filter_help.markdown}
"""Maps the name of each generated section in the README to the function that returns the section's text."""


def table(mark: str) -> str:
    """Return the newly generated text of a README section. `mark` is the name of the section in `SECTIONS`."""
    return SECTIONS[mark]() + "\n"


def between(text: str, mark: str) -> str:
    """Return the text between the two lines that mark a section of the README. `mark` is the name of the section.

    For example, the section `keys` is between the lines `<!-- keys -->` and `<!-- /keys -->`.

    Raises:
        ValueError: there is no such pair of lines, or more than one.
    """
    found = re.findall(f"^<!-- {mark} -->\n(.*?)^<!-- /{mark} -->$", text, re.DOTALL | re.MULTILINE)
    if len(found) != 1:
        raise ValueError(
            f"the README should have <!-- {mark} --> and <!-- /{mark} --> exactly once, each on a separate line"
        )
    return str(found[0])


def with_tables(text: str) -> str:
    """Return `text`, the text of the README, with newly generated sections in place of the old ones."""
    for mark in SECTIONS:
        old = f"<!-- {mark} -->\n{between(text, mark)}<!-- /{mark} -->"
        text = text.replace(old, f"<!-- {mark} -->\n{table(mark)}<!-- /{mark} -->")
    return text


def fenced(text: str, language: str) -> list[str]:
    """Return the contents of all fenced code blocks of one language, such as `python`, in a Markdown text."""
    return re.findall(f"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text(encoding="utf-8")), encoding="utf-8")
