"""Numba for this package: the same decorators, with a cache that follows all the code that is compiled in.

Numba keeps compiled functions on disk and by itself compares the time stamp of the file that a function stands in, and
of no other: a function that calls one of another file would go on with the old code of that file. Here the content of
the function's file counts, and that of all files of the package that it imports, and theirs.

Numba's threads are those of GNU OpenMP on Linux, which by itself has waiting threads spin, so that on a busy computer
they take the cores from the threads that work. Here they sleep. Nor does GNU OpenMP survive a fork: Numba ends the
child at once. Here the child gets an exception.

Modules import what they need of Numba from here::

    from beltline.compiled import njit, prange
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import os
import re
import sys
import types
from pathlib import Path
from typing import Any, NoReturn

import numba
import numpy as np
from numba import config, prange
from numba.core import caching

__all__ = ["njit", "prange", "serial_and_parallel", "source_stamp", "vectorize"]

PACKAGE = Path(__file__).resolve().parent
FORKED = (
    "this process was forked from one that had solved already, and the threads that solve do not survive a fork: "
    "start processes with multiprocessing.get_context('spawn'), or set NUMBA_THREADING_LAYER=workqueue for all of them"
)
"""What a child is told that cannot go on."""

OPENMP = "numba.np.ufunc.omppool"
"""Module of Numba's OpenMP layer."""

ARRAYS, BLAS = "numba.np.arraymath", "scipy.linalg.cython_blas"
"""Numba's module of array functions, and what that looks for."""

WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
"""Variables of the environment by which users say themselves how threads wait."""

IMPORTED = re.compile(r"\bbeltline((?:\.\w+)+)(?: import (\([^)]*\)|[^\n]*))?")
"""A dotted name of the package, and what is imported from it."""


@functools.cache
def _folder(name: str) -> Path:
    """Return where a subpackage is, or a module without its suffix; a folder of the package may be a link."""
    return (PACKAGE / name).resolve()


@functools.cache
def _content(path: Path) -> tuple[bytes, frozenset[Path]]:
    """Return the hash of a module and of the table of its name, if there is one, and the modules that it names."""
    text = path.read_bytes()
    table = path.with_suffix(".json")
    found = set()
    for dotted, names in IMPORTED.findall(text.decode("utf-8")):
        parts = dotted.strip(".").split(".")
        wanted = [parts, *([*parts, name] for name in re.findall(r"\w+", names))]
        for parts_of_one in wanted:
            module = _folder(parts_of_one[0]).joinpath(*parts_of_one[1:]).with_suffix(".py")
            if module.exists():
                found.add(module)
    digest = hashlib.sha256(text + (table.read_bytes() if table.exists() else b"")).digest()
    return digest, frozenset(found - {path})


@functools.cache
def source_stamp(path: Path) -> str:
    """Return a hash of all the code that functions of a module can be compiled from.

    Parameters
    ----------
    path
        File of a module of this package, without links.

    Raises
    ------
    OSError
        A file cannot be read.
    """
    seen, waiting = {path}, [path]
    while waiting:
        for other in _content(waiting.pop())[1] - seen:
            seen.add(other)
            waiting.append(other)
    return hashlib.sha256(b"".join(sorted(_content(module)[0] for module in seen))).hexdigest()


class _Followed:
    """What makes a locator of Numba's one of this package's functions alone, by the content of their code."""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        if not (py_func.__module__ or "").startswith("beltline."):
            return None
        return super().from_function(py_func, py_file)  # type: ignore[misc]

    def get_source_stamp(self) -> Any:
        return source_stamp(Path(self._py_file).resolve())  # type: ignore[attr-defined]


class ProvidedLocator(_Followed, caching.UserProvidedCacheLocator):
    """In the directory that ``NUMBA_CACHE_DIR`` names."""


class InTreeLocator(_Followed, caching.InTreeCacheLocator):
    """Beside the source."""


class UserLocator(_Followed, caching.UserWideCacheLocator):
    """In the user's cache, where the source cannot be written to."""


def _install() -> None:
    """Have Numba ask these locators first. Functions of other packages go on to those that Numba has itself."""
    own = [f"{__name__}.{locator.__name__}" for locator in (ProvidedLocator, InTreeLocator, UserLocator)]
    others = config.CACHE_LOCATOR_CLASSES or ",".join(
        locator.__name__ for locator in caching.CacheImpl._locator_classes
    )
    config.CACHE_LOCATOR_CLASSES = ",".join([*own, others])


def _load_threads() -> None:
    """Load Numba's OpenMP layer now, told that threads that wait are to sleep; other libraries are told nothing."""
    if config.THREADING_LAYER in ("tbb", "workqueue") or any(name in os.environ for name in WAITING):
        return
    os.environ[WAITING[0]] = "passive"
    try:
        importlib.import_module(OPENMP)
    except ImportError:
        pass
    finally:
        del os.environ[WAITING[0]]


def _load_arrays() -> None:
    """Load Numba's arrays now, without SciPy's linear algebra.

    Numba imports that to see whether it is there, which is a third of the time to a first solve, and needs it for
    functions that this package does not call. Whoever calls one imports it then.
    """
    there = importlib.util.find_spec("scipy") is not None
    if not there or BLAS in sys.modules or ARRAYS in sys.modules:
        return
    # An import of what is None here fails at once.
    sys.modules[BLAS] = None  # type: ignore[assignment]
    try:
        arrays = importlib.import_module(ARRAYS)
    finally:
        del sys.modules[BLAS]
    if "_HAVE_BLAS" in vars(arrays):
        vars(arrays)["_HAVE_BLAS"] = True


_parallel: list[Any] = []
"""Compiled functions that use threads."""

_forked = False
"""Whether this process is a child that they do not work in."""


def njit(*arguments: Any, **options: Any) -> Any:
    """Compile a function as ``numba.njit`` does.

    With ``parallel=True``, it raises ``RuntimeError`` in a process that was forked from one whose threads it needs.
    """
    decorate = numba.njit(*arguments, **options)
    if arguments and callable(arguments[0]):
        return decorate

    def decorated(function: Any) -> Any:
        dispatcher = decorate(function)
        _compare_code_first(dispatcher)
        if options.get("parallel"):
            _parallel.append(dispatcher)
            if _forked:
                _disable(dispatcher)
        return dispatcher

    return decorated


def _compare_code_first(dispatcher: Any) -> None:
    """Have the cache of a function compare the code before it reads anything that the code must know.

    Numba reads the whole index and then compares, and fails where a class that the index names has another name now. It
    compares its own version first: that of this package's functions contains the code's.
    """
    cache: Any = getattr(dispatcher, "_cache", None)
    if isinstance(getattr(getattr(cache, "_impl", None), "locator", None), _Followed):
        file = cache._cache_file
        file._version = (file._version, file._source_stamp)


def vectorize(signatures: list[str], **options: Any) -> Any:
    """Compile a function of numbers for arrays as ``numba.vectorize`` does, or not where compilation is turned off.

    Numba compiles it even then, and cannot, as the functions that it calls are not compiled.
    """
    if config.DISABLE_JIT:
        return functools.partial(np.vectorize, otypes=[np.float64])
    return numba.vectorize(signatures, **options)


def serial_and_parallel(function: Any) -> tuple[Any, Any]:
    """Compile a function that uses ``prange`` twice: for one thread, of which none is woken, and for all.

    Returns
    -------
    serial, parallel
        As of :func:`njit`.
    """
    name = f"{function.__name__}_on_one_thread"
    one = types.FunctionType(function.__code__, function.__globals__, name, function.__defaults__)
    # The cache tells functions apart by this name and their line.
    one.__qualname__, one.__module__ = name, function.__module__
    return njit(cache=True)(one), njit(parallel=True, cache=True)(function)


def _disable(dispatcher: Any) -> None:
    def refuse(*arguments: Any, **options: Any) -> NoReturn:
        raise RuntimeError(FORKED)

    # Without compiled code a dispatcher calls this.
    dispatcher._reset_overloads()
    dispatcher._compile_for_args = refuse


def _after_fork() -> None:
    """In a child: have functions that use threads raise, where the threads were started and do not survive."""
    global _forked
    try:
        layer = numba.threading_layer()
    except ValueError:
        return
    if layer == "omp":
        _forked = importlib.import_module(OPENMP).openmp_vendor == "GNU"
    if _forked:
        for dispatcher in _parallel:
            _disable(dispatcher)


_install()
_load_threads()
_load_arrays()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
