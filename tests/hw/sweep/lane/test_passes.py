"""The passes of sweeps, clock by clock, against the clocks in which each must begin and end."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest

from beltline.hw.sweep.lane.parameters import LaneParameters
from beltline.hw.sweep.lane.passes import Passes
from beltline.hw.sweep.parameters import SweepParameters
from support.streams import Clocks

BUILD = SweepParameters(grid=64, states=3, lanes=2)
FLAGS = ("prologue", "cold", "fixed")
PULSES = ("go", "checked", "any_mark", "moved", "search_busy", "patch_busy", "works")
PULSES += ("round", "finish", "scan_busy", "better")
OUTPUTS = ("start_check", "start_search", "start_patch", "checking", "searching", "patching", "unchecked", "done")
OUTPUTS += ("start_scan", "scanning", "repairing", "met")


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
    rounds: tuple[tuple[int, int], ...] = ()
    """Clocks of the scan of each round of the proof, and of the repair after it, 0 for none."""

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
    Sweep(moves=95, rounds=((9, 0), (1, 30), (4, 0))),
    Sweep(count=5, moves=3),
    Sweep(count=5, moves=2),
    Sweep(count=5, settled=True),
    Sweep(("prologue",), clocks=(1, 1, 1), moves=0),
    Sweep(clocks=(1, 1, 1)),
    Sweep(marks=False, rounds=((3, 0),), settled=True),
    Sweep(marks=False, rounds=((3, 2),)),
]


@pytest.mark.gateware
def test_begins_and_ends(clocks: Clocks) -> None:
    rng = random.Random(1)
    parameters = LaneParameters(BUILD)
    settle = parameters.settle
    sweeps = [*SWEEPS, *(random_sweep(rng) for _ in range(40))]
    count = sum(sum(sweep.clocks) + sum(map(sum, sweep.rounds)) + sweep.quiet + 2 * settle + 60 for sweep in sweeps)
    names = *PULSES, *FLAGS, "points", "count"
    columns = {name: [0] * count for name in names}
    wanted = {name: [0] * count for name in OUTPUTS}
    go, many_moved, unchecked = 3, False, False
    wanted["done"][: go + 1] = [1] * (go + 1)
    for sweep in sweeps:
        flags = set(sweep.flags)
        columns["go"][go] = 1
        skips_check = "prologue" not in flags and ("cold" in flags or (many_moved and "fixed" not in flags))
        end, works = one_sweep(sweep, skips_check, go, settle, columns, wanted)
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
        repaired = sweep.points and any(repair for _, repair in sweep.rounds)
        many_moved = (0 if repaired else sweep.moves) + sweep.count // 2 >= sweep.count
        go = then
    found = clocks(Passes(parameters), {name: column[:go] for name, column in columns.items()})
    for name in OUTPUTS:
        assert found[name] == wanted[name][:go], name


def one_sweep(
    sweep: Sweep,
    skips_check: bool,
    go: int,
    settle: int,
    columns: dict[str, list[int]],
    wanted: dict[str, list[int]],
) -> tuple[int, int]:
    """Mark the clocks of each pass; return the clock in which the last one ends, and that of its last read."""
    check, search, patch = sweep.clocks
    searches = skips_check or sweep.marks
    at, works = go, go - settle
    if not sweep.points:
        return go, works

    def under_way(name: str, flag: str, clocks: int) -> int:
        """Mark the start of a pass, and this number of clocks and one more as busy."""
        wanted[f"start_{name}"][at] = 1
        until = at + clocks + 1
        wanted[flag][at + 1 : until + 1] = [1] * (until - at)
        if name != "check":
            columns[f"{name}_busy"][at + 1 : until] = [1] * (until - 1 - at)
        return until

    if "prologue" not in sweep.flags:
        if not skips_check:
            at = under_way("check", "checking", check)
            columns["checked"][at] = 1
            columns["any_mark"][at + 1 : at + 400] = [int(sweep.marks)] * 399
            if not sweep.settled:
                works = at
                columns["works"][at] = 1
            at += 1
            if not searches and "fixed" in sweep.flags:
                return at, works
        if searches:
            at = under_way("search", "searching", search)
            first = at - min(search, sweep.moves)
            columns["moved"][first:at] = [1] * (at - first)
        for wait, (scan, repair) in enumerate(sweep.rounds):
            wanted["met"][at + 1 : at + 2 + wait] = [1] * (1 + wait)
            at += 1 + wait
            columns["round"][at] = 1
            at = under_way("scan", "scanning", scan)
            columns["better"][at] = int(repair > 0)
            if repair:
                wanted["repairing"][at + 1 : at + repair + 2] = [1] * (repair + 1)
                at = under_way("search", "searching", repair)
        wanted["met"][at + 1 : at + 4] = [1] * 3
        at += 3
        columns["finish"][at] = 1
        if not searches and not any(repair for _, repair in sweep.rounds):
            return at, works
    begun = at
    at = under_way("patch", "patching", patch)
    if not sweep.settled:
        works = at - 1 if patch == 1 else at - 2
        columns["works"][begun + 1 : works + 1] = [1] * (works - begun)
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
        rounds=tuple((rng.randint(1, 40), rng.choice((0, 0, 7))) for _ in range(rng.randint(0, 3))),
        settled=rng.random() < 0.3,
    )
