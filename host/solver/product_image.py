"""Conversion of a problem with alternatives to fixed-point numbers, in formats in which nothing can overflow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.general.form import Branch, Form, Outside, Tables
from beltline.host.problem.checks import ProblemError, first, real, shown
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility
from beltline.host.results.result import Tables as Answer
from beltline.host.solver.fixed_point import (
    SMALLEST_IMPATIENCE,
    Image,
    amount_fraction_bits,
    amounts_in_units,
    bits_chosen,
    coarse_amounts,
    fraction_bits,
    resolved,
)
from beltline.host.solver.products import Products, products_by_age
from beltline.hw.arithmetic.log_sum_constants import LogSumConstants
from beltline.hw.arithmetic.numbers import MINIMUM, Fixed
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from beltline.hw.interface.groups import Groups, Mark


class Reach(NamedTuple):
    """Bounds on the values of regimes, and on the size of all values, utilities and expectations of a run."""

    low: float
    high: float
    all: float


def reach_of(products: Sequence[Products], horizon: int | None) -> Reach:
    """Return bounds on the values of a problem after any number of sweeps.

    Let ``L`` be a lower bound on the values before a sweep. An alternative that can be taken is then worth at least
    ``u + kappa + b L``, where ``u`` is the utility of consumption with the cheapest choice and ``b = beta sum Q``. So
    ``L`` is also a lower bound after the sweep if in each state some alternative has ``u + kappa + b L >= L``. Upper
    bounds are found in the same way, but must hold for all alternatives. With taste shocks the value of a regime is at
    least that of any of its alternatives, and at most ``sigma`` times the logarithm of their number larger than all of
    them.
    """
    keep = products[0].keeps
    tables = [one.given(one.age)[:, keep] for one in products]
    all_pays, factors = zip(*(_period(one) for one in products), strict=True)
    guesses = products[-1].start[:, ~keep]
    guesses = guesses[np.isfinite(guesses)]
    # A log-sum is at most this much larger than the maximum.
    sigma = products[0].form.sigma
    more = sigma * math.log(products[0].arrangement.largest)
    fixed = np.concatenate([table[np.isfinite(table)] for table in tables])
    low = min((float(words.min()) for words in (guesses, fixed) if words.size), default=0.0)
    high = max((float(words.max()) for words in (guesses, fixed) if words.size), default=0.0) + more

    def best(worth: NDArray[np.float64], k: int) -> float:
        """Return the lowest value of any regime, given the values ``worth`` of the product states, ``(N_k, N_p)``."""
        worth[:, keep] = tables[k]
        return float(products[k].best(worth).min())

    if horizon is None:
        (pays,), (factor,) = all_pays, factors
        low = min(low, best(pays / (1.0 - factor), 0))
        high = max(high, float(((pays + more) / (1.0 - factor)).max()))
    lowest, highest = low, high
    for age in reversed(range(horizon or 0)):
        k = age if len(products) > 1 else 0
        above = float((all_pays[k] + factors[k] * high).max())
        low, high = best(all_pays[k] + factors[k] * low, k), max(high if keep.any() else -np.inf, above + more)
        lowest, highest = min(lowest, low), max(highest, high)
    # Alternatives, utilities, expectations and ``kappa`` can be larger than the values of regimes.
    parts = [abs(lowest), abs(highest), sigma]
    for one, pays, factor in zip(products, all_pays, factors, strict=True):
        able = np.isfinite(pays)
        plain = (pays - one.kappa)[able]
        parts.append(float(np.abs(one.kappa).max()))
        if one.form.negative:
            # Of candidates that cost more, too.
            parts.append(float(np.abs(one.wealth).max() + np.abs(one.cost).max()))
        if not plain.size:
            continue
        parts.append(float(np.abs(plain).max()))
        for bound in (lowest, highest):
            parts.append(float(np.abs((pays + factor * bound)[able]).max()))
            parts.append(float(np.abs((pays - one.kappa + factor * bound)[able]).max()))
    return Reach(lowest, highest, max(parts))


def _period(products: Products) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what the cheapest choice is worth in a period, ``(N_k, N_p)``, and ``beta sum Q``, ``(N_p,)``."""
    form, consumed = products.form, products.consumed
    earned = consumed if form.negative else utility(consumed, form.eta)
    pays = np.where(form.negative | (consumed > 0.0), earned + products.kappa, -np.inf)
    pays[:, products.keeps] = -np.inf
    factor = np.zeros(pays.shape[1])
    for d, one in enumerate(form.alternatives):
        if isinstance(one, Branch):
            tables = one.at(products.age)
            factor[products.of(d)] = tables.beta * tables.transition.sum(axis=1)
    return pays, factor


LOWEST = -(2**62)
"""Marks the states of a table of values in which the alternative cannot be taken; all other values are larger.

With taste shocks it is the lowest number, which is no part of a log-sum."""


def product_image(
    problem: Problem,
    tol: float,
    value_bits: int | None = None,
    amount_bits: int | None = None,
    form: Form | None = None,
    before: Image | None = None,
    *,
    raises_tol: bool = False,
) -> Image:
    """Convert a problem with alternatives to fixed point; its product states are the exogenous states of the image."""
    tol = real("tol", tol, "a number above 0", lambda v: 0 < v < math.inf)
    products = products_by_age(problem, form)
    form = products[0].form
    if problem.horizon is None and 1 - form.modulus() < SMALLEST_IMPATIENCE:
        raise ProblemError(
            f"beta = {form.modulus():.15g} is too close to 1 for an infinite horizon: "
            f"1 - beta must be at least {SMALLEST_IMPATIENCE:.3g}"
        )
    reach = reach_of(products, problem.horizon)
    what = "the values of alternatives" if len(form.alternatives) > 1 else "V"
    reached = f"{what} can reach {reach.all:.3g}"
    value_bits, amount_bits = _bits(problem, products, reach, reached, value_bits, amount_bits)
    tol = resolved(problem, tol, value_bits, reached, raises_tol)
    constants = UtilityConstants.of(problem.eta, amount_bits, value_bits, form.negative)
    epsilon = min(math.ceil(Fraction(tol) * 2**value_bits), 2**64 - 1)
    images: list[Image] = []
    for one in products:
        images.append(_image(one, value_bits, amount_bits, constants, epsilon, images[-1] if images else before))
    if problem.horizon is None:
        consumed, note = products[0].consumed, ""
        if problem.eta > 0.0:
            note = coarse_amounts(float(consumed[consumed > 0.0].min()), problem.eta, tol, amount_bits)
        return replace(images[0], note=" ".join(filter(None, (note, products[0].note))))
    return images[0] if len(images) == 1 else replace(images[-1], ages=tuple(images))


def _image(
    products: Products,
    value_bits: int,
    amount_bits: int,
    constants: UtilityConstants,
    epsilon: int,
    before: Image | None,
) -> Image:
    """Return the image of one age, with the tables of ``before`` that are equal."""
    grid, wealth = amounts_in_units(products.cost, amount_bits), amounts_in_units(products.wealth, amount_bits)
    if not products.form.negative:
        lowest = np.take_along_axis(grid, products.low, axis=0)
        _check_affordable(products, wealth > lowest, products.consumed > 0.0, amount_bits)
    value = Fixed(value_bits)
    kappa = value.encode(products.kappa)
    limits = _limits(products, grid, wealth)
    marks, last_marks = (_marks(products, apart) for apart in (False, True))
    sigma = products.form.sigma
    shocks = LogSumConstants.of(sigma, value_bits).words
    return Image(
        amount_bits=amount_bits,
        value_bits=value_bits,
        grid=grid if before is None else _shared(grid, before.grid),
        wealth=wealth if before is None else _shared(wealth, before.wealth),
        transition=_weights(products, before),
        start=words_of_tables(products.start, value_bits, MINIMUM if sigma > 0.0 else LOWEST),
        constants=constants,
        epsilon=epsilon,
        note="",
        groups=Groups(kappa, marks, *limits, shocks),
        last_groups=Groups(kappa, last_marks, *limits, shocks),
        products=products,
        bounds=np.stack([products.low, products.high]) if products.by_point else None,
    )


def _bits(
    problem: Problem,
    products: list[Products],
    reach: Reach,
    of_values: str,
    value_bits: int | None,
    amount_bits: int | None,
) -> tuple[int, int]:
    """Return the fraction bits of values and of amounts of the good: those that the user asked for, or all that fit."""
    largest = float(max(np.abs(table).max() for one in products for table in (one.cost, one.wealth)))
    of_amounts = f"cost and wealth reach {largest:.3g}"
    if problem.eta > 0.0:
        return (
            bits_chosen("value", value_bits, fraction_bits(reach.all), of_values),
            bits_chosen("amount", amount_bits, amount_fraction_bits(largest), of_amounts),
        )
    if value_bits is not None and amount_bits is not None and value_bits != amount_bits:
        raise ProblemError(
            f"value_bits and amount_bits must be equal with eta = 0, where utility is an amount of the good, not "
            f"{shown(value_bits)} and {shown(amount_bits)}"
        )
    certain = min(fraction_bits(reach.all), fraction_bits(largest))
    kind, asked = ("value", value_bits) if amount_bits is None else ("amount", amount_bits)
    bits = bits_chosen(kind, asked, certain, f"{of_values}, and {of_amounts}")
    return bits, bits


def words_of_tables(table: NDArray[np.float64], value_bits: int, lowest: int = LOWEST) -> NDArray[np.int64]:
    """Return values in fixed point; ``lowest`` where they are ``-inf``, which says what cannot be taken."""
    cannot = np.isneginf(table)
    return np.where(cannot, lowest, Fixed(value_bits).encode(np.where(cannot, 0.0, table)))


def _shared(table: NDArray[np.int64], before: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``before`` if it is equal to ``table``, so that only one of them is stored."""
    return before if np.array_equal(table, before) else table


def _weights(products: Products, before: Image | None) -> NDArray[np.uint64]:
    """Return the weights of expectations, taken from ``before`` if transitions and discount factors are unchanged."""
    if before is None or before.products is None:
        return products.weights()
    ages = products.age, before.products.age
    pairs = zip(products.form.alternatives, before.products.form.alternatives, strict=True)
    same = np.array_equal(products.place, before.products.place) and all(
        (one is other and (ages[0] == ages[1] or not one.aged()))
        or (isinstance(one, Outside) and isinstance(other, Outside))
        or (isinstance(one, Branch) and isinstance(other, Branch) and _same_weights(one.at(ages[0]), other.at(ages[1])))
        for one, other in pairs
    )
    return before.transition if same else products.weights()


def _same_weights(tables: Tables, others: Tables) -> bool:
    return all(np.array_equal(getattr(tables, name), getattr(others, name)) for name in ("transition", "beta", "mix"))


def _limits(
    products: Products, grid: NDArray[np.int64], wealth: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the lowest and the highest candidate of each product state, ``(N_p,)`` each, for costs ``grid``."""
    if products.form.negative or products.by_point:
        return products.low[0], products.high[-1]
    last = grid.shape[0] - 1
    lowest = np.where(products.keeps, 0, products.stands[0])
    affordable = (grid < wealth.max(axis=0)).sum(axis=0)
    highest = np.where(products.keeps, 0, np.clip(affordable - 1, lowest, last))
    return lowest, highest


def _marks(products: Products, last: bool) -> NDArray[np.int64]:
    """Return the marks of the product states; ``last`` says that they are for the last age."""
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
    alternatives = products.form.alternatives
    name = alternatives[int(np.flatnonzero(products.place == place)[0])].name
    of = f" of alternative {name!r}" if len(alternatives) > 1 else ""
    aged = any(one.aged() for one in alternatives)
    age = f", age {products.age + 1}" if aged else ""
    raise ProblemError(
        f"wealth{of} exceeds its lowest cost by so little at grid point {x}, state "
        f"{p // products.count}{age}, that the difference is rounded to zero with amount_bits = {amount_bits}: use "
        f"smaller units of the good"
    )


def found_of(image: Image, value: NDArray[np.int64], policy: NDArray[np.int64]) -> Answer:
    """Convert a machine's solution, in the order of its sweeps, from product states to regimes and alternatives.

    Of several alternatives whose fixed-point values are equal and the largest, the first is taken.
    """
    if image.ages:
        sweeps = zip(reversed(image.ages), value, policy, strict=False)
        return Answer(*map(np.stack, zip(*(_found(*sweep) for sweep in sweeps), strict=True)))
    return _found(image, value, policy)


def _found(image: Image, value: NDArray[np.int64], policy: NDArray[np.int64]) -> Answer:
    """Convert a solution whose tables are those of one age; arguments as for :func:`found_of`."""
    products = image.products
    assert products is not None
    alternatives = products.form.alternatives
    shape = (*value.shape[:-2], len(alternatives), value.shape[-2], products.states)
    words, choices = np.empty(shape, np.int64), np.empty(shape, np.int32)
    values = np.empty(shape)
    for d, one in enumerate(alternatives):
        columns = products.of(d)
        own = value[..., columns]
        if not isinstance(one, Branch):
            own = np.broadcast_to(words_of_tables(one.at(products.age), image.value_bits), own.shape)
        words[..., d, :, :] = own
        values[..., d, :, :] = np.ldexp(own.astype(np.float64), -image.value_bits)
        if isinstance(one, Branch):
            nothing = own == MINIMUM
            values[..., d, :, :][nothing] = -np.inf
            stands = products.stands[policy[..., columns], columns]
            choices[..., d, :, :] = np.where(nothing, -1, stands)
        else:
            values[..., d, :, :], choices[..., d, :, :] = one.at(products.age), -1
    regimes = products.form.shape[0]
    best = np.empty((*shape[:-3], regimes, *shape[-2:]))
    taken = np.empty(best.shape, np.int32)
    probabilities = np.zeros(shape)
    for r in range(regimes):
        own_alternatives = np.array(products.form.of_regime(r))
        first = words[..., own_alternatives, :, :].argmax(axis=-3)
        taken[..., r, :, :] = own_alternatives[first]
        own_values = values[..., own_alternatives, :, :]
        best[..., r, :, :] = np.take_along_axis(own_values, first[..., None, :, :], axis=-3)[..., 0, :, :]
        if products.form.sigma > 0.0:
            probabilities[..., own_alternatives, :, :] = _log_sum(own_values, best[..., r, :, :], products.form.sigma)
            continue
        for d in own_alternatives:
            probabilities[..., d, :, :] = taken[..., r, :, :] == d
    return Answer(best, values, choices, taken, probabilities)


def _log_sum(values: NDArray[np.float64], best: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
    """Replace ``best``, the largest ``values`` of a regime, by log-sums; return the alternatives' probabilities."""
    weights = np.exp((values - best[..., None, :, :]) / sigma)
    total = weights.sum(axis=-3)
    best += sigma * np.log(total)
    return np.asarray(weights / total[..., None, :, :])
