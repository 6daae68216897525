"""What a device returned, measured in double precision by a search that needs no concavity.

After every solve the Bellman operator ``T`` is applied once more to the returned ``V``, on the problem's own tables
(not their fixed-point image), by :func:`beltline.gpu_ref.compare.compare`, which begins from the returned policy and
rests on nothing but ``W`` being non-decreasing. Whatever the device's search did, ``T`` is a contraction of modulus
``beta`` (Blackwell 1965, "Discounted dynamic programming", Annals of Mathematical Statistics 36), so

    max |V - V*|  <=  max |TV - V| / (1 - beta)

holds of the numbers returned. A search that missed a maximum shows: with ``V = T_fixed V_before`` and the reported
largest change ``d = max |V - V_before|``, no state's ``|TV - V|`` may exceed ``beta d`` and the rounding of one sweep.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.host.devices.base import DeviceTimeoutError
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import marginal_utility, slope_noise, utility
from beltline.host.solver.costs import costs_of
from beltline.host.solver.fixed_point import UTILITY_ERROR, Image, modulus

DOUBLE = 2.0**-53
"""Largest relative error of one rounding of double precision."""


Miss = tuple[int, int, float, int]
"""The first state that missed its maximum: grid point, exogenous state, by how much, and of how many states."""


@dataclass(frozen=True)
class Verification:
    """How good the returned ``V`` is.

    Parameters
    ----------
    residual
        Largest ``|TV - V|``; with a finite horizon over all ages ``|T V_next - V|``.
    error_bound
        Bound on the largest ``|V - V*|``.
    independent
        Whether both were computed from ``V``; otherwise they are derived from the change that the device reported.
    missed
        Empty, or a clause that names the first state where the search missed the maximum.
    """

    residual: float
    error_bound: float
    independent: bool
    missed: str = ""


def fixed_rounding(
    problem: Problem,
    image: Image,
    consumption: NDArray[np.float64],
    size: NDArray[np.float64],
    largest: float,
) -> NDArray[np.float64]:
    """Return how far one fixed-point sweep may be from the exact one, where it chooses this ``consumption``, whose
    utility has this ``size``.

    Utility is off by a unit or ``2**-50`` of itself; the expectation by half a unit and by the rounding of ``beta Q``
    (``2**-65`` each, times ``largest``, the largest ``|V|``); ``V0`` by half a unit; ``W`` and ``x'`` by half a unit of
    money each, times marginal utility.
    """
    unit = image.money_unit
    return (
        2 * image.value_unit
        + UTILITY_ERROR * size
        + unit * marginal_utility(consumption - unit, problem.eta)
        + problem.states * 2.0**-65 * largest
    )


def one_sweep(
    problem: Problem,
    image: Image,
    before: NDArray[np.float64],
    value: NDArray[np.float64],
    policy: NDArray[np.int32],
    slack: float,
) -> tuple[float, float, Miss | None]:
    """Return the residual of ``value`` against ``T before``, its rounding, and the first miss (x, s, gap, of how many).

    ``slack`` is what ``T before`` may differ from the sweep that the device did: ``beta`` times its last change.
    """
    from beltline.gpu_ref.compare import Allowed, compare

    # Twice: the device's sweep started from the V before, whose exact choice may be another one, and where a choice
    # was the best for the V before, it may lose the slack there and again here.
    largest = float(max(np.abs(before).max(), np.abs(value).max())) + slack
    units = 2 * image.value_unit + problem.states * 2.0**-65 * largest
    allowed = Allowed(slack, units, UTILITY_ERROR, image.money_unit, 2.0)
    tables = problem.grid, problem.wealth, problem.transition
    found = compare(*tables, before, problem.beta, problem.eta, value, policy, allowed)
    if not found.missed:
        return found.residual, found.rounding, None
    x, s = divmod(found.state, problem.states)
    return found.residual, found.rounding, (x, s, found.amount, found.missed)


Sweep = Callable[
    [Problem, Image, NDArray[np.float64], NDArray[np.float64], NDArray[np.int32], float],
    tuple[float, float, Miss | None],
]
"""As :func:`one_sweep`."""


def _missed(miss: Miss, age: str = "") -> str:
    x, s, gap, count = miss
    more = "" if count == 1 else f", the first of {count:,} states"
    return (
        f"an exact double-precision sweep finds the maximum missed by {gap:.3g} at grid point {x}, state {s}{age}{more}"
    )


def _check_time(deadline: float, done: int, ages: int) -> None:
    """Raise ``DeviceTimeoutError`` where the ages of a run take longer to verify than the solve may."""
    if time.monotonic() >= deadline:
        raise DeviceTimeoutError(
            f"the run ended in time, but the timeout was over when {done:,} of its {ages:,} ages were verified"
        )


def measure(
    problem: Problem,
    image: Image,
    value: NDArray[np.float64],
    policy: NDArray[np.int32],
    change: float,
    deadline: float = math.inf,
    sweep: Sweep = one_sweep,
) -> Verification:
    """Measure a result with one exact sweep in double precision, or with one for each age.

    Parameters
    ----------
    problem
    image
        Its fractions' bits say how much rounding to allow.
    value, policy : (N_k, N_z) arrays, or (T, N_k, N_z) with the first age first
    change
        Largest change of ``V`` in the last sweep, as the device reported it; not looked at with a horizon.
    deadline
        Of ``time.monotonic``, for a horizon, whose ages may be many.
    sweep
        What makes the exact sweep.

    Raises
    ------
    DeviceTimeoutError
        The deadline was over before the last age.
    """
    contraction = modulus(problem)
    if problem.horizon is None:
        residual, doubt, miss = sweep(problem, image, value, value, policy, contraction * change)
        bound = (residual + doubt) / (1 - contraction)
        return Verification(residual, bound, True, _missed(miss) if miss else "")
    worst = bound = error = 0.0
    missed = ""
    following = problem.start.reshape(value.shape[1:])
    for age in range(value.shape[0] - 1, -1, -1):
        _check_time(deadline, value.shape[0] - 1 - age, value.shape[0])
        residual, doubt, miss = sweep(problem, image, following, value[age], policy[age], 0.0)
        worst = max(worst, residual)
        error = contraction * error + residual + doubt
        bound = max(bound, error)
        if miss and not missed:
            missed = _missed(miss, f", age {problem.horizon - value.shape[0] + age + 1}")
        following = value[age]
    return Verification(worst, bound, True, missed)


def peaked(
    problem: Problem, image: Image, value: NDArray[np.int64], change: int = 0, deadline: float = math.inf
) -> bool:
    """Whether every objective of the sweep that follows from ``value`` is proven single-peaked, so that any climb ends
    at its maximum; with a horizon, of the sweep of every age.

    Parameters
    ----------
    problem
    image
    value : (N_k, N_z) int64 array, or (T, N_k, N_z) in the order of the sweeps
        In the image's units.
    change
        Also of the sweep from any value that is no more than this from ``value``, in the same units: the sweep that
        found ``value`` is one. Not looked at with a horizon, whose sweeps are all known.
    deadline
        As of :func:`measure`.

    Raises
    ------
    DeviceTimeoutError
        As :func:`measure`.
    """
    # Here, because it compiles.
    from beltline.hw.arithmetic.expectation import ExpectationParameters
    from beltline.hw.arithmetic.single_peak import curvature_room, single_peaked

    room = curvature_room(image.grid, image.wealth, image.constants)
    if problem.horizon is None:
        room = room - slope_noise(image.grid.astype(np.float64), float(change + 1))[:, None]
    unit = ExpectationParameters(problem.states)
    befores = [value] if problem.horizon is None else [image.start, *value[:-1]]
    for age, before in enumerate(befores):
        _check_time(deadline, age, len(befores))
        if not single_peaked(unit.model(before, image.transition)[0], image.grid, room):
            return False
    return True


UNBOUNDED = (
    " The search rests on objectives with a single peak, which is not proven here, so without verification the error"
    " has no bound."
)
"""Sentence on a result that nobody measured."""

UNPROVEN = Verification(math.inf, math.inf, False)
"""Of a result that nobody measured, by a search that rests on a single peak where none is proven."""


def _consumption(problem: Problem, policy: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Consumption of a policy, and of the next dearer choice of each state that is not dominated."""
    costs, above = costs_of(problem), np.minimum(policy + 1, problem.points - 1)
    if costs is None:
        return problem.wealth - problem.grid[policy], problem.wealth - problem.grid[above]
    columns = np.arange(problem.states)
    dearer = costs.table[costs.stands[above, columns], columns]
    return problem.wealth - costs.table[policy, columns], problem.wealth - dearer


def trust(
    problem: Problem,
    image: Image,
    value: NDArray[np.float64],
    policy: NDArray[np.int32],
    change: float,
    proven: bool = False,
) -> Verification:
    """Return what the device's own numbers imply, if its searches missed nothing.

    Arguments as of :func:`measure`; ``proven`` where the device proved its choices by their neighbours' brackets, with
    utilities that are off by a unit or ``2**-50`` of themselves: from point to point of the grid that may add up. The
    residual is at most ``beta`` times the last change, plus a sweep's rounding, at
    the consumption of the choice or, as the exact sweep may choose it, of the next one; and ``value`` has been rounded
    to double precision.
    """
    contraction = modulus(problem)
    largest = float(max(np.abs(value).max(), np.abs(problem.start).max()))
    chosen, dearer = _consumption(problem, policy)
    consumption = np.where(dearer > image.money_unit, dearer, chosen)
    size = np.abs(utility(consumption, problem.eta))
    rounding = 2 * float(fixed_rounding(problem, image, consumption, size, largest).max()) + 2 * DOUBLE * largest
    if proven:
        # A candidate that comes near the best has no larger utility than a value and an expectation together.
        rounding += 2 * problem.points * (image.value_unit + UTILITY_ERROR * 2 * largest)
    if problem.cost is not None:
        # By that much values may fall in x, after rounding, and so may a dominated candidate seem better.
        rounding += 3 * (image.value_unit + UTILITY_ERROR * 2 * largest)
    if problem.horizon is None:
        residual = contraction * change + rounding
        return Verification(residual, residual / (1 - contraction), False)
    error = 0.0
    for _ in range(value.shape[0]):
        error = contraction * error + rounding
    return Verification(rounding, error, False)
