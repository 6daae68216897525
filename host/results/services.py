"""What other parts do for a solution: figures, files, labelled arrays.

A solution is data at the bottom of the host package, and users call its methods ``plot``, ``save`` and ``to_xarray``.
The parts that draw and write it import it, so it cannot import them: imports run one way. It asks for a service by name
instead, and ``host/__init__.py``, which is imported before any part, says once which function that is::

    provide({"Result.plot": "beltline.host.plots.figures:plot"})        # in host/__init__.py
    service("Result.plot")(result, path, kind)                          # in Result.plot

A service is named after its method, ``"Result.plot"``, and is called with the solution and that method's arguments.
``"load.KIND"`` reads files of content of that kind: it is called with the open
:class:`~beltline.host.results.archive.Archive` (:func:`beltline.host.results.load.load`). The module of a service is
imported when it is first asked for, so that providing one costs nothing: no Matplotlib, no xarray.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

_PROVIDED: dict[str, str] = {}


def provide(functions: Mapping[str, str]) -> None:
    """Say which function does each service, as ``"module:function"``; a name that is provided again is replaced."""
    _PROVIDED.update(functions)


def services(prefix: str = "") -> tuple[str, ...]:
    """Return the names of the services that begin with ``prefix``, in the order in which they were provided."""
    return tuple(name for name in _PROVIDED if name.startswith(prefix))


def service(name: str) -> Callable[..., Any]:
    """Return the function that does ``name``; its module is imported.

    Raises
    ------
    LookupError
        Nothing provides it.
    """
    if name not in _PROVIDED:
        raise LookupError(f"no part of beltline.host provides {name!r}; provided are {', '.join(_PROVIDED)}")
    module, _, function = _PROVIDED[name].partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found
