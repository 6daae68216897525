"""Check the tables of a general problem; each error is one ``ValueError`` that names table, index and value.

``what`` is the beginning of a message, such as ``"alternative 'save': "``.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.compiled import njit
from beltline.gpu_ref.remedies import FALLING, of_sums
from beltline.gpu_ref.tables import ROW_SUM_TOLERANCE, Array

Indexes = NDArray[np.int32]


def brief(value: Any) -> str:
    """Return a number, a text or None as it is written, and the type of anything else, for a message."""
    plain = value is None or isinstance(value, str | numbers.Number)
    return f"{value!r:.60}" if plain else f"of type {type(value).__name__}"


def real_numbers(what: str, value: ArrayLike) -> Array:
    """Return a copy of ``value``, which has real numbers none of which is masked, as a contiguous ``float64`` array."""
    try:
        found = np.asarray(value)
    except Exception:  # an object's own __array__ may raise any
        found = np.empty(0, object)
    # Named axes may be in another order than that of the documentation.
    named = isinstance(getattr(value, "dims", None), tuple) and found.ndim > 1
    if found.dtype.kind not in "iuf" or np.ma.is_masked(value) or named:
        raise ValueError(f"{what} must be made of numbers, not {brief(value)}")
    return np.array(found, np.float64, order="C")


def finite(what: str, table: Array, *, missing: bool = False) -> None:
    """Refuse entries that are not finite; ``missing`` allows ``-inf``."""
    good = np.isfinite(table)
    if missing:
        good |= table == -np.inf
    if not good.all():
        where = [int(i) for i in np.argwhere(~good)[0]]
        wanted = "neither finite nor -inf" if missing else "not finite"
        raise ValueError(f"{what}{where} is {table[tuple(where)]}, {wanted}")


def number(what: str, value: Any) -> float:
    """Return ``value`` as a float, if it is finite and at least 0."""
    found = real_numbers(what, value)
    if found.ndim or not 0.0 <= found < math.inf:
        raise ValueError(f"{what} must be 0 or more and finite, not {brief(value)}")
    return float(found)


def mapping(what: str, value: object) -> Mapping[Any, Any]:
    """Return ``value`` if it is a mapping, such as a dictionary."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} must be a mapping by name, not {brief(value)}")
    return value


def whole(what: str, value: Any, least: int, or_else: str = "") -> int:
    """Return ``value`` as an integer, if it is one of at least ``least``; ``or_else`` completes the message."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(
            " ".join(f"{what} must be a whole number from {least} {or_else}".split()) + f", not {brief(value)}"
        )
    return int(value)


def alternative_name(name: object, regime: object) -> str:
    """Check name and regime of an alternative; return how messages about it begin."""
    if not isinstance(name, str) or not name:
        raise ValueError(f"the name of an alternative must be a string that is not empty, not {brief(name)}")
    whole(f"alternative {name!r}: regime", regime, 0)
    return f"alternative {name!r}: "


def table(
    what: str, name: str, value: ArrayLike, shape: tuple[int, int] | None = None, *, missing: bool = False
) -> Array:
    """Return a finite table of ``shape``, or of that shape after an axis of ages."""
    found = real_numbers(what + name, value)
    if found.ndim not in (2, 3) or not found.size or (shape is not None and found.shape[-2:] != shape):
        rows, columns = shape or ("N_k", "N_z")
        raise ValueError(
            f"{what}{name} must have shape ({rows}, {columns}) or (T, {rows}, {columns}), not {found.shape}"
        )
    finite(what + name, found, missing=missing)
    return found


def by_state(what: str, name: str, value: ArrayLike, states: int) -> Array:
    """Return a number for each exogenous state, ``(N_z,)`` or ``(T, N_z)``."""
    found = real_numbers(what + name, value)
    if found.ndim == 0:
        found = np.full(states, float(found))
    if found.ndim not in (1, 2) or not found.size or found.shape[-1] != states:
        raise ValueError(f"{what}{name} must be a number or have shape ({states},) or (T, {states}), not {found.shape}")
    finite(what + name, found)
    return found


def positive(what: str, name: str, found: Array) -> None:
    """Refuse entries that are not positive."""
    if not (found > 0.0).all():
        where = [int(i) for i in np.argwhere(~(found > 0.0))[0]]
        raise ValueError(f"{what}{name}{where} is {found[tuple(where)]}, not positive")


def not_falling(what: str, name: str, found: NDArray[Any], instead: str = "") -> None:
    """Refuse a table that falls in ``x``, its last axis but one; ``instead`` ends the message."""
    falls = found[..., 1:, :] < found[..., :-1, :]
    if falls.any():
        before = [int(i) for i in np.argwhere(falls)[0]]
        after = [*before[:-2], before[-2] + 1, before[-1]]
        raise ValueError(
            f"{what}{name} must not fall in x, but {name}{after} = {found[tuple(after)]} "
            f"follows {name}{before} = {found[tuple(before)]}{instead}"
        )


def stochastic(what: str, transition: Array) -> None:
    """Refuse negative probabilities, and rows that do not sum to 1."""
    if (transition < 0.0).any():
        where = [int(i) for i in np.argwhere(transition < 0.0)[0]]
        raise ValueError(f"{what}transition{where} = {transition[tuple(where)]} is negative")
    sums = transition.sum(axis=-1)
    wrong = np.argwhere(np.abs(sums - 1.0) > ROW_SUM_TOLERANCE)
    if wrong.size:
        where = [int(i) for i in wrong[0]]
        raise ValueError(f"{what}row {where} of transition sums to {sums[tuple(where)]}, not 1{of_sums(transition)}")


def mix(what: str, value: Any) -> Any:
    """Return probabilities of regimes, ``(n,)``, or the number of one regime.

    The number of regimes is checked later, for all alternatives together.
    """
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        if value < 0:
            raise ValueError(f"{what}mix names regime {value}, but regimes are numbered from 0")
        return int(value)
    found = real_numbers(what + "mix", value)
    if found.ndim != 1 or not found.size:
        raise ValueError(f"{what}mix must be the number of a regime or have shape (N_r,), not {found.shape}")
    finite(what + "mix", found)
    if (found < 0.0).any():
        where = int(np.argmax(found < 0.0))
        raise ValueError(f"{what}mix[{where}] = {found[where]} is negative")
    if abs(found.sum() - 1.0) > ROW_SUM_TOLERANCE:
        raise ValueError(f"{what}mix sums to {found.sum()}, not 1")
    return found


def bound(what: str, name: str, value: ArrayLike, shape: tuple[int, int]) -> Indexes:
    """Return indexes of candidates, ``(N_k, N_z)``, that do not fall in ``x``."""
    if isinstance(value, bool | np.bool_):
        raise ValueError(f"{what}{name} must be an index or have shape {shape}, not {brief(value)}")
    given = real_numbers(what + name, value)
    if given.ndim and given.shape != shape:
        raise ValueError(f"{what}{name} must be an index or have shape {shape}, not {given.shape}")
    good = (given >= 0) & (given < shape[0]) & (given == np.floor(given))
    if not good.all():
        where = [int(i) for i in np.argwhere(~good)[0]] if given.ndim else [0, 0]
        wrong = given[tuple(where)] if given.ndim else given
        raise ValueError(f"{what}{name}{where} is {wrong:g}, not an index from 0 to {shape[0] - 1}")
    if not given.ndim:
        return np.full(shape, int(given), np.int32)
    whole = given.astype(np.int32)
    not_falling(what, name, whole)
    return whole


def bounds(what: str, low: Indexes, high: Indexes) -> None:
    """Refuse a lower bound that is above the upper one."""
    if (low > high).any():
        x, s = (int(i) for i in np.argwhere(low > high)[0])
        raise ValueError(f"{what}low[{x}, {s}] = {low[x, s]} is above high[{x}, {s}] = {high[x, s]}")


def alternatives(given: tuple[Any, ...], horizon: int | None, negative: bool) -> tuple[Any, ...]:
    """Check that alternatives fit together; return them with every ``mix`` as an array."""
    if not given:
        raise ValueError("alternatives must hold at least one alternative, not none")
    names = [a.name for a in given]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"names of alternatives must differ, but {names.count(name)} are called {name!r}")
    regimes = 1 + max(a.regime for a in given)
    empty = sorted(set(range(regimes)) - {a.regime for a in given})
    if empty:
        raise ValueError(f"regime {empty[0]} has no alternative, though regime {regimes - 1} has one")
    found = []
    for one in given:
        what = f"alternative {one.name!r}: "
        if one.shape != given[0].shape:
            raise ValueError(
                f"{what}its tables have (N_k, N_z) = {one.shape}, but those of {names[0]!r} have {given[0].shape}"
            )
        for name, ages in one.aged().items():
            if horizon is None:
                by = " (it may depend on the exogenous state and on age, not on x)" if name in ("beta", "kappa") else ""
                raise ValueError(f"{what}{name} has an axis of {ages} ages, which needs a horizon{by}")
            if ages != horizon:
                raise ValueError(f"{what}{name} has {ages} ages, but horizon is {horizon}")
        if hasattr(one, "mix"):
            if not negative:
                not_falling(what, "wealth", one.wealth, f": {FALLING}")
            _discounts(what, one, horizon)
            chances = _all_regimes(what, one.mix, regimes)
            found.append(one if chances is one.mix else dataclasses.replace(one, mix=chances))
        else:
            found.append(one)
    return tuple(found)


def _all_regimes(what: str, given: Array | int, regimes: int) -> Array:
    """Return ``mix`` as probabilities of all regimes."""
    if isinstance(given, int):
        if given >= regimes:
            raise ValueError(f"{what}mix names regime {given}, but regimes are 0 to {regimes - 1}")
        chances: Array = np.eye(regimes)[given]
        return chances
    if given.size != regimes:
        raise ValueError(f"{what}mix must have shape ({regimes},), one for each regime, not {given.shape}")
    return given


def _discounts(what: str, one: Any, horizon: int | None) -> None:
    """Refuse a ``beta`` of 1 or more without a horizon."""
    if horizon is None:
        discounts = one.beta * one.transition.sum(axis=-1)
        if (one.beta >= 1.0).any() or not (discounts < 1.0).all():
            s = int(np.argmax((one.beta >= 1.0) | (discounts >= 1.0)))
            raise ValueError(f"{what}beta[{s}] is {one.beta[s]}: without a horizon it must be below 1")


@njit(cache=True)
def cheapest(cost: Array, low: Indexes, high: Indexes) -> Array:
    """Return the lowest cost between ``low`` and ``high`` in every state, ``(N_k, N_z)``.

    Both bounds do not fall in ``x``, so a queue of candidates with rising costs gives all minima in linear time (a
    sliding-window minimum).
    """
    grid, states = low.shape
    found = np.empty((grid, states))
    queue = np.empty(grid, np.int64)
    for s in range(states):
        begin = end = 0
        added = 0
        for x in range(grid):
            while added <= high[x, s]:
                while end > begin and cost[queue[end - 1], s] >= cost[added, s]:
                    end -= 1
                queue[end] = added
                end += 1
                added += 1
            while queue[begin] < low[x, s]:
                begin += 1
            found[x, s] = cost[queue[begin], s]
    return found


def everyone_can_choose(form: Any) -> None:
    """Refuse a problem in which some regime has no alternative in some state at some age."""
    regimes, *_ = form.shape
    aged = form.horizon is not None and any(a.aged() for a in form.alternatives)
    for age in range(form.horizon if aged and form.horizon else 1):
        for regime in range(regimes):
            gaps = np.full(form.shape[1:], math.inf)
            for d in form.of_regime(regime):
                one = form.alternatives[d]
                tables: Any = one.at(age)
                if not hasattr(one, "mix"):
                    gaps[tables > -np.inf] = -math.inf
                elif form.negative:
                    gaps[:] = -math.inf
                else:
                    gaps = np.minimum(gaps, cheapest(tables.cost, tables.low, tables.high) - tables.wealth)
            if (gaps >= 0.0).any():
                x, s = (int(i) for i in np.argwhere(gaps >= 0.0)[0])
                when = f" at age {age + 1}" if aged else ""
                why = _why_none([form.alternatives[d] for d in form.of_regime(regime)], gaps[x, s])
                raise ValueError(f"regime {regime} has no alternative in state [{x}, {s}]{when}: {why}")


def _why_none(alternatives: Any, gap: float) -> str:
    """Return why none of the alternatives of a regime can be taken; ``gap`` is by how much wealth is too low."""
    choose, end = (
        ", ".join(repr(one.name) for one in alternatives if hasattr(one, "mix") is chooses) for chooses in (True, False)
    )
    costs = (
        f"of {choose}, the cheapest choice in bounds costs {gap:g} more than wealth, and consumption must be positive"
    )
    return "; ".join([*([costs] if choose else []), *([f"the value of {end} is -inf there"] if end else [])])


def never_taken(form: Any) -> list[str]:
    """Return a sentence for each alternative that cannot be taken at any age in any state."""
    found = []
    for one in form.alternatives:
        outside = not hasattr(one, "mix")
        if form.negative and not outside:
            continue
        least = math.inf
        for age in range(form.horizon if one.aged() else 1):
            tables: Any = one.at(age)
            if outside:
                least = min(least, -tables.max())
            else:
                least = min(least, (cheapest(tables.cost, tables.low, tables.high) - tables.wealth).min())
            if least < (math.inf if outside else 0.0):
                break
        else:
            costs = f"the cheapest choice in bounds costs at least {least:g} more than wealth"
            why = "its value is -inf" if outside else costs
            found.append(f"Alternative {one.name!r} is possible in no state: {why}.")
    return found
