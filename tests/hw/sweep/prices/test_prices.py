"""Prices of bonds in the software model: the law, whole runs, and which builds there can be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.solver.fixed_point import Image
from beltline.host.solver.moving_prices import with_machine_prices
from beltline.host.solver.product_image import product_image
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.interface.groups import Groups, Mark
from beltline.hw.interface.registers import LINEAR_BIT, PRICES_ENGINE, UPDATE_FIELD, Mode, Status
from beltline.hw.sweep.combine import CombineParameters
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.prices.parameters import PricesParameters
from support.alternatives import KINDS, FullSearch, with_alternatives
from support.machines import begun
from support.pairs import Pair, proving_pairs

OPTIONS: dict[str, Any] = {"proof": True, "costs": True, "alternatives": True, "multipliers": 4, "prices": True}
COUNTRY = bl.arellano(bonds=17, incomes=5)
DEFAULT, REPAY = range(0, 10, 2), range(1, 10, 2)
"""Product states of the country."""


def image_of(model: Any, tol: float = 1e-5) -> Image:
    """Return the image of an economy with default whose prices the machine computes."""
    problem = model.problem()
    return with_machine_prices(problem, model.update, product_image(problem, tol), None, None, tol)


def started(image: Image, lanes: int, every: int, **kinds: Any) -> SweepSoftwareMachine:
    """Return a machine that has begun a run with updates of prices."""
    build = SweepParameters(32, 16, lanes, **OPTIONS | kinds)
    machine = begun(SweepSoftwareMachine(build, logged=True), image)
    machine.start(*image.start.shape, Mode(every << UPDATE_FIELD.start), 10_000, image.epsilon, image.constants)
    return machine


def of_problem(table: np.ndarray, image: Image) -> np.ndarray:
    """Return the words of a table of values or choices that belong to the problem."""
    return table[: image.start.size].reshape(image.start.shape)


def test_where_bonds_are_paid() -> None:
    """Bonds are paid at the largest value of a group, and if an alternative that pays has it together with others."""
    rng = np.random.default_rng(2)
    values = rng.integers(-2, 3, (400, 9))
    values[rng.random(values.shape) < 0.1] = MINIMUM
    begins, unpaid = rng.random(9) < 0.4, rng.random(9) < 0.5
    begins[0] = True
    found = CombineParameters(16, prices=True).paid(values, begins, unpaid)
    for x, s in np.ndindex(values.shape):
        first = max(k for k in range(s + 1) if begins[k])
        own = list(values[x, first : s + 1])
        assert found[x, s] == any(word == max(own) and not unpaid[first + k] for k, word in enumerate(own))
    assert 0.2 < found.mean() < 0.8


def test_costs_follow_from_where_bonds_are_paid() -> None:
    """Costs are exact sums, rounded once, and the smallest of all higher candidates; the first smallest is the lowest.

    The price of the host, in double precision, differs by at most one unit of amount.
    """
    rng = np.random.default_rng(4)
    image = image_of(COUNTRY)
    assert image.faces is not None
    unit = PricesParameters(SweepParameters(32, 16, 2, **OPTIONS))
    for chance in (0.0, 0.05, 0.5, 1.0):
        defaults = rng.random((17, 5)) < chance
        paid = np.zeros((17, 10), np.bool_)
        paid[:, REPAY] = ~defaults
        costs, lowest = unit.model(paid, image.faces, image.transition)
        plain = COUNTRY.prices(defaults) * COUNTRY.grid[:, None]
        for s, p in enumerate(REPAY):
            exact = [
                sum(
                    int(image.transition[p, REPAY[t]]) * int(image.faces[x]) * int(not defaults[x, t]) for t in range(5)
                )
                for x in range(17)
            ]
            words = [(total + 2**63) // 2**64 for total in exact]
            assert costs[:, p].tolist() == [min(words[x:]) for x in range(17)]
            assert lowest[p] == words.index(min(words))
            gap = np.abs(np.array(words) * image.amount_unit - plain[:, s]).max()
            assert gap <= image.amount_unit * (1.0 + 2.0**-20) + 2.0**-53
    # The rounding of faces and sums, and of what the host computes, is all that there is.
    assert image.amount_bits == 52


@pytest.mark.parametrize("every", [1, 3, 255])
def test_every_sweep_is_full_searchs_at_prices_of_the_default_set(every: int) -> None:
    """Each sweep equals a full search at costs that the definition gives from the sweep of the last update."""
    image = image_of(COUNTRY)
    machine = started(image, 2, every)
    since, updates, searched = 0, 0, FullSearch(image)
    known, last = False, np.empty(0)
    while not machine.status & Status.DONE:
        before = of_problem(machine.v, image).copy()
        machine.step()
        value, choices = searched(before)
        np.testing.assert_array_equal(of_problem(machine.v, image), value)
        np.testing.assert_array_equal(of_problem(machine.policy, image), choices)
        since += 1
        defaults = value[:, DEFAULT] > value[:, REPAY]
        differs = not known or not np.array_equal(defaults, last)
        below = np.abs(value - before).max() < image.epsilon
        if differs and (below or since >= every):
            prices = COUNTRY.prices(defaults)
            form = COUNTRY.problem(prices).form
            exact = product_image(COUNTRY.problem(), 1e-5, image.value_bits, image.amount_bits, form)
            table = image.grid.copy()
            table[:, REPAY] = machine.x.reshape(32, 16)[:17, REPAY]
            assert np.abs(table - exact.grid)[:, REPAY].max() <= 1
            assert exact.groups is not None
            assert image.groups is not None
            groups = replace(image.groups, lowest=exact.groups.lowest)
            searched = FullSearch(replace(image, grid=table, groups=groups))
            since, known, last, updates = 0, True, defaults, updates + 1
        assert machine.updates == updates
        assert (Status.CONVERGED in machine.status) == (below and not differs)
    assert Status.PROVEN in machine.status
    assert updates > 3


@pytest.mark.parametrize("bonds", [17, 9, 31])
def test_lanes_and_multipliers_do_not_matter(bonds: int) -> None:
    image = image_of(bl.arellano(bonds=bonds, incomes=5))
    machines = []
    for lanes, kinds in ((1, {}), (2, {"multipliers": 1}), (4, {"multipliers": 8, "slots": 4})):
        machine = started(image, lanes, 2, **kinds)
        while not machine.step():
            pass
        machines.append(machine)
    one = machines[0]
    assert one.status == Status.DONE | Status.CONVERGED | Status.PROVEN
    for other in machines[1:]:
        assert (other.sweeps, other.updates, other.norm) == (one.sweeps, one.updates, one.norm)
        for name in ("v", "policy", "x"):
            np.testing.assert_array_equal(getattr(other, name), getattr(one, name))
    assert one.updates > 2


def test_a_run_continues_at_its_last_prices() -> None:
    """Costs and lowest candidates remain in the tables, so that the next run begins with them."""
    image = image_of(COUNTRY)
    machine = started(image, 2, 1)
    while not machine.step():
        pass
    costs, norm = machine.x.copy(), machine.norm
    machine.start(*image.start.shape, Mode.CHOICES, 1, image.epsilon, image.constants)
    machine.step()
    assert machine.norm <= norm
    np.testing.assert_array_equal(machine.x, costs)
    assert machine.updates == 0


def test_lowest_candidates_stay() -> None:
    """The lowest candidates of an update are in the matrix of groups, at the first of the cheapest candidates."""
    image = image_of(COUNTRY)
    machine = started(image, 2, 1)
    while not machine.step():
        pass
    groups = Groups.of(machine.shift_weights.reshape(16, -1), 10)
    costs = machine.x.reshape(32, 16)[:17]
    for p in REPAY:
        assert (costs[: groups.lowest[p] + 1, p] == costs[0, p]).all()
        assert costs[groups.lowest[p] + 1, p] > costs[0, p]
    assert image.groups is not None
    assert (groups.lowest != image.groups.lowest).any()
    for name in ("marks", "highest", "kappa"):
        np.testing.assert_array_equal(getattr(groups, name), getattr(image.groups, name))


def test_prices_that_are_not_updated() -> None:
    """With 0 sweeps between updates nothing is updated, and the run converges at the costs of the host."""
    image = image_of(COUNTRY)
    machine = started(image, 2, 0)
    plain = begun(SweepSoftwareMachine(replace(machine.build, prices=False), logged=True), image)
    for one in (machine, plain):
        while not one.step():
            pass
    assert (machine.updates, machine.sweeps, machine.clocks) == (0, plain.sweeps, plain.clocks)
    np.testing.assert_array_equal(machine.v, plain.v)


def test_marks_of_an_economy() -> None:
    image = image_of(COUNTRY)
    assert image.groups is not None
    assert np.flatnonzero(image.groups.has(Mark.UNPAID)).tolist() == list(DEFAULT)
    assert np.flatnonzero(image.groups.has(Mark.PRICED)).tolist() == list(REPAY)
    assert (image.groups.highest[REPAY] == 16).all()
    assert image.faces is not None
    wanted = COUNTRY.grid / (COUNTRY.beta * (1.0 + COUNTRY.interest))
    assert np.abs(image.faces * image.amount_unit - wanted).max() <= 0.5 * image.amount_unit
    assert np.abs(image.faces).max() < MAXIMUM


SIZES = [
    pytest.param((2, 32, 16, 4), id="2 lanes"),
    pytest.param((1, 16, 16, 8), id="1 lane", marks=pytest.mark.slow),
    pytest.param((4, 64, 32, 1), id="4 lanes", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=SIZES)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    lanes, grid, states, multipliers = request.param
    for one in proving_pairs(lanes, grid, states, multipliers=multipliers, prices=True):
        assert one.device.read_register("ENGINE") == PRICES_ENGINE | multipliers << 8 | 1 << LINEAR_BIT
        yield one


def every(sweeps: int) -> int:
    """Return the bits of register ``MODE`` for updates after this number of sweeps."""
    return sweeps << UPDATE_FIELD.start


def economy(bonds: int, incomes: int = 5, tol: float = 1e-4) -> Image:
    model = bl.arellano(bonds=bonds, incomes=incomes)
    problem = model.problem()
    return with_machine_prices(problem, model.update, product_image(problem, tol), None, None, tol)


@pytest.mark.gateware
def test_economies_after_every_sweep(pair: Pair) -> None:
    """Gateware and model agree after every sweep, with lanes that are full, nearly empty or empty."""
    for bonds in (pair.parameters.grid - 1, pair.parameters.grid // 2 + 3 | 1, 7):
        image = economy(bonds)
        for sweeps, updates in ((3, 0), (1, 1), (3, 1), (8, 3)):
            done = pair.run(image, sweeps, every(updates))
            assert Status.PROVEN in done.status
            assert (done.updates > 0) == (0 < updates <= sweeps)


@pytest.mark.gateware
@pytest.mark.parametrize("updates", [7, 255])
def test_economies_to_the_end(pair: Pair, updates: int) -> None:
    for bonds, incomes in ((pair.parameters.grid - 1, 5), (9, 7), (7, 1)):
        done = pair.run(economy(bonds, incomes), 10_000, every(updates))
        assert done.status == Status.DONE | Status.CONVERGED | Status.PROVEN
        assert done.updates > 0


@pytest.mark.gateware
def test_random_marks_and_faces(pair: Pair) -> None:
    """Gateware and model agree on words that no economy has: any groups and marks, and extreme payments."""
    rng = np.random.default_rng(7)
    build, updates = pair.parameters, 0
    for seed in range(8):
        points = int(rng.integers(7, build.grid + 1))
        image = product_image(with_alternatives(KINDS[seed % len(KINDS)], seed, points, 3), 1e-4)
        assert image.groups is not None
        states = image.start.shape[1]
        begins = rng.random(states) < 0.5
        begins[0] = True
        marks = begins * int(Mark.BEGINS) + np.append(begins[1:], True) * int(Mark.ENDS)
        for mark, chance in ((Mark.KEEPS, 0.1), (Mark.UNPAID, 0.5), (Mark.PRICED, 0.7)):
            marks = marks + (rng.random(states) < chance) * int(mark)
        groups = replace(image.groups, marks=marks, lowest=0 * marks, highest=0 * marks + points - 1)
        faces = rng.integers(-(2**51), 2**51, points)
        if seed % 2:
            faces = rng.choice(np.array([-(2**63), 2**63 - 1, 0, 1, -1]), points)
        # Values that are equal, and at which bonds are paid if one of the equal alternatives pays.
        start = rng.integers(-2, 3, image.start.shape) << 50
        odd = replace(image, groups=groups, faces=faces, start=start)
        for sweeps, number in ((1, 1), (4, 1), (6, 2)):
            updates += pair.run(odd, sweeps, every(number)).updates
    assert updates > 20


@pytest.mark.gateware
def test_a_run_after_another(pair: Pair) -> None:
    """A run with updates is not influenced by the run before it, which left stored choices and an update of costs."""
    image = economy(pair.parameters.grid - 3)
    first = pair.run(image, 5, every(1))
    stored = pair.run(image, 3, Mode.CHOICES | every(2), first)
    assert stored.updates > 0
    again = pair.run(image, 5, every(1))
    assert again.clocks == first.clocks
    # A run that begins at the last prices and values of another does not know that they belong together.
    ended = pair.run(image, 10_000, every(1))
    points, states = image.start.shape
    built = pair.parameters.states
    groups = Groups.of(ended.shift_weights.reshape(built, -1), states)
    settled = replace(image, groups=groups, grid=ended.x.reshape(-1, built)[:points, :states].copy())
    assert pair.run(settled, 2, Mode.CHOICES | every(1), ended).updates == 1
