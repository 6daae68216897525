"""Conversion of a problem with alternatives to the accelerator's form: each alternative becomes a state of its own.

The accelerator (the *machine*) has neither alternatives nor regimes. It has exogenous states, each with its own wealth,
costs and weights of expectations. A machine that is built for alternatives also takes the maximum over groups of
neighbouring exogenous states before the expectation. So alternative ``d`` in exogenous state ``s`` becomes the *product
state* ``s * N_d + place(d)``, and the alternatives of a regime are neighbours:

    V(x, p) = v_d(x, s),    EV(x', p) = beta_d(s) sum_s' Q_d(s, s') sum_r mix_d(r) max of V(x', p') over r's group in s'

With taste shocks a machine that is built for them takes log-sums in place of maxima, of at most four alternatives
(:mod:`beltline.hw.sweep.taste`).

Alternatives of two regimes that have the same tables, as default and exclusion after it, can share a product state;
``N_d`` is then smaller than the number of alternatives. A machine takes running maxima over neighbouring product
states, which begin again at the first state of each group (:mod:`beltline.hw.sweep.combine`). So one group can serve
two regimes: if every alternative of regime ``r`` is also one of regime ``t``, the group has the product states of ``r``
first, and then those that only ``t`` has. The running maximum at the last product state of ``r`` is the value of ``r``,
and at the last one of ``t`` the value of ``t``.

An alternative without a choice, which is given by a table of values, is a product state whose value does not change.
Costs must not fall in ``x'``. A candidate ``x'`` is *dominated* if a higher one costs less. If the
value function does not fall in ``x``, the higher one has no lower continuation value either, so a dominated candidate
is never needed. In the table it gets the cost of the cheapest higher candidate:

    G'(x', s) = min over y >= x' of G(y, s)

Then costs do not fall, the affordable candidates are those up to a highest one, and the search between the choices of
neighbouring states proves its choices (``docs/sweep-engine.md``). The optimum is unchanged: under ``G'`` a
dominated candidate is worth no more than the candidate whose cost it has. If the accelerator chooses it, the two have
equal continuation values, and the policy is changed to the candidate that is not dominated.

Bounds of ``x'`` that do not depend on ``x`` become costs: a candidate above ``high`` costs the largest cash on hand, so
that no state can afford it. A candidate below ``low`` costs as much as ``low``; if values do not fall in ``x``, the
candidate ``low`` is then at least as good. Bounds that depend on ``x`` are tables of a machine that is built for them,
which then has those of all alternatives. They may let values fall in ``x``, so that no candidate may be dominated:
costs must not fall in ``x'``.

Where consumption may be negative, as the dividends of a firm with ``eta = 0``, every candidate within the bounds can be
chosen, whatever it costs. The accelerator then does not test what is affordable, and bounds are the lowest and the
highest candidate of a product state. Utility is linear, so the difference of two candidates' objectives does not depend
on ``x``: the search is right for any costs and any values, and no cost is changed.

If tables depend on age, each age has its own product states; their arrangement is the same at all ages.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.general.checks import cheapest
from beltline.gpu_ref.general.form import Branch, Form, Outside, Tables
from beltline.host.problem.checks import ProblemError, first, shown
from beltline.host.problem.general import WORKAROUND, start_of
from beltline.host.problem.problem import Problem
from beltline.hw.arithmetic.log_sum_constants import TERMS


@dataclass(frozen=True, eq=False)
class Arrangement:
    """The position (*place*) of each alternative, and of the first and the last of each regime, among product states.

    Each exogenous state has ``count`` of them. Alternatives of different regimes with the same tables have one place.
    """

    count: int
    place: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]

    @property
    def largest(self) -> int:
        """Largest number of alternatives of a regime."""
        return int((self.last - self.first).max()) + 1


def arranged(form: Form, start: NDArray[np.float64]) -> Arrangement:
    """Arrange the alternatives of a problem."""
    regimes = form.shape[0]
    kind = _kinds(form)
    members = [
        sorted(form.of_regime(r), key=lambda d: (not isinstance(form.alternatives[d], Outside), d))
        for r in range(regimes)
    ]
    chains: list[list[int]] = []
    for r in sorted(range(regimes), key=lambda r: (len(members[r]), r)):
        for chain in chains:
            if _begins_group(form, members, kind, chain[-1], r) and (start[chain[-1]] <= start[r]).all():
                chain.append(r)
                break
        else:
            chains.append([r])
    place = np.zeros(len(form.alternatives), np.int64)
    first, last = np.zeros(regimes, np.int64), np.zeros(regimes, np.int64)
    count = 0
    for chain in sorted(chains, key=min):
        begin, of_kind = count, dict[int, int]()
        for r in chain:
            for d in members[r]:
                if len(chain) == 1 or kind[d] not in of_kind:
                    of_kind[kind[d]] = count
                    count += 1
                place[d] = of_kind[kind[d]]
            first[r], last[r] = begin, count - 1
    return Arrangement(count, place, first, last)


def _begins_group(form: Form, members: list[list[int]], kind: list[int], lower: int, upper: int) -> bool:
    """Return whether the alternatives of regime ``lower`` are some, but not all, of those of regime ``upper``."""
    tables = any(isinstance(form.alternatives[d], Outside) for r in (lower, upper) for d in members[r])
    few, many = ({kind[d] for d in members[r]} for r in (lower, upper))
    # A maximum takes two equal alternatives of a regime as one; a log-sum must not.
    twice = form.sigma > 0.0 and len(few) + len(many) < len(members[lower]) + len(members[upper])
    return not tables and not twice and few < many


def _kinds(form: Form) -> list[int]:
    """Return for each alternative the number of the first one that is equal except for its name and regime."""
    found: list[int] = []
    for d, one in enumerate(form.alternatives):
        same = (c for c in range(d) if _same(form.alternatives[c], one))
        found.append(next(same, d))
    return found


_TABLES = ("wealth", "cost", "transition", "beta", "mix", "kappa", "low", "high")


def _same(one: Branch | Outside, other: Branch | Outside) -> bool:
    if isinstance(one, Outside) or isinstance(other, Outside):
        return False
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in _TABLES)


@dataclass(frozen=True, eq=False)
class Products:
    """The product states of a problem at one age, ``N_p = N_z * count`` of them, in double precision.

    Parameters
    ----------
    form
        The problem's tables by alternative.
    arrangement
        Place of each alternative among the product states of an exogenous state.
    wealth : (N_k, N_p) float64 array
        ``W``, in units of the good.
    cost : (N_k, N_p) float64 array
        ``G``, which does not fall in ``x'``; at most the largest cash on hand of the state. Where consumption may be
        negative, the problem's own costs, which may fall and have no limit.
    stands : (N_k, N_p) int64 array
        For each candidate ``i`` the grid index to report in its place: the lowest at or above ``i`` that is not
        dominated; the candidate itself where consumption may be negative.
    low, high : (N_k, N_p) int64 arrays
        Bounds of ``x'``: first and last grid index.
    kappa : (N_p,) float64 array
        Utility of the alternative itself, in units of utility.
    keeps : (N_p,) bool array
        Whether the alternative is given by a table of values.
    start : (N_k, N_p) float64 array
        First guess of the value, or the table of values that enters the continuation value, which is that of the next
        age; ``-inf`` where the alternative cannot be taken.
    note
        A sentence if ``start`` differs from the problem's, for the message of the result; otherwise empty.
    age
        Age whose tables these are, counted from 0; 0 if tables do not depend on age.
    """

    form: Form
    arrangement: Arrangement
    wealth: NDArray[np.float64]
    cost: NDArray[np.float64]
    stands: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    kappa: NDArray[np.float64]
    keeps: NDArray[np.bool_]
    start: NDArray[np.float64]
    note: str = ""
    age: int = 0

    @property
    def states(self) -> int:
        """Number of exogenous states of the problem, ``N_z``."""
        return self.form.shape[2]

    @property
    def count(self) -> int:
        """Number of product states of each exogenous state."""
        return self.arrangement.count

    @property
    def single(self) -> bool:
        """Whether there is one alternative without bounds and ``kappa``, which needs no machine for alternatives."""
        one, *others = self.form.alternatives
        if others or isinstance(one, Outside) or self.form.eta == 0.0:
            return False
        tables = one.at()
        bounded = tables.low.any() or (tables.high < tables.high.shape[0] - 1).any()
        return not (bounded or np.any(one.kappa))

    @property
    def place(self) -> NDArray[np.int64]:
        """Place of each alternative, ``(N_d,)``, from 0 to ``count - 1``."""
        return self.arrangement.place

    @property
    def by_point(self) -> bool:
        """Whether bounds of ``x'`` depend on ``x``, so that the machine needs a table of them."""
        return varies(self.form)

    @property
    def consumed(self) -> NDArray[np.float64]:
        """Consumption with the cheapest choice, ``(N_k, N_p)``, in units of the good."""
        return np.asarray(self.wealth - cheapest(self.cost, self.low, self.high))

    def of(self, alternative: int) -> NDArray[np.int64]:
        """Return the product states of an alternative, ``(N_z,)``."""
        return np.arange(self.states) * self.count + self.place[alternative]

    def given(self, age: int) -> NDArray[np.float64]:
        """Return the tables of values at an age in the columns of their product states, 0 elsewhere, ``(N_k, N_p)``."""
        found = np.zeros(self.start.shape)
        for d, one in enumerate(self.form.alternatives):
            if isinstance(one, Outside):
                found[:, self.of(d)] = one.at(age)
        return found

    def best(self, worth: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values of regimes, ``(N_r, N_k, N_z)``, from those of product states, ``(N_k, N_p)``."""
        by_place = worth.reshape(worth.shape[0], self.states, self.count)
        ranges = zip(self.arrangement.first, self.arrangement.last + 1, strict=True)
        found = []
        for begin, end in ranges:
            own = by_place[:, :, begin:end]
            largest = own.max(axis=2)
            if self.form.sigma > 0.0:
                least = np.where(np.isneginf(largest), 0.0, largest)
                with np.errstate(divide="ignore"):
                    largest = least + self.form.sigma * np.log(
                        np.exp((own - least[..., None]) / self.form.sigma).sum(2)
                    )
            found.append(largest)
        return np.stack(found)

    def borders(self, apart: bool = False) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which product states are the first of a group, and which are the last of a regime, ``(N_p,)`` each."""
        begins, ends, outside = np.zeros((3, self.count), np.bool_)
        begins[self.arrangement.first], ends[self.arrangement.last] = True, True
        if apart:
            outside[[self.place[d] for d, one in enumerate(self.form.alternatives) if isinstance(one, Outside)]] = True
            begins |= outside | np.append(False, outside[:-1])
        return np.tile(begins, self.states), np.tile(ends, self.states)

    def weights(self) -> NDArray[np.uint64]:
        """Return the weights of expectations, ``(N_p, N_p)``, in units of ``2**-64``."""
        found = np.zeros((self.wealth.shape[1],) * 2, np.uint64)
        count, last = self.count, self.arrangement.last
        for d, one in enumerate(self.form.alternatives):
            if not isinstance(one, Branch):
                continue
            tables = one.at(self.age)
            for s, row in zip(range(self.states), self.of(d), strict=True):
                discount = Fraction(float(tables.beta[s]))
                for r in np.flatnonzero(tables.mix):
                    chance = discount * Fraction(float(tables.mix[r]))
                    for after in np.flatnonzero(tables.transition[s]):
                        exact = chance * Fraction(float(tables.transition[s, after])) * 2**64
                        found[row, after * count + last[r]] = min(round(exact), 2**64 - 1)
        return found


def check_products(problem: Problem, form: Form | None = None) -> None:
    """Check that a machine that is built for alternatives can solve a problem of the general form."""
    form = form or problem.form

    def refuse(reason: str) -> ProblemError:
        return ProblemError(f"a machine {reason}: {WORKAROUND}")

    if form.sigma > 0.0:
        largest = arrangement_of(problem, form).largest
        if largest > TERMS:
            raise refuse(
                f"takes taste shocks to at most {TERMS} alternatives of a regime, and problem {problem.name!r} "
                f"has {largest}"
            )
    for one in form.alternatives:
        if not isinstance(one, Branch):
            continue
        heaviest = float((one.beta[..., None] * one.transition).max()) * float(one.at().mix.max())
        if heaviest > 1.0:
            raise refuse(
                f"takes beta times the probability of a state up to 1, and alternative {one.name!r} has "
                f"{heaviest:.6g} with beta = {shown(float(one.beta.max()))}"
            )
        falls = _falls(one) if varies(form) and not form.negative else np.zeros(0, np.bool_)
        if falls.any():
            raise refuse(
                f"takes bounds of x' that depend on x only if costs do not fall in x' or consumption may be negative, "
                f"and cost of alternative {one.name!r} falls in state {first(falls)[-1]}"
            )


def varies(form: Form) -> bool:
    """Return whether some alternative has bounds of ``x'`` that depend on ``x``."""
    tables = [one.at() for one in form.alternatives if isinstance(one, Branch)]
    return any(bool((bound != bound[0]).any()) for one in tables for bound in (one.low, one.high))


def _falls(one: Branch) -> NDArray[np.bool_]:
    """Return where the cost of the next candidate is lower, both within the bounds of some point; states come last."""
    tables, index = one.at(), np.arange(one.cost.shape[-2] - 1)[:, None]
    return (np.diff(one.cost, axis=-2) < 0) & (index >= tables.low[0]) & (index < tables.high[-1])


def arrangement_of(problem: Problem, form: Form | None = None) -> Arrangement:
    """Return how the alternatives of a problem are arranged, without converting its tables."""
    return arranged(form or problem.form, start_of(problem))


def products_by_age(problem: Problem, form: Form | None = None) -> list[Products]:
    """Return the product states of each age, the first age first; a list of one if no table depends on age."""
    form = form or problem.form
    if not any(one.aged() for one in form.alternatives):
        return [products_of(problem, form)]
    assert problem.horizon is not None
    arrangement = arrangement_of(problem, form)
    found = [products_of(problem, form, age, arrangement) for age in range(problem.horizon)]
    for one in found[:-1]:
        # Any positive consumption will do, and that of the last age leaves the table unchanged.
        one.wealth[:, one.keeps] = found[-1].wealth[:, one.keeps]
    return found


def products_of(
    problem: Problem, form: Form | None = None, age: int | None = None, arrangement: Arrangement | None = None
) -> Products:
    """Return the product states of a problem that :func:`check_products` accepts."""
    form = form or problem.form
    points, states = form.shape[1:]
    alternatives = form.alternatives
    arrangement = arrangement or arrangement_of(problem, form)
    place, count = arrangement.place, arrangement.count
    shape = (points, states * count)
    wealth, cost, start = (np.zeros(shape) for _ in range(3))
    stands = np.tile(np.arange(points)[:, None], (1, shape[1]))
    kappa, keeps = np.zeros(shape[1]), np.zeros(shape[1], np.bool_)
    low, high = np.zeros((2, *shape), np.int64)
    by_point = varies(form)
    given = start_of(problem)
    dominated = ""
    most = 0.0
    now = age or 0
    following = now if problem.horizon is None else min(now + 1, problem.horizon - 1)
    for d, one in enumerate(alternatives):
        columns = np.arange(states) * count + place[d]
        if not isinstance(one, Branch):
            keeps[columns], start[:, columns] = True, one.at(following)
            continue
        tables = one.at(now)
        wealth[:, columns], kappa[columns] = tables.wealth, tables.kappa
        low[:, columns], high[:, columns] = tables.low, tables.high
        if form.negative:
            cost[:, columns] = tables.cost
            continue
        if by_point:
            cost[:, columns] = np.minimum(tables.cost, tables.wealth.max(axis=0))
            most = max(most, float((tables.wealth - cheapest(tables.cost, tables.low, tables.high)).max()))
            continue
        cost[:, columns], stands[:, columns] = _rising(tables)
        most = max(most, float((tables.wealth[-1] - cost[0, columns]).max()))
        affordable = cost[:, columns] < tables.wealth[-1]
        if (affordable & (stands[:, columns] != np.arange(points)[:, None])).any():
            dominated = dominated or one.name
    fill_start(form, arrangement, given, start)
    # The machine computes consumption for tables of values, too. It is positive, unless it need not be, and no larger
    # than in other states.
    wealth[:, keeps] = 0.0 if form.negative else most if most > 0.0 else 1.0
    start, note = _first_value(problem, start, keeps, dominated, age)
    return Products(form, arrangement, wealth, cost, stands, low, high, kappa, keeps, start, note, now)


def fill_start(form: Form, arrangement: Arrangement, given: NDArray[np.float64], start: NDArray[np.float64]) -> None:
    """Write the first guess of the values of product states that have a choice to ``start``, ``(N_k, N_p)``."""
    count, place, last = arrangement.count, arrangement.place, arrangement.last
    # A product state that two regimes share starts from the lower of their values, that of the regime which ends first.
    for r in np.argsort(-last):
        value, members = given[r], form.of_regime(r)
        places = [place[d] for d in members if isinstance(form.alternatives[d], Branch)]
        if form.sigma > 0.0:
            below = np.flatnonzero((arrangement.first == arrangement.first[r]) & (last < last[r]))
            others = [given[below[last[below].argmax()]]] if below.size else []
            if below.size:
                places = [one for one in places if one > last[below].max()]
            elif form.horizon is None:
                others = [start[:, place[d] :: count] for d in members if place[d] not in places]
            for one in places[1:]:
                start[:, one::count] = -np.inf
            value, places = _without(value, others, form.sigma), places[:1]
        for one in places:
            start[:, one::count] = value


def _without(value: NDArray[np.float64], others: list[NDArray[np.float64]], sigma: float) -> NDArray[np.float64]:
    """Return what has, together with ``others``, the log-sum ``value``; ``-inf`` where theirs is as large."""
    total = np.zeros(value.shape)
    for one in others:
        total += np.exp(np.minimum((one - value) / sigma, 0.0))
    with np.errstate(divide="ignore"):
        return np.asarray(value + sigma * np.log1p(-np.minimum(total, 1.0)))


def _rising(tables: Tables) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return costs of an alternative that do not fall, and the index to report for each candidate, ``(N_k, N_z)``."""
    points = tables.cost.shape[0]
    index = np.arange(points)[:, None]
    low, high = tables.low[0], tables.high[0]
    inside = (index >= low) & (index <= high)
    bounded = np.where(inside, tables.cost, np.inf)
    least = np.minimum.accumulate(bounded[::-1])[::-1]
    own = np.where(inside & (bounded == least), index, points)
    stands = np.minimum.accumulate(own[::-1])[::-1]
    return np.minimum(least, tables.wealth.max(axis=0)), np.where(stands == points, index, stands)


def _first_value(
    problem: Problem, start: NDArray[np.float64], keeps: NDArray[np.bool_], dominated: str, age: int | None
) -> tuple[NDArray[np.float64], str]:
    """Return the first guess of the value, and a sentence if it differs from ``start``; otherwise an empty text."""
    if not dominated:
        return start, ""
    candidate = f"a candidate of alternative {dominated!r}" if problem.alternatives else "a candidate"
    falls = start[1:] < start[:-1]
    last = problem.horizon is not None and (age is None or age == problem.horizon - 1)
    tables = falls & keeps & (age is None or not last)
    where = "" if age is None else f" at age {age + 1}"
    if tables.any():
        i, p = first(tables)
        later = "" if age is None else f" at age {age + 2}"
        raise ProblemError(
            f"a machine needs values that do not fall in x, because {candidate} is "
            f"dominated or below its bound{where}, but a table of values falls from {start[i, p]:.6g} to "
            f"{start[i + 1, p]:.6g} at grid point {i + 1}{later}: {WORKAROUND}"
        )
    falls &= ~keeps
    if not falls.any() or (problem.horizon is not None and not last):
        return start, ""
    if problem.horizon is not None:
        i, p = first(falls)
        raise ProblemError(
            f"start must not fall as the grid rises, because {candidate} is dominated or "
            f"below its bound{where}, but it falls from {start[i, p]:.6g} to {start[i + 1, p]:.6g} at "
            f"grid point {i + 1}: {WORKAROUND}"
        )
    note = "The start falls as the grid rises, so the solve began from its running maximum."
    return np.maximum.accumulate(start), note
