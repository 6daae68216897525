"""Values that are wrong for some or all arguments of the public functions, and changes to tables."""

from __future__ import annotations

import copy
import datetime
import decimal
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np


class Silent:
    """An object that can be neither shown, compared, counted, nor made into a number or an array."""

    def _refuse(self, *_: Any) -> Any:
        raise RuntimeError("this object answers nothing")

    __repr__ = __eq__ = __len__ = __bool__ = __iter__ = __float__ = __array__ = __fspath__ = _refuse
    __hash__ = None  # type: ignore[assignment]


class NotANumber(int):
    """An int that refuses to be made into a number."""

    def _refuse(self) -> Any:
        raise RuntimeError("this number has no value")

    __int__ = __float__ = __index__ = _refuse


def _nested(depth: int) -> Any:
    value: Any = 1.0
    for _ in range(depth):
        value = [value]
    return value


def _endless() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


def _framed(values: Any) -> Any:
    try:
        import pandas
    except ImportError:
        return values
    return {1: pandas.Series, 2: pandas.DataFrame}.get(np.ndim(values), np.asarray)(values)


def _missing() -> Any:
    try:
        import pandas
    except ImportError:
        return float("nan")
    return pandas.NA


BAD: dict[str, Any] = {
    "None": None,
    "text": "no such word",
    "empty text": "",
    "bytes": b"rbc.npz",
    "NUL": "a\0b.npz",
    "surrogate": "a\ud800.npz",
    "path with NUL": Path("a\0b.npz"),
    "NaN": math.nan,
    "infinity": math.inf,
    "minus infinity": -math.inf,
    "complex": 1 + 2j,
    "NumPy complex": np.complex128(1 + 0j),
    "complex array": np.array([1.0 + 2.0j, 2.0]),
    "object array": np.array([1.0, None, "a"], object),
    "object 0-d": np.array(None, object),
    "text array": np.array(["0.5", "0.5"]),
    "bool array": np.array([True, False]),
    "masked": np.ma.masked_equal([0.5, 900.0], 900.0),
    "masked constant": np.ma.masked,
    "masked number": np.ma.masked_array(0.5, mask=True),
    "datetime": np.datetime64("2001-01-01"),
    "timedelta": np.timedelta64(1),
    "Python date": datetime.date(2001, 1, 1),
    "datetime array": np.array(["2001-01-01", "2001-01-02"], "datetime64[D]"),
    "timedelta array": np.array([1, 2], "timedelta64[D]"),
    "pandas missing": _missing(),
    "series": _framed([0.5, 0.25]),
    "frame": _framed([[0.5, 0.5], [0.5, 0.5]]),
    "float 0-d": np.array(0.5),
    "int 0-d": np.array(3),
    "one entry": np.array([0.5]),
    "empty list": [],
    "empty array": np.empty((0, 2)),
    "ragged": [[1.0], [1.0, 2.0]],
    "nested": _nested(2000),
    "endless": _endless(),
    "NaN in a list": [math.nan, 1.0],
    "huge": 10**400,
    "huge float": 1e308,
    "huge list": [1e308, 1e308, 1e308],
    "2**62": 2**62,
    "tiny": 5e-324,
    "negative": -1,
    "negative float": -1.5,
    "zero": 0,
    "True": True,
    "fraction": decimal.Decimal("0.5"),
    "words": ["a", "b"],
    "dict": {"a": 1.0},
    "set": {1.0, 2.0},
    "generator": (i for i in ()),
    "function": lambda *_, **__: None,
    "object": object(),
    "silent": Silent(),
    "silent in a list": [Silent(), Silent()],
    "silent number": NotANumber(3),
    "structured": np.zeros(2, [("a", float)]),
}
"""Bad values, of which some arguments accept some."""

NEVER = {
    "bytes", "NaN", "complex", "NumPy complex", "complex array", "object array", "object 0-d", "text array", "masked",
    "masked constant", "masked number", "datetime", "timedelta", "Python date", "datetime array", "timedelta array",
    "pandas missing", "nested", "endless", "NaN in a list", "set", "object", "silent", "silent in a list",
    "silent number", "structured",
}  # fmt: skip
"""Those that no argument accepts."""


def _entry(value: Any) -> Callable[[Any], Any]:
    def change(table: Any) -> Any:
        changed = np.array(table, dtype=np.float64)
        changed.flat[-1] = value
        return changed

    return change


def _masked(table: Any) -> Any:
    hidden = np.ma.array(np.array(table), copy=True)
    hidden[(0,) * hidden.ndim] = np.ma.masked
    return hidden


class Labelled:
    """An array with named axes, as of xarray."""

    def __init__(self, values: Any) -> None:
        self.values = np.array(values)
        self.dims = tuple("abc"[: self.values.ndim])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.values, dtype)


WRONG: dict[str, Callable[[Any], Any]] = {
    "NaN in the table": _entry(math.nan),
    "infinity in the table": _entry(math.inf),
    "masked table": _masked,
    "complex table": lambda table: np.asarray(table) + 1j,
    "table of text": lambda table: np.asarray(table).astype(str),
    "table of objects": lambda table: np.asarray(table).astype(object),
    "table of dates": lambda table: np.asarray(table).astype(np.int64).view("datetime64[s]"),
    "named axes": Labelled,
    "table of bools": lambda table: np.asarray(table) > 0.5,
}
"""Changes to a table that make it wrong whatever the function."""

SAME: dict[str, Callable[[Any], Any]] = {
    "frame of the table": lambda table: _framed(np.array(table)),
    "unmasked table": lambda table: np.ma.array(np.array(table)),
    "reversed memory": lambda table: np.array(table)[..., ::-1].copy()[..., ::-1],
    "Fortran order": lambda table: np.asfortranarray(table),
}
"""Changes to a table after which the function must return the same."""


class OwnError(Exception):
    """What a function of the user raises: it reaches the user as it is."""


def _raise(*_: Any, **__: Any) -> Any:
    raise OwnError


def _returns(value: Any) -> Callable[[Any], Any]:
    return lambda good: lambda *_, **__: value


def _every(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that changes what a function returns, or each entry of the dict that it returns."""

    def of(good: Any) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            found = good(*args, **more)
            return {name: change(each) for name, each in found.items()} if isinstance(found, dict) else change(found)

        return call

    return of


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "raises": lambda good: _raise,
    **{f"returns {name}": _returns(BAD[name]) for name in (
        "None", "text", "NaN", "infinity", "complex", "masked", "datetime", "empty list", "ragged", "words", "dict",
        "object", "silent", "series",
    )},
    "returns entries of text": _every(str),
    "returns NaN in entries": _every(lambda each: np.full(np.shape(each), math.nan)[()]),
    "returns complex entries": _every(lambda each: np.full(np.shape(each), 1j)[()]),
    "returns entries of one axis more": _every(lambda each: [[[each]]]),
}  # fmt: skip
"""Changes to a function after which it raises, or returns what no function may."""


def _emptying(good: Any) -> Any:
    """Return a function that empties the dicts and arrays that it gets, after it has used them."""

    def call(*args: Any, **more: Any) -> Any:
        found = copy.deepcopy(good(*args, **more))
        for each in (*args, *more.values()):
            if isinstance(each, dict):
                each.clear()
            elif isinstance(each, np.ndarray) and each.flags.writeable:
                each[...] = 0
        return found

    return call


SAME_FUNCTIONS: dict[str, Callable[[Any], Any]] = {"empties its arguments": _emptying}
"""Changes to a function after which the function that takes it must return the same."""


def _renamed(name: Any) -> Callable[[Any], Any]:
    return lambda good: {**dict([*good.items()][:-1]), name: [*good.values()][-1]}


NAMES: dict[str, Callable[[Any], Any]] = {
    "no entries": lambda good: {},
    "another name": _renamed("nothing"),
    "no identifier": _renamed("1 a"),
    "a name with NUL": _renamed("a\0"),
    "a number as name": _renamed(1),
    "None as name": _renamed(None),
    "one name more": lambda good: {**good, "more": [*good.values()][-1]},
}
"""Changes to the names of a dict."""


NEVER_NAMES = {"a name with NUL", "a number as name", "None as name"}
"""Those with a name that cannot be shown."""


def _last(value: str) -> Callable[[Any], Any]:
    def change(good: Any) -> Any:
        if isinstance(good, Mapping):
            return {**good, [*good][-1]: BAD[value]}
        return type(good)([*good[:-1], BAD[value]])

    return change


ENTRIES: dict[str, Callable[[Any], Any]] = {f"entry: {value}": _last(value) for value in BAD if value != "generator"}
"""Changes to the last entry of a dict, list or tuple."""

CHANGES = WRONG | SAME | FUNCTIONS | SAME_FUNCTIONS | NAMES | ENTRIES


def changes_of(good: Any) -> tuple[str, ...]:
    """Return the names of the changes that an argument can have, given a good value of it."""
    found: tuple[str, ...] = ()
    if isinstance(good, np.ndarray):
        found = tuple(
            value
            for value in (*WRONG, *SAME)
            if (value, good.dtype.kind) != ("table of bools", "b") and (value, good.ndim) != ("named axes", 1)
        )
    elif callable(good):
        found = (*FUNCTIONS, *SAME_FUNCTIONS)
    elif isinstance(good, Mapping):
        found = (*NAMES, *ENTRIES)
        if callable([*good.values()][-1]):
            found += (*FUNCTIONS, *SAME_FUNCTIONS)
    elif isinstance(good, list | tuple):
        found = tuple(ENTRIES)
    return (*BAD, *found)


def changed(good: Any, value: str) -> Any:
    """Return a bad value, or what a change makes of a good one."""
    change = CHANGES.get(value)
    if value in FUNCTIONS | SAME_FUNCTIONS and isinstance(good, Mapping):
        return {**good, [*good][-1]: CHANGES[value]([*good.values()][-1])}
    if change is not None:
        return change(good)
    return (i for i in ()) if value == "generator" else BAD[value]


def never(value: str) -> bool:
    """Whether no argument accepts a value, or an entry or name with it."""
    return value.removeprefix("entry: ") in NEVER or value in WRONG or value in NEVER_NAMES
