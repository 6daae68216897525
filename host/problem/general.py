"""The general form of a problem: how it is recognized, checked and passed to :mod:`beltline.gpu_ref.general`."""

from __future__ import annotations

import numbers
import re
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.host.problem.alternative import TABLES, Alternative
from beltline.host.problem.checks import ProblemError, dimensions, shown

if TYPE_CHECKING:
    from beltline.gpu_ref.general.form import Form

ONLY_ALTERNATIVE = "save"
"""Name of the single alternative of a problem that was given none."""

WORKAROUND = "solve it with bl.solve(problem), on device 'cpu' or 'gpu'"


class Tables(Protocol):
    """The attributes of a :class:`~beltline.host.problem.problem.Problem` that this file reads, perhaps unchecked."""

    @property
    def grid(self) -> Any: ...
    @property
    def wealth(self) -> Any: ...
    @property
    def transition(self) -> Any: ...
    @property
    def start(self) -> Any: ...
    @property
    def beta(self) -> Any: ...
    @property
    def eta(self) -> float: ...
    @property
    def horizon(self) -> int | None: ...
    @property
    def cost(self) -> Any: ...
    @property
    def low(self) -> Any: ...
    @property
    def high(self) -> Any: ...
    @property
    def alternatives(self) -> Any: ...
    @property
    def taste(self) -> float: ...
    @property
    def negative(self) -> bool: ...
    @property
    def name(self) -> str: ...


def extras(problem: Tables) -> tuple[str, ...]:
    """Return the features of a problem that only the general form has, in words; empty for the simple form.

    The simple form has one alternative and one regime, no ``cost`` (so that it is ``x'``), no bounds on ``x'``, no
    taste shocks, a single ``beta`` below 1, ``eta`` above 0, and tables that do not depend on age.
    """
    found = [name for name in _DEFAULTS if _given(name, getattr(problem, name))]
    if _number(problem.eta) and problem.eta == 0:
        found.append("eta = 0")
    if dimensions(problem.beta):
        found.append("beta by age" if dimensions(problem.beta) == 2 else "beta by state")
    elif problem.horizon is not None and _number(problem.beta) and problem.beta >= 1:
        found.append("beta of 1 or more")
    tables = ["wealth", "transition"]
    if problem.horizon is not None and dimensions(problem.cost) == 3:
        found.remove("cost")
        tables.append("cost")
    aged = [name for name in tables if dimensions(getattr(problem, name)) == 3]
    return (*found, *(f"{name} by age" for name in aged))


def costs_itself(cost: Any, grid: Any) -> bool:
    """Return whether a cost, in any shape that a problem accepts, is ``x'`` itself everywhere."""
    if cost is None or isinstance(cost, np.ma.MaskedArray):
        return False
    try:
        table, points = np.asarray(cost), np.asarray(grid)
    except Exception:  # which numbers_of says in words
        return False
    if table.dtype.kind not in "iuf" or table.ndim not in (1, 2, 3) or points.ndim != 1:
        return False
    by_row = points if table.ndim == 1 else points[:, None]
    return table.shape[-by_row.ndim] == points.size and bool((table == by_row).all())


_DEFAULTS: dict[str, tuple[Any, ...]] = {"alternatives": ((), None), "cost": (None,), "low": (None, 0), "high": (None,)}
_DEFAULTS |= {"taste": (0,)}
"""Values of the arguments of the general form that make no difference. (``high=0`` allows the lowest ``x'`` only.)"""


def _given(name: str, value: Any) -> bool:
    """Return whether an argument of the general form differs from its default, so that it has to be checked there."""
    defaults = _DEFAULTS[name]
    if name == "alternatives" and isinstance(value, tuple | list):
        return bool(value)
    if _number(value):
        return 0 not in defaults or value != 0
    return value is not None or None not in defaults


def _number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def regimes_of(alternatives: tuple[Alternative, ...]) -> tuple[str, ...]:
    """Return the regimes in the order in which alternatives first name them; one nameless regime by default."""
    return tuple(dict.fromkeys(one.regime for one in alternatives)) or ("",)


def unused(problem: Any) -> str:
    """Return what the message of a result of a ``Problem`` says of alternatives that are possible in no state."""
    if len(problem.alternatives) < 2:
        return ""
    from beltline.gpu_ref.general.checks import never_taken

    return " ".join(never_taken(problem.form))


def form_of(problem: Tables) -> Form:
    """Check a problem of the general form and return its tables as solvers read them.

    Raises
    ------
    ProblemError
        A table breaks a condition of the general form; one sentence about the first error found.
    """
    from beltline.gpu_ref.general.form import Branch, Form, Outside

    given = problem.alternatives
    if not isinstance(given, tuple | list) or not all(isinstance(one, Alternative) for one in given):
        raise ProblemError(f"alternatives must be a sequence of Alternative, not {shown(given)}")
    taken = tuple(given) or (Alternative(name=ONLY_ALTERNATIVE),)
    regimes = regimes_of(taken)
    shape = (np.shape(problem.grid)[0], np.shape(problem.transition)[-1])
    parts: list[Branch | Outside] = []
    try:
        for one in taken:
            regime = regimes.index(one.regime)
            if one.value is not None:
                parts.append(Outside(one.name, regime, one.value))
                continue
            tables = {name: getattr(problem if getattr(one, name) is None else one, name) for name in TABLES}
            _check_shapes(one, tables | {"choice": one.choice}, shape, problem.horizon)
            if one.choice is not None:
                tables["low"] = tables["high"] = one.choice
            cost = tables["cost"]
            parts.append(
                Branch(
                    one.name,
                    regime,
                    wealth=tables["wealth"],
                    cost=_by_state(problem.grid if cost is None else cost, shape),
                    transition=tables["transition"],
                    beta=tables["beta"],
                    mix=_mix(one, regimes),
                    kappa=0.0 if one.kappa is None else one.kappa,
                    low=_by_state(0 if tables["low"] is None else tables["low"], shape),
                    high=_by_state(shape[0] - 1 if tables["high"] is None else tables["high"], shape),
                )
            )
        form = Form(tuple(parts), problem.eta, problem.taste, problem.negative, problem.horizon)
    except ValueError as error:
        sentence = _naming_regimes(str(error), regimes)
        for one in taken:
            sentence = _naming_choice(sentence, one)
        if not given:
            sentence = sentence.removeprefix(f"alternative {ONLY_ALTERNATIVE!r}: ")
        raise ProblemError(sentence) from None
    if form.shape[1:] != shape:
        raise ProblemError(
            f"tables must have one row per grid point and one column per exogenous state, shape {shape}, not "
            f"{form.shape[1:]}"
        )
    return form


def _check_shapes(one: Alternative, tables: dict[str, Any], shape: tuple[int, int], horizon: int | None) -> None:
    """Check that the tables over grid points have a shape that ``Problem`` accepts.

    A first axis of ages passes here, whatever its length: ``Form`` checks it against the horizon.

    Raises
    ------
    ValueError
        A table has another shape; the message is about the first.
    """
    for name in ("wealth", "cost", "low", "high", "choice"):
        given = np.shape(tables[name])
        index = name not in ("wealth", "cost")
        fits = (shape,) if name == "wealth" else (shape[:1], shape)
        both = name == "cost" and len(given) == 3 and given[:2] == (shape[0],) * 2 and horizon != shape[0]
        by_age = len(given) == 3 and given[1:] == shape and not both
        if tables[name] is None or given in fits or (index and given == ()) or by_age:
            continue
        allowed = [*map(str, fits)]
        if horizon is not None:
            allowed.append(f"{(horizon, *shape)} by age")
        wanted = " or ".join(allowed)
        what = f"alternative {one.name!r}: " if getattr(one, name, None) is not None else ""
        hint = "; for a cost that depends on both x and x' use bl.from_factors" if both else ""
        raise ValueError(
            f"{what}{name} must {'be an index or have shape' if index else 'have shape'} {wanted}, not {given}{hint}"
        )


def _by_state(table: ArrayLike, shape: tuple[int, int]) -> Any:
    """Repeat a vector over grid points for every exogenous state; return anything else, for ``Form`` to check."""
    if np.ndim(table) == 1 and np.shape(table)[0] == shape[0]:
        return np.repeat(np.asarray(table)[:, None], shape[1], axis=1)
    return table


def _mix(one: Alternative, regimes: tuple[str, ...]) -> NDArray[np.float64]:
    chances = one.chances()
    for name in chances:
        if name not in regimes:
            known = ", ".join(repr(regime) for regime in regimes)
            raise ProblemError(
                f"alternative {one.name!r} leads to regime {name!r}, which has no alternative; the regimes are {known}"
            )
    return np.array([chances.get(regime, 0.0) for regime in regimes])


def _naming_regimes(sentence: str, regimes: tuple[str, ...]) -> str:
    """Replace the numbers of regimes in a message by their names."""
    for number, name in enumerate(regimes):
        if name:
            sentence = sentence.replace(f"regime {number} ", f"regime {name!r} ")
    return sentence


def _naming_choice(sentence: str, one: Alternative) -> str:
    """Call ``low`` of an alternative ``choice`` in a message, if that is what the user gave."""
    begins = f"alternative {one.name!r}: low"
    if one.choice is None or not re.match(re.escape(begins) + r"\b", sentence):
        return sentence
    before = len(begins) - len("low")
    return sentence[:before] + re.sub(r"\blow\b", "choice", sentence[before:])


def start_of(problem: Tables) -> NDArray[np.float64]:
    """Return ``start`` by regime, ``(N_r, N_k, N_z)``: one table for all regimes is repeated."""
    start = problem.start
    regimes = len(regimes_of(tuple(problem.alternatives)))
    return np.ascontiguousarray(np.broadcast_to(start, (regimes, *start.shape[-2:])))
