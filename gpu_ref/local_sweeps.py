"""Compiled sweeps by local search, in chunks of grid points, with the proof that each may be trusted.

A chunk computes value, change and the next sweep's ``EV``, with the proof of its single peaks
(:mod:`beltline.gpu_ref.peaks`), while all of it is in the cache: one parallel region a sweep. Tables lie ``(N_z,
N_k)``, so that a row is contiguous.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from beltline.compiled import njit, prange
from beltline.gpu_ref.local_search import Indexes, alone_row, fixed_row, monotone_row, proven_row, utility, warm_row
from beltline.gpu_ref.peaks import falls
from beltline.gpu_ref.tables import Array

RULES = {"change": 0, "span": 1, "spans": 2}
"""Stopping rules by number, for compiled code."""

LIMIT, DONE, DOUBT, LARGER, UNPROVEN = 0, 1, 2, 3, 4
"""Why a batch of sweeps ended: its size; converged; a peak in doubt; ``|EV|`` beyond what ``room`` was computed for; a
sweep that could not be proven by brackets, and was not done."""

WARM, MONOTONE, FIXED, NONE, ALONE = 0, 1, 2, 3, 4
"""What a sweep does before it computes ``EV``."""


class Tables(NamedTuple):
    """A problem and its iteration, as compiled code takes them.

    Attributes
    ----------
    X, Q, beta, eta
        As in :mod:`beltline.gpu_ref`.
    W, value, policy
        ``(N_z, N_k)``.
    both
        ``EV`` of this sweep and of the next, in turn, with spare ends, ``(2, N_z, N_k + 2)``.
    kept
        Utilities below, of and above each choice, ``(3, N_z, N_k)``.
    inverse
        ``1/(X_{j+1} - X_j)``.
    room, least
        By how much the slope of ``EV`` may rise, ``(N_z, N_k - 2)``, and the least of that by chunk, ``(C, N_z)``.
    largest
        ``|EV|`` that ``room`` was computed for.
    chunk
        Grid points of a chunk.
    """

    X: Array
    W: Array
    Q: Array
    beta: float
    eta: float
    value: Array
    both: Array
    policy: Indexes
    kept: Array
    inverse: Array
    room: Array
    least: Array
    largest: float
    chunk: int


@njit(cache=True)
def _expect(t: Tables, ahead: Array, least: Array, begin: int, end: int) -> int:
    """``EV`` of a chunk; ``DOUBT`` where its inner points may have a second peak, else ``LARGER`` or 0."""
    Q, beta, largest = t.Q, t.beta, t.largest
    states = t.value.shape[0]
    size = end - begin
    beyond = 0
    single = True
    for s in range(states):
        ev = ahead[s, begin + 1 : end + 1]
        for i in range(size):
            ev[i] = 0.0
        for z in range(states):
            weight = Q[s, z]
            if weight != 0.0:
                v = t.value[z, begin:end]
                for i in range(size):
                    ev[i] += weight * v[i]
        for i in range(size):
            ev[i] *= beta
            beyond |= not abs(ev[i]) <= largest
        if size > 2:
            single &= falls(ev, t.inverse[begin : end - 1], t.room[s, begin : end - 2], least[s])
    if not single:
        return DOUBT
    return LARGER if beyond else 0


@njit(cache=True)
def _seams(t: Tables, ahead: Array) -> bool:
    """Whether the points where chunks meet leave single peaks."""
    states, padded = ahead.shape
    grid = padded - 2
    for seam in range(t.chunk, grid, t.chunk):
        for j in range(max(seam - 2, 0), min(seam, grid - 2)):
            for s in range(states):
                piece = ahead[s, j + 1 : j + 4]
                if not falls(piece, t.inverse[j : j + 2], t.room[s, j : j + 1], t.room[s, j]):
                    return False
    return True


@njit(cache=True)
def _transposed(value: Array, policy: Indexes, values: Array, policies: Indexes, begin: int, end: int) -> None:
    for i in range(begin, end):
        for s in range(value.shape[0]):
            values[i, s] = value[s, i]
            policies[i, s] = policy[s, i]


@njit(cache=True)
def _chunk(kind: int, t: Tables, turn: int, c: int, low: Array, high: Array, values: Array, policies: Indexes) -> int:
    """Sweep chunk ``c``, and compute its ``EV``: what :func:`_expect` says of it.

    ``low`` and ``high`` receive its least and largest change by state. A sweep of an age also writes its results to
    ``values`` and ``policies``, ``(N_k, N_z)``.
    """
    ev, ahead = t.both[turn % 2], t.both[(turn + 1) % 2]
    begin = c * t.chunk
    end = min(begin + t.chunk, t.X.size)
    for s in range(t.W.shape[0]):
        wealth, value, policy = t.W[s, begin:end], t.value[s, begin:end], t.policy[s, begin:end]
        below, here, above = t.kept[0, s, begin:end], t.kept[1, s, begin:end], t.kept[2, s, begin:end]
        if kind == WARM:
            low[s], high[s] = warm_row(t.X, wealth, t.eta, ev[s], value, policy, below, here, above)
        elif kind == MONOTONE:
            low[s], high[s] = monotone_row(t.X, wealth, t.eta, ev[s], value, policy)
        elif kind == ALONE:
            alone_row(t.X, wealth, t.eta, ev[s], value, policy)
        elif kind == FIXED:
            fixed_row(ev[s], value, policy, here)
    if kind == ALONE:
        _transposed(t.value, t.policy, values, policies, begin, end)
    return _expect(t, ahead, t.least[c], begin, end)


@njit(cache=True)
def measure(rule: int, low: Array, high: Array, lows: Array, highs: Array) -> float:
    """What the rule compares with epsilon; ``low`` and ``high``, by state, from those of the chunks, ``(C, N_z)``."""
    for s in range(low.size):
        low[s], high[s] = lows[:, s].min(), highs[:, s].max()
        if high[s] < low[s]:
            # Nobody can be in this state, as in the sweep before.
            low[s] = high[s] = 0.0
    if rule == 0:
        return max(abs(low.min()), abs(high.max()))
    if rule == 1:
        return (high.max() - low.min()) / 2.0
    return (high - low).max() / 2.0


@njit(cache=True)
def _verdict(
    kind: int,
    rule: int,
    epsilon: float,
    t: Tables,
    turn: int,
    codes: Array,
    lows: Array,
    highs: Array,
    low: Array,
    high: Array,
) -> tuple[int, float]:
    """Why a batch ends after this sweep, ``LIMIT`` if it goes on, and what the rule measured."""
    h = np.inf
    if kind < FIXED:
        h = measure(rule, low, high, lows, highs)
        if h < epsilon:
            return DONE, h
    if (codes == DOUBT).any() or not _seams(t, t.both[(turn + 1) % 2]):
        return DOUBT, h
    return (LARGER if codes.any() else LIMIT), h


@njit(parallel=True, cache=True)
def parallel_sweeps(
    kind: int,
    rule: int,
    epsilon: float,
    limit: int,
    t: Tables,
    now: int,
    low: Array,
    high: Array,
    values: Array,
    policies: Indexes,
) -> tuple[int, int, float]:
    """At most ``limit`` sweeps, their chunks shared out: how many were done, why they ended, what ``rule`` measured.

    ``now`` is the place in ``both`` of the first sweep's ``EV``. ``values`` and ``policies``, ``(limit, N_k, N_z)``,
    receive the ages of kind ``ALONE``, the last one first, and are not looked at by others.
    """
    chunks = t.least.shape[0]
    lows, highs = np.zeros((chunks, low.size)), np.zeros((chunks, low.size))
    codes = np.zeros(chunks, np.int64)
    h = np.inf
    for done in range(limit):
        age = limit - 1 - done if kind == ALONE else 0
        value, policy = values[age], policies[age]
        for c in prange(chunks):
            codes[c] = _chunk(kind, t, now + done, c, lows[c], highs[c], value, policy)
        if kind != FIXED or done + 1 == limit:
            code, h = _verdict(kind, rule, epsilon, t, now + done, codes, lows, highs, low, high)
            if code != LIMIT:
                return done + 1, code, h
    return limit, LIMIT, h


@njit(cache=True)
def serial_sweeps(
    kind: int,
    rule: int,
    epsilon: float,
    limit: int,
    t: Tables,
    now: int,
    low: Array,
    high: Array,
    values: Array,
    policies: Indexes,
) -> tuple[int, int, float]:
    """As :func:`parallel_sweeps`, of one chunk, and no thread is woken: what small problems need."""
    lows, highs = np.zeros((1, low.size)), np.zeros((1, low.size))
    codes = np.zeros(1, np.int64)
    h = np.inf
    for done in range(limit):
        age = limit - 1 - done if kind == ALONE else 0
        value, policy = values[age], policies[age]
        codes[0] = _chunk(kind, t, now + done, 0, lows[0], highs[0], value, policy)
        if kind != FIXED or done + 1 == limit:
            code, h = _verdict(kind, rule, epsilon, t, now + done, codes, lows, highs, low, high)
            if code != LIMIT:
                return done + 1, code, h
    return limit, LIMIT, h


@njit(cache=True)
def _proven_state(t: Tables, ev: Array, before: Array, s: int, changes: Array) -> bool:
    """Sweep exogenous state ``s``; ``changes`` receives its least and its largest change."""
    before[:] = t.value[s]
    kept = t.kept
    proof, changes[0], changes[1] = proven_row(
        t.X, t.W[s], t.eta, ev, before, t.value[s], t.policy[s], kept[0, s], kept[1, s], kept[2, s]
    )
    return proof


@njit(parallel=True, cache=True)
def proven_sweeps(
    rule: int, epsilon: float, limit: int, t: Tables, before: Array, now: int, low: Array, high: Array
) -> tuple[int, int, float]:
    """As :func:`parallel_sweeps`, where peaks are in doubt: sweeps that brackets prove, as long as they are.

    Exogenous states in parallel, for a proof goes along the whole row. ``before``, ``(N_z, N_k)``, receives the value
    from which the last sweep went on; after :data:`UNPROVEN` that is the value, and kept utilities are stale.
    """
    states, grid = t.value.shape
    chunks = t.least.shape[0]
    changes, proofs = np.zeros((states, 2)), np.zeros(states, np.bool_)
    codes = np.zeros(chunks, np.int64)
    h = np.inf
    for done in range(limit):
        ev, ahead = t.both[(now + done) % 2], t.both[(now + done + 1) % 2]
        for s in prange(states):
            proofs[s] = _proven_state(t, ev[s], before[s], s, changes[s])
        if not proofs.all():
            t.value[:] = before
            return done, UNPROVEN, h
        for c in prange(chunks):
            codes[c] = _expect(t, ahead, t.least[c], c * t.chunk, min((c + 1) * t.chunk, grid))
        h = measure(rule, low, high, changes[:, 0].copy().reshape(1, -1), changes[:, 1].copy().reshape(1, -1))
        if h < epsilon:
            return done + 1, DONE, h
        if (codes == LARGER).any():
            return done + 1, LARGER, h
        if not ((codes == DOUBT).any() or not _seams(t, ahead)):
            return done + 1, LIMIT, h
    return limit, DOUBT, h


@njit(parallel=True, cache=True)
def keep(X: Array, W: Array, eta: float, policy: Indexes, kept: Array) -> None:
    """Utilities of a policy found by another search, and of its neighbours."""
    for s in range(W.shape[0]):
        for i in prange(X.size):
            p = policy[s, i]
            for j in range(3):
                q = p + j - 1
                kept[j, s, i] = utility(W[s, i], X[q], eta) if p >= 0 and 0 <= q < X.size else -np.inf
