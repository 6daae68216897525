"""A lane's local search with its memories, the buses and the rows of all lanes, for tests of units and of clocks."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from amaranth.hdl import Cat, Const, Module, Mux, Shape
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.evaluator import OBJECTIVE_BITS
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.interface.parameters import ROW_WORDS
from beltline.hw.memory.ram import READ_LATENCY, Ram
from beltline.hw.sweep.check import CACHED_BITS
from beltline.hw.sweep.parameters import HALF_WORDS, SweepParameters
from beltline.hw.sweep.row_buses import RowBuses, RowBusesParameters
from beltline.hw.sweep.search.handed import known_ports
from beltline.hw.sweep.search.local_search import LocalSearch
from beltline.hw.sweep.search.parameters import SearchParameters
from support.sweeps import MASK

Hands = Callable[[int, int], list[int] | None]
"""What a check hands on about a point and exogenous state."""

OUTPUTS = ("position", "choice", "moved", "cached", "value", "old", "infeasible", "outside")


CASES = pytest.mark.parametrize(
    ("parameters", "lane", "states", "eta"),
    [
        (SearchParameters(SweepParameters(grid=256, states=4, lanes=2, slots=8), 16), 1, 3, 2.0),
        (SearchParameters(SweepParameters(grid=512, states=1, lanes=2, slots=4), 4), 1, 1, 1.0),
        *(
            pytest.param(SearchParameters(build, contexts), lane, build.states, eta, marks=pytest.mark.slow)
            for build, contexts, lane, eta in (
                (SweepParameters(grid=64, states=1, lanes=1, slots=4), 2, 0, 1.0),
                (SweepParameters(grid=256, states=2, lanes=8, slots=4), 64, 5, 0.5),
                (SweepParameters(grid=32_768, states=2, lanes=64, slots=8), 64, 40, 2.0),
            )
        ),
    ],
    ids=["16-contexts", "long-parts", "2-contexts", "64-contexts", "far"],
)
"""Local searches of one lane, and its problem."""


class Probe(wiring.Component):
    """One lane's pass, its memories, the buses and the rows of all lanes. One port writes each kind of memory."""

    def __init__(self, parameters: SearchParameters, lane: int) -> None:
        self.build = parameters.build
        self.lane = lane
        self.search = LocalSearch(parameters)
        self.buses = RowBusesParameters(self.build, self.build.inner_bits)
        members = dict(self.search.signature.members.items())
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
                **({"state_cached": In(CACHED_BITS)} if self.build.hands else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        search, build = self.search, self.build
        m.submodules.buses = buses = RowBuses(self.buses)
        m.submodules.search = search
        wiring.connect(m, search.fetch, buses.lanes[self.lane])
        m.d.comb += buses.shift.eq(Const(build.local_bits))
        for number, bank in enumerate(buses.banks):
            # The grid is there once, the expected values once for each exogenous state. A local search requests halves.
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
        for name in ("wealth", "choice", "old", *(("cached",) if build.hands else ())):
            address = getattr(search, f"{name}_address")
            word = getattr(self, f"state_{name}")
            m.submodules[name] = ram = Ram(len(word), 1 << len(self.state_address))
            m.d.comb += [
                ram.write.eq(self.write[1]),
                ram.write_address.eq(self.state_address),
                ram.write_data.eq(word),
                ram.read_address.eq(address),
                getattr(search, f"{name}_data").eq(ram.read_data),
            ]
        for name, member in self.signature.members.items():
            if not name.startswith(("write", "state_")):
                outer, inner = getattr(self, name), getattr(search, name)
                m.d.comb += outer.eq(inner) if member.flow is Out else inner.eq(outer)
        return m


Words = list[int | None]


def cached_word(utilities: Words, rng: random.Random) -> int:
    """Return the cached utilities of a state, with random bits in place of those of infeasible candidates."""
    word = 0
    for k, u in enumerate(utilities):
        word |= (rng.getrandbits(WIDTH) if u is None else u & MASK) << WIDTH * k
        word |= int(u is not None) << WIDTH * len(utilities) + k
    return word


def on_grid(utilities: Iterable[Any], feasible: Iterable[Any], choice: int, grid: int) -> Words:
    """Return utilities of candidates ``choice - 1`` to ``choice + 1`` of a state from those of all; ``None`` for an
    infeasible candidate or one that is not on the grid.
    """
    u, able = list(utilities), list(feasible)
    return [int(u[j]) if 0 <= j < grid and able[j] else None for j in (choice - 1, choice, choice + 1)]


def handed(position: int, choice: int, utilities: Words, expected: Sequence[int]) -> list[int] | None:
    """Return what a check hands on about a state, in the order of :func:`known_ports`; ``None`` if the choice stays.

    ``utilities`` and ``expected`` are those of candidates ``choice - 1``, ``choice`` and ``choice + 1``.
    """
    below, here, above = (None if u is None else u + int(ev) for u, ev in zip(utilities, expected, strict=True))
    if here is None:
        return [position, choice, choice, 0, 0, 0]
    if above is not None and above > here:
        return [position, choice, choice + 1, 1, 1, above % 2**OBJECTIVE_BITS]
    if below is not None and below >= here:
        return [position, choice, choice - 1, 1, 0, below % 2**OBJECTIVE_BITS]
    return None


def any_marks(
    build: SweepParameters, points: int, states: int, hands_on: Hands, density: float, force: int, rng: random.Random
) -> list[list[int]]:
    """Return marks of all states, each with this probability; with ``hands_on`` only of those whose choice fails."""
    marks = []
    for point in range(points):
        for s in range(states):
            mark = [point, s, int(rng.random() < density)]
            if build.hands:
                # What is handed to a search of all states is ignored.
                failed = hands_on(point, s)
                anything = [rng.getrandbits(bits) for bits in _widths(build)]
                mark[2] &= force | (failed is not None)
                mark += anything if force or failed is None else failed
            marks.append(mark)
    return marks


def alone(marks: list[list[int]], at: tuple[int, int]) -> list[list[int]]:
    """Return the same marks without any but that of point and exogenous state ``at``."""
    return [[point, s, int((point, s) == at), *known] for point, s, _, *known in marks]


def _widths(build: SweepParameters) -> list[int]:
    return [Shape.cast(member.shape).width for member in known_ports(build).values()]


def given_searches(
    build: SweepParameters,
    searches: list[Any],
    kinds: list[tuple[int, int]],
    waits: Sequence[int] = (),
    ring: int = 0,
) -> list[dict[str, Any]]:
    """Return local searches as the bench reads them: marks, whether they are cold and of all states, and waits.

    ``ring``: clocks of the ring, to restart it for passes of all states; 0 to leave it as it is.
    """
    known = list(known_ports(build)) if build.hands else []
    return [
        {"marks": marks, "cold": cold, "force": force, "known": known, "wait": wait, "ring": ring}
        for marks, (cold, force), wait in zip(searches, kinds, waits or [0] * len(searches), strict=True)
    ]
