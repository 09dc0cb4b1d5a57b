"""Import a module of a package without the slow parts of the package that kgtui does not use.

The `__init__` of aiokafka imports its consumer and producer, which take longer to load than the parts that kgtui uses.
`aiokafka.conn` imports gssapi if it is installed. kgtui imports gssapi itself if the login needs it.
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
    """A package whose `__init__` runs when somebody first reads an attribute that the package does not have yet.

    `importlib.util.LazyLoader` cannot be used, because it runs the `__init__` as soon as a module of the package is
    imported.
    """

    def __getattr__(self, name: str) -> Any:
        spec = self.__spec__
        # Make this object a plain module before the package's `__init__.py` runs. If that file read a missing
        # attribute of the package, this method would otherwise call itself without end.
        self.__class__ = ModuleType  # type: ignore[assignment]
        if spec is not None and spec.loader is not None:
            self.__path__ = spec.submodule_search_locations or []
            spec.loader.exec_module(self)
        return getattr(self, name)


@contextmanager
def lazy_package(package: str) -> Iterator[None]:
    """Import modules of a package inside the block without running the `__init__` of the package.

    After the block, the `__init__` runs as usual when somebody imports the package or anything else from it. If the
    package is already loaded, this function has no effect.
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
            # Python reads `__path__` of a package before it imports one of its modules. Because the attribute is
            # deleted, this read calls `__getattr__` of `_LazyPackage`, which runs the package's `__init__`.
            del module.__path__


@contextmanager
def without_package(package: str) -> Iterator[None]:
    """Raise ModuleNotFoundError if the package is imported inside the block, as if it were not installed.

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
