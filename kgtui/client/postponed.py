"""Packages whose own code runs only when somebody asks for something of it; their modules can be imported before.

aiokafka's `__init__` imports its consumer and producer, which take longer to load than all that we use of it.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any


class _Postponed(ModuleType):
    """A package that runs its code when an attribute is asked for that it does not have yet.

    `importlib.util.LazyLoader` does so already for `__path__`, so that importing a module of the package loads it all.
    """

    def __getattr__(self, name: str) -> Any:
        spec = self.__spec__
        # First, so that what the package's own code finds missing is missing.
        self.__class__ = ModuleType  # type: ignore[assignment]
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module(self)
        return getattr(self, name)


def postpone(package: str) -> None:
    """See to it that importing a module of this package does not run the package's own code.

    Whoever imports the package, or a name from it, gets it as ever; one that is loaded already stays as it is.
    """
    if package in sys.modules:
        return
    spec = find_spec(package)
    if spec is None:
        return
    module = module_from_spec(spec)
    module.__class__ = _Postponed
    sys.modules.setdefault(package, module)
