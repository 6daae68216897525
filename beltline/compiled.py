"""Numba for this package: the same decorators, with a cache that follows all the code that is compiled in.

Numba keeps compiled functions on disk and by itself compares the time stamp of the file that a function stands in, and
of no other: a function that calls one of another file would go on with the old code of that file. Here the content of
the function's file counts, and that of all files of the package that it imports, and theirs.

Modules import what they need of Numba from here::

    from beltline.compiled import njit, prange
"""

from __future__ import annotations

import functools
import hashlib
import re
from pathlib import Path
from typing import Any

from numba import config, njit, prange, vectorize
from numba.core import caching

__all__ = ["njit", "prange", "source_stamp", "vectorize"]

PACKAGE = Path(__file__).resolve().parent
IMPORTED = re.compile(r"\bbeltline((?:\.\w+)+)(?: import (\([^)]*\)|[^\n]*))?")
"""A dotted name of the package, and what is imported from it."""


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
            # A folder of the package may be a link.
            module = (PACKAGE / parts_of_one[0]).resolve().joinpath(*parts_of_one[1:]).with_suffix(".py")
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


_install()
