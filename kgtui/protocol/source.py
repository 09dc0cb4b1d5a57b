"""Collects the lines of a generated function and compiles them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Source:
    """Lines of Python with the names they use; nothing of it comes from the network."""

    def __init__(self, names: Mapping[str, object]) -> None:
        self._names = dict(names)
        self._lines: list[str] = []
        self._depth = 0
        self._count = 0

    def line(self, text: str) -> None:
        """Add a line at the current depth."""
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self) -> Iterator[None]:
        """Indent what is added inside."""
        self._depth += 1
        yield
        self._depth -= 1

    def name(self, prefix: str) -> str:
        """A variable name not used yet."""
        self._count += 1
        return f"{prefix}{self._count}"

    def constant(self, prefix: str, value: object) -> str:
        """Make `value` known to the source; return its name."""
        name = self.name(prefix + "_")
        self._names[name] = value
        return name

    def compile(self, function: str, filename: str) -> object:
        """Compile the lines and return the function of that name."""
        code = compile("\n".join(self._lines), filename, "exec")
        namespace = dict(self._names)
        exec(code, namespace)  # noqa: S102 - the source is made of our own tables only
        return namespace[function]
