"""Problems of the general form on a CUDA device: the whole iteration in one launch (``general.cu``).

The same sweeps as :mod:`beltline.gpu_ref.general.solve` makes on processors, in the same order: where utility is a
division (``eta = 2``) or linear, values agree to the bit. Candidates are not sorted: where cost falls in ``x'`` though
the expectation does not rise, or where bounds depend on ``x``, the states concerned are searched in full.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from beltline.gpu_ref.cuda.device import Clock, available, processors, ready, refuse
from beltline.gpu_ref.cuda.kernels import argument, general_kernel
from beltline.gpu_ref.general.backward_induction import solve_ages
from beltline.gpu_ref.general.form import Form, Indexes
from beltline.gpu_ref.general.operator import nowhere, states_first
from beltline.gpu_ref.general.outcome import converged, not_finite, solution_of, unfinished
from beltline.gpu_ref.general.packed import TABLE, Packed, pack
from beltline.gpu_ref.general.prices import BondPrices
from beltline.gpu_ref.general.solution import Iterate, Progress, Solution
from beltline.gpu_ref.general.solve import MOVING_STEPS, PATIENCE, checked
from beltline.gpu_ref.general.sweep import Found
from beltline.gpu_ref.tables import Array

CHUNK = 500
"""Sweeps of one launch: between launches progress is told, and Ctrl-C is heard."""

__all__ = ["CudaOperator", "available", "solve", "sweep"]

ALTERNATIVES, REGIMES = 16, 8
"""Most of each, macros of ``general_block.cu``."""

ROWS_ALONE, ROWS = 2048, 512
"""Grid points up to which a block has an exogenous state alone, and those of a block where several share it."""

NEAR = 2**17
"""Bytes of a block's memory that expectations may take."""

RUNNING, CONVERGED, LIMIT, NOT_FINITE = range(4)
_STATE = ("status", "sweeps", "change", "price_change", "moves", "input", "output", "costs", "priced", "slack", "fully")

_FIELDS = (
    *((name, np.int64) for name in ("points", "states", "regimes", "count", "groups", "parts")),
    *((name, np.uint64) for name in (
        "kind", "regime", "leads_to", "reach", "low", "high", "flat", "wealth", "cost", "transition", "beta", "kappa",
        "mix", "V", "mixed", "ev", "kept_ev", "values", "kept", "floor", "chances", "slack", "best", "policy", "choice",
        "least", "most", "moved", "list", "info", "evaluations", "face", "prices", "priced", "state", "told", "flags",
    )),
    *((name, np.float64) for name in ("eta", "sigma", "tol", "gross")),
    *((name, np.int64) for name in (
        "negative", "steps", "most_sweeps", "chunk", "cold", "repay", "defaults", "moving_steps", "patience",
        "near",
    )),
)  # fmt: skip
"""``struct General`` of ``general.cu``."""


class CudaOperator:
    """A problem in the memory of the current device, at one age, and sweeps of it.

    Parameters
    ----------
    cupy
    form
    age
        At which tables are taken.
    prices
        Rule by which the cost of an alternative follows from the default set.
    """

    def __init__(self, cupy: Any, form: Form, age: int = 0, prices: BondPrices | None = None) -> None:
        self._cupy, self._form, self._rule = cupy, form, prices
        regimes, points, states = form.shape
        count = len(form.alternatives)
        if count > ALTERNATIVES or regimes > REGIMES:
            raise ValueError(
                f"a CUDA device takes at most {ALTERNATIVES} alternatives and {REGIMES} regimes, not {count} "
                f"and {regimes}"
            )
        self._sizes = regimes, count, states, points
        self._threads = 256 if points <= 256 else 512
        kind = 4 if form.eta == 0.0 else {1.0: 1, 2.0: 2}.get(form.eta, 0)
        number = cupy.cuda.Device().id
        alone, resident = general_kernel(number, kind, self._threads, False)
        groups = min(states, resident * processors(cupy))
        # Blocks that share an exogenous state wait for each other some ten times a sweep.
        parts = min(processors(cupy) // groups, math.ceil(points / ROWS)) if points > ROWS_ALONE else 1
        self._blocks = groups, max(1, parts)
        self._kernel = general_kernel(number, kind, self._threads, True)[0] if parts > 1 else alone
        refuse(cupy, self.memory(count, regimes, states, points))
        self._tables: dict[str, Any] = {}
        self._allocate()
        self.replace(form, age)

    @staticmethod
    def memory(count: int, regimes: int, states: int, points: int) -> int:
        """Bytes of device memory that a problem takes."""
        return (
            states * points * (count * (8 * 9 + 4 * 6) + regimes * 28 + 32)
            + 132 * points * (16 * count + 60)
            + 8 * count * states * states
            + 2**20
        )

    def _allocate(self) -> None:
        """Room for what sweeps find and keep."""
        cupy = self._cupy
        regimes, count, states, points = self._sizes
        of_all = (count, states, points)
        groups, parts = self._blocks
        own = (count, groups * parts, points) if parts > 1 else of_all
        for name in ("mixed", "ev", "values", "kept", "chances", "slack"):
            self._tables[name] = cupy.zeros(of_all)
        for name in ("floor", "kept_ev"):
            self._tables[name] = cupy.zeros(own)
        for name in ("policy", "least", "most", "moved"):
            self._tables[name] = cupy.zeros(of_all, np.int32)
        self._tables |= {
            "V": cupy.empty((3, regimes, states, points)),
            "choice": cupy.full((regimes, states, points), -1, np.int32),
            "list": cupy.empty((own[1], 5, points), np.int32),
            "best": cupy.empty((own[1], points)),
            "info": cupy.zeros((*own[:2], 4), np.int32),
            "told": cupy.zeros(8 * groups * parts),
            "flags": cupy.zeros(4 * groups * parts, np.uint64),
            "evaluations": cupy.zeros(CHUNK, np.uint64),
            "state": cupy.zeros(16),
        }
        if self._rule is not None:
            self._tables["face"] = cupy.asarray(np.asarray(self._rule.face, np.float64))
            self._tables["prices"] = cupy.zeros(own[1:])
            self._tables["priced"] = cupy.zeros((2, *own[1:]))

    def replace(self, form: Form, age: int = 0) -> None:
        """Go on with another problem of the same alternatives, or at another age."""
        cupy = self._cupy
        self._form = form
        packed: Packed = pack([(one.regime, one.at(age)) for one in form.alternatives], form.shape[0])
        for name in ("kind", "regime", "leads_to"):
            self._tables[name] = cupy.asarray(getattr(packed, name).astype(np.int32))
        for name in ("low", "high", "wealth", "cost", "transition", "beta", "kappa", "mix"):
            self._tables[name] = cupy.asarray(getattr(packed, name))
        reach = np.stack([packed.low[..., 0], packed.high[..., -1]], axis=2)
        reach[packed.kind == TABLE] = (0, -1)
        # Expectations are nearest in the memory of a block, if it has one exogenous state only.
        room = 8 * int((reach[..., 1] - reach[..., 0] + 1).sum(axis=0).max())
        self._near = room if room <= NEAR and self._blocks[0] == form.shape[2] else 0
        self._tables["reach"] = cupy.asarray(np.ascontiguousarray(reach, np.int32))
        same = (packed.low == packed.low[..., :1]) & (packed.high == packed.high[..., :1])
        self._tables["flat"] = cupy.asarray(same.all(axis=2).astype(np.uint8))
        if self._rule is not None:
            repay, _ = self._rule.numbers([one.name for one in form.alternatives])
            parts = self._blocks[1]
            self._tables["priced"][0] = cupy.repeat(self._tables["cost"][repay], parts, axis=0)

    def begin(self, V: Array, wanted: Indexes) -> None:
        """Put in where to begin: ``V``, ``(N_r, N_z, N_k)``, and choices, ``(N_d, N_z, N_k)``."""
        self._tables["V"][0].set(np.ascontiguousarray(V))
        self._tables["policy"].set(np.ascontiguousarray(wanted, np.int32))
        self._tables["state"].fill(0)
        self._cold = bool((wanted < 0).all())

    def launch(
        self, tol: float, max_sweeps: int, steps: int, chunk: int = CHUNK, doubts: bool = True
    ) -> dict[str, Any]:
        """Sweep on, :data:`CHUNK` times at most; what the device says of it, and evaluations by sweep."""
        rule = self._rule
        regimes, count, states, points = self._sizes
        groups, parts = self._blocks
        row = np.zeros(1, np.dtype([*_FIELDS]))
        for name, table in self._tables.items():
            row[name] = table.data.ptr
        numbers = {
            "points": points, "states": states, "regimes": regimes, "count": count, "groups": groups, "parts": parts,
            "eta": self._form.eta, "sigma": self._form.sigma, "tol": tol, "negative": self._form.negative,
            "steps": steps, "most_sweeps": max_sweeps, "chunk": CHUNK, "cold": self._cold,
            "moving_steps": MOVING_STEPS, "patience": PATIENCE, "near": self._near > 0,
        }  # fmt: skip
        if rule is not None:
            numbers["gross"] = 1.0 + rule.interest
            numbers["repay"], numbers["defaults"] = rule.numbers([one.name for one in self._form.alternatives])
        for name, value in numbers.items():
            row[name] = value
        self._tables["flags"].fill(0)
        self._tables["evaluations"].fill(0)
        before = int(self._tables["state"][1])
        self._kernel((groups * parts,), (self._threads,), (argument(row),), shared_mem=self._near)
        self._cold = False
        found: dict[str, Any] = dict(zip(_STATE, self._tables["state"].get().tolist(), strict=False))
        found["evaluations"] = [int(n) for n in self._tables["evaluations"].get()[: int(found["sweeps"]) - before]]
        return found

    def iterate(self, form: Form, outcome: dict[str, Any]) -> Iterate:
        """What the last sweep of a launch found."""
        cupy = self._cupy
        _, _, states, points = self._sizes
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

    def before(self, outcome: dict[str, Any]) -> Array:
        """The value, ``(N_k, N_z)``, that the last sweep of a launch began from, of the only regime."""
        found: Array = states_first(self._tables["V"][int(outcome["input"])].get()[0])
        return found

    def priced(self, outcome: dict[str, Any]) -> tuple[Array, Array]:
        """The cost of the last sweep, and prices that follow from it, ``(N_k, N_z)``."""
        # Blocks that share a state have the same.
        parts = self._blocks[1]
        cost, prices = self._tables["priced"][int(outcome["costs"]), ::parts], self._tables["prices"][::parts]
        return states_first(cost.get()), states_first(prices.get())

    def sweep(self, V: Array, wanted: Indexes) -> Iterate:
        """Maximise once from ``V``, ``(N_r, N_z, N_k)``, beginning from ``wanted``, ``(N_d, N_z, N_k)``."""
        self.begin(V, wanted)
        return self.iterate(self._form, self.launch(0.0, 1, 0))


def sweep(form: Form, V: Array, policy: Indexes, age: int = 0) -> Iterate:
    """Maximise once on the device; as :func:`beltline.gpu_ref.general.operator.sweep`."""
    operator = CudaOperator(ready(), form, age)
    return operator.sweep(states_first(V), np.ascontiguousarray(np.swapaxes(policy, -1, -2), np.int32))


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

    Arguments, result and errors as of :func:`beltline.gpu_ref.general.solve.solve`, but that prices can only move by
    :class:`~beltline.gpu_ref.general.prices.BondPrices`; ``device`` is its number, and ``seconds`` receives those of
    the parts.

    Raises
    ------
    ValueError, MemoryError, RuntimeError
        An argument is wrong; the problem does not fit the device; there is none.
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
            operator.begin(states_first(V), nowhere(form))
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
        message = unfinished(last.change, price_change, max_sweeps, tol, update is not None)
    return solution_of(last, price_change, prices, evaluations, status, message)
