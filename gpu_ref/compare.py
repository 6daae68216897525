"""Verify a result: compare its value and policy with an exact sweep.

If one pass over the states confirms the policy (:mod:`beltline.gpu_ref.confirmation`), nothing else is needed.
Otherwise the exact sweep is that of :mod:`beltline.gpu_ref.brackets`, started from the policy to be verified, and a
pass over all states compares. Both the solver and the sweep here round, so a difference counts only if it exceeds
:class:`Allowed`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from beltline.compiled import njit, prange
from beltline.gpu_ref.brackets import Indexes, Swept, proven
from beltline.gpu_ref.comparison import Allowed, Compared
from beltline.gpu_ref.confirmation import confirmed, confirmed_at_once
from beltline.gpu_ref.tables import Array, as_writable, check_tables, ends_of, expectation
from beltline.gpu_ref.threads import threads_for
from beltline.gpu_ref.utility import DOUBLE, crra, power_error

_CHUNK = 512


@njit(parallel=True, cache=True)
def _ends_by_chunk(table: Array, found: Array) -> None:
    """Fill ``found``, ``(2, chunks)``, with the lowest and the highest entry of each chunk of rows."""
    for chunk in prange(found.shape[1]):
        begin, end = chunk * _CHUNK, min((chunk + 1) * _CHUNK, table.shape[0])
        found[0, chunk], found[1, chunk], _ = ends_of(table[begin:end].reshape(-1))


def _ends(table: Array) -> tuple[float, float]:
    """Return the lowest and the highest entry."""
    # Waking threads takes longer than the work of a small problem.
    if threads_for(table.size) == 1:
        return float(table.min()), float(table.max())
    found = np.empty((2, (table.shape[0] - 1) // _CHUNK + 1))
    _ends_by_chunk(table, found)
    return float(found[0].min()), float(found[1].max())


def _largest(table: Array) -> float:
    """Return the largest absolute entry."""
    least, most = _ends(table)
    return max(-least, most)


@njit(parallel=True, cache=True)
def _compare(
    X: Array,
    W: Array,
    ev: Array,
    eta: float,
    best: Array,
    exact: Indexes,
    value: Array,
    policy: Indexes,
    change: float,
    constant: float,
    share: float,
    c_rounding: float,
    times: float,
    ev_error: float,
    slack: float,
    sums: Array,
    firsts: Array,
) -> None:
    """Compare all states, in chunks of rows.

    ``sums``, ``(chunks, 3)``, receives the largest gap, the largest rounding error and the number of errors;
    ``firsts``, ``(chunks, 2)``, the first error's state and amount. ``ev_error`` is the part of an objective's rounding
    error that is the same in every state, ``slack`` as for :class:`beltline.gpu_ref.brackets.Swept`; tolerances as for
    :class:`Allowed`.
    """
    power = power_error(eta)
    for chunk in prange(sums.shape[0]):
        residual = rounding = missed = amount = 0.0
        state = -1
        for x in range(chunk * _CHUNK, min((chunk + 1) * _CHUNK, W.shape[0])):
            for s in range(W.shape[1]):
                own = policy[x, s]
                c = W[x, s] - X[own]
                gap = abs(best[x, s] - value[x, s])
                if not gap < np.inf:
                    gap = np.inf
                residual = max(residual, gap)
                wrong = not c > 0.0
                loss = np.inf
                if not wrong:
                    u = crra(c, eta)
                    loss = 0.0 if own == exact[x, s] else best[x, s] - (u + ev[s, own])
                    # Rounding is largest at the lower consumption of the two choices.
                    dearer = W[x, s] - X[exact[x, s]]
                    if dearer < c:
                        c, u = dearer, crra(dearer, eta)
                    objective_error = max(power * abs(u) + ev_error, slack)
                    if objective_error < np.inf:
                        rounding = max(rounding, objective_error)
                    own_rounding = constant + share * abs(u)
                    if c_rounding > 0.0:
                        own_rounding += c_rounding * math.pow(c - c_rounding, -eta) if c > c_rounding else np.inf
                    allowed = times * (own_rounding + objective_error)
                    wrong = not (allowed < np.inf and gap <= change + allowed and loss <= 2.0 * (change + allowed))
                if wrong:
                    if state < 0:
                        state = x * W.shape[1] + s
                        amount = max(gap, loss)
                    missed += 1.0
        sums[chunk, 0], sums[chunk, 1], sums[chunk, 2] = residual, rounding, missed
        firsts[chunk, 0], firsts[chunk, 1] = state, amount


def compare(
    X: Array,
    W: Array,
    Q: Array,
    V: Array,
    beta: float,
    eta: float,
    value: Array,
    policy: Indexes,
    allowed: Allowed,
    search: Callable[[Array, Array, Array, float, Indexes], Swept] | None = None,
    *,
    checked: bool = False,
) -> Compared:
    """Compare ``value`` and ``policy``, ``(N_k, N_z)``, with an exact sweep from ``V``; every state must have a choice.

    About three evaluations per state if the policy is right.

    Parameters
    ----------
    X, W, Q, V, beta, eta
        As in :mod:`beltline.gpu_ref`.
    value, policy
        The result to verify, ``float64`` and ``int32``.
    allowed
        Tolerances.
    search
        Does the sweep; if given, it is always called. By default :func:`beltline.gpu_ref.brackets.proven`, and only if
        it is needed.
    checked
        Whether ``X``, ``W`` and ``Q`` are contiguous ``float64`` tables that are known to meet all conditions. Then
        nothing is checked before the confirmation, which does not succeed if ``V`` or ``value`` is not finite.

    Raises
    ------
    ValueError
        A table breaks a condition of :mod:`beltline.gpu_ref`, or ``W`` falls in ``x``.
    """
    if not checked:
        X, W, Q, V = check_tables(X, W, Q, V, beta, eta, ordered=True)
    same = V is value
    X, W, Q, V = map(as_writable, (X, W, Q, V))
    value = V if same else as_writable(np.ascontiguousarray(value))
    states = W.shape[1]
    own = np.ascontiguousarray(policy, np.int32)
    if search is None:
        exact = own.copy()
        found = confirmed_at_once(X, W, Q, V, beta, eta, value, own, exact, *allowed)
        if found is not None:
            return Compared(found.residual, found.rounding, 0, -1, 0.0, exact)
    ev = expectation(Q, V, beta)
    ends = _ends(value)
    largest = max(-ends[0], ends[1]) if V is value else _largest(V)
    if search is None:
        exact = own.copy()
        found = confirmed(X, W, ev, eta, value, own, exact, largest, ends, *allowed)
        if found is not None:
            return Compared(found.residual, found.rounding, 0, -1, 0.0, exact)
    if checked:
        check_tables(X, W, Q, V, beta, eta, ordered=True)
    swept = (search or proven)(X, W, ev, eta, own)
    ev_error = DOUBLE * ((eta == 1.0) + (states + 4) * max(largest, _largest(swept.value)))
    chunks = (W.shape[0] - 1) // _CHUNK + 1
    sums, firsts = np.zeros((chunks, 3)), np.zeros((chunks, 2))
    _compare(
        X, W, ev, eta, swept.value, swept.policy, value, own,
        allowed.change, allowed.value, allowed.share, allowed.c_rounding, allowed.times, ev_error, swept.slack, sums,
        firsts,
    )  # fmt: skip
    wrong = np.flatnonzero(sums[:, 2])
    state, amount = firsts[wrong[0]] if wrong.size else (-1, 0.0)
    residual, rounding = float(sums[:, 0].max()), float(sums[:, 1].max())
    return Compared(residual, rounding, int(sums[:, 2].sum()), int(state), float(amount), swept.policy)
