"""Solve a table problem on the processor, by any method of :data:`beltline.gpu_ref.methods.METHODS`.

It uses all cores and double precision, and sums are never reordered. Small problems use one thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.compiled import njit, prange
from beltline.gpu_ref import binary_search, brute_force
from beltline.gpu_ref.brackets import missed_by_a_policy
from beltline.gpu_ref.egm import Endogenous, marginal_wealth
from beltline.gpu_ref.memory import check_memory
from beltline.gpu_ref.methods import (
    Arguments,
    Solution,
    can_stay,
    check_arguments,
    error_bound,
    largest_before_shift,
    needs_restart,
    stay_start,
)
from beltline.gpu_ref.starts import nearest
from beltline.gpu_ref.tables import Array, as_writable, expectation
from beltline.gpu_ref.threads import threads, threads_for
from beltline.gpu_ref.timing import Parts, added, timed
from beltline.gpu_ref.utility import crra_utility
from beltline.gpu_ref.value_iteration import ValueIteration
from beltline.gpu_ref.vfi import sup_norm

FINISHING = 0.5
"""Once its stopping rule is met, method `mpi` goes on with at most this share of the sweeps so far, until no choice
moves.
"""


def solve(
    X: ArrayLike,
    W: ArrayLike,
    Q: ArrayLike,
    V0: ArrayLike,
    beta: float,
    eta: float,
    epsilon: float,
    max_sweeps: int = 100_000,
    method: str = "warm",
    *,
    checked: bool = False,
    least: float = math.nan,
    bounded: bool = True,
    **options: Any,
) -> Solution:
    """Solve a table problem on the processor.

    Parameters
    ----------
    X, W, Q, V0, beta, eta
        See :mod:`beltline.gpu_ref`; ``V0`` is the initial value.
    epsilon
        Tolerance of the method's stopping rule, units of utility; 0 runs all ``max_sweeps`` sweeps.
    max_sweeps
        At least 1.
    method
        One of :data:`beltline.gpu_ref.methods.METHODS`, which also lists the ``options`` of each.
    checked, least
        As for :func:`beltline.gpu_ref.methods.check_arguments`.
    bounded
        Whether to bound the error. If not, :attr:`~beltline.gpu_ref.methods.Solution.error_bound` is infinite, which
        saves a pass over the states after the last sweep.

    Returns
    -------
    Solution
        See :class:`beltline.gpu_ref.methods.Solution`.

    Raises
    ------
    ValueError
        An argument is wrong. The message is one sentence, and nothing was computed.
    MemoryError
        The problem does not fit into the memory of this computer; nothing was allocated.
    """
    given = check_arguments(
        X, W, Q, V0, beta, eta, epsilon, max_sweeps, method, options, checked=checked, least=least, bounded=bounded
    )
    grid, states = given.W.shape
    run, needs = _SOLVERS[method]
    check_memory(needs(grid, states), f"method {method!r} on {grid:,} x {states} states")
    parts = Parts()
    given = _writable(given)
    parts("load")
    asked = given.options.get("start")
    if asked == "coarse":
        given = given._replace(V0=nearest(given.X, given.W, given.Q, given.beta, given.eta, given.epsilon, given.V0))
    elif asked == "stay" and given.start == "stay" and (given.stays or can_stay(given.X, given.W, given.eta)):
        given = given._replace(V0=stay_start(given.X, given.W, given.beta, given.eta))
    parts("solve")
    found = run(given)
    found.seconds.update(added(parts.seconds, found.seconds))
    return found


def _writable(given: Arguments) -> Arguments:
    """Return read-only tables as writable ones: for another array type Numba would compile everything again."""
    X, W, Q, V0 = map(as_writable, given[:4])
    return given._replace(X=X, W=W, Q=Q, V0=V0)


def solve_ages(
    X: ArrayLike,
    W: ArrayLike,
    Q: ArrayLike,
    V0: ArrayLike,
    beta: float,
    eta: float,
    ages: int,
    method: str = "warm",
    **options: Any,
) -> tuple[Array, NDArray[np.int32], dict[str, float]]:
    """Solve a finite horizon with one sweep per age; ``V0`` is the value after the last age.

    Methods ``grid``, ``binary``, ``monotone`` and ``warm`` are supported. The last two are the same here: the choice of
    the neighbouring state is a better guess than that of another age. Other arguments and errors as for :func:`solve`.

    Returns
    -------
    value, policy
        ``(ages, N_k, N_z)``, ``float64`` and ``int32``, the first age first.
    seconds
        Wall-clock seconds by part.
    """
    if method not in ("grid", "binary", "monotone", "warm"):
        raise ValueError(f"ages can be solved by 'grid', 'binary', 'monotone' and 'warm', not {method!r}")
    given = _writable(check_arguments(X, W, Q, V0, beta, eta, 0.0, ages, method, options))
    grid, states = given.W.shape
    check_memory(
        _SOLVERS[method][1](grid, states) + ages * grid * states * 12,
        f"method {method!r} on {ages:,} ages of {grid:,} x {states} states",
    )
    proving = method in ("monotone", "warm")
    count = threads_for(given.W.size)
    seconds: dict[str, float] = {}
    with timed(seconds, "allocate"):
        value, policy = np.empty((ages, grid, states)), np.empty((ages, grid, states), np.int32)
    if proving:
        with timed(seconds, "allocate"):
            iteration = ValueIteration(given.X, given.W, given.Q, given.beta, given.eta, count)
        with timed(seconds, "load"):
            iteration.load(given.V0)
        with timed(seconds, "solve"):
            iteration.ages(value, policy)
        return value, policy, seconds
    following = given.V0
    with timed(seconds, "solve"):
        for age in range(ages - 1, -1, -1):
            found = _SOLVERS[method][0](given._replace(V0=following, max_sweeps=1))
            value[age], policy[age] = found.value, found.policy
            following = found.value
    return value, policy, seconds


def _solution(
    given: Arguments,
    seconds: dict[str, float],
    value: Array,
    policy: NDArray[np.int32],
    sweeps: int,
    maximising: int,
    h: float,
    proven: bool = True,
    largest: float = 0.0,
    slack: float = 0.0,
    size: float = math.nan,
    **more: Any,
) -> Solution:
    """Build a solution with its error bound.

    ``proven`` says whether the last sweep found every maximum; ``largest`` and ``slack`` are as for
    :func:`error_bound`, ``size`` is its ``known``.
    """
    proven = proven and given.bounded and given.rule != "own"
    bound = error_bound(h, value, given.Q, given.beta, given.eta, largest, slack, size) if proven else math.inf
    return Solution(value, policy, sweeps, maximising, h, bound, h < given.epsilon, seconds, given.method, **more)


def _proving(given: Arguments) -> Solution:
    """Run a method whose maximising sweeps prove themselves (:mod:`beltline.gpu_ref.value_iteration`)."""
    parts = Parts()
    sweeps = maximising = exact = 0
    iteration = ValueIteration(given.X, given.W, given.Q, given.beta, given.eta, threads_for(given.W.size))
    value, policy = np.empty(given.W.shape), np.empty(given.W.shape, np.int32)
    parts("allocate")
    iteration.load(given.V0)
    parts("load")
    while True:
        _iterate(iteration, given, given.max_sweeps - sweeps)
        parts("solve")
        sweeps += iteration.sweeps
        maximising += iteration.maximising_sweeps
        exact += iteration.exact_sweeps
        iteration.read(given.rule, value, policy)
        largest = 0.0
        if given.rule != "change":
            largest = largest_before_shift(value, iteration.largest(), given.Q, given.beta, iteration.size)
        parts("read")
        if not needs_restart(given, iteration.size, iteration.h, largest) or sweeps >= given.max_sweeps:
            break
        iteration.load(value)
        parts("load")
    slack = iteration.slack() if given.bounded else 0.0
    parts("solve")
    iteration.close()
    return _solution(
        given,
        parts.seconds,
        value,
        policy,
        sweeps,
        maximising,
        iteration.h,
        largest=largest,
        slack=slack,
        size=iteration.size,
        exact_sweeps=exact,
        # A state without a choice has the value -inf.
        complete=math.isfinite(iteration.size) or None,
    )


def _iterate(iteration: ValueIteration, given: Arguments, limit: int) -> None:
    """Sweep until the stopping rule is met or ``limit`` sweeps are done; ``mpi`` alternates with policy evaluation."""
    if given.method == "mpi":
        iteration.iterate(given.epsilon, limit, FINISHING)
    else:
        iteration.sweep(given.rule, given.epsilon, limit, given.method == "monotone")


@njit(parallel=True, cache=True)
def _evaluation_step(utility: Array, ev: Array, policy: NDArray[np.int32], value: Array) -> None:
    """Make one sweep with a fixed policy."""
    for x in prange(value.shape[0]):
        for s in range(value.shape[1]):
            value[x, s] = utility[x, s] + ev[s, policy[x, s]]


def _searching(given: Arguments) -> Solution:
    """Run a method that searches from scratch in each maximising sweep: full search, staged search, interpolation."""
    X, W, Q, beta, eta = given.X, given.W, given.Q, given.beta, given.eta
    seconds: dict[str, float] = {}
    choices = None
    interval = given.options.get("interval", 1)
    with threads(threads_for(W.size)):
        with timed(seconds, "allocate"):
            value, new_value = np.empty(W.shape), np.empty(W.shape)
            policy = np.empty(W.shape, np.int32)
        with timed(seconds, "load"):
            value[:] = given.V0
            if given.method == "interp":
                choices = np.linspace(X[0], X[-1], given.options["choices"])
                cell = np.minimum(np.searchsorted(X, choices, side="right") - 1, X.size - 2) if X.size > 1 else 0
                share = (choices - X[cell]) / (X[cell + 1] - X[cell]) if X.size > 1 else 0.0 * choices
            everything = np.arange(W.size)
        sweeps = maximising = 0
        h = np.inf
        with timed(seconds, "solve"):
            while True:
                ev = expectation(Q, value, beta)
                if given.method == "binary":
                    binary_search.search(X, W, ev, eta, given.options["tie"], new_value, policy)
                elif choices is not None:
                    if X.size > 1:
                        ev = (1.0 - share) * ev[:, cell] + share * ev[:, cell + 1]
                    else:
                        ev = np.repeat(ev, choices.size, axis=1)
                    brute_force.search(choices, W, ev, eta, everything, new_value.reshape(-1), policy.reshape(-1))
                else:
                    brute_force.search(X, W, ev, eta, everything, new_value.reshape(-1), policy.reshape(-1))
                value, new_value = new_value, value
                sweeps += 1
                maximising += 1
                h = sup_norm(value, new_value)
                if h < given.epsilon or sweeps >= given.max_sweeps:
                    break
                # The last sweep of all maximises. If a state has no choice, the policy may lead there because its value
                # was still finite when the policy was found. Evaluating it would make other values -inf, permanently.
                between = min(interval - 1, given.max_sweeps - sweeps - 1) if (policy >= 0).all() else 0
                if between > 0:
                    utility = crra_utility(W - X[policy], eta)
                for _ in range(between):
                    _evaluation_step(utility, expectation(Q, value, beta), policy, new_value)
                    value, new_value = new_value, value
                    sweeps += 1
        with timed(seconds, "read"):
            value = value.copy()
        with timed(seconds, "solve"):
            # The staged search can miss a maximum if there are several peaks: check by an exact sweep.
            bounding = given.bounded and given.method == "binary"
            slack = missed_by_a_policy(X, W, ev, eta, value, policy) if bounding else 0.0
    proven = math.isfinite(slack)
    return _solution(
        given, seconds, value, policy, sweeps, maximising, h, proven, slack=slack, previous=new_value, choices=choices
    )  # fmt: skip


def _endogenous(given: Arguments) -> Solution:
    """Run the endogenous grid method (:mod:`beltline.gpu_ref.egm`)."""
    seconds: dict[str, float] = {}
    slope = marginal_wealth(given.X, given.W, given.options["marginal"])
    with threads(threads_for(given.W.size)):
        with timed(seconds, "allocate"):
            solver = Endogenous(given.X, given.W, slope, given.Q, given.beta, given.eta)
        with timed(seconds, "load"):
            solver.load()
        with timed(seconds, "solve"):
            change = solver.solve(given.epsilon, given.max_sweeps)
        with timed(seconds, "read"):
            value, policy = solver.evaluate(given.epsilon, given.max_sweeps)
    return _solution(given, seconds, value, policy, solver.sweeps, solver.sweeps, change)


def _searching_bytes(grid: int, states: int) -> int:
    """Return the bytes that :func:`_searching` allocates."""
    return grid * states * (8 * 8 + 4)


Solver = tuple[Callable[[Arguments], Solution], Callable[[int, int], int]]

_SOLVERS: dict[str, Solver] = {
    "grid": (_searching, _searching_bytes),
    "binary": (_searching, _searching_bytes),
    "grid+howard": (_searching, _searching_bytes),
    "interp": (_searching, _searching_bytes),
    "monotone": (_proving, ValueIteration.bytes),
    "warm": (_proving, ValueIteration.bytes),
    "mpi": (_proving, ValueIteration.bytes),
    "macqueen": (_proving, ValueIteration.bytes),
    "shift": (_proving, ValueIteration.bytes),
    "egm": (_endogenous, Endogenous.bytes),
}
"""For each method the function that runs it, and one that returns the bytes it takes for given ``N_k`` and ``N_z``."""
