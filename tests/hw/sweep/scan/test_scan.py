"""The pass that scans brackets, against full search: every bracket, every result and the clocks of every round."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from beltline.hw.arithmetic.numbers import MAXIMUM
from beltline.hw.arithmetic.utility import UtilityParameters
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from beltline.hw.interface.parameters import SLOTS
from beltline.hw.sweep.clocks import _visits
from beltline.hw.sweep.dealt import Dealt, Round
from beltline.hw.sweep.lane_clocks import NEVER, scan_ends
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.scan.parameters import ScanParameters
from beltline.hw.sweep.search.parameters import SearchParameters
from beltline.sim.cocotb_runner import run_bench
from support.scans import OUTPUTS, Probe
from support.sweeps import MASK, row_writes

AMOUNT, VALUE = 40, 44

SETTLING = 24
"""Number of rounds after which some rounds move no choice."""


@dataclass
class Lane:
    """The problem of one lane, and rounds of the proof in plain Python."""

    build: SweepParameters
    points: int
    states: int
    x: NDArray[np.int64]
    w: NDArray[np.int64]
    ev: NDArray[np.int64]
    constants: UtilityConstants

    def best(self, point: int, s: int, lo: int, hi: int) -> tuple[int | None, bool]:
        """Return the lowest best of these candidates, and whether a word of one of them is out of range."""
        left = [int(self.w[point, s]) - int(x) for x in self.x[lo : hi + 1]]
        excess = [c > MAXIMUM for c in left]
        c = np.array([max(c, -1) & MAXIMUM if big else max(c, -1) for c, big in zip(left, excess, strict=True)])
        u, feasible, over = UtilityParameters().model(c, self.constants)
        able = {lo + k: int(u[k]) + int(self.ev[lo + k, s]) for k in range(hi + 1 - lo) if feasible[k]}
        return min(able, key=lambda j: (-able[j], j), default=None), bool(over.any()) or any(excess)

    def visits(self, divide: bool, odd: bool) -> Iterator[tuple[int, int]]:
        """Return the points in the order of a round, and the distance to their neighbours in it."""
        full = self.build.grid // self.build.lanes
        if not divide:
            yield from ((point, 1) for point in range(int(odd), self.points, 2))
            return
        if odd:
            yield 0, full
            return
        distance = full // 2
        while distance:
            yield from ((point, distance) for point in range(distance, self.points, 2 * distance))
            distance //= 2

    def round(
        self, choices: NDArray[np.int64], below: NDArray[np.int64], above: NDArray[np.int64], divide: bool, odd: bool
    ) -> tuple[list[list[int]], bool, bool, dict[tuple[int, int], tuple[int, int]]]:
        """Update ``choices``; return results, whether choices decrease, whether a word left its range, and brackets."""
        results, crossed, saturated, brackets = [], False, False, {}
        for (point, distance), s in itertools.product(self.visits(divide, odd), range(self.states)):
            own = int(choices[point, s])
            a = int(choices[point - distance, s]) if point >= distance else int(below[s])
            b = int(choices[point + distance, s]) if point + distance < self.points else int(above[s])
            if divide:
                lo, hi = sorted((a, b))
                if lo == own == hi:
                    continue
            else:
                lo, hi = min(a, own, b), max(a, own, b)
                crossed |= not a <= own <= b
                if own - lo <= 1 and hi - own <= 1:
                    continue
            brackets[point, s] = lo, hi
            found, over = self.best(point, s, lo, hi)
            saturated |= over
            choice = own if found is None else found
            results.append([point * self.states + s, point, s, int(choice != own), choice])
            choices[point, s] = choice
        return results, crossed, saturated, brackets


def drawn(rng: np.random.Generator, build: SweepParameters, points: int, states: int, eta: float) -> Lane:
    """Return random tables with many peaks, ties, infeasible candidates and utilities out of range."""
    unit = 2.0**AMOUNT
    x = np.cumsum(rng.integers(1, 5, build.grid)) * int(unit / 8)
    w = rng.choice(x, (points, states)) + rng.integers(-(2**38), 2**39, (points, states))
    w[rng.random(w.shape) < 0.3] = x[-1] + 2**38
    w[rng.random(w.shape) < 0.05] = x[0] - 5
    if eta == 0.5:
        w[rng.random(w.shape) < 0.15] = 2**63 - 1
        x[0] = -(2**40)
    steps = rng.choice([-1.0, 0.0, 1.0, 5.0], (build.grid, states)) * 2.0**VALUE / 8
    ev = np.clip(np.cumsum(steps, axis=0), -(2.0**62), 2.0**62).astype(np.int64)
    # Pairs of neighbours with equal utility and equal expected value.
    for k in range(0, build.grid - 3, 7):
        x[k + 1], ev[k + 1] = x[k], ev[k]
    return Lane(
        build, points, states, x.astype(np.int64), w.astype(np.int64), ev, UtilityConstants.of(eta, AMOUNT, VALUE)
    )


def clocks_of(
    lane: Lane, number: int, one: dict[str, Any], brackets: dict[tuple[int, int], tuple[int, int]], ends: bool
) -> int:
    """Return the clock model's clocks of a round of lane ``number``, without searches from better candidates."""
    grid = lane.build.grid
    lowest, highest = np.full((grid, lane.states), -1), np.zeros((grid, lane.states), np.int64)
    first = number * grid // lane.build.lanes
    for (point, s), bracket in brackets.items():
        lowest[first + point, s], highest[first + point, s] = bracket
    search = SearchParameters(lane.build)
    points = grid if number < lane.build.lanes - 1 else first + lane.points
    dealt = Dealt(search, points, lane.states)
    counts = np.zeros((lane.build.lanes, search.contexts), np.int64)
    probes = np.zeros((counts.size, 0), np.int32)
    cut = slice(None, points)
    moved = np.zeros((points, lane.states), np.bool_)
    kind = bool(one["divide"]), one["odd"], np.full(lane.build.lanes, ends)
    done = Round(*kind, lowest[cut], highest[cut], moved, counts, probes, np.arange(lane.states))
    found = np.full(lane.build.lanes, NEVER)
    latencies = ScanParameters(lane.build).bracket_clocks, ScanParameters(lane.build).result_latency
    scan_ends(*_visits(dealt, done), np.full(lane.build.lanes, -1), *latencies, found)
    return int(found[number])


@pytest.mark.gateware
@pytest.mark.parametrize(
    ("build", "number", "points", "states", "eta"),
    [
        (SweepParameters(grid=64, states=1, lanes=1), 0, 64, 1, 1.0),
        (SweepParameters(grid=256, states=4, lanes=16), 15, 13, 3, 0.5),
    ],
    ids=["alone", "16-lanes"],
)
def test_finds_the_lowest_best_of_every_bracket(
    with_shared: Callable[..., dict[str, str]],
    tmp_path: Path,
    build: SweepParameters,
    number: int,
    points: int,
    states: int,
    eta: float,
) -> None:
    rng = np.random.default_rng(build.lanes)
    lane = drawn(rng, build, points, states, eta)
    top = build.grid - 1
    tables = [(s, lane.ev[:, s]) for s in range(states)] + [(2 << build.state_bits, lane.x)]
    writes: list[dict[str, int]] = row_writes(build, tables)
    choices = np.zeros((points, states), np.int64)
    rounds, wanted, smooth = [], [], False
    still = rises_in_steps = 0
    for k in range(36 + SETTLING):
        divide = k % 6 >= 4 and k < 36
        odd = (k + (k // 6 if divide else 0)) % 2
        spread = (0, 1, 3, top)[k % 4]
        base = np.sort(rng.integers(0, build.grid, (points, states)), axis=0)
        if k % 3 and k < 24:
            # In the other rounds choices are those that the round before has left.
            base = base if k % 3 == 1 else np.minimum(rng.integers(0, top) + np.arange(points)[:, None] * (k % 2), top)
            choices = np.clip(base + rng.integers(-spread, spread + 1, (points, states)), 0, top)
        below, above = rng.integers(0, build.grid, (2, states))
        if k % 4 == 3:
            below[:], above[:] = 0, top
        keeps = k >= 24 and k % 6 != 0
        if 24 <= k < 36:
            # Choices rise by a point at most, or are those of the round before. In every other three rounds, choices
            # of the neighbouring lanes do not fit to them.
            rising = np.minimum(rng.integers(0, 9) + np.cumsum(rng.random((points, states)) < 0.6, axis=0), top)
            choices = choices if keeps else rising
            if k % 6 < 3:
                below, above = choices[0].copy(), choices[-1].copy()
        if k >= 36:
            # If the choices of neighbouring lanes stay, rounds move fewer and fewer choices, and at last none.
            below, above, keeps = np.zeros_like(below), np.full_like(above, top), k > 36
        words = (
            []
            if keeps
            else [
                {"write": 2, "state_address": p * states + s, "state_choice": int(choices[p, s])}
                | {"state_wealth": int(lane.w[p, s]) & MASK}
                for p, s in itertools.product(range(points), range(states))
            ]
        )
        sides = {
            name: sum(int(word) << build.index_bits * s for s, word in enumerate(side))
            for name, side in (("below", below), ("above", above))
        }
        ends = smooth and keeps and not divide
        steps = np.diff(choices, axis=0)
        rises = not ((steps < 0) | (steps > 1)).any()
        ports = {"divide": int(divide), "odd": odd, **sides}
        rounds.append({"writes": words, "ports": ports, "rival": 0.0 if k % 4 else 0.7})
        wanted.append((*lane.round(choices, below, above, divide, bool(odd)), ends))
        moves = any(row[3] for row in wanted[-1][0])
        still = 0 if moves or not keeps else still + 1
        rises_in_steps += still > 1 and not rises and len(wanted[-1][0]) > states
        smooth = ((smooth and keeps) or (rises and not divide)) and not moves
    # Where choices jump, a round after one without changes still checks all states.
    assert rises_in_steps > 0
    constants = lane.constants
    settings = {
        "points": points,
        "states": states,
        "last_state": states - 1,
        "point_shift": build.point_bits,
        "last_position": (points - 1) * states,
        "a": constants.a % 2**64,
        "b": constants.b % 2**72,
        "negative": int(constants.negative),
        "log": int(constants.log),
        "shift": constants.shift,
    }
    stimulus, results = tmp_path / "stimulus.json", tmp_path / "results.json"
    stimulus.write_text(json.dumps({"writes": writes, "constants": settings, "rounds": rounds}))
    run_bench(
        with_shared(Probe(ScanParameters(build), number)),
        "beltline.sim.benches.scan",
        parameters={"stimulus": str(stimulus), "results": str(results), "outputs": OUTPUTS},
    )
    seen, delayed = [0, 0, 0, 0], 0
    for one, (found, crossed, saturated, brackets, ends), got in zip(
        rounds, wanted, json.loads(results.read_text()), strict=True
    ):
        # A result without a better candidate has no new choice.
        assert [row[1 : 5 + row[4]] for row in got["found"]] == [row[: 4 + row[3]] for row in found]
        assert (got["crossed"], got["saturated"]) == (crossed, saturated)
        clocks = clocks_of(lane, number, one["ports"], brackets, ends) + 1
        if one["rival"] == 0 or build.lanes <= SLOTS:
            assert got["end"] == pytest.approx(clocks, rel=0.02, abs=4)
        else:
            delayed += got["end"] - clocks
        seen = [
            a + b for a, b in zip(seen, (len(found), sum(row[3] for row in found), crossed, saturated), strict=True)
        ]
    assert min(seen[:3]) > 5
    assert seen[3] > 0 or eta == 1.0
    assert sum(row[-1] for row in wanted) > 3
    assert delayed > 0 or build.lanes <= SLOTS
