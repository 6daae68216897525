"""Certificates: what is proven of a value function, and of choices, wherever they come from."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.host.problem.checks import ProblemError, first, numbers_of, place, shown
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.problem.general import start_of
from beltline.host.problem.problem import Problem
from beltline.host.problem.report import Report, as_html, as_text, report
from beltline.host.results.outcome import Outcome
from beltline.host.solver.judgement import judged, promised
from beltline.host.solver.options import SolveOptions

if TYPE_CHECKING:
    from beltline.gpu_ref.bounds import Certified
    from beltline.host.results.result import Result


@dataclass(frozen=True, eq=False)
class Certificate:
    """What :func:`certify` has proven of a value ``V`` and its choices.

    Attributes
    ----------
    residual_by_state : array of the shape of ``V``
        ``|TV - V|``, in units of utility; with a horizon ``|T V_next - V|`` at each age.
    error_bound_by_state : array of the shape of ``V``
        Bound on ``|V - V*|``, the distance from the exact solution on the grid, rounding included, in units of utility.
    policy : int32 array
        The best choice given ``V``, the lowest of equals: a grid index (-1 for an alternative without a choice, or that
        cannot be taken), or the action of a discrete problem. It has the shape of ``V``; with taste shocks, where every
        alternative is taken, an axis of alternatives comes before ``x``, in place of that of regimes.
    alternative : int32 array of the shape of ``V``, or None
        The number of the best alternative, the first of equals. None with a single one, with taste shocks, and for a
        discrete problem.
    status : int8 array of the shape of ``policy``
        What is proven of the choices given to :func:`certify`, or of ``policy`` if none were: ``ONLY_BEST`` (1), it is
        the only best choice of the exact solution; ``IMPROVABLE`` (-1), ``policy`` (and ``alternative``) is a better
        choice for the exact solution; ``TIED`` (0), neither: the bound is not small enough to tell it from another.
    loss : array of the shape of ``policy``
        By how much the choice is worse than ``policy`` given ``V``, in units of utility; infinite where it is not
        affordable or not allowed.
    problem : Problem or DiscreteProblem
        The problem.
    """

    residual_by_state: NDArray[np.float64]
    error_bound_by_state: NDArray[np.float64]
    policy: NDArray[np.int32]
    alternative: NDArray[np.int32] | None
    status: NDArray[np.int8]
    loss: NDArray[np.float64]
    problem: Problem | DiscreteProblem

    ONLY_BEST = 1
    TIED = 0
    IMPROVABLE = -1

    @property
    def residual(self) -> float:
        """The largest ``|TV - V|``, in units of utility."""
        return float(self.residual_by_state.max())

    @property
    def error_bound(self) -> float:
        """Bound on the largest ``|V - V*|``, in units of utility."""
        return float(self.error_bound_by_state.max())

    @property
    def only_best(self) -> int:
        """Number of choices that are proven the only best of the exact solution."""
        return int((self.status == self.ONLY_BEST).sum())

    @property
    def tied(self) -> int:
        """Number of choices that are equal to the best within the bound."""
        return int((self.status == self.TIED).sum())

    @property
    def improvable(self) -> int:
        """Number of choices that are proven not to be the best of the exact solution."""
        return int((self.status == self.IMPROVABLE).sum())

    @property
    def success(self) -> bool:
        """Whether the value has a finite error bound in every state and no choice is improvable.

        It is then proven that every value is within its bound, and that every choice is the best of the exact solution
        or equal to it within the bound. How small the bound is, is not judged.
        """
        return math.isfinite(self.error_bound) and not self.improvable

    def _report(self) -> Report:
        bound, count = self.error_bound_by_state, self.status.size
        rows = [
            ("residual", f"{self.residual:.3g}, the largest |TV - V|, in {self._where(self.residual_by_state)}"),
            (
                "error bound",
                f"{self.error_bound:.3g} on |V - V*|, in {self._where(bound)}; in half of the states at most "
                f"{np.median(bound):.3g}",
            ),
            ("only best", f"{self.only_best:,} of {count:,} choices are proven the only best of the exact solution"),
            ("tied", f"{self.tied:,} are equal to the best within the bound"),
        ]
        worst = ""
        if self.improvable:
            worst = f"; the worst loses {self.loss.max():.3g}, in {self._where(self.loss)}"
        rows.append(("improvable", f"{self.improvable:,} are proven not to be the best{worst}"))
        return report(f"Certificate of a value of {self.problem.name}", rows)

    def _where(self, table: NDArray[np.float64]) -> str:
        """Return the name of the first state with the largest entry of ``table``."""
        index = np.unravel_index(int(np.argmax(table)), table.shape)
        ages = "" if self.problem.horizon is None else f", age {index[0] + 1}"
        if isinstance(self.problem, DiscreteProblem):
            shape = self.problem.shape
            return self.problem.state_name(int(np.ravel_multi_index(index[-len(shape) :], shape))) + ages
        which = ""
        if len(index) - bool(ages) > 2:
            number = int(index[-3])
            if self.alternative is None and table is self.loss:
                which = f", alternative {self.problem.alternatives[number].name!r}"
            else:
                which = f", regime {self.problem.regimes[number]!r}"
        return f"grid point {index[-2]}, state {index[-1]}{which}{ages}"

    __str__ = __repr__ = as_text
    _repr_html_ = as_html


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
    from beltline.gpu_ref.general.certificate import certify_form

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
    found = certify_form(form, V.reshape(whole), choices, numbers, start_of(problem))
    several = count > 1 and found.alternative is not None
    shape = V.shape if found.alternative is not None or count == form.shape[0] else (*ages, count, *form.shape[1:])
    return _certificate(problem, found, V.shape, shape, found.alternative if several else None)


def bounds_by_state(problem: Problem | DiscreteProblem, value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the bounds of :func:`certify` on the errors of a result's value, of its shape, in units of utility."""
    return certify(problem, value).error_bound_by_state


def bounds_of_differences(problem: Problem, value: NDArray[np.float64], bound: float) -> NDArray[np.float64]:
    """Return bounds on the errors of the differences of a result's value from that of one state, of its shape, in units
    of utility, for an infinite horizon; ``bound`` is that on the error of the value.
    """
    from beltline.gpu_ref.general.differences import differences_bound

    return differences_bound(problem.form, value.reshape(problem.form.shape), bound).reshape(value.shape)


def verify(result: Result) -> Result:
    """Return ``result`` after a check of its value and choices; the method ``verify`` of results calls this."""
    problem, value, policy, alternative = result.problem, result.value, result.policy, result.alternative
    discrete = isinstance(problem, DiscreteProblem)
    if not discrete and problem.taste > 0.0 and result.of_alternatives is not None:
        policy, alternative = result.of_alternatives.policy, None
    found = certify(problem, value, policy, alternative)
    outcome, message, bound = Outcome(result.status), result.message, found.error_bound
    if result.success:
        message, accepted = "The value and the choices were checked again.", 0.0
        finite: Any = value > -np.inf if discrete else ...
        if problem.horizon is None:
            modulus = problem.program.modulus if discrete else problem.form.modulus()
            accepted = promised(SolveOptions(tol=result.tol), modulus)
        outcome, message = judged(
            outcome,
            message,
            value[finite],
            bound,
            accepted=accepted,
            by_state=lambda: found.error_bound_by_state[finite],
            relative=None
            if discrete or problem.horizon is not None
            else lambda: bounds_of_differences(problem, value, bound),
        )
        if found.improvable:
            lost = f"{found.improvable:,} choices that are not the best; the worst loses {found.loss.max():.3g}"
            outcome, message = Outcome.NOT_VERIFIED, f"The check found {lost}."
    return replace(
        result,
        success=outcome in (Outcome.CONVERGED, Outcome.FINISHED),
        status=outcome.value,
        message=message,
        residual=found.residual,
        error_bound=bound,
        verified=True,
    )


def _certificate(
    problem: Problem | DiscreteProblem, found: Certified, shape: tuple[int, ...], chosen: tuple[int, ...], best: Any
) -> Certificate:
    """Return what was found with arrays by state in ``shape``, and those by choice in the shape ``chosen``."""
    return Certificate(
        residual_by_state=found.off.reshape(shape),
        error_bound_by_state=found.error.reshape(shape),
        policy=found.policy.astype(np.int32).reshape(chosen),
        alternative=None if best is None else best.reshape(shape),
        status=found.status.reshape(chosen),
        loss=found.loss.reshape(chosen),
        problem=problem,
    )


def _of_discrete(problem: DiscreteProblem, value: Any, policy: Any, alternative: Any) -> Certificate:
    """Certify a value, and actions, of a discrete problem."""
    from beltline.gpu_ref.discrete.ending import endless_pairs
    from beltline.gpu_ref.discrete.exact_step import certify as certify_program
    from beltline.gpu_ref.discrete.exact_step import certify_ages

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
    if problem.start is not None:
        found = certify_ages(program, rows, problem.start.reshape(-1), pairs)
    else:
        found = certify_program(program, rows[0], None if pairs is None else pairs[0])
    certificate = _certificate(problem, found, shape, shape, None)
    best = certificate.policy
    best[best >= 0] = program.action[best[best >= 0]]
    return certificate


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
    np.put_along_axis(policy, numbers, found, axis=-3)
    return policy
