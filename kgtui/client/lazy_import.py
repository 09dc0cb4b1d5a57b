"""Packages whose own code runs only when somebody asks for something of it; a module of theirs is imported before.

aiokafka's `__init__` imports its consumer and producer, which take longer to load than all that we use of it.
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
    """A package that runs its code when an attribute is asked for that it does not have yet.

    `importlib.util.LazyLoader` does so already for `__path__`, so that importing a module of the package loads it all.
    """

    def __getattr__(self, name: str) -> Any:
        spec = self.__spec__
        # First, so that what the package's own code finds missing is missing.
        self.__class__ = ModuleType  # type: ignore[assignment]
        if spec is not None and spec.loader is not None:
            self.__path__ = spec.submodule_search_locations or []
            spec.loader.exec_module(self)
        return getattr(self, name)


@contextmanager
def lazy_package(package: str) -> Iterator[None]:
    """Modules of this package that are imported inside do not run the package's own code.

    Whoever imports the package afterwards, a name from it or another of its modules, has it run first, as ever; a
    package that is loaded already stays as it is.
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
            # Looked at by every import of a module of the package: the next one finds it missing.
            del module.__path__
