"""A lane's local search with its memories, the buses and the rows of all lanes, for tests of units and of clocks."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from amaranth.hdl import Module, Shape
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from beltline.hw.arithmetic.evaluator import OBJECTIVE_BITS
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.sweep.check import CACHED_BITS
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.row_buses import RowBusesParameters
from beltline.hw.sweep.search.handed import known_ports
from beltline.hw.sweep.search.local_search import LocalSearch
from beltline.hw.sweep.search.parameters import SearchParameters
from support.streams import Enclosed
from support.sweeps import MASK, add_rows, add_states, row_ports

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


class Probe(Enclosed):
    """One lane's pass, its memories, the buses and the rows of all lanes. One port writes each kind of memory."""

    def __init__(self, parameters: SearchParameters, lane: int) -> None:
        build = parameters.build
        self.lane, self.buses = lane, RowBusesParameters(build, build.inner_bits)
        self.states = {"wealth": WIDTH, "choice": build.index_bits, "old": WIDTH}
        self.states |= {"cached": CACHED_BITS} if build.hands else {}
        search = LocalSearch(parameters)
        super().__init__(
            search,
            [name for name in search.signature.members if name == "fetch" or name.endswith(("_address", "_data"))],
            **row_ports(self.buses, 3),
            state_address=In(build.position_bits),
            **{f"state_{name}": In(bits) for name, bits in self.states.items()},
        )

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        wiring.connect(m, self.enclosed.fetch, add_rows(m, self, self.buses, halves=True).lanes[self.lane])
        add_states(m, self, self.enclosed, self.states)
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
