"""The closed form of retirement: against the Bellman equation, numerical optimisation and the published rules."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from beltline.host.models.retirement.closed_form import ClosedForm
from docs.tables.retirement import late_probability

PAPER = ClosedForm(ages=20, wage=20.0, disutility=1.0, beta=0.98)
OTHERS = (
    ClosedForm(ages=6, wage=20.0, disutility=1.0, beta=0.98, interest=0.05),
    ClosedForm(ages=7, wage=3.0, disutility=0.1, beta=0.9, interest=-0.02),
    ClosedForm(ages=5, wage=20.0, disutility=4.0, beta=0.95, interest=0.1),
    ClosedForm(ages=5, wage=20.0, disutility=0.0, beta=0.95),
)


@pytest.mark.parametrize("life", [PAPER, *OTHERS])
def test_it_solves_the_bellman_equation(life: ClosedForm) -> None:
    random = np.random.default_rng(1)
    gross = 1 + life.interest
    share = np.linspace(0, 1, 4001)[1:]
    for age in range(1, life.ages):
        for wealth in life.wage * np.exp(random.uniform(-2, 3.5, 12)):
            value = float(life.value(age, wealth))
            tried = share * wealth

            def works(c: np.ndarray, left: np.ndarray, after: int = age + 1) -> np.ndarray:
                return np.log(c) - life.disutility + life.beta * life.value(after, gross * left + life.wage)

            def rests(c: np.ndarray, left: np.ndarray, after: int = age + 1) -> np.ndarray:
                return np.log(c) + life.beta * life.retired_value(after, gross * left)

            best = max(works(tried, wealth - tried).max(), rests(tried[:-1], wealth - tried[:-1]).max())
            assert best <= value + 1e-12
            assert value - best < 1e-5
            c = float(life.consumption(age, wealth))
            periods = int(life.periods(age, wealth))
            chosen = (works if periods else rests)(np.array([c]), np.array([wealth - c]))
            assert value == pytest.approx(float(chosen[0]), abs=1e-12)
            if periods:
                assert int(life.periods(age + 1, gross * (wealth - c) + life.wage)) == periods - 1
    for wealth in (0.5, 80.0):
        assert float(life.value(life.ages, wealth)) == pytest.approx(math.log(wealth), abs=1e-15)


@pytest.mark.parametrize("life", OTHERS[:3])
@pytest.mark.parametrize("wealth", [0.4, 1.5, 6.0])
def test_given_the_periods_of_work_it_is_the_best_path(life: ClosedForm, wealth: float) -> None:
    gross, start = 1 + life.interest, wealth * life.wage
    weights = life.beta ** np.arange(life.ages)
    for periods, value in enumerate(life.values(1, start)):
        wages = np.where(np.arange(life.ages) < periods, life.wage, 0.0)

        def left(c: np.ndarray, wages: np.ndarray = wages) -> np.ndarray:
            found, here = np.empty(life.ages), start
            for t in range(life.ages):
                found[t] = here - c[t]
                here = gross * found[t] + wages[t]
            return found

        guess = np.full(life.ages, 0.5 * start / life.ages)
        best = minimize(
            lambda c: -(weights @ np.log(c)),
            guess,
            bounds=[(1e-9, None)] * life.ages,
            constraints={"type": "ineq", "fun": left},
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 400},
        )
        disutility = life.disutility * weights[:periods].sum()
        assert value == pytest.approx(-best.fun - disutility, abs=2e-7)


@pytest.mark.parametrize("age", [1, 10, 18, 19])
def test_it_is_theorem_1(age: int) -> None:
    """The closed form is that of theorem 1 of Iskhakov, Jorgensen, Rust and Schjerning (2017), on each interval."""
    left = PAPER.ages - age
    sums = np.cumsum(0.98 ** np.arange(left + 1))
    k = 1.0 / sums[left]
    assert PAPER.threshold(age) == pytest.approx(20 * math.exp(-k) / (1 - math.exp(-k)), rel=1e-13)
    kinks, jumps = PAPER.kinks(age), PAPER.jumps(age)
    assert kinks[0] == pytest.approx(20 / 0.98, rel=1e-15)
    edges = [0.0, *kinks, *(wealth for wealth, _ in jumps), jumps[-1][0] + 100]
    assert edges == sorted(edges)
    assert len(jumps) == left
    # First one more age of saving at each kink, then retirement one age earlier at each jump.
    rules = [(20.0 * i, sums[i]) for i in range(len(kinks) + 1)]
    rules += [(20.0 * n, sums[left]) for _, n in jumps]
    assert [n for _, n in jumps] == list(range(left))[::-1]
    for low, high, (shift, weight) in zip(edges[:-1], edges[1:], rules, strict=True):
        wealth = np.linspace(low, high, 7)[1:-1]
        np.testing.assert_allclose(PAPER.consumption(age, wealth), (wealth + shift) / weight, rtol=1e-14)


def test_consumption_jumps_down_and_bends_without_a_jump() -> None:
    for age in (1, 10, 18):
        for wealth, periods in PAPER.jumps(age):
            below, above = wealth * (1 - 1e-9), wealth * (1 + 1e-9)
            assert PAPER.consumption(age, above) < PAPER.consumption(age, below) - 0.5
            assert int(PAPER.periods(age, above)) == periods
            assert int(PAPER.periods(age, below)) == periods + 1
            assert float(PAPER.value(age, above)) == pytest.approx(float(PAPER.value(age, below)), abs=1e-6)
        for wealth in PAPER.kinks(age):
            gap = PAPER.consumption(age, wealth * (1 + 1e-9)) - PAPER.consumption(age, wealth * (1 - 1e-9))
            assert abs(gap) < 1e-6


def test_the_retired() -> None:
    weight = float(np.sum(0.98 ** np.arange(20)))
    wealth = np.array([0.3, 5.0, 700.0])
    path = wealth / weight * (0.98 ** np.arange(20))[:, None]
    np.testing.assert_allclose(PAPER.retired_consumption(1, wealth), path[0], rtol=1e-14)
    np.testing.assert_allclose(path.sum(axis=0), wealth, rtol=1e-14)
    value = (0.98 ** np.arange(20)) @ np.log(path)
    np.testing.assert_allclose(PAPER.retired_value(1, wealth), value, rtol=1e-13, atol=1e-13)


def test_without_a_cost_of_work_no_household_retires_while_work_pays() -> None:
    free = OTHERS[3]
    assert free.threshold(1) == math.inf
    assert int(free.periods(1, 1e5)) == 4
    assert free.threshold(5) == 0.0
    assert free.jumps(5) == []


def test_ages_that_are_none() -> None:
    for age in (0, 21):
        with pytest.raises(ValueError, match=f"^age must be from 1 to 20, not {age}$"):
            PAPER.value(age, 10.0)


def test_probability_at_the_last_age_but_one() -> None:
    """The probability at the last age but one is that of a dense search over consumption."""
    taste, beta = 0.2, 0.9
    for wealth in (4.0, 22.0, 41.0, 90.0):
        c = np.linspace(0, wealth, 400_001)[1:]
        last = np.log(wealth - c + 20.0)
        ahead = taste * np.logaddexp((last - 0.7) / taste, last / taste)
        work = (np.log(c) - 0.7 + beta * ahead).max()
        with np.errstate(divide="ignore"):
            rest = (np.log(c) + beta * np.log(wealth - c)).max()
        wanted = 1 / (1 + math.exp((work - rest) / taste))
        found = float(late_probability(wealth, taste, 20.0, 0.7, beta))
        assert found == pytest.approx(wanted, rel=1e-6)
    assert 0 < found < 1
