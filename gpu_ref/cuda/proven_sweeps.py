"""Sweeps proven by brackets on a CUDA device (``general.cu``), for objectives with several peaks.

A table problem is a general one with one regime and one alternative. Many sweeps are one launch, with policy evaluation
steps between them. They are tried before the local search if wealth is not concave, they continue a solve in which that
search leaves single peaks in doubt, and ``mpi`` tries them first.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.gpu_ref.cuda.device import Clock
from beltline.gpu_ref.cuda.general_sweeps import CONVERGED, LIMIT, RUNNING, Sizes, Sweeps
from beltline.gpu_ref.cuda.start import utility
from beltline.gpu_ref.methods import Arguments, Solution, error_bound
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import DOUBLE

STEPS = 10
"""Policy evaluation steps between sweeps, from the second sweep on. A sweep in which few choices change takes as long
as four of them.
"""

MOST = 200
"""Largest number of sweeps. With policy evaluation a dozen are enough, unless rounding makes two choices alternate."""

ROWS = 256
"""Largest number of grid points at which wealth is tested for concavity; enough to choose the first method."""

BEND = 1e-6
"""Wealth counts as concave if no slope exceeds the one before it by more than this share, plus rounding."""


@functools.cache
def _rows(points: int) -> NDArray[np.intp]:
    """Return the grid points at which wealth is tested."""
    return np.unique(np.linspace(0, points - 1, min(points, ROWS)).astype(np.intp))


@njit(cache=True)
def _bends_up(X: Array, W: Array, rows: NDArray[np.intp], bend: float, noise: float) -> bool:
    """Return whether some slope between ``rows`` of ``W`` exceeds the one before it."""
    largest = 0.0
    for x in rows:
        for s in range(W.shape[1]):
            largest = max(largest, abs(W[x, s]))
    for i in range(2, rows.size):
        step, before = X[rows[i]] - X[rows[i - 1]], X[rows[i - 1]] - X[rows[i - 2]]
        for s in range(W.shape[1]):
            slope = (W[rows[i], s] - W[rows[i - 1], s]) / step
            last = (W[rows[i - 1], s] - W[rows[i - 2], s]) / before
            if slope > last + bend * abs(last) + noise * largest / step + noise * largest / before:
                return True
    return False


def bends_up(X: Array, W: Array) -> bool:
    """Return whether wealth, ``(N_k, N_z)``, has a kink or a jump upwards, so that objectives may have several peaks.

    Tests at most :data:`ROWS` of the grid points ``X``, ``(N_k,)``, so it can miss some.
    """
    return bool(_bends_up(X, W, _rows(X.size), BEND, 8.0 * DOUBLE))


def prove(
    cupy: Any,
    problem: Arguments,
    V: Array | None,
    policy: NDArray[np.int32] | None,
    sweeps: int,
    steps: int = STEPS,
    clock: Clock | None = None,
    previous: bool = True,
) -> Solution | None:
    """Sweep from ``V``, ``(N_k, N_z)``, until the largest change is below ``epsilon``, at most :data:`MOST` times.

    After the policy evaluation steps, values are shifted by the average of what further steps would add (MacQueen).

    Parameters
    ----------
    cupy, problem
        The module, and checked arguments.
    V
        Starting value. ``None``: the value of staying at each point for ever, computed on the device.
    policy
        ``(N_k, N_z)``: initial guess; ``None`` for no guess.
    sweeps
        Number of sweeps done before, all with maximisation.
    steps
        Policy evaluation steps between sweeps.
    clock
        Measures the time of the parts, if given.
    previous
        Whether to return :attr:`~beltline.gpu_ref.methods.Solution.previous` too.

    Returns
    -------
    Solution or None
        ``None`` if a state can afford no choice, a value is not finite, or memory is short.
    """
    if (V is not None and not np.isfinite(V).all()) or sweeps >= problem.max_sweeps:
        return None
    points, states = problem.W.shape
    left = problem.max_sweeps - sweeps
    steps = steps if left > steps else 0
    try:
        device = Sweeps(cupy, Sizes(1, 1, states, points, problem.eta))
    except MemoryError:
        return None
    _lap(clock, "allocate")
    _load(cupy, device, problem)
    _lap(clock, "load")
    if V is None and not _stay(cupy, device, problem):
        V = problem.V0
    device.begin(None if V is None else V.T[None], None if policy is None else policy.T[None])
    outcome = {"status": RUNNING}
    while outcome["status"] == RUNNING:
        outcome = device.launch(
            problem.epsilon,
            min(MOST, 1 + (left - 1) // (1 + steps)),
            steps,
            shift=problem.beta / (1.0 - problem.beta),
        )
    _lap(clock, "solve")
    chosen = device.tables["policy"][0]
    last, first = (device.tables["V"][int(outcome[buffer]), 0] for buffer in ("output", "input"))
    if outcome["status"] not in (CONVERGED, LIMIT) or int(chosen.min()) < 0:
        return None
    largest = max(float(cupy.abs(table).max()) for table in (last, first))
    value, choices = (cupy.ascontiguousarray(table.T).get() for table in (last, chosen))
    before = cupy.ascontiguousarray(first.T).get() if previous else None
    _lap(clock, "read")
    change, done = float(outcome["change"]), int(outcome["sweeps"])
    bound = error_bound(change, value, problem.Q, problem.beta, problem.eta, largest, float(outcome["slack"]))
    return Solution(
        value=value,
        policy=choices,
        sweeps=sweeps + done + steps * (done - 1),
        maximising_sweeps=sweeps + done,
        residual=change,
        error_bound=bound,
        converged=change < problem.epsilon,
        seconds=clock.seconds if clock is not None else {},
        method=problem.method,
        previous=before,
    )


def _load(cupy: Any, device: Sweeps, problem: Arguments) -> None:
    """Fill in the tables of the only alternative of the only regime; those that are not named here are zero."""
    points, states = problem.W.shape
    one, of_state = np.zeros(1), np.zeros((1, states))
    small = {
        **dict.fromkeys(("kind", "regime", "leads_to"), one),
        "reach": np.broadcast_to(np.array([0, points - 1]), (1, states, 2)),
        "flat": of_state + 1,
        "transition": problem.Q[None],
        "beta": of_state + problem.beta,
        "kappa": of_state,
        "mix": np.ones((1, 1)),
    }
    device.tables.put(small)
    device.tables["wealth"][0] = cupy.asarray(problem.W).T
    device.tables["cost"][0] = cupy.asarray(problem.X)
    device.tables["high"].fill(points - 1)
    device.reach(points)


def _stay(cupy: Any, device: Sweeps, problem: Arguments) -> bool:
    """Fill in the value of staying at each point for ever; return whether every state can, with a finite utility."""
    consumption = device.tables["wealth"][0] - device.tables["cost"][0]
    value = device.tables["V"][0, 0]
    value[...] = utility(cupy, consumption, problem.eta) / (1.0 - problem.beta)
    return bool((consumption > 0.0).all() & cupy.isfinite(value).all())


def _lap(clock: Clock | None, part: str) -> None:
    """Record the time of a part, if there is a clock."""
    if clock is not None:
        clock.lap(part)
