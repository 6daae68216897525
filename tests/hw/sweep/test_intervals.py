"""Which sweeps are proven: the unit, clock by clock, and what its software model says."""

from __future__ import annotations

import random

import pytest

from beltline.hw.sweep.intervals import BITS, FEWEST, Intervals, after_proof
from support.streams import Clocks


def test_intervals_double_until_they_would_not_fit() -> None:
    intervals = [0]
    for _ in range(8):
        intervals.append(after_proof(intervals[-1], False))
    assert intervals[1:] == [9, 18, 36, 72, 144, 144, 144, 144]
    assert intervals[-1] < 1 << BITS
    assert after_proof(144, True) == after_proof(0, False) == after_proof(0, True) == FEWEST


@pytest.mark.gateware
def test_proofs_after_passes_of_every_kind(clocks: Clocks) -> None:
    """Passes of random kinds, with pauses between them, in runs with and without ``sparse``."""
    rng = random.Random(7)
    names = ("ended", "sparse", "prologue", "evaluates", "moved", "may_end")
    columns: dict[str, list[int]] = {name: [] for name in names}
    wanted: list[tuple[int, int | None]] = []
    proves, seen = 1, set()
    for run in range(24):
        sparse, steps, moves = int(run % 3 != 0), 3 * (run % 2), (0.0, 0.3)[run // 6 % 2]
        interval = left = 0
        for number in range((900, 9)[run // 12]):
            prologue = number == 0
            evaluates = int(not prologue and number % (steps + 1) > 0)
            moved, may_end = int(rng.random() < moves), int(prologue or rng.random() < 0.01)
            kind = {"sparse": sparse, "prologue": int(prologue), "evaluates": evaluates, "may_end": may_end}
            for _ in range(rng.choice((0, 0, 1, 3))):
                for name in names:
                    columns[name].append(0 if name == "ended" else rng.randrange(2))
                wanted.append((proves, None))
            for name, column in columns.items():
                column.append({**kind, "ended": 1, "moved": moved}[name])
            if not prologue and not evaluates and proves:
                interval = after_proof(interval, bool(moved))
                left = interval
                seen.add(interval)
            elif not prologue:
                left = max(left - 1, 0)
            following = int(not sparse or may_end or left == 0)
            wanted.append((proves, following))
            proves = following
    found = clocks(Intervals(), columns)
    for t, (now, following) in enumerate(wanted):
        assert found["proves"][t] == now, t
        assert following is None or found["next_proves"][t] == following, t
    assert seen == {9, 18, 36, 72, 144}
