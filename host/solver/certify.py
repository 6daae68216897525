"""The public function :func:`certify`, and the method ``verify`` of results: checks of arguments and what follows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.host.problem.checks import ProblemError, first, numbers_of, place, shown
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.problem.problem import Problem
from beltline.host.results.outcome import Outcome
from beltline.host.solver.certificate import (
    LARGEST,
    Certificate,
    claimed,
    claimed_program,
    confirmed,
    of_one_alternative,
)
from beltline.host.solver.judgement import concluded
from beltline.host.solver.options import SolveOptions

if TYPE_CHECKING:
    from beltline.host.results.result import Result


def certify(
    problem: Problem | DiscreteProblem,
    value: ArrayLike,
    policy: ArrayLike | None = None,
    alternative: ArrayLike | None = None,
) -> Certificate:
    """Prove how good a value function and its choices are, wherever they come from.

    The Bellman operator is applied to the value once more, on the problem's own grid and exactly: no concavity is
    assumed, rounding errors are bounded, and every candidate of every state is accounted for. Nothing is solved.

    Parameters
    ----------
    problem : Problem or DiscreteProblem
        The problem that the value should solve.
    value : array
        ``V`` in units of utility, finite (in a discrete problem also minus infinity), in the shape that results have:
        ``(N_k, N_z)``; ``(N_r, N_k, N_z)`` with regimes; the problem's ``shape`` if it is discrete; after an axis of
        ages with a horizon.
    policy : int array, optional
        The choices to judge, by default the best ones given ``value``: grid indexes in the shape of ``value``, as
        ``policy`` of a result, or ``(N_d, N_k, N_z)`` by alternative (after an axis of ages), as ``policy`` of its
        ``tables``; -1 where there is nothing to choose; actions if the problem is discrete. Actions that lead to the
        same distribution of the next state count as one.
    alternative : int array in the shape of ``value``, optional
        The numbers of the alternatives chosen; by default the best ones. Needed with a ``policy`` in the shape of
        ``value`` if there are several alternatives; not with taste shocks.

    Returns
    -------
    Certificate
        Residual and error bound by state, the best choices, and what is proven of each choice.

    Raises
    ------
    ProblemError
        The problem is neither of the two, an array has a wrong shape, ``value`` is not finite, or a choice does not
        exist.

    Examples
    --------
    A value that is off by 0.001 everywhere:

    >>> import beltline as bl
    >>> problem = bl.rbc(grid=64)
    >>> solved = bl.solve(problem)
    >>> certificate = bl.certify(problem, solved.value + 1e-3, solved.policy)
    >>> 1e-3 <= certificate.error_bound < 1.1e-3, certificate.improvable
    (True, 0)
    """
    if isinstance(problem, DiscreteProblem):
        return _of_discrete(problem, value, policy, alternative)
    if not isinstance(problem, Problem):
        raise ProblemError(f"problem must be a bl.Problem or a discrete problem, not {shown(problem)}")
    form = problem.form
    ages = () if form.horizon is None else (form.horizon,)
    whole = (*ages, *form.shape)
    shapes = [(*ages, *form.shape[1:]), whole] if form.shape[0] == 1 else [whole]
    V = _table("value", value, shapes)
    count = len(form.alternatives)
    choices = numbers = None
    if alternative is not None:
        if form.sigma > 0.0:
            raise ProblemError("alternative has no meaning with taste shocks, where every alternative is taken")
        numbers = _indexes("alternative", alternative, [V.shape], 0, count).reshape(whole)
        _check_alternatives(problem, numbers)
    if policy is not None:
        choices = _policy(policy, V.shape, whole, count, numbers, form.sigma > 0.0)
        if V.ndim == len(whole) - 1 and not problem.general:
            found = confirmed(problem, of_one_alternative(V, choices[..., 0, :, :]), LARGEST)
            if found is not None and found.tables is not None and np.array_equal(found.tables.policy, choices):
                return replace(found, best=True)
    return _by_state(claimed(problem, V, math.nan, math.inf, policy=choices, alternative=numbers))


def _by_state(claim: Certificate) -> Certificate:
    """Return a certificate with the largest residual and bound of all states."""
    found = claim.search()
    residual, bound = float(found.off.max()), float(found.error.max())
    return replace(claim, residual=residual, error_bound=bound, search=lambda: found, verified=True)


def verify(result: Result) -> Result:
    """Return ``result`` after a check of its value and choices; the method ``verify`` of results calls this."""
    problem, value, policy, alternative = result.problem, result.value, result.policy, result.alternative
    discrete = isinstance(problem, DiscreteProblem)
    if not discrete and problem.taste > 0.0 and result.of_alternatives is not None:
        policy, alternative = result.of_alternatives.policy, None
    found = certify(problem, value, policy, alternative)
    outcome, message = Outcome(result.status), result.message
    if result.success:
        message = "The value and the choices were checked again."
        if found.improvable:
            lost = f"{found.improvable:,} choices that are not the best; the worst loses {found.loss.max():.3g}"
            outcome, message = Outcome.NOT_VERIFIED, f"The check found {lost}."
    modulus = problem.program.modulus if discrete else problem.form.modulus()
    return replace(result, **concluded(found, SolveOptions(tol=result.tol), outcome, message, value, modulus))


def _of_discrete(problem: DiscreteProblem, value: Any, policy: Any, alternative: Any) -> Certificate:
    """Certify a value, and actions, of a discrete problem."""
    from beltline.gpu_ref.discrete.ending import endless_pairs

    if alternative is not None:
        raise ProblemError("a discrete problem has no alternatives: leave out alternative")
    program, pairs = problem.program, None
    shape = problem.answer_shape
    V = _table("value", value, [shape], least=-math.inf)
    rows = V.reshape(-1, program.states)
    if policy is not None:
        actions = _indexes("policy", policy, [shape], -1, int(program.action.max()) + 1).reshape(rows.shape)
        pairs = np.full(rows.shape, -1, np.int64)
        age, right = np.nonzero(program.action == actions[:, program.state])
        pairs[age, program.state[right]] = right
        wrong = (pairs < 0) & ((actions >= 0) | ((rows > -np.inf) & ~program.lost))
        if wrong.any():
            bad = np.unravel_index(int(np.argmax(wrong)), rows.shape)
            raise ProblemError(
                f"policy has action {actions[bad]} in {problem.state_name(int(bad[1]))}, where it cannot be taken, or "
                "where another action leads to the same distribution of the next state with no lower reward"
            )
    if pairs is not None and problem.horizon is None and problem.beta == 1.0:
        never = endless_pairs(program, np.where(program.lost, program.first[:-1], pairs[0]))
        if never.any():
            raise ProblemError(
                f"policy never reaches an end from {problem.state_name(int(np.argmax(never)))}, so it has no value "
                "with beta = 1"
            )
    return _by_state(claimed_program(problem, V, math.nan, math.inf, pairs))


def _table(name: str, given: Any, shapes: list[tuple[int, ...]], least: float = math.nan) -> NDArray[np.float64]:
    """Return a ``float64`` array in one of ``shapes``, finite or ``least``."""
    found = np.ascontiguousarray(numbers_of(name, given), np.float64)
    _check_shape(name, found, shapes)
    bad = ~np.isfinite(found) & (found != least)
    if bad.any():
        where = first(bad)
        raise ProblemError(f"{name} must be finite, but {place(name, where)} is {float(found[where])}")
    return found


def _indexes(name: str, given: Any, shapes: list[tuple[int, ...]], least: int, end: int) -> NDArray[np.int32]:
    """Return an ``int32`` array in one of ``shapes`` with entries from ``least`` to ``end - 1``."""
    found = numbers_of(name, given, "an array of whole numbers", "iu")
    _check_shape(name, found, shapes)
    wrong = (found < least) | (found >= end)
    if wrong.any():
        where = first(wrong)
        raise ProblemError(f"{name} must be from {least} to {end - 1}, but {place(name, where)} is {found[where]}")
    return np.ascontiguousarray(found, np.int32)


def _check_shape(name: str, found: NDArray[Any], shapes: list[tuple[int, ...]]) -> None:
    if found.shape not in shapes:
        raise ProblemError(f"{name} must have shape {' or '.join(map(str, shapes))}, not {found.shape}")


def _check_alternatives(problem: Problem, numbers: NDArray[np.int32]) -> None:
    """Check that every regime, the axis -3, has alternatives of its own."""
    regime = np.array([one.regime for one in problem.form.alternatives])
    wrong = regime[numbers] != np.arange(problem.form.shape[0])[:, None, None]
    if wrong.any():
        where = first(wrong)
        name = problem.alternatives[numbers[where]].name
        raise ProblemError(
            f"{place('alternative', where)} is {numbers[where]}, {name!r}, which regime "
            f"{problem.regimes[where[-3]]!r} does not have"
        )


def _policy(
    given: Any, shape: tuple[int, ...], whole: tuple[int, ...], count: int, numbers: Any, shocks: bool
) -> NDArray[np.int32]:
    """Return a policy by alternative, from one in the shape of the value or by alternative."""
    by_alternative = (*whole[:-3], count, *whole[-2:])
    grid = whole[-2]
    if count == 1:
        return _indexes("policy", given, [shape], 0, grid).reshape(by_alternative)
    shapes = [by_alternative] if shocks or count == whole[-3] else [by_alternative, shape]
    found = _indexes("policy", given, shapes, -1, grid)
    if found.shape == by_alternative:
        return found
    if numbers is None:
        raise ProblemError(
            f"alternative must be given with a policy in the shape of value, {shape}: a policy by alternative has "
            f"shape {by_alternative}"
        )
    policy = np.full(by_alternative, -1, np.int32)
    np.put_along_axis(policy, numbers, found.reshape(numbers.shape), axis=-3)
    return policy
