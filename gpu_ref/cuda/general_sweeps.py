"""Sweeps of the general form on a CUDA device, many per launch (``general.cu``), with tables that are already there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from beltline.gpu_ref.cuda.arena import Arena, Layout, Plan
from beltline.gpu_ref.cuda.device import processors, refuse
from beltline.gpu_ref.cuda.kernels import argument, general_kernel
from beltline.gpu_ref.general.solve import MOVING_STEPS, MOVING_SWEEPS

CHUNK = 500
"""Sweeps of one launch. Between launches progress is reported and Ctrl-C is handled."""

ALTERNATIVES, REGIMES = 16, 8
"""Largest number of each, macros of ``general_block.cu``."""

ROWS_ALONE, ROWS = 2048, 512
"""Grid points up to which a single block has an exogenous state, and grid points of a block if several share one."""

NEAR = 2**17
"""Bytes of shared memory that expectations may take."""

RUNNING, CONVERGED, LIMIT, NOT_FINITE = range(4)
_STATE = ("status", "sweeps", "change", "price_change", "moves", "input", "output", "costs", "priced", "slack", "fully")

_FIELDS = (
    *((name, np.int64) for name in ("points", "states", "regimes", "count", "groups", "parts")),
    *((name, np.uint64) for name in (
        "kind", "regime", "leads_to", "reach", "low", "high", "flat", "wealth", "cost", "transition", "beta", "kappa",
        "mix", "V", "mixed", "ev", "team_ev", "values", "chosen_utility", "floor", "chances", "slack", "best", "policy",
        "choice", "least", "most", "moved", "list", "info", "evaluations", "face", "prices", "priced", "state",
        "reports", "flags",
    )),
    *((name, np.float64) for name in ("eta", "sigma", "tol", "gross", "shift")),
    *((name, np.int64) for name in (
        "negative", "steps", "most_sweeps", "chunk", "cold", "repay", "defaults", "moving_steps", "patience",
        "near",
    )),
)  # fmt: skip
"""``struct General`` of ``general.cu``."""


@dataclass(frozen=True)
class Sizes:
    """Properties of a problem that a kernel is chosen by, before its tables are known.

    Attributes
    ----------
    regimes, alternatives, states, points
        ``N_r``, ``N_d``, ``N_z``, ``N_k``.
    eta, sigma, negative
        As for :class:`beltline.gpu_ref.general.form.Form`.
    priced
        Whether the cost of an alternative follows from the default set.
    """

    regimes: int
    alternatives: int
    states: int
    points: int
    eta: float
    sigma: float = 0.0
    negative: bool = False
    priced: bool = False


class Sweeps:
    """Memory for a problem on the current device, and launches that sweep.

    Parameters
    ----------
    cupy
        The module.
    sizes
        Properties of the problem.

    Attributes
    ----------
    tables
        :class:`~beltline.gpu_ref.cuda.arena.Arena`: the caller fills the problem's tables.

    Raises
    ------
    ValueError
        There are more alternatives or regimes than the kernel has room for.
    MemoryError
        The problem does not fit into the memory of the device; nothing was allocated.
    """

    def __init__(self, cupy: Any, sizes: Sizes) -> None:
        self._sizes = sizes
        if sizes.alternatives > ALTERNATIVES or sizes.regimes > REGIMES:
            raise ValueError(
                f"a CUDA device takes at most {ALTERNATIVES} alternatives and {REGIMES} regimes, not "
                f"{sizes.alternatives} and {sizes.regimes}"
            )
        points, states = sizes.points, sizes.states
        self._threads = 256 if points <= 256 else 512
        kind = 4 if sizes.eta == 0.0 else {1.0: 1, 2.0: 2}.get(sizes.eta, 0)
        number = cupy.cuda.Device().id
        alone, resident = general_kernel(number, kind, self._threads, False)
        groups = min(states, resident * processors(cupy))
        # Blocks that share an exogenous state synchronise about ten times per sweep, so only long grids use several.
        parts = min(processors(cupy) // groups, math.ceil(points / ROWS)) if points > ROWS_ALONE else 1
        self.blocks = groups, max(1, parts)
        self._kernel = general_kernel(number, kind, self._threads, True)[0] if parts > 1 else alone
        refuse(cupy, memory(sizes.alternatives, sizes.regimes, states, points))
        self.tables = Arena(cupy, Plan(*self._layouts()))
        self.tables["choice"].fill(-1)
        self._near, self._done, self._cold = 0, 0, True

    def _layouts(self) -> tuple[Layout, Layout]:
        """Return the shapes and types of the small tables, and of all others."""
        sizes = self._sizes
        regimes, count, states, points = sizes.regimes, sizes.alternatives, sizes.states, sizes.points
        groups, parts = self.blocks
        of_all, of_state = (count, states, points), (count, states)
        own = (count, groups * parts, points) if parts > 1 else of_all
        small: dict[str, tuple[tuple[int, ...], type]] = {
            **dict.fromkeys(("kind", "regime", "leads_to"), ((count,), np.int32)),
            "reach": ((*of_state, 2), np.int32),
            "flat": (of_state, np.uint8),
            "transition": ((count, states, states), np.float64),
            **dict.fromkeys(("beta", "kappa"), (of_state, np.float64)),
            "mix": ((count, regimes), np.float64),
        }
        large: dict[str, tuple[tuple[int, ...], type]] = {
            **dict.fromkeys(("low", "high", "policy", "least", "most", "moved"), (of_all, np.int32)),
            **dict.fromkeys(("wealth", "cost"), (of_all, np.float64)),
            **dict.fromkeys(("mixed", "ev", "values", "chosen_utility", "chances", "slack"), (of_all, np.float64)),
            **dict.fromkeys(("floor", "team_ev"), (own, np.float64)),
            "V": ((3, regimes, states, points), np.float64),
            "choice": ((regimes, states, points), np.int32),
            "list": ((own[1], 5, points), np.int32),
            "best": ((own[1], points), np.float64),
            "info": ((*own[:2], 4), np.int32),
            "reports": ((16 * groups * parts,), np.float64),
            "flags": ((4 * groups * parts,), np.uint64),
            "evaluations": ((CHUNK,), np.uint64),
            "state": ((16,), np.float64),
        }
        if sizes.priced:
            large |= {
                "face": ((points,), np.float64),
                "prices": (own[1:], np.float64),
                "priced": ((2, *own[1:]), np.float64),
            }
        return small, large

    def reach(self, candidates: int) -> None:
        """Set how many candidates all alternatives of an exogenous state have together."""
        # Shared memory is fastest for expectations, but only if a block has a single exogenous state.
        room = 8 * candidates
        self._near = room if room <= NEAR and self.blocks[0] == self._sizes.states else 0

    def begin(self, V: ArrayLike | None, guess: ArrayLike | None) -> None:
        """Set the starting value ``V``, ``(N_r, N_z, N_k)``, and the guess of the policy, ``(N_d, N_z, N_k)``.

        ``V = None`` means that it is already on the device; ``guess = None`` that there is no guess.
        """
        if V is not None:
            self.tables["V"][0].set(np.ascontiguousarray(V))
        self._cold = guess is None or bool((np.asarray(guess) < 0).all())
        if guess is None:
            self.tables["policy"].fill(-1)
        else:
            self.tables["policy"].set(np.ascontiguousarray(guess, np.int32))
        self.tables["state"].fill(0)
        self._done = 0

    def launch(
        self,
        tol: float,
        max_sweeps: int,
        steps: int,
        gross: float = 1.0,
        repay: int = -1,
        defaults: int = -1,
        shift: float = 0.0,
    ) -> dict[str, Any]:
        """Run at most :data:`CHUNK` further sweeps; return their outcome, with the number of evaluations of each.

        If costs follow from the default set, ``gross`` is the gross return that lenders require, and ``repay`` and
        ``defaults`` are the numbers of the alternatives. After ``steps`` policy evaluation steps, ``shift`` times the
        mid-point of the last change is added to all values; this is valid only if every regime leads to itself alone.
        """
        sizes, tables = self._sizes, self.tables
        groups, parts = self.blocks
        row = np.zeros(1, np.dtype([*_FIELDS]))
        for name, address in tables.addresses().items():
            row[name] = address
        numbers = {
            "points": sizes.points, "states": sizes.states, "regimes": sizes.regimes, "count": sizes.alternatives,
            "groups": groups, "parts": parts, "eta": sizes.eta, "sigma": sizes.sigma, "tol": tol,
            "negative": sizes.negative, "steps": steps, "most_sweeps": max_sweeps, "chunk": CHUNK, "cold": self._cold,
            "moving_steps": MOVING_STEPS, "patience": MOVING_SWEEPS, "near": self._near > 0, "gross": gross,
            "repay": repay, "defaults": defaults, "shift": shift,
        }  # fmt: skip
        for name, value in numbers.items():
            row[name] = value
        tables["flags"].fill(0)
        tables["evaluations"].fill(0)
        self._kernel((groups * parts,), (self._threads,), (argument(row),), shared_mem=self._near)
        self._cold = False
        found: dict[str, Any] = dict(zip(_STATE, tables["state"].get().tolist(), strict=False))
        before, self._done = self._done, int(found["sweeps"])
        found["evaluations"] = [int(n) for n in tables["evaluations"].get()[: self._done - before]]
        return found


def memory(count: int, regimes: int, states: int, points: int) -> int:
    """Return the bytes of device memory that a problem takes."""
    return (
        states * points * (count * (8 * 9 + 4 * 6) + regimes * 28 + 32)
        + 132 * points * (16 * count + 60)
        + 8 * count * states * states
        + 2**20
    )
