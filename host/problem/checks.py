"""Checks of arguments. A check that fails raises :class:`ProblemError` with one sentence."""

from __future__ import annotations

import difflib
import numbers
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


class ProblemError(ValueError):
    """An argument is wrong, so that nothing was computed; a ``ValueError``.

    The message is one sentence. It names the argument, the accepted values and the value that was given, and in a table
    the first entry that is wrong.

    Examples
    --------
    >>> import beltline as bl
    >>> bl.grid_uniform(0.0, 1.0, points=1)
    Traceback (most recent call last):
        ...
    beltline.host.problem.checks.ProblemError: points must be a whole number from 2 to 1048576, not 1
    """


def shown(value: Any) -> str:
    """Return ``repr(value)`` on one line, cut to 60 characters, for a message."""
    text = repr(value.item() if isinstance(value, np.generic) else value)
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."


def is_plain(text: str) -> bool:
    """Return whether ``text`` has no control characters and can be written to a file.

    Refused are characters that move the cursor of a terminal, end a line or change the direction of writing, and
    single surrogates, which UTF-8 cannot encode.
    """
    direction = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    return not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in direction for c in text)


def plain_text(name: str, value: Any) -> str:
    """Return ``value`` if it is a string without control characters (:func:`is_plain`).

    Raises
    ------
    ProblemError
        It is not a string, or has a control character.
    """
    if not isinstance(value, str):
        raise ProblemError(f"{name} must be a string, not {shown(value)}")
    if not is_plain(value):
        raise ProblemError(f"{name} must have no control characters, not {shown(value)}")
    return value


FORMER_NAMES = {"money_bits": "amount_bits"}
"""Names of arguments in earlier versions, which are refused or, in files, still read, and the current names."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean ...?"`` for a mistyped ``name``, as the end of a message.

    The name suggested is the closest of ``known``. The text is empty if none is close, or if ``name`` itself is known.
    For a name of an earlier version the text gives the current name.

    >>> suggestion("max_sweep", ["max_sweeps", "tol"])
    "; did you mean 'max_sweeps'?"
    >>> suggestion("money_bits", [])
    "; it is now called 'amount_bits'"
    """
    known = list(known)
    if name in known:
        return ""
    if name in FORMER_NAMES:
        return f"; it is now called {FORMER_NAMES[name]!r}"
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def check_former_names(options: Iterable[str]) -> None:
    """Check that no option has a name of an earlier version.

    Raises
    ------
    ProblemError
        One has; the message gives the current name.
    """
    for name in options:
        if name in FORMER_NAMES:
            raise ProblemError(f"option {name!r} is now called {FORMER_NAMES[name]!r}")


def real(name: str, value: Any, wanted: str, holds: Callable[[float], bool]) -> float:
    """Return ``value`` as a float if it is a real number and satisfies a condition.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value
        Accepted are Python and NumPy real numbers and arrays without axes; neither booleans nor strings.
    wanted : str
        The condition in words.
    holds : function of float
        The condition; an integer too large for a float is passed to it as infinity.

    Raises
    ------
    ProblemError
        "``name`` must be ``wanted``, not ``value``".
    """
    if type(value) is float and holds(value):
        # Abstract classes take longer to test than the rest of a small solve's checks.
        return value
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
    """Return ``value`` as an int if it is a whole number and satisfies a condition.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value
        Accepted are Python and NumPy integers and integer arrays without axes; neither booleans nor floats.
    wanted : str
        The condition in words.
    holds : function of int
        The condition.

    Raises
    ------
    ProblemError
        "``name`` must be ``wanted``, not ``value``".
    """
    if type(value) is int and holds(value):
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_) and holds(int(value)):
        return int(value)
    raise ProblemError(f"{name} must be {wanted}, not {shown(value)}")


def place(name: str, index: tuple[int, ...] | tuple[np.intp, ...]) -> str:
    """Return how messages name an entry of a table: ``name[i, j]``."""
    return f"{name}[{', '.join(str(int(i)) for i in index)}]"


def first(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the index of the first true entry in row-major order; the first entry if none is true."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))


def check_unmasked(name: str, values: Any, wanted: str) -> None:
    """Check that no entry of a masked array is masked: NumPy would use the number that the mask hides.

    Raises
    ------
    ProblemError
        One is; "``name`` must be ``wanted``, not one whose entry ... is masked".
    """
    if np.ma.is_masked(values):
        where = first(np.ma.getmaskarray(values))
        raise ProblemError(f"{name} must be {wanted}, not one whose entry {place('', where)} is masked")


def numbers_of(name: str, values: Any, wanted: str, *, scalars: bool = False) -> NDArray[Any]:
    """Return ``values`` as an array if they are real numbers, none of them masked.

    With ``scalars``, a value that is not a sequence is returned as an array without axes, whatever its type.

    Raises
    ------
    ProblemError
        "``name`` must be ``wanted``, not ...".
    """
    check_unmasked(name, values, wanted)
    try:
        given = np.asarray(values)
    except ValueError:
        raise ProblemError(f"{name} must be {wanted}, not a ragged sequence") from None
    if given.dtype.kind not in "iuf" and (given.ndim or not scalars):
        raise ProblemError(f"{name} must be {wanted}, not of type {given.dtype}")
    return given


def table(name: str, values: ArrayLike, dimensions: int) -> NDArray[np.float64]:
    """Return a read-only float64 copy of ``values`` if they are finite real numbers with ``dimensions`` axes.

    It is a view of a writable array to which nothing else refers: compiled code takes that one, because it would have
    to be compiled a second time for read-only arrays.

    Raises
    ------
    ProblemError
        They are not; the message names the first entry that is wrong.
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
    view = copy.view()
    view.flags.writeable = False
    return view


def check_progress(progress: object) -> None:
    """Check that ``progress`` is a function, None or False, as the parameter ``progress`` of every solver must be.

    Raises
    ------
    ProblemError
        It is anything else.
    """
    if not (progress is None or progress is False or callable(progress)):
        raise ProblemError(f"progress must be a function of one string, None or False, not {shown(progress)}")
