"""Alternatives in the software model, against full search in fixed point; and the unit that combines them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from beltline.host.solver.fixed_point import Image, fixed_point
from beltline.host.solver.product_image import _limits, product_image
from beltline.hw.arithmetic.numbers import MINIMUM
from beltline.hw.interface.groups import Groups, Mark
from beltline.hw.interface.registers import Mode, Status
from beltline.hw.sweep.combine import CombineParameters
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters
from support.alternatives import KINDS, with_alternatives
from support.costs import with_cost
from support.machines import begun, proving_machine


def table(machine: SweepSoftwareMachine, image: Image, name: str) -> NDArray[np.int64]:
    words: NDArray[np.int64] = getattr(machine, name)[: image.start.size].reshape(image.start.shape)
    return words


def test_candidates_that_are_left_out() -> None:
    """What is left out costs as much as the lowest candidate, or more than any state can afford."""
    below, above, forced = 0, 0, 0
    for kind, seed in ((kind, seed) for kind in KINDS for seed in range(6)):
        image = product_image(with_alternatives(kind, seed, 24), 1e-4)
        groups = image.groups
        assert groups is not None
        assert image.products is not None
        poor = _limits(image.products, image.grid, np.zeros_like(image.wealth) + image.grid[0])
        assert np.array_equal(*poor)
        assert np.array_equal(poor[0], groups.lowest)
        for p, (lowest, highest) in enumerate(zip(groups.lowest, groups.highest, strict=True)):
            costs, most = image.grid[:, p], image.wealth[:, p].max()
            assert 0 <= lowest <= highest < 24
            if groups.has(Mark.KEEPS)[p]:
                assert (lowest, highest) == (0, 0)
                continue
            assert (costs[: lowest + 1] == costs[lowest]).all()
            assert highest == lowest or costs[highest] < most
            assert (costs[highest + 1 :] >= most).all()
            below, above, forced = below + (lowest > 0), above + (highest < 23), forced + (lowest == highest > 0)
    assert min(below, above, forced) > 10


def test_every_pass_stays_among_the_candidates() -> None:
    """Choices of a run, also from stored choices elsewhere, are the best among the candidates that the host wrote."""
    rng = np.random.default_rng(8)
    for kind in KINDS:
        image = product_image(with_alternatives(kind, 5, 40), 1e-4)
        # What is left out below costs no less than the lowest candidate, and must promise no more.
        image = replace(image, start=np.maximum.accumulate(image.start))
        groups = image.groups
        assert groups is not None
        lowest = rng.integers(groups.lowest, np.minimum(groups.lowest + 6, groups.highest + 1))
        affordable = image.grid[lowest, np.arange(lowest.size)] < image.wealth.min(axis=0)
        lowest = np.where(affordable, lowest, groups.lowest)
        highest = rng.integers(np.maximum(groups.highest - 9, lowest), groups.highest + 1)
        few = replace(image, groups=replace(groups, lowest=lowest, highest=highest))
        candidates = np.arange(40)[:, None]
        # The same problem, with costs in place of limits.
        grid = np.where(candidates < lowest, image.grid[lowest, np.arange(lowest.size)], image.grid)
        grid = np.where(candidates > highest, np.maximum(image.wealth.max(axis=0), grid), grid)
        whole = replace(image, grid=grid, groups=replace(groups, lowest=0 * lowest, highest=0 * highest + 39))
        ends = []
        for one in (few, whole):
            machine = proving_machine(one)
            machine.policy[: image.start.size] = rng.integers(0, 40, image.start.size)
            begun(machine, one)
            machine.start(*image.start.shape, Mode.CHOICES, 10, image.epsilon, image.constants)
            while not machine.step():
                choices = table(machine, image, "policy")
                assert one is whole or ((lowest <= choices) & (choices <= highest)).all()
            assert Status.PROVEN in machine.status
            ends.append((table(machine, image, "v").copy(), table(machine, image, "policy").copy()))
        (value, choices), (right, best) = ends
        able = (image.wealth > grid[0]) & ~groups.has(Mark.KEEPS)
        assert np.array_equal(value, right)
        assert np.array_equal(choices[able], np.maximum(best, lowest)[able])


@pytest.mark.parametrize("lanes", [1, 2])
def test_problems_without_alternatives_keep_their_bits(lanes: int) -> None:
    """If each state is its own group, bits do not change.

    Only the unit that takes maxima adds clocks, where a single lane does not share the brackets at its ends.
    """
    image = fixed_point(with_cost("jumps", 1), 1e-6)
    build = SweepParameters(128, 4, lanes, proof=True, costs=True)
    plain = begun(SweepSoftwareMachine(build, logged=True), image)
    machine = begun(SweepSoftwareMachine(replace(build, alternatives=True), logged=True), image)
    unit = CombineParameters(4)
    assert machine.clocks == plain.clocks + unit.latency
    ended = False
    while not ended:
        ended = plain.step()
        assert machine.step() == ended
        assert np.array_equal(plain.cached, machine.cached)
        assert (machine.status, machine.norm) == (plain.status, plain.norm)
        # A sweep takes these clocks only if its end waits for expectations.
        assert lanes > 1 or 0 < machine.clocks - plain.clocks <= unit.latency * (plain.sweeps + 1)
    assert np.array_equal(plain.v, machine.v)


def test_a_group_that_can_afford_nothing_is_infeasible_and_a_state_is_not() -> None:
    image = product_image(with_alternatives("retirement", 1, 24), 1e-4)
    assert image.products is not None
    work, retire = (image.products.of(d)[0] for d in (0, 1))
    for states, raised in (((work,), Status(0)), ((work, retire), Status.INFEASIBLE)):
        poor = image.wealth.copy()
        poor[:3, list(states)] = image.grid[0, list(states)]
        machine = begun(proving_machine(image), replace(image, wealth=poor))
        while not machine.step():
            pass
        assert machine.status & Status.INFEASIBLE == raised
        assert (table(machine, image, "v")[:3, list(states)] == MINIMUM).all()


def test_neither_shifts_nor_evaluation_steps() -> None:
    image = product_image(with_alternatives("default", 1, 24), 1e-4)
    runs = []
    for mode in (0, int(Mode.SHIFT) | 5 << 8):
        machine = proving_machine(image)
        begun(machine, image)
        machine.start(*image.start.shape, Mode(mode), 10_000, image.epsilon, image.constants)
        while not machine.step():
            pass
        runs.append((machine.sweeps, machine.status, machine.norm))
    assert runs[0] == runs[1]


def test_groups_in_the_second_matrix() -> None:
    names = ("kappa", "marks", "lowest", "highest")
    words = ([5, -7, 0], [3, 5, 2], [0, 7, 65_535], [65_535, 9, 65_535])
    groups = Groups(*(np.array(row) for row in words))
    rows = groups.rows(4)
    assert rows[0].tolist() == [5, -7, 0, 0]
    assert rows[1].tolist() == [0xFFFF_0000_0003, 0x9_0007_0005, 0xFFFF_FFFF_0002, 0]
    back = Groups.of(np.concatenate([rows, rows + 1]).view(np.uint64), 3)
    for name, row in zip(names, words, strict=True):
        assert getattr(back, name).tolist() == row
    assert back.has(Mark.KEEPS).tolist() == [False, True, False]
