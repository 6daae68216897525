"""Checks of arguments. A check that fails raises :class:`ProblemError` with one sentence."""

from __future__ import annotations

import difflib
import numbers
import os
import unicodedata
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
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
    """Return ``repr(value)`` on one line, cut to 60 characters, for a message.

    Where it cannot be had (the value refuses, is nested too deeply or has too many digits) the text gives the type.
    """
    try:
        text = " ".join(repr(value.item() if isinstance(value, np.generic) else value).split())
    except Exception:
        text = f"a value of type {type(value).__name__} that cannot be shown"
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:61])
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
    number = _scalar(value)
    if isinstance(number, numbers.Real):
        try:
            number = float(number)
        except OverflowError:
            number = float("inf")
        except Exception:  # of the value's own __float__
            number = float("nan")
        if holds(number):
            return number
    raise ProblemError(f"{name} must be {wanted}, not {shown(value)}")


def _scalar(value: Any) -> Any:
    """Return a number as it is, that of an array without axes, and None for what only looks like one."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = None if np.ma.is_masked(value) else value[()]
    return None if isinstance(value, bool | np.bool_ | np.timedelta64) else value


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
    number = _scalar(value)
    try:
        found = int(number) if isinstance(number, numbers.Integral) else None
    except Exception:  # of the value's own __int__
        found = None
    if found is not None and holds(found):
        return found
    raise ProblemError(f"{name} must be {wanted}, not {shown(value)}")


def flag(name: str, value: object) -> bool:
    """Return ``value`` as a bool if it is True or False.

    Raises
    ------
    ProblemError
        It is anything else.
    """
    if not isinstance(value, bool | np.bool_):
        raise ProblemError(f"{name} must be True or False, not {shown(value)}")
    return bool(value)


def word(name: str, value: Any, known: Collection[str]) -> str:
    """Return ``value`` if it is one of the strings ``known``.

    Raises
    ------
    ProblemError
        It is not; the message has all of them.
    """
    if not isinstance(value, str) or value not in known:
        near = suggestion(value, known) if isinstance(value, str) else ""
        raise ProblemError(f"{name} must be one of {', '.join(map(repr, known))}, not {shown(value)}{near}")
    return value


def path_of(name: str, value: Any, wanted: str = "a file name") -> Path:
    """Return ``value`` as a ``Path`` if the system can have a file of this name; nothing is opened.

    Raises
    ------
    ProblemError
        It is no string or path, it is empty, or it has a NUL or a character that file names cannot have.
    """
    try:
        text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
        if isinstance(text, str) and text and b"\0" not in os.fsencode(text):
            return Path(text)
    except Exception:  # of the value's own __fspath__, or of a single surrogate
        pass
    raise ProblemError(f"{name} must be {wanted}, not {shown(value)}")


def place(name: str, index: tuple[int, ...] | tuple[np.intp, ...]) -> str:
    """Return how messages name an entry of a table: ``name[i, j]``."""
    return f"{name}[{', '.join(str(int(i)) for i in index)}]"


def missing_package(what: str, package: str, extra: str) -> str:
    """Return the message that ``what`` needs a Python package that an extra of ``pyproject.toml`` brings."""
    how = f"install it, in the folder of Beltline's source, with: {pip_install(extra)}"
    return f"{what} needs the Python package {package}, which is not installed; {how}"


def pip_install(extra: str) -> str:
    """Return the command that installs the packages of an extra of ``pyproject.toml``; of none, those always needed.

    >>> pip_install("serial"), pip_install("")
    ("pip install '.[serial]'", 'pip install .')
    """
    return f"pip install '.[{extra}]'" if extra else "pip install ."


def first(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the index of the first true entry in row-major order; the first entry if none is true."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))


def numbers_of(
    name: str,
    values: Any,
    wanted: str = "an array of real numbers",
    kinds: str = "iuf",
    shape: tuple[int, ...] | None = None,
) -> NDArray[Any]:
    """Return ``values`` as an array if NumPy reads them as numbers of these kinds of dtype, and reads all they say.

    The array must have ``shape``, if it is given.

    Refused are a masked array with a masked entry, because NumPy would use the number that the mask hides, and tables
    whose labels NumPy would ignore: an array with several named axes, and a frame whose rows and columns have the same
    names in different order.

    Raises
    ------
    ProblemError
        "``name`` must be ``wanted``, not ...".
    """
    try:
        if type(values) is not np.ndarray:
            _check_labels(name, values, wanted)
        given = np.asarray(values)
    except ProblemError:
        raise
    except Exception as error:  # an object's own __array__ may raise any
        ragged = isinstance(error, ValueError) and isinstance(values, list | tuple)
        raise ProblemError(f"{name} must be {wanted}, not {'a ragged sequence' if ragged else shown(values)}") from None
    if given.dtype.kind not in kinds:
        what = f"of type {type(values).__name__ if given.ndim == 0 else given.dtype}"
        what = shown(values) if given.ndim == 0 and (values is None or given.dtype != object) else what
        raise ProblemError(f"{name} must be {wanted}, not {what}")
    if shape is not None and given.shape != shape:
        raise ProblemError(f"{name} must have shape {shape}, not {given.shape}")
    return given


def _check_labels(name: str, values: Any, wanted: str) -> None:
    """Check that ``values`` has no mask or labels with a meaning for its numbers, which NumPy would ignore."""
    parts = values if isinstance(values, list | tuple) else (values,)
    for i, part in enumerate(parts):
        if isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part):
            where = first(np.ma.getmaskarray(part))
            where = where if part is values else (i, *where)
            raise ProblemError(f"{name} must be {wanted}, not one whose entry {place('', where)} is masked")
    dims = getattr(values, "dims", ())
    if isinstance(dims, tuple) and len(dims) > 1:
        raise ProblemError(
            f"{name} must be {wanted}, not one with axes named {shown(dims)}, whose order would be ignored: put them "
            "in the order of the documentation with transpose(), and pass to_numpy()"
        )
    axes = getattr(values, "axes", ())
    if isinstance(axes, list) and len(axes) == 2 and list(axes[0]) != list(axes[1]) and set(axes[0]) == set(axes[1]):
        raise ProblemError(
            f"{name} must be {wanted}, not one whose rows and columns have the same names in different order: put them "
            "in one order with reindex(), and pass to_numpy()"
        )


def dimensions(value: Any) -> int:
    """Return the number of axes of an array or a sequence; 0 for what cannot be an array."""
    try:
        return np.ndim(value)
    except Exception:  # as of np.asarray in numbers_of
        return 0


def table(
    name: str,
    values: ArrayLike,
    axes: int | tuple[int, ...] = (),
    *,
    shape: tuple[int, ...] | None = None,
    above: float = -np.inf,
) -> NDArray[np.float64]:
    """Return a read-only float64 copy of ``values`` if they are finite real numbers, all of them above ``above``.

    ``axes`` are the accepted numbers of axes, by default any, and ``shape`` is the only shape, if it is given.

    It is a view of a writable array to which nothing else refers: compiled code takes that one, because it would have
    to be compiled a second time for read-only arrays.

    Raises
    ------
    ProblemError
        They are not; the message names the first entry that is wrong.
    """
    axes = (axes,) if isinstance(axes, int) else axes
    words = " or ".join(("one", "two", "three")[count - 1] + "-dimensional" for count in axes)
    kind = f"a {words} array" if axes else "an array"
    given = numbers_of(name, values, f"{kind} of real numbers", shape=shape)
    if axes and given.ndim not in axes:
        raise ProblemError(f"{name} must be {kind}, not one of shape {given.shape}")
    copy = np.array(given, dtype=np.float64, order="C")
    bad = ~(np.isfinite(copy) & (copy > above))
    if bad.any():
        where, wanted = first(bad), "finite" if above == -np.inf else f"above {above:g}"
        raise ProblemError(f"{name} must be {wanted}, but {place(name, where)} is {copy[where]:.6g}")
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
