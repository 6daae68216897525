"""Register of the functions that draw, save and label results.

Users call ``plot``, ``save`` and ``to_xarray`` of a result. The modules that do this work import the classes of
results, and imports run one way, so these classes cannot import them. A method therefore looks its function up by name.
``host/__init__.py``, which is imported before all other modules of the package, registers the functions::

    provide({"Result.plot": "beltline.host.plots.result_plot:plot"})        # in host/__init__.py
    service("Result.plot")(result, path, kind)                          # in Result.plot

The name of a service is that of the method, such as ``"Result.plot"``; the function takes the result and the arguments
of the method. A service ``"load.KIND"`` reads files whose content is of that kind; it takes an open
:class:`~beltline.host.results.archive.Archive` (:func:`beltline.host.results.load.load`). The module of a service is
imported at its first use, so that Matplotlib and xarray are imported only if they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from beltline.sim.ctrl_c import import_whole

_PROVIDED: dict[str, str] = {}


def provide(functions: Mapping[str, str]) -> None:
    """Register functions, ``"module:function"`` by name of service; a name that is there already is replaced."""
    _PROVIDED.update(functions)


def services(prefix: str = "") -> tuple[str, ...]:
    """Return the names of the services that begin with ``prefix``, in the order of their registration."""
    return tuple(name for name in _PROVIDED if name.startswith(prefix))


def service(name: str) -> Callable[..., Any]:
    """Import and return the function that is registered as ``name``.

    Raises
    ------
    LookupError
        No function is registered under this name.
    """
    if name not in _PROVIDED:
        raise LookupError(f"no part of beltline.host provides {name!r}; provided are {', '.join(_PROVIDED)}")
    module, _, function = _PROVIDED[name].partition(":")
    found: Callable[..., Any] = getattr(import_whole(module), function)
    return found
