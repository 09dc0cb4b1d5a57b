"""Build the Python source of a generated decoder or encoder line by line, and compile it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class SourceBuilder:
    """Builds the source of one function, and stores the constants that the function uses.

    It is safe to execute this source, because it depends only on kgtui's own tables and not on data from a broker.
    """

    def __init__(self, names: Mapping[str, object]) -> None:
        self._names = dict(names)
        self._lines: list[str] = []
        self._depth = 0
        self._count = 0

    def line(self, text: str) -> None:
        """Add a line at the current indentation."""
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self) -> Iterator[None]:
        """Indent the lines that are added inside the `with` block."""
        self._depth += 1
        yield
        self._depth -= 1

    def name(self, prefix: str) -> str:
        """Return a new variable name that begins with `prefix`."""
        self._count += 1
        return f"{prefix}{self._count}"

    def constant(self, prefix: str, value: object) -> str:
        """Store `value` in a global variable that the generated function can use. Return the name of the variable."""
        name = self.name(prefix + "_")
        self._names[name] = value
        return name

    def compile(self, function: str, filename: str) -> object:
        """Compile the source, and return the function that the source defines under the name `function`."""
        code = compile("\n".join(self._lines), filename, "exec")
        namespace = dict(self._names)
        exec(code, namespace)  # noqa: S102 - the source is built from kgtui's own tables only
        return namespace[function]
