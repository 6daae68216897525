"""Sweeps that brackets prove, as those of the general form (``general.cu``), where objectives may have several peaks.

A table problem is a general one with one regime and one alternative. Its sweeps are many to a launch; between them
policy evaluation steps follow. They are tried before the local search where wealth is
not concave, go on where that search leaves doubt, and are tried first by ``mpi``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.cuda.device import Clock
from beltline.gpu_ref.cuda.general_sweeps import CONVERGED, LIMIT, RUNNING, Sizes, Sweeps
from beltline.gpu_ref.cuda.start import utility
from beltline.gpu_ref.methods import DOUBLE, Arguments, Solution, error_bound
from beltline.gpu_ref.tables import Array

STEPS = 10
"""Steps of policy evaluation between sweeps, from the second on: a sweep that moves little takes as long as four."""

MOST = 200
"""Most sweeps: with policy evaluation between them a dozen do, but where roundings keep two choices in turns."""

ROWS = 256
"""Most grid points at which it is looked whether wealth is concave: enough to choose how to begin."""

BEND = 1e-6
"""By which share, besides roundings, a slope may exceed the one before it where wealth counts as concave."""


def bends_up(X: Array, W: Array) -> bool:
    """Whether wealth, ``(N_k, N_z)``, has a kink or a jump upwards, so that objectives may have several peaks.

    Looks at :data:`ROWS` of the grid points ``X``, ``(N_k,)``, at most. Where it says no, there may still be some.
    """
    rows = np.unique(np.linspace(0, X.size - 1, min(X.size, ROWS)).astype(np.intp))
    if rows.size < 3:
        return False
    steps = np.diff(X[rows])[:, None]
    slopes = np.diff(W[rows], axis=0) / steps
    noise = 8.0 * DOUBLE * np.abs(W[rows]).max() / steps
    return bool((slopes[1:] > slopes[:-1] + BEND * np.abs(slopes[:-1]) + noise[1:] + noise[:-1]).any())


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
    """Go on from ``V``, ``(N_k, N_z)``, until the largest change is below ``epsilon``, for at most :data:`MOST` sweeps.

    After steps of policy evaluation values are shifted by the average of what further steps would add (MacQueen).

    Parameters
    ----------
    cupy, problem
    V
        ``None``: the value of staying at each point for ever, found on the device.
    policy
        ``(N_k, N_z)``: choices to begin from; ``None``: none.
    sweeps
        Those before, all of them with a maximisation.
    steps
        Of policy evaluation, between sweeps.
    clock
        Which tells the time of the parts, if any.
    previous
        Whether to return :attr:`~beltline.gpu_ref.methods.Solution.previous` too.

    Returns
    -------
    Solution or None
        ``None`` says nothing: a state can afford no choice, a value is not finite, or memory is short.
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
    """Put in the value of staying at each point for ever; whether everyone can, with a utility that is finite."""
    consumption = device.tables["wealth"][0] - device.tables["cost"][0]
    value = device.tables["V"][0, 0]
    value[...] = utility(cupy, consumption, problem.eta) / (1.0 - problem.beta)
    return bool((consumption > 0.0).all() & cupy.isfinite(value).all())


def _lap(clock: Clock | None, part: str) -> None:
    if clock is not None:
        clock.lap(part)
