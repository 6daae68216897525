"""Figures in notebooks, and the names of exogenous states in legends."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import beltline as bl
from beltline.host.plots.figures import KINDS, OF_AGES
from support.fakes import problem

mpl.use("agg")

from matplotlib import pyplot


@pytest.fixture(scope="module")
def rbc() -> bl.Result:
    return bl.solve(bl.rbc(grid=256), tol=1e-4, device="cpu", progress=False)


@pytest.fixture(scope="module")
def solutions(rbc: bl.Result) -> dict[str, Any]:
    return {
        "result": rbc,
        "ages": bl.solve(bl.life_cycle(grid=60, states=3, ages=4), device="cpu", progress=False),
        "economy": bl.solve(bl.aiyagari(grid=60, states=3), tol=1e-3, device="cpu", progress=False),
        "default": bl.solve(bl.arellano(bonds=41, incomes=7), tol=1e-3, progress=False),
        "retirement": bl.solve(bl.retirement(grid=60, ages=4), progress=False),
        "investment": bl.solve(bl.lumpy_investment(steps=2, states=3), progress=False),
        "firms": bl.solve(bl.hopenhayn_rogerson(grid=40, states=7), progress=False),
        "equilibrium": bl.solve(
            bl.krusell_smith(points=30), agents=100, periods=60, discard=10, max_iterations=1, progress=False
        ),
    }


def test_every_solution_has_a_status_and_a_figure_that_a_notebook_shows_once(solutions: dict[str, Any]) -> None:
    pyplot.close("all")
    for name, solution in solutions.items():
        assert isinstance(solution.status, str), name
        assert solution.status
        assert isinstance(solution.success, bool)
        figure = solution.plot()
        # The figure is displayed only as the value of a cell: pyplot would display figures of its own a second time.
        assert figure._repr_png_().startswith(b"\x89PNG"), name
        assert pyplot.get_fignums() == [], name
        assert pickle.loads(pickle.dumps(figure))._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in (*OF_AGES, "regions")])
def test_no_kind_of_figure_is_left_open(kind: str, rbc: bl.Result) -> None:
    pyplot.close("all")
    assert len(rbc.plot(kind=kind).axes) > 0
    assert pyplot.get_fignums() == []


def names(figure: Any) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_legends_have_the_values_of_shocks(rbc: bl.Result) -> None:
    plain = replace(rbc, problem=replace(rbc.problem, labels=()))
    wanted = [f"z = {z:.4g}" for z in rbc.problem.shock_values]  # type: ignore[union-attr]
    for kind in ("policy", "euler", "distribution"):
        assert [name for name in names(plain.plot(kind=kind)) if name.startswith("z = ")] == wanted
    assert f"change from {wanted[1]} to {wanted[2]} of RBC" in bl.impulse_response(plain, 1).title


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"labels": ("low", "high"), "shock_values": (1, 2)}, ("low", "high")),
        ({"shock_values": (0.5, 1.25), "shock": "labour l"}, ("l = 0.5", "l = 1.25")),
        ({"shock_values": (0.5, 1.25), "shock": "income"}, ("income = 0.5", "income = 1.25")),
        ({"shock_values": (1.00001, 1.00002)}, ("s = 1.00001", "s = 1.00002")),
        ({"shock_values": (1.0, 1.0)}, ("s = 1", "s = 1")),
        ({"shock_values": (0.1, np.nextafter(0.1, 1))}, ("s = 0.10000000000000001", "s = 0.10000000000000002")),
        ({}, ("state 0", "state 1")),
    ],
)
def test_names_of_states(facts: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert problem(16, 2, **facts).state_names == expected


@pytest.mark.parametrize("regimes", [1, 12])
def test_figures_of_many_alternatives_and_regimes_keep_their_size(regimes: int) -> None:
    pytest.importorskip("matplotlib")
    grid = np.linspace(0.0, 5.0, 8)
    alternatives = [bl.Alternative(name=f"a{n}", regime=f"r{n % regimes}", kappa=0.01 * n) for n in range(60)]
    problem = bl.Problem(
        grid=grid, wealth=1.0 + grid[:, None], transition=np.eye(1), start=np.zeros((8, 1)), beta=0.5, eta=2.0,
        alternatives=alternatives,
    )  # fmt: skip
    result = bl.solve(problem, device="cpu")
    for kind in ("regions", "policy"):
        figure = result.plot(kind=kind)
        assert figure.get_figheight() <= 27.0
        named = [text.get_text() for text in figure.legends[0].get_texts()]
        assert len(named) <= 21
        assert "and 42 more" in named or regimes > 1
        assert ("the first 8 of 12 regimes" in figure.get_suptitle()) == (regimes > 1)
    named = [text.get_text() for text in result.plot().legends[0].get_texts()]
    # The choices that are taken are among them: the best of each regime.
    assert {f"a{60 - 1 - n}" for n in range(min(regimes, 8))} <= set(named)
