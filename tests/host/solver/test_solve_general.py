"""Problems of the general form in the public API: solve, report, plot and save."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import beltline as bl
from beltline.gpu_ref.cuda import general
from beltline.gpu_ref.general.solution import Iterate, Prices
from beltline.gpu_ref.general.solve import solve
from support.compared import check

Array = NDArray[np.float64]

POINTS, AGES, WAGE = 30, 6, 20.0
GRID = np.linspace(0, 30, POINTS)


def retirement(**more: Any) -> bl.Problem:
    """Return the choice to work or retire permanently, as in Iskhakov, Jorgensen, Rust and Schjerning (2017)."""
    wealth = 0.5 + GRID[:, None]
    return bl.Problem(
        grid=GRID,
        wealth=wealth,
        transition=np.eye(1),
        start=np.zeros((POINTS, 1)),
        beta=0.98,
        eta=1.0,
        horizon=AGES,
        alternatives=[
            bl.Alternative(name="work", regime="worker", wealth=wealth + WAGE, kappa=-1.0),
            bl.Alternative(name="retire", regime="worker", leads_to="retired"),
            bl.Alternative(name="rest", regime="retired"),
        ],
        name="retirement",
        asset="assets a",
        **more,
    )


@pytest.mark.parametrize("taste", [0.0, 0.05])
def test_retirement(taste: float) -> None:
    result = bl.solve(retirement(taste=taste))
    assert result.success
    check(result.problem, result)
    assert result.error_bound < 1e-10
    chance = result.tables.probabilities[:, :2].sum(axis=1)
    np.testing.assert_allclose(chance, 1.0, atol=1e-12)
    assert ((result.tables.probabilities > 0) & (result.tables.probabilities < 1)).any() == bool(taste)
    retires = result.taken("retire")[..., 0]
    assert retires[-1].any()
    assert not retires[0].all()
    with pytest.raises(ValueError, match="^alternative must be one of 'work', 'retire', 'rest', not 'nap'$"):
        result.taken("nap")


def arellano(bonds: int = 41, incomes: int = 7) -> tuple[bl.Problem, Any]:
    """Return a small problem of sovereign default at given bond prices, and the function that updates prices."""
    r, theta = 0.017, 0.282
    log_y = np.linspace(-0.15, 0.15, incomes)
    distance = np.abs(log_y[:, None] * 0.945 - log_y[None, :])
    chain = np.exp(-0.5 * (distance / 0.03) ** 2)
    chain /= chain.sum(axis=1, keepdims=True)
    chain /= chain.sum(axis=1, keepdims=True)
    y = np.exp(log_y)
    grid = np.linspace(-0.45, 0.45, bonds)
    zero = int(np.argmin(np.abs(grid)))
    poor = np.minimum(y, 0.969)
    problem = bl.Problem(
        grid=grid,
        wealth=y[None, :] + grid[:, None],
        transition=chain,
        start=np.zeros((bonds, incomes)),
        beta=0.953,
        eta=2.0,
        cost=np.repeat(grid[:, None] / (1 + r), incomes, axis=1),
        alternatives=[
            bl.Alternative(name="repay", regime="good"),
            *(
                bl.Alternative(
                    name=name,
                    regime=regime,
                    leads_to={"good": theta, "excluded": 1 - theta},
                    wealth=np.repeat(poor[None, :], bonds, axis=0),
                    cost=np.zeros((bonds, incomes)),
                    choice=zero,
                )
                for name, regime in (("default", "good"), ("stay out", "excluded"))
            ),
        ],
        name="default",
        asset="bonds B",
    )

    def prices(last: Iterate) -> Prices:
        defaults = last.choice[0] == 1
        q = (1 - defaults @ chain.T) / (1 + r)
        return Prices({"repay": {"cost": q * grid[:, None]}}, q)

    return problem, prices


def test_default_with_prices_that_move(tmp_path: Path) -> None:
    problem, prices = arellano()
    result = bl.solve(problem, tol=1e-8, update=prices)
    assert result.success
    assert result.price_change < 1e-8
    assert result.prices is not None
    assert 0 < result.taken("default").mean() < 1
    # A country with more debt defaults in more states, and its bonds have a lower price.
    assert (np.diff(result.taken("default").astype(int), axis=0) <= 0).all()
    assert (np.diff(result.prices, axis=0) >= 0).all()
    text = str(result)
    assert "the error bound is for the prices of the last sweep" in " ".join(text.split())
    assert re.search(r"repay in [\d.]+%, default in [\d.]+%, stay out in 100.0% of the states", text)
    saved = bl.load(result.save(tmp_path / "default.npz"))
    for name in ("value", "values", "policy", "choice", "probabilities", "prices"):
        np.testing.assert_array_equal(getattr(saved, name), getattr(result, name))
    assert saved.problem.regimes == ("good", "excluded")
    assert str(saved) == text


@pytest.fixture
def spoilt(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make the solver return a result with one wrong entry: ``spoilt(name, index, change)``."""
    module = sys.modules["beltline.gpu_ref.general.solve"]
    solve = module.solve  # type: ignore[attr-defined]

    def spoil(name: str, at: tuple[int, ...], change: float) -> None:
        def wrong(*arguments: Any, **more: Any) -> Any:
            found = solve(*arguments, **more)
            getattr(found, name)[at] += change
            return found

        monkeypatch.setattr(module, "solve", wrong)

    return spoil


@pytest.mark.parametrize(
    ("name", "at", "change", "what"),
    [
        ("values", (2, 0, 5, 0), -0.25, "the value of alternative 'work' wrong by 0.25"),
        ("policy", (2, 0, 5, 0), 2, "a choice of alternative 'work' better by "),
        ("policy", (2, 0, 5, 0), 24, "a choice of alternative 'work' better without bound"),
        ("value", (0, 1, 5, 0), 0.5, "the value, which is that of alternative 'rest', wrong by 0.5"),
        ("choice", (2, 0, 5, 0), 1, "alternative 'work' better than the one that was chosen by "),
        ("probabilities", (2, 2, 5, 0), -0.5, "the probability of alternative 'rest' wrong by 0.5"),
    ],
)
def test_what_the_search_missed_is_named(
    spoilt: Any, name: str, at: tuple[int, ...], change: float, what: str, tmp_path: Path
) -> None:
    right = bl.solve(retirement())
    assert right.verified
    assert right.timing["verify"] > 0
    assert "recomputed in double precision by an exact search" in str(right)
    spoilt(name, at, change)
    result = bl.solve(retirement())
    assert (result.success, result.status, result.verified) == (False, "not verified", True)
    place = rf" at grid point 5, state 0, age {at[0] + 1}(, the largest of \d errors)?\.$"
    assert re.search(r"^All 6 ages were solved\. But a second, exact search finds " + re.escape(what), result.message)
    assert re.search(place, result.message)
    assert result.residual == (0.5 if name == "value" else pytest.approx(right.residual))
    assert bl.load(result.save(tmp_path / "a.npz")).message == result.message
    blind = bl.solve(retirement(), verify=False)
    assert (blind.success, blind.verified) == (True, False)
    assert "verify" not in blind.timing
    assert "of the device, not verified" in str(blind)


def test_a_value_that_is_wrong_for_ever_is_found(spoilt: Any) -> None:
    problem, prices = arellano()
    spoilt("value", (0, 3, 2), -1e-3)
    result = bl.solve(problem, tol=1e-8, update=prices)
    assert (result.success, result.status) == (False, "not verified")
    assert re.search(
        r"But a second, exact search finds the value.* wrong by 0\.00\d+ at grid point 3, state 2", result.message
    )
    assert result.residual >= 0.9e-3
    assert result.error_bound >= 0.9e-3 / 0.047


def test_values_that_are_equal_in_double_precision_are_reported() -> None:
    grid = np.linspace(0, 10, 40)
    tables: dict[str, Any] = {"transition": np.eye(1), "start": np.zeros((40, 1)), "beta": 0.95, "eta": 2.0}
    for unit in (1.0, 1e-9):
        problem = bl.Problem(
            grid=unit * grid, wealth=unit * (1 + 1.02 * grid[:, None]), low=0, cost=1.5 * unit * grid, **tables
        )
        result = bl.solve(problem, tol=1e-9)
        assert result.success
        assert ("of double precision exceed tol for values of this size" in result.message) == (unit < 1)
        assert (result.error_bound > 1e-6) == (unit < 1)


@pytest.mark.parametrize("kind", ["regions", "policy"])
def test_figures(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for k, result in enumerate((bl.solve(retirement()), bl.solve(arellano()[0], tol=1e-4))):
        path = tmp_path / f"{kind}{k}.png"
        figure = result.plot(path, kind)
        # The cost of saving is the amount saved, that of bonds depends on their price.
        assert figure.axes[0].get_xlabel() == ("assets a, units of the good", "bonds B")[k]
        assert path.stat().st_size > 5_000
        assert len(figure.axes) == (2 if kind == "regions" else 4)
        if kind == "policy":
            best = (result.tables.choice[0] if k == 0 else result.tables.choice)[0][:, result.problem.states // 2]
            for axes in figure.axes[:2]:
                # One rectangle for each run of states with the same alternative; together they cover all points.
                assert len(axes.patches) == 1 + np.count_nonzero(np.diff(best))
                assert len({patch.get_facecolor() for patch in axes.patches}) == np.unique(best).size
                ends = [edge for patch in axes.patches for edge in (patch.get_x(), patch.get_x() + patch.get_width())]
                assert (min(ends), max(ends)) == pytest.approx(result.problem.grid[[0, -1]])
            assert not figure.axes[2].patches
    with pytest.raises(
        bl.ProblemError, match="^an Euler equation error needs a single choice of x' that costs x', and "
    ):
        result.plot(kind="euler")


def test_labelled_arrays() -> None:
    pytest.importorskip("xarray")
    result = bl.solve(retirement())
    data = result.to_xarray()
    assert data["value"].dims == ("age", "regime", "assets", "state")
    work = data["policies"].sel(by_alternative="work", age=1)
    np.testing.assert_array_equal(work, result.by_alternative["work"].policy[0])
    np.testing.assert_array_equal(data["choice"].sel(regime="worker", age=1), result.choice[0, 0])


def everything() -> bl.Result:
    """Return a result whose problem has all tables, in all shapes that are accepted."""
    points, ages, states = 12, 3, 2
    grid = np.linspace(0, 4, points)
    aged = np.stack([0.5 + 1.02 * grid[:, None] + np.array([0.1, 0.6]) + 0.1 * t for t in range(ages)])
    chain = np.array([[0.9, 0.1], [0.4, 0.6]])
    problem = bl.Problem(
        grid=grid,
        wealth=aged,
        transition=np.stack([chain, np.eye(states), chain]),
        start=np.stack([np.zeros((points, states)), np.ones((points, states))]),
        beta=np.full((ages, states), 0.9),
        eta=1.5,
        horizon=ages,
        taste=0.1,
        cost=grid,
        low=0,
        high=np.minimum(np.arange(points) + 3, points - 1),
        alternatives=[
            bl.Alternative(name="stay put", regime="in", cost=1.1 * grid, beta=0.8, kappa=[0.1, 0.2]),
            bl.Alternative(
                name="move", regime="in", leads_to={"in": 0.5, "out": 0.5}, transition=chain, high=points - 1
            ),
            bl.Alternative(name="leave", regime="in", value=np.full((points, states), -3.0)),
            bl.Alternative(name="rest", regime="out", choice=np.zeros((points, states))),
        ],
        name="everything",
        asset="assets a",
        labels=("low", "high"),
        shock_values=[0.9, 1.1],
        parameters={"gain": 3},
    )
    return bl.solve(problem)  # type: ignore[return-value]


def same(one: bl.Result, other: bl.Result) -> None:
    for name in ("value", "policy", "alternative", "prices"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for ours, theirs in zip(one.tables, other.tables, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert str(one) == str(other)
    assert (one.regimes, one.alternatives) == (other.regimes, other.alternatives)
    again, first = bl.solve(one.problem, tol=one.tol), bl.solve(other.problem, tol=one.tol)
    np.testing.assert_array_equal(again.value, first.value)


@pytest.mark.parametrize("suffix", [".npz", ".nc"])
def test_files_hold_everything(suffix: str, tmp_path: Path) -> None:
    problem, prices = arellano()
    for k, result in enumerate((everything(), bl.solve(retirement()), bl.solve(problem, tol=1e-8, update=prices))):
        same(bl.load(result.save(tmp_path / f"{k}{suffix}")), result)


def test_a_labelled_file_is_read_by_others_and_what_they_change_is_found(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    result = everything()
    with xarray.open_dataset(result.save(tmp_path / "a.nc"), engine="h5netcdf") as dataset:
        xarray.testing.assert_identical(dataset.load(), result.to_xarray())
    assert dataset["alternative0_cost"].dims == ("assets",)
    assert dataset["alternative1_transition"].dims == ("state", "next_state")
    assert dataset["transition"].dims == ("age", "state", "next_state")
    assert dataset["start"].dims == ("regime", "assets", "state")
    assert dataset["beta"].dims == ("age", "state")
    assert dataset["alternative0_beta"].dims == dataset["low"].dims == ()
    assert dataset["by_alternative"].to_numpy().tolist() == ["stay put", "move", "leave", "rest"]
    assert dataset["regime"].to_numpy().tolist() == ["in", "out"]
    chance = dataset["probabilities"].sel(by_alternative="leave", age=2)
    np.testing.assert_array_equal(chance, result.by_alternative["leave"].probability[1])
    assert dataset["wealth"].attrs == {"long_name": "cash on hand", "units": "units of the good"}
    dataset.to_netcdf(tmp_path / "b.nc", engine="h5netcdf")
    same(bl.load(tmp_path / "b.nc"), result)
    dataset["alternative"][0, 0, 3, 1] += 1
    dataset.to_netcdf(tmp_path / "c.nc", engine="h5netcdf")
    with pytest.raises(bl.ProblemError, match=r"c\.nc' is damaged or was changed: its content does not match"):
        bl.load(tmp_path / "c.nc")


def test_a_gpu_reports_each_part_of_its_time_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU solve reports each part of its time once; only ``bl.solve`` is tested, with the solver replaced."""

    def stand_in(*arguments: Any, seconds: dict[str, float], **more: Any) -> Any:
        seconds |= {"load": 1.0, "solve": 2.0, "read": 3.0}
        return solve(*arguments, **more)

    monkeypatch.setattr(general, "available", lambda: "")
    monkeypatch.setattr(general, "solve", stand_in)
    found, same = bl.solve(retirement(), device="gpu"), bl.solve(retirement())
    assert found.success
    assert found.device == "gpu"
    assert np.array_equal(found.value, same.value)
    assert [found.timing[name] for name in ("load", "solve", "read")] == [1.0, 2.0, 3.0]


def test_what_is_slow_on_a_graphics_card_is_solved_on_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regimes that lead to each other, and much patience: without linear systems no number of sweeps is enough."""
    leads = {"on": 0.5, "off": 0.5}
    given = bl.Problem(
        grid=np.array([0.0, 1.0]), wealth=np.ones((2, 1)), transition=np.eye(1), beta=1.0 - 1e-5, eta=0.0,
        negative=True,
        alternatives=[
            bl.Alternative(name=f"{name}", regime=name, leads_to=leads, wealth=np.array([[1.0 + n], [2.0]]))
            for n, name in enumerate(leads)
        ],
    )  # fmt: skip
    monkeypatch.setattr(general, "available", lambda: "")
    monkeypatch.setattr(general, "solve", lambda *tables, seconds, **more: solve(*tables, **more, corrected=False))
    found, right = (bl.solve(given, device=device, progress=False, steps=20) for device in ("gpu", "cpu"))
    assert found.success
    assert found.device == "cpu"
    assert "Device 'cpu' replaced 'gpu', which had failed: " in found.message
    assert np.array_equal(found.value, right.value)
    few = bl.solve(given, device="gpu", progress=False, max_sweeps=100)
    assert (few.success, few.device) == (False, "gpu")


def test_what_a_graphics_card_does_not_take_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*arguments: Any, **more: Any) -> Any:
        raise ValueError("a CUDA device takes at most 16 alternatives and 8 regimes, not 17 and 1")

    monkeypatch.setattr(general, "available", lambda: "")
    monkeypatch.setattr(general, "solve", refuses)
    with pytest.raises(bl.ProblemError, match="^a CUDA device takes at most 16 alternatives"):
        bl.solve(retirement(), device="gpu")
    bonds = np.linspace(-1.0, 0.0, 7)
    with pytest.raises(bl.ProblemError, match="^face of update must have one entry per grid point, "):
        bl.solve(retirement(), update=bl.BondPrices("work", "retire", bonds, 0.01))
    face = np.zeros(retirement().points)
    with pytest.raises(bl.ProblemError, match="^update: there is no alternative 'repay': there are "):
        bl.solve(retirement(), update=bl.BondPrices("repay", "retire", face, 0.01))
    for repay, default, sentence in (
        ("work", "work", "repay and default must be two alternatives, not 'work' both"),
        ("work", "rest", "repay and default must be alternatives of one regime, not 'work' of "),
    ):
        with pytest.raises(bl.ProblemError, match=f"^update: {sentence}"):
            bl.solve(retirement(), update=bl.BondPrices(repay, default, face, 0.01))
    with pytest.raises(bl.ProblemError, match="^update must be a BondPrices on device 'gpu', not"):
        bl.solve(retirement(), device="gpu", update=lambda last: None)


def test_what_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beltline.gpu_ref.memory.available", lambda: 2**33)
    sentence = (
        r"^a problem with 3 alternatives on 60,000 ages of 2,000 x 1 states needs 9\.39 GiB, more than the 7\.75 GiB "
        r"that this process can have$"
    )
    model = bl.retirement(grid=2000, ages=60_000)
    with pytest.raises(bl.ProblemError, match=sentence):
        bl.solve(model)
    # Refused before a device is looked for.
    with pytest.raises(MemoryError, match=sentence):
        general.solve(model.problem().form)
    firm = bl.lumpy_investment(steps=3, states=500).problem()
    monkeypatch.setattr("beltline.gpu_ref.memory.available", lambda: 2**28 + 1000)
    with pytest.raises(bl.ProblemError, match=r"^a problem with 2 alternatives on \d+ x 500 states needs 0\.02 GiB"):
        bl.solve(firm)


def test_values_of_alternatives_that_are_not_chosen_are_within_tol_of_the_bound() -> None:
    """The value is exact after one sweep, but the other alternative was valued by the start, which was not."""
    stop, tol = 10.0 + GRID[:, None], 1e-4
    result = bl.solve(
        bl.Problem(
            grid=GRID,
            wealth=GRID[:, None] + 1.0,
            transition=np.eye(1),
            start=stop + 5e-5,
            beta=0.9,
            eta=2.0,
            alternatives=[bl.Alternative(name="stop", value=stop), bl.Alternative(name="work", kappa=-100.0)],
        ),
        tol=tol,
        device="cpu",
        progress=False,
    )
    assert result.success
    np.testing.assert_array_equal(result.value, stop)
    consumption = GRID[:, None] + 1.0 - GRID[None, :]
    utility = np.where(consumption > 0, -1.0 / np.where(consumption > 0, consumption, 1.0), -np.inf)
    exact = (utility + 0.9 * stop[:, 0]).max(axis=1) - 100.0
    off = np.abs(result.tables.values[1][:, 0] - exact).max()
    assert result.error_bound < 1e-12 < off < result.error_bound + tol
