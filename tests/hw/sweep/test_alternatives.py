"""Alternatives in the software model, against full search in fixed point; and the unit that combines them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from beltline.host.solver.fixed_point import Image, fixed_point
from beltline.host.solver.product_image import product_image
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.interface.groups import Groups, Mark
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Engine, Mode, Status, Table
from beltline.hw.interface.windows import WindowParameters
from beltline.hw.sweep.combine import CombineParameters
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import ROW_WORDS, SweepParameters
from support.alternatives import KINDS, FullSearch, with_alternatives
from support.costs import with_cost
from support.machines import begun


def machine_of(image: Image, lanes: int = 2, contexts: int = 64, logged: bool = False) -> SweepSoftwareMachine:
    points, states = image.start.shape
    grid = ROW_WORDS * lanes
    while grid < points:
        grid *= 2
    built = max(2, 1 << (states - 1).bit_length())
    build = SweepParameters(grid, built, lanes, proof=True, costs=True, alternatives=True)
    return SweepSoftwareMachine(build, contexts, logged)


def table(machine: SweepSoftwareMachine, image: Image, name: str) -> NDArray[np.int64]:
    words: NDArray[np.int64] = getattr(machine, name)[: image.start.size].reshape(image.start.shape)
    return words


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_every_sweep_is_full_searchs(kind: str, seed: int) -> None:
    """Values and choices of all product states are those of full search; choices with equal objectives may differ."""
    image = product_image(with_alternatives(kind, seed, points=24, states=2), 1e-4)
    machine, search = begun(machine_of(image), image), FullSearch(image)
    ended, ties = False, 0
    poor = table(machine, image, "w") <= image.grid[0]
    assert kind != "default" or poor.any()
    while not ended and machine.sweeps < 40:
        before = table(machine, image, "v").copy()
        ended = machine.step()
        value, choices = search(before)
        assert np.array_equal(table(machine, image, "v"), value), machine.sweeps
        other = (table(machine, image, "policy") != choices) & ~poor
        ties += int(other.sum())
    print(f"{kind} {seed}: {machine.sweeps} sweeps, {ties} choices among equals")
    assert ties == 0
    assert (value[poor & ~image.groups.has(Mark.KEEPS)] == MINIMUM).all()  # type: ignore[union-attr]
    assert Status.INFEASIBLE not in machine.status
    assert not ended or Status.PROVEN in machine.status


def test_the_kinds_have_what_they_are_for() -> None:
    """The random problems include unaffordable states, tables of values, regimes, ``kappa``, lotteries and bounds."""
    images = [product_image(with_alternatives(kind, seed, 24), 1e-4) for kind in KINDS for seed in range(12)]
    forms = [image.products.form for image in images]  # type: ignore[union-attr]
    assert any((image.wealth <= image.grid[0]).any() for image in images)
    assert any(image.groups.has(Mark.KEEPS).any() for image in images)  # type: ignore[union-attr]
    assert {len(form.alternatives) for form in forms} == {1, 2, 3, 4}
    assert {form.shape[0] for form in forms} == {1, 2}
    assert any(image.groups.kappa.any() for image in images)  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", KINDS)
def test_bits_do_not_depend_on_lanes_and_searches(kind: str) -> None:
    image = product_image(with_alternatives(kind, 7, 40), 1e-5)
    first, *others = (
        begun(machine_of(image, lanes, contexts), image) for lanes, contexts in ((1, 16), (2, 64), (4, 32))
    )
    ended = False
    while not ended:
        ended = first.step()
        for other in others:
            assert other.step() == ended
            assert (other.status, other.norm) == (first.status, first.norm)
            for name in ("v", "policy"):
                assert np.array_equal(table(other, image, name), table(first, image, name)), (name, first.sweeps)


def test_problems_without_alternatives_keep_their_bits() -> None:
    """If each state is its own group, bits do not change, and only the unit that takes maxima adds clocks."""
    image = fixed_point(with_cost("jumps", 1), 1e-6)
    build = SweepParameters(128, 4, 2, proof=True, costs=True)
    plain = begun(SweepSoftwareMachine(build, logged=True), image)
    machine = begun(SweepSoftwareMachine(replace(build, alternatives=True), logged=True), image)
    unit = CombineParameters(4)
    assert machine.clocks == plain.clocks + unit.latency
    ended = False
    while not ended:
        ended = plain.step()
        assert machine.step() == ended
        assert np.array_equal(plain.kept, machine.kept)
        assert (machine.status, machine.norm) == (plain.status, plain.norm)
        # A sweep takes these clocks only if its end waits for expectations.
        assert 0 < machine.clocks - plain.clocks <= unit.latency * (plain.sweeps + 1)
    assert np.array_equal(plain.v, machine.v)


def test_a_group_that_can_afford_nothing_is_infeasible_and_a_state_is_not() -> None:
    image = product_image(with_alternatives("retirement", 1, 24), 1e-4)
    assert image.products is not None
    work, retire = (image.products.of(d)[0] for d in (0, 1))
    for states, raised in (((work,), Status(0)), ((work, retire), Status.INFEASIBLE)):
        poor = image.wealth.copy()
        poor[:3, list(states)] = image.grid[0, list(states)]
        machine = begun(machine_of(image), replace(image, wealth=poor))
        while not machine.step():
            pass
        assert machine.status & Status.INFEASIBLE == raised
        assert (table(machine, image, "v")[:3, list(states)] == MINIMUM).all()


def test_values_before_the_first_sweep_may_be_infeasible() -> None:
    image = product_image(with_alternatives("retirement", 1, 24), 1e-4)
    start = image.start.copy()
    start[4] = MINIMUM
    assert begun(machine_of(image), replace(image, start=start)).status == Status.DONE | Status.INFEASIBLE


def test_neither_shifts_nor_evaluation_steps() -> None:
    image = product_image(with_alternatives("default", 1, 24), 1e-4)
    runs = []
    for mode in (0, int(Mode.SHIFT) | 5 << 8):
        machine = machine_of(image)
        begun(machine, image)
        machine.start(*image.start.shape, Mode(mode), 10_000, image.epsilon, image.constants)
        while not machine.step():
            pass
        runs.append((machine.sweeps, machine.status, machine.norm))
    assert runs[0] == runs[1]


def test_the_running_maximum() -> None:
    rng = np.random.default_rng(3)
    words = rng.choice([MINIMUM, MINIMUM + 1, -1, 0, 1, MAXIMUM, 2**32, 2**32 - 1, -(2**32)], (500, 7)).astype(np.int64)
    words[::2] = rng.integers(MINIMUM, MAXIMUM, words[::2].shape)
    for _ in range(20):
        begins = rng.random(7) < 0.4
        begins[0] = True
        ends = np.append(begins[1:], True)
        found, nothing = CombineParameters(7).model(words, begins, ends)
        starts = np.flatnonzero(begins)
        largest = np.maximum.reduceat(words, starts, axis=1)
        assert np.array_equal(found[:, ends], largest)
        assert nothing == bool((largest == MINIMUM).any())
        for first, after in zip(starts, [*starts[1:], 7], strict=True):
            part = slice(first, after)
            assert np.array_equal(found[:, part], np.maximum.accumulate(words[:, part], axis=1))


def test_groups_in_the_second_matrix() -> None:
    groups = Groups(np.array([5, -7, 0]), np.array([3, 5, 2]))
    matrix = groups.matrix(4)
    assert matrix.tolist() == [[5, -7, 0, 0], [3, 5, 2, 0], [0] * 4, [0] * 4]
    back = Groups.of(matrix.view(np.uint64), 3)
    assert np.array_equal(back.kappa, groups.kappa)
    assert np.array_equal(back.marks, groups.marks)
    assert back.has(Mark.KEEPS).tolist() == [False, True, False]


def test_alternatives_are_a_sweep_engines_with_costs() -> None:
    build = MachineParameters(64, 4, engine=Engine.SWEEP, lanes=2, proof=True, costs=True, alternatives=True)
    assert (build.features.alternatives, build.features.shifts, build.features.matrices) == (True, False, 2)
    assert build.reported["ENGINE"] == 5
    assert WindowParameters(build).words(Table.Q) == 32
    assert SweepSoftwareMachine(SweepParameters.of(build)).parameters == build
    for wrong in ({"costs": False}, {"states": 1}):
        sizes = {"grid": 64, "states": 4, "lanes": 2, "proof": True, "costs": True, "alternatives": True} | wrong
        with pytest.raises(ValueError, match="^alternatives of a build must be False without costs, or with 1 state, "):
            MachineParameters(engine=Engine.SWEEP, **sizes)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="^alternatives of a build must be False without costs, or with 1 state$"):
            SweepParameters(**sizes)  # type: ignore[arg-type]
