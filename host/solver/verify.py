"""Verification of results of every device in double precision, by a search that does not assume concavity.

After every solve the Bellman operator ``T`` is applied once more to the returned ``V``, on the problem's own tables.
Where the problem has the simple form, one fast pass usually confirms the result (:mod:`beltline.gpu_ref.confirmation`);
otherwise :func:`beltline.gpu_ref.general.certificate.certify` maximises every alternative in every state. Whatever the
device did, ``T`` is a contraction of modulus ``beta`` (Blackwell 1965, "Discounted dynamic programming", Annals of
Mathematical Statistics 36), so that

    max |V - V*|  <=  max |TV - V| / (1 - beta)

holds for the returned numbers. It also shows whether a maximum was missed: with ``V = T_device V_before`` and the
reported largest change ``d = max |V - V_before|``, in no state may ``|TV - V|`` exceed ``beta d`` plus the rounding of
one sweep. A device supplies only its rounding.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.comparison import Confirmed
from beltline.host.devices.base import DeviceTimeoutError
from beltline.host.problem.general import start_of
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import marginal_utility, slope_noise, utility
from beltline.host.results.result import Tables
from beltline.host.solver.fixed_point import UTILITY_ERROR, Image, costs_of

if TYPE_CHECKING:
    from beltline.gpu_ref.general.certificate import Answer, Miss
    from beltline.gpu_ref.general.form import Form

DOUBLE = 2.0**-53
"""Largest relative error of one rounding of double precision."""

GPU_COMPARES = 2**12
"""Number of states from which a GPU compares a solution. Smaller ones take it longer than a processor, because of its
launches and copies.
"""

TIMES = 2.0
"""Number of a machine's sweeps whose rounding is allowed for: its last one, and the one that verifies it."""


def of_one_alternative(value: NDArray[np.float64], policy: NDArray[np.int32]) -> Tables:
    """Return the solution of a problem with one alternative and one regime, from tables without these axes."""
    value, policy = value[..., None, :, :], policy[..., None, :, :]
    return Tables(value, value, policy, np.zeros_like(policy), np.ones_like(value))


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
        Empty, or a clause about the largest error of a value or a choice.
    policy, choice
        The best choices given ``V``, and in the general form the best alternatives, of the shape of those that were
        measured; None if these are to be kept.
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


def _sentence(problem: Problem, form: Form, miss: Miss, count: int) -> str:
    """Return a clause about the largest error that the search found."""
    from beltline.gpu_ref.general.certificate import (
        ALTERNATIVE_CHOICE,
        ALTERNATIVE_VALUE,
        POLICY,
        PROBABILITY,
        REGIME_VALUE,
    )

    name = form.alternatives[miss.alternative].name
    of = f" of alternative {name!r}" if problem.alternatives else ""
    what = {
        ALTERNATIVE_VALUE: f"the value{of} wrong",
        POLICY: f"a choice{of} better",
        REGIME_VALUE: f"the value, which is that of alternative {name!r}, wrong",
        ALTERNATIVE_CHOICE: f"alternative {name!r} better than the one that was chosen",
        PROBABILITY: f"the probability of alternative {name!r} wrong",
    }[miss.kind]
    size = f"by {miss.amount:.3g}" if math.isfinite(miss.amount) else "without bound"
    age = "" if problem.horizon is None else f", age {miss.age + 1}"
    more = "" if count == 1 else f", the largest of {count:,} errors"
    return f"a second, exact search finds {what} {size} at grid point {miss.x}, state {miss.s}{age}{more}"


def _check_time(deadline: float, done: int, ages: int) -> None:
    """Raise ``DeviceTimeoutError`` if verification of the ages goes on after the timeout of the solve."""
    if time.monotonic() >= deadline:
        raise DeviceTimeoutError(
            f"the run ended in time, but timeout was reached when only {done:,} of its {ages:,} ages were verified: "
            f"allow more seconds, or use verify=False"
        )


def measured(
    problem: Problem,
    answer: Answer,
    change: float,
    form: Form | None = None,
    rounding: NDArray[np.float64] | None = None,
    deadline: float = math.inf,
) -> Verification:
    """Measure a result of any problem and prove its choices by a search of every alternative in every state.

    Parameters
    ----------
    problem
        The problem; its horizon and ``start`` are used.
    answer
        The result to verify; its values must be finite.
    change
        Change of the value in the last sweep, in units of utility; ignored with a horizon.
    form
        Tables of the problem; if prices depend on the solution, those at the prices for which it is measured.
    rounding
        Bound on the rounding errors of the device's sweep, of the shape of ``answer.values``, in units of utility; by
        default those of double precision.
    deadline
        Time (of ``time.monotonic``) at which verification is given up; for a horizon, which may have many ages.

    Raises
    ------
    DeviceTimeoutError
        The deadline was over before the last age.
    """
    from beltline.gpu_ref.general.certificate import certify

    form = problem.form if form is None else form

    def before_age(done: int) -> None:
        _check_time(deadline, done, len(answer.value))

    # No rounding of the device excuses a choice that it should not have made.
    coarse = None if rounding is None else TIMES * np.where(np.isfinite(rounding), rounding, 0.0)
    found = certify(form, answer, change, start_of(problem), coarse, before_age if form.horizon else None)
    if found.miss is not None:
        sentence = _sentence(problem, form, found.miss, found.missed)
        return Verification(found.residual, found.error_bound, True, sentence)
    return Verification(found.residual, found.error_bound, True, "", found.policy, found.choice)


def with_best(problem: Problem, tables: Tables, quality: Verification) -> Tables:
    """Return the tables of a result with the best choices and alternatives given its value, as verification found them.

    Results that failed verification keep theirs.
    """
    if quality.policy is None or quality.choice is None:
        return tables
    found = tables._replace(policy=quality.policy, choice=quality.choice)
    if problem.taste:
        return found
    regimes = [problem.regimes.index(one.regime) for one in problem.alternatives] or [0]
    taken = [quality.choice[..., r, :, :] == d for d, r in enumerate(regimes)]
    return found._replace(probabilities=np.stack(taken, axis=-3).astype(np.float64))


def measure(
    problem: Problem,
    value: NDArray[np.float64],
    policy: NDArray[np.int32],
    change: float,
    device: str = "cpu",
    compared: Confirmed | None = None,
    rounding: NDArray[np.float64] | None = None,
    deadline: float = math.inf,
) -> Verification:
    """Measure a result with one alternative by an exact sweep, or by one for each age.

    Parameters not listed are those of :func:`measured`.

    Parameters
    ----------
    value, policy : (N_k, N_z) arrays, or (T, N_k, N_z) with the first age first
        What the device returned. The policy must not contain dominated candidates.
    change
        As for :func:`measured`; infinite for a stopping rule without a guarantee.
    device
        Where to confirm the result, ``"cpu"`` or ``"gpu"``.
    compared
        The residual and its rounding error, if the solver has confirmed the result itself.
    """
    last = 0.0 if problem.horizon is not None else min(change, np.finfo(np.float64).max)
    within = problem.modulus * last + (0.0 if rounding is None else TIMES * float(rounding.min()))
    ages: list[Confirmed | None] = [compared]
    if compared is None and not problem.general:
        ages = _confirmed_ages(problem, value, policy, within, device, deadline)
    modulus, residual, error, bound = problem.modulus, 0.0, 0.0, 0.0
    policies = [policy] if problem.horizon is None else list(policy)
    for age in reversed(ages):
        if age is None:
            wide = None if rounding is None else rounding[..., None, :, :]
            found = measured(problem, of_one_alternative(value, policy), last, None, wide, deadline)
            return found if found.policy is None else replace(found, policy=found.policy[..., 0, :, :], choice=None)
        residual = max(residual, age.residual)
        error = modulus * error + age.residual + age.rounding
        bound = max(bound, error)
    best = [p if age is None or age.policy is None else age.policy for age, p in zip(ages, policies, strict=True)]
    exact = best[0] if problem.horizon is None else np.stack(best)
    return Verification(residual, bound if problem.horizon is not None else bound / (1.0 - modulus), True, "", exact)


def _confirmed_ages(
    problem: Problem,
    value: NDArray[np.float64],
    policy: NDArray[np.int32],
    change: float,
    device: str,
    deadline: float,
) -> list[Confirmed | None]:
    """Confirm every age, the last one first, until one is not confirmed; return the outcomes in the order of ages."""
    from beltline.gpu_ref.confirmation import confirmed
    from beltline.gpu_ref.tables import as_writable, check_tables

    tables = as_writable(problem.grid), as_writable(problem.wealth), as_writable(problem.transition)
    numbers = problem.beta, problem.eta
    card = _card(problem) if device == "gpu" else None
    horizon = problem.horizon is not None
    # A run that was stopped has fewer ages, the last ones.
    values, policies = (value, policy) if horizon else (value[None], policy[None])
    following, found = problem.start if horizon else value, list[Confirmed | None]()
    for done in range(len(values)):
        if horizon:
            _check_time(deadline, done, len(values))
        now, own = np.ascontiguousarray(values[-1 - done]), np.ascontiguousarray(policies[-1 - done], np.int32)
        if not checked(problem):
            check_tables(*tables, following, *numbers, ordered=True)
        one = card(following, now, own, change) if card else None
        one = one or confirmed(*tables, as_writable(np.ascontiguousarray(following)), *numbers, now, own, change)
        found.insert(0, one)
        if one is None:
            break
        following = now
    return found


def _card(problem: Problem) -> Callable[..., Confirmed | None] | None:
    """Return the function that confirms a result on the GPU, None if the problem is small or does not fit there."""
    from beltline.gpu_ref.cuda.device import available

    if problem.points * problem.states < GPU_COMPARES or available():
        return None
    from beltline.gpu_ref.cuda.device_confirmation import Confirmation

    try:
        return Confirmation(problem.grid, problem.wealth, problem.transition, problem.beta, problem.eta).compare
    except MemoryError:
        return None


def checked(problem: Problem) -> bool:
    """Return whether the tables are those that the problem has checked: only pickled copies of it can be changed."""
    grid, wealth, transition, start = problem.grid, problem.wealth, problem.transition, problem.start
    written = grid.flags.writeable or wealth.flags.writeable or transition.flags.writeable or start.flags.writeable
    return not written


def confirms(problem: Problem, verify: bool) -> bool:
    """Return whether a GPU compares a solution with an exact sweep before it is copied to the host."""
    return verify and problem.points * problem.states >= GPU_COMPARES


def rounding_of_choices(
    problem: Problem, image: Image, value: NDArray[np.float64], policy: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return :func:`fixed_rounding` of a sweep with one alternative, in every state of ``policy``.

    It is that at the consumption of the choice or of the next more expensive one, which an exact sweep may choose;
    infinite for a choice that is not affordable, or whose consumption is no larger than its rounding error.
    """
    largest = float(max(np.abs(value).max(), np.abs(problem.start).max()))
    chosen, dearer = _consumption(problem, np.clip(policy, 0, problem.points - 1))
    consumption = np.where(dearer > image.amount_unit, dearer, chosen)
    return fixed_rounding(problem, image, consumption, np.abs(utility(consumption, problem.eta)), largest)


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
    rounding = 2 * float(rounding_of_choices(problem, image, value, policy).max()) + 2 * DOUBLE * largest
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
