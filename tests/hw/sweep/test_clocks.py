"""The sweep engine's software model against its gateware: every word and every clock, with one peak or with many."""

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
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.lane_clocks import Dealt, LaneClocks, SweepLog, lane_clocks
from beltline.hw.sweep.search.handed import HANDED_CLOCKS
from beltline.hw.sweep.search.parameters import SearchParameters
from beltline.hw.sweep.software_passes import _search_handed, limits_of, search_all, whole_grid
from beltline.sim.cocotb_runner import run_bench
from support.local_searches import (
    CASES,
    OUTPUTS,
    Probe,
    alone,
    any_marks,
    cached_word,
    given_searches,
    handed,
    on_grid,
)
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


def clocks_of(log: SweepLog, begin: int, lane: int) -> LaneClocks:
    """Return the clocks of a lane whose local search begins in clock ``begin``, long after its check, if it has one."""
    lanes = log.dealt.search.build.lanes
    if log.unchecked[lane]:
        return lane_clocks(log, np.full(lanes, begin), results=True)
    # Its check begins with the simulation.
    checked = lane_clocks(log, np.zeros(lanes, np.int64)).checked[lane]
    aligned = begin - READ_LATENCY if log.dealt.search.build.hands else begin
    return lane_clocks(log, np.zeros(lanes, np.int64), aligned - int(checked), results=True)


@CASES
def test_every_local_search_and_the_clock_of_every_result(
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
    failed = {}
    for position in range(points * states):
        point, s = divmod(position, states)
        at = lane * points + point, s
        choice = int(last[at])
        u, feasible, _ = UtilityParameters().model(w[at] - x, constants)
        utilities = on_grid(u, feasible, choice, grid)
        before[at] = [INFEASIBLE if one is None else one for one in utilities]
        around = (min(max(choice + k, 0), grid - 1) for k in (-1, 0, 1))
        failed[point, s] = handed(position, choice, utilities, [ev[j, s] for j in around])
        writes.append(
            {
                "write": 2,
                "state_address": position,
                "state_wealth": int(w[at]) & MASK,
                "state_choice": choice,
                "state_old": position,
                **({"state_cached": cached_word(utilities, chance)} if build.hands else {}),
            }
        )

    def hands_on(point: int, s: int) -> list[int] | None:
        return failed[point, s]

    def work(at: tuple[int, int]) -> int:
        """Return the evaluations of a search from what the check knows."""
        whole = lane * points + at[0], at[1]
        given = w[whole], x, ev, at[1], constants.words, limits_of(whole_grid(grid, states), 0)
        return int(_search_handed(*given, last[whole], before[whole], np.zeros(0, np.int32), 0)[5])

    # The first pass has no choices yet, and its moves do not guide the next; the last pass searches all states.
    kinds = [(1, 1), (0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (0, 1)]
    searches = []
    for number, density in enumerate((1.0, 1.0, 0.3, 0.02, 0.0, 0.7, 1.0, 0.2)):
        marks = any_marks(build, points, states, hands_on, density, kinds[number][1], chance)
        if number == 6 or (build.hands and not density):
            # All searches but one have nothing to do, and this one has little.
            quickest = min((at for at in failed if failed[at]), key=work)
            marks = alone(marks, quickest)
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
    given_passes = given_searches(build, searches, kinds, waits, parameters.clocks)
    stimulus.write_text(json.dumps({"writes": writes, "constants": settings, "searches": given_passes}))
    run_bench(
        with_shared(Clocked(Probe(parameters, lane))),
        "beltline.sim.benches.local_search",
        parameters={
            "stimulus": str(stimulus),
            "results": str(results),
            "outputs": [*OUTPUTS, "clock", "began"],
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
        checked = np.full(build.lanes, build.hands and not force)
        tables_given = dealt, x, w, ev, constants, searched, guesses, choices, cached, value, moves
        done = search_all(*tables_given, bool(cold), 20_000, handed=checked)
        assert done.counts.max() <= done.probes.shape[1]
        # A pass without a result does not report its start, which is 200 clocks and its marks after the previous end.
        begin = found[0][-1] if found else end + 200 + len(marks) + HANDED_CLOCKS - 2 + wait
        end = begin + 1 + clocks
        log = SweepLog(dealt, last, searched, done.counts, done.probes, ~checked)
        lanes = clocks_of(log, begin, lane)
        assert lanes.ends[lane] - begin - 1 == clocks
        assert len(found) == searched.sum()
        for position, choice, moved, words, result, old, infeasible, outside, clock, began in found:
            at = lane * points + position // states, position % states
            assert searched[at]
            assert (choice, old, began) == (choices[at], position, begin)
            assert cold or moved == (choice != last[at])
            assert result == int(value[at]) & MASK
            assert clock == lanes.found[at]
            for k, u in enumerate(cached[at].tolist()):
                assert words >> (3 * WIDTH + k) & 1 == (u != INFEASIBLE), (position, k)
                assert u == INFEASIBLE or words >> WIDTH * k & MASK == u & MASK
            assert bool(infeasible) == (cached[at][1] == INFEASIBLE)
            assert not infeasible or value[at] == MINIMUM
            seen.add((bool(infeasible), bool(outside)))
    assert seen == {(False, False), (True, False)} | ({(False, True)} if eta <= 1 else set())
