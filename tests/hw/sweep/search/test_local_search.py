"""The local search against its software model: every word, with one peak or with many, and its clocks."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import Out

from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM, WIDTH
from beltline.hw.arithmetic.objective import INFEASIBLE
from beltline.hw.arithmetic.utility import UtilityParameters
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from beltline.hw.sweep.dealt import Dealt
from beltline.hw.sweep.lane_clocks import NEVER, search_ends
from beltline.hw.sweep.row_buses import RowBusesParameters
from beltline.hw.sweep.search.halves import UNLOAD_CLOCKS
from beltline.hw.sweep.search.marks import MARKS_CLOCKS
from beltline.hw.sweep.search.parameters import SearchParameters
from beltline.hw.sweep.software_passes import search_all
from beltline.sim.cocotb_runner import run_bench
from support.local_searches import CASES, OUTPUTS, Probe, on_grid
from support.streams import Enclosed
from support.sweeps import MASK, row_writes

pytestmark = pytest.mark.gateware


class Clocked(Enclosed):
    """The unit with a counter of clocks and a register with the clock in which ``start`` was last high."""

    def __init__(self, probe: Probe) -> None:
        super().__init__(probe, clock=Out(32), began=Out(32))

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.sync += self.clock.eq(self.clock + 1)
        with m.If(self.start):
            m.d.sync += self.began.eq(self.clock)
        return m


def tables(rng: np.random.Generator, grid: int, states: int, eta: float) -> tuple[np.ndarray, ...]:
    """Return ``X, W, EV`` with many peaks, ties, infeasible candidates and objectives out of range."""
    unit = 2.0**40
    x = np.cumsum(rng.integers(1, 5, grid)) * int(unit / 8)
    w = rng.choice(x, (grid, states)) + rng.integers(-(2**38), 2**39, (grid, states))
    w[: grid // 2] = np.where(rng.random(w[: grid // 2].shape) < 0.5, x[-1] + 2**38, w[: grid // 2])
    w[rng.random(w.shape) < 0.1] = x[0] - 5
    constants = UtilityConstants.of(eta, 40, 44)
    level = rng.choice([2.0**40, 2.0**45, 2.0**62], states)
    steps = rng.choice([-1.0, 0.0, 1.0, 5.0], (grid, states)) * level / 8
    ev = np.clip(np.cumsum(steps, axis=0), -(2.0**62.9), 2.0**62.9).astype(np.int64)
    if eta <= 1:
        # The utility of large consumption is positive, so some of these objectives exceed the range.
        ev[3 * grid // 4 :, 0] = MAXIMUM - rng.integers(0, 2**44, grid - 3 * grid // 4)
    return x.astype(np.int64), w.astype(np.int64), ev, constants


@CASES
def test_every_local_search(
    with_shared: Callable[..., dict[str, str]],
    tmp_path: Path,
    parameters: SearchParameters,
    lane: int,
    states: int,
    eta: float,
) -> None:
    build = parameters.build
    rng = np.random.default_rng(40 + build.lanes)
    chance = random.Random(build.lanes)
    points, grid = build.grid // build.lanes, build.grid
    x, w, ev, constants = tables(rng, grid, states, eta)
    last = np.where(rng.random((grid, states)) < 0.5, np.arange(grid)[:, None], rng.integers(0, grid, (grid, states)))
    writes: list[dict[str, int]] = []
    writes += row_writes(build, [(s, ev[:, s]) for s in range(states)] + [(2 << build.state_bits, x)])
    before = np.full((grid, states, 3), INFEASIBLE, np.int64)
    for position in range(points * states):
        point, s = divmod(position, states)
        at = lane * points + point, s
        choice = int(last[at])
        u, feasible, _ = UtilityParameters().model(w[at] - x, constants)
        utilities = on_grid(u, feasible, choice, grid)
        before[at] = [INFEASIBLE if one is None else one for one in utilities]
        writes.append(
            {
                "write": 2,
                "state_address": position,
                "state_wealth": int(w[at]) & MASK,
                "state_choice": choice,
                "state_old": position,
            }
        )

    # The first pass has no choices yet, and its moves do not guide the next; the last pass searches all states.
    kinds = [(1, 1), (0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (0, 1)]
    searches = []
    for number, density in enumerate((1.0, 1.0, 0.3, 0.02, 0.0, 0.7, 1.0, 0.2)):
        marks = [[point, s, int(chance.random() < density)] for point in range(points) for s in range(states)]
        if number == 6:
            # All searches but one have nothing to do.
            marks = [[point, s, int((point, s) == (points // 2, states - 1))] for point, s, _ in marks]
        searches.append(marks)
    waits = [chance.randrange(70) for _ in searches]
    settings = {
        "points": points,
        "last_state": states - 1,
        "last_index": grid - 1,
        "part_shift": Dealt(parameters, grid, states).part_shift,
        "first_point": lane * points,
        "a": constants.a % 2**64,
        "b": constants.b % 2**72,
        "negative": int(constants.negative),
        "log": int(constants.log),
        "shift": constants.shift,
    }
    stimulus, results = tmp_path / "stimulus.json", tmp_path / "results.json"
    given_passes = [
        {"marks": marks, "cold": cold, "force": force, "wait": wait}
        for marks, (cold, force), wait in zip(searches, kinds, waits, strict=True)
    ]
    stimulus.write_text(json.dumps({"writes": writes, "constants": settings, "searches": given_passes}))
    run_bench(
        with_shared(Clocked(Probe(parameters, lane))),
        "beltline.sim.benches.local_search",
        parameters={
            "stimulus": str(stimulus),
            "results": str(results),
            "outputs": [*OUTPUTS, "began"],
        },
    )
    seen, end = set(), 0
    moves = np.zeros((build.lanes, parameters.contexts), np.int64)
    passes = zip(searches, kinds, waits, json.loads(results.read_text()), strict=True)
    for marks, (cold, force), wait, (clocks, found) in passes:
        searched = np.zeros((grid, states), np.bool_)
        for point, s, mark, *_ in marks:
            searched[lane * points + point, s] = mark or force
        dealt = Dealt(parameters, grid, states)
        choices, cached, value = last.copy(), before.copy(), np.zeros_like(last)
        guesses = np.arange(grid).repeat(states).reshape(last.shape) if cold else last
        tables_given = dealt, x, w, ev, constants, searched, guesses, choices, cached, value, moves
        done = search_all(*tables_given, bool(cold), 20_000)
        assert done.counts.max() <= done.probes.shape[1]
        # A pass without a result does not report its start, which is 200 clocks and its marks after the previous end.
        begin = found[0][-1] if found else end + 200 + len(marks) + MARKS_CLOCKS - 1 + wait
        end = begin + 1 + clocks
        begins = np.where(np.arange(build.lanes) == lane, begin if searched.any() else NEVER, NEVER)
        ends = np.full(build.lanes, NEVER)
        sizes = dealt.lane_shift, dealt.part_shift, build.state_bits
        fetch = RowBusesParameters(build, build.inner_bits).latency + UNLOAD_CLOCKS
        around = parameters.clocks, parameters.decided
        search_ends(searched, done.counts, done.probes, sizes, around, begins, fetch, ends)
        if searched.any():
            assert clocks == pytest.approx(ends[lane] - begin, rel=0.02, abs=4)
        assert len(found) == searched.sum()
        for position, choice, moved, words, result, old, infeasible, outside, began in found:
            at = lane * points + position // states, position % states
            assert searched[at]
            assert (choice, old, began) == (choices[at], position, begin)
            assert cold or moved == (choice != last[at])
            assert result == int(value[at]) & MASK
            for k, u in enumerate(cached[at].tolist()):
                assert words >> (3 * WIDTH + k) & 1 == (u != INFEASIBLE), (position, k)
                assert u == INFEASIBLE or words >> WIDTH * k & MASK == u & MASK
            assert bool(infeasible) == (cached[at][1] == INFEASIBLE)
            assert not infeasible or value[at] == MINIMUM
            seen.add((bool(infeasible), bool(outside)))
    assert seen == {(False, False), (True, False)} | ({(False, True)} if eta <= 1 else set())
