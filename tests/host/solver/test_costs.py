"""Problems with a cost of choices on the accelerator: its tables, and the guarantees of its results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import beltline as bl
from beltline.host.devices import open_device
from beltline.host.solver.certificate import of_one_alternative
from beltline.host.solver.complete import rounding_of, trust
from beltline.host.solver.driver import Driver
from beltline.host.solver.product_image import product_image
from beltline.host.solver.products import products_of
from beltline.hw.interface.parameters import MachineParameters
from support.costs import with_cost
from support.peaks import savings

BUILD = {"lanes": 2, "general": 1}
EMULATOR = {"device": "emulator", **BUILD}


def test_what_dominated_candidates_cost() -> None:
    cost = np.array([[5.0, 1.0], [3.0, 2.0], [4.0, 2.0], [3.0, 9.0], [40.0, 9.0]])
    given = bl.Problem(
        grid=np.arange(5.0), wealth=np.full((5, 2), 8.0), transition=np.eye(2), start=np.zeros((5, 2)), beta=0.9,
        eta=2.0, cost=cost,
    )  # fmt: skip
    costs = products_of(given)
    # A choice that no state can afford costs all cash on hand of the richest.
    assert costs.cost.T.tolist() == [[3.0, 3.0, 3.0, 3.0, 8.0], [1.0, 2.0, 2.0, 8.0, 8.0]]
    assert costs.stands.T.tolist() == [[1, 1, 3, 3, 4], [0, 1, 2, 3, 4]]
    rising = products_of(replace(given, cost=2.0 * np.arange(5.0)))
    assert np.array_equal(rising.stands, np.arange(5)[:, None] + np.zeros((1, 2), int))
    image = product_image(given, 1e-6)
    assert np.array_equal(np.ldexp(image.grid.astype(np.float64), -image.amount_bits), costs.cost)


def test_costs_that_no_state_can_afford_take_no_bits() -> None:
    given = with_cost("kink", 2)
    cost = np.asarray(given.cost).copy()
    cost[-3:] = 1e30
    image = product_image(replace(given, cost=cost), 1e-6)
    assert image.amount_bits == product_image(given, 1e-6).amount_bits
    found, right = (
        bl.solve(replace(given, cost=cost), tol=1e-6, **EMULATOR),
        bl.solve(replace(given, cost=cost), tol=1e-6),
    )
    assert found.success
    assert np.array_equal(found.policy, right.policy)


def test_starts_that_fall_where_costs_do() -> None:
    given = with_cost("laffer", 0, 40)
    falling = replace(given, start=np.random.default_rng(1).normal(size=given.start.shape))
    products = products_of(falling)
    start, note = products.start, products.note
    assert note
    assert (np.diff(start, axis=0) >= 0).all()
    assert (start >= falling.start).all()
    assert set(start.ravel()) <= set(falling.start.ravel())
    found, right = bl.solve(falling, tol=1e-7, **EMULATOR), bl.solve(given, tol=1e-7)
    assert found.success
    assert note in found.message
    assert np.array_equal(found.policy, right.policy)
    with pytest.raises(bl.ProblemError, match=r"^start must not fall as the grid rises, because a candidate is dom"):
        bl.solve(replace(falling, horizon=4), **EMULATOR)
    # If no candidate is dominated, values may have any shape.
    for horizon in (None, 4):
        rising = with_cost("kink", 1, 40, horizon=horizon)
        rising = replace(rising, start=falling.start)
        products = products_of(rising)
        assert (products.note, products.start.tolist()) == ("", rising.start.tolist())
        found, right = (bl.solve(rising, tol=1e-7, **where) for where in (EMULATOR, {}))
        assert found.success
        assert np.abs(found.value - right.value).max() <= found.error_bound + right.error_bound


def test_costs_by_choice_alone_and_starts_by_regime() -> None:
    given = with_cost("laffer", 3, 40)
    cost = np.asarray(given.cost)[:, 0]
    alone, spread = replace(given, cost=cost), replace(given, cost=np.repeat(cost[:, None], 3, axis=1))
    both = [bl.solve(one, tol=1e-6, **EMULATOR) for one in (alone, spread, replace(alone, start=given.start[None]))]
    assert both[0].success
    for other in both[1:]:
        assert np.array_equal(both[0].value, other.value)
        assert np.array_equal(both[0].policy, other.policy)


def test_problems_without_a_cost_keep_their_bits(tmp_path: Path) -> None:
    for given in (bl.rbc(grid=64, states=3), savings("jumps", 1)):
        # With a checkpoint every sweep is proven in either build.
        plain, costly = (
            bl.solve(given, tol=1e-6, device="emulator", checkpoint=tmp_path / name, **build)
            for name, build in ((f"{given.name}-plain.npz", {"lanes": 2}), (f"{given.name}.npz", BUILD))
        )
        assert isinstance(costly, bl.Result)
        assert np.array_equal(plain.value, costly.value)
        assert np.array_equal(plain.policy, costly.policy)


def test_only_what_changes_is_moved() -> None:
    given = with_cost("kink", 1, 40)
    with bl.open("emulator", **BUILD) as device:
        assert device.solve(given, tol=1e-6).success
        # The second run begins from the choices of the first.
        for moved in (("MODE",), ()):
            assert device.solve(given, tol=1e-6, start="last").sweeps == 1
            assert device.moved == moved
        found = device.solve(replace(given, cost=np.asarray(given.cost) * 0.5), tol=1e-6, start="last")
        assert device.moved == ("X", "UTILITY_B") or device.moved == ("X",)
        wanted = bl.solve(replace(given, cost=np.asarray(given.cost) * 0.5), tol=1e-6)
        assert np.abs(found.value - wanted.value).max() <= found.error_bound + wanted.error_bound


def test_a_solve_resumes_from_its_checkpoint(tmp_path: Path) -> None:
    given = with_cost("random", 2, 40)
    path = tmp_path / "so-far.npz"
    whole = bl.solve(given, tol=1e-7, checkpoint=tmp_path / "whole.npz", **EMULATOR)
    assert not bl.solve(given, tol=1e-7, max_sweeps=20, checkpoint=path, **EMULATOR).success
    resumed = bl.solve(given, tol=1e-7, checkpoint=path, **EMULATOR)
    assert np.array_equal(whole.value, resumed.value)
    assert np.array_equal(whole.policy, resumed.policy)
    assert whole.sweeps == resumed.sweeps


def test_the_bound_without_verification_counts_what_rounding_leaves_of_dominated_candidates() -> None:
    """Without verification, the bound with a cost counts three rounding errors of an objective more."""
    plain = savings("floor", 1, 40)
    given = replace(plain, cost=plain.grid + 2.0**-60)
    image = product_image(given, 1e-6)
    tables = of_one_alternative(np.full(image.start.shape, -3.0), np.zeros(image.start.shape, np.int32))
    error = image.value_unit + 2.0**-50 * 6.0
    for proven in (False, True):
        found = trust(given, image, tables, 1e-7, proven)
        swept = given.beta * 1e-7 + 2.0 * rounding_of(given, image, tables).max() + 2 * 40 * error * proven
        assert found.residual - swept == pytest.approx(3 * error, rel=1e-3, abs=0.0)
        assert found.error_bound == pytest.approx(found.residual / (1 - plain.beta), rel=1e-6)


def test_what_else_of_the_general_form_is_refused() -> None:
    given = with_cost("laffer", 1, 30, horizon=3)
    with (
        bl.open("emulator", **BUILD) as device,
        pytest.raises(bl.ProblemError, match="^start of a problem with a cost must be 'given' or 'last', not 'stay'$"),
    ):
        device.solve(replace(given, horizon=None), start="stay")
    poor = with_cost("kink", 1, 30)
    wealth = poor.wealth.copy()
    wealth[0, 0], wealth[-1] = np.nextafter(np.asarray(poor.cost).min(), 9.0), 1e6
    with pytest.raises(
        bl.ProblemError, match=r"^wealth exceeds its lowest cost by so little at grid point 0, state 0, "
    ):
        bl.solve(replace(poor, wealth=wealth), **EMULATOR)


def test_a_device_without_costs_refuses_a_cost() -> None:
    image = product_image(with_cost("laffer", 1, 30), 1e-6)
    device = open_device("emulator", MachineParameters(64, 4), lanes=2)
    with pytest.raises(
        bl.ProblemError,
        match="^the problem has costs of its choices, and the build of device 'emulator' is not general",
    ):
        Driver(device).run(image, 5)
