"""The budget of a proof's clocks: what its terms count, by hand and by brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from beltline.host.models.rbc import rbc
from beltline.host.solver.fixed_point import fixed_point
from beltline.hw.arithmetic.evaluator import EvaluatorParameters
from beltline.hw.sweep.clocks import Dealt
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.proof import Round
from beltline.hw.sweep.proof_clocks import WIDE, _of_candidates, proof_clocks
from beltline.hw.sweep.walk.parameters import WalkParameters
from support.machines import begun

POINTS, STATES, LANES = 128, 2, 4
DEALT = Dealt(WalkParameters(SweepParameters(POINTS, STATES, LANES)), POINTS, STATES)
CHECKED, UNCHECKED = np.zeros(LANES, np.bool_), np.ones(LANES, np.bool_)


def idle() -> Round:
    shape = (POINTS, STATES)
    nothing, no = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
    probes = np.zeros((LANES * DEALT.walk.contexts, 0), np.int32)
    counts = np.zeros((LANES, DEALT.walk.contexts), np.int64)
    return Round(nothing, nothing.copy(), no, no.copy(), 1, counts, probes, 0)


def clocks(one: Round, unchecked: np.ndarray = UNCHECKED) -> int:
    return proof_clocks(DEALT, [one], unchecked)


def test_a_round_without_brackets_is_a_meeting_of_the_lanes() -> None:
    assert clocks(idle()) == clocks(idle(), CHECKED) == 3 + 2


def test_narrow_brackets_take_their_lanes_time() -> None:
    def of(*brackets: tuple[int, int]) -> int:
        one = idle()
        for point, width in brackets:
            one.widths[point, 0] = width
        return clocks(one)

    base = of((40, 1))
    assert of((40, 11)) == base + 20
    assert of((40, 1), (41, 1)) == base + 4
    # Another lane works at the same time.
    assert of((40, 1), (70, 1)) == base
    one = idle()
    one.widths[40, 0] = 1
    one.cuts[40, 0] = True
    assert clocks(one) == base + EvaluatorParameters().latency


def test_wide_brackets_are_shared_by_the_lanes_of_their_candidates() -> None:
    def of(lowest: int, width: int) -> int:
        one = idle()
        one.lowest[40, 1], one.widths[40, 1] = lowest, width
        return clocks(one)

    # Lanes of 32 points: three of them hold 70 candidates from number 0 on, at most 32 each.
    base = of(0, WIDE + 6) - 32
    assert of(0, POINTS) == base + 32
    assert of(16, 80) == base + 32
    assert of(31, 65) == base + 32


def test_candidates_are_counted_where_they_are() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        lowest = rng.integers(0, POINTS, 9)
        widths = np.array([rng.integers(0, POINTS - low + 1) for low in lowest])
        wanted = np.zeros(LANES, np.int64)
        for low, width in zip(lowest, widths, strict=True):
            for candidate in range(low, low + width):
                wanted[candidate // 32] += 1
        assert _of_candidates(DEALT, lowest, widths).tolist() == wanted.tolist()


def test_ends_of_the_grid_hide_behind_the_check() -> None:
    one = idle()
    one.lowest[-1], one.widths[-1] = 10, 110
    # 64 states of a lane are checked meanwhile, and it has 2 * 32 candidates at most.
    hidden, shown = clocks(one, CHECKED), clocks(one)
    assert shown == hidden + 64
    # Only in the first round.
    both = proof_clocks(DEALT, [one, one], CHECKED)
    assert both == hidden + shown
    first = replace(idle(), lowest=one.lowest[::-1].copy(), widths=one.widths[::-1].copy())
    assert clocks(first, CHECKED) == hidden


def test_divide_and_conquer_is_a_pass_a_distance() -> None:
    assert clocks(replace(idle(), levels=8)) == 8 * 5


@pytest.mark.parametrize("lanes", [1, 4])
def test_the_proof_of_a_single_peak_costs_less_than_a_tenth(lanes: int) -> None:
    image = fixed_point(rbc(grid=1024), 1e-6)
    build = SweepParameters(1024, 4, lanes, 4, proof=True)
    machine = begun(SweepSoftwareMachine(build, logged=True), image)
    while not machine.step():
        pass
    share = sum(one.clocks for one in machine.proven_by) / machine.clocks
    print(f"{lanes} lanes: {share:.1%} of {machine.clocks:,} clocks")
    assert 0.005 < share < 0.1
