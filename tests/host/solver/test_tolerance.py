"""The default tolerance by the scale of utility, and error bounds that say too little about a solution."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.batch.settings import Key, settings_of
from beltline.host.results.outcome import Outcome
from beltline.host.solver.judgement import judged, promised
from beltline.host.solver.options import LEAST_TOL, TOL, SolveOptions, default_tol, options_with, utility_scale

CHAIN = np.array([[0.9, 0.1], [0.1, 0.9]])


def dollars(eta: float, **more: Any) -> bl.Problem:
    grid = np.linspace(1e3, 5e5, 120)
    wealth = 1.04 * grid[:, None] + np.array([3e4, 5e4])
    tables: dict[str, Any] = {"grid": grid, "wealth": wealth, "transition": CHAIN, "start": np.zeros(wealth.shape)}
    return bl.Problem(**{**tables, "beta": 0.95, "eta": eta, **more})


def thousands(eta: float) -> bl.Problem:
    """The same problem in units a hundred thousand times as large, with utilities near 1."""
    given = dollars(eta)
    return replace(given, grid=given.grid / 1e5, wealth=given.wealth / 1e5)


def renamed(given: bl.Problem) -> bl.Problem:
    """The same problem as one of the general form."""
    return replace(given, cost=given.grid)


@pytest.mark.parametrize("eta", [2.5, 4.0, 8.0])
def test_choices_do_not_depend_on_the_units_of_amounts(eta: float) -> None:
    wanted = bl.solve(thousands(eta), device="cpu", progress=False)
    assert wanted.tol == TOL
    for problem, options in (
        (dollars(eta), {}),
        (dollars(eta), {"device": "cpu", "method": "warm"}),
        (renamed(dollars(eta)), {"device": "cpu"}),
    ):
        found = bl.solve(problem, progress=False, **options)
        assert found.success, found.message
        assert found.tol == pytest.approx(1e-8 * 32_000.0 ** (1.0 - eta), rel=0.1)
        assert (found.policy.reshape(wanted.policy.shape) == wanted.policy).all()
        assert "error bound" not in found.message


def test_a_tolerance_that_is_too_large_is_named() -> None:
    small = bl.solve(dollars(2.5), tol=1e-10, method="shift", progress=False)
    assert small.success
    assert small.tol == 1e-10
    assert "so that choices may differ from those of the exact solution: lower tol." in small.message
    none = bl.solve(dollars(4.0), tol=1e-10, method="warm", progress=False)
    assert none.sweeps == 1
    assert re.search(r"bound, \d\.\de-13, is not below the spread of .* may differ .*: lower tol\.$", none.message)
    with pytest.raises(bl.ProblemError, match=r"^tol must be a number above 0, not -1$"):
        bl.solve(dollars(4.0), tol=-1, progress=False)


def test_an_accelerator_has_a_lowest_tolerance() -> None:
    found = bl.solve(dollars(2.5), device="emulator", progress=False)
    assert found.success
    assert found.tol == default_tol(dollars(2.5)) > LEAST_TOL
    small = bl.solve(dollars(8.0), device="emulator", progress=False)
    assert (small.success, small.status, small.tol) == (False, "too inexact", LEAST_TOL)
    assert "measure amounts in other units" in small.message


def test_rounded_amounts_are_no_success() -> None:
    grid = np.arange(1.0, 40.0)
    wealth = 1.03 * grid[:, None] + np.array([1.2, 0.8])
    given = bl.Problem(grid=grid, wealth=wealth, transition=CHAIN, start=np.zeros(wealth.shape), beta=0.95, eta=2.0)
    found = bl.solve(given, device="emulator", amount_bits=2, progress=False)
    assert (found.success, found.status, found.verified) == (False, "too inexact", True)
    assert np.abs(found.value - bl.solve(given, progress=False).value).max() <= found.error_bound
    assert bl.solve(given, device="emulator", progress=False).success


def test_a_single_state_with_hardly_any_consumption_does_not_hide_the_others() -> None:
    grid = np.linspace(0.0, 5.0, 60)
    wealth = 1.02 * grid[:, None] + np.array([1e-9, 1.0])
    given = bl.Problem(grid=grid, wealth=wealth, transition=CHAIN, start=np.zeros(wealth.shape), beta=0.95, eta=2.0)
    found = bl.solve(given, device="emulator", tol=1e-7, progress=False)
    assert (found.success, found.status) == (False, "too inexact")
    assert np.ptp(found.value) > 1e6 * found.error_bound
    assert bl.solve(given, progress=False).success


@pytest.mark.parametrize("general", [False, True])
def test_values_at_the_end_of_double_precision_are_no_success(general: bool) -> None:
    given = dollars(2.0, horizon=3, start=np.full((120, 2), -1e308))
    found = bl.solve(renamed(given) if general else given, device="cpu", progress=False)
    assert (found.success, found.status, found.error_bound) == (False, "not verified", np.inf)
    assert "The error has no finite bound: values are too large" in found.message


def test_equal_values_are_a_success() -> None:
    """Consumption is the same in all states, so that every value is."""
    same = bl.Problem(
        grid=np.array([0.0, 1.0]), wealth=np.ones((2, 2)), transition=CHAIN, start=np.zeros((2, 2)), beta=0.95, eta=2.0
    )  # fmt: skip
    found = bl.solve(same, progress=False)
    assert found.success
    assert np.ptp(found.value) < found.error_bound
    assert "error bound" not in found.message
    assert bl.solve(bl.from_discrete_dp([[1.0, 0.0]], np.ones((1, 2, 1)), 0.9), progress=False).success


def test_the_scale_is_that_of_utility() -> None:
    given = bl.rbc(grid=64, eta=3.0)
    amounts = given.wealth[0].min() - given.grid[0], given.wealth[-1].max() - given.grid[0]
    assert utility_scale(given) == pytest.approx(amounts[0] ** -2.0)
    assert utility_scale(replace(given, eta=0.5)) == pytest.approx(amounts[1] ** 0.5)
    assert utility_scale(replace(given, eta=1.0)) == 1.0
    assert utility_scale(renamed(given)) == pytest.approx(utility_scale(given))
    assert utility_scale(bl.from_discrete_dp([[3e-12, 1e-12]], np.ones((1, 2, 1)), 0.5)) == 3e-12
    moves = bl.from_discrete_dp([[3e-12], [1e-12]], np.full((2, 1, 2), 0.5), 0.5)
    assert utility_scale(moves) == pytest.approx(2e-12)
    assert default_tol(bl.from_discrete_dp([[3.0, 3.0]], np.ones((1, 2, 1)), 0.5)) == TOL
    both = [bl.Alternative(name="a"), bl.Alternative(name="b")]
    assert utility_scale(replace(dollars(4.0), alternatives=both, taste=1e-4)) == 1e-4
    values = np.where(np.arange(120) < 60, 0.0, 3.0)[:, None] + np.zeros(2)
    leave = replace(dollars(4.0), alternatives=[both[0], bl.Alternative(name="leave", value=values)])
    assert utility_scale(leave) == 3.0


def test_the_default_is_lowered_for_the_problem_only_if_none_is_given() -> None:
    assert SolveOptions().of(dollars(4.0)).tol == TOL
    assert options_with(1e-10).of(dollars(4.0)).tol == TOL
    lowered = options_with(None).of(dollars(4.0))
    assert (lowered.tol, lowered.of(dollars(4.0))) == (default_tol(dollars(4.0)), lowered)
    assert options_with(None).of(dollars(4.0), 1e-12).tol == 1e-12
    assert options_with(None).of(bl.rbc(grid=64)).tol == TOL


def test_a_default_that_rounding_exceeds_is_no_success() -> None:
    assert promised(options_with(None), 0.95) == 0.0
    assert promised(options_with(1e-10), 0.95) == pytest.approx(4e-9)
    assert promised(options_with(1e-10), 1.0) == 0.0


def test_batches_and_sessions_have_the_default_of_each_problem() -> None:
    problems = [thousands(4.0), dollars(4.0), thousands(4.0)]
    wanted = [default_tol(one) for one in problems]
    for device in ("auto", "cpu", "emulator"):
        least = LEAST_TOL if device == "emulator" else 0.0
        found = [one.result.tol for one in bl.solve_many(problems, device=device, progress=False) if one.result]
        assert found == [max(tol, least) for tol in wanted]
        with bl.open(device) as session:
            assert session.solve(problems[1]).tol == max(wanted[1], least)


def test_keys_of_a_store_depend_on_the_tolerance_of_the_problem() -> None:
    def key(problem: bl.Problem, tol: float | None) -> str:
        return Key(settings_of("cpu", {}, options_with(tol), False, None, None), problem).text

    assert key(thousands(4.0), None) == key(thousands(4.0), TOL)
    assert key(dollars(4.0), None) == key(dollars(4.0), default_tol(dollars(4.0))) != key(dollars(4.0), TOL)


VALUES = np.linspace(0.0, 1.0, 101)


@pytest.mark.parametrize(
    ("value", "bound", "outcome", "mentioned"),
    [
        (VALUES, 0.0009, Outcome.CONVERGED, False),
        (VALUES, 0.01, Outcome.CONVERGED, True),
        (VALUES, 0.089, Outcome.CONVERGED, True),
        (VALUES, 0.091, Outcome.INEXACT, True),
        (VALUES, math.inf, Outcome.NOT_VERIFIED, False),
        (VALUES, math.nan, Outcome.NOT_VERIFIED, False),
        # Without the five lowest values the spread is 0.9 as before.
        (np.append(VALUES[1:], -1e9), 0.091, Outcome.INEXACT, True),
        # In the middle of a table that falls and rises all values are alike.
        (np.abs(VALUES - 0.5), 0.0004, Outcome.CONVERGED, False),
        # Equal values, up to rounding.
        (np.full(100, 20.0), 0.9e-7, Outcome.CONVERGED, False),
        (np.full(100, 20.0), 2e-3, Outcome.CONVERGED, True),
        (np.full(100, 20.0), 0.021, Outcome.INEXACT, True),
        (np.zeros(100), 0.9e-7, Outcome.CONVERGED, False),
        (np.zeros(100), 1e-6, Outcome.INEXACT, True),
        (1e9 + VALUES, 2e5, Outcome.CONVERGED, True),
        (1e9 + VALUES, 0.5, Outcome.CONVERGED, True),
        (np.zeros(3), 0.0, Outcome.CONVERGED, False),
    ],
)
def test_a_bound_is_compared_with_spread_and_size(
    value: np.ndarray, bound: float, outcome: Outcome, mentioned: bool
) -> None:
    found, message = judged(Outcome.CONVERGED, "Done.", value, bound, "use other units", usual=lambda: 1.0)
    assert found is outcome
    assert ("The error bound, " in message) == mentioned
    assert message.endswith(": use other units.") == mentioned
    # A tolerance of the user's own that leads to this bound is mentioned, and is no reason for a failure.
    accepted, message = judged(Outcome.CONVERGED, "Done.", value, bound, "lower tol", bound, lambda: 1.0)
    assert (accepted is Outcome.CONVERGED) == math.isfinite(bound)
    assert message.endswith(": lower tol.") == mentioned
    assert judged(Outcome.LIMIT, "Not done.", value, bound) == (Outcome.LIMIT, "Not done.")


@pytest.mark.parametrize(
    ("rewards", "lead"),
    [
        ([[0.0, -1.0], [0.0, -2.0]], [[(1, 0), (0, 1)], [(0, 1), (1, 0)]]),
        ([[0.0]], [[[1.0]]]),
        ([[0.0, -1.0], [0.0, -2.0], [0.0, 0.0]], np.eye(3)[[[0, 1], [1, 2], [2, 2]]]),
    ],
)
def test_values_of_zero_are_a_success(rewards: Any, lead: Any) -> None:
    for tol in (None, 1e-14):
        found = bl.solve(bl.from_discrete_dp(rewards, lead, 0.95), tol=tol, progress=False)
        assert found.success
        assert not found.value.any()
        assert "error bound" not in found.message


def test_logarithms_of_one_are_a_success() -> None:
    same = bl.Problem(
        grid=np.linspace(0.0, 1.0, 5), wealth=np.ones((5, 1)), transition=np.eye(1), start=np.zeros((5, 1)), beta=0.9,
        eta=1.0,
    )  # fmt: skip
    found = bl.solve(same, progress=False)
    assert found.success
    assert "error bound" not in found.message


def test_a_constant_in_rewards_does_not_hide_that_choices_are_lost() -> None:
    rng = np.random.default_rng(2)
    chances = rng.dirichlet(np.ones(60), (60, 2))
    rewards = rng.normal(size=(60, 2)) * 1e-6
    for constant in (-1e6, 1e6):
        found = bl.solve(bl.from_discrete_dp(rewards + constant, chances, 0.9999), progress=False)
        assert found.error_bound > 1e3 * np.ptp(found.value)
        assert found.message.endswith(" exact solution: rounding errors of double precision allow no better.")
    assert "choices may differ" not in bl.solve(bl.from_discrete_dp(rewards, chances, 0.9999), progress=False).message


@pytest.mark.parametrize("poorest", [10.0, 100.0])
def test_the_default_is_lowered_until_it_suits_most_states(poorest: float) -> None:
    """The scale of utility is that of a state with little consumption, which is a billion times that of the others."""
    grid = np.linspace(0.0, 2e5, 60)
    wealth = 1.02 * grid[:, None] + np.array([poorest, 40_000.0])
    given = bl.Problem(grid=grid, wealth=wealth, transition=CHAIN, start=np.zeros(wealth.shape), beta=0.96, eta=5.0)
    work = bl.Alternative(name="work", wealth=wealth + 5000.0, kappa=-1e-20)
    for problem in (given, replace(given, alternatives=[bl.Alternative(name="go"), work])):
        found = bl.solve(problem, progress=False)
        assert found.success, found.message
        assert found.tol <= default_tol(problem)
        spread = float(np.diff(np.quantile(found.value, [0.05, 0.95]))[0])
        assert found.error_bound < 0.1 * spread
        assert "lower tol" not in found.message
        own = bl.solve(problem, tol=default_tol(problem), progress=False)
        assert own.tol == default_tol(problem)


def test_a_default_tolerance_fits_the_format_of_the_accelerator() -> None:
    grid = np.linspace(0.0, 5.0, 60)
    wealth = 1.02 * grid[:, None] + np.array([1e-9, 1.0])
    given = bl.Problem(grid=grid, wealth=wealth, transition=CHAIN, start=np.zeros(wealth.shape), beta=0.95, eta=2.0)
    found = bl.solve(given, device="emulator", progress=False)
    assert found.value_bits is not None
    assert found.tol == 4.0 * 2.0**-found.value_bits > TOL
    with pytest.raises(
        bl.ProblemError, match=r"^tol = 1e-10 is below 2\.98e-08, four units of a value with 27 fraction"
    ):
        bl.solve(given, tol=1e-10, device="emulator", progress=False)
