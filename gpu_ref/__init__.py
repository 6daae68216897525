"""Reference solvers in double precision: the independent oracle with which everything else is compared.

They work on plain NumPy arrays and know nothing of fixed point, devices or models. With ``N_k`` grid points and ``N_z``
exogenous states, all of ``float64``:

======== ============== ===========================================================================
``X``    ``(N_k,)``     grid of the endogenous state, strictly increasing
``W``    ``(N_k, N_z)`` wealth (cash on hand), non-decreasing in ``x``
``Q``    ``(N_z, N_z)`` transition matrix, rows (today's state) sum to 1
``V``    ``(N_k, N_z)`` value at the start of the sweep; ``-inf`` marks a state without a feasible plan
``beta`` float          discount factor, positive
``eta``  float          curvature of CRRA utility, positive
======== ============== ===========================================================================

A *sweep* applies the Bellman operator of the table problem once::

    TV(x, s) = max over x' in X, x' < W(x, s)   U(W(x, s) - x')  +  beta * sum_s' Q(s, s') V(x', s')

and returns ``(TV, policy)``: ``float64`` and ``int32``, both ``(N_k, N_z)``. The policy is the lowest index among the
maximisers; where no candidate has a finite value, ``TV`` is ``-inf`` and the policy is ``-1``.

===================================== =================================== ==========================================
sweep                                 needs                               work
===================================== =================================== ==========================================
:func:`published.grid_search.sweep`   nothing                             ``N_z N_k^2``: evaluates every candidate
:func:`exact.exact_sweep`             ``W`` non-decreasing in ``x``       ``N_z N_k log2 N_k``
:func:`published.staged_search.sweep` an objective with a single peak     ``N_z N_k 3 log2 N_k``
===================================== =================================== ==========================================

All three evaluate a candidate with the same operations in the same order. So the objective of a candidate has the same
bits in each of them, and any difference between them is a difference of the search.

Each name is imported when it is first used, so that modules which need no compiled code do not import Numba.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from beltline.gpu_ref.exact import exact_sweep as exact_sweep
    from beltline.gpu_ref.methods import METHODS as METHODS
    from beltline.gpu_ref.methods import Solution as Solution
    from beltline.gpu_ref.tables import check_tables as check_tables
    from beltline.gpu_ref.tables import expectation as expectation
    from beltline.gpu_ref.utility import crra_utility as crra_utility

_HOMES = {
    "METHODS": "beltline.gpu_ref.methods",
    "Solution": "beltline.gpu_ref.methods",
    "check_tables": "beltline.gpu_ref.tables",
    "crra_utility": "beltline.gpu_ref.utility",
    "exact_sweep": "beltline.gpu_ref.exact",
    "expectation": "beltline.gpu_ref.tables",
}
"""The module that defines each name."""

__all__ = [
    "METHODS",
    "Solution",
    "check_tables",
    "crra_utility",
    "exact_sweep",
    "expectation",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
