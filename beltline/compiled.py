"""Numba's decorators for this package, with a cache that notices changes of any file that a function depends on.

Numba caches compiled functions on disk and recompiles a function only if the time stamp of its own file has changed. A
function that calls one of another file would keep the old code of that file. The cache of this module compares the
contents of the function's file and of all files of the package that it imports, directly or indirectly.

On Linux, Numba's threads are those of GNU OpenMP. By default these poll while they wait, and so take the cores of a
busy computer from threads that work; this module makes them sleep. GNU OpenMP does not work in a forked process, which
Numba would end without a message; here a call of a function that uses threads raises an exception there.

Modules import what they need of Numba from here::

    from beltline.compiled import njit, prange
"""

from __future__ import annotations

import functools
import gc
import hashlib
import importlib
import importlib.util
import multiprocessing
import os
import pickle
import re
import sys
import types
import warnings
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import numba
import numpy as np
from numba import config, prange
from numba.core import caching, event
from numba.core.cpu_options import ParallelOptions
from numba.core.dispatcher import Dispatcher

from beltline.compile_clock import clock
from beltline.ownership import foreign

__all__ = ["njit", "njit_inlined", "njit_uncounted", "prange", "serial_and_parallel", "source_stamp", "vectorize"]

PACKAGE = Path(__file__).resolve().parent
FORKED = (
    "this process was forked from one that had solved already, and the threads that solve do not survive a fork: "
    "start processes with multiprocessing.get_context('spawn'), or set NUMBA_THREADING_LAYER=workqueue for all of them"
)
"""Message of the exception that a function that uses threads raises in a forked process."""

OPENMP = "numba.np.ufunc.omppool"
"""Module of Numba's OpenMP layer."""

ARRAYS, BLAS = "numba.np.arraymath", "scipy.linalg.cython_blas"
"""Numba's module of array functions, and the module of SciPy that it tries to import."""

WAITING = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "1000"}
"""Environment variables that set how waiting threads behave, with the values for threads of this package.

Threads of GNU's OpenMP look 1,000 times, for some 30 microseconds, whether there is work, then sleep; others sleep at
once. A thread that sleeps takes about 50 microseconds to wake, as long as a short sweep; one that does not sleep takes
time from other programs.
"""

TESTED = (0, 68)
"""Version of Numba of which :mod:`beltline.callees` replaces steps; another compiles by its own, which takes longer."""

UNREADABLE = (OSError, EOFError, pickle.UnpicklingError)
"""What a file of the cache that is damaged, or of another user, raises."""

IMPORTED = re.compile(r"\bbeltline((?:\.\w+)+)(?: import (\([^)]*\)|[^\n]*))?")
"""Matches a dotted name of the package, and the names imported from it."""


@functools.cache
def _folder(name: str) -> Path:
    """Return the folder of a subpackage, or the path of a module without its suffix; links are resolved."""
    return (PACKAGE / name).resolve()


@functools.cache
def _content(path: Path) -> tuple[bytes, frozenset[Path]]:
    """Return a hash of a module, and the modules that it imports.

    The hash includes the JSON file of the same name, if there is one: the tables that the module reads.
    """
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
    """Return a hash of all files whose code can become part of the compiled functions of a module.

    Parameters
    ----------
    path
        File of a module of this package, without links.

    Returns
    -------
    str
        SHA-256 of the module and of all modules of this package that it imports, directly or indirectly.

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
    """Mixin that makes a locator of Numba's cache stamp functions by content, and pass over folders of other users."""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        """Return a locator if its folder can be written, and only by this user."""
        found: Any = super().from_function(py_func, py_file)  # type: ignore[misc]
        return found if found and found.safe() else None

    def safe(self: Any) -> bool:
        """Return whether code of the folder can be run: only this user, root or the owner of the source wrote it."""
        return not foreign(self.get_cache_path(), os.stat(self._py_file).st_uid)

    def get_source_stamp(self) -> Any:
        """Return the hash to compare with that of the cached function."""
        return source_stamp(Path(self._py_file).resolve())  # type: ignore[attr-defined]


class ProvidedLocator(_Followed, caching.UserProvidedCacheLocator):
    """Cache in the directory that ``NUMBA_CACHE_DIR`` names."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        super().__init__(py_func, py_file)
        # The program may change its directory, perhaps into one of another user.
        self._cache_path: str = os.path.abspath(super().get_cache_path())

    def safe(self) -> bool:
        """Return whether code of the folder can be run; warn if it cannot."""
        directory = os.path.dirname(self.get_cache_path())
        if super().safe() and not foreign(directory, os.stat(self._py_file).st_uid, shared=True):
            return True
        _say_foreign(directory)
        return False


class InTreeLocator(_Followed, caching.InTreeCacheLocator):
    """Cache in the folder of the source."""


class UserLocator(_Followed, caching.UserWideCacheLocator):
    """Cache in the user's cache folder, used where the folder of the source is read-only."""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        """Return a locator, None for a user without a home directory, whose cache Numba would put into ``./~``."""
        known = os.path.isabs(cls(py_func, py_file).get_cache_path())
        return super().from_function(py_func, py_file) if known else None


class _Filled:
    """Mixin that makes a locator take a folder that can be read only, as that of an image of a container."""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        """Return a locator if the folder exists; never one of the current directory, which may be another user's."""
        made: Any = cls(py_func, py_file)  # type: ignore[call-arg]
        path = made.get_cache_path()
        return made if os.path.isabs(path) and os.path.isdir(path) and made.safe() else None


class FilledProvidedLocator(_Filled, ProvidedLocator):
    """Code compiled before in the directory that ``NUMBA_CACHE_DIR`` names."""


class FilledInTreeLocator(_Filled, InTreeLocator):
    """Code compiled before in the folder of the source."""


class _Place(caching.CompileResultCacheImpl):
    """Where compiled functions of this package are: the first folder that can be written, else that can be read."""

    _locator_classes: ClassVar[list[Any]] = [
        *(ProvidedLocator, InTreeLocator, UserLocator),
        *(FilledProvidedLocator, FilledInTreeLocator),
    ]


class _Cache(caching.FunctionCache):
    """A cache that costs time, and no more, where it can be neither written nor read."""

    _impl_class = _Place

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        # Numba unpickles the whole index and then compares the hash of the code, which fails if a class that the index
        # names was renamed. It compares its own version before that, so here that version includes the hash.
        self._cache_file._version = (self._cache_file._version, self._cache_file._source_stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return compiled code, None if nothing can be read."""
        try:
            return super().load_overload(sig, target_context)
        except UNREADABLE:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code, or say that it is not kept."""
        try:
            super().save_overload(sig, data)
        except UNREADABLE:
            self.disable()
            _say_uncached()


@functools.cache
def _say_foreign(directory: str) -> None:
    """Warn, once in a process that no other one started, that the directory of the user's choice is not used."""
    if multiprocessing.parent_process() is not None:
        return
    warnings.warn(
        f"compiled code in {directory!r} could be another user's, who owns it or can write there, and is not used: set "
        "NUMBA_CACHE_DIR to a directory that is yours alone (docs/containers.md)",
        RuntimeWarning,
        stacklevel=2,
    )


@functools.cache
def _say_uncached() -> None:
    """Warn, once in a process that no other one started, that it compiles what the next one will compile again."""
    if multiprocessing.parent_process() is not None:
        return
    warnings.warn(
        "compiled code is not kept, so the first solve of every process takes a minute more: the folders of the "
        "sources and of the user are read-only, full or of another user: set NUMBA_CACHE_DIR to one that can be "
        "written (docs/containers.md)",
        RuntimeWarning,
        stacklevel=2,
    )


def _cache_of(function: Any) -> Any:
    """Return a function's cache, one without effect where no folder can be written."""
    # A user's choice of locators is for other packages: theirs do not look at the files that a function depends on.
    chosen, config.CACHE_LOCATOR_CLASSES = config.CACHE_LOCATOR_CLASSES, ""
    try:
        return _Cache(function)
    except RuntimeError:
        _say_uncached()
        return caching.NullCache()
    finally:
        config.CACHE_LOCATOR_CLASSES = chosen


def _load_threads() -> None:
    """Import Numba's OpenMP layer now, so that its waiting threads soon sleep; other libraries are not affected.

    OpenMP reads its settings from the environment when it is loaded, so they are set for the import only. Settings of
    the user are left as they are.
    """
    if config.THREADING_LAYER in ("tbb", "workqueue") or any(name in os.environ for name in WAITING):
        return
    os.environ.update(WAITING)
    try:
        importlib.import_module(OPENMP)
    except ImportError:
        pass
    finally:
        for name in WAITING:
            del os.environ[name]


def _load_arrays() -> None:
    """Import Numba's array functions now, without SciPy's linear algebra.

    Numba imports that only to see whether it exists, which takes a third of the time to a first solve. It is needed for
    functions that this package does not call; a caller of one imports it then.
    """
    there = importlib.util.find_spec("scipy") is not None
    if not there or BLAS in sys.modules or ARRAYS in sys.modules:
        return
    # An import of a module that is None here fails at once.
    sys.modules[BLAS] = None  # type: ignore[assignment]
    try:
        arrays = importlib.import_module(ARRAYS)
    finally:
        del sys.modules[BLAS]
    if "_HAVE_BLAS" in vars(arrays):
        vars(arrays)["_HAVE_BLAS"] = True


class _Listener(event.Listener):
    """Measures the time of all compilations, and has the garbage collector off meanwhile.

    It would take a fifth of the time to look at objects that are all in use.
    """

    _collects = False

    def on_start(self, event: Any) -> None:
        """Note that a compilation begins."""
        clock.begin()
        if clock.depth == 1:
            self._collects = gc.isenabled()
            gc.disable()

    def on_end(self, event: Any) -> None:
        """Note that it has ended."""
        clock.end()
        if clock.depth == 0 and self._collects:
            gc.enable()


event.register("numba:compile", _Listener())

# Its own listener has to come later.
_callees: Any = importlib.import_module("beltline.callees") if numba.version_info.short == TESTED else None

LOOPS = ParallelOptions(False)
"""Option ``parallel`` of functions that use threads in ``prange`` only: another array operation would be compiled three
times.
"""
LOOPS.enabled = LOOPS.prange = True

_parallel: list[Any] = []
"""Compiled functions that use threads."""

_forked = False
"""Whether this process is a fork in which these functions do not work."""


def njit(*arguments: Any, **options: Any) -> Any:
    """Compile a function as ``numba.njit`` does, with this module's cache.

    A function with ``parallel=True`` raises ``RuntimeError`` in a forked process, where its threads do not exist.
    """
    if options.get("parallel"):
        options["parallel"] = LOOPS
        if _callees:
            _callees.compile_as_one(options)
    keep = options.pop("cache", False)
    decorate = numba.njit(*arguments, **options, no_cfunc_wrapper=True)
    if arguments and callable(arguments[0]):
        return decorate

    def decorated(function: Any) -> Any:
        dispatcher = decorate(function)
        if keep and isinstance(dispatcher, Dispatcher):
            vars(dispatcher)["_cache"] = _cache_of(function)
        if options.get("parallel"):
            _parallel.append(dispatcher)
            if _forked:
                _disable(dispatcher)
        elif _callees and isinstance(dispatcher, Dispatcher):
            _callees.compile_with_callers(dispatcher, options)
        return dispatcher

    return decorated


def njit_uncounted(function: Any) -> Any:
    """Compile and cache a function that neither creates nor returns an array, without counting references to arrays.

    Numba counts a reference whenever an array is taken out of a tuple or passed to an inlined function. In a loop that
    does little else these counts can take half of the time. The caller keeps the arrays alive here.
    """
    return njit(cache=True, _nrt=False)(function)


def njit_inlined(function: Any) -> Any:
    """Compile a short function as :func:`njit_uncounted` does, and copy its code into callers when these are optimised.

    With Numba's ``inline="always"`` the caller's types would be inferred for every copy, which takes most of the time.
    """
    return njit(cache=True, _nrt=False, forceinline=True)(function)


def vectorize(signatures: list[str], *, cache: bool = False) -> Any:
    """Return a decorator that makes a scalar function one of arrays, as ``numba.vectorize`` does, with this cache.

    Where compilation is switched off it uses ``numpy.vectorize``: Numba would compile even then, and fail because the
    functions that it calls are not compiled.
    """
    if config.DISABLE_JIT:
        return functools.partial(np.vectorize, otypes=[np.float64])

    def decorated(function: Any) -> Any:
        made = numba.vectorize(function)
        if cache:
            made._dispatcher.cache = _cache_of(function)
        for signature in signatures:
            made.add(signature)
        made.disable_compile()
        return made

    return decorated


def serial_and_parallel(function: Any) -> tuple[Any, Any]:
    """Compile a function that uses ``prange`` twice: for one thread, which wakes no others, and for all threads.

    Returns
    -------
    serial, parallel
        Compiled functions, as :func:`njit` returns them.
    """
    name = f"{function.__name__}_on_one_thread"
    one = types.FunctionType(function.__code__, function.__globals__, name, function.__defaults__)
    # The cache identifies a function by this name and its line.
    one.__qualname__, one.__module__ = name, function.__module__
    return njit(cache=True)(one), njit(parallel=True, cache=True)(function)


def _disable(dispatcher: Any) -> None:
    """Make a compiled function raise ``RuntimeError`` when it is called."""

    def refuse(*arguments: Any, **options: Any) -> NoReturn:
        raise RuntimeError(FORKED)

    # A dispatcher without compiled code calls this.
    dispatcher._reset_overloads()
    dispatcher._compile_for_args = refuse


def _after_fork() -> None:
    """Run in a forked process: disable functions that use threads if GNU OpenMP's were started before the fork."""
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


_load_threads()
_load_arrays()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
