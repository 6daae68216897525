"""One application of the Bellman operator of a general problem, proven, with gaps and rounding errors by state.

Every alternative is maximised by :func:`beltline.gpu_ref.general.proof.proven_column`, from any policy. Inside, tables
have exogenous states before grid points: ``(N_r, N_z, N_k)`` by regime and ``(N_d, N_z, N_k)`` by alternative.
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.gpu_ref.bounds import ROUND_UP
from beltline.gpu_ref.general.form import Branch, Form, Indexes, Outside, Tables
from beltline.gpu_ref.general.log_sum import growth, log_sum_error
from beltline.gpu_ref.general.proof import (
    GAP,
    NUMBER,
    POLICY,
    ROOT,
    SLACK,
    VALUE,
    largest_between,
    possible,
    proven_column,
)
from beltline.gpu_ref.tables import Array, expectation
from beltline.gpu_ref.threads import threads, threads_for
from beltline.gpu_ref.utility import DOUBLE, crra, power_error

NEGLIGIBLE = 60.0
"""Multiple of the scale of taste shocks by which an alternative must be worse to have no effect but ``exp(-60)``."""


@njit(parallel=True, cache=True)
def _columns(
    costs: Array, evs: Array, errors: Array, wealths: Array, eta: float, negative: bool, lows: Indexes, highs: Indexes,
    guess: Indexes, tight: bool, found: Array, whole: Indexes, counts: NDArray[np.int64],
) -> None:  # fmt: skip
    """Maximise one alternative in every exogenous state; fill ``counts``, ``(N_z, 2)``, with its results."""
    for s in prange(evs.shape[0]):
        counts[s, 0], counts[s, 1] = proven_column(
            costs[:, s].copy(), evs[s], errors[s], wealths[:, s].copy(), eta, negative, lows[:, s].copy(),
            highs[:, s].copy(), guess[:, s].copy(), tight, found[s], whole[s],
        )  # fmt: skip


@njit(cache=True)
def regime_slack(best: Array, slack: Array, own: NDArray[np.int64], s: int, x: int, sigma: float, top: float) -> float:
    """Return a bound on the error of the best value among alternatives ``own``, or of their log-sum.

    Without taste shocks the maximum lies between the largest ``v_d - slack_d`` and the largest ``v_d + slack_d``, so an
    alternative far below does not matter; nor does it in a log-sum (:mod:`beltline.gpu_ref.general.log_sum`). The
    log-sum itself is rounded: an exponent, weighted by its exponential, by up to ``1 / e`` of ``sigma``, the rest by a
    few units each.
    """
    above = below = highest = -np.inf
    total = grown = 0.0
    for d in own:
        v, error = best[d, s, x], slack[d, s, x]
        above, below = max(above, v + error), max(below, v - error)
        if sigma > 0.0 and v > -np.inf:
            highest, total = max(highest, v - top + error), total + math.exp((v - top) / sigma)
            grown += growth(v - top, error, sigma)
    if sigma == 0.0:
        return max(above - top, top - below) + 4.0 * DOUBLE * abs(top)
    rounding = DOUBLE * (4.0 * abs(top) + sigma * (8.0 + 4.0 * own.size))
    return log_sum_error(grown, total, highest, own.size, sigma) + rounding


@njit(parallel=True, cache=True)
def _regime(
    best: Array, slack: Array, own: NDArray[np.int64], sigma: float, value: Array, choice: Indexes, error: Array
) -> None:
    """Fill value, best alternative and rounding error of one regime, ``(N_z, N_k)``, from those of alternatives."""
    for s in prange(value.shape[0]):
        for x in range(value.shape[1]):
            first = own[0]
            for d in own:
                if best[d, s, x] > best[first, s, x]:
                    first = d
            top = best[first, s, x]
            error[s, x] = regime_slack(best, slack, own, s, x, sigma, top)
            if sigma > 0.0:
                total = 0.0
                for d in own:
                    total += math.exp((best[d, s, x] - top) / sigma)
                top += sigma * math.log(total)
            value[s, x], choice[s, x] = top, first


@njit(parallel=True, cache=True)
def _intervals(found: Array, whole: Indexes, margin: Array, low: Indexes, high: Indexes) -> None:
    for s in prange(margin.shape[0]):
        possible(found[s], whole[s], margin[s], low[s], high[s])


@njit(parallel=True, cache=True)
def _largest(table: Array, roots: Indexes, low: Indexes, high: Indexes, found: Array) -> None:
    for s in prange(table.shape[0]):
        largest_between(table[s], roots[s], low[s], high[s], found[s])


def continuation(tables: Tables, V: Array, eta: float) -> tuple[Array, Array]:
    """Return ``kappa + beta Q sum_r mix_r V_r``, and a bound on its rounding error, ``(N_z, N_k)`` each.

    ``V`` is ``(N_r, N_k, N_z)``. The bound includes the rounding of the logarithm if ``eta = 1``.
    """
    regimes, _, states = V.shape
    beta, kappa = tables.beta[:, None], tables.kappa[:, None]
    found = expectation(tables.transition, np.ascontiguousarray(np.tensordot(tables.mix, V, 1)), 1.0)
    found *= beta
    # The bound of values at the end of double precision is infinite.
    with np.errstate(over="ignore"):
        if V.max() <= 0.0 or V.min() >= 0.0:
            # The expectation of |V|, and a little more for its rounding.
            error = np.abs(found)
        else:
            sizes = np.ascontiguousarray(np.tensordot(tables.mix, np.abs(V), 1))
            error = expectation(tables.transition, sizes, 1.0) * beta
        error *= 1.001 * DOUBLE * (states + regimes + 6)
        error += 1.001 * DOUBLE * (2.0 * np.abs(kappa) + (1.0 if eta == 1.0 else 0.0))
    found += kappa
    return found, error


class Applied:
    """The operator applied to ``V``, ``(N_r, N_k, N_z)``, at one age.

    Parameters
    ----------
    form
        The problem.
    V
        Finite, ``float64``.
    guess
        ``(N_d, N_k, N_z)``, ``int32``: the policy to start from.
    age
        Age whose tables are used.
    tight
        Whether to tighten gaps as ``proven_column`` does.

    Attributes
    ----------
    value, choice, error
        By regime: ``TV``, the first of the best alternatives, and a bound on the rounding error of ``TV``.
    values, policy, slack, gap
        By alternative: its value, the best ``x'`` (-1 if it has none), a bound on the error of the value, and a lower
        bound on what the choice gains over every other.
    evaluations
        Number of objectives computed.
    """

    def __init__(self, form: Form, V: Array, guess: Indexes, age: int = 0, tight: bool = False) -> None:
        regimes, grid, states = form.shape
        count = len(form.alternatives)
        self.form, self.tables = form, [one.at(age) if isinstance(one, Branch) else None for one in form.alternatives]
        self.values, self.slack = np.empty((count, states, grid)), np.zeros((count, states, grid))
        self.policy = np.full(self.values.shape, -1, np.int32)
        self.future: list[tuple[Array, Array]] = []
        self.found, self.whole = [np.empty(0)] * count, [np.empty(0, np.int32)] * count
        counts = np.zeros((count, states, 2), np.int64)
        with threads(threads_for(grid * states)):
            for d, (one, tables) in enumerate(zip(form.alternatives, self.tables, strict=True)):
                if isinstance(one, Outside):
                    self.values[d] = one.at(age).T
                    self.future.append((np.empty(0), np.empty(0)))
                    continue
                assert tables is not None
                ev, error = continuation(tables, V, form.eta)
                self.future.append((ev, error))
                self.found[d], self.whole[d] = np.empty((states, 7, grid)), np.empty((states, 5, grid), np.int32)
                _columns(
                    tables.cost, ev, error, tables.wealth, form.eta, form.negative, tables.low, tables.high, guess[d],
                    tight, self.found[d], self.whole[d], counts[d],
                )  # fmt: skip
                self.values[d], self.slack[d] = self.found[d][:, VALUE], self.found[d][:, SLACK]
                self.policy[d] = self.whole[d][:, POLICY]
            shape = regimes, states, grid
            self.value, self.error, self.choice = np.empty(shape), np.empty(shape), np.empty(shape, np.int32)
            for r in range(regimes):
                own = np.array(form.of_regime(r))
                if own.size == 1 and form.sigma == 0.0:
                    self.value[r], self.error[r], self.choice[r] = self.values[own[0]], self.slack[own[0]], own[0]
                    continue
                _regime(self.values, self.slack, own, form.sigma, self.value[r], self.choice[r], self.error[r])
        self.evaluations = int(counts[..., 0].sum())

    @property
    def gap(self) -> Array:
        nothing = np.full(self.values.shape[1:], np.inf)
        return np.stack([found[:, GAP] if found.size else nothing for found in self.found])

    def objective(self, d: int, index: Indexes, s: Any, x: Any) -> tuple[Array, Array]:
        """Return the objectives of choices ``index`` of an alternative in states ``s, x``, and bounds on their errors.

        Minus infinity where the choice is not allowed, and also where it is -1 if the alternative has candidates.
        """
        tables = self.tables[d]
        if tables is None:
            return np.where(index == -1, self.values[d][s, x], -np.inf), np.zeros(index.shape)
        at = np.clip(index, 0, tables.cost.shape[0] - 1)
        c = tables.wealth[x, s] - tables.cost[at, s]
        right = (tables.low[x, s] <= index) & (index <= tables.high[x, s]) & (index == at)
        right &= (c > 0.0) | self.form.negative
        u = _utility(np.where(right, c, 1.0), self.form.eta)
        ev, error = self.future[d]
        objective = np.where(right, u + ev[s, at], -np.inf)
        return objective, error[s, at] + power_error(self.form.eta) * np.abs(u)


def _utility(c: Array, eta: float) -> Array:
    """Return the utility of consumption, by the function that compiled code uses."""
    return _crra(c.reshape(-1), eta).reshape(c.shape)


@njit(cache=True)
def _crra(c: Array, eta: float) -> Array:
    found = np.empty(c.size)
    for k in range(c.size):
        found[k] = crra(c[k], eta)
    return found


class PossibleChoices:
    """The candidates that can still be the best if the value was off by at most ``errors``, ``(N_r, N_z, N_k)``.

    Two supersets of them are used, of which the one with the lower maximum counts: the numbers that
    :func:`~beltline.gpu_ref.general.proof.possible` does not exclude; and the candidates whose expectation, with its
    error, is not so low that the highest utility of the row could not make up for it.

    Attributes
    ----------
    own, most
        ``(N_d, N_z, N_k)``: the error of the best choice's objective, and the largest of any possible candidate.
    """

    def __init__(self, applied: Applied, errors: Array) -> None:
        self._applied, form = applied, applied.form
        shape = applied.values.shape
        self.own, self.most = np.zeros(shape), np.zeros(shape)
        self._order, self._last, self._ends = (cast(list[NDArray[Any]], [None] * shape[0]) for _ in range(3))
        self._change = [np.empty(0)] * shape[0]
        power = power_error(form.eta)
        for d, tables in enumerate(applied.tables):
            if tables is None:
                continue
            ev, ev_error = applied.future[d]
            change = self._discounted(tables, errors)
            self._change[d], there = change, applied.policy[d] >= 0
            self.own[d] = self.error_of(d, applied.policy[d])
            worth = ev + ev_error + change
            order = np.argsort(-worth, axis=1, kind="stable")
            sorted_worth = np.take_along_axis(-worth, order, axis=1)
            cash = np.where(there, tables.wealth.T - tables.cost.min(axis=0)[:, None], 1.0)
            u = _utility(cash, form.eta)
            with np.errstate(invalid="ignore"):
                least = applied.values[d] - applied.slack[d] - self.own[d] - u - power * np.abs(u)
                least -= 8.0 * DOUBLE * (np.abs(u) + np.abs(applied.values[d]))
            last = np.stack([np.searchsorted(sorted_worth[s], -least[s], "right") - 1 for s in range(shape[1])])
            self._order[d], self._last[d] = order, np.maximum(last, 0)
            margin = np.where(there, (self.own[d] + self._of_worth(d, change)) * ROUND_UP, 0.0)
            ends = np.empty((2, *margin.shape), np.int32)
            _intervals(applied.found[d], applied.whole[d], margin, ends[0], ends[1])
            self._ends[d] = ends
            self.most[d] = self._largest(d, change)
        self._counted = np.empty(shape, np.bool_)
        for r in range(form.shape[0]):
            own = form.of_regime(r)
            with np.errstate(invalid="ignore"):
                high = applied.values[own] + applied.slack[own] + self.most[own]
                low = (applied.values[own] - applied.slack[own] - self.own[own]).max(axis=0)
                self._counted[own] = high >= low - NEGLIGIBLE * form.sigma - 8.0 * DOUBLE * np.abs(low)
        self._own_of = [form.of_regime(r) for r in range(form.shape[0])]

    @staticmethod
    def _discounted(tables: Tables, errors: Array) -> Array:
        found: Array = tables.beta[:, None] * (tables.transition @ np.tensordot(tables.mix, errors, 1)) * ROUND_UP
        return found

    def _of_worth(self, d: int, table: Array) -> Array:
        """Return the largest entry of ``table``, ``(N_z, N_k)`` by candidate, among those whose worth suffices."""
        most = np.maximum.accumulate(np.take_along_axis(table, self._order[d], axis=1), axis=1)
        return np.take_along_axis(most, self._last[d], axis=1)

    def _largest(self, d: int, table: Array) -> Array:
        """Return the largest entry of ``table``, by candidate, among those that are possible; 0 where none is."""
        found = np.empty(table.shape)
        low, high = self._ends[d]
        _largest(np.ascontiguousarray(table), self._applied.whole[d][:, ROOT], low, high, found)
        there = self._applied.whole[d][:, NUMBER] >= 0
        return np.where(there, np.minimum(found, self._of_worth(d, table)), 0.0)

    def _by_regime(self, tables: list[Array]) -> Array:
        found = np.where(self._counted, np.stack(tables), 0.0)
        return np.stack([found[own].max(axis=0) for own in self._own_of])

    def expected(self, errors: Array) -> Array:
        """As :class:`beltline.gpu_ref.bounds.Possible`."""
        nothing = np.zeros(errors.shape[1:])
        return self._by_regime(
            [
                nothing if tables is None else self._largest(d, self._discounted(tables, errors))
                for d, tables in enumerate(self._applied.tables)
            ]
        )

    def reached(self, table: Array) -> Array:
        """As :class:`beltline.gpu_ref.bounds.Possible`."""
        found = []
        for d, tables in enumerate(self._applied.tables):
            if tables is None:
                found.append(np.zeros(table.shape[1:]))
                continue
            mixed = table[tables.mix > 0.0].max(axis=0)
            leads = [mixed[row > 0.0].max(axis=0, initial=0.0) for row in tables.transition]
            found.append(self._largest(d, np.stack(leads)))
        return self._by_regime(found)

    def error_of(self, d: int, index: Indexes) -> Array:
        """Return the error of the objectives of choices ``index``, ``(N_z, N_k)``, of an alternative; 0 for -1."""
        if self._applied.tables[d] is None:
            return np.zeros(index.shape)
        found: Array = np.take_along_axis(self._change[d], np.clip(index, 0, index.shape[1] - 1), axis=1)
        return np.where(index >= 0, found, 0.0)

    def most_of_regimes(self) -> Array:
        """Return the largest error of any possible candidate by regime, ``(N_r, N_z, N_k)``."""
        return self._by_regime(list(self.most))
