"""The passes of sweeps, clock by clock, against the clocks in which each must begin and end."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest

from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.check import PREPARE_CLOCKS
from beltline.hw.sweep.lane.parameters import LaneParameters
from beltline.hw.sweep.lane.passes import Passes
from beltline.hw.sweep.parameters import SweepParameters
from support.streams import Clocks

BUILD = SweepParameters(grid=64, states=3, lanes=2, slots=4)
FLAGS = ("prologue", "cold", "fixed", "seek")
PULSES = ("go", "checked", "any_mark", "moved", "search_busy", "patch_busy", "works")
OUTPUTS = ("start_check", "start_search", "start_patch", "checking", "searching", "patching", "unchecked", "done")
OUTPUTS += ("choosing", "hold", "drop", "align")


@dataclass(frozen=True)
class Sweep:
    """A sweep: its flags, the clocks of its passes, the number of choices that move, the pause after it."""

    flags: tuple[str, ...] = ()
    points: int = 32
    count: int = 96
    marks: bool = True
    moves: int = 0
    clocks: tuple[int, int, int] = (20, 150, 30)
    quiet: int = 3
    settled: bool = False
    """The last read is so long ago that all outputs have settled when the last pass ends."""


SWEEPS = [
    Sweep(("prologue",)),
    Sweep(("cold",), moves=48),
    # The sweep before moved half of the choices; this one moves one less.
    Sweep(moves=47),
    Sweep(moves=95),
    Sweep(moves=95, quiet=1),
    Sweep(("fixed",), moves=0, marks=False),
    Sweep(marks=False, quiet=1),
    Sweep(marks=False, settled=True),
    Sweep(points=0, count=0),
    Sweep(("seek",), moves=2),
    Sweep(count=5, moves=3),
    Sweep(count=5, moves=2),
    Sweep(count=5, settled=True),
    Sweep(("prologue",), clocks=(1, 1, 1), moves=0),
    Sweep(clocks=(1, 1, 1)),
    Sweep(("seek",), clocks=(1, 1, 1), settled=True),
]


@pytest.mark.gateware
@pytest.mark.parametrize(("seed", "overlap", "lanes"), [(1, False, 1), (2, False, 2), (3, True, 2)])
def test_begins_and_ends(clocks: Clocks, seed: int, overlap: bool, lanes: int) -> None:
    rng = random.Random(seed)
    parameters = LaneParameters(replace(BUILD, overlap=overlap, lanes=lanes, grid=32 * lanes))
    assert parameters.build.hands == (lanes > 1)
    # The states that fail the check take their time to the local search.
    handing = READ_LATENCY if lanes > 1 else 0
    settle = parameters.settle
    sweeps = [*SWEEPS, *(random_sweep(rng) for _ in range(40))]
    count = sum(sum(sweep.clocks) + sweep.quiet + 2 * settle + 20 for sweep in sweeps)
    names = *PULSES, *FLAGS, "points", "count", *(["worked", "following"] if overlap else [])
    names += ("rows_arrived",) if lanes > 1 else ()
    columns = {name: [0] * count for name in names}
    wanted = {name: [0] * count for name in OUTPUTS}
    go, many_moved, unchecked = 3, False, False
    wanted["done"][: go + 1] = [1] * (go + 1)
    for sweep in sweeps:
        flags = set(sweep.flags)
        columns["go"][go] = 1
        # The check that the sweep before has started is held until now. It no longer reads choices, or begins at once.
        wanted["choosing"][go + 1 :] = [0] * (count - go - 1)
        wanted["hold"][go + 1 :] = [0] * (count - go - 1)
        skips_check = "prologue" not in flags and bool(
            flags & {"cold", "seek"} or (many_moved and "fixed" not in flags)
        )
        wanted["drop"][go] = int("prologue" in flags or skips_check)
        end, works = one_sweep(sweep, skips_check, go, settle, handing, columns, wanted)
        if sweep.points:
            # Two clocks after the end of the last pass, or after the clocks in which the last read settles.
            done = max(end, works + settle) + 2
        else:
            done = go + 1
        then = done + sweep.quiet
        wanted["unchecked"][go] = int(unchecked)
        wanted["unchecked"][go + 1 : then + 1] = [int(skips_check)] * (then - go)
        unchecked = skips_check
        wanted["done"][done : then + 1] = [1] * (then + 1 - done)
        # Settings stay the same until the next sweep begins.
        for name in FLAGS:
            columns[name][go:then] = [int(name in flags)] * (then - go)
        for name in ("points", "count"):
            columns[name][go:then] = [getattr(sweep, name)] * (then - go)
        many_moved = sweep.moves + sweep.count // 2 >= sweep.count
        go = then
    found = clocks(Passes(parameters), {name: column[:go] for name, column in columns.items()})
    for name in OUTPUTS if lanes > 1 else OUTPUTS[:-1]:
        assert found[name] == wanted[name][:go], name


def one_sweep(
    sweep: Sweep,
    skips_check: bool,
    go: int,
    settle: int,
    handing: int,
    columns: dict[str, list[int]],
    wanted: dict[str, list[int]],
) -> tuple[int, int]:
    """Mark the clocks of each pass; return the clock in which the last one ends, and that of its last read."""
    check, search, patch = sweep.clocks
    searches = skips_check or sweep.marks
    at, works = go, go - settle
    if not sweep.points:
        return go, works

    def prepares() -> None:
        """Mark the start of the check of the next sweep, which is held."""
        wanted["start_check"][at] = 1
        wanted["choosing"][at + 1 : at + 1 + PREPARE_CLOCKS] = [1] * PREPARE_CLOCKS
        wanted["hold"][at + 1 :] = [1] * (len(wanted["hold"]) - at - 1)

    def under_way(name: str, clocks: int) -> int:
        """Mark the start of a pass, and this number of clocks and one more as busy."""
        if name != "check":
            wanted[f"start_{name}"][at] = 1
        until = at + clocks + 1
        flag = {"check": "checking", "search": "searching", "patch": "patching"}[name]
        wanted[flag][at + 1 : until + 1] = [1] * (until - at)
        if name == "check":
            wanted["choosing"][at + 1 : until + 1] = [1] * (until - at)
        else:
            columns[f"{name}_busy"][at + 1 : until] = [1] * (until - 1 - at)
        return until

    if "prologue" not in sweep.flags:
        if not skips_check:
            at = under_way("check", check)
            columns["checked"][at] = 1
            columns["any_mark"][at + 1] = int(sweep.marks)
            if not sweep.settled:
                works = at
                columns["works"][at] = 1
            at += 1
            if not searches:
                prepares()
                return at, works
            if handing:
                # The last rows have come, or come some clocks later.
                at += 1 + at % 4
                columns["rows_arrived"][at] = 1
                wanted["align"][at] = 1
                at += handing
        began = at
        at = under_way("search", search)
        first = at - min(search, sweep.moves)
        columns["moved"][first:at] = [1] * (at - first)
        if "seek" in sweep.flags:
            return at, works
        prepares()
        if "following" in columns:
            # The list of points ends before or after the search, whose end counts as a read.
            end = max(began + 2, at - 4 + patch)
            columns["following"][began + 1 : end] = [1] * (end - began - 1)
            if not sweep.settled:
                columns["works"][end - 1] = 1
            return max(at + 1, end), at if sweep.settled else max(at, end - 1)
    begun = at
    at = under_way("patch", patch)
    if not sweep.settled:
        works = at - 1 if patch == 1 else at - 2
        # Reads of the patch are reported a clock late in a build with ``overlap``.
        late = int("worked" in columns)
        columns["worked" if late else "works"][begun + 1 + late : works + 1 + late] = [1] * (works - begun)
    return at, works


def random_sweep(rng: random.Random) -> Sweep:
    flags = tuple(name for name in FLAGS if rng.random() < 0.2)
    count = rng.randint(1, 96)
    longest = rng.choice((3, 100, 200))
    return Sweep(
        flags,
        count=count,
        marks=rng.random() < 0.7,
        moves=0,
        clocks=(rng.randint(1, longest), rng.randint(1, longest), rng.randint(1, longest)),
        quiet=rng.randint(1, 9),
        settled=rng.random() < 0.3,
    )
