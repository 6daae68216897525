"""Sweeps that need no single peak, launch by launch (``exact.cu``): what doubt is settled by, and policy iteration."""

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
    """Sweeps of one problem, launch by launch, on arrays of the current device."""

    def __init__(self, cupy: Any, problem: Arguments, X: Any, W: Any, Q: Any) -> None:
        self.cupy = cupy
        self.points, self.states = problem.W.shape
        self.beta, self.eta = problem.beta, problem.eta
        self.X, self.W, self.Q = X, W, Q
        self.ev = cupy.empty((self.states, self.points))
        self.expectation, self.level, self.hold = exact_kernels(cupy.cuda.Device().id, kind_of([problem.eta]))

    def _sizes(self) -> tuple[np.int32, np.int32]:
        return np.int32(self.points), np.int32(self.states)

    def expect(self, V: Any) -> None:
        grid = (math.ceil(self.points * self.states / 256),)
        self.expectation(grid, (256,), (self.Q, V, np.float64(self.beta), *self._sizes(), self.ev))

    def maximise(self, V: Any) -> tuple[Any, Any]:
        """``TV`` and its policy by divide and conquer."""
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

    def keep(self, V: Any, policy: Any) -> Any:
        """A sweep with a fixed policy."""
        self.expect(V)
        value = self.cupy.empty((self.points, self.states))
        grid = (math.ceil(self.points * self.states / 256),)
        self.hold(grid, (256,), (self.X, self.W, self.ev, policy, np.float64(self.eta), *self._sizes(), value))
        return value

    def measure(self, value: Any, V: Any, rule: str) -> tuple[float, np.ndarray[Any, np.dtype[np.float64]]]:
        """What the rule compares with epsilon, and what it adds to each state's values in the end."""
        cupy = self.cupy
        change = cupy.where(value == V, 0.0, value - V)
        high, low = change.max(axis=0).get(), change.min(axis=0).get()
        if rule == "change":
            return float(np.maximum(high, -low).max()), np.zeros(self.states)
        if rule == "span":
            middle = np.full(self.states, (high.max() + low.min()) / 2)
            return float((high.max() - low.min()) / 2), shifts(middle, self.Q.get(), self.beta)
        return float(((high - low) / 2).max()), shifts((high + low) / 2, self.Q.get(), self.beta)


@dataclass(frozen=True)
class Swept:
    """Where :func:`iterate` ended: tables of the device, and what :class:`Solution` says of them."""

    value: Any
    policy: Any
    previous: Any
    sweeps: int
    maximising_sweeps: int
    residual: float
    largest: float
    exact_sweeps: int

    def solution(self, problem: Arguments) -> Solution:
        """The same in ordinary memory."""
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
    """Repeat the last sweep by a search that needs no single peak, and go on with it if need be.

    One such sweep is made by divide and conquer; those that follow are proven by brackets, many to a launch, or where
    these do not do, made by divide and conquer, too.
    """
    exact = Exact(cupy, problem, tables.X[i], tables.W[i], tables.Q[i])
    # Where the rule is not met, the local search may have gone astray for good.
    V, sweeps = (tables.previous[i], int(outcome[0]) - 1) if outcome[2] else (tables.V0[i], 0)
    begun = sweeps
    if outcome[2]:
        once = iterate(exact, replace(problem, max_sweeps=sweeps + 1), V, sweeps)
        lost = needs_restart(problem, largest_on(cupy, once.value), once.residual, once.largest)
        sweeps += 1
        if (once.residual < problem.epsilon and not lost) or sweeps >= problem.max_sweeps:
            return once.solution(problem)
        V = once.value
    found = prove(cupy, problem, V.get(), tables.policy[i].get(), sweeps)
    if found is not None and not found.converged and found.maximising_sweeps < problem.max_sweeps:
        # Choices that tie may take turns for ever, by roundings above epsilon.
        V, sweeps, found = cupy.asarray(found.value), found.maximising_sweeps, None
    if found is None:
        found = iterate(exact, problem, V, sweeps).solution(problem)
    return replace(found, exact_sweeps=found.maximising_sweeps - begun)


def iterate(exact: Exact, problem: Arguments, V: Any, sweeps: int, inner: int = 0) -> Swept:
    """Sweep from ``V`` by a search that needs no single peak, until the stopping rule is met.

    ``sweeps`` are those before, all of them with a maximisation; ``inner`` policy evaluation sweeps follow each
    that is not the last. Where the values before the shift were so large that their rounding spoils what is left
    (:func:`beltline.gpu_ref.methods.astray`), it goes on from the shifted ones.
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
            V = exact.keep(V, policy)
            sweeps += 1


def largest_on(cupy: Any, table: Any) -> float:
    """Largest ``|V|`` of a table of the device; what is not finite is nobody's."""
    return float(cupy.where(cupy.isfinite(table), cupy.abs(table), 0.0).max())
