"""`Secret`, which keeps passwords and keys out of logs, tracebacks and messages."""

from __future__ import annotations

MASK = "****"


class Revealed(str):
    """The text of a secret, for code that needs it, such as the login.

    Its `repr` is masked, because tracebacks can show the `repr` of values.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"'{MASK}'"


class Secret:
    """A password or key. It is masked in `repr`, `str` and format strings."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = Revealed(text)

    def reveal(self) -> Revealed:
        """Return the unmasked text."""
        return self._text

    def __repr__(self) -> str:
        return f"Secret('{MASK}')"

    def __str__(self) -> str:
        return MASK

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and str.__eq__(self._text, other._text)

    def __hash__(self) -> int:
        return hash(self._text)


NO_SECRET = Secret("")
