"""Import `aiokafka.conn` without the slow modules that kgtui does not use.

These are the modules of the consumer and the producer, which the `__init__` of aiokafka imports, and the package
gssapi, which `aiokafka.conn` imports if it is installed. kgtui imports gssapi itself when a login needs it.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class _LazyPackage(ModuleType):
    """A package whose `__init__` runs when an attribute that does not exist yet is read for the first time.

    `importlib.util.LazyLoader` is not used, because it would run `__init__` as soon as a module of the package is
    imported.
    """

    def __getattr__(self, name: str) -> Any:
        spec = self.__spec__
        # Change the class first. Otherwise, `__getattr__` would run `__init__.py` again for each missing attribute that
        # `__init__.py` reads.
        self.__class__ = ModuleType  # type: ignore[assignment]
        if spec is not None and spec.loader is not None:
            self.__path__ = spec.submodule_search_locations or []
            spec.loader.exec_module(self)
        return getattr(self, name)


@contextmanager
def lazy_package(package: str) -> Iterator[None]:
    """Let code in the `with` block import modules of a package without running the `__init__` of the package.

    The next import from the package after the block runs `__init__` as usual. If the package is already loaded before
    the block, this function has no effect.
    """
    spec = find_spec(package) if package not in sys.modules else None
    if spec is None:
        yield
        return
    module = module_from_spec(spec)
    module.__class__ = _LazyPackage
    sys.modules.setdefault(package, module)
    try:
        yield
    finally:
        if type(module) is _LazyPackage:
            # From now on, an import from the package must run its `__init__`. Python reads `__path__` before each
            # import from a package. Because `__path__` is missing, Python calls `__getattr__` of `_LazyPackage`, which
            # runs `__init__`.
            del module.__path__


@contextmanager
def without_package(package: str) -> Iterator[None]:
    """Make imports of a package fail in the `with` block, as if it were not installed.

    If the package is already loaded, this function has no effect.
    """
    if package in sys.modules:
        yield
        return
    sys.modules[package] = None  # type: ignore[assignment]  # None makes Python raise ModuleNotFoundError
    try:
        yield
    finally:
        del sys.modules[package]
