"""Exact sweeps on a CUDA device, one launch per sweep (``exact.cu``), for objectives with several peaks.

They repeat the last sweep of a local search if a single peak is in doubt, and do policy iteration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from beltline.gpu_ref.cuda.device_tables import Tables
from beltline.gpu_ref.cuda.kernels import exact_kernels, kind_of
from beltline.gpu_ref.cuda.proven_sweeps import prove
from beltline.gpu_ref.methods import Arguments, Solution, error_bound, needs_restart, shifts


class Exact:
    """Sweeps of one problem, one launch each, on arrays of the current device."""

    def __init__(self, cupy: Any, problem: Arguments, X: Any, W: Any, Q: Any) -> None:
        self.cupy = cupy
        self.points, self.states = problem.W.shape
        self.beta, self.eta = problem.beta, problem.eta
        self.X, self.W, self.Q = X, W, Q
        self.ev = cupy.empty((self.states, self.points))
        self.expectation, self.level, self._evaluate = exact_kernels(cupy.cuda.Device().id, kind_of([problem.eta]))

    def _sizes(self) -> tuple[np.int32, np.int32]:
        """Return ``N_k`` and ``N_z`` as arguments of a kernel."""
        return np.int32(self.points), np.int32(self.states)

    def expect(self, V: Any) -> None:
        """Fill ``ev`` with the discounted expectation of ``V``."""
        grid = (math.ceil(self.points * self.states / 256),)
        self.expectation(grid, (256,), (self.Q, V, np.float64(self.beta), *self._sizes(), self.ev))

    def maximise(self, V: Any) -> tuple[Any, Any]:
        """Return ``TV`` and its policy, by divide and conquer."""
        self.expect(V)
        value = self.cupy.empty((self.points, self.states))
        policy = self.cupy.empty((self.points, self.states), dtype=np.int32)
        step = 1 << (self.points.bit_length() - 1)
        while step:
            warps = (self.points // step + 1) // 2 * self.states
            self.level(
                (math.ceil(warps / 4),),
                (128,),
                (self.X, self.W, self.ev, np.float64(self.eta), *self._sizes(), np.int32(step), value, policy),
            )
            step //= 2
        return value, policy

    def evaluate(self, V: Any, policy: Any) -> Any:
        """Return the value after a sweep with a fixed policy."""
        self.expect(V)
        value = self.cupy.empty((self.points, self.states))
        grid = (math.ceil(self.points * self.states / 256),)
        self._evaluate(grid, (256,), (self.X, self.W, self.ev, policy, np.float64(self.eta), *self._sizes(), value))
        return value

    def measure(self, value: Any, V: Any, rule: str) -> tuple[float, np.ndarray[Any, np.dtype[np.float64]]]:
        """Return what the stopping rule compares with epsilon, and the shift that it adds to each exogenous state's
        values at the end.
        """
        cupy = self.cupy
        change = cupy.where(value == V, 0.0, value - V)
        high, low = change.max(axis=0).get(), change.min(axis=0).get()
        if rule == "change":
            return float(np.maximum(high, -low).max()), np.zeros(self.states)
        return float(((high - low) / 2).max()), shifts((high + low) / 2, self.Q.get(), self.beta)


@dataclass(frozen=True)
class Swept:
    """Outcome of :func:`iterate`: tables on the device, and the numbers of a :class:`Solution`."""

    value: Any
    policy: Any
    previous: Any
    sweeps: int
    maximising_sweeps: int
    residual: float
    largest: float
    exact_sweeps: int

    def solution(self, problem: Arguments) -> Solution:
        """Copy the outcome to a :class:`Solution` in host memory."""
        value = self.value.get()
        return Solution(
            value=value,
            policy=self.policy.get(),
            sweeps=self.sweeps,
            maximising_sweeps=self.maximising_sweeps,
            residual=self.residual,
            error_bound=error_bound(self.residual, value, problem.Q, problem.beta, problem.eta, self.largest),
            converged=self.residual < problem.epsilon,
            method=problem.method,
            previous=self.previous.get(),
            exact_sweeps=self.exact_sweeps,
        )


def settle(cupy: Any, problem: Arguments, tables: Tables, i: int, outcome: Any) -> Solution:
    """Repeat the last sweep of a local search exactly, and continue if the stopping rule is then not met.

    The first exact sweep is by divide and conquer. Those that follow are proven by brackets, many per launch; if that
    fails, they use divide and conquer, too.
    """
    exact = Exact(cupy, problem, tables["X"][i], tables["W"][i], tables["Q"][i])
    # If the local search did not meet the stopping rule, its values may be far off: start again from V0.
    V, sweeps = (tables["previous"][i], int(outcome[0]) - 1) if outcome[2] else (tables["V0"][i], 0)
    begun = sweeps
    if outcome[2]:
        once = iterate(exact, problem._replace(max_sweeps=sweeps + 1), V, sweeps)
        lost = needs_restart(problem, largest_on(cupy, once.value), once.residual, once.largest)
        sweeps += 1
        if (once.residual < problem.epsilon and not lost) or sweeps >= problem.max_sweeps:
            return once.solution(problem)
        V = once.value
    found = prove(cupy, problem, V.get(), tables["policy"][i].get(), sweeps)
    if found is not None and not found.converged and found.maximising_sweeps < problem.max_sweeps:
        # Because of rounding, two choices that tie may alternate for ever and change the value by more than epsilon.
        V, sweeps, found = cupy.asarray(found.value), found.maximising_sweeps, None
    if found is None:
        found = iterate(exact, problem, V, sweeps).solution(problem)
    return replace(found, exact_sweeps=found.maximising_sweeps - begun)


def iterate(exact: Exact, problem: Arguments, V: Any, sweeps: int, inner: int = 0) -> Swept:
    """Sweep exactly from ``V`` until the stopping rule is met.

    ``sweeps`` have been done before, all with maximisation; ``inner`` policy evaluation sweeps follow each sweep except
    the last. If the values before the shift were so large that their rounding makes the choices unreliable
    (:func:`beltline.gpu_ref.methods.needs_restart`), the iteration continues from the shifted values.
    """
    maximising, first = sweeps, sweeps
    while True:
        value, policy = exact.maximise(V)
        sweeps += 1
        maximising += 1
        measured, shift = exact.measure(value, V, problem.rule)
        if measured < problem.epsilon or sweeps >= problem.max_sweeps:
            shifted = value + exact.cupy.asarray(shift)
            largest = max(largest_on(exact.cupy, V), largest_on(exact.cupy, value))
            size = float(exact.cupy.abs(shifted).max())
            if sweeps >= problem.max_sweeps or not needs_restart(problem, size, measured, largest):
                return Swept(shifted, policy, V, sweeps, maximising, measured, largest, maximising - first)
            V = shifted
            continue
        V = value
        for _ in range(min(inner, problem.max_sweeps - sweeps - 1)):
            V = exact.evaluate(V, policy)
            sweeps += 1


def largest_on(cupy: Any, table: Any) -> float:
    """Return the largest finite ``|V|`` of a table on the device."""
    return float(cupy.where(cupy.isfinite(table), cupy.abs(table), 0.0).max())
