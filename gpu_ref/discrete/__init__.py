"""Solve discrete dynamic programs with any rewards and any transitions, given as plain arrays.

There are ``n`` states. In state ``i`` some actions ``a`` are possible, each of which leads to a *lottery* ``k``, a
distribution of the next state::

    V(i) = max over a in A(i) of  R(i, a) + beta sum_j P(k(i, a), j) V(j)

``R`` and ``P`` may be anything. Many pairs of state and action may share a lottery, for example if an action chooses
the next endogenous state and a chain moves the exogenous one. Its expectation is then computed once for all of them.

- :func:`solve` is policy iteration. Its sweeps search every pair, or fewer if rewards have increasing differences.
- :func:`certify` bounds the error of any value by state, and proves what it can of choices; :func:`measured` compares a
  solution with what the solver promises. Both evaluate every pair once more, without code of the solver.

>>> import numpy as np
>>> from scipy import sparse
>>> from beltline.gpu_ref.discrete import program_of, solve
>>> chances = sparse.csr_array([[0.5, 0.5], [0.0, 1.0]])
>>> program = program_of(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([5.0, 10.0, -1.0]), np.array([0, 1, 1]),
...     chances, 0.95)
>>> solve(program, tol=1e-9).value.round(8)
array([ -8.57142857, -20.        ])
"""

from __future__ import annotations

from beltline.gpu_ref.discrete.exact_step import Measured, certify, certify_ages, measured, relative_bound
from beltline.gpu_ref.discrete.policy_iteration import Iterated, solve, solve_ages
from beltline.gpu_ref.discrete.program import Program, distinct, numbered, program_of

__all__ = ["Iterated", "Measured", "Program", "certify", "certify_ages", "distinct", "measured", "numbered"]
__all__ += ["program_of", "relative_bound", "solve", "solve_ages"]
