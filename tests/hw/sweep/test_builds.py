"""Both builds of the sweep engine, on problems of every kind: full search, software model and gateware agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from beltline.host.devices.software_model import ModelDevice
from beltline.host.models.rbc import rbc
from beltline.host.solver.driver import Driver
from beltline.host.solver.fixed_point import Image, fixed_point
from beltline.host.solver.product_image import product_image
from beltline.hw.arithmetic.log_sum_constants import LogSumConstants
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.interface.groups import Mark
from beltline.hw.interface.registers import STEPS_FIELD, Command, Mode, Status, Table
from beltline.hw.sweep.intervals import FEWEST
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters
from support import alternatives, peaks
from support import bounds as bounded_problems
from support.ages import with_ages, with_cost_by_age
from support.alternatives import KINDS, with_alternatives
from support.bounds import BOUNDED, bounded
from support.costs import SHAPES, with_cost
from support.firms import FIRMS, SCALES, firm
from support.machines import assert_same, begun, proving_machine
from support.pairs import Pair, assert_infeasible_as_a_group, paired

TASTES = (0.3, 0.01, 5.0, 1e-9)
"""Scales of the shocks of problems in turn."""


def with_products(kind: str, seed: int, points: int, states: int) -> Image:
    if kind in FIRMS:
        scale = 1.0 if kind == "linear" else SCALES[seed % len(SCALES)]
        return product_image(firm(kind, seed, points, 1 if kind == "entry" else min(states, 2)), 1e-4 * scale)
    if kind in BOUNDED:
        return product_image(bounded(kind, seed, points, 1 if kind == "firing" else min(states, 2)), 1e-4)
    return product_image(with_alternatives(kind, seed, points, min(states, 2)), 1e-4)


@dataclass(frozen=True)
class Family:
    """Problems of some kinds, and the image of one; ``general`` says which build they are for."""

    name: str
    kinds: tuple[str, ...]
    image: Callable[[str, int, int, int], Image]
    general: bool = True


PLAIN = Family(
    "plain",
    peaks.KINDS,
    lambda kind, seed, points, states: fixed_point(peaks.savings(kind, seed, points, states), 1e-6),
    general=False,
)
COSTS = Family(
    "costs", SHAPES, lambda kind, seed, points, states: product_image(with_cost(kind, seed, points, states), 1e-6)
)
ALTERNATIVES = Family("alternatives", (*KINDS, *FIRMS), with_products)
BOUNDS = Family("bounds", BOUNDED, with_products)
TASTE = Family(
    "taste",
    KINDS,
    lambda kind, seed, points, states: product_image(
        with_alternatives(kind, seed, points, min(states, 2), taste=TASTES[seed % len(TASTES)]), 1e-4
    ),
)
MANY_STATES = Family(
    "many states",
    KINDS,
    lambda kind, seed, points, states: product_image(with_alternatives(kind, seed, points, 2 * states), 1e-4),
)
FAMILIES = (PLAIN, COSTS, ALTERNATIVES, BOUNDS, TASTE)
EVERY = [pytest.param(family, kind, id=f"{family.name}-{kind}") for family in FAMILIES for kind in family.kinds]


def full_search(image: Image) -> Callable[[NDArray[np.int64]], tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return a function for value and choices of a sweep by full search; -1 where a state can afford nothing."""
    if image.products is not None:
        return alternatives.FullSearch(image)
    search, able = peaks.FullSearch(image), image.wealth > image.grid[0]

    def found(before: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        best = search(before, np.zeros_like(before))
        return best.best, np.where(able, best.choices, -1)

    return found


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 40))])
@pytest.mark.parametrize(("family", "kind"), EVERY)
def test_every_sweep_is_full_searchs(family: Family, kind: str, seed: int) -> None:
    """Values and proven choices are those of full search in fixed point, whatever the number of lanes and searches."""
    image = family.image(kind, seed, 24 - 5 * (seed % 3), 3)
    sizes = (1, 16), (2, 64), (4, 32)
    machines = [begun(proving_machine(image, *size, family.general), image) for size in sizes]
    size, shape = image.start.size, image.start.shape
    keeps = image.groups.has(Mark.KEEPS) if image.groups is not None else np.zeros(shape[1], np.bool_)
    full, ended = full_search(image), False
    while not ended and machines[0].sweeps < 40:
        before = machines[0].v[:size].reshape(shape).copy()
        ended = machines[0].step()
        value, choices = full(before)
        able = (choices >= 0) & ~keeps
        assert all(other.step() == ended for other in machines[1:])
        for machine in machines:
            assert machine.norm == machines[0].norm
            assert np.array_equal(machine.v[:size].reshape(shape), value), machine.sweeps
            assert np.array_equal(machine.policy[:size].reshape(shape)[able], choices[able]), machine.sweeps
    assert not ended or machines[0].status & ~Status.INFEASIBLE == Status.DONE | Status.CONVERGED | Status.PROVEN


SIZES = {False: (2, 32, 4), True: (2, 32, 8)}
"""Lanes, grid and exogenous states of the builds that are simulated, by whether they are general."""

MORE = [(1, 16, 4, False), (4, 64, 4, False), (16, 256, 2, False), (1, 16, 8, True), (4, 64, 8, True)]
MORE += [(256, 4096, 2, False), (1, 32, 1, False)]


@pytest.fixture(scope="module")
def plain() -> Iterator[Pair]:
    yield from paired(*SIZES[False])


@pytest.fixture(scope="module")
def general() -> Iterator[Pair]:
    yield from paired(*SIZES[True], general=True)


@pytest.fixture
def pair(family: Family, request: pytest.FixtureRequest) -> Pair:
    """Return the gateware of the build of a family beside its model."""
    found: Pair = request.getfixturevalue("general" if family.general else "plain")
    return found


def every_run(family: Family, pair: Pair, seeds: int) -> int:
    """Run problems of every kind, with lanes that are full, nearly empty or empty; return how many were repaired."""
    grid, searched = pair.parameters.grid, 0
    for number, kind in enumerate(family.kinds):
        shapes = ((grid, 3), (grid - 5, 2), (grid // 2 + 3, 4), (7, 1))
        for seed in range(number, number + seeds):
            points, states = shapes[seed % len(shapes)]
            image = family.image(kind, seed % len(shapes), points, min(states, pair.parameters.states))
            for sweeps in (2, 9):
                done = pair.run(image, sweeps)
                assert Status.PROVEN in done.status
                searched += sum(one.searched for one in done.proven_by)
        done = pair.run(family.image(kind, 4, grid - 3, min(2, pair.parameters.states)), 10_000)
        assert done.status == Status.DONE | Status.CONVERGED | Status.PROVEN
    return searched


@pytest.mark.gateware
@pytest.mark.parametrize("family", FAMILIES, ids=lambda one: one.name)
def test_gateware_after_some_sweeps_and_at_the_end(family: Family, pair: Pair) -> None:
    assert every_run(family, pair, 2) > 0


@pytest.mark.slow
@pytest.mark.gateware
@pytest.mark.parametrize("sizes", MORE, ids=lambda one: f"{one[0]}-lanes-{one[2]}-states{'-general' * one[3]}")
def test_other_sizes(sizes: tuple[int, int, int, bool]) -> None:
    for pair in paired(*sizes):
        for family in FAMILIES:
            if family.general == sizes[-1]:
                every_run(family, pair, 4)


@pytest.mark.slow
@pytest.mark.gateware
def test_many_states() -> None:
    for pair in paired(2, 32, 32, general=True):
        every_run(MANY_STATES, pair, 4)


@pytest.mark.gateware
@pytest.mark.parametrize("family", [PLAIN, ALTERNATIVES], ids=lambda one: one.name)
def test_random_values(family: Family, pair: Pair) -> None:
    """On random values searches end on any of many peaks and rounds divide, also from the choices of the last run."""
    rng = np.random.default_rng(5)
    divided = 0
    for seed in range(4):
        kind = family.kinds[seed % len(family.kinds)]
        image = family.image(kind, seed, int(rng.integers(9, pair.parameters.grid + 1)), 2)
        wild = np.round(rng.integers(-(2**58), 2**58, image.start.shape) / 2**57).astype(np.int64) * 2**50
        first = pair.run(replace(image, start=wild), 2)
        done = pair.run(image, 4, Mode.CHOICES, first)
        divided += sum(one.divided for one in (*first.proven_by, *done.proven_by))
    assert divided > 0


@pytest.mark.gateware
@pytest.mark.parametrize("family", [PLAIN, COSTS], ids=lambda one: one.name)
def test_shifts_and_evaluation_steps(family: Family, pair: Pair) -> None:
    """A general engine has neither, and ignores that a run asks for them."""
    image = family.image(family.kinds[0], 2, pair.parameters.grid, 2)
    modes = (Mode(0), Mode.SHIFT, Mode.SHIFT | 3 << STEPS_FIELD.start)
    clocks = [pair.run(image, 12, mode).clocks for mode in modes]
    assert (len(set(clocks)) == 1) == family.general


@pytest.mark.gateware
def test_runs_in_turn(plain: Pair, general: Pair) -> None:
    """Nothing of the run before remains, and a general build has the bits of the other one on its problems."""
    grid, given = general.parameters.grid, fixed_point(rbc(grid=general.parameters.grid - 1, states=3), 1e-6)
    images = [family.image(family.kinds[0], 1, grid, 2) for family in FAMILIES] + [given]
    once, again = ([general.run(image, 3) for image in images] for _ in range(2))
    for one, other in zip(once, again, strict=True):
        assert np.array_equal(one.v, other.v)
    without = plain.run(given, 3)
    assert np.array_equal(once[-1].v[: given.start.size], without.v[: given.start.size])
    assert np.array_equal(once[-1].policy[: given.start.size], without.policy[: given.start.size])


@pytest.mark.gateware
def test_states_that_can_afford_nothing(plain: Pair, general: Pair) -> None:
    """A run ends as infeasible if a state can afford nothing, or with alternatives if a whole group cannot."""
    image = product_image(with_alternatives("retirement", 1, general.parameters.grid, 1), 1e-4)
    assert_infeasible_as_a_group(general, image)
    for family, pair in ((PLAIN, plain), (COSTS, general)):
        image = family.image("jumps", 3, pair.parameters.grid, 2)
        image.wealth[:3, 0] = image.grid[0] if image.grid.ndim == 1 else image.grid[0, 0]
        assert pair.run(image, 3).status == Status.DONE | Status.INFEASIBLE


@pytest.mark.gateware
def test_the_norm_is_that_of_repaired_values(plain: Pair) -> None:
    """The norm is that of repaired values, of which those fall most that no state can afford to choose, all with equal
    wealth.

    Searches from different candidates end on different peaks, and a value on a lower peak falls further.
    """
    build = plain.parameters
    repaired = 0
    for seed, kind in enumerate(("floor", "jumps")):
        image = fixed_point(peaks.savings(kind, seed, build.grid, build.states), 1e-6)
        richest = 3 * build.grid // 4
        image.wealth[:] = np.minimum(image.wealth, image.grid[richest])
        start = np.random.default_rng(seed).integers(-4, 5, image.start.shape) * round(0.25 / image.value_unit)
        start[richest:] = round(20.0 / image.value_unit)
        for sweeps in (1, 2):
            done = plain.run(replace(image, start=start), sweeps)
            repaired += sum(one.searched for one in done.proven_by)
    assert repaired > 0


@pytest.mark.gateware
def test_a_run_ends_with_a_proven_sweep(plain: Pair) -> None:
    build = plain.parameters
    image = fixed_point(rbc(grid=build.grid // 2 + 3, states=build.states), 1e-6)
    for mode in (
        Mode(0),
        Mode.SHIFT,
        Mode.SHIFT | 3 << STEPS_FIELD.start,
        Mode.SPARSE,
        Mode.SPARSE | Mode.SHIFT | 3 << STEPS_FIELD.start,
    ):
        for sweeps in (2, 5):
            plain.run(image, sweeps, mode)
        done = plain.run(image, 10_000, mode)
        assert done.status == Status.DONE | Status.CONVERGED | Status.PROVEN
    # The last sweep maximises, because a policy evaluation step at the limit would prove nothing.
    assert Status.PROVEN in plain.run(image, 3, 5 << STEPS_FIELD.start).status


@pytest.mark.gateware
@pytest.mark.parametrize("kind", ["floor", "jumps"])
def test_runs_in_which_few_sweeps_are_proven(plain: Pair, kind: str) -> None:
    """Gateware and model agree in sweeps with a proof and without one, and the last choices are full search's."""
    build = plain.parameters
    for seed, (grid, states) in enumerate(((build.grid, 3), (build.grid - 5, 2), (7, 1))):
        image = fixed_point(peaks.savings(kind, seed, grid, min(states, build.states)), 1e-6)
        for sweeps in (1, 2, 3, 12, 24):
            done = plain.run(image, sweeps, Mode.SPARSE)
            assert Status.PROVEN in done.status
        assert [one.rounds > 0 for one in done.proven_by][:12] == [True, *FEWEST * [False], True, False]
        done = plain.run(image, 10_000, Mode.SPARSE)
        assert done.status == Status.DONE | Status.CONVERGED | Status.PROVEN
        assert sum(one.rounds > 0 for one in done.proven_by) <= done.sweeps // 4 + 3
        again = plain.loaded(image)
        again.start(*image.start.shape, Mode.SPARSE, 10_000, image.epsilon, image.constants)
        while again.sweeps < done.sweeps - 1:
            again.step()
        before, choices = (table[: image.start.size].reshape(image.start.shape) for table in (again.v, done.policy))
        assert np.array_equal(choices, peaks.FullSearch(image)(before, choices).choices)


@pytest.mark.gateware
def test_stored_choices_may_be_those_of_another_size(plain: Pair) -> None:
    build = plain.parameters
    image = fixed_point(peaks.savings("floor", 1, build.grid, build.states), 1e-6)
    evaluations = []
    for mode in (Mode(0), Mode.CHOICES):
        after = plain.run(image, 12)
        following = plain.run(image, 1, mode, after)
        evaluations.append(following.evaluations[0])
        plain.run(image, 4, mode, following)
    assert evaluations[1] < evaluations[0]
    # The choices of another size are other states', and need not be on the grid; all of them are proven or repaired.
    small = fixed_point(peaks.savings("floor", 2, 7, build.states), 1e-6)
    steep = np.zeros_like(image.start) + np.arange(build.grid)[:, None] * round(0.25 / image.value_unit)
    after = plain.run(replace(image, wealth=image.wealth + image.grid[-1], start=steep), 1)
    assert after.policy[: small.start.size].min() >= 7
    assert Status.PROVEN in plain.run(small, 3, Mode.CHOICES, after).status


@pytest.mark.gateware
def test_values_stay_where_a_run_ends_or_is_broken_off(plain: Pair) -> None:
    """A run begins from the values that the run before left, after one sweep, after two, and after a reset."""
    device, build = plain.device, plain.parameters
    image = fixed_point(peaks.savings("uneven", 1, build.grid, build.states), 1e-6)
    for sweeps in (1, 2):
        done = plain.run(image, sweeps)
        left = done.v[: image.start.size].reshape(image.start.shape).copy()
        device.write_register("COMMAND", int(Command.RESET))
        following = plain.run(replace(image, start=left), 1)
        plain.run(image, sweeps)
        device.write_register("SWEEP_LIMIT", 1)
        device.write_register("COMMAND", int(Command.RUN))
        while not device.wait(0.5):
            pass
        layout = plain.layout(*image.start.shape)
        for block in layout.blocks(Table.V):
            read = device.read_block(Table.V, block.window, block.count)
            assert np.array_equal(read, following.v[block.table : block.table + block.count])


@pytest.mark.gateware
def test_a_run_begins_from_the_choices_of_the_last_one(general: Pair) -> None:
    """After costs have changed, a run from stored choices has the values and choices of one that begins without."""
    image = product_image(with_alternatives("default", 3, general.parameters.grid), 1e-4)
    # Costs that do not fall in x' still do not after a rise that grows with x'.
    rise = np.arange(image.grid.shape[0])[:, None] * round(2.0**-9 / image.amount_unit)
    dearer = replace(image, grid=np.where(image.grid < image.wealth.max(axis=0), image.grid + rise, image.grid))
    assert (np.diff(dearer.grid, axis=0) >= 0).all()
    runs = []
    for mode in (Mode(0), Mode.CHOICES):
        first = general.run(image, 5)
        changed = general.run(dearer, 1, mode, first)
        again = general.run(dearer, 4, mode, changed)
        runs.append((changed, again, general.run(image, 2, mode, again)))
    for cold, stored in zip(*runs, strict=True):
        assert Status.PROVEN in cold.status & stored.status
        np.testing.assert_array_equal(stored.policy, cold.policy)
        np.testing.assert_array_equal(stored.v, cold.v)
    assert runs[1][1].clocks < runs[0][1].clocks


@pytest.mark.gateware
def test_random_values_and_marks(general: Pair) -> None:
    """Gateware and model agree on random groups, tables of values and added utilities that need divide and conquer."""
    rng = np.random.default_rng(5)
    build = general.parameters
    searched = 0
    for seed in range(5):
        image = product_image(with_alternatives("random", seed, int(rng.integers(9, build.grid + 1))), 1e-4)
        assert image.groups is not None
        states = image.start.shape[1]
        begins = rng.random(states) < 0.5
        begins[0] = True
        marks = begins * 1 + np.append(begins[1:], True) * 2 + (rng.random(states) < 0.2) * 4
        groups = replace(image.groups, marks=marks.astype(np.int64), kappa=rng.integers(-(2**50), 2**50, states))
        wild = rng.integers(-(2**56), 2**56, image.start.shape)
        for sweeps in (1, 2, 5):
            done = general.run(replace(image, start=wild, groups=groups), sweeps)
            searched += sum(one.searched for one in done.proven_by)
    assert searched > 0


@pytest.mark.gateware
def test_random_candidates(general: Pair) -> None:
    """Gateware and model agree on any candidates of each state, from stored choices elsewhere and from none."""
    rng = np.random.default_rng(6)
    build = general.parameters
    searched, divided, single = 0, 0, 0
    for seed in range(8):
        image = product_image(
            with_alternatives(KINDS[seed % len(KINDS)], seed, int(rng.integers(7, build.grid + 1))), 1e-4
        )
        assert image.groups is not None
        points, states = image.start.shape
        lowest = rng.integers(0, points, states)
        highest = rng.integers(lowest, points)
        lowest[rng.random(states) < 0.3] = 0
        highest[rng.random(states) < 0.3] = points - 1
        forced = rng.random(states) < 0.2
        highest[forced] = lowest[forced]
        single += int(forced.sum())
        few = replace(image, groups=replace(image.groups, lowest=lowest, highest=highest))
        wild = rng.integers(-(2**56), 2**56, image.start.shape)
        for start in (image.start, wild):
            before = general.run(replace(image, start=start), 1)
            for sweeps, mode, after in ((1, Mode.CHOICES, before), (1, Mode(0), None), (4, Mode(0), None)):
                done = general.run(replace(few, start=start), sweeps, mode, after)
                searched += sum(one.searched for one in done.proven_by)
                divided += sum(one.divided for one in done.proven_by)
                if Status.INFEASIBLE not in done.status:
                    choices = done.policy[: image.start.size].reshape(image.start.shape)
                    assert ((lowest <= choices) & (choices <= highest)).all()
    assert min(searched, divided, single) > 0


@pytest.mark.gateware
def test_additions_may_leave_the_range(general: Pair) -> None:
    """A sum out of range is flagged if the state can afford a choice; else its value is the lowest number."""
    image = product_image(with_alternatives("default", 1, general.parameters.grid), 1e-4)
    assert image.groups is not None
    poor = (image.wealth <= image.grid[0]).any(axis=0)
    assert poor.any()
    lowest = np.full(poor.size, -(2**62), np.int64)
    for kappa, raised in ((np.where(poor, lowest, 0), Status(0)), (2 * lowest, Status.SATURATED)):
        done = general.run(replace(image, groups=replace(image.groups, kappa=kappa)), 1)
        if raised:
            assert Status.SATURATED in done.status
        value = done.v[: image.start.size].reshape(image.start.shape)
        assert (value[image.wealth <= image.grid[0]] == MINIMUM).all()


@pytest.mark.gateware
@pytest.mark.parametrize("shape", bounded_problems.SHAPES)
def test_random_tables_and_bounds(general: Pair, shape: str) -> None:
    """Any costs, cash on hand and values, with bounds of each shape, also from the choices of the last run."""
    rng = np.random.default_rng([12, bounded_problems.SHAPES.index(shape)])
    repaired = 0
    for seed in range(4):
        image = with_products("any order", seed, int(rng.integers(7, general.parameters.grid + 1)), 2)
        assert image.groups is not None
        points, states = image.start.shape
        words = {name: rng.integers(-(2**20), 2**20, (points, states)) for name in ("grid", "wealth", "start")}
        sides = np.stack(bounded_problems.bounds(rng, shape, points, states))
        groups = replace(image.groups, lowest=sides[0, 0], highest=sides[1, -1])
        given = replace(image, groups=groups, bounds=sides, **words)
        first = general.run(given, 1)
        done = general.run(given, 4, Mode.CHOICES, first)
        found = done.policy[: points * states].reshape(points, states)
        assert (found >= sides[0]).all()
        assert (found <= sides[1]).all()
        repaired += sum(one.searched for one in done.proven_by)
    assert repaired > 0 or shape in ("narrow", "single")


@pytest.mark.gateware
def test_random_groups_and_scales(general: Pair) -> None:
    """Gateware and model agree on any groups, also of more than four states, and on any constants of the log-sum."""
    rng = np.random.default_rng(5)
    build = general.parameters
    for scale in (0.0, 2.0**-7, 2.0**30, 2.0**55.3, 2.0**57, 2.0**61.9):
        kind = KINDS[int(rng.integers(len(KINDS)))]
        image = product_image(with_alternatives(kind, 3, int(rng.integers(9, build.grid + 1)), 2), 1e-4)
        assert image.groups is not None
        states = image.start.shape[1]
        begins = rng.random(states) < 0.4
        begins[0] = True
        marks = begins * 1 + np.append(begins[1:], True) * 2 + (rng.random(states) < 0.2) * 4
        groups = replace(image.groups, marks=marks.astype(np.int64), shocks=LogSumConstants.of(scale, 0).words)
        wild = rng.integers(-(2**56), 2**56, image.start.shape)
        wild[rng.random(wild.shape) < 0.1] = MINIMUM
        for sweeps in (1, 2, 5):
            general.run(replace(image, start=wild, groups=groups), sweeps)


@pytest.mark.gateware
def test_log_sums_may_leave_the_range(general: Pair) -> None:
    """A log-sum of ``2**63`` or more ends the run as saturated, unless it is computed again."""
    image = product_image(with_alternatives("retirement", 1, general.parameters.grid, 1), 1e-4)
    assert image.groups is not None
    groups = replace(image.groups, shocks=LogSumConstants.of(2.0**61, 0).words)
    start = np.full_like(image.start, MAXIMUM)
    weights = np.zeros_like(image.transition)
    done = general.run(replace(image, start=start, transition=weights, groups=groups), 3)
    assert Status.SATURATED in done.status
    low = replace(image, start=start // 4, transition=weights, groups=groups)
    assert Status.SATURATED not in general.run(low, 3).status


@pytest.mark.gateware
def test_every_age(general: Pair) -> None:
    """Runs age by age have equal bits; every age is proven, and begins from choices of the age after it."""
    build, ages = general.parameters, 3
    both = general.device, ModelDevice(SweepSoftwareMachine(SweepParameters.of(build), logged=True))
    for number, points in enumerate((build.grid, 7)):
        given = [with_cost_by_age(number, points, 2, ages)]
        given += [with_ages(kind, number, points, 2, ages) for kind in KINDS]
        for image in (product_image(one, 1e-6) for one in given):
            gateware, model = (Driver(device).run(image, 1, horizon=ages) for device in both)
            assert_same(gateware, model, clocks_error=0.02)
            assert gateware.sweeps == ages
            assert Status.PROVEN in gateware.status
            assert all(device.read_register("MODE") == Mode.HORIZON | Mode.CHOICES for device in both)


@pytest.mark.gateware
def test_a_configuration_that_cannot_be(plain: Pair) -> None:
    image = plain.drawn(np.random.default_rng(2))
    for sweeps, status in ((2, Status.BAD_CONFIGURATION), (1, Status.LIMIT)):
        assert plain.run(image, sweeps, int(Mode.HORIZON)).status & ~Status.PROVEN == Status.DONE | status


@pytest.mark.gateware
@pytest.mark.parametrize("clocks", [700, 1_100, 1_500])
def test_a_reset_during_a_local_search_leaves_no_state(plain: Pair, clocks: int) -> None:
    """The first sweeps search every state: a reset leaves points of which only some states are searched."""
    image = fixed_point(rbc(grid=plain.parameters.grid, states=plain.parameters.states), 1e-10)
    plain.run(image, 1)
    plain.device.write_register("SWEEP_LIMIT", 5)
    begin = plain.device.clocks_simulated
    plain.device.write_register("COMMAND", Command.RUN)
    while plain.device.clocks_simulated < begin + clocks:
        plain.device.read_register("STATUS")
    plain.device.write_register("COMMAND", Command.RESET)
    plain.run(image, 3)
