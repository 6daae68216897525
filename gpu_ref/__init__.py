"""Reference solvers in double precision: the independent oracle of everything else.

They work on plain NumPy arrays and know nothing of fixed point, devices or models. With ``N_k`` grid points and ``N_z``
exogenous states, all of ``float64``:

======== ============== ===========================================================================
``X``    ``(N_k,)``     grid of the endogenous state, strictly increasing
``W``    ``(N_k, N_z)`` wealth (money on hand), non-decreasing in ``x``
``Q``    ``(N_z, N_z)`` transition matrix, rows (today's state) sum to 1
``V``    ``(N_k, N_z)`` value at the start of the sweep; ``-inf`` marks a state that nobody can be in
``beta`` float          discount factor, positive
``eta``  float          curvature of CRRA utility, positive
======== ============== ===========================================================================

A *sweep* applies the Bellman operator of the table problem once::

    TV(x, s) = max over x' in X, x' < W(x, s)   U(W(x, s) - x')  +  beta * sum_s' Q(s, s') V(x', s')

and returns ``(TV, policy)``: ``float64`` and ``int32``, both ``(N_k, N_z)``. The policy is the lowest index among the
maximisers; where no candidate has a finite value, ``TV`` is ``-inf`` and the policy is ``-1``.

=============================== ========================================= ====================================
sweep                           needs                                     work
=============================== ========================================= ====================================
:func:`brute_force.sweep`       nothing                                   ``N_z N_k^2``: looks at every candidate
:func:`exact.exact_sweep`       ``W`` non-decreasing in ``x``             ``N_z N_k log2 N_k``
:func:`binary_search.sweep`     an objective with a single peak           ``N_z N_k 3 log2 N_k``
=============================== ========================================= ====================================

All three evaluate a candidate with the same operations in the same order, so the objective of a given candidate has the
same bits in each, and differences between them are differences of search only.
"""

from __future__ import annotations

from beltline.gpu_ref.binary_search import WrongStates, wrong_states
from beltline.gpu_ref.brute_force import search_states
from beltline.gpu_ref.exact import exact_sweep
from beltline.gpu_ref.methods import METHODS, Solution
from beltline.gpu_ref.random_problems import RandomProblem, random_problem
from beltline.gpu_ref.tables import check_tables, expectation
from beltline.gpu_ref.utility import crra_utility
from beltline.gpu_ref.vfi import solve

__all__ = [
    "METHODS",
    "RandomProblem",
    "Solution",
    "WrongStates",
    "check_tables",
    "crra_utility",
    "exact_sweep",
    "expectation",
    "random_problem",
    "search_states",
    "solve",
    "wrong_states",
]
