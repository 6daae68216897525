"""Solve dynamic programs with several alternatives and regimes: default, retirement, entry and exit.

With ``N_k`` points of the endogenous state ``x``, ``N_z`` exogenous states ``s`` and ``N_r`` regimes, the value ``V_r``
of a regime follows from the values ``v_d`` of its alternatives ``d``::

    v_d(x, s) = max over x' in [lo_d(x, s), hi_d(x, s)], G_d(x', s) < W_d(x, s)   of
                    U(W_d(x, s) - G_d(x', s)) + kappa_d(s) + beta_d(s) sum_s' Q_d(s, s') sum_r' mix_d(r') V_r'(x', s')
    V_r(x, s) = max over d of v_d(x, s)      or, with taste shocks of scale sigma,      sigma log sum_d exp(v_d / sigma)

``W`` is cash on hand, ``G`` the cost of ending the period with ``x'``, ``lo`` and ``hi`` are bounds on ``x'`` as grid
indexes, and ``U`` is CRRA utility with ``eta >= 0``, where ``eta = 0`` is ``U(c) = c``. ``W``, ``lo`` and ``hi`` must
not fall in ``x``; ``G`` and ``V`` may have any shape. An alternative may also be a table of values without a choice
(:class:`Outside`). With a finite horizon, ``W, G, Q, beta`` and ``kappa`` may have a first axis of ages.

- :func:`solve` iterates on the value. Every maximising sweep is exact and proves its own result, without concavity
  (:mod:`beltline.gpu_ref.general.column` has the theorem).
- :func:`measured` proves a solution once more, with code that shares no search with the solver.

>>> import numpy as np
>>> from beltline.gpu_ref.general import Branch, Form, Outside, solve
>>> grid = np.linspace(0.0, 4.0, 50)[:, None]
>>> firm = Branch("stay", 0, wealth=grid + np.sqrt(grid), cost=grid, transition=np.eye(1), beta=0.9, kappa=-0.1)
>>> solution = solve(Form((firm, Outside("exit", 0, 0.9 * grid)), eta=0.0))
>>> solution.success, sorted({solution.names[d] for d in solution.choice.ravel()})
(True, ['exit', 'stay'])
"""

from __future__ import annotations

from beltline.gpu_ref.general.certificate import measured
from beltline.gpu_ref.general.form import Alternative, Branch, Form, Outside
from beltline.gpu_ref.general.solution import Iterate, Prices, Solution
from beltline.gpu_ref.general.solve import solve

__all__ = [
    "Alternative",
    "Branch",
    "Form",
    "Iterate",
    "Outside",
    "Prices",
    "Solution",
    "measured",
    "solve",
]
