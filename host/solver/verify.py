"""Verification of the accelerator's results in double precision, by a search that does not assume concavity.

After every solve the Bellman operator ``T`` is applied once more to the returned ``V``, on the problem's own tables
(not their fixed-point image), by :func:`beltline.gpu_ref.compare.compare`. It begins from the returned policy and
assumes only that ``W`` does not fall in ``x``. Whatever the device did, ``T`` is a contraction of modulus ``beta``
(Blackwell 1965, "Discounted dynamic programming", Annals of Mathematical Statistics 36), so that

    max |V - V*|  <=  max |TV - V| / (1 - beta)

holds for the returned numbers. It also shows whether a maximum was missed: with ``V = T_fixed V_before`` and the
reported largest change ``d = max |V - V_before|``, in no state may ``|TV - V|`` exceed ``beta d`` plus the rounding of
one sweep.
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
from beltline.host.solver.fixed_point import UTILITY_ERROR, Image

DOUBLE = 2.0**-53
"""Largest relative error of one rounding of double precision."""


Miss = tuple[int, int, float, int]
"""The first state whose maximum was missed: grid point, exogenous state, by how much, and the number of such states."""


Swept = tuple[float, float, Miss | None, NDArray[np.int32]]
"""What :func:`one_sweep` returns."""


@dataclass(frozen=True)
class Verification:
    """The measured quality of a returned ``V``.

    Parameters
    ----------
    residual
        Largest ``|TV - V|``; with a horizon the largest ``|T V_next - V|`` over all ages. In units of utility.
    error_bound
        Bound on the largest ``|V - V*|``, in units of utility.
    independent
        Whether both were computed from ``V``. If not, they are derived from the change that the device reported.
    missed
        Empty, or a clause about the first state whose value or choice is wrong.
    policy, choice
        The best choices at ``V``, and in the general form the best alternatives, of the shape of those of the result;
        None if these are to be kept.
    """

    residual: float
    error_bound: float
    independent: bool
    missed: str = ""
    policy: NDArray[np.int32] | None = None
    choice: NDArray[np.int32] | None = None


def fixed_rounding(
    problem: Problem,
    image: Image,
    consumption: NDArray[np.float64],
    size: NDArray[np.float64],
    largest: float,
) -> NDArray[np.float64]:
    """Return a bound on the error of one fixed-point sweep against the exact one, in units of utility.

    Utility has an error of one unit in the last place or ``2**-50`` of itself. The expectation has one of half a unit,
    and of the rounding of ``beta Q``, ``2**-65`` for each state, times the largest ``|V|``. ``V0`` has one of half a
    unit; ``W`` and ``x'`` have one of half a unit of amounts each, times marginal utility.

    Parameters
    ----------
    problem, image
    consumption
        Consumption of the choices.
    size
        Absolute value of their utility.
    largest
        Largest ``|V|``.
    """
    unit = image.amount_unit
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
) -> Swept:
    """Compare a sweep of the device with an exact sweep from ``before``.

    Parameters
    ----------
    problem, image
    before
        The value function that the exact sweep starts from.
    value, policy
        What the device returned.
    slack
        Bound on the difference of ``T before`` from the exact result of the device's own sweep, which may have started
        from another value function: ``beta`` times its last change.

    Returns
    -------
    residual, rounding
        Largest ``|T before - value|``, and its rounding error.
    miss
        A :data:`Miss`, or None if no maximum was missed.
    exact
        The choices of the exact sweep.
    """
    from beltline.gpu_ref.compare import compare
    from beltline.gpu_ref.comparison import Allowed
    from beltline.gpu_ref.methods import largest_value

    # The last argument of Allowed doubles the slack for choices: a choice that was the best for the V before may lose
    # by the slack there, and once more here.
    largest = max(largest_value(table) for table in ((value,) if before is value else (before, value))) + slack
    units = 2 * image.value_unit + problem.states * 2.0**-65 * largest
    allowed = Allowed(slack, units, UTILITY_ERROR, image.amount_unit, 2.0)
    tables = problem.grid, problem.wealth, problem.transition
    found = compare(*tables, before, problem.beta, problem.eta, value, policy, allowed)
    exact = policy if found.policy is None else found.policy
    if not found.missed:
        return found.residual, found.rounding, None, exact
    x, s = divmod(found.state, problem.states)
    return found.residual, found.rounding, (x, s, found.amount, found.missed), exact


Sweep = Callable[
    [Problem, Image, NDArray[np.float64], NDArray[np.float64], NDArray[np.int32], float],
    Swept,
]
"""A function like :func:`one_sweep`."""


def _missed(miss: Miss, age: str = "") -> str:
    x, s, gap, count = miss
    more = "" if count == 1 else f", the first of {count:,} states"
    return (
        f"an exact sweep in double precision finds an error of {gap:.3g} in value or choice at grid point {x}, "
        f"state {s}{age}{more}"
    )


def _check_time(deadline: float, done: int, ages: int) -> None:
    """Raise ``DeviceTimeoutError`` if verification of the ages goes on after the timeout of the solve."""
    if time.monotonic() >= deadline:
        raise DeviceTimeoutError(
            f"the run ended in time, but timeout was reached when only {done:,} of its {ages:,} ages were verified: "
            f"allow more seconds, or use verify=False"
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
    """Verify a result by one exact sweep in double precision, or by one for each age.

    Parameters
    ----------
    problem
    image
        Its number formats determine how much rounding is allowed.
    value, policy : (N_k, N_z) arrays, or (T, N_k, N_z) with the first age first
        What the device returned.
    change
        Largest change of ``V`` in the last sweep, as the device reported it; ignored with a horizon.
    deadline
        Time (of ``time.monotonic``) at which verification is given up; for a horizon, which may have many ages.
    sweep
        The function that makes the exact sweep.

    Raises
    ------
    DeviceTimeoutError
        The deadline was over before the last age.
    """
    contraction = problem.modulus
    if problem.horizon is None:
        residual, doubt, miss, exact = sweep(problem, image, value, value, policy, contraction * change)
        bound = (residual + doubt) / (1 - contraction)
        return Verification(residual, bound, True, _missed(miss) if miss else "", None if miss else exact)
    worst = bound = error = 0.0
    missed, best = "", policy.copy()
    following = problem.start.reshape(value.shape[1:])
    for age in range(value.shape[0] - 1, -1, -1):
        _check_time(deadline, value.shape[0] - 1 - age, value.shape[0])
        residual, doubt, miss, best[age] = sweep(problem, image, following, value[age], policy[age], 0.0)
        worst = max(worst, residual)
        error = contraction * error + residual + doubt
        bound = max(bound, error)
        if miss and not missed:
            missed = _missed(miss, f", age {problem.horizon - value.shape[0] + age + 1}")
        following = value[age]
    return Verification(worst, bound, True, missed, None if missed else best)


def peaked(
    problem: Problem, image: Image, value: NDArray[np.int64], change: int = 0, deadline: float = math.inf
) -> bool:
    """Return whether every objective of a sweep is proven to have a single peak, so that local search finds it.

    The sweep is the one that starts from ``value``; with a horizon every age's sweep is checked.

    Parameters
    ----------
    problem
    image
    value : (N_k, N_z) int64 array, or (T, N_k, N_z) in the order of the sweeps
        In the units of ``image``.
    change
        The proof also covers sweeps from any value function within this distance of ``value``, in the same units, such
        as the sweep that computed ``value``. Ignored with a horizon, where the start of every sweep is known.
    deadline
        As for :func:`measure`.

    Raises
    ------
    DeviceTimeoutError
        As :func:`measure`.
    """
    # Imported here because they load compiled code.
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


UNPROVEN = Verification(math.inf, math.inf, False)
"""Quality of a result that was not verified, by a search that assumes a single peak which is not proven."""


def _consumption(problem: Problem, policy: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return consumption under a policy, and under the next more expensive choice that is not dominated."""
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
    """Return the quality that follows from the numbers of the device, if its search missed no maximum.

    The residual is at most ``beta`` times the last change plus the rounding of a sweep. The rounding is that at the
    consumption of the choice or of the next more expensive one, which the exact sweep may choose. The
    rounding of ``value`` to double precision is added. Parameters not listed are those of :func:`measure`.

    Parameters
    ----------
    proven
        Whether the device proved its choices by search between the choices of neighbouring states. The proof compares
        utilities with an error of one unit or ``2**-50`` of themselves, which may add up from grid point to grid point.
    """
    contraction = problem.modulus
    largest = float(max(np.abs(value).max(), np.abs(problem.start).max()))
    chosen, dearer = _consumption(problem, policy)
    consumption = np.where(dearer > image.amount_unit, dearer, chosen)
    size = np.abs(utility(consumption, problem.eta))
    rounding = 2 * float(fixed_rounding(problem, image, consumption, size, largest).max()) + 2 * DOUBLE * largest
    if proven:
        # The utility of a candidate close to the best is at most the sum of a value and an expectation.
        rounding += 2 * problem.points * (image.value_unit + UTILITY_ERROR * 2 * largest)
    if problem.cost is not None:
        # After rounding, values may fall in x by this much, and a dominated candidate may seem better by as much.
        rounding += 3 * (image.value_unit + UTILITY_ERROR * 2 * largest)
    if problem.horizon is None:
        residual = contraction * change + rounding
        return Verification(residual, residual / (1 - contraction), False)
    error = 0.0
    for _ in range(value.shape[0]):
        error = contraction * error + rounding
    return Verification(rounding, error, False)
