"""Problems with alternatives on machines: their tables, the problems refused, and the guarantees of results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import beltline as bl
from beltline.host.devices import open_device
from beltline.host.solver.driver import Driver
from beltline.host.solver.product_image import LOWEST, product_image
from beltline.host.solver.products import products_of
from beltline.host.solver.run import _key
from beltline.hw.interface.parameters import MachineParameters
from support.alternatives import with_alternatives
from support.compared import TOL, check
from support.costs import with_cost

BUILD = {"lanes": 2, "general": 1}
EMULATOR = {"device": "emulator", **BUILD}


def test_product_states_of_a_default() -> None:
    given = with_alternatives("default", 1, 20, 2)
    products = products_of(given)
    # Default and exclusion have the same tables, so they share a product state. It is the first of the group, as the
    # only alternative in exclusion, and repayment is the second.
    assert products.place.tolist() == [1, 0, 0]
    begins, ends = products.borders()
    assert begins.tolist() == [True, False] * 2
    assert ends.tolist() == [True, True] * 2
    weights = products.weights().astype(np.float64) * 2.0**-64
    back = given.alternatives[1].chances()["good"]  # type: ignore[attr-defined]
    q = given.beta * given.transition
    # Repayment leads to the good regime, whose maximum is complete at the second state; default leads to both regimes.
    assert weights[1::2, 1::2] == pytest.approx(q, rel=1e-15)
    assert weights[0::2, 1::2] == pytest.approx(back * q, rel=1e-15)
    assert weights[0::2, 0::2] == pytest.approx((1.0 - back) * q, rel=1e-15)
    assert not weights[1::2, 0::2].any()
    # A forced choice: lower candidates have the same cost, and higher ones are not affordable.
    choice = int(given.alternatives[1].choice)  # type: ignore[attr-defined]
    assert (products.cost[: choice + 1, 0::2] == 0.0).all()
    assert (products.cost[choice + 1 :, 0::2] >= products.wealth[:, 0::2].max(axis=0)).all()
    assert (products.stands[: choice + 1, 0::2] == choice).all()


def test_a_shared_product_state_begins_from_the_lower_regime() -> None:
    """The running maximum over a group yields both regimes' start values, unless the lower regime's are higher."""
    given = with_alternatives("default", 1, 20, 2)
    good, excluded = np.zeros((20, 2)), np.full((20, 2), -3.0)
    for starts, places in (((good, excluded), [1, 0, 0]), ((excluded, good), [0, 1, 2])):
        begun = replace(given, start=np.stack(starts))
        products = products_of(begun)
        assert products.place.tolist() == places
        assert np.array_equal(products.best(products.start), begun.start)
        check(begun, bl.solve(begun, tol=TOL, max_sweeps=900, **EMULATOR))


def test_tables_of_values_come_first_and_keep_their_values() -> None:
    given = with_alternatives("exit", 1, 20, 2)
    image = product_image(given, 1e-6)
    assert image.products is not None
    assert image.groups is not None
    assert image.last_groups is not None
    assert image.products.place.tolist() == [1, 0, 2]
    assert image.groups.marks.tolist() == [5, 0, 2] * 2
    # In the last age tables of values do not enter the value after it.
    assert image.last_groups.marks.tolist() == [5, 1, 0] * 2
    table = np.asarray(given.alternatives[1].value)  # type: ignore[attr-defined]
    own = image.start[:, image.products.of(1)]
    assert (own[np.isneginf(table)] == LOWEST).all()
    assert np.ldexp(own[np.isfinite(table)].astype(float), -image.value_bits) == pytest.approx(
        table[np.isfinite(table)]
    )


def test_a_table_of_values_counts_for_nothing_after_the_last_age() -> None:
    """A table of values does not raise the value after the last age, but can be chosen at earlier ages."""
    given = with_alternatives("exit", 0, 20, 2, 3)
    alternatives = list(given.alternatives)
    alternatives[1] = bl.Alternative(name="leave", value=np.full((20, 2), 50.0))
    given = replace(given, alternatives=alternatives, start=np.full((20, 2), -1.0))
    found = bl.solve(given, **EMULATOR)
    check(given, found)
    assert found.taken("leave")[:2].all()


def test_only_what_changes_is_moved_and_the_last_solution_is_a_start() -> None:
    given = with_alternatives("default", 1, 30, 2)
    with bl.open("emulator", **BUILD) as device:
        first = device.solve(given, tol=TOL)
        again = device.solve(given, tol=TOL, start="last")
        assert again.sweeps <= 3
        assert np.abs(first.value - again.value).max() <= first.error_bound + again.error_bound
        device.solve(replace(given, beta=given.beta * 0.999), tol=TOL)
        assert device.moved == ("Q", "V")
    exits = with_alternatives("exit", 1, 30, 2)
    with bl.open("emulator", **BUILD) as device:
        first = device.solve(exits, tol=TOL)
        again = device.solve(exits, tol=TOL, start="last", value_bits=first.value_bits - 3)
        assert again.success
        assert again.sweeps <= 3
        for other in (with_alternatives("default", 1, 30, 3), with_cost("kink", 1, 30, 6)):
            with pytest.raises(
                bl.ProblemError, match="^start='last' needs a problem with the same alternatives and reg"
            ):
                device.solve(other, tol=TOL, start="last")


def test_a_solve_resumes_from_its_checkpoint(tmp_path: Path) -> None:
    given, path = with_alternatives("exit", 2, 30, 2), tmp_path / "so-far.npz"
    whole = bl.solve(given, tol=TOL, **EMULATOR)
    assert not bl.solve(given, tol=TOL, max_sweeps=7, checkpoint=path, **EMULATOR).success
    other = replace(given, alternatives=[replace(given.alternatives[0], kappa=0.01), *given.alternatives[1:]])
    with pytest.raises(bl.ProblemError, match="belongs to another problem, tolerance or number format"):
        bl.solve(other, tol=TOL, checkpoint=path, **EMULATOR)
    resumed = bl.solve(given, tol=TOL, checkpoint=path, **EMULATOR)
    assert np.array_equal(whole.value, resumed.value)
    assert np.array_equal(whole.tables.choice, resumed.tables.choice)
    assert whole.sweeps == resumed.sweeps


def test_a_checkpoint_has_a_key_of_all_groups() -> None:
    image = product_image(with_alternatives("default", 2, 30, 2), TOL)
    groups = image.groups
    assert groups is not None
    others = [
        replace(image, groups=replace(groups, **{name: getattr(groups, name) + 1}))
        for name in ("kappa", "marks", "lowest", "highest")
    ]
    assert len({_key(one) for one in (image, *others)}) == 5


def test_a_start_that_falls() -> None:
    given = with_alternatives("default", 1, 20, 2)
    falling = replace(given, start=np.linspace(0.0, -1.0, 20)[:, None] * np.ones(2))
    found = bl.solve(falling, tol=TOL, **EMULATOR)
    assert "the solve began from its running maximum" in found.message
    check(given, found)
    with pytest.raises(
        bl.ProblemError, match="^start must not fall as the grid rises, because a candidate of alternative "
    ):
        bl.solve(replace(falling, horizon=3), **EMULATOR)


def test_a_session_says_what_it_does_not_take() -> None:
    given = with_alternatives("default", 1, 20, 2)
    with (
        bl.open("emulator", **BUILD) as device,
        pytest.raises(bl.ProblemError, match="^start of a problem with alternatives must be 'given' or 'last', not "),
    ):
        device.solve(given, start="coarse")
    device = open_device("emulator", MachineParameters(64, 8), lanes=2)
    with pytest.raises(bl.ProblemError, match="^the problem has costs of its choices, and the build of device 'emula"):
        Driver(device).run(product_image(given, 1e-4), 5)
    with (
        bl.open("emulator", **BUILD) as session,
        pytest.raises(bl.ProblemError, match="^method 'shift' needs a sweep engine that is not general, which device "),
    ):
        session.solve(bl.rbc(grid=64, states=3), method="shift")
