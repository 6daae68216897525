"""The pass that walks to new choices, against full search."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Cat, Const, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from hw_sweep import MASK, row_writes

from hw.numbers import MINIMUM, WIDTH
from hw.parameters import ROW_WORDS
from hw.pipeline import Pipeline
from hw.ram import READ_LATENCY, Ram
from hw.sweep.parameters import HALF_WORDS, SweepParameters
from hw.sweep.row_buses import RowBuses, RowBusesParameters
from hw.sweep.walk import Walk, WalkParameters
from hw.utility import UtilityConstants, UtilityParameters
from sim.bench import run_bench

OUTPUTS = ("position", "choice", "moved", "kept", "value", "old", "infeasible", "outside")
MONEY, VALUE = 40, 44


CASES = pytest.mark.parametrize(
    ("parameters", "lane", "states", "eta"),
    [
        (WalkParameters(SweepParameters(grid=64, states=1, lanes=1, slots=4), 2), 0, 1, 1.0),
        (WalkParameters(SweepParameters(grid=256, states=4, lanes=2, slots=8), 16), 1, 3, 2.0),
        (WalkParameters(SweepParameters(grid=256, states=2, lanes=8, slots=4), 64), 5, 2, 0.5),
        pytest.param(
            WalkParameters(SweepParameters(grid=32_768, states=2, lanes=64, slots=8), 64),
            40,
            2,
            2.0,
            marks=pytest.mark.slow,
        ),
    ],
    ids=["2-walkers", "16-walkers", "64-walkers", "far"],
)
"""Walks of one lane, and its problem."""


class Probe(wiring.Component):
    """One lane's pass, its memories, the buses and the rows of all lanes. One port writes each kind of memory."""

    def __init__(self, parameters: WalkParameters, lane: int) -> None:
        self.build = parameters.build
        self.lane = lane
        self.walk = Walk(parameters)
        self.buses = RowBusesParameters(self.build, self.build.inner_bits)
        members = dict(self.walk.signature.members.items())
        inner = {name for name in members if name == "fetch" or name.endswith(("_address", "_data"))}
        super().__init__(
            {
                **{name: member for name, member in members.items() if name not in inner},
                "write": In(3),
                "write_lane": In(max(1, self.build.lane_bits)),
                "write_address": In(self.buses.address_bits),
                "write_row": In(ROW_WORDS * WIDTH),
                "state_address": In(self.build.position_bits),
                "state_wealth": In(WIDTH),
                "state_choice": In(self.build.index_bits),
                "state_old": In(WIDTH),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        walk, build = self.walk, self.build
        m.submodules.buses = buses = RowBuses(self.buses)
        m.submodules.walk = walk
        wiring.connect(m, walk.fetch, buses.lanes[self.lane])
        m.d.comb += buses.shift.eq(Const(build.local_bits))
        for number, bank in enumerate(buses.banks):
            # The grid is there once, the expected values once for each exogenous state. A walk asks for halves.
            upper = bank.address[-2]
            data = []
            for table, depth in enumerate((self.buses.address_bits - 2, build.local_bits)):
                m.submodules[f"ram{number}_{table}"] = ram = Ram(ROW_WORDS * WIDTH, 1 << depth)
                m.d.comb += [
                    ram.write.eq(self.write[0] & (self.write_lane == number) & (self.write_address[-1] == table)),
                    ram.write_address.eq(self.write_address[:depth]),
                    ram.write_data.eq(self.write_row),
                    ram.read_address.eq(bank.address[:depth]),
                ]
                data.append(ram.read_data)
            low, high = slice(None, HALF_WORDS * WIDTH), slice(HALF_WORDS * WIDTH, None)
            expected, grid = data
            halves = Mux(
                p.delay(p.input(upper), READ_LATENCY).value,
                Cat(grid[high], expected[high]),
                Cat(expected[low], grid[low]),
            )
            m.d.comb += bank.data.eq(halves)
        addresses = {"wealth": walk.wealth_address, "choice": walk.choice_address, "old": walk.old_address}
        for name, address in addresses.items():
            word = getattr(self, f"state_{name}")
            m.submodules[name] = ram = Ram(len(word), 1 << len(self.state_address))
            m.d.comb += [
                ram.write.eq(self.write[1]),
                ram.write_address.eq(self.state_address),
                ram.write_data.eq(word),
                ram.read_address.eq(address),
                getattr(walk, f"{name}_data").eq(ram.read_data),
            ]
        for name, member in self.signature.members.items():
            if not name.startswith(("write", "state_")):
                outer, inner = getattr(self, name), getattr(walk, name)
                m.d.comb += outer.eq(inner) if member.flow is Out else inner.eq(outer)
        return m


def problem(rng: np.random.Generator, build: SweepParameters, states: int) -> dict[str, Any]:
    """A grid, wealth and concave expected values in fixed point, and every objective by full search."""
    grid, points = build.grid, build.grid // build.lanes
    x = np.cumsum(rng.uniform(0.5, 1.5, grid) * 8 / grid)
    w = np.sort(x[:, None] * rng.uniform(0.9, 1.2, states) + rng.uniform(0.05, 0.5, states), axis=0)
    ev = np.stack([np.log(x * rng.uniform(0.5, 2) + 0.3) * rng.uniform(2, 20) for _ in range(states)], axis=1)
    return {
        "x": np.rint(x * 2.0**MONEY).astype(np.int64),
        "w": np.rint(w * 2.0**MONEY).astype(np.int64),
        "ev": np.rint(ev * 2.0**VALUE).astype(np.int64),
        "points": points,
    }


def best(problem: dict[str, Any], lane: int, constants: UtilityConstants) -> dict[tuple[int, int], tuple[Any, ...]]:
    """``(choice, u, feasible, value)`` of every state of a lane; ``u`` and ``feasible`` of all candidates."""
    found = {}
    for point in range(problem["points"]):
        for s in range(problem["w"].shape[1]):
            wealth = problem["w"][lane * problem["points"] + point, s]
            u, feasible, over = UtilityParameters().model(wealth - problem["x"], constants)
            assert not over.any()
            objectives = [
                int(a) + int(b) if f else None for a, b, f in zip(u, problem["ev"][:, s], feasible, strict=True)
            ]
            able = [o for o in objectives if o is not None]
            top = objectives.index(max(able)) if able else 0
            # With one peak, or the walk need not find the highest.
            assert all((a < b) == (k < top) for k, (a, b) in enumerate(itertools.pairwise(able)))
            found[point, s] = top, u, feasible, max(able) if able else MINIMUM
    return found


def given_walks(walks: list[Any], kinds: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """Walks as the bench reads them: marks, and whether they are cold and of all states."""
    return [{"marks": marks, "cold": cold, "force": force} for marks, (cold, force) in zip(walks, kinds, strict=True)]


@pytest.mark.gateware
@CASES
def test_finds_what_full_search_finds(
    with_shared: Callable[..., dict[str, str]],
    tmp_path: Path,
    parameters: WalkParameters,
    lane: int,
    states: int,
    eta: float,
) -> None:
    build = parameters.build
    rng = np.random.default_rng(build.lanes)
    chance = random.Random(build.lanes)
    constants = UtilityConstants.of(eta, MONEY, VALUE)
    given = problem(rng, build, states)
    points = given["points"]
    expected = best(given, lane, constants)
    writes: list[dict[str, int]] = []
    tables = [(s, given["ev"][:, s]) for s in range(states)] + [(2 << build.state_bits, given["x"])]
    writes += row_writes(build, tables)
    old, guesses = {}, {}
    for position in range(points * states):
        point, s = divmod(position, states)
        guess = expected[point, s][0] + chance.choice((-40, -2, -1, 0, 0, 1, 2, 3, 100))
        guesses[position] = min(max(guess, 0), build.grid - 1)
        old[position] = chance.getrandbits(WIDTH)
        writes.append(
            {
                "write": 2,
                "state_address": position,
                "state_wealth": int(given["w"][lane * points + point, s]) & MASK,
                "state_choice": guesses[position],
                "state_old": old[position],
            }
        )
    walks = [
        [(point, s, int(chance.random() < density)) for point in range(points) for s in range(states)]
        for density in (1.0, 0.3, 0.02, 0.0)
    ]
    walks[2][-1] = (points - 1, states - 1, 1)
    # The first one has no choices, and the last one needs no marks.
    kinds = [(int(k == 0), int(k == len(walks) - 1)) for k in range(len(walks))]
    stimulus, results = tmp_path / "stimulus.json", tmp_path / "results.json"
    part = max(0, (points - 1).bit_length() - parameters.part_bits)
    settings = {
        "points": points,
        "last_state": states - 1,
        "last_index": build.grid - 1,
        "part_shift": part,
        "first_point": lane * points,
        "a": constants.a % 2**64,
        "b": constants.b % 2**72,
        "negative": int(constants.negative),
        "log": int(constants.log),
        "shift": constants.shift,
    }
    stimulus.write_text(json.dumps({"writes": writes, "constants": settings, "walks": given_walks(walks, kinds)}))
    run_bench(
        with_shared(Probe(parameters, lane)),
        "sim.benches.walk",
        parameters={"stimulus": str(stimulus), "results": str(results), "outputs": OUTPUTS},
    )
    for marks, (cold, force), (clocks, found) in zip(walks, kinds, json.loads(results.read_text()), strict=True):
        wanted = sorted(point * states + s for point, s, mark in marks if mark or force)
        assert sorted(row[0] for row in found) == wanted
        for position, choice, moved, kept, value, before, infeasible, outside in found:
            assert cold or moved == (choice != guesses[position])
            top, u, feasible, objective = expected[divmod(position, states)]
            assert choice == top, position
            assert value == objective & MASK
            assert before == old[position]
            assert not infeasible
            assert not outside
            for k, j in enumerate((choice - 1, choice, choice + 1)):
                able = 0 <= j < build.grid and bool(feasible[j])
                assert kept >> (3 * WIDTH + k) & 1 == able, (position, j)
                if able:
                    assert kept >> WIDTH * k & MASK == int(u[j]) & MASK, (position, j)
        if not wanted:
            assert clocks < 6 * parameters.clocks
