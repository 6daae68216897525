"""Conversion of a problem with alternatives to fixed-point numbers, in formats in which nothing can overflow."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.general.form import Branch, Form
from beltline.host.problem.checks import ProblemError, first, real, shown
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility
from beltline.host.solver.fixed_point import (
    SMALLEST_IMPATIENCE,
    SMALLEST_TOLERANCE,
    Image,
    amount_fraction_bits,
    amounts_in_units,
    bits_chosen,
    coarse_amounts,
    fraction_bits,
)
from beltline.host.solver.products import Products, products_of
from beltline.hw.arithmetic.numbers import Fixed
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from beltline.hw.interface.groups import Groups, Mark

LOWEST = -(2**62)
"""Marks the states of a table of values in which the alternative cannot be taken; all other values are larger."""


class Reach(NamedTuple):
    """Bounds on the numbers that a run computes, in units of utility.

    Attributes
    ----------
    low, high
        Lower and upper bound on the values of regimes.
    all
        Bound on the absolute value of all values, utilities and expectations.
    """

    low: float
    high: float
    all: float


def product_image(
    problem: Problem,
    tol: float,
    value_bits: int | None = None,
    amount_bits: int | None = None,
    form: Form | None = None,
    before: Image | None = None,
) -> Image:
    """Convert a problem with alternatives to fixed point; its product states are the exogenous states of the image.

    :mod:`beltline.host.solver.products` defines product states.

    Parameters
    ----------
    problem
        A problem that :func:`beltline.host.solver.products.check_products` accepts.
    tol, value_bits, amount_bits
        As of :func:`beltline.host.solver.fixed_point.fixed_point`.
    form
        Tables to use in place of the problem's own, because prices have changed.
    before
        Image of the same problem with earlier tables. Weights of expectations that have not changed are taken from it.

    Raises
    ------
    ProblemError
        Values or amounts can exceed the format, the tolerance is below its resolution, or the largest consumption of a
        state is rounded to zero; and as :func:`beltline.host.solver.products.products_of`.
    """
    tol = real("tol", tol, "a number above 0", lambda v: 0 < v < math.inf)
    products = products_of(problem, form)
    form = products.form
    if problem.horizon is None and 1 - form.modulus() < SMALLEST_IMPATIENCE:
        raise ProblemError(
            f"beta = {form.modulus():.15g} is too close to 1 for an infinite horizon: "
            f"1 - beta must be at least {SMALLEST_IMPATIENCE:.3g}"
        )
    consumed = consumed_of(products)
    reach = reach_of(products, consumed, problem.horizon)
    value_bits, amount_bits = _bits(problem, products, reach, value_bits, amount_bits)
    value = Fixed(value_bits)
    if problem.horizon is None and tol < SMALLEST_TOLERANCE * value.unit:
        raise ProblemError(
            f"tol = {shown(tol)} is below {SMALLEST_TOLERANCE * value.unit:.3g}, four units of a value with "
            f"{value_bits} fraction bits (the values of alternatives can reach {reach.all:.3g})"
        )
    grid, wealth = amounts_in_units(products.cost, amount_bits), amounts_in_units(products.wealth, amount_bits)
    if not form.negative:
        _check_affordable(products, wealth > grid[0], consumed > 0.0, amount_bits)
    cannot = np.isneginf(products.start)
    start = np.where(cannot, LOWEST, value.encode(np.where(cannot, 0.0, products.start)))
    kappa = value.encode(products.kappa)
    limits = _limits(products, grid, wealth)
    marks, last_marks = (_marks(products, apart) for apart in (False, True))
    note = ""
    if problem.horizon is None and problem.eta > 0.0:
        note = coarse_amounts(float(consumed[consumed > 0.0].min()), problem.eta, tol, amount_bits)
    return Image(
        amount_bits=amount_bits,
        value_bits=value_bits,
        grid=grid,
        wealth=wealth,
        transition=_weights(products, before),
        start=start,
        constants=UtilityConstants.of(problem.eta, amount_bits, value_bits, form.negative),
        epsilon=min(math.ceil(Fraction(tol) * 2**value_bits), 2**64 - 1),
        note=" ".join(filter(None, (note, products.note))),
        stands=products.stands,
        groups=Groups(kappa, marks, *limits),
        last_groups=Groups(kappa, last_marks, *limits),
        products=products,
    )


def consumed_of(products: Products) -> NDArray[np.float64]:
    """Return consumption with the cheapest choice within bounds that do not depend on ``x``, ``(N_k, N_p)``."""
    if not products.form.negative:
        return np.asarray(products.wealth - products.cost[0])
    index = np.arange(products.cost.shape[0])[:, None]
    inside = (index >= products.low) & (index <= products.high)
    return np.asarray(products.wealth - np.where(inside, products.cost, np.inf).min(axis=0))


def _bits(
    problem: Problem, products: Products, reach: Reach, value_bits: int | None, amount_bits: int | None
) -> tuple[int, int]:
    """Return the fraction bits of values and of amounts of the good: those that the user asked for, or all that fit.

    Linear utility is an amount of the good and a value at once, so that with ``eta = 0`` the two are equal.

    Raises
    ------
    ProblemError
        The user asked for more than certainly fit, or for two different numbers with ``eta = 0``.
    """
    largest = float(max(np.abs(products.cost).max(), np.abs(products.wealth).max()))
    sentence, of_amounts = (
        f"the values of alternatives can reach {reach.all:.3g}",
        f"cost and wealth reach {largest:.3g}",
    )
    if problem.eta > 0.0:
        return (
            bits_chosen("value", value_bits, fraction_bits(reach.all), sentence),
            bits_chosen("amount", amount_bits, amount_fraction_bits(largest), of_amounts),
        )
    if value_bits is not None and amount_bits is not None and value_bits != amount_bits:
        raise ProblemError(
            f"value_bits and amount_bits must be equal with eta = 0, where utility is an amount of the good, not "
            f"{shown(value_bits)} and {shown(amount_bits)}"
        )
    certain = min(fraction_bits(reach.all), fraction_bits(largest))
    kind, asked = ("value", value_bits) if amount_bits is None else ("amount", amount_bits)
    bits = bits_chosen(kind, asked, certain, f"{sentence}, and {of_amounts}")
    return bits, bits


def _weights(products: Products, before: Image | None) -> NDArray[np.uint64]:
    """Return the weights of expectations, taken from ``before`` if transitions and discount factors are unchanged."""
    if before is None or before.products is None:
        return products.weights()
    pairs = zip(products.form.alternatives, before.products.form.alternatives, strict=True)
    same = np.array_equal(products.place, before.products.place) and all(
        one is other
        or (
            isinstance(one, Branch)
            and isinstance(other, Branch)
            and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("transition", "beta", "mix"))
        )
        for one, other in pairs
    )
    return before.transition if same else products.weights()


def _limits(
    products: Products, grid: NDArray[np.int64], wealth: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the lowest and the highest candidate of each product state, ``(N_p,)`` each, for costs ``grid``.

    Where consumption may be negative they are the bounds of ``x'``. Otherwise those below the lowest are dominated by
    it: they cost as much, and promise no more. Those above the highest cost at least as much as the largest cash on
    hand of the state. A table of values has one candidate, which does not matter.
    """
    if products.form.negative:
        return products.low, products.high
    last = grid.shape[0] - 1
    lowest = np.where(products.keeps, 0, products.stands[0])
    affordable = (grid < wealth.max(axis=0)).sum(axis=0)
    highest = np.where(products.keeps, 0, np.clip(affordable - 1, lowest, last))
    return lowest, highest


def _marks(products: Products, last: bool) -> NDArray[np.int64]:
    """Return the marks of the product states; ``last`` says that they are for the last age.

    The value after the last age is ``start``, which tables of values do not enter. So at the last age each table of
    values is a group of its own. The other alternatives of its regime may then afford nothing, which is no error, so
    the ends of groups are not marked.
    """
    begins, ends = products.borders(apart=last)
    ends = ends & (not (last and products.keeps.any()))
    found = np.where(begins, int(Mark.BEGINS), 0) | np.where(ends, int(Mark.ENDS), 0)
    return (found | np.where(products.keeps, int(Mark.KEEPS), 0)).astype(np.int64)


def _check_affordable(
    products: Products, rounded: NDArray[np.bool_], given: NDArray[np.bool_], amount_bits: int
) -> None:
    """Check that a state that can afford a choice (``given``) can also do so with rounded amounts (``rounded``)."""
    vanishes = rounded != given
    if not vanishes.any():
        return
    x, p = first(vanishes)
    place = p % products.count
    name = products.form.alternatives[int(np.flatnonzero(products.place == place)[0])].name
    raise ProblemError(
        f"wealth of alternative {name!r} exceeds its lowest cost by so little at grid point {x}, state "
        f"{p // products.count}, that the difference is rounded to zero with amount_bits = {amount_bits}: use "
        f"smaller units of the good"
    )


def reach_of(products: Products, consumed: NDArray[np.float64], horizon: int | None) -> Reach:
    """Return bounds on the values of a problem after any number of sweeps.

    Let ``L`` be a lower bound on the values before a sweep. An alternative that can be taken is then worth at least
    ``u + kappa + b L``, where ``u`` is the utility of consumption with the cheapest choice and ``b = beta sum Q``. So
    ``L`` is also a lower bound after the sweep if in each state some alternative has ``u + kappa + b L >= L``. Upper
    bounds are found in the same way, but must hold for all alternatives.

    Parameters
    ----------
    products
        The product states.
    consumed : (N_k, N_p) float64 array
        Consumption with the cheapest choice, in units of the good.
    horizon
        Number of ages, or None for an infinite horizon.
    """
    form = products.form
    earned = consumed if form.negative else utility(consumed, form.eta)
    pays = np.where(form.negative | (consumed > 0.0), earned + products.kappa, -np.inf)
    factor = np.zeros(pays.shape[1])
    for d, one in enumerate(form.alternatives):
        if isinstance(one, Branch):
            tables = one.at()
            factor[products.of(d)] = tables.beta * tables.transition.sum(axis=1)
    keep = products.keeps
    table = products.start[:, keep]
    pays[:, keep] = -np.inf
    guesses = products.start[:, ~keep]
    fixed = table[np.isfinite(table)]
    low = min((float(words.min()) for words in (guesses, fixed) if words.size), default=0.0)
    high = max((float(words.max()) for words in (guesses, fixed) if words.size), default=0.0)

    def best(worth: NDArray[np.float64]) -> float:
        """Return the lowest value of any regime, given the values ``worth`` of the product states, ``(N_k, N_p)``."""
        worth[:, keep] = table
        return float(products.best(worth).min())

    if horizon is None:
        low = min(low, best(pays / (1.0 - factor)))
        high = max(high, float((pays / (1.0 - factor)).max()))
    lowest, highest = low, high
    for _ in range(horizon or 0):
        low, high = best(pays + factor * low), max(high if keep.any() else -np.inf, float((pays + factor * high).max()))
        lowest, highest = min(lowest, low), max(highest, high)
    # Alternatives, utilities, expectations and ``kappa`` can be larger than the values of regimes.
    able = pays[np.isfinite(pays)]
    parts = [abs(lowest), abs(highest), float(np.abs(products.kappa).max())]
    if form.negative:
        # Of candidates that cost more, too.
        parts.append(float(np.abs(products.wealth).max() + np.abs(products.cost).max()))
    if able.size:
        plain = (pays - products.kappa)[np.isfinite(pays)]
        parts += [float(np.abs(plain).max())]
        parts += [float(np.abs((pays + factor * bound)[np.isfinite(pays)]).max()) for bound in (lowest, highest)]
        parts += [
            float(np.abs((pays - products.kappa + factor * bound)[np.isfinite(pays)]).max())
            for bound in (lowest, highest)
        ]
    return Reach(lowest, highest, max(parts))
