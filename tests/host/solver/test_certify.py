"""The public certificate: values from anywhere, all shapes, and sentences about wrong arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beltline as bl


def savings(**more: Any) -> bl.Problem:
    grid = np.linspace(0.0, 8.0, 60)
    income = np.array([0.7, 1.3])
    tables: dict[str, Any] = {
        "grid": grid,
        "wealth": 1.03 * grid[:, None] + income,
        "transition": np.array([[0.8, 0.2], [0.2, 0.8]]),
        "beta": 0.94,
        "eta": 2.0,
        "start": np.zeros((60, 2)),
    }
    return bl.Problem(**(tables | more))


STOP = (
    bl.Alternative(name="go", regime="on", leads_to="on"),
    bl.Alternative(name="stop", regime="on", value=np.full((60, 2), -14.0)),
)


def test_a_value_of_an_egm_solution_of_ones_own() -> None:
    problem = savings()
    grid, income = problem.grid, problem.wealth[0]
    value = np.zeros((60, 2))
    cash = problem.wealth
    consumption = cash.copy()
    for _ in range(400):
        marginal = 1.03 * 0.94 * (consumption**-2.0) @ problem.transition.T
        endogenous = grid[:, None] + marginal**-0.5
        consumption = np.stack([np.interp(cash[:, s], endogenous[:, s], marginal[:, s] ** -0.5) for s in range(2)], 1)
        consumption = np.where(cash < endogenous[0], cash - grid[0], consumption)
    assert income.shape == (2,)
    policy = np.abs((cash - consumption)[:, :, None] - grid).argmin(axis=2)
    policy = np.where(cash - grid[policy] > 0.0, policy, policy - 1)
    rows = np.arange(2)
    for _ in range(1_000):
        value = -1.0 / (cash - grid[policy]) + 0.94 * (value @ problem.transition.T)[policy, rows]
    certificate = bl.certify(problem, value, policy)
    solved = bl.solve(problem, tol=1e-12)
    assert (np.abs(value - solved.value) <= certificate.error_bound_by_state + solved.error_bound).all()
    assert certificate.error_bound == certificate.error_bound_by_state.max()
    assert certificate.residual == certificate.residual_by_state.max()
    assert certificate.only_best + certificate.tied + certificate.improvable == 120
    assert bl.certify(problem, solved.value, solved.policy).success
    assert bl.certify(problem, solved.value).only_best > 110
    assert (bl.certify(problem, solved.value).policy == solved.policy).mean() > 0.99


def test_a_worse_choice_is_found_with_the_better_one() -> None:
    problem = savings()
    solved = bl.solve(problem)
    policy = solved.policy.copy()
    policy[40, 1] -= 3
    certificate = bl.certify(problem, solved.value, policy)
    assert not certificate.success
    assert np.argwhere(certificate.status == certificate.IMPROVABLE).tolist() == [[40, 1]]
    assert certificate.policy[40, 1] == solved.policy[40, 1]
    lost = solved.value[40, 1] - (
        -1.0 / (problem.wealth[40, 1] - problem.grid[policy[40, 1]])
        + 0.94 * (solved.value @ problem.transition.T)[policy[40, 1], 1]
    )
    assert certificate.loss[40, 1] == pytest.approx(lost, rel=1e-6)
    text = str(certificate)
    assert "1 are proven not to be the best; the worst loses" in text
    assert "in grid point 40, state 1" in text


def test_the_report_of_a_certificate() -> None:
    problem = savings(name="Savings")
    text = str(bl.certify(problem, np.zeros((60, 2))))
    assert text.splitlines()[0] == "Certificate of a value of Savings"
    assert [line.split("  ")[1] for line in text.splitlines()[1:]][:3] == ["residual", "error bound", "only best"]
    assert "<table>" in bl.certify(problem, np.zeros((60, 2)))._repr_html_()


def test_alternatives_and_taste_shocks() -> None:
    problem = savings(alternatives=STOP)
    solved = bl.solve(problem)
    certificate = bl.certify(problem, solved.value, solved.policy, solved.alternative)
    assert certificate.success
    assert certificate.alternative is not None
    assert certificate.policy.shape == certificate.alternative.shape == certificate.status.shape == (60, 2)
    assert set(certificate.alternative.ravel()) == {0, 1}
    assert (certificate.policy[certificate.alternative == 1] == -1).all()
    each = solved.tables
    axes = bl.certify(problem, each.value, each.policy, each.choice)
    assert axes.success
    assert axes.status.shape == axes.error_bound_by_state.shape == (1, 60, 2)
    assert solved.alternative is not None
    other = bl.certify(problem, solved.value, each.policy, 1 - solved.alternative)
    assert other.improvable > 100
    shocks = savings(alternatives=STOP, taste=0.2)
    each = bl.solve(shocks).tables
    certificate = bl.certify(shocks, each.value, each.policy)
    assert certificate.success
    assert certificate.alternative is None
    assert certificate.status.shape == (2, 60, 2)


def test_alternatives_chosen_with_their_best_choices() -> None:
    """Without a policy, the best choices of the given alternatives are judged."""
    problem = savings(alternatives=STOP)
    solved = bl.solve(problem)
    assert solved.alternative is not None
    assert bl.certify(problem, solved.value, alternative=solved.alternative).success
    assert bl.certify(problem, solved.value, alternative=1 - solved.alternative).improvable > 100


def test_a_horizon_and_ages() -> None:
    problem = savings(horizon=5)
    solved = bl.solve(problem)
    certificate = bl.certify(problem, solved.value, solved.policy)
    assert certificate.success
    assert certificate.only_best > 590
    assert certificate.error_bound <= 1e-13
    # An error of one age spreads to the ages before it only, discounted.
    value = solved.value.copy()
    value[2] += 1e-3
    bound = bl.certify(problem, value).error_bound_by_state.max(axis=(1, 2))
    np.testing.assert_allclose(bound[[0, 1, 2]], [1e-3 * 0.94 * (0.94 + 0.94), 1.88e-3, 1e-3], rtol=0.5)
    assert bound[3:].max() < 1e-13


def test_discrete_problems() -> None:
    problem = bl.from_discrete_dp([[1.0], [-1e20]], np.eye(2)[:, None, :], 0.9)
    certificate = bl.certify(problem, [10.0, -1e21])
    assert certificate.error_bound_by_state[0] < 1e-13
    assert "state 1" in str(certificate)
    problem = bl.from_discrete_dp([[5, 10], [-1, 2]], [[(0.5, 0.5), (0, 1)], [(0, 1), (0.5, 0.5)]], 0.95)
    solved = bl.solve(problem)
    assert bl.certify(problem, solved.value, solved.policy).only_best == 2
    certificate = bl.certify(problem, solved.value, 1 - solved.policy)
    assert certificate.improvable == 2
    assert (certificate.policy == solved.policy).all()
    # A state without an action has none in the certificate, although numbers of actions are unsigned.
    problem = bl.from_discrete_dp([[1.0, 2.0], [-np.inf, -np.inf]], np.eye(2)[:, None].repeat(2, 1), 0.9)
    assert bl.certify(problem, bl.solve(problem).value).policy.tolist() == [1, -1]


def test_errors_of_ages_of_a_discrete_problem_add_up() -> None:
    problem = bl.from_discrete_dp([[5, 10], [-1, 2]], [[(0.5, 0.5), (0, 1)], [(0, 1), (0.5, 0.5)]], 0.9, horizon=4)
    solved = bl.solve(problem)
    assert bl.certify(problem, solved.value, solved.policy).only_best == 8
    # The value of the third age is too low by .01, so those before it are too high, discounted.
    value = solved.value - np.array([0.0, 0.0, 0.01, 0.0])[:, None]
    bound = bl.certify(problem, value, solved.policy).error_bound_by_state
    np.testing.assert_allclose(bound, np.array([0.0162, 0.018, 0.01, 0.0])[:, None] + np.zeros(2), atol=1e-14)
    worse = solved.policy.copy()
    worse[1, 0] = 1 - worse[1, 0]
    certificate = bl.certify(problem, solved.value, worse)
    assert certificate.improvable == 1
    assert "in state 0, age 2" in str(certificate)


def test_discrete_problems_without_discounting() -> None:
    """State 1 is an end. State 0 goes there, pays 1 to try, or stays for ever, which is no policy."""
    R, Q = [[-3, -1, 0], [0, 0, 0]], np.zeros((2, 3, 2))
    Q[0], Q[1] = [[0, 1], [0.5, 0.5], [1, 0]], [0, 1]
    R[0][2] = -1
    problem = bl.from_discrete_dp(R, Q, 1)
    certificate = bl.certify(problem, [-2.0, 0.0], [1, 0])
    assert certificate.success
    assert certificate.error_bound < 1e-14
    assert bl.certify(problem, [-2.5, 0.0]).error_bound == pytest.approx(0.5, rel=0.02)
    assert bl.certify(problem, [-2.0, 0.0], [0, 0]).improvable == 1
    with pytest.raises(
        bl.ProblemError, match="policy never reaches an end from state 0, so it has no value with beta ="
    ):
        bl.certify(problem, [-2.0, 0.0], [2, 0])
    # Given -4.02 paying 4 is the best, and yet trying for .99 is, which takes four periods.
    problem = bl.from_discrete_dp([[-4, -0.99], [0, 0]], [[(0, 1), (0.75, 0.25)], [(0, 1), (0, 1)]], 1)
    certificate = bl.certify(problem, [-4.02, 0.0])
    assert certificate.policy[0] == 0
    assert 0.06 <= certificate.error_bound < 0.1


RESULTS: dict[str, Callable[[], bl.Result]] = {
    "simple": lambda: bl.solve(bl.rbc(grid=32), progress=False),
    "alternatives": lambda: bl.solve(savings(alternatives=STOP), progress=False),
    "taste": lambda: bl.solve(savings(alternatives=STOP, taste=0.1), progress=False),
    "horizon": lambda: bl.solve(savings(horizon=4), progress=False),
    "alternatives by age": lambda: bl.solve(savings(alternatives=STOP, horizon=4), progress=False),
    "discrete": lambda: bl.solve(
        bl.from_discrete_dp([[5.0, 10.0], [-1.0, -np.inf]], [[(0.5, 0.5), (0.0, 1.0)], [(0.0, 1.0), (0.5, 0.5)]], 0.95)
    ),
}


@pytest.mark.parametrize("kind", RESULTS)
def test_a_loaded_result_is_checked_again(kind: str, tmp_path: Path) -> None:
    solved = RESULTS[kind]()
    loaded = bl.load(solved.save(tmp_path / "a.npz"))
    again = loaded.verify()
    assert again.success
    assert again.status == solved.status
    assert again.message == "The value and the choices were checked again."
    assert again.error_bound < 1e-6
    # The file was changed, and its checksum computed again.
    value = loaded.value + np.where(loaded.value == loaded.value.max(), 0.7 * np.ptp(loaded.value), 0.0)
    off = replace(loaded, value=value).verify()
    assert not off.success
    assert off.residual > 0.1 * np.ptp(loaded.value)
    assert off.error_bound >= np.abs(value - solved.value).max()


@pytest.mark.parametrize("horizon", [None, 4])
def test_one_pass_certifies_a_simple_result(horizon: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    solved = bl.solve(replace(bl.rbc(grid=200), horizon=horizon), progress=False)
    by_state = bl.certify(solved.problem, solved.value)
    with monkeypatch.context() as patch:
        searched = "beltline.gpu_ref.general.certificate.certify_form"
        patch.setattr(searched, lambda *_: pytest.fail("every state is searched"))
        again, found = solved.verify(), bl.certify(solved.problem, solved.value, solved.policy)
        assert again.success
        assert (again.residual, again.error_bound) == (solved.residual, solved.error_bound)
        assert (found.success, found.improvable, found.error_bound) == (True, 0, solved.error_bound)
    assert (found.status == by_state.status).all()
    assert (found.policy == by_state.policy).all()
    assert found.only_best + found.tied == solved.policy.size
    assert found.error_bound_by_state.max() <= found.error_bound <= 3.0 * by_state.error_bound


def test_a_choice_that_is_not_the_best() -> None:
    solved = RESULTS["simple"]()
    policy = solved.policy.copy()
    policy[20, 1] -= 3
    off = replace(solved, policy=policy).verify()
    assert (off.success, off.status) == (False, "not verified")
    assert off.message.startswith("The check found 1 choices that are not the best; the worst loses ")
    failed = bl.solve(bl.rbc(grid=32), max_sweeps=1, device="cpu", progress=False)
    assert (failed.verify().success, failed.verify().message) == (False, failed.message)
