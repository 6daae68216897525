"""Hopenhayn and Rogerson's economy: against value iteration and a distribution in plain NumPy, and closed forms."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

import beltline as bl
from beltline.host.models.hopenhayn_rogerson.calibration import PRODUCING
from beltline.host.models.hopenhayn_rogerson.model import WIDTH, HopenhaynRogerson

Array = NDArray[np.float64]

POINTS, STATES = 40, 7
SMALL: dict[str, Any] = {"grid": POINTS, "states": STATES, "share": 0.6}


def solved(**parameters: Any) -> bl.FirmEconomy:
    found: bl.FirmEconomy = bl.solve(bl.hopenhayn_rogerson(**SMALL | parameters), tol=1e-10, progress=False)
    return found


@pytest.fixture(scope="module", params=["before", "after"])
def economy(request: pytest.FixtureRequest) -> bl.FirmEconomy:
    return solved(tau=0.2, exits=request.param)


class ByHand:
    """The economy by independent NumPy code that evaluates all choices of all states."""

    def __init__(self, exits: str) -> None:
        self.before = exits == "before"
        self.n = np.expm1(np.linspace(0, np.log1p(5000), POINTS))
        deviation, mean = math.sqrt(0.53), 0.078 / 0.07
        logs = np.linspace(-3 * deviation, 3 * deviation, STATES)
        edges = np.concatenate([[-np.inf], (logs[:-1] + logs[1:]) / 2, [np.inf]])
        self.chain = np.diff(norm.cdf((edges - 0.93 * logs[:, None]) / (deviation * math.sqrt(1 - 0.93**2))), axis=1)
        self.z = np.exp(mean + logs)
        # A share of 0.6 of 7 states is four states.
        self.entry = np.array([0.25] * 4 + [0.0] * 3)

    def firm(self, price: float, tau: float) -> tuple[Array, NDArray[np.intp], NDArray[np.bool_]]:
        """Return value and choice of a firm that produces, whether it exits, and whether not producing is better."""
        n, fire = self.n, tau * np.maximum(self.n[:, None] - self.n, 0.0)
        profit = price * self.z * n[:, None] ** 0.64 - n[:, None] - 12 * price
        value = np.zeros((POINTS, STATES))
        for _ in range(160):
            if self.before:
                stay = value @ self.chain.T
                following = np.maximum(stay, -tau * n[:, None])
            else:
                following = np.maximum(value, -tau * n[:, None]) @ self.chain.T
            each = (profit + 0.8 * following)[None] - fire[..., None]
            value = each.max(axis=1)
        chosen = each.argmax(axis=1)
        exits = (stay < -tau * n[:, None])[chosen, np.arange(STATES)] if self.before else value < -tau * n[:, None]
        return value, chosen, exits

    def worth(self, price: float, tau: float) -> float:
        """Return the value of entry, in units of the good."""
        return float(self.entry @ self.firm(price, tau)[0][0]) / price + 12

    def price(self, tau: float) -> float:
        cost, low, high = self.worth(1.0, 0.0), 1.0, 1.5
        while high - low > 1e-11:
            middle = (low + high) / 2
            low, high = (middle, high) if self.worth(middle, tau) < cost else (low, middle)
        return low

    def mass(self, chosen: NDArray[np.intp], exits: NDArray[np.bool_]) -> Array:
        found = np.zeros((POINTS, STATES))
        for _ in range(3000):
            moved = np.zeros_like(found)
            np.add.at(moved, (chosen, np.arange(STATES)), found * ~exits if self.before else found)
            found = moved @ self.chain
            if not self.before:
                found[exits] = 0.0
            found[0] += self.entry
        return found

    def aggregates(self, tau: float) -> dict[str, float]:
        """Return the distribution of firms for a mass of entrants of 1."""
        price = self.price(tau)
        _, chosen, exits = self.firm(price, tau)
        mass = self.mass(chosen, exits)
        now = self.n[chosen]
        consumed = (mass * self.z * now**0.64).sum() - 12 * (mass.sum() - 1) - self.worth(1.0, 0.0)
        return {
            "price": price, "employment": (mass * now).sum(), "consumption": consumed, "firms": mass.sum(),
            "hired": (mass * np.maximum(now - self.n[:, None], 0)).sum(),
        }  # fmt: skip


def test_it_is_value_iteration_in_plain_numpy(economy: bl.FirmEconomy) -> None:
    hand = ByHand(economy.model.exits)
    assert economy.success, economy.message
    assert economy.workers == pytest.approx(hand.n, rel=1e-13)
    assert economy.productivity == pytest.approx(hand.z, rel=1e-13)
    assert economy.model.chain[1] == pytest.approx(hand.chain, abs=1e-14)
    assert economy.model.entry.tolist() == hand.entry.tolist()
    assert economy.entry_cost == pytest.approx(hand.worth(1.0, 0.0), rel=1e-10)
    assert economy.price == pytest.approx(hand.price(0.2), abs=1e-9)
    value, chosen, exits = hand.firm(economy.price, 0.2)
    assert economy.value == pytest.approx(value, abs=1e-8)
    assert (economy.policy == chosen).all()
    assert (economy.exits == exits).all()
    assert 0.2 < exits.mean() < 0.9
    mass = hand.mass(chosen, exits)
    assert economy.distribution / economy.entrants == pytest.approx(mass, abs=1e-12)


def test_aggregates_are_those_by_hand(economy: bl.FirmEconomy) -> None:
    hand = ByHand(economy.model.exits)
    free, taxed = hand.aggregates(0.0), hand.aggregates(0.2)
    # Households of both economies consume 1 / (A p); with this A those of the first work 0.6.
    disutility = free["employment"] / free["consumption"] / 0.6
    entrants = 1 / (disutility * taxed["price"]) / taxed["consumption"]
    assert economy.disutility == pytest.approx(disutility, rel=1e-8)
    assert economy.entrants == pytest.approx(entrants, rel=1e-8)
    assert economy.employment == pytest.approx(entrants * taxed["employment"], rel=1e-8)
    assert economy.consumption == pytest.approx(entrants * taxed["consumption"], rel=1e-8)
    assert economy.firms == pytest.approx(entrants * taxed["firms"], rel=1e-8)
    assert economy.average_size == pytest.approx(taxed["employment"] / taxed["firms"], rel=1e-8)
    assert economy.exit_rate == pytest.approx(1 / taxed["firms"], rel=1e-8)
    assert economy.jobs_created == pytest.approx(taxed["hired"] / taxed["employment"], rel=1e-8)
    before = 0.6 / free["employment"] * free["consumption"]
    utility = math.log(economy.consumption) - disutility * economy.employment
    assert economy.utility == pytest.approx(utility, rel=1e-8)
    # Households without firing costs are as well off with this share of their consumption, at equal work.
    assert math.log(economy.welfare * before) - disutility * 0.6 == pytest.approx(utility, rel=1e-8)
    assert economy.welfare < 1.0


def test_markets_clear(economy: bl.FirmEconomy) -> None:
    assert economy.consumption * economy.disutility * economy.price == pytest.approx(1.0, rel=1e-12)
    assert abs(economy.entry_gap) < 1e-9
    assert abs(economy.labour_gap) < 1e-9
    assert economy.mass_moves < 1e-14
    assert economy.jobs_destroyed == pytest.approx(economy.jobs_created, rel=1e-12)
    assert economy.layoff_costs == 0.2 * economy.jobs_destroyed
    assert economy.distribution.sum() == pytest.approx(economy.firms, rel=1e-12)
    assert economy.at_top == 0.0


def test_what_does_not_clear_is_found(economy: bl.FirmEconomy) -> None:
    dear = replace(economy, price=1.001 * economy.price)
    assert (dear.success, dear.status) == (False, "market not solved")
    assert re.match(r"The value of entry is [\d.]+ at price 1\.0\d+, and its cost [\d.]+;", dear.message)
    # The policy is changed to hire one grid step too many, while the values stay.
    each = economy.solution.of_alternatives
    assert each is not None
    policy = each.policy.copy()
    policy[0] = np.minimum(policy[0] + 1, POINTS - 1)
    wrong = replace(economy, solution=replace(economy.solution, of_alternatives=each._replace(policy=policy)))
    assert abs(wrong.entry_gap) < 1e-9
    assert abs(wrong.labour_gap) > 1e-4
    assert not wrong.success
    assert wrong.message.startswith("The labour market does not clear at price 1.0")
    doubtful = replace(economy, solution=replace(economy.solution, error_bound=1e-3))
    assert doubtful.message.endswith("values may be off by 0.001: lower tol.")


def test_without_firing_costs_choices_are_static() -> None:
    economy = solved(tau=0.0)
    assert economy.success
    assert (economy.price, len(economy.steps)) == (1.0, 1)
    profit = economy.productivity * economy.workers[:, None] ** 0.64 - economy.workers[:, None]
    assert (economy.policy == profit.argmax(axis=0)).all()
    assert economy.employment == pytest.approx(0.6, rel=1e-12)
    assert economy.welfare == pytest.approx(1.0, rel=1e-12)
    assert economy.entry_gap == 0.0
    assert economy.layoff_costs == 0.0


def test_bands_are_those_of_marginal_products() -> None:
    # A firm that exits at the end of the period pays for all its workers then, and for those dismissed now.
    economy = solved(tau=0.2, grid=4000)
    productivity, last = economy.productivity, economy.exits.all(axis=0)
    assert last.sum() >= 3
    for s in np.flatnonzero(last)[1:]:
        wage = np.array([1 + 0.8 * 0.2, 1 + 0.8 * 0.2 - 0.2])
        wanted = (0.64 * economy.price * productivity[s] / wage) ** (1 / 0.36)
        step = np.diff(economy.workers)[np.searchsorted(economy.workers, wanted)]
        assert (np.abs(economy.bands[s] - wanted) <= 1.5 * step).all()
    # Firms outside the band of inaction move to its nearer end.
    for s, (low, high) in enumerate(economy.bands):
        assert low < high
        assert (economy.policy_values[economy.workers < low, s] == low).all()
        assert (economy.policy_values[economy.workers > high, s] == high).all()


@pytest.mark.parametrize(
    ("arguments", "price"),
    # The prices of table 3 in the published replication, and of the variance that the paper names.
    [
        ({"tau": 0.1, "exits": "after", "variance": 0.53 / 1.93, "width": 4.0}, 1.021),
        ({"tau": 0.2, "exits": "after", "variance": 0.53 / 1.93, "width": 4.0}, 1.040),
        ({"tau": 0.1}, 1.0203),
        ({"tau": 0.2}, 1.0376),
    ],
)
def test_prices_that_are_known(arguments: dict[str, Any], price: float) -> None:
    found = solved(grid=100, states=20, share=0.65, **arguments)
    assert found.success
    assert found.price == pytest.approx(price, abs=5e-4)


def test_productivity_ends_where_the_paper_has_it() -> None:
    # Table 4 has 27.3; four standard deviations go to 56, where 5,000 workers are too few.
    assert bl.hopenhayn_rogerson().chain[0][-1] == pytest.approx(27.07, abs=0.01)
    wide = bl.hopenhayn_rogerson(**SMALL, width=4.0)
    assert wide.chain[0][-1] == pytest.approx(56.05, abs=0.01)
    assert bl.solve(wide, progress=False).status == "grid ends too early"


@pytest.mark.parametrize("spacing", ["log", "uniform"])
def test_grids_begin_with_no_workers(spacing: str) -> None:
    model = bl.hopenhayn_rogerson(grid=11, high=100.0, spacing=spacing)
    assert (model.workers[0], model.workers[-1]) == (0.0, 100.0)
    steps = np.diff(model.workers if spacing == "uniform" else np.log1p(model.workers))
    assert steps == pytest.approx(steps[0], rel=1e-10)


def test_economies_that_are_not_solved() -> None:
    wanted = {
        "firm not solved": bl.solve(bl.hopenhayn_rogerson(**SMALL), max_sweeps=2, progress=False),
        "distribution not solved": solved(fixed_cost=0.0),
        "market not solved": solved(grid=2),
        "grid ends too early": solved(high=300.0),
    }
    for status, found in wanted.items():
        assert (found.success, found.status) == (False, status)
        assert found.message in " ".join(str(found).split())
    assert wanted["firm not solved"].message.startswith(
        "The problem of a firm is not solved without firing costs, which"
    )
    assert wanted["distribution not solved"].message.endswith("some firms never exit, so raise fixed_cost or variance.")
    assert math.isnan(wanted["distribution not solved"].employment)
    assert wanted["market not solved"].message.startswith("No firm employs anybody without firing costs")
    assert re.match(r"[\d.]+% of employment is in firms that choose the most", wanted["grid ends too early"].message)
    loose = bl.solve(bl.hopenhayn_rogerson(**SMALL), tol=100.0, progress=False)
    assert (loose.success, loose.status) == (False, "market not solved")
    assert re.match(
        r"The value of entry without firing costs, which determines the cost of entry, is known only within \d\.\d+",
        loose.message,
    )
    # With firing costs as high as these no firm ever dismisses anybody, so some never exit.
    high = solved(tau=1e6)
    assert (high.success, high.status) == (False, "distribution not solved")
    assert high.message.endswith("some firms never exit, so raise fixed_cost or variance, or lower tau.")


def test_a_step_that_is_not_solved_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def short(problem: bl.Problem, **options: Any) -> bl.Result:
        limit = {"max_sweeps": 2} if problem.parameters["tau"] else {}
        found: bl.Result = bl.solve(problem, **options | limit)  # type: ignore[assignment]
        return found

    monkeypatch.setattr("beltline.host.models.hopenhayn_rogerson.model.solve", short)
    found = solved(tau=0.4)
    assert [step.tau for step in found.steps] == [0.0, 0.4]
    assert (found.success, found.status) == (False, "firm not solved")
    assert found.message.startswith("The problem of a firm is not solved at price 1.05: After 2 sweeps")


def test_dear_dismissals_need_a_wider_search() -> None:
    found = solved(tau=1.0)
    assert found.success
    # The price is outside the first interval that is tried.
    assert found.price > 1.0 + WIDTH


def test_report(economy: bl.FirmEconomy) -> None:
    lines = str(economy).splitlines()
    assert lines[0] == "Hopenhayn and Rogerson's economy, tau = 0.2, 40 grid points x 7 states, on device cpu"
    assert lines[1].startswith(
        f"  status        solved: The value of entry equals its cost at price {economy.price:.6f}, found "
    )
    rows = {line[:14].strip(): line[16:] for line in lines[1:]}
    assert rows["price"].startswith(f"{economy.price:.6f} in units of the wage")
    assert f"turnover {economy.jobs_created:.2%} of employment" in rows["jobs"]
    assert rows["firms"].endswith(f"decided on {economy.model.exits} the shock")
    assert f"{economy.labour_gap:+.1e}" in rows["labour"]


def test_a_file_with_another_timing_of_exit_is_refused(economy: bl.FirmEconomy, tmp_path: Path) -> None:
    turned = "after" if economy.model.exits == "before" else "before"
    path = replace(economy, model=replace(economy.model, exits=turned)).save(tmp_path / "turned.npz")
    with pytest.raises(bl.ProblemError, match="its solution does not fit its model"):
        bl.load(path)


@pytest.mark.parametrize("kind", ["regions", "policy", "distribution"])
def test_figures(economy: bl.FirmEconomy, kind: str) -> None:
    figure = economy.plot(kind=kind)
    assert "tau = 0.2" in figure.get_suptitle()
    (axes,) = figure.axes
    if kind == "distribution":
        last = {line.get_label(): line.get_ydata()[-1] for line in axes.lines}
        assert last == pytest.approx({"firms": 1.0, "employment": 1.0})
    if kind == "regions":
        names = [text.get_text() for text in figure.legends[0].get_texts()]
        assert names[:3] == ["hire", "no change", "fire"]
        drawn = np.asarray(axes.collections[0].get_array()).reshape(STATES, POINTS).T
        unchanged = economy.policy == np.arange(POINTS)[:, None]
        wanted = unchanged & ~economy.exits
        assert ((drawn == 1) == wanted).all()


def test_progress_names_the_price() -> None:
    reported: list[str] = []
    bl.solve(bl.hopenhayn_rogerson(**SMALL), progress=reported.append)
    assert reported[0].startswith("step 1, price 1.000000: ")
    assert any(line.startswith("step 2, price 1.050000: sweep ") for line in reported)


def test_a_problem_is_of_the_general_form() -> None:
    model = bl.hopenhayn_rogerson(**SMALL)
    assert isinstance(model, HopenhaynRogerson)
    result = bl.solve(model.problem(1.02), tol=1e-9, progress=False)
    assert result.success
    assert result.alternatives == (*PRODUCING["before"], "exit")
    assert result.regimes == ("active", "closed")
    assert result.searched == 0
    # Firing costs at exit are paid in the next period.
    assert (result.value[1] == -0.1 * model.workers[:, None]).all()
