"""What the solvers on processors and GPUs share: methods, arguments, stopping rules and results.

``beltline.gpu_ref.cpu.solve`` and ``beltline.gpu_ref.cuda.solver.solve`` take the same arguments and return the same
:class:`Solution`::

    solve(X, W, Q, V0, beta, eta, epsilon, max_sweeps=100_000, method="warm", **options) -> Solution

Stopping rules (``docs/baselines.md`` has the proofs). ``T`` is the Bellman operator, ``d = TV - V`` the change in a
sweep, ``modulus = beta max_s sum_s' Q(s, s')``:

========== ========================================= ==================================================================
rule       measures                                  returns
========== ========================================= ==================================================================
`change`   ``h = max |d|``                           ``TV``
`spans`    ``h = max_s (max_x d - min_x d) / 2``     ``TV + c``, ``c = (I - beta Q)^-1 beta Q m``, ``m(s)`` the
                                                     mid-point of the ``d`` of state ``s``
========== ========================================= ==================================================================

Both stop when ``h < epsilon`` (strictly). Each of them guarantees for the value ``R`` that it returns ``|TR
- R| <= modulus h`` and ``|R - V*| <= modulus h / (1 - modulus)``, plus rounding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.compiled import njit
from beltline.gpu_ref.comparison import Confirmed
from beltline.gpu_ref.tables import ROW_SUM_TOLERANCE, Array, measured_tables
from beltline.gpu_ref.utility import DOUBLE, crra, crra_utility, power_error

PARTS = ("allocate", "load", "solve", "read")
"""Parts of a solve that :attr:`Solution.seconds` measures, in order."""


@dataclass(frozen=True)
class Method:
    """A way to solve a table problem.

    Attributes
    ----------
    line
        What it does, in one line.
    rule
        Its stopping rule: ``"change"`` or ``"spans"``.
    options
        Names of the options it takes, with their defaults.
    """

    line: str
    rule: str
    options: dict[str, Any] = field(default_factory=dict)


METHODS: dict[str, Method] = {
    "warm": Method(
        "search from the last choice, proven by brackets; states whose choice does not change need only cached "
        "utilities",
        "change",
    ),
    "mpi": Method(
        "modified policy iteration: an exact sweep as in `warm`, then its policy evaluated along its paths",
        "spans",
        {"start": "given"},
    ),
    "shift": Method("as `warm`, but stops on error bounds for each exogenous state", "spans", {"start": "given"}),
}
"""All methods by name. ``start="stay"`` replaces ``V0`` by ``U(W(x, s) - x) / (1 - beta)`` if that is finite
everywhere, and ``start="coarse"`` by the solution of a coarse problem, or on small grids also by the value of staying,
unless ``V0`` is a guess that is nearer to the solution (:func:`beltline.gpu_ref.starts.nearest`). The time for either
counts as ``solve``.
"""

OPTIONS: dict[str, str] = {
    "start": "first value function: given, that of the problem; stay, that of staying at x for ever; coarse, the "
    "nearest of these and the solution on a coarse grid (default given); also with method shift on a sweep engine",
    "steps": "policy evaluation steps after each maximising sweep, from 0 (default 20; fewer while prices move)",
}
"""Meaning of each option of :data:`METHODS`, and of the option ``steps`` of problems of the general form, with limits
and default, as ``beltline devices --options`` prints them."""

STARTS = ("given", "stay", "coarse")
"""Values of the option ``start``."""


@dataclass(frozen=True)
class Solution:
    """What every solver returns.

    Attributes
    ----------
    value
        ``(N_k, N_z)``, ``float64``, units of utility.
    policy
        Index of the choice, ``(N_k, N_z)``, ``int32``: the lowest maximiser of the last maximising sweep; -1 where
        nothing is affordable.
    sweeps
        Number of sweeps over all states, with or without maximisation.
    maximising_sweeps
        Number of sweeps with maximisation.
    residual
        What the stopping rule compared with ``epsilon`` in the last maximising sweep (``h`` above); for ``change`` that
        is ``max |V_n - V_(n-1)|``.
    error_bound
        Bound on ``max |value - V*|``, rounding included, where ``V*`` is the solution on the grid; ``inf`` if none is
        proven.
    converged
        Whether ``residual < epsilon``.
    seconds
        Wall-clock seconds by :data:`PARTS`, without compilation.
    method
        Name of the method.
    previous
        The ``V`` from which the last maximising sweep started, so that a sweep from it gives ``policy``; ``None`` if
        not stored.
    exact_sweeps
        Number of maximising sweeps that took divide and conquer, because brackets did not finish, or on a GPU because a
        single peak was in doubt.
    compared
        Comparison of ``value`` and ``policy`` with an exact sweep from ``value``, if that was requested and no error
        was found.
    complete
        Whether every state has a choice; ``None`` if that is not known.
    """

    value: Array
    policy: NDArray[np.int32]
    sweeps: int
    maximising_sweeps: int
    residual: float
    error_bound: float
    converged: bool
    seconds: dict[str, float] = field(default_factory=dict)
    method: str = ""
    previous: Array | None = None
    exact_sweeps: int = 0
    compared: Confirmed | None = None
    complete: bool | None = None


class Arguments(NamedTuple):
    """Checked arguments of a solve: contiguous ``float64`` tables, and options with defaults.

    ``start`` is the option of that name, or ``"given"`` if some state cannot afford to stay at its ``x``. If ``stays``
    is false, it is not known whether every state can. ``bounded`` says whether the caller wants an error bound.
    """

    X: Array
    W: Array
    Q: Array
    V0: Array
    beta: float
    eta: float
    epsilon: float
    max_sweeps: int
    method: str
    options: dict[str, Any]
    start: str = "given"
    stays: bool = True
    bounded: bool = True

    @property
    def rule(self) -> str:
        """Stopping rule of the method."""
        return METHODS[self.method].rule


def check_limits(epsilon: float, max_sweeps: int) -> None:
    """Raise ``ValueError`` if ``epsilon`` is negative or ``max_sweeps`` below 1."""
    if not epsilon >= 0.0:
        raise ValueError(f"epsilon must not be negative, not {epsilon}")
    if max_sweeps < 1:
        raise ValueError(f"max_sweeps must be at least 1, not {max_sweeps}")


def check_options(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Check the options of a method; return them, with defaults for the others.

    Raises
    ------
    ValueError
        The method does not have an option, or its value is wrong.
    """
    known = METHODS[method].options
    for name, value in options.items():
        if name not in known:
            takes = f"takes {', '.join(known)}" if known else "takes none"
            raise ValueError(f"method {method!r} has no option {name!r}: it {takes}")
        if name == "start" and not (isinstance(value, str) and value in STARTS):
            raise ValueError(f"start must be {' or '.join(map(repr, STARTS))}, not {value!r}")
    return {**known, **options}


def check_arguments(
    X: ArrayLike,
    W: ArrayLike,
    Q: ArrayLike,
    V0: ArrayLike,
    beta: float,
    eta: float,
    epsilon: float,
    max_sweeps: int,
    method: str,
    options: dict[str, Any],
    *,
    checked: bool = False,
    least: float = math.nan,
    bounded: bool = True,
) -> Arguments:
    """Check all arguments of a solver.

    ``checked`` says that the tables are contiguous ``float64`` arrays that are known to meet all conditions. They are
    not read then, so :attr:`Arguments.stays` is false unless ``least``, the lowest ``W(x, s) - x``, is given.
    ``bounded`` says whether the error is to be bounded.

    Raises
    ------
    ValueError
        A table breaks a condition of :mod:`beltline.gpu_ref`, a number is out of range, or the method or one of its
        options is unknown. The message is one sentence.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, not {method!r}")
    check_limits(epsilon, max_sweeps)
    full = check_options(method, options)
    if checked:
        X, W, Q, V0 = cast("tuple[Array, Array, Array, Array]", (X, W, Q, V0))
    else:
        (X, W, Q, V0), least = measured_tables(X, W, Q, V0, beta, eta, ordered=True)
    # Rows of checked tables sum to 1 within the tolerance, so only with a beta near 1 can the modulus reach 1.
    near = not checked or beta > 1.0 - 2 * ROW_SUM_TOLERANCE
    if METHODS[method].rule == "spans" and near and modulus(Q, beta) >= 1.0:
        raise ValueError(f"method {method!r} needs beta below 1, not {beta}")
    start = full.get("start", "given")
    stays = not math.isnan(least)
    if start != "given" and stays and not affords(least, eta):
        start = "given"
    numbers = float(beta), float(eta), float(epsilon), int(max_sweeps)
    return Arguments(X, W, Q, V0, *numbers, method, full, start, stays, bounded)


@njit(cache=True)
def least_left(X: Array, W: Array) -> float:
    """Return the lowest consumption ``W(x, s) - x`` of staying at ``x``."""
    least = np.inf
    for x in range(X.size):
        for s in range(W.shape[1]):
            least = min(least, W[x, s] - X[x])
    return least


def can_stay(X: Array, W: Array, eta: float) -> bool:
    """Return whether every state can afford to stay at its ``x`` for ever, with a finite utility."""
    return affords(least_left(X, W), eta)


def affords(least: float, eta: float) -> bool:
    """Return whether every state can stay at its ``x``, of which the lowest consumption is ``least``."""
    return least > 0.0 and math.isfinite(crra(least, eta))


def stay_start(X: Array, W: Array, beta: float, eta: float) -> Array:
    """Return ``U(W(x, s) - x) / (1 - beta)``, the value of staying at ``x`` for ever if ``s`` never changed.

    It is concave in ``x`` if ``W(x, s) - x`` is. Every state must be able to stay, see :func:`can_stay`.
    """
    start: Array = np.ascontiguousarray(crra_utility(W - X[:, None], eta) / (1.0 - beta))
    return start


@njit(cache=True)
def _largest_sum(Q: Array) -> float:
    """Return the largest row sum of ``Q``."""
    most = -np.inf
    for s in range(Q.shape[0]):
        most = max(most, Q[s].sum())
    return most


def modulus(Q: Array, beta: float) -> float:
    """Return the contraction modulus of ``T``: ``beta`` times the largest row sum of ``Q``."""
    return beta * _largest_sum(Q)


def sweep_rounding(largest: float, states: int, eta: float) -> float:
    """Bound the distance of a sweep in double precision from the exact one, units of utility.

    ``largest`` is the largest ``|V|`` before and after the sweep. The chosen utility is ``TV - EV``, so at most twice
    that, with the error of :func:`beltline.gpu_ref.utility.power_error`: power or logarithm, the division and the last
    sum make up to four roundings. The expectation makes one per state plus a few.
    """
    return power_error(eta) * 2.0 * largest + DOUBLE * ((eta == 1.0) + (states + 4) * largest)


def largest_value(value: Array, known: float = math.nan) -> float:
    """Return the largest finite ``|V|``; 0 if no entry is finite. If ``known`` is finite, it is the :func:`size`."""
    largest = known if math.isfinite(known) else size(value)
    return largest if math.isfinite(largest) else float(np.abs(value[np.isfinite(value)]).max(initial=0.0))


def size(value: Array) -> float:
    """Return the largest ``|V|`` without copying; it is not finite if some value is not; 0 for an empty array."""
    return max(float(value.max()), -float(value.min())) if value.size else 0.0


def largest_before_shift(value: Array, change: float, Q: Array, beta: float, known: float = math.nan) -> float:
    """Bound the largest ``|V|`` before the last sweep and between that sweep and the shift.

    ``value`` is the returned ``R``, ``known`` as in :func:`largest_value`, ``change`` the largest ``|TV - V|`` of the
    last sweep. The shift is at most ``modulus / (1 - modulus)`` times the change, so ``|TV|`` exceeds ``|R|`` by no
    more than that, and ``|V|`` by one change more.
    """
    contraction = modulus(Q, beta)
    return largest_value(value, known) + change / (1.0 - contraction) if contraction < 1.0 else float("inf")


def error_bound(
    h: float, value: Array, Q: Array, beta: float, eta: float, largest: float = 0.0, slack: float = 0.0,
    known: float = math.nan,
) -> float:  # fmt: skip
    """Bound ``max |R - V*|`` after a sweep for which the stopping rule measured ``h``; ``value`` is ``R``.

    Parameters
    ----------
    h, value, Q, beta, eta
        The measure of the rule `change` or `spans`; the returned value; the problem.
    largest
        If the sweep was followed by a shift, :func:`largest_before_shift`: rounding is relative to these larger values.
    slack
        By how much the sweep may have missed a maximum because of rounding.
    known
        As in :func:`largest_value`.

    Returns
    -------
    float
        Units of utility; ``inf`` if ``T`` is no contraction.
    """
    contraction = modulus(Q, beta)
    if contraction >= 1.0 or not math.isfinite(h) or not math.isfinite(largest):
        return math.inf
    largest = max(largest_value(value, known) + h, largest)
    # The shift is rounded, too: by a few units of the largest value times the condition of the linear system.
    rounding = sweep_rounding(largest, Q.shape[0], eta) + (8 + 4 * Q.shape[0]) * DOUBLE * largest
    return (contraction * h + rounding + slack) / (1.0 - contraction)


def needs_restart(given: Arguments, size: float, h: float, largest: float) -> bool:
    """Return whether rounding of much larger values before the shift made the choices unreliable.

    The shift has brought the value near the solution, so a second iteration from there repairs the choices. ``size`` is
    the largest ``|R|``, which must be finite; ``h`` and ``largest`` are as for :func:`error_bound`.
    """
    if given.rule == "change" or not h < given.epsilon or not math.isfinite(size):
        return False
    lost = sweep_rounding(largest, given.Q.shape[0], given.eta)
    return largest > 8.0 * size and lost > max(given.epsilon, DOUBLE * size)


def shifts(middle: Array, Q: Array, beta: float) -> Array:
    """Return ``(I - beta Q)^-1 beta Q m``, which is added to ``TV(., s)``; ``middle`` is ``m``, ``(N_z,)``, units of
    utility.
    """
    discounted = beta * Q
    # Differences of values that are not finite give shifts that are not.
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.linalg.solve(np.eye(Q.shape[0]) - discounted, discounted @ middle), dtype=np.float64)
