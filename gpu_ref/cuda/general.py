"""Solve problems of the general form on a CUDA device: the whole iteration is one launch (``general.cu``).

The sweeps are those that :mod:`beltline.gpu_ref.general.solve` makes on processors, in the same order. If utility is a
division (``eta = 2``) or linear, values agree to the bit. Candidates are not sorted: if cost falls in ``x'`` although
the expectation does not rise, or if bounds depend on ``x``, the exogenous states concerned are searched in full.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from beltline.gpu_ref.cuda.device import Clock, available, ready
from beltline.gpu_ref.cuda.general_sweeps import CONVERGED, NOT_FINITE, RUNNING, Sizes, Sweeps
from beltline.gpu_ref.general.backward_induction import solve_ages
from beltline.gpu_ref.general.form import Form, Indexes
from beltline.gpu_ref.general.operator import no_policy, states_first
from beltline.gpu_ref.general.outcome import converged, not_finite, solution_of, unfinished
from beltline.gpu_ref.general.packed import TABLE, Packed, pack
from beltline.gpu_ref.general.prices import BondPrices
from beltline.gpu_ref.general.solution import Iterate, Progress, Solution
from beltline.gpu_ref.general.solve import checked
from beltline.gpu_ref.general.sweep import Found
from beltline.gpu_ref.tables import Array

__all__ = ["CudaOperator", "available", "solve"]


class CudaOperator:
    """Sweep a problem in the memory of the current device, at one age.

    Parameters
    ----------
    cupy
        The module.
    form
        The problem.
    age
        Age whose tables are taken.
    prices
        Rule by which the cost of an alternative follows from the default set.
    """

    def __init__(self, cupy: Any, form: Form, age: int = 0, prices: BondPrices | None = None) -> None:
        self._cupy, self._form, self._rule = cupy, form, prices
        regimes, points, states = form.shape
        count = len(form.alternatives)
        self._sizes = Sizes(
            regimes, count, states, points, form.eta, form.sigma, form.negative, priced=prices is not None
        )
        self._sweeps = Sweeps(cupy, self._sizes)
        self._tables = self._sweeps.tables
        if prices is not None:
            self._tables["face"].set(np.asarray(prices.face, np.float64))
        self.replace(form, age)

    def replace(self, form: Form, age: int = 0) -> None:
        """Take the tables of another problem with the same alternatives, or of another age."""
        self._form = form
        packed: Packed = pack([(one.regime, one.at(age)) for one in form.alternatives], form.shape[0])
        reach = np.stack([packed.low[..., 0], packed.high[..., -1]], axis=2)
        reach[packed.kind == TABLE] = (0, -1)
        self._sweeps.reach(int((reach[..., 1] - reach[..., 0] + 1).sum(axis=0).max()))
        same = (packed.low == packed.low[..., :1]) & (packed.high == packed.high[..., :1])
        names = ("kind", "regime", "leads_to", "low", "high", "wealth", "cost", "transition", "beta", "kappa", "mix")
        tables = {name: getattr(packed, name) for name in names}
        self._tables.put({**tables, "reach": reach, "flat": same.all(axis=2)})
        if self._rule is not None:
            repay, _ = self._rule.numbers([one.name for one in form.alternatives])
            parts = self._sweeps.blocks[1]
            self._tables["priced"][0] = self._cupy.repeat(self._tables["cost"][repay], parts, axis=0)

    def begin(self, V: Array, guess: Indexes) -> None:
        """Set the starting value ``V``, ``(N_r, N_z, N_k)``, and the guess of the policy, ``(N_d, N_z, N_k)``."""
        self._sweeps.begin(V, guess)

    def launch(self, tol: float, max_sweeps: int, steps: int) -> dict[str, Any]:
        """Run at most :data:`CHUNK` further sweeps; return their outcome, with the number of evaluations of each."""
        rule = self._rule
        if rule is None:
            return self._sweeps.launch(tol, max_sweeps, steps)
        repay, defaults = rule.numbers([one.name for one in self._form.alternatives])
        return self._sweeps.launch(tol, max_sweeps, steps, 1.0 + rule.interest, repay, defaults)

    def iterate(self, form: Form, outcome: dict[str, Any]) -> Iterate:
        """Return the outcome of the last sweep of a launch."""
        cupy = self._cupy
        states, points = self._sizes.states, self._sizes.points
        tables = self._tables
        facts = np.array([[outcome["change"], outcome["slack"], float(outcome["status"] != NOT_FINITE)]])
        counts = np.array([[[outcome["evaluations"][-1], 0, int(outcome["fully"])]]], np.int64)
        chances = tables["chances"].get() if form.sigma > 0.0 else np.zeros((0, states, points))
        found = Found(
            value=cupy.asnumpy(tables["V"][int(outcome["output"])]),
            choice=tables["choice"].get(),
            values=tables["values"].get(),
            policy=tables["policy"].get(),
            slack=np.empty((0, states, points)),
            probabilities=chances,
            facts=facts,
            counts=counts,
        )
        return Iterate(form, found)

    def priced(self, outcome: dict[str, Any]) -> tuple[Array, Array]:
        """Return the cost of the last sweep, and the prices that follow from it, ``(N_k, N_z)`` each."""
        # Blocks that share an exogenous state have equal copies.
        parts = self._sweeps.blocks[1]
        cost, prices = self._tables["priced"][int(outcome["costs"]), ::parts], self._tables["prices"][::parts]
        return states_first(cost.get()), states_first(prices.get())

    def sweep(self, V: Array, guess: Indexes) -> Iterate:
        """Maximise once from ``V``, ``(N_r, N_z, N_k)``, starting from the policy ``guess``, ``(N_d, N_z, N_k)``."""
        self.begin(V, guess)
        return self.iterate(self._form, self.launch(0.0, 1, 0))


def solve(
    form: Form,
    start: ArrayLike | None = None,
    *,
    tol: float = 1e-8,
    max_sweeps: int = 10_000,
    steps: int = 0,
    update: BondPrices | None = None,
    progress: Progress | None = None,
    device: int = 0,
    seconds: dict[str, float] | None = None,
) -> Solution:
    """Solve a general problem on a CUDA device.

    Arguments, result and errors as for :func:`beltline.gpu_ref.general.solve.solve`, except that prices can move only
    by :class:`~beltline.gpu_ref.general.prices.BondPrices`. ``device`` is the number of the device, and ``seconds``
    receives the time of the parts.

    Raises
    ------
    ValueError
        An argument is wrong.
    MemoryError
        The problem does not fit into the memory of the device or of this computer.
    RuntimeError
        There is no CUDA device that can be used.
    """
    V, tol, max_sweeps, steps = checked(form, start, tol, max_sweeps, steps, update)
    if update is not None and not isinstance(update, BondPrices):
        raise ValueError(f"on a CUDA device update must be BondPrices, not {type(update).__name__}")
    cupy = ready()
    with cupy.cuda.Device(device):
        clock = Clock(cupy)
        clock.restart()
        operator = CudaOperator(cupy, form, (form.horizon or 1) - 1, update)
        if form.horizon is not None:
            found = solve_ages(form, V, form.horizon, progress, operator)
            clock.lap("solve")
        else:
            operator.begin(states_first(V), no_policy(form))
            clock.lap("load")
            evaluations: list[int] = []
            while True:
                outcome = operator.launch(tol, max_sweeps, steps)
                evaluations += outcome["evaluations"]
                if progress is not None:
                    progress(int(outcome["sweeps"]), outcome["change"])
                if outcome["status"] != RUNNING:
                    break
            clock.lap("solve")
            found = _solution(operator, form, update, outcome, evaluations, tol, max_sweeps)
            clock.lap("read")
    if seconds is not None:
        seconds |= clock.seconds
    return found


def _solution(
    operator: CudaOperator, form: Form, update: BondPrices | None, outcome: dict[str, Any], evaluations: list[int],
    tol: float, max_sweeps: int,
) -> Solution:  # fmt: skip
    """Build the solution from the outcome of the last launch."""
    price_change, prices = 0.0, None
    if update is not None:
        cost, prices = operator.priced(outcome)
        form = form.with_tables({update.repay: {"cost": cost}})
        price_change = outcome["price_change"]
    last = operator.iterate(form, outcome)
    if outcome["status"] == NOT_FINITE:
        status, message = not_finite(form, last.value)
    elif outcome["status"] == CONVERGED:
        status = "converged"
        message = converged(last.change, price_change, len(evaluations), update is not None)
    else:
        status = "sweep limit"
        message = unfinished(last.change, price_change, max_sweeps, tol, update is not None, last.value)
    return solution_of(last, price_change, prices, evaluations, status, message)
