"""Import `aiokafka.conn` without the slow modules that aiokafka usually imports with it.

These modules are aiokafka's consumer and producer, which kgtui does not use, and the package gssapi. kgtui itself
imports gssapi if a Kerberos login needs it.
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
    """A package whose `__init__.py` does not run at import, but when code first reads an attribute that is not set yet.

    `importlib.util.LazyLoader` cannot be used, because it runs `__init__.py` if a submodule of the package is imported.
    """

    def __getattr__(self, name: str) -> Any:
        spec = self.__spec__
        # Turn this object into a normal module before `__init__.py` runs. Otherwise, Python would call `__getattr__`
        # again for each missing attribute that `__init__.py` reads.
        self.__class__ = ModuleType  # type: ignore[assignment]
        if spec is not None and spec.loader is not None:
            self.__path__ = spec.submodule_search_locations or []
            spec.loader.exec_module(self)
        return getattr(self, name)


@contextmanager
def lazy_package(package: str) -> Iterator[None]:
    """Import submodules of a package in the `with` block without running the package's `__init__.py`.

    After the block, `__init__.py` runs as soon as code imports a further submodule or reads a missing attribute of the
    package. If the package is already loaded, this function has no effect.
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
            # Delete `__path__`, so that later imports run `__init__.py`. Python reads `__path__` when it imports a
            # submodule. If `__path__` is missing, Python calls `_LazyPackage.__getattr__`, which runs `__init__.py`.
            del module.__path__


@contextmanager
def without_package(package: str) -> Iterator[None]:
    """Make imports of a package fail in the `with` block, as if the package were not installed.

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
