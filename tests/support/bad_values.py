"""Values that are wrong for some or all arguments of the public functions, and changes to tables."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


class Silent:
    """An object that can be neither shown, compared, counted, nor made into a number or an array."""

    def _refuse(self, *_: Any) -> Any:
        raise RuntimeError("this object answers nothing")

    __repr__ = __eq__ = __len__ = __bool__ = __iter__ = __float__ = __array__ = __fspath__ = _refuse
    __hash__ = None  # type: ignore[assignment]


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
    "structured": np.zeros(2, [("a", float)]),
}
"""Bad values, of which some arguments accept some."""

NEVER = {
    "bytes", "NaN", "complex", "NumPy complex", "complex array", "object array", "object 0-d", "text array", "masked",
    "masked constant", "masked number", "datetime", "timedelta", "Python date", "datetime array", "timedelta array",
    "pandas missing", "nested", "endless", "NaN in a list", "set", "object", "silent", "silent in a list", "structured",
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
