"""The certificate of a value and its choices: the one check of the results of every device and of values from anywhere.

The Bellman operator ``T`` is applied to ``V`` once more, in double precision, on the problem's own tables and by a
search that does not assume concavity. Where the problem has the simple form, one fast pass usually confirms the choices
(:mod:`beltline.gpu_ref.confirmation`); otherwise every alternative is maximised in every state
(:mod:`beltline.gpu_ref.general.certificate`), or every pair evaluated (:mod:`beltline.gpu_ref.discrete.exact_step`).
Whatever the device did, ``T`` is a contraction of modulus ``beta`` (Blackwell 1965, "Discounted dynamic programming",
Annals of Mathematical Statistics 36), so that

    max |V - V*|  <=  max |TV - V| / (1 - beta)

holds for the returned numbers. It also shows whether a maximum was missed: with ``V = T_device V_before`` and the
reported largest change ``d = max |V - V_before|``, in no state may ``|TV - V|`` exceed ``beta d`` plus the rounding of
one sweep. A device supplies only its rounding.
"""

from __future__ import annotations

import functools
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.comparison import Confirmed
from beltline.host.devices.base import DeviceTimeoutError
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.problem.general import start_of
from beltline.host.problem.problem import Problem
from beltline.host.problem.report import Report, as_html, as_text, report
from beltline.host.results.result import Tables

if TYPE_CHECKING:
    from beltline.gpu_ref.bounds import Certified
    from beltline.gpu_ref.discrete import Iterated
    from beltline.gpu_ref.general.certificate import Miss
    from beltline.gpu_ref.general.form import Form

GPU_COMPARES = 2**12
"""Number of states from which a GPU compares a solution. Smaller ones take it longer than a processor, because of its
launches and copies.
"""

LARGEST = sys.float_info.max
"""Largest change of a value, for one of which none is promised."""

TIMES = 2.0
"""Number of a machine's sweeps whose rounding is allowed for: its last one, and the one that verifies it."""


_ONLY = np.zeros(1, np.int32), np.ones(1)
"""Number and probability of the only alternative."""


def of_one_alternative(value: NDArray[np.float64], policy: NDArray[np.int32]) -> Tables:
    """Return the solution of a problem with one alternative and one regime, from tables without these axes."""
    value, policy = value[..., None, :, :], policy[..., None, :, :]
    # Each has a single entry in memory.
    first, certain = (np.ndarray(value.shape, one.dtype, one, 0, (0,) * value.ndim) for one in _ONLY)
    return Tables(value, value, policy, first, certain)


@dataclass(frozen=True, eq=False)
class Certificate:
    """What :func:`certify` has proven of a value ``V`` and its choices.

    Attributes
    ----------
    residual : float
        The largest ``|TV - V|``, in units of utility.
    error_bound : float
        Bound on the largest ``|V - V*|``, in units of utility; at least the largest of ``error_bound_by_state``.
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

    problem: Problem | DiscreteProblem
    residual: float
    error_bound: float
    # What is known by state, which takes much longer than one pass over the states, and is computed when it is needed.
    search: Callable[[], Certified]
    # Computes bounds on the errors of differences of values from that of one state, without a horizon, from a bound on
    # those of values.
    differences: Callable[[float], NDArray[np.float64]]
    # The tables of a solution with its best choices and alternatives given the value, if it was confirmed.
    tables: Tables | None = None
    missed: str = ""
    verified: bool = True
    # Whether the choices that were given are those of `tables`.
    best: bool = False

    ONLY_BEST = 1
    TIED = 0
    IMPROVABLE = -1

    @functools.cached_property
    def _found(self) -> Certified:
        return self.search()

    @property
    def residual_by_state(self) -> NDArray[np.float64]:
        return self._found.off

    @property
    def error_bound_by_state(self) -> NDArray[np.float64]:
        return self._found.error

    @property
    def policy(self) -> NDArray[np.int32]:
        return self._found.policy

    @property
    def alternative(self) -> NDArray[np.int32] | None:
        return self._found.alternative

    @property
    def status(self) -> NDArray[np.int8]:
        return self._found.status

    @property
    def loss(self) -> NDArray[np.float64]:
        return self._found.loss

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
        return 0 if self.best else int((self.status == self.IMPROVABLE).sum())

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


def certified(
    problem: Problem,
    tables: Tables,
    change: float,
    form: Form | None = None,
    rounding: NDArray[np.float64] | None = None,
    device: str = "cpu",
    compared: Confirmed | None = None,
    deadline: float = math.inf,
) -> Certificate:
    """Certify the solution of a solver, which promises that the last sweep changed its value by up to ``change``.

    Parameters
    ----------
    tables
        The solution, with all axes; its value must be finite.
    change
        In units of utility; ignored with a horizon.
    form
        Tables of the problem; if prices depend on the solution, those at the prices for which it is measured.
    rounding
        Bound on the rounding errors of the device's sweep, of the shape of ``tables.values``, in units of utility; by
        default those of double precision.
    device
        Where to confirm the solution, ``"cpu"`` or ``"gpu"``.
    compared
        The residual and its rounding error, if the solver has confirmed the solution itself.
    deadline
        Time (of ``time.monotonic``) at which certification is given up with ``DeviceTimeoutError``.
    """
    change = 0.0 if problem.horizon is not None else min(change, LARGEST)
    found = None
    if form is None and not problem.general:
        within = problem.modulus * change + (0.0 if rounding is None else TIMES * float(rounding.min()))
        found = confirmed(problem, tables, within, device, compared, deadline)
    return _searched(problem, tables, change, form or problem.form, rounding, deadline) if found is None else found


def confirmed(
    problem: Problem,
    tables: Tables,
    within: float,
    device: str = "cpu",
    compared: Confirmed | None = None,
    deadline: float = math.inf,
) -> Certificate | None:
    """Certify a solution of the simple form in one pass over its states; None if that shows too little.

    ``within`` is how far the value may be off for reasons other than rounding.
    """
    value, policy = tables.value[..., 0, :, :], tables.policy[..., 0, :, :]
    ages: list[Confirmed | None] = [compared]
    if compared is None:
        ages = _confirmed_ages(problem, value, policy, within, device, deadline)
    modulus, residual, error, bound = problem.modulus, 0.0, 0.0, 0.0
    chosen = list[NDArray[np.int32]]()
    for age, own in zip(reversed(ages), reversed(policy[None] if problem.horizon is None else policy), strict=True):
        if age is None:
            return None
        residual = max(residual, age.residual)
        error = modulus * error + age.residual + age.rounding
        bound = max(bound, error)
        chosen.insert(0, own if age.policy is None else age.policy)
    exact = chosen[0] if problem.horizon is None else np.stack(chosen)
    bound = bound if problem.horizon is not None else bound / (1.0 - modulus)
    best = tables._replace(policy=exact[..., None, :, :])
    return claimed(problem, value, residual, bound, policy=policy, tables=best, verified=True)


def _confirmed_ages(
    problem: Problem,
    value: NDArray[np.float64],
    policy: NDArray[np.int32],
    change: float,
    device: str,
    deadline: float,
) -> list[Confirmed | None]:
    """Confirm every age, the last one first, until one is not confirmed; return the outcomes in the order of ages."""
    from beltline.gpu_ref.confirmation import confirmed as confirmed_at_once
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
            check_time(deadline, done, len(values))
        now, own = np.ascontiguousarray(values[-1 - done]), np.ascontiguousarray(policies[-1 - done], np.int32)
        if not checked(problem):
            check_tables(*tables, following, *numbers, ordered=True)
        one = card(following, now, own, change) if card else None
        one = one or confirmed_at_once(
            *tables, as_writable(np.ascontiguousarray(following)), *numbers, now, own, change
        )
        found.insert(0, one)
        if one is None:
            break
        following = now
    return found


def check_time(deadline: float, done: int, ages: int) -> None:
    """Raise ``DeviceTimeoutError`` if verification of the ages goes on after the timeout of the solve."""
    if time.monotonic() >= deadline:
        raise DeviceTimeoutError(
            f"the run ended in time, but timeout was reached when only {done:,} of its {ages:,} ages were verified: "
            f"allow more seconds, or use verify=False"
        )


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


def _searched(
    problem: Problem, tables: Tables, change: float, form: Form, rounding: NDArray[np.float64] | None, deadline: float
) -> Certificate:
    """Certify a solution of any form by a search of every alternative in every state."""
    from beltline.gpu_ref.general.certificate import measured

    def before_age(done: int) -> None:
        check_time(deadline, done, len(tables.value))

    # No rounding of the device excuses a choice that it should not have made.
    coarse = None if rounding is None else TIMES * np.where(np.isfinite(rounding), rounding, 0.0)
    seen = measured(form, tables, change, start_of(problem), coarse, before_age if form.horizon else None)
    found = claimed(problem, tables.value, seen.residual, seen.error_bound, form, tables=tables, verified=True)
    if seen.miss is not None:
        return replace(found, missed=_sentence(problem, form, seen.miss, seen.missed))
    best = tables._replace(policy=seen.policy, choice=seen.choice)
    if not problem.taste:
        regimes = [one.regime for one in form.alternatives]
        taken = [seen.choice[..., r, :, :] == d for d, r in enumerate(regimes)]
        best = best._replace(probabilities=np.stack(taken, axis=-3).astype(np.float64))
    return replace(found, tables=best)


def _sentence(problem: Problem, form: Form, miss: Miss, count: int) -> str:
    """Return a clause about the largest error that the search found."""
    name = form.alternatives[miss.alternative].name
    of = f" of alternative {name!r}" if problem.alternatives else ""
    what = {
        "value": f"the value{of} wrong",
        "choice": f"a choice{of} better",
        "regime": f"the value, which is that of alternative {name!r}, wrong",
        "alternative": f"alternative {name!r} better than the one that was chosen",
        "probability": f"the probability of alternative {name!r} wrong",
    }[miss.kind]
    size = f"by {miss.amount:.3g}" if math.isfinite(miss.amount) else "without bound"
    age = "" if problem.horizon is None else f", age {miss.age + 1}"
    more = "" if count == 1 else f", the largest of {count:,} errors"
    return f"a second, exact search finds {what} {size} at grid point {miss.x}, state {miss.s}{age}{more}"


def claimed(
    problem: Problem,
    value: NDArray[np.float64],
    residual: float,
    bound: float,
    form: Form | None = None,
    policy: NDArray[np.int32] | None = None,
    alternative: NDArray[np.int32] | None = None,
    tables: Tables | None = None,
    verified: bool = False,
) -> Certificate:
    """Return residual and bound of a value, which a solver claims if they are not ``verified``, as a certificate.

    ``policy``, by alternative, and ``alternative`` are the choices to be judged by state; the best ones by default.
    """

    def search() -> Certified:
        from beltline.gpu_ref.general.certificate import certify_form

        of = form or problem.form
        ages, count = () if of.horizon is None else (of.horizon,), len(of.alternatives)
        whole, by_alternative = (*ages, *of.shape), (*ages, count, *of.shape[1:])
        choices = None if policy is None else policy.reshape(by_alternative)
        numbers = None if alternative is None else alternative.reshape(whole)
        found = certify_form(of, value.reshape(whole), choices, numbers, start_of(problem))
        one = found.alternative is None or count == 1
        chosen = value.shape if found.alternative is not None or count == of.shape[0] else by_alternative
        return _shaped(found, value.shape, chosen, None if one else found.alternative)

    def differences(bound: float) -> NDArray[np.float64]:
        from beltline.gpu_ref.general.differences import differences_bound

        of = form or problem.form
        return differences_bound(of, value.reshape(of.shape), bound).reshape(value.shape)

    return Certificate(problem, residual, bound, search, differences, tables, verified=verified)


def _shaped(found: Certified, shape: tuple[int, ...], chosen: tuple[int, ...], alternative: Any = None) -> Certified:
    """Return what was found with arrays by state in ``shape``, and those by choice in the shape ``chosen``."""
    return replace(
        found,
        off=found.off.reshape(shape),
        error=found.error.reshape(shape),
        policy=found.policy.astype(np.int32).reshape(chosen),
        alternative=None if alternative is None else alternative.reshape(shape),
        status=found.status.reshape(chosen),
        loss=found.loss.reshape(chosen),
    )


def claimed_program(
    problem: DiscreteProblem,
    value: NDArray[np.float64],
    residual: float,
    bound: float,
    pairs: NDArray[np.int64] | None = None,
) -> Certificate:
    """Return what a solver claims of a value of a discrete problem as :func:`claimed` does; ``pairs`` by age."""
    program = problem.program

    def search() -> Certified:
        from beltline.gpu_ref.discrete import certify, certify_ages

        rows = value.reshape(-1, program.states)
        if problem.start is not None:
            found = certify_ages(program, rows, problem.start.reshape(-1), pairs)
        else:
            found = certify(program, rows[0], None if pairs is None else pairs[0])
        found = _shaped(found, value.shape, value.shape)
        chosen = found.policy >= 0
        found.policy[chosen] = program.action[found.policy[chosen]]
        return found

    def differences(bound: float) -> NDArray[np.float64]:
        from beltline.gpu_ref.discrete import relative_bound

        known = np.where(program.lost, 0.0, value.reshape(-1))
        return relative_bound(program, known, bound).reshape(value.shape)

    return Certificate(problem, residual, bound, search, differences, verified=False)


def certified_program(
    problem: DiscreteProblem, value: NDArray[np.float64], found: Iterated
) -> tuple[Certificate, NDArray[np.int64]]:
    """Certify a solution, whose ``value`` has minus infinity in lost states, and return it with the best pairs."""
    from beltline.gpu_ref.discrete import measured

    start = None if problem.start is None else problem.start.reshape(-1)
    seen = measured(problem.program, found.value, found.chosen, found.change, start)
    certificate = replace(claimed_program(problem, value, seen.residual, seen.error_bound), verified=True)
    if not seen.missed:
        return certificate, seen.chosen
    what = "an action that is better" if seen.better else "the value wrong"
    more = "" if seen.missed == 1 else f", the largest of {seen.missed:,} errors"
    missed = f"a second, full search finds {what} by {seen.amount:.3g} in {problem.state_name(seen.state)}{more}"
    return replace(certificate, missed=missed), found.chosen
