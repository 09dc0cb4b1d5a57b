"""Import `aiokafka.conn` without the slow modules that kgtui does not use.

The slow modules are aiokafka's consumer and producer, and gssapi. If a login needs gssapi, kgtui imports it itself.
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
    """A package whose `__init__.py` runs only when code reads an attribute that the package does not have yet.

    `importlib.util.LazyLoader` does not help: with it, importing a module of the package already runs `__init__.py`.
    """

    def __getattr__(self, name: str) -> Any:
        spec = self.__spec__
        # First make this object a normal module. Otherwise, Python would call this method again if `__init__.py` reads
        # a missing attribute.
        self.__class__ = ModuleType  # type: ignore[assignment]
        if spec is not None and spec.loader is not None:
            self.__path__ = spec.submodule_search_locations or []
            spec.loader.exec_module(self)
        return getattr(self, name)


@contextmanager
def lazy_package(package: str) -> Iterator[None]:
    """Import modules of a package in the `with` block without running the `__init__` of the package.

    Later imports run `__init__` as usual. If the package is already loaded, this function has no effect.
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
            # Later imports must run `__init__.py`. They read `__path__`. Because it is missing, Python then calls
            # `_LazyPackage.__getattr__`, which runs `__init__.py`.
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
