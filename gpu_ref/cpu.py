"""Solve a table problem on the processor, by any method of :data:`beltline.gpu_ref.methods.METHODS`.

It uses all cores and double precision, and sums are never reordered. Small problems use one thread.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
from beltline.gpu_ref.tables import Array, as_writable
from beltline.gpu_ref.threads import threads_for
from beltline.gpu_ref.timing import Parts, added
from beltline.gpu_ref.value_iteration import ValueIteration


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
    check_memory(ValueIteration.bytes(grid, states), f"method {method!r} on {grid:,} x {states} states")
    parts = Parts()
    given = _writable(given)
    parts("load")
    asked = given.options.get("start")
    if asked == "coarse":
        given = given._replace(V0=nearest(given.X, given.W, given.Q, given.beta, given.eta, given.epsilon, given.V0))
    elif asked == "stay" and given.start == "stay" and (given.stays or can_stay(given.X, given.W, given.eta)):
        given = given._replace(V0=stay_start(given.X, given.W, given.beta, given.eta))
    parts("solve")
    found = _run(given)
    found.seconds.update(added(parts.seconds, found.seconds))
    return found


def _writable(given: Arguments) -> Arguments:
    """Return read-only tables as writable ones: for another array type Numba would compile everything again."""
    X, W, Q, V0 = map(as_writable, given[:4])
    return given._replace(X=X, W=W, Q=Q, V0=V0)


def solve_ages(
    X: ArrayLike, W: ArrayLike, Q: ArrayLike, V0: ArrayLike, beta: float, eta: float, ages: int
) -> tuple[Array, NDArray[np.int32], dict[str, float]]:
    """Solve a finite horizon with one sweep per age; ``V0`` is the value after the last age.

    Other arguments and errors as for :func:`solve`.

    Returns
    -------
    value, policy
        ``(ages, N_k, N_z)``, ``float64`` and ``int32``, the first age first.
    seconds
        Wall-clock seconds by part.
    """
    given = _writable(check_arguments(X, W, Q, V0, beta, eta, 0.0, ages, "warm", {}))
    grid, states = given.W.shape
    check_memory(
        ValueIteration.bytes(grid, states) + ages * grid * states * 12,
        f"{ages:,} ages of {grid:,} x {states} states",
    )
    count = threads_for(given.W.size)
    parts = Parts()
    value, policy = np.empty((ages, grid, states)), np.empty((ages, grid, states), np.int32)
    iteration = ValueIteration(given.X, given.W, given.Q, given.beta, given.eta, count)
    parts("allocate")
    iteration.load(given.V0)
    parts("load")
    iteration.ages(value, policy)
    parts("solve")
    return value, policy, parts.seconds


def _run(given: Arguments) -> Solution:
    """Iterate by sweeps that prove themselves (:mod:`beltline.gpu_ref.value_iteration`)."""
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
    h, bound = iteration.h, math.inf
    if given.bounded:
        slack = iteration.slack()
        bound = error_bound(h, value, given.Q, given.beta, given.eta, largest, slack, iteration.size)
    parts("solve")
    iteration.close()
    # A state without a choice has the value -inf.
    complete = math.isfinite(iteration.size) or None
    return Solution(
        value, policy, sweeps, maximising, h, bound, h < given.epsilon, parts.seconds, given.method,
        exact_sweeps=exact, complete=complete,
    )  # fmt: skip


def _iterate(iteration: ValueIteration, given: Arguments, limit: int) -> None:
    """Sweep until the stopping rule is met or ``limit`` sweeps are done; ``mpi`` alternates with policy evaluation."""
    if given.method == "mpi":
        iteration.iterate(given.epsilon, limit, finish=True)
    else:
        iteration.sweep(given.rule, given.epsilon, limit)
