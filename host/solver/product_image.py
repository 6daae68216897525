"""The fixed-point image of a problem with alternatives, with binary points under which nothing can overflow."""

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
"""In a table of values: it cannot be taken here. Every value that can be is above it."""


class Reach(NamedTuple):
    """Bounds on what a run computes, in utility: on the values of regimes, and on everything else."""

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
    """Return the fixed-point image of a problem with alternatives, its exogenous states being product states.

    Arguments and conditions are those of :func:`beltline.host.solver.fixed_point.fixed_point`; the problem is one that
    :func:`beltline.host.solver.products.check_products` has passed. ``form`` has its tables where they are not the
    problem's own, and ``before`` is the image at earlier tables: weights that have not changed are taken from it.

    Raises
    ------
    ProblemError
        A bound exceeds the format, a tolerance is below what the format resolves, or the largest consumption of a state
        rounds to zero; and as :func:`beltline.host.solver.products.products_of`.
    """
    tol = real("tol", tol, "a number above 0", lambda v: 0 < v < math.inf)
    products = products_of(problem, form)
    form = products.form
    if problem.horizon is None and 1 - form.modulus() < SMALLEST_IMPATIENCE:
        raise ProblemError(
            f"beta = {form.modulus():.15g} is too close to 1 for an infinite horizon: "
            f"1 - beta must be at least {SMALLEST_IMPATIENCE:.3g}"
        )
    consumed = products.wealth - products.cost[0]
    reach = reach_of(products, consumed, problem.horizon)
    sentence = f"the values of alternatives can reach {reach.all:.3g}"
    value_bits = bits_chosen("value", value_bits, fraction_bits(reach.all), sentence)
    largest = float(max(np.abs(products.cost).max(), np.abs(products.wealth).max()))
    sentence = f"cost and wealth reach {largest:.3g}"
    amount_bits = bits_chosen("amount", amount_bits, amount_fraction_bits(largest), sentence)
    value = Fixed(value_bits)
    if problem.horizon is None and tol < SMALLEST_TOLERANCE * value.unit:
        raise ProblemError(
            f"tol = {shown(tol)} is below {SMALLEST_TOLERANCE * value.unit:.3g}, four units of a value with "
            f"{value_bits} fraction bits (the values of alternatives can reach {reach.all:.3g})"
        )
    grid, wealth = amounts_in_units(products.cost, amount_bits), amounts_in_units(products.wealth, amount_bits)
    _check_affordable(products, wealth > grid[0], consumed > 0.0, amount_bits)
    cannot = np.isneginf(products.start)
    start = np.where(cannot, LOWEST, value.encode(np.where(cannot, 0.0, products.start)))
    kappa = value.encode(products.kappa)
    marks, last_marks = (_marks(products, apart) for apart in (False, True))
    poorest = float(consumed[consumed > 0.0].min())
    note = coarse_amounts(poorest, problem.eta, tol, amount_bits) if problem.horizon is None else ""
    return Image(
        amount_bits=amount_bits,
        value_bits=value_bits,
        grid=grid,
        wealth=wealth,
        transition=_weights(products, before),
        start=start,
        constants=UtilityConstants.of(problem.eta, amount_bits, value_bits),
        epsilon=min(math.ceil(Fraction(tol) * 2**value_bits), 2**64 - 1),
        note=" ".join(filter(None, (note, products.note))),
        stands=products.stands,
        groups=Groups(kappa, marks),
        last_groups=Groups(kappa, last_marks),
        products=products,
    )


def _weights(products: Products, before: Image | None) -> NDArray[np.uint64]:
    """Weights of expectations: those of ``before`` if they are the same."""
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


def _marks(products: Products, last: bool) -> NDArray[np.int64]:
    """Marks of the product states; ``last``: of the last age, behind which tables of values count for nothing.

    Then they do not belong to their group, and a group without them may afford nothing, which is no fault.
    """
    begins, ends = products.borders(apart=last)
    ends = ends & (not (last and products.keeps.any()))
    found = np.where(begins, int(Mark.BEGINS), 0) | np.where(ends, int(Mark.ENDS), 0)
    return (found | np.where(products.keeps, int(Mark.KEEPS), 0)).astype(np.int64)


def _check_affordable(
    products: Products, rounded: NDArray[np.bool_], given: NDArray[np.bool_], amount_bits: int
) -> None:
    """Check that a state that can afford a choice (``given``) can do so with rounded amounts, too (``rounded``)."""
    vanishes = rounded != given
    if not vanishes.any():
        return
    x, p = first(vanishes)
    place = p % products.count
    name = products.form.alternatives[int(np.flatnonzero(products.place == place)[0])].name
    raise ProblemError(
        f"wealth of alternative {name!r} exceeds its lowest cost by so little at grid point {x}, state "
        f"{p // products.count}, that it vanishes with {amount_bits} fraction bits of amounts"
    )


def reach_of(products: Products, consumed: NDArray[np.float64], horizon: int | None) -> Reach:
    """Return bounds on the values of a problem after any number of sweeps.

    With the cheapest choice every alternative that can be taken is worth at least ``u + kappa + b L``, with ``u`` the
    utility of what it leaves, ``b = beta sum Q`` and ``L`` a lower bound of the values. So ``L`` is one as well
    after the sweep if some alternative of each state has ``u + kappa + b L >= L``. Upper bounds are found in the
    same way, for all alternatives.

    Parameters
    ----------
    products
    consumed : (N_k, N_p) float64 array
        Consumption left after the cheapest choice.
    horizon
        Ages, or None.
    """
    form = products.form
    pays = np.where(consumed > 0.0, utility(consumed, form.eta) + products.kappa, -np.inf)
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
        """The least of what the regimes are worth, of each alternative ``(N_k, N_p)``."""
        worth[:, keep] = table
        return float(products.best(worth).min())

    if horizon is None:
        low = min(low, best(pays / (1.0 - factor)))
        high = max(high, float((pays / (1.0 - factor)).max()))
    lowest, highest = low, high
    for _ in range(horizon or 0):
        low, high = best(pays + factor * low), max(high if keep.any() else -np.inf, float((pays + factor * high).max()))
        lowest, highest = min(lowest, low), max(highest, high)
    # Between them alternatives, utilities, expectations and what is added.
    able = pays[np.isfinite(pays)]
    parts = [abs(lowest), abs(highest), float(np.abs(products.kappa).max())]
    if able.size:
        plain = (pays - products.kappa)[np.isfinite(pays)]
        parts += [float(np.abs(plain).max())]
        parts += [float(np.abs((pays + factor * bound)[np.isfinite(pays)]).max()) for bound in (lowest, highest)]
        parts += [
            float(np.abs((pays - products.kappa + factor * bound)[np.isfinite(pays)]).max())
            for bound in (lowest, highest)
        ]
    return Reach(lowest, highest, max(parts))
