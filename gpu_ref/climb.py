"""Sweeps that find the best choice by climbing from a good guess, exact because single peaks are proven for each.

The guess is the policy of the neighbouring state, which bounds that of the next from below, or the state's own of the
last sweep moved as far as its neighbour's has moved. The utilities of the choice and of its two neighbours are kept:
while the choice stays, a sweep of a state is three additions and two comparisons. Inside, tables lie ``(N_z, N_k)``, so
that a row is contiguous, and ``EV`` has a spare word at either end, so that neighbours of the first and last choice can
be looked at. A chunk of grid points computes value, change and the next sweep's ``EV``, with the proof of its single
peaks (:mod:`beltline.gpu_ref.peaks`), while all of it is in the cache: one parallel region a sweep.

Bits are those of every sweep of :mod:`beltline.gpu_ref`: the same operations on each candidate, ties to the lower
index.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from beltline.gpu_ref.exact import exact_sweep
from beltline.gpu_ref.methods import shifts
from beltline.gpu_ref.peaks import curvature_room, falls
from beltline.gpu_ref.tables import Array, feasible
from beltline.gpu_ref.utility import crra

Indexes = NDArray[np.int32]

RULES = {"change": 0, "span": 1, "spans": 2}
"""Stopping rules by number, for compiled code."""

_LIMIT, _DONE, _DOUBT, _LARGER = 0, 1, 2, 3
"""Why a batch of sweeps ended: its size; converged; a peak in doubt; ``|EV|`` beyond what ``room`` was computed for."""

_WARM, _MONOTONE, _FIXED, _NONE, _ALONE = 0, 1, 2, 3, 4
"""What a sweep does before it computes ``EV``."""

_FEWEST, _MOST = 256, 4096
"""Grid points of a chunk."""

BATCH_STATES = 2.5e7
"""States swept between two returns to Python, where an interrupt is seen: a fraction of a second."""


@njit(cache=True, inline="always")
def _utility(wealth: float, choice: float, eta: float) -> float:
    if choice < wealth:
        return crra(wealth - choice, eta)
    return -np.inf


@njit(cache=True)
def climb(X: Array, wealth: float, eta: float, ev: Array, p: int) -> tuple[int, float, float, float]:
    """From choice ``p`` to the lowest peak: its index, and the utilities below, of and above it.

    ``ev`` has spare ends, here and below.
    """
    here = _utility(wealth, X[p], eta)
    above = _utility(wealth, X[p + 1], eta) if p + 1 < X.size else -np.inf
    below = -np.inf
    known = False
    while above + ev[p + 2] > here + ev[p + 1]:
        below, here, known = here, above, True
        p += 1
        above = _utility(wealth, X[p + 1], eta) if p + 1 < X.size else -np.inf
    if not known:
        below = _utility(wealth, X[p - 1], eta) if p > 0 else -np.inf
        while p > 0 and not here + ev[p + 1] > below + ev[p]:
            above, here = here, below
            p -= 1
            below = _utility(wealth, X[p - 1], eta) if p > 0 else -np.inf
    return p, below, here, above


@njit(cache=True)
def bisect(X: Array, wealth: float, eta: float, ev: Array) -> int:
    """The lowest peak by bisection on whether the next choice is better."""
    low = 0
    high = max(feasible(X, wealth) - 1, 0)
    while low < high:
        middle = (low + high) // 2
        if _utility(wealth, X[middle + 1], eta) + ev[middle + 2] > _utility(wealth, X[middle], eta) + ev[middle + 1]:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def _warm_row(
    X: Array,
    W: Array,
    eta: float,
    ev: Array,
    value: Array,
    policy: Indexes,
    below: Array,
    here: Array,
    above: Array,
) -> tuple[float, float]:
    """Sweep one state's piece of a chunk in place; returns the least and the largest change."""
    least = np.inf
    most = -np.inf
    drift = 0
    neighbour = 0
    for i in range(value.size):
        p = policy[i]
        best = here[i] + ev[p + 1]
        if best >= above[i] + ev[p + 2] and best > below[i] + ev[p]:
            drift = 0
        else:
            wealth = W[i]
            if i == 0:
                start = bisect(X, wealth, eta, ev)
            else:
                start = max(neighbour, min(p + drift, X.size - 1), 0)
            q, under, at, over = climb(X, wealth, eta, ev, start)
            drift = q - p
            p = q
            below[i], here[i], above[i] = under, at, over
            best = at + ev[q + 1]
            policy[i] = q
            if best == -np.inf:
                policy[i] = -1
                here[i] = -np.inf
        neighbour = p
        change = best - value[i]
        least = change if change < least else least
        most = change if change > most else most
        value[i] = best
    return least, most


@njit(cache=True)
def _monotone_row(X: Array, W: Array, eta: float, ev: Array, value: Array, policy: Indexes) -> tuple[float, float]:
    """As :func:`_warm_row`, from nothing but the neighbour's policy."""
    least = np.inf
    most = -np.inf
    p = 0
    for i in range(value.size):
        if i == 0:
            p = bisect(X, W[i], eta, ev)
        p, _, at, _ = climb(X, W[i], eta, ev, p)
        best = at + ev[p + 1]
        policy[i] = p if best > -np.inf else -1
        change = best - value[i]
        least = change if change < least else least
        most = change if change > most else most
        value[i] = best
    return least, most


@njit(cache=True)
def _turns(X: Array, ev: Array, low: int, high: int) -> Array:
    """Wealth above which, at ``eta = 2``, choice ``j + 1`` is better than ``j``, up to rounding, ``low <= j < high``.

    ``-1/(W - b) + EV_b > -1/(W - a) + EV_a`` is ``(W - a)(W - b) > h/(EV_b - EV_a)``, ``h = b - a``.
    """
    turns = np.empty(high - low)
    for j in range(low, high):
        step = X[j + 1] - X[j]
        gain = max(ev[j + 2] - ev[j + 1], 1e-300)
        turns[j - low] = (X[j] + X[j + 1]) / 2.0 + math.sqrt(step * step / 4.0 + step / gain)
    return turns


@njit(cache=True)
def _alone_row(X: Array, W: Array, eta: float, ev: Array, value: Array, policy: Indexes) -> None:
    """As :func:`_monotone_row`, for a sweep that none like it follows; the change is not measured.

    At ``eta = 2`` the choices come from :func:`_turns`, which needs no comparison of objectives; where rounding has
    put one beside the peak, :func:`climb` mends it.
    """
    if eta != 2.0 or W.size < 16:
        _monotone_row(X, W, eta, ev, value, policy)
        return
    last = X.size - 1
    p = bisect(X, W[0], eta, ev)
    low = p
    turns = _turns(X, ev, low, max(low, bisect(X, W[W.size - 1], eta, ev)))
    high = low + turns.size
    for i in range(W.size):
        while p < high and W[i] > turns[p - low]:
            p += 1
        policy[i] = p
    for i in range(W.size):
        p = policy[i]
        wealth = W[i]
        c = wealth - X[p]
        best = -1.0 / c + ev[p + 1]
        right = wealth - X[min(p + 1, last)]
        left = wealth - X[max(p - 1, 0)]
        up = p < last and right > 0.0 and -1.0 / right + ev[p + 2] > best
        down = p > 0 and not best > -1.0 / left + ev[p]
        if up or down or not c > 0.0 or best == -np.inf:
            q, _, at, _ = climb(X, wealth, eta, ev, p)
            best = at + ev[q + 1]
            policy[i] = q if best > -np.inf else -1
        value[i] = best


@njit(cache=True)
def _fixed_row(ev: Array, value: Array, policy: Indexes, here: Array) -> None:
    for i in range(value.size):
        value[i] = here[i] + ev[policy[i] + 1]


@njit(cache=True)
def _expect(
    Q: Array,
    beta: float,
    value: Array,
    ahead: Array,
    inverse: Array,
    room: Array,
    least: Array,
    largest: float,
    begin: int,
    end: int,
) -> int:
    """``EV`` of a chunk; ``_DOUBT`` where its inner points may have a second peak, else ``_LARGER`` or 0."""
    states = value.shape[0]
    size = end - begin
    beyond = 0
    single = True
    for s in range(states):
        ev = ahead[s, begin + 1 : end + 1]
        for i in range(size):
            ev[i] = 0.0
        for t in range(states):
            weight = Q[s, t]
            if weight != 0.0:
                v = value[t, begin:end]
                for i in range(size):
                    ev[i] += weight * v[i]
        for i in range(size):
            ev[i] *= beta
            beyond |= not abs(ev[i]) <= largest
        if size > 2:
            single &= falls(ev, inverse[begin : end - 1], room[s, begin : end - 2], least[s])
    if not single:
        return _DOUBT
    return _LARGER if beyond else 0


@njit(cache=True)
def _seams(ahead: Array, inverse: Array, room: Array, chunk: int) -> bool:
    """Whether the points where chunks meet leave single peaks."""
    states, padded = ahead.shape
    grid = padded - 2
    for seam in range(chunk, grid, chunk):
        for j in range(max(seam - 2, 0), min(seam, grid - 2)):
            for s in range(states):
                piece = ahead[s, j + 1 : j + 4]
                if not falls(piece, inverse[j : j + 2], room[s, j : j + 1], room[s, j]):
                    return False
    return True


@njit(cache=True)
def _chunk(
    kind: int,
    X: Array,
    W: Array,
    Q: Array,
    beta: float,
    eta: float,
    value: Array,
    ev: Array,
    ahead: Array,
    policy: Indexes,
    kept: Array,
    inverse: Array,
    room: Array,
    least: Array,
    largest: float,
    begin: int,
    end: int,
    low: Array,
    high: Array,
) -> int:
    for s in range(W.shape[0]):
        if kind == _WARM:
            low[s], high[s] = _warm_row(
                X,
                W[s, begin:end],
                eta,
                ev[s],
                value[s, begin:end],
                policy[s, begin:end],
                kept[0, s, begin:end],
                kept[1, s, begin:end],
                kept[2, s, begin:end],
            )
        elif kind == _MONOTONE:
            low[s], high[s] = _monotone_row(X, W[s, begin:end], eta, ev[s], value[s, begin:end], policy[s, begin:end])
        elif kind == _ALONE:
            _alone_row(X, W[s, begin:end], eta, ev[s], value[s, begin:end], policy[s, begin:end])
        elif kind == _FIXED:
            _fixed_row(ev[s], value[s, begin:end], policy[s, begin:end], kept[1, s, begin:end])
    return _expect(Q, beta, value, ahead, inverse, room, least, largest, begin, end)


@njit(cache=True)
def _measure(rule: int, low: Array, high: Array, lows: Array, highs: Array) -> float:
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
    low: Array,
    high: Array,
    lows: Array,
    highs: Array,
    doubt: bool,
    larger: bool,
) -> tuple[int, float]:
    """Why a batch ends after this sweep, ``_LIMIT`` if it goes on, and what the rule measured."""
    h = np.inf
    if kind < _FIXED:
        h = _measure(rule, low, high, lows, highs)
        if h < epsilon:
            return _DONE, h
    if doubt:
        return _DOUBT, h
    return (_LARGER if larger else _LIMIT), h


@njit(parallel=True, cache=True)
def _parallel(
    kind: int,
    rule: int,
    X: Array,
    W: Array,
    Q: Array,
    beta: float,
    eta: float,
    epsilon: float,
    limit: int,
    value: Array,
    both: Array,
    now: int,
    policy: Indexes,
    kept: Array,
    inverse: Array,
    room: Array,
    least: Array,
    chunk: int,
    largest: float,
    low: Array,
    high: Array,
) -> tuple[int, int, float]:
    grid = X.size
    chunks = (grid + chunk - 1) // chunk
    lows = np.zeros((chunks, W.shape[0]))
    highs = np.zeros((chunks, W.shape[0]))
    codes = np.zeros(chunks, np.int64)
    h = np.inf
    for done in range(limit):
        ev = both[(now + done) % 2]
        ahead = both[(now + done + 1) % 2]
        for c in prange(chunks):
            begin = c * chunk
            codes[c] = _chunk(
                kind, X, W, Q, beta, eta, value, ev, ahead, policy, kept, inverse, room, least[c], largest, begin,
                min(begin + chunk, grid), lows[c], highs[c],
            )  # fmt: skip
        if kind == _FIXED and done + 1 < limit:
            continue
        doubt = (codes == _DOUBT).any() or not _seams(ahead, inverse, room, chunk)
        code, h = _verdict(kind, rule, epsilon, low, high, lows, highs, doubt, codes.any())
        if code != _LIMIT:
            return done + 1, code, h
    return limit, _LIMIT, h


@njit(cache=True)
def _serial(
    kind: int,
    rule: int,
    X: Array,
    W: Array,
    Q: Array,
    beta: float,
    eta: float,
    epsilon: float,
    limit: int,
    value: Array,
    both: Array,
    now: int,
    policy: Indexes,
    kept: Array,
    inverse: Array,
    room: Array,
    least: Array,
    largest: float,
    low: Array,
    high: Array,
) -> tuple[int, int, float]:
    # One chunk and no thread is woken: what small problems need.
    h = np.inf
    lows, highs = low.reshape(1, -1).copy(), high.reshape(1, -1).copy()
    for done in range(limit):
        ahead = both[(now + done + 1) % 2]
        code = _chunk(
            kind, X, W, Q, beta, eta, value, both[(now + done) % 2], ahead, policy, kept, inverse, room, least[0],
            largest, 0, X.size, lows[0], highs[0],
        )  # fmt: skip
        if kind == _FIXED and done + 1 < limit:
            continue
        code, h = _verdict(kind, rule, epsilon, low, high, lows, highs, code == _DOUBT, code == _LARGER)
        if code != _LIMIT:
            return done + 1, code, h
    return limit, _LIMIT, h


@njit(parallel=True, cache=True)
def _parallel_ages(
    X: Array,
    W: Array,
    Q: Array,
    beta: float,
    eta: float,
    last: int,
    value: Array,
    both: Array,
    now: int,
    policy: Indexes,
    kept: Array,
    inverse: Array,
    room: Array,
    least: Array,
    chunk: int,
    largest: float,
    values: Array,
    policies: Indexes,
) -> tuple[int, int]:
    grid = X.size
    chunks = (grid + chunk - 1) // chunk
    unused = np.zeros((2, chunks, W.shape[0]))
    codes = np.zeros(chunks, np.int64)
    for done in range(last + 1):
        ev = both[(now + done) % 2]
        ahead = both[(now + done + 1) % 2]
        for c in prange(chunks):
            begin = c * chunk
            end = min(begin + chunk, grid)
            codes[c] = _chunk(
                _ALONE, X, W, Q, beta, eta, value, ev, ahead, policy, kept, inverse, room, least[c], largest, begin,
                end, unused[0, c], unused[1, c],
            )  # fmt: skip
            _transposed(value, policy, values[last - done], policies[last - done], begin, end)
        if (codes == _DOUBT).any() or not _seams(ahead, inverse, room, chunk):
            return done + 1, _DOUBT
        if codes.any():
            return done + 1, _LARGER
    return last + 1, _LIMIT


@njit(cache=True)
def _serial_ages(
    X: Array,
    W: Array,
    Q: Array,
    beta: float,
    eta: float,
    last: int,
    value: Array,
    both: Array,
    now: int,
    policy: Indexes,
    kept: Array,
    inverse: Array,
    room: Array,
    least: Array,
    largest: float,
    values: Array,
    policies: Indexes,
) -> tuple[int, int]:
    unused = np.zeros((2, W.shape[0]))
    for done in range(last + 1):
        code = _chunk(
            _ALONE, X, W, Q, beta, eta, value, both[(now + done) % 2], both[(now + done + 1) % 2], policy, kept,
            inverse, room, least[0], largest, 0, X.size, unused[0], unused[1],
        )  # fmt: skip
        _transposed(value, policy, values[last - done], policies[last - done], 0, X.size)
        if code:
            return done + 1, code
    return last + 1, _LIMIT


@njit(cache=True)
def _transposed(value: Array, policy: Indexes, values: Array, policies: Indexes, begin: int, end: int) -> None:
    for i in range(begin, end):
        for s in range(value.shape[0]):
            values[i, s] = value[s, i]
            policies[i, s] = policy[s, i]


@njit(parallel=True, cache=True)
def _keep(X: Array, W: Array, eta: float, policy: Indexes, kept: Array) -> None:
    """Utilities of a policy found by another search, and of its neighbours."""
    for s in range(W.shape[0]):
        for i in prange(X.size):
            p = policy[s, i]
            for j in range(3):
                q = p + j - 1
                kept[j, s, i] = _utility(W[s, i], X[q], eta) if p >= 0 and 0 <= q < X.size else -np.inf


class Climber:
    """A problem in the layout of these sweeps, and the iteration in progress.

    ``X`` to ``eta`` as in :mod:`beltline.gpu_ref`, checked, ``W`` non-decreasing in ``x``. Making it allocates and
    nothing else; :meth:`load` fills it; :meth:`sweep` and :meth:`fixed` go on; :meth:`read` gives the result back.

    Attributes
    ----------
    sweeps, maximising_sweeps, exact_sweeps
        As in :class:`beltline.gpu_ref.methods.Solution`.
    h
        What the stopping rule measured in the last maximising sweep.
    low, high
        ``(N_z,)``: least and largest change of that sweep, by exogenous state.
    """

    def __init__(self, X: Array, W: Array, Q: Array, beta: float, eta: float, threads: int) -> None:
        grid, states = W.shape
        self.X, self.Q, self.beta, self.eta = X, Q, beta, eta
        self._source = W
        self._parallel = threads > 1
        self._chunk = min(max(grid // (16 * threads), _FEWEST), _MOST) if self._parallel else grid
        self._W = np.empty((states, grid))
        self._value = np.empty((states, grid))
        self._both = np.zeros((2, states, grid + 2))
        self._policy = np.zeros((states, grid), np.int32)
        self._kept = np.full((3, states, grid), -np.inf)
        self._inverse = np.empty(max(grid - 1, 0))
        self._room = np.empty((states, max(grid - 2, 0)))
        self._least = np.empty(((grid - 1) // self._chunk + 1, states))
        self.low, self.high = np.zeros(states), np.zeros(states)

    @staticmethod
    def bytes(grid: int, states: int) -> int:
        """What the arrays of a problem of these sizes take, with those of an exact sweep."""
        return grid * states * (8 * 8 + 4 + 5 * 8) + grid * 8

    def load(self, V: Array) -> None:
        """Start from ``V``, ``(N_k, N_z)``."""
        self._W[:] = self._source.T
        self._value[:] = V.T
        np.divide(1.0, np.diff(self.X), out=self._inverse)
        self._now = 0
        self.sweeps = self.maximising_sweeps = self.exact_sweeps = 0
        self.h = math.inf
        self._largest = 0.0
        # A first guess of the largest |EV|: what staying where one is for ever is worth at either end.
        ends = self._W[:, [0, -1]] - self.X[[0, -1]]
        worth = [abs(crra(float(c), self.eta)) / max(1.0 - self.beta, 1e-3) for c in ends.ravel() if c > 0.0]
        finite = np.abs(V[np.isfinite(V)])
        self._measure_room(2.0 * max([float(finite.max(initial=1.0)), *worth]))
        self._look_ahead()

    def _measure_room(self, largest: float) -> None:
        self._largest = largest
        self._room = curvature_room(self.X, self._source, self.eta, largest)
        for c in range(self._least.shape[0]):
            piece = self._room[:, c * self._chunk : (c + 1) * self._chunk]
            self._least[c] = piece.min(axis=1, initial=np.inf)

    def _batch(self, kind: int, rule: int, epsilon: float, limit: int) -> tuple[int, int]:
        arguments = (
            kind, rule, self.X, self._W, self.Q, self.beta, self.eta, epsilon, limit, self._value, self._both,
            self._now, self._policy, self._kept, self._inverse, self._room, self._least,
        )  # fmt: skip
        if self._parallel:
            done, code, h = _parallel(*arguments, self._chunk, self._largest, self.low, self.high)
        else:
            done, code, h = _serial(*arguments, self._largest, self.low, self.high)
        if kind != _NONE:
            self._now = (self._now + done) % 2
        else:
            self._now = 1 - self._now
        if kind < _FIXED:
            self.h = h
        return done, code

    def _look_ahead(self) -> None:
        """Compute ``EV`` of the present value, and whether it leaves single peaks."""
        self._doubt = False
        while True:
            _, code = self._batch(_NONE, 0, 0.0, 1)
            if code != _LARGER:
                break
            self._grow()
        self._doubt = code == _DOUBT

    def _grow(self) -> None:
        largest = float(np.abs(self._both[self._now]).max())
        self._measure_room(4.0 * largest if math.isfinite(largest) else math.inf)

    def sweep(self, rule: str, epsilon: float, limit: int, monotone: bool = False) -> bool:
        """At most ``limit`` maximising sweeps; whether the rule was met, after which no other sweep was done.

        Without a proof of single peaks a sweep takes the exact search.
        """
        batch = max(1, int(BATCH_STATES / self._W.size))
        end = self.sweeps + limit
        while self.sweeps < end:
            if self._doubt:
                if self._exact(rule) < epsilon:
                    return True
                continue
            done, code = self._batch(
                _MONOTONE if monotone else _WARM, RULES[rule], epsilon, min(batch, end - self.sweeps)
            )
            self.sweeps += done
            self.maximising_sweeps += done
            if code == _DONE:
                return True
            if code == _DOUBT:
                self._doubt = True
            elif code == _LARGER:
                self._grow()
                self._now = 1 - self._now
                self._look_ahead()
        return False

    def fixed(self, count: int) -> None:
        """Sweeps of the policy held fixed, and ``EV`` after them.

        None where a state has no choice: a policy found before that was known may lead there, and what is lost so no
        later sweep brings back.
        """
        if count and not (self._policy < 0).any():
            _, code = self._batch(_FIXED, 0, 0.0, count)
            self.sweeps += count
            self._doubt = code == _DOUBT
            if code == _LARGER:
                self._grow()
                self._now = 1 - self._now
                self._look_ahead()

    def ages(self, values: Array, policies: Indexes) -> None:
        """One sweep an age, from the last to the first, into ``values`` and ``policies``, ``(T, N_k, N_z)``.

        As :meth:`sweep`, an age whose peaks are in doubt takes the exact search.
        """
        left = values.shape[0]
        while left:
            if self._doubt:
                self._exact("change")
                left -= 1
                values[left], policies[left] = self._value.T, self._policy.T
                continue
            arguments = (
                self.X, self._W, self.Q, self.beta, self.eta, left - 1, self._value, self._both, self._now,
                self._policy, self._kept, self._inverse, self._room, self._least,
            )  # fmt: skip
            if self._parallel:
                done, code = _parallel_ages(*arguments, self._chunk, self._largest, values, policies)
            else:
                done, code = _serial_ages(*arguments, self._largest, values, policies)
            self._now = (self._now + done) % 2
            self.sweeps += done
            self.maximising_sweeps += done
            left -= done
            if code == _DOUBT:
                self._doubt = True
            elif code == _LARGER:
                self._grow()
                self._now = 1 - self._now
                self._look_ahead()

    def _exact(self, rule: str) -> float:
        before = np.ascontiguousarray(self._value.T)
        value, policy = exact_sweep(self.X, self._source, self.Q, before, self.beta, self.eta)
        with np.errstate(invalid="ignore"):
            change = np.where(value == before, 0.0, value - before)
        self.low[:], self.high[:] = change.min(axis=0), change.max(axis=0)
        self.h = _measure(RULES[rule], self.low.copy(), self.high.copy(), self.low[None, :], self.high[None, :])
        self._value[:] = value.T
        self._policy[:] = policy.T
        _keep(self.X, self._W, self.eta, self._policy, self._kept)
        self.sweeps += 1
        self.maximising_sweeps += 1
        self.exact_sweeps += 1
        self._look_ahead()
        return self.h

    def read(self, rule: str) -> tuple[Array, Indexes]:
        """Value, shifted as the rule asks, and policy, both ``(N_k, N_z)``."""
        value = self._value
        if rule != "change":
            middle = (self.low + self.high) / 2.0
            if rule == "span":
                middle = np.full_like(middle, (self.low.min() + self.high.max()) / 2.0)
            value = value + shifts(middle, self.Q, self.beta)[:, None]
        return np.ascontiguousarray(value.T), np.ascontiguousarray(self._policy.T)
