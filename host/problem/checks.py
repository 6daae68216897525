"""Checks of what a user passes in, each failing with one sentence."""

from __future__ import annotations

import difflib
import numbers
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


class ProblemError(ValueError):
    """Input that cannot be solved. The message is one sentence: the value, what was expected, and where."""


def shown(value: Any) -> str:
    """Return ``value`` as a user would type it, cut to a length that fits a sentence."""
    text = repr(value.item() if isinstance(value, np.generic) else value)
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."


def is_plain(text: str) -> bool:
    """Whether ``text`` has no control characters: none that move a terminal's cursor, end a line, or turn the direction
    of writing, and no halves of surrogate pairs, which no file can hold.
    """
    turns = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    return not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in turns for c in text)


def plain_text(name: str, value: Any) -> str:
    """Return ``value`` if it is a string without control characters.

    Raises
    ------
    ProblemError
        It is not.
    """
    if not isinstance(value, str):
        raise ProblemError(f"{name} must be a string, not {shown(value)}")
    if not is_plain(value):
        raise ProblemError(f"{name} must have no control characters, not {shown(value)}")
    return value


def meant(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean ...?"`` with the name among ``known`` that is nearest to ``name``, else nothing."""
    known = list(known)
    if name in known:
        return ""
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def real(name: str, value: Any, wanted: str, holds: Callable[[float], bool]) -> float:
    """Return ``value`` as a float if it is a real number (no bool, no string) for which ``holds``.

    Raises
    ------
    ProblemError
        It is not: "``name`` must be ``wanted``, not ``value``".
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_):
        try:
            number = float(value)
        except OverflowError:
            number = float("inf")
        if holds(number):
            return number
    raise ProblemError(f"{name} must be {wanted}, not {shown(value)}")


def whole(name: str, value: Any, wanted: str, holds: Callable[[int], bool]) -> int:
    """Return ``value`` as an int if it is a whole number (no bool, no float) for which ``holds``.

    Raises
    ------
    ProblemError
        It is not: "``name`` must be ``wanted``, not ``value``".
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_) and holds(int(value)):
        return int(value)
    raise ProblemError(f"{name} must be {wanted}, not {shown(value)}")


def place(name: str, index: tuple[int, ...] | tuple[np.intp, ...]) -> str:
    """Return ``name[i, j]``."""
    return f"{name}[{', '.join(str(int(i)) for i in index)}]"


def first(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the index of the first true entry, in table order."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))


def numbers_of(name: str, values: Any, wanted: str, *, scalars: bool = False) -> NDArray[Any]:
    """Return ``values`` as an array if they are real numbers and none is masked; ``scalars`` lets anything through that
    is not a sequence.

    Raises
    ------
    ProblemError
        They are not: "``name`` must be ``wanted``, not ...".
    """
    if np.ma.is_masked(values):
        where = first(np.ma.getmaskarray(values))
        raise ProblemError(f"{name} must be {wanted}, not one whose entry {place('', where)} is masked")
    try:
        given = np.asarray(values)
    except ValueError:
        raise ProblemError(f"{name} must be {wanted}, not a ragged sequence") from None
    if given.dtype.kind not in "iuf" and (given.ndim or not scalars):
        raise ProblemError(f"{name} must be {wanted}, not of type {given.dtype}")
    return given


def table(name: str, values: ArrayLike, dimensions: int) -> NDArray[np.float64]:
    """Return a read-only float64 copy of ``values`` if they are finite real numbers in ``dimensions`` dimensions.

    Raises
    ------
    ProblemError
        They are not; the first offender is named.
    """
    kind = "one-dimensional" if dimensions == 1 else "two-dimensional"
    given = numbers_of(name, values, f"a {kind} array of real numbers")
    if given.ndim != dimensions:
        raise ProblemError(f"{name} must be a {kind} array, not one of shape {given.shape}")
    copy = np.array(given, dtype=np.float64, order="C")
    bad = ~np.isfinite(copy)
    if bad.any():
        where = first(bad)
        raise ProblemError(f"{name} must be finite, but {place(name, where)} is {float(copy[where])}")
    copy.flags.writeable = False
    return copy


def check_progress(progress: object) -> None:
    """Check that ``progress`` is a function, None or False.

    Raises
    ------
    ProblemError
        It is not.
    """
    if not (progress is None or progress is False or callable(progress)):
        raise ProblemError(f"progress must be a function of one string, None or False, not {shown(progress)}")
