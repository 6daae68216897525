"""The proofs of the sweep engine in gateware against its software model: every word, every counter, every clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from beltline.host.models.rbc import rbc
from beltline.host.solver.fixed_point import fixed_point
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import PROVING_ENGINE, STEPS_FIELD, Command, Engine, Mode, Status, Table
from beltline.hw.sweep.intervals import FEWEST
from support.machines import opened
from support.pairs import Pair
from support.peaks import KINDS, FullSearch, savings

pytestmark = pytest.mark.gateware

SIZES = [
    pytest.param((2, 32, 4)),
    pytest.param((1, 16, 1), marks=pytest.mark.slow),
    pytest.param((4, 64, 4), marks=pytest.mark.slow),
    pytest.param((16, 128, 2), marks=pytest.mark.slow),
    pytest.param((32, 256, 2), marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=SIZES, ids="{0[0]}-lanes".format)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    lanes, grid, states = request.param
    parameters = MachineParameters(grid=grid, states=states, engine=Engine.SWEEP, lanes=lanes, proof=True)
    for device in opened(parameters):
        assert device.read_register("ENGINE") == PROVING_ENGINE
        yield Pair(device, parameters)


@pytest.mark.parametrize("kind", KINDS)
def test_problems_of_several_peaks_after_every_sweep(pair: Pair, kind: str) -> None:
    """Gateware and model agree after every sweep in all kinds of lanes, and the last choices are full search's."""
    build = pair.parameters
    repaired = 0
    sizes = (build.grid, 3), (build.grid - 5, 2), (build.grid // 2 + 1, 4), (7, 1)
    for seed, (grid, states) in enumerate(sizes):
        image = fixed_point(savings(kind, seed % 2, grid, min(states, build.states)), 1e-6)
        runs = [pair.run(image, sweeps) for sweeps in (1, 2, 5, 6)]
        assert all(Status.PROVEN in done.status for done in runs)
        repaired += sum(one.searched for one in runs[-1].proven_by)
        words = runs[-2].v, runs[-1].policy
        last, choices = (table[: image.start.size].reshape(image.start.shape) for table in words)
        assert np.array_equal(choices, FullSearch(image)(last, choices).choices)
    assert repaired > 0 or kind in ("fixed cost", "increasing returns") or build.states == 1


def test_the_norm_is_that_of_repaired_values(pair: Pair) -> None:
    """The norm is that of repaired values, of which those fall most that no state can afford to choose, all with equal
    wealth.

    Searches from different candidates end on different peaks, and a value on a lower peak falls further.
    """
    build = pair.parameters
    repaired = 0
    for seed, kind in enumerate(("floor", "jumps")):
        image = fixed_point(savings(kind, seed, build.grid, build.states), 1e-6)
        richest = 3 * build.grid // 4
        image.wealth[:] = np.minimum(image.wealth, image.grid[richest])
        start = np.random.default_rng(seed).integers(-4, 5, image.start.shape) * round(0.25 / image.value_unit)
        start[richest:] = round(20.0 / image.value_unit)
        for sweeps in (1, 2):
            done = pair.run(replace(image, start=start), sweeps)
            repaired += sum(one.searched for one in done.proven_by)
    assert repaired > 0


def test_random_values(pair: Pair) -> None:
    """Gateware and model agree on random values, on which local searches end on any of many peaks and rounds use divide
    and conquer.
    """
    rng = np.random.default_rng(5)
    divided = 0
    for _ in range(6):
        image = pair.drawn(rng)
        wild = np.round(rng.integers(-(2**58), 2**58, image.start.shape) / 2**57).astype(np.int64) * 2**50
        for sweeps in (1, 2, 4):
            done = pair.run(replace(image, start=wild), sweeps)
            divided += sum(one.divided for one in done.proven_by)
    assert divided > 0


def test_whole_solve_with_shifts_and_evaluation_steps(pair: Pair) -> None:
    build = pair.parameters
    image = fixed_point(rbc(grid=build.grid // 2 + 3, states=build.states), 1e-6)
    for mode in (
        Mode(0),
        Mode.SHIFT,
        Mode.SHIFT | 3 << STEPS_FIELD.start,
        2 << STEPS_FIELD.start,
        Mode.PEAKS,
        Mode.SPARSE,
        Mode.SPARSE | Mode.SHIFT,
        Mode.SPARSE | Mode.SHIFT | 3 << STEPS_FIELD.start,
    ):
        for sweeps in (2, 5):
            pair.run(image, sweeps, mode)
        done = pair.run(image, 10_000, mode)
        assert done.status == Status.DONE | Status.CONVERGED | Status.PROVEN
    # The last sweep maximises, because a policy evaluation step at the limit would prove nothing.
    assert Status.PROVEN in pair.run(image, 3, 5 << STEPS_FIELD.start).status


@pytest.mark.parametrize("kind", KINDS)
def test_runs_in_which_few_sweeps_are_proven(pair: Pair, kind: str) -> None:
    """Gateware and model agree in sweeps with a proof and without one, and the last choices are full search's."""
    build = pair.parameters
    for seed, (grid, states) in enumerate(((build.grid, 3), (build.grid - 5, 2), (7, 1))):
        image = fixed_point(savings(kind, seed, grid, min(states, build.states)), 1e-6)
        for sweeps in (1, 2, 3, 12, 24):
            done = pair.run(image, sweeps, Mode.SPARSE)
            assert Status.PROVEN in done.status
        assert [one.rounds > 0 for one in done.proven_by][:12] == [True, *FEWEST * [False], True, False]
        done = pair.run(image, 10_000, Mode.SPARSE)
        assert done.status == Status.DONE | Status.CONVERGED | Status.PROVEN
        assert sum(one.rounds > 0 for one in done.proven_by) <= done.sweeps // 4 + 3
        again = pair.loaded(image)
        again.start(*image.start.shape, Mode.SPARSE, 10_000, image.epsilon, image.constants)
        while again.sweeps < done.sweeps - 1:
            again.step()
        before, choices = (table[: image.start.size].reshape(image.start.shape) for table in (again.v, done.policy))
        assert np.array_equal(choices, FullSearch(image)(before, choices).choices)


@pytest.mark.parametrize("kind", ["floor", "jumps"])
def test_a_run_begins_from_the_choices_of_the_last_one(pair: Pair, kind: str) -> None:
    build = pair.parameters
    image = fixed_point(savings(kind, 1, build.grid, build.states), 1e-6)
    evaluations = []
    for mode in (Mode(0), Mode.CHOICES):
        after = pair.run(image, 40)
        following = pair.run(image, 1, mode, after)
        evaluations.append(following.evaluations[0])
        pair.run(image, 4, mode, following)
    assert evaluations[1] < evaluations[0] or build.grid == 16
    # The choices of another size are other states', and need not be on the grid; all of them are proven or repaired.
    small = fixed_point(savings(kind, 2, 7, build.states), 1e-6)
    steep = np.zeros_like(image.start) + np.arange(build.grid)[:, None] * round(0.25 / image.value_unit)
    after = pair.run(replace(image, wealth=image.wealth + image.grid[-1], start=steep), 1)
    assert after.policy[: small.start.size].min() >= 7
    assert Status.PROVEN in pair.run(small, 3, Mode.CHOICES, after).status


def test_states_that_can_afford_nothing_and_values_out_of_range(pair: Pair) -> None:
    image = fixed_point(savings("jumps", 3, pair.parameters.grid, pair.parameters.states), 1e-6)
    image.wealth[:3, 0] = image.grid[0]
    assert pair.run(image, 3).status == Status.DONE | Status.INFEASIBLE
    image = fixed_point(savings("jumps", 3, pair.parameters.grid, pair.parameters.states), 1e-6)
    image.wealth[:] = 2**62 + 2**61
    image.grid[0] = -(2**62)
    assert Status.SATURATED in pair.run(image, 3).status


def test_values_stay_where_a_run_ends_or_is_broken_off(pair: Pair) -> None:
    """A run begins from the values that the run before left, after one sweep, after two, and after a reset."""
    device, build = pair.device, pair.parameters
    image = fixed_point(savings("uneven", 1, build.grid, build.states), 1e-6)
    for sweeps in (1, 2):
        done = pair.run(image, sweeps)
        left = done.v[: image.start.size].reshape(image.start.shape).copy()
        device.write_register("COMMAND", int(Command.RESET))
        following = pair.run(replace(image, start=left), 1)
        pair.run(image, sweeps)
        device.write_register("SWEEP_LIMIT", 1)
        device.write_register("COMMAND", int(Command.RUN))
        while not device.wait(0.5):
            pass
        layout = pair.layout(*image.start.shape)
        for block in layout.blocks(Table.V):
            read = device.read_block(Table.V, block.window, block.count)
            assert np.array_equal(read, following.v[block.table : block.table + block.count])
