"""Compare ages on the processor with full search, and the published program with what it printed."""

from __future__ import annotations

import numpy as np
import pytest

import beltline as bl
from beltline.gpu_ref import cpu
from beltline.gpu_ref.published import grid_search
from beltline.gpu_ref.tables import expectation
from beltline.gpu_ref.utility import crra_utility
from beltline.gpu_ref.value_iteration import ValueIteration
from support.concave_problems import random_problem


def tables():
    """Return grid, wealth and transition matrix of the tutorial."""
    p = bl.life_cycle()
    return p.grid, p.wealth, p.transition


def defective_life(X, W, Q, beta, eta, ages):
    """Return the value by age of the program as published, whose expectation sums over all choices so far."""
    following, values = np.zeros_like(W), np.empty((ages, *W.shape))
    for age in range(ages - 1, -1, -1):
        piled = np.cumsum(expectation(Q, following, beta), axis=1)
        for s in range(W.shape[1]):
            consumption = W[:, s, None] - X
            objective = crra_utility(consumption, eta) + piled[s]
            objective[consumption <= 0.0] = -1e5
            values[age, :, s] = np.maximum(objective.max(axis=1), -1e3)
        following = values[age]
    return values


def brute(X, W, Q, V0, beta, eta, ages):
    values, policies = np.empty((ages, *W.shape)), np.empty((ages, *W.shape), np.int32)
    for age in range(ages - 1, -1, -1):
        values[age], policies[age] = grid_search.sweep(X, W, Q, V0, beta, eta)
        V0 = values[age]
    return values, policies


def test_the_life_cycle_is_that_of_brute_force_in_every_state_and_age():
    X, W, Q = tables()
    V0 = np.zeros_like(W)
    value, policy, _ = cpu.solve_ages(X, W, Q, V0, 0.97, 2.0, 10)
    exact, choices = brute(X, W, Q, V0, 0.97, 2.0, 10)
    assert value.shape == (10, 1500, 15)
    assert (value == exact).all()
    assert (policy == choices).all()
    assert value[0, 0, :3] == pytest.approx([-2.11762, -2.07729, -2.02366], abs=5e-6)


def test_the_program_as_published_prints_what_was_printed():
    X, W, Q = tables()
    values = defective_life(X, W, Q, 0.97, 2.0, 10)
    assert [float(f"{value:.5f}") for value in values[0, 0, :3]] == [-2.12087, -2.08143, -2.02839]
    # In it no household saves: each age has the value of consuming all but the lowest x' in every period.
    stored = np.array([-1.0 / (W - X[0])])[0]
    for age in range(8, -1, -1):
        assert values[age] == pytest.approx(-1.0 / (W - X[0]) + 0.97 * stored[0] @ Q.T, rel=1e-12)
        stored = values[age]


def test_a_grid_in_single_precision_makes_second_differences_positive_and_no_choice_wrong():
    # The tutorial stores the grid in single precision. Its points are off by up to 1e-7, so second differences of V
    # can have the wrong sign. Divided by the true steps they are negative, and the proof of the search uses these.
    X, W, Q = tables()
    X = X.astype(np.float32).astype(np.float64)
    W = 1.07 * X[:, None] + (W[0] - 1.07 * 0.1)
    value, policy, _ = cpu.solve_ages(X, W, Q, np.zeros_like(W), 0.97, 2.0, 10)
    second = np.diff(value, 2, axis=1)
    assert second.size == 224_700
    assert 2_000 < (second > 0).sum() < 2_300
    assert 0 < second.max() < 2.5e-9
    slopes = np.diff(value, axis=1) / np.diff(X)[:, None]
    assert np.diff(slopes, axis=1).max() < 0
    iteration = ValueIteration(X, W, Q, 0.97, 2.0, 1)
    iteration.load(np.zeros_like(W))
    again, choices = np.empty_like(value), np.empty_like(policy)
    iteration.ages(again, choices)
    assert iteration.exact_sweeps == 0
    exact, wanted = brute(X, W, Q, np.zeros_like(W), 0.97, 2.0, 2)
    assert (choices[-2:] == wanted).all()
    assert (again == value).all()
    assert (value[-2:] == exact).all()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("threads", [1, 2])
def test_ages_have_the_bits_of_brute_force(seed, threads, monkeypatch):
    given = random_problem(np.random.default_rng(seed), grid=600 if seed % 3 else None)
    eta = 2.0 if seed % 2 else given.eta
    monkeypatch.setattr(cpu, "threads_for", lambda states: threads)
    arguments = (given.X, given.W, given.Q, given.V0, given.beta, eta)
    value, policy, _ = cpu.solve_ages(*arguments, 4)
    exact, choices = brute(*(np.ascontiguousarray(table) for table in arguments[:4]), given.beta, eta, 4)
    # If single peaks are in doubt, the exact search may decide a near tie the other way.
    assert value == pytest.approx(exact, rel=1e-13, abs=1e-13)
    assert (policy == choices).mean() > 0.999


def test_ages_whose_peaks_are_in_doubt_are_searched_exactly():
    X = np.linspace(0.1, 4.0, 300)
    W = np.stack([1.07 * X + 2.0, 1.07 * X + 3.0], axis=1)
    Q = np.full((2, 2), 0.5)
    # A step in the value after the last age makes two peaks.
    V0 = np.where(X > 2.0, 0.0, -1.0)[:, None].repeat(2, axis=1)
    iteration = ValueIteration(X, W, Q, 0.9, 2.0, 1)
    iteration.load(V0)
    value, policy = np.empty((3, 300, 2)), np.empty((3, 300, 2), np.int32)
    iteration.ages(value, policy)
    assert iteration.exact_sweeps >= 1
    exact, choices = brute(X, W, Q, V0, 0.9, 2.0, 3)
    assert value == pytest.approx(exact, rel=1e-14)
    assert (policy == choices).all()
