"""Starting values: the solution of a smooth problem by polynomials, or that of a part of the grid; and the nearest.

Smooth problems have a start from a dozen points for each exogenous state (:mod:`beltline.gpu_ref.spectral`). For all
others the problem is solved on every eighth grid point, and so on down to a few hundred points, each by the method of
:mod:`beltline.gpu_ref.value_iteration`. The value of a solution depends on ``x`` only through cash on hand ``W(x, s)``,
in which it is smooth between kinks, wherever ``W`` itself jumps or is flat. So it is drawn over the grid by cubics in
``W`` that keep its slopes monotone (Fritsch and Butland 1984, "A method for constructing local monotone piecewise cubic
interpolants", SIAM Journal on Scientific and Statistical Computing 5).

The guarantee of a stopping rule does not depend on where the iteration starts, so nothing here has to be exact. A start
that says something about the solution (:func:`is_guess`) is compared with what follows from this (:func:`nearest`).
"""

from __future__ import annotations

import math

import numpy as np

from beltline.compiled import njit
from beltline.gpu_ref.exact import exact_sweep
from beltline.gpu_ref.methods import can_stay, modulus, stay_start
from beltline.gpu_ref.spectral import smooth_start
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.threads import threads_for
from beltline.gpu_ref.value_iteration import ValueIteration

FEWEST = 256
"""Number of grid points from which a part of the grid is solved first."""

STRIDE, LOOSER = 8, 1e4
"""A part of the grid has every eighth point, and is solved to a tolerance that is this much larger: what it lacks, more
exactness would not bring.
"""

LIMIT = 200
"""Largest number of sweeps and passes on a part of the grid."""

PLACES = 128
"""Number of grid points at which a start is looked at."""


@njit(cache=True)
def _draw(W: Array, at: Array, rows: Array, value: Array, drawn: Array) -> None:
    """Draw ``value`` over ``W``, known at grid points ``rows``, where cash on hand is ``at``, into ``drawn``."""
    count = rows.size
    steps, slopes, bends = np.empty(count), np.empty(count), np.empty(count)
    for s in range(W.shape[1]):
        for i in range(count - 1):
            steps[i] = at[i + 1, s] - at[i, s]
            slopes[i] = (value[i + 1, s] - value[i, s]) / steps[i] if steps[i] > 0.0 else 0.0
        bends[0], bends[count - 1] = slopes[0], slopes[count - 2]
        for i in range(1, count - 1):
            a, b, left, right = slopes[i - 1], slopes[i], steps[i - 1], steps[i]
            if left <= 0.0 or right <= 0.0:
                bends[i] = b if left <= 0.0 else a
            elif a * b <= 0.0:
                bends[i] = 0.0
            else:
                near, far = 2.0 * right + left, right + 2.0 * left
                bends[i] = (near + far) / (near / a + far / b)
        i = 0
        for x in range(W.shape[0]):
            while i < count - 2 and rows[i + 1] <= x:
                i += 1
            if steps[i] <= 0.0:
                drawn[x, s] = value[i, s]
                continue
            t = (W[x, s] - at[i, s]) / steps[i]
            u = 1.0 - t
            curved = steps[i] * t * u * (bends[i] * u - bends[i + 1] * t)
            drawn[x, s] = value[i, s] * u * u * (1.0 + 2.0 * t) + value[i + 1, s] * t * t * (3.0 - 2.0 * t) + curved


def nested_start(X: Array, W: Array, Q: Array, beta: float, eta: float, epsilon: float, given: Array) -> Array:
    """Return a starting value, ``(N_k, N_z)``, units of utility, from the solution on a part of the grid.

    Arguments as in :mod:`beltline.gpu_ref`. On fewer than :data:`FEWEST` points it is the value of staying at ``x``, or
    ``given`` where some state cannot afford to stay.
    """
    if X.size < FEWEST:
        return stay_start(X, W, beta, eta) if can_stay(X, W, eta) else given
    rows = np.append(np.arange(0, X.size - 1, STRIDE), X.size - 1)
    some = np.ascontiguousarray(X[rows]), np.ascontiguousarray(W[rows])
    begin = nested_start(*some, Q, beta, eta, LOOSER * epsilon, np.ascontiguousarray(given[rows]))
    iteration = ValueIteration(*some, Q, beta, eta, threads_for(some[1].size))
    iteration.load(begin)
    iteration.iterate(LOOSER * epsilon, LIMIT)
    value, policy, start = np.empty(some[1].shape), np.empty(some[1].shape, np.int32), np.empty(W.shape)
    iteration.read("spans", value, policy)
    iteration.close()
    if not math.isfinite(iteration.size):
        return given
    _draw(W, some[1], rows, value, start)
    return start


def _spread(difference: Array) -> float:
    """Return half the largest spread over ``x`` of any exogenous state, which no shift of that state's values can
    remove.
    """
    return float((difference.max(axis=0) - difference.min(axis=0)).max()) / 2.0


def _swept_spread(X: Array, W: Array, Q: Array, beta: float, eta: float, value: Array) -> float:
    """Return the :func:`_spread` of the change in one exact sweep from ``value``."""
    return _spread(exact_sweep(X, W, Q, value, beta, eta)[0] - value)


def nearer(X: Array, W: Array, Q: Array, beta: float, eta: float, given: Array, other: Array) -> bool:
    """Return whether ``other`` is nearer to the solution than ``given``, both ``(N_k, N_z)``, as an exact sweep shows.

    Distance is measured up to a shift of each exogenous state's values. Let ``h`` be half the spread of the change in a
    sweep from ``other``. Then the distance of ``other`` is at most ``h / (1 - modulus)``
    (:mod:`beltline.gpu_ref.methods`). So it is certainly nearer if the two starts are more than twice that apart.
    Otherwise a sweep from ``given`` must change it by more than ``h``.
    """
    if not np.isfinite(other).all():
        return False
    if not np.isfinite(given).all():
        return True
    contraction = modulus(Q, beta)
    h = _swept_spread(X, W, Q, beta, eta, other)
    if contraction < 1.0 and _spread(given - other) > 2.0 * h / (1.0 - contraction):
        return True
    return h < _swept_spread(X, W, Q, beta, eta, given)


def computed_start(X: Array, W: Array, Q: Array, beta: float, eta: float, epsilon: float, given: Array) -> Array:
    """Return the start of :mod:`beltline.gpu_ref.spectral` if the problem is smooth, otherwise :func:`nested_start`."""
    smooth = smooth_start(X, W, Q, beta, eta, epsilon, given)
    if smooth is not None and (smooth.nearer or nearer(X, W, Q, beta, eta, given, smooth.value)):
        return smooth.value
    return nested_start(X, W, Q, beta, eta, epsilon, given)


def is_guess(start: Array) -> bool:
    """Return whether a start, ``(N_k, N_z)``, says something about the solution: whether it varies in ``x``.

    A start that is constant in ``x``, as default ones are, is as good as any other constant. Rows are compared at
    :data:`PLACES` places only, since no result depends on the answer.
    """
    rows = start[:: max(1, start.shape[0] // PLACES)]
    return bool((rows != rows[0]).any() or (start[-1] != start[0]).any())


def nearest(X: Array, W: Array, Q: Array, beta: float, eta: float, epsilon: float, given: Array) -> Array:
    """Return the start that is nearest to the solution: ``given``, or :func:`computed_start`.

    ``given`` takes an exact sweep if it :func:`is_guess`, and if this changes it by less than ``epsilon``, nothing else
    is computed.
    """
    moved = _swept_spread(X, W, Q, beta, eta, given) if is_guess(given) else np.inf
    if moved < epsilon:
        return given
    start = computed_start(X, W, Q, beta, eta, epsilon, given)
    return given if moved < np.inf and moved < _swept_spread(X, W, Q, beta, eta, start) else start
