"""Error bounds of results with a small error at each age, which earlier ages inherit, discounted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import beltline as bl
from beltline.gpu_ref.exact import exact_sweep
from beltline.host.solver.certificate import certified, of_one_alternative
from beltline.host.solver.complete import trust
from beltline.host.solver.fixed_point import fixed_point
from support.fakes import problem

AGES = 30
OFF = 1e-6
LIFE = problem(24, 2, horizon=AGES, beta=0.99)
ONE_AGE = replace(LIFE, horizon=1)


def swept(value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return exact_sweep(LIFE.grid, LIFE.wealth, LIFE.transition, value, LIFE.beta, LIFE.eta)


def off_in_every_age() -> tuple[np.ndarray, np.ndarray, float]:
    """Return values with an error of ``OFF`` added at each age, their policy, and the error of the first age."""
    values, policies = np.empty((AGES, 24, 2)), np.empty((AGES, 24, 2), np.int32)
    following, right = LIFE.start, LIFE.start
    for age in range(AGES - 1, -1, -1):
        values[age], policies[age] = swept(following)
        values[age] += OFF
        following, right = values[age], swept(right)[0]
    return values, policies, float(np.abs(values[0] - right).max())


def test_measured_errors_of_ages_add_up() -> None:
    values, policies, distance = off_in_every_age()
    assert distance > 20 * OFF
    found = certified(LIFE, of_one_alternative(values, policies), 0.0, LIFE.form)
    assert found.residual == pytest.approx(OFF, rel=1e-3)
    assert distance <= found.error_bound <= 1.01 * distance


def test_confirmed_errors_of_ages_add_up() -> None:
    values, policies, distance = off_in_every_age()
    found = certified(LIFE, of_one_alternative(values, policies), 0.0, rounding=np.full((AGES, 1, 24, 2), OFF))
    assert found.residual == pytest.approx(OFF, rel=1e-3)
    assert distance <= found.error_bound <= 1.01 * distance


def test_errors_of_unmeasured_ages_add_up() -> None:
    value, policy = (table[None] for table in swept(LIFE.start))
    image = fixed_point(LIFE, 1.0, value_bits=20)
    one = trust(ONE_AGE, image, of_one_alternative(value, policy), 0.0).error_bound
    # The rounding error is two units of value, plus the errors of utility and of amounts.
    assert one >= 2 * image.value_unit
    ages = of_one_alternative(np.tile(value, (AGES, 1, 1)), np.tile(policy, (AGES, 1, 1)))
    all_ages = trust(LIFE, image, ages, 0.0).error_bound
    assert all_ages == pytest.approx(one * (1 - LIFE.beta**AGES) / (1 - LIFE.beta), rel=1e-9, abs=0.0)


def test_a_residual_may_come_back_for_ever() -> None:
    given = problem(24, 2, beta=0.95)
    right = bl.solve(given, tol=1e-12, device="cpu")
    off = right.value + OFF
    found = certified(given, of_one_alternative(off, right.policy), 0.0)
    assert found.residual == pytest.approx(0.05 * OFF, rel=1e-3)
    assert np.abs(off - right.value).max() <= found.error_bound <= 1.1 * OFF
