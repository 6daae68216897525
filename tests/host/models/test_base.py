"""Models of a user's own, and models by name."""

from __future__ import annotations

import re
import runpy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.models.catalogue import MODELS, made, parameters
from support.paths import ROOT


@dataclass(frozen=True)
class Growth(bl.Model):
    """A user's own model, in twenty lines: growth with log utility and full depreciation, which has a closed form."""

    grid: int = 2000
    beta: float = 0.9
    alpha: float = 0.3

    def problem(self) -> bl.Problem:
        log_z, transition = bl.rouwenhorst(3, rho=0.8, sigma=0.1)
        capital = bl.grid_uniform(0.05, 0.4, self.grid)
        wealth = np.exp(log_z) * capital[:, None] ** self.alpha
        return bl.Problem(
            grid=capital, wealth=wealth, transition=transition, start=0 * wealth, beta=self.beta, eta=1.0,
            name="growth", asset="capital k", shock="productivity z", shock_values=np.exp(log_z),
        )  # fmt: skip

    def variables(self, result: bl.Result) -> dict[str, Any]:
        found = super().variables(result)
        return found | {"share saved": found["next_capital"] / result.problem.wealth}


def test_a_users_own_model_is_solved_as_any_problem() -> None:
    model = Growth()
    result = bl.solve(model, tol=1e-8, device="cpu", progress=False)
    assert isinstance(result, bl.Result)
    assert result.success
    assert (result.value == bl.solve(model.problem(), tol=1e-8, device="cpu", progress=False).value).all()
    found = model.variables(result)
    assert list(found) == ["consumption", "capital", "productivity", "next_capital", "share saved"]
    # At any capital and productivity the share alpha beta is saved (Brock and Mirman 1972), to within a grid step.
    wanted = model.alpha * model.beta * result.problem.wealth
    assert np.abs(found["next_capital"] - wanted).max() <= 0.35 / 1999
    with bl.open("emulator") as device:
        small = Growth(grid=100)
        on_machine = bl.solve(small, tol=1e-8, device=device, progress=False)
    assert (on_machine.policy == bl.solve(small, tol=1e-8, device="cpu", progress=False).policy).all()


def test_hours_and_taxes_fit_into_wealth() -> None:
    labour = runpy.run_path(str(ROOT / "examples" / "labour.py"))["Labour"]
    model = labour(grid=60, states=3, tax=0.3)
    result = bl.solve(model, tol=1e-6, device="cpu", progress=False)
    found = model.variables(result)
    assert {name: table.shape for name, table in found.items()} == dict.fromkeys(found, (60, 3))
    earned = found["wage"] * found["hours"]
    # Income from work and assets is consumed, saved or paid as tax.
    spent = found["consumption"] + found["next_assets"] + found["tax"]
    assert spent == pytest.approx((1 + model.interest) * found["assets"] + earned, rel=1e-12)
    # Hours equate the wage after tax to the marginal disutility of work.
    assert found["hours"] ** (1 / model.frisch) == pytest.approx((1 - model.tax) * found["wage"], rel=1e-12)


def test_variables_of_ages_have_their_shape() -> None:
    given = bl.rbc(grid=40, states=2)
    life = bl.Problem(
        grid=given.grid, wealth=given.wealth, transition=given.transition, start=given.start, beta=0.9, eta=2.0,
        horizon=3, output=given.output, asset="capital k", shock="productivity z", shock_values=given.shock_values,
    )  # fmt: skip
    result = bl.solve(life, device="cpu", progress=False)
    found = result.variables()
    assert list(found) == ["output", "consumption", "investment", "capital", "productivity", "next_capital"]
    assert {table.shape for table in found.values()} == {(3, 40, 2)}
    left = given.wealth - found["consumption"]
    assert found["next_capital"] == pytest.approx(left, rel=1e-12)


def test_every_named_model_is_made_with_its_defaults() -> None:
    assert next(iter(MODELS)) == "rbc"
    for name, entry in MODELS.items():
        size = next(iter(entry.parameters))
        assert size in ("grid", "bonds", "steps")
        model = made(name, {size: 51})
        problem = model.problem() if isinstance(model, bl.Model) else model
        assert problem.points == 51 or (size == "steps" and problem.points > 51)
        for parameter in entry.parameters:
            assert isinstance(entry.default(parameter), int | float | str)
            assert parameter in parameters()


@pytest.mark.parametrize(
    ("name", "given", "sentence"),
    [
        ("huggett", {}, f"model must be one of {', '.join(map(repr, MODELS))}, not 'huggett'"),
        (
            "rbc",
            {"ages": 3},
            "model 'rbc' has no parameter --ages: it takes --grid, --states, --beta, --eta, --alpha, --delta, "
            "--rho, --sigma",
        ),
        ("rbc", {"beta": 2.0}, "beta must be a number above 0 and below 1, not 2.0"),
    ],
)
def test_refusals(name: str, given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(bl.ProblemError, match=f"^{re.escape(sentence)}$"):
        made(name, given)
