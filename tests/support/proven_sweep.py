"""One proven sweep from any policy, with its slack."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from beltline.gpu_ref.chunk_tables import piece
from beltline.gpu_ref.row_search import cache_row
from beltline.gpu_ref.value_iteration import ValueIteration


class Swept(NamedTuple):
    """``TV`` and its policy, ``(N_k, N_z)``, the bound on what rounding hides, and whether all rows were divided."""

    value: Any
    policy: Any
    slack: float
    divided: bool


def proven_sweep(
    X: Any, W: Any, Q: Any, V: Any, beta: float, eta: float, policy: Any = None, threads: int = 1
) -> Swept:
    """Sweep once from ``V``, with the choices ``policy``, ``(N_k, N_z)``, as guesses."""
    iteration = ValueIteration(np.ascontiguousarray(X), W, Q, beta, eta, threads)
    iteration.load(V)
    if policy is not None:
        t = iteration._tables
        t.policy[:] = policy.T
        for s in range(t.W.shape[0]):
            cache_row(t.X, t.W[s], t.eta, piece(t, s, 0, t.X.size))
    iteration.sweep("change", 0.0, 1)
    value, found = np.empty(W.shape), np.empty(W.shape, np.int32)
    iteration.read("change", value, found)
    return Swept(value, found, iteration.slack(), iteration.exact_sweeps > 0)
