"""Costs, alternatives, firms and bounds in the software model: tables, candidates, and the ends of the range."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from beltline.host.solver.fixed_point import Image
from beltline.host.solver.product_image import _limits, product_image
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.interface.groups import Groups, Mark
from beltline.hw.interface.layout import Layout, Words
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Engine, Mode, Status, Table
from beltline.hw.interface.windows import WindowParameters
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.software_proof import divide_all
from support.alternatives import KINDS, with_alternatives
from support.bounds import BOUNDED, bounded
from support.firms import SCALES, firm
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


def test_costs_lie_by_point_and_built_state() -> None:
    build = MachineParameters(64, 8, engine=Engine.SWEEP, lanes=2, general=True)
    # The second half has the bounds.
    assert WindowParameters(build).words(Table.X) == 2 * 64 * 8
    assert Layout(build, 64, 3).blocks(Table.X) == (Words(0, 0, 512),)
    # Sixteen points per lane; the second lane has only four.
    assert Layout(build, 20, 3).blocks(Table.X) == (Words(0, 0, 128), Words(256, 128, 32))
    assert Layout(build, 20, 3).blocks(Table.W) == (Words(0, 0, 48), Words(256, 48, 12))
    assert Layout(build, 20, 3).bounds == (Words(512, 0, 48), Words(768, 48, 12))


def image_of(kind: str, seed: int, points: int = 24, states: int = 2) -> Image:
    scale = 1.0 if kind == "linear" else SCALES[seed % len(SCALES)]
    return product_image(firm(kind, seed, points, states), 1e-4 * scale)


def test_amounts_at_the_ends_of_the_range() -> None:
    """A dividend of -2**63 or less is infeasible, one of 2**63 or more ends the run, and none else is a limit."""
    image = image_of("random firm", 0)
    cheapest = np.zeros_like(image.grid)
    for wealth, cost, status in (
        (0, -MAXIMUM, Status(0)),
        (MINIMUM + 1, 0, Status(0)),
        (MINIMUM, 0, Status.INFEASIBLE),
        (-2, MAXIMUM, Status.INFEASIBLE),
        (-1, MAXIMUM, Status.INFEASIBLE),
        (0, MAXIMUM, Status(0)),
        (1, -MAXIMUM, Status.SATURATED),
        (MAXIMUM, MINIMUM, Status.SATURATED),
    ):
        given = replace(
            image,
            wealth=0 * image.wealth + wealth,
            grid=cheapest + cost,
            start=0 * image.start,
            transition=0 * image.transition,
        )
        assert given.groups is not None
        given = replace(given, groups=replace(given.groups, kappa=0 * given.groups.kappa))
        machine = begun(proving_machine(given, 2), given, sweep_limit=1)
        machine.step()
        assert machine.status & (Status.SATURATED | Status.INFEASIBLE) == status, (wealth, cost)
        if not status:
            assert (machine.v[: image.start.size] == wealth - cost).all()


def drawn(seed: int, most: int = 24) -> Image:
    """Return the image of a problem with up to ``most`` points."""
    rng = np.random.default_rng([21, seed])
    kind, points = BOUNDED[seed % len(BOUNDED)], int(rng.integers(8, most + 1))
    return product_image(bounded(kind, seed, points, 1 if kind == "firing" else int(rng.integers(1, 4))), 1e-4)


def test_division_stays_within_bounds() -> None:
    """From any choices within bounds, divide and conquer evaluates and finds only candidates of each state's own."""
    cut = 0
    for seed in range(40):
        image = drawn(3 * seed + 1)
        if image.bounds is None:
            continue
        rng = np.random.default_rng(seed)
        rows, states = image.start.shape
        low, high = image.bounds
        choices = np.sort(rng.integers(0, rows, (rows, states)), axis=0).clip(low, high)
        ev = rng.integers(-(2**50), 2**50, (rows, states))
        tables = np.ascontiguousarray(image.grid.T), image.wealth, ev, image.constants.words, image.bounds
        for firsts in (True, False):
            before = choices.copy()
            lowest, highest = np.full((rows, states), -1), np.full((rows, states), -1)
            moved, flags = np.zeros((rows, states), np.bool_), np.zeros(rows, np.uint8)
            divide_all(*tables, 3, firsts, choices, lowest, highest, moved, flags)
            seen = lowest >= 0
            assert (lowest >= low)[seen].all()
            assert (highest <= high)[seen].all()
            assert (choices >= low).all()
            assert (choices <= high).all()
            cut += int((moved & (choices != before)).any())
    assert cut > 20
