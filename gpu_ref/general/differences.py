"""Bounds on the differences of a value near ``beta = 1``, where the value itself may be off by more than it spreads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from beltline.gpu_ref.general.applied import Applied
from beltline.gpu_ref.general.certificate import moduli
from beltline.gpu_ref.general.form import Form
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import DOUBLE

PERIODS, OFTEN, WORK, ROOM, CLOSE = 8000, 16, 3e7, 1.3, 0.3
"""Largest number of periods for which differences of values are followed, in how many it is looked for an end, the
largest number of states times periods, how much larger errors may be on the way, and the share of the bound that may
be estimated.
"""


def differences_bound(form: Form, value: Array, bound: float) -> Array:
    """Bound how far the differences of a value from that of its most frequent state are off, ``(N_r, N_k, N_z)``.

    Near ``beta = 1`` a residual ``d`` moves all values by up to ``d / (1 - beta)``, but differences by ``d`` times the
    number of periods until that state is reached. ``V* - V*(root)`` is the fixed point of ``T - gain``, stopped in
    ``root``, for a ``gain`` that is known up to ``g = |1 - beta| bound``. So it lies between ``V - l`` and ``V + u``,
    less ``V(root)``, if both are 0 there, ``T (V + u) + g <= V + u`` elsewhere, and ``|TV - V| + g + P l <= l`` with
    the best choices given ``V``.

    Parameters
    ----------
    form
        With an infinite horizon.
    value
        ``V``, ``(N_r, N_k, N_z)``, units of utility.
    bound
        Bound on ``|V - V*|``, units of utility.

    Returns
    -------
    numpy.ndarray
        Infinite if that many periods are too much work, and with taste shocks.
    """
    if form.sigma > 0.0:
        return np.full(value.shape, np.inf)
    V = np.ascontiguousarray(value.swapaxes(1, 2))
    applied = Applied(form, value, np.full((len(form.alternatives), *form.shape[1:]), -1, np.int32))
    modulus, least = moduli(form, 0)
    more = bound * max(abs(1.0 - least), abs(1.0 - modulus)) + 8.0 * DOUBLE * np.abs(V)
    mass = np.full(V.shape, 1.0 / V.size)
    for _ in range(PERIODS // 10):
        mass = _led(applied, mass)
    root = np.unravel_index(int(mass.argmax()), V.shape)
    off = np.abs(applied.value - V) + applied.error + more

    def up(w: Array, times: float) -> Array:
        swept = Applied(form, (V + w).swapaxes(1, 2), applied.policy.swapaxes(1, 2))
        return swept.value - V + times * (swept.error + more)

    def down(w: Array, times: float) -> Array:
        return times * off + _followed(applied, w)

    most = min(PERIODS, int(WORK / V.size))
    found = [_stopped(step, root, V.shape, most) for step in (up, down)]
    return np.ascontiguousarray(np.maximum(found[0], found[1]).swapaxes(1, 2))


def _stopped(step: Callable[[Array, float], Array], root: Any, shape: tuple[int, ...], most: int) -> Array:
    """Return ``w`` with ``step(w, 1) <= w``, but 0 in ``root``; infinite if ``most`` steps find none.

    Steps with more room for errors lead there.
    """
    w, last = np.zeros(shape), np.inf
    for count in range(most):
        new = step(w, ROOM)
        new[root] = 0.0
        moved = float(np.abs(new - w).max())
        if count % OFTEN == 0 and moved < max(last, DOUBLE):
            # With what further steps would add, if they shrink as the last ones did.
            share = (moved / last) ** (1.0 / OFTEN) if moved > 0.0 else 0.0
            more = moved * share / (1.0 - share)
            above = np.maximum(new + np.maximum(new - w, 0.0) * share / (1.0 - share), 0.0)
            above[root] = 0.0
            if more <= CLOSE * float(new.max()):
                after = step(above, 1.0)
                after[root] = 0.0
                if (after <= above).all():
                    return above
        last = moved if count % OFTEN == 0 else last
        w = new
    return np.full(shape, np.inf)


def _followed(applied: Applied, table: Array) -> Array:
    """Return the discounted expectation of ``table``, ``(N_r, N_z, N_k)``, under the best choices."""
    found = np.zeros(table.shape)
    for d, tables in enumerate(applied.tables):
        if tables is not None:
            r, policy = applied.form.alternatives[d].regime, applied.policy[d]
            ahead = tables.beta[:, None] * (tables.transition @ np.tensordot(tables.mix, table, 1))
            own = np.take_along_axis(ahead, np.maximum(policy, 0), axis=1)
            found[r] = np.where((applied.choice[r] == d) & (policy >= 0), own, found[r])
    return found


def _led(applied: Applied, mass: Array) -> Array:
    """Return where the best choices lead ``mass``, ``(N_r, N_z, N_k)``, in a period."""
    after, rows = np.zeros(mass.shape), np.arange(mass.shape[1])[:, None]
    for d, tables in enumerate(applied.tables):
        if tables is not None:
            r, policy, moved = applied.form.alternatives[d].regime, applied.policy[d], np.zeros(mass.shape[1:])
            taken = np.where((applied.choice[r] == d) & (policy >= 0), mass[r], 0.0)
            np.add.at(moved, (rows, np.maximum(policy, 0)), taken)
            after += tables.mix[:, None, None] * (tables.transition.T @ moved)
    return after
