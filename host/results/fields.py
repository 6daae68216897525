"""One table of fields: each is declared once, and documentation, checks, files, datasets and equality are made from it.

A dataclass declares its fields with :func:`parameter`, :func:`fact`, :func:`array` and :func:`parts`, which give the
dataclass a default and a :class:`Field`; the functions below read the table of a class. A class derived from
:class:`Declared` has its docstring, its checks and its equality from the table, too::

    @dataclass(frozen=True, eq=False)
    class Path(Declared):
        "A path."
        seconds: float = fact(MEASURE, "Time of the solve", "seconds")
        capital: Array = array("date", text="Capital per head at each date", unit="units of the good")
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError, first, place
from beltline.host.results.archive import Table, axes_of
from beltline.host.results.facts import LIST, PARTS, Rule, checked

Check = Callable[[str, Any], Any]
"""A function of name and value that returns the value as it is kept, or raises ``ProblemError``."""

Made = TypeVar("Made")

ANYTHING = Rule("anything", lambda _: True)

_SECTIONS = re.compile(r"^(Raises|Sources|Notes|Examples)\n-+$", re.M)


@dataclass(frozen=True)
class Field:
    """What is known of a field beside its name.

    Parameters
    ----------
    text
        What it is, as a sentence without a period.
    unit
        Its unit; empty for texts, flags and numbers without one.
    dims
        Names of the axes of an array; None for a fact, which is not one. An axis whose name ends in ``?`` may be
        missing.
    dtypes
        Types that the array may have in a file, in NumPy's notation.
    optional
        Whether the array may be None.
    rule
        What a file may contain as the fact.
    check
        Check of an argument when the object is made.
    of
        Class of the parts of a field that holds a tuple of them, or one of them.
    """

    text: str
    unit: str = ""
    dims: tuple[str, ...] | None = None
    dtypes: tuple[str, ...] = ("<f8",)
    optional: bool = False
    rule: Rule = ANYTHING
    check: Check | None = None
    of: type | None = None


def parameter(
    default: Any, check: Check, text: str, unit: str = "", dims: tuple[str, ...] | None = None, of: type | None = None
) -> Any:
    """Declare a parameter of a model, which is checked when the model is made; without a default pass ``...``.

    If the parameter is itself an object with parameters, ``of`` is its class.
    """
    rule = ANYTHING if of is None else PARTS
    return _declared(Field(text, unit, dims, rule=rule, check=check, of=of), MISSING if default is ... else default)


def fact(rule: Rule, text: str, unit: str = "", default: Any = MISSING) -> Any:
    """Declare a number, text or flag of a result; files of earlier versions may lack one that has a default."""
    return _declared(Field(text, unit, rule=rule), default)


def array(*dims: str, text: str, unit: str = "", dtypes: tuple[str, ...] = ("<f8",), optional: bool = False) -> Any:
    """Declare an array of a result by the names of its axes."""
    return _declared(Field(text, unit, dims, dtypes, optional), None if optional else MISSING)


def contained() -> Any:
    """Declare an object, such as the solution of a problem, that files and datasets hold in their own way."""
    return dataclasses.field()


def parts(of: type, text: str, many: bool = True) -> Any:
    """Declare a tuple of objects of a declared class, or a single one."""
    return _declared(Field(text, rule=LIST if many else PARTS, of=of), MISSING)


def _declared(field: Field, default: Any) -> Any:
    about = {"field": field}
    if callable(default):
        return dataclasses.field(default_factory=default, metadata=about)
    return dataclasses.field(default=default, metadata=about)


class Declared:
    """Base class of dataclasses whose fields are declared; they are documented, checked and compared by their table."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        own = {name: each for name, each in vars(cls).items() if isinstance(each, dataclasses.Field)}
        above = {name: each for base in cls.__mro__[:0:-1] for name, each in _dataclass_fields(base).items()}
        cls.__doc__ = documented(cls, above | own)

    def __post_init__(self) -> None:
        for name, field in table_of(type(self)).items():
            if field.check is not None:
                object.__setattr__(self, name, field.check(name, getattr(self, name)))
        self.validate()

    def validate(self) -> None:
        """Check conditions on several fields together."""

    def __eq__(self, other: object) -> bool:
        return equal(self, other)

    __hash__ = None  # type: ignore[assignment]


def _dataclass_fields(cls: type) -> dict[str, Any]:
    return vars(cls).get("__dataclass_fields__", {})


def documented(cls: type, fields: Mapping[str, Any]) -> str:
    """Return the docstring of a class with a section on its parameters, made from the table."""
    text = inspect.cleandoc(vars(cls).get("__doc__") or "")
    types: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        types |= vars(base).get("__annotations__", {})
    lines = []
    for name, each in fields.items():
        field = each.metadata.get("field")
        if field is not None:
            shape = f"({', '.join(field.dims or ())}{',' * (len(field.dims or ()) == 1)})"
            kind = f"``{shape}`` array" if field.dims else types[name]
            kind += "" if each.default is MISSING else f", default {each.default!r}"
            lines += [f"{name} : {kind}", f"    {field.text}{', in ' * bool(field.unit)}{field.unit}."]
    if not lines:
        return text
    section = "\n".join(["Parameters", "----------", *lines])
    at = _SECTIONS.search(text)
    return f"{text}\n\n{section}" if at is None else f"{text[: at.start()]}{section}\n\n{text[at.start() :]}"


def table_of(cls: type) -> dict[str, Field]:
    """Return the declared fields of a dataclass by name."""
    return {each.name: each.metadata["field"] for each in dataclasses.fields(cls) if "field" in each.metadata}


def facts_of(made: Any) -> dict[str, Any]:
    """Return all declared fields of an object that are not arrays, in the form that JSON and :func:`restored` take."""
    return {name: _plain(getattr(made, name)) for name, field in table_of(type(made)).items() if field.dims is None}


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return facts_of(value)
    return [_plain(each) for each in value] if isinstance(value, tuple | list) else value


def arrays_of(made: Any) -> dict[str, NDArray[Any]]:
    """Return the declared arrays of an object by name, without those that it does not have."""
    arrays = {name: getattr(made, name) for name, field in table_of(type(made)).items() if field.dims is not None}
    return {name: table for name, table in arrays.items() if table is not None}


def schema_of(cls: type) -> dict[str, Table]:
    """Return the type and shape that each array must have in a file; axes of the same name have the same size."""
    return {
        name: Table(field.dtypes, field.dims, field.optional)
        for name, field in table_of(cls).items()
        if field.dims is not None
    }


def rules_of(cls: type) -> dict[str, Rule]:
    """Return what a file may contain as each fact; it may lack those with a default."""
    found = {}
    for each in dataclasses.fields(cls):
        field = each.metadata.get("field")
        if field is not None and field.dims is None:
            has_default = each.default is not MISSING or each.default_factory is not MISSING
            found[each.name] = dataclasses.replace(field.rule, absent=has_default)
    return found


def restored(cls: type[Made], title: str, facts: object, **more: Any) -> Made:
    """Make an object from the facts of a file, after checking them, and other arguments, such as arrays.

    Raises
    ------
    ProblemError
        A fact is missing, unknown or out of range; messages call the facts ``title``.
    """
    known = checked(title, facts, rules_of(cls))
    table = table_of(cls)
    return cls(**{name: _read(table[name], f"{name} of {title}", value) for name, value in known.items()}, **more)


def _read(field: Field, title: str, value: Any) -> Any:
    if field.of is not None:
        many = isinstance(value, list)
        return tuple(restored(field.of, title, each) for each in value) if many else restored(field.of, title, value)
    return tuple(value) if isinstance(value, list) else value


def variables_of(made: Any) -> dict[str, tuple[tuple[str, ...], NDArray[Any], dict[str, str]]]:
    """Return the declared arrays of an object as variables of an ``xarray.Dataset``, with names and units."""
    table = table_of(type(made))
    return {
        name: (
            axes_of(table[name].dims or (), values.ndim),
            values,
            {"long_name": table[name].text, "units": table[name].unit or "1"},
        )
        for name, values in arrays_of(made).items()
    }


def check_finite(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Check that all numbers are finite.

    Raises
    ------
    ProblemError
        The first number that is not.
    """
    for name, values in arrays.items():
        bad = ~np.isfinite(values)
        if bad.any():
            where = first(bad)
            raise ProblemError(f"{name} must be finite, but {place(name, where)} is {values[where]}")


def equal(one: object, other: object) -> bool:
    """Return whether two objects are of the same class and their fields, arrays included, are equal; nan equals nan."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        one, other = np.asarray(one), np.asarray(other)
        return one.shape == other.shape and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if type(one) is not type(other):
        return False
    if dataclasses.is_dataclass(one):
        return all(equal(getattr(one, each.name), getattr(other, each.name)) for each in dataclasses.fields(one))
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(equal(one[name], other[name]) for name in one)
    return bool(one == other) or (one != one and other != other)
