"""Conversion of a problem of the simple form to fixed-point numbers, in formats in which nothing can overflow."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError, first, real, shown, whole
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import (
    marginal_utility,
    slope_fall,
    slope_noise,
    slope_rise,
    utility,
)
from beltline.hw.arithmetic.numbers import MAXIMUM, Fixed
from beltline.hw.arithmetic.utility_constants import AMOUNT_BITS_LIMIT, UtilityConstants
from beltline.hw.interface.groups import Groups, Mark

if TYPE_CHECKING:
    from beltline.host.solver.products import Products


def shift_weights(transition: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the weights ``beta Q (I - beta Q)^-1 / 2**SCALE`` of a sweep engine, as fixed-point numbers."""
    # Imported here because loading it takes a while.
    from beltline.hw.sweep.shift import SCALE

    q = transition.astype(np.float64) * 2.0**-64
    largest = float(q.sum(axis=1).max())
    # The largest sum of a row of weights.
    if not largest < 1 or largest / (1 - largest) >= 2**SCALE:
        raise ProblemError(
            f"method 'shift' needs beta times the largest sum of a row of transition below "
            f"{1 - 1 / (2**SCALE + 1):.6f}, not {largest}: leave method out"
        )
    weights = np.linalg.solve(np.eye(q.shape[0]) - q, q)
    # Rounding can make a weight of zero negative.
    return np.rint(np.ldexp(np.maximum(weights, 0.0), 64 - SCALE)).astype(np.uint64)


FRACTION_LIMIT = 52
"""Largest number of fraction bits of values, for which the error of ``ln c`` is bounded. Also of amounts of the good if
the largest is 1/2 or more: as a double it has no more bits. Smaller amounts may have more (``AMOUNT_BITS_LIMIT``)."""

RANGE = 2.0**62
"""Upper limit of all bounds, in units of the last fraction bit: half the range of the format. The other half is for
rounding errors."""

SMALLEST_IMPATIENCE = 2.0**-30
"""Smallest ``1 - beta`` (with ``beta`` times the largest row sum of ``Q``) of an infinite horizon. With it, rounding
errors of up to ``2**13`` units in each sweep add up to less than ``2**43``, far less than :data:`RANGE` leaves."""

NEARLY_LOG = 1e-4
"""Largest distance of ``eta`` from 1 for which a message about too few bits suggests ``eta = 1``."""

SMALLEST_TOLERANCE = 4
"""Smallest tolerance, in units of value. Rounding would decide whether the change falls below a smaller one."""

UTILITY_ERROR = 2.0**-50
"""Bound on the relative error of the utility unit, if that is more than one unit of value."""

PADDING = MAXIMUM
"""Value of the grid points beyond ``N_k`` in a larger build, which no cash on hand can afford."""


@dataclass(frozen=True, eq=False)
class Image:
    """The tables of a problem in the accelerator's fixed-point numbers.

    A unit of amounts is ``2**-amount_bits``, a unit of values ``2**-value_bits``.

    Parameters
    ----------
    amount_bits, value_bits
        Fraction bits of amounts of the good and of values.
    grid : (N_k,) or (N_k, N_p) int64 array
        ``X`` in units of amounts; of a problem of the general form the costs of its product states.
    wealth : (N_k, N_z) int64 array
        ``W`` in units of amounts.
    transition : (N_z, N_z) uint64 array
        ``beta Q`` in units of ``2**-64``, each rounded to nearest from the exact product.
    start : (N_k, N_z) int64 array
        ``V0`` in units of values.
    constants
        Constants of the utility unit for this problem.
    epsilon
        The tolerance in units of values, rounded up: an integer is below it exactly if it is below the tolerance.
    note
        Empty, or a sentence about what rounding may change.
    groups, last_groups : Groups or None
        Of a problem with alternatives: which exogenous states belong together, and what is added to their values; and
        the same in the run of a horizon's last age.
    products : Products or None
        Of a problem with alternatives, whose exogenous states are then its product states.
    bounds : (2, N_k, N_z) int64 array or None
        Of a problem with bounds of ``x'`` that depend on ``x``: the lowest and the highest candidate of each state.
    ages : tuple of Image
        Of a problem whose tables depend on age: the images of all ages, the first age first. All other fields are then
        those of the last age. Otherwise empty.
    """

    amount_bits: int
    value_bits: int
    grid: NDArray[np.int64]
    wealth: NDArray[np.int64]
    transition: NDArray[np.uint64]
    start: NDArray[np.int64]
    constants: UtilityConstants
    epsilon: int
    note: str
    groups: Groups | None = None
    last_groups: Groups | None = None
    products: Products | None = None
    bounds: NDArray[np.int64] | None = None
    ages: tuple[Image, ...] = ()

    def before(self, age: int, value: NDArray[np.int64]) -> Image:
        """Return the image with which the run of an age begins."""
        now = self.ages[age] if self.ages else self
        keeps = None if now.groups is None else now.groups.has(Mark.KEEPS)
        if keeps is None or not keeps.any():
            return replace(now, start=value)
        return replace(now, start=np.where(keeps, now.start, value))

    @property
    def every_group(self) -> Groups:
        """The groups of exogenous states for a build with alternatives; each is alone in a problem without groups."""
        return Groups.single(*self.start.shape[::-1]) if self.groups is None else self.groups

    @property
    def candidates(self) -> NDArray[np.int64]:
        """The lowest and the highest candidate of each state for a general build, ``(2, N_k, N_z)``."""
        if self.bounds is not None:
            return self.bounds
        sides = self.every_group.lowest, self.every_group.highest
        return np.stack([np.broadcast_to(side, self.start.shape) for side in sides])

    @property
    def amount_unit(self) -> float:
        return float(2.0**-self.amount_bits)

    @property
    def value_unit(self) -> float:
        return float(2.0**-self.value_bits)


def _ends(problem: Problem) -> tuple[float, float]:
    """Return the consumption of the poorest and of the richest state with the cheapest choice."""
    return float(problem.wealth[0].min() - problem.grid[0]), float(problem.wealth[-1].max() - problem.grid[0])


def value_bounds(problem: Problem) -> tuple[float, float]:
    """Return a lower and an upper bound on ``V`` after any number of sweeps, on ``beta Q V`` and on relevant utilities.

    The lower bound is the value of always choosing the cheapest ``x'`` in the poorest state, the upper bound that of
    always choosing it in the richest state. Both start from ``V0``. Utility is summed over all ages; for an infinite
    horizon the sum is at most the utility of one period divided by ``1 - beta``.
    """
    poorest, richest = (float(utility(c, problem.eta)) for c in _ends(problem))
    lowest = [poorest, float(problem.start.min())]
    highest = [richest, float(problem.start.max())]
    if problem.horizon is None:
        impatience = 1 - problem.modulus
        lowest.append(poorest / impatience)
        highest.append(richest / impatience)
    else:
        for _ in range(problem.horizon):
            lowest.append(poorest + problem.beta * lowest[-1])
            highest.append(richest + problem.beta * highest[-1])
    return min(lowest), max(highest)


def fraction_bits(bound: float) -> int:
    """Return the largest number ``f`` of fraction bits with ``|bound| * 2**f < RANGE``, at most 52."""
    if not math.isfinite(bound):
        return -1
    return min(FRACTION_LIMIT, 62 - math.frexp(bound)[1])


def amount_fraction_bits(largest: float) -> int:
    """Return the number of fraction bits for amounts up to ``largest``."""
    if not 0.0 < largest < 0.5:
        return fraction_bits(largest)
    return min(AMOUNT_BITS_LIMIT, FRACTION_LIMIT - math.frexp(largest)[1])


def shifted_reach(problem: Problem, start: NDArray[np.float64], bounds: tuple[float, float]) -> float:
    """Return a bound on ``|V|`` during a solve with method ``"shift"`` from ``start``, ``(N_k, N_z)``.

    The changes of one exact sweep in an exogenous state lie within an interval of length ``2 h``. Extrapolation adds
    what they have in common for all further sweeps, which brings the values within ``2 h beta / (1 - beta)`` of the
    solution, and later extrapolations within twice that. ``bounds`` are those of :func:`value_bounds`, which hold for
    the solution, too.
    """
    contraction = problem.modulus
    away = 2.0 * _largest_spread(problem, start) * contraction / (1.0 - contraction)
    poorest, richest = (
        float(utility(c, problem.eta)) / (1.0 - contraction)
        for c in (problem.wealth[0].min() - problem.grid[0], problem.wealth[-1].max() - problem.grid[0])
    )
    return max(-bounds[0], bounds[1], max(abs(poorest), abs(richest)) + away)


def _largest_spread(problem: Problem, start: NDArray[np.float64]) -> float:
    """Return the largest spread over ``x`` of the changes of any exogenous state in one exact sweep from ``start``."""
    from beltline.gpu_ref.exact import exact_sweep

    tables = problem.grid, problem.wealth, problem.transition
    change = exact_sweep(*tables, start, problem.beta, problem.eta)[0] - start
    return float((change.max(axis=0) - change.min(axis=0)).max())


def _nearly_log(eta: float) -> str:
    """Return the end of a message for ``eta`` close to 1, where ``c^(1 - eta) / (1 - eta)`` hardly depends on ``c``."""
    if eta == 1.0 or abs(eta - 1.0) > NEARLY_LOG:
        return ""
    return f"; utility of eta = {shown(eta)} is near {1.0 / (1.0 - eta):.3g} whatever is consumed: use eta = 1, log"


def fraction_bits_asked(name: str, bits: object, most: int) -> int:
    """Return a number of fraction bits that the user asked for, if it is one from 0 to ``most``."""
    return whole(name, bits, f"a whole number from 0 to {most}, or None", lambda b: 0 <= b <= most)


def bits_chosen(kind: str, asked: int | None, certain: int, reach: str) -> int:
    """Return the fraction bits of ``"value"`` or ``"amount"``: those ``asked`` for, or all that certainly fit."""
    if certain < 0:
        raise ProblemError(f"{reach}, more than 64-bit fixed point can represent: rescale the problem")
    if asked is None:
        return certain
    name = f"{kind}_bits"
    asked = fraction_bits_asked(name, asked, AMOUNT_BITS_LIMIT if kind == "amount" else FRACTION_LIMIT)
    if asked > certain:
        raise ProblemError(f"{name} = {asked} can overflow: {reach}, which leaves at most {certain} fraction bits")
    return asked


def resolved(problem: Problem, tol: float, value_bits: int, reach: str, raises_tol: bool) -> float:
    """Return ``tol`` if the format of values resolves it, or the least that it resolves if it may be raised."""
    least = SMALLEST_TOLERANCE * 2.0**-value_bits
    if raises_tol:
        return max(tol, least)
    if problem.horizon is None and tol < least:
        raise ProblemError(
            f"tol = {shown(tol)} is below {least:.3g}, four units of a value with {value_bits} fraction bits "
            f"({reach}){_nearly_log(problem.eta)}"
        )
    return tol


def _check_amounts(problem: Problem, grid: NDArray[np.int64], wealth: NDArray[np.int64], bits: int) -> None:
    merged = np.diff(grid) <= 0
    if merged.any():
        (i,) = first(merged)
        raise ProblemError(
            f"grid[{i}] and grid[{i + 1}] are {problem.grid[i + 1] - problem.grid[i]:.3g} apart and become equal "
            f"with amount_bits = {bits}: use a coarser grid or smaller units of the good"
        )
    poor = wealth[0] <= grid[0]
    if poor.any():
        (s,) = first(poor)
        raise ProblemError(
            f"wealth[0, {s}] exceeds grid[0] by only {problem.wealth[0, s] - problem.grid[0]:.3g}, "
            f"which is rounded to zero with amount_bits = {bits}: use smaller units of the good"
        )


def _note(problem: Problem, value_bits: int) -> str:
    """Return a note if rounding errors may exceed the curvature of an objective, so that searches may differ.

    Along ``x'`` the slope of the objective must fall from each grid interval to the next by more than errors can raise
    it. Utility has an error of one unit or ``2**-50`` of itself, and ``EV`` one of half a unit. It suffices to compare
    at the largest consumption, where curvature is smallest relative to the error (for ``ln c``, which can be 0, the
    error is taken to be larger).
    """
    if problem.points < 3:
        return ""
    richest = float(problem.wealth.max())
    most = np.maximum(richest - problem.grid[:-2], np.finfo(np.float64).tiny)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        size = np.abs(utility(most, problem.eta))
        if problem.eta == 1:
            size = np.maximum(size, 0.2 / most**2)
        error = 1.5 * 2.0**-value_bits + UTILITY_ERROR * size
        rise = problem.beta * np.maximum(slope_rise(problem.grid, problem.start).max(axis=1), 0.0)
        fall = slope_fall(problem.grid, richest, problem.eta)
        flat = fall - rise <= slope_noise(problem.grid, error)
    if not flat.any():
        return ""
    (j,) = first(flat)
    cure = "use a coarser grid" if value_bits == FRACTION_LIMIT else "use more value bits or a coarser grid"
    return (
        f"Around grid point {j + 1} rounding with value_bits = {value_bits} may exceed the curvature of the objective, "
        f"so that of choices that are almost equally good another one may be returned ({cure} to exclude it)."
    )


def coarse_amounts(poorest: float, eta: float, tol: float, bits: int) -> str:
    """Return a sentence if rounding of amounts moves the utility of the poorest by more than ``tol``, else nothing."""
    moved = math.ldexp(float(marginal_utility(poorest, eta)), -bits)
    if not moved > tol:
        return ""
    return (
        f"With amount_bits = {bits}, rounding an amount by a unit moves the utility of the poorest by {moved:.2g}, "
        f"more than tol = {tol:g}: values are no more exact than that (use smaller units of the good)."
    )


def amounts_in_units(amounts: NDArray[np.float64], bits: int) -> NDArray[np.int64]:
    """Return ``amounts`` as whole numbers of units of ``2**-bits``, rounded to the nearest."""
    # Multiplication by a power of two is exact.
    units = amounts * 2.0**bits
    return np.rint(units, out=units).astype(np.int64)


def fixed_point(
    problem: Problem,
    tol: float,
    value_bits: int | None = None,
    amount_bits: int | None = None,
    *,
    shift: bool = False,
    raises_tol: bool = False,
) -> Image:
    """Convert a problem of the simple form to fixed point.

    Parameters
    ----------
    tol
        The run ends when the largest change of ``V`` is below this, in units of utility; at least four units of the
        format of values. Ignored with a finite horizon.
    value_bits, amount_bits
        Fraction bits of values (0 to 52) and of amounts of the good (0 to 90). By default as many as cannot overflow,
        and for amounts no more than the largest has as a double.
    shift
        Whether a sweep engine extrapolates ``V`` between its sweeps. Values may then be larger during the run, so that
        fewer bits are chosen for them.
    raises_tol
        Whether a ``tol`` below four units of the format of values is raised to them, and not refused.
    """
    tol = real("tol", tol, "a number above 0", lambda v: 0 < v < math.inf)
    if problem.horizon is None and 1 - problem.modulus < SMALLEST_IMPATIENCE:
        raise ProblemError(
            f"beta = {shown(problem.beta)} is too close to 1 for an infinite horizon: "
            f"1 - beta must be at least {SMALLEST_IMPATIENCE:.3g}"
        )
    start = problem.start.reshape(problem.points, problem.states)
    low, high = value_bounds(problem)
    reach = f"V can reach {low if -low > high else high:.3g}"
    certain = fraction_bits(max(-low, high))
    if shift and value_bits is None and problem.horizon is None:
        # Extrapolation needs range, so it leaves fewer bits; unless that would be too few for the tolerance.
        fewer = fraction_bits(shifted_reach(problem, start, (low, high)))
        if fewer >= 0 and tol >= SMALLEST_TOLERANCE * 2.0**-fewer:
            certain = min(certain, fewer)
    value_bits = bits_chosen("value", value_bits, certain, reach)
    largest = float(max(np.abs(problem.grid).max(), np.abs(problem.wealth).max()))
    amount_bits = bits_chosen(
        "amount", amount_bits, amount_fraction_bits(largest), f"grid and wealth reach {largest:.3g}"
    )
    tol = resolved(problem, tol, value_bits, reach, raises_tol)
    grid, wealth = amounts_in_units(problem.grid, amount_bits), amounts_in_units(problem.wealth, amount_bits)
    _check_amounts(problem, grid, wealth, amount_bits)
    coarse = ""
    if problem.horizon is None:
        coarse = coarse_amounts(_ends(problem)[0], problem.eta, tol, amount_bits)
    discount = Fraction(problem.beta)
    products = [min(round(discount * Fraction(q) * 2**64), 2**64 - 1) for q in problem.transition.ravel().tolist()]
    return Image(
        amount_bits=amount_bits,
        value_bits=value_bits,
        grid=grid,
        wealth=wealth,
        transition=np.array(products, dtype=np.uint64).reshape(problem.transition.shape),
        start=Fixed(value_bits).encode(start),
        constants=UtilityConstants.of(problem.eta, amount_bits, value_bits),
        epsilon=min(math.ceil(Fraction(tol) * 2**value_bits), 2**64 - 1),
        note=" ".join(filter(None, (_note(problem, value_bits), coarse))),
    )
