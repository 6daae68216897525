"""Discrete dynamic programs with any rewards and any transitions, on plain arrays.

With ``n`` states, and in state ``i`` some actions ``a``, each of which leads to a *lottery* ``k``, a distribution of
the next state::

    V(i) = max over a in A(i) of  R(i, a) + beta sum_j P(k(i, a), j) V(j)

Nothing is asked of ``R`` and ``P``. Where many pairs of a state and an action share a lottery, as where an action
chooses the next endogenous state and a chain moves the exogenous one, an expectation is taken once for all of them.

:func:`solve` is policy iteration whose sweeps search every pair, or fewer where rewards have increasing differences;
:func:`certify` applies the operator once more to what was found, by NumPy and nothing of the solver, and bounds its
error.

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

from beltline.gpu_ref.discrete.exact_step import Certified, certify
from beltline.gpu_ref.discrete.policy_iteration import Iterated, solve
from beltline.gpu_ref.discrete.program import Program, distinct, numbered, program_of

__all__ = ["Certified", "Iterated", "Program", "certify", "distinct", "numbered", "program_of", "solve"]
