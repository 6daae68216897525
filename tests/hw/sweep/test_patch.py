"""The pass that computes expectations again, against a plain loop: every state, and every clock."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.patch import NOTES, Patch, PatchParameters
from support.streams import Enclosed, Segment, Stream

INPUTS = ("clear", "note_valid", "note", "start", "force", "points", "states")
OUTPUTS = ("busy", "valid", "position", "point", "last")

QUIET = 40
"""Clocks after the end of a pass in which there must be no output."""


@pytest.mark.gateware
@pytest.mark.parametrize(
    ("build", "states"),
    [
        (SweepParameters(256, 4, 2), 3),
        (SweepParameters(64, 16, 1), 16),
    ],
    ids=["3-of-4-states", "16-states"],
)
def test_states_of_noted_points_in_order(
    stream: Stream, with_shared: Callable[..., dict[str, str]], build: SweepParameters, states: int
) -> None:
    parameters = PatchParameters(build)
    rng = np.random.default_rng(build.grid + states)
    most = build.grid // build.lanes
    columns: dict[str, list[int]] = {name: [] for name in INPUTS}
    # Expected outputs by clock: busy or not, and the state that is sent.
    busy: list[bool] = []
    leaving: dict[int, tuple[int, int, int]] = {}

    def clock(**given: int) -> None:
        for name in INPUTS:
            columns[name].append(given.get(name, 0))
        busy.append(False)

    for points in (most, most - 1, NOTES, NOTES + 1, 1):
        for density in (0.0, 0.05, 0.5, 1.0, "last", "forced"):
            if isinstance(density, str):
                notes = np.arange(points) == points - 1
            else:
                notes = rng.random(points) < density
            standing = {"points": points, "states": states, "force": int(density == "forced")}
            clock(clear=1, **standing)
            for note in notes:
                while rng.random() < 0.2:
                    clock(**standing)
                clock(note_valid=1, note=int(note), **standing)
            for _ in range(int(rng.integers(1, 5))):
                clock(**standing)
            begin = len(busy)
            clock(start=1, **standing)
            wanted = notes | (density == "forced")
            clocks = parameters.begin + parameters.clocks(wanted, states, 16)
            for _ in range(clocks + QUIET):
                clock(**standing)
            # The first clock of the pass is that of `start`.
            busy[begin + 1 : begin + clocks] = [True] * (clocks - 1)
            # Each state takes a clock, as do each word and each point without a note before the last note of its word.
            at = begin + parameters.begin
            for first in range(0, points, NOTES):
                word = wanted[first : first + NOTES]
                for point in range(first, first + (int(np.flatnonzero(word)[-1]) + 1 if word.any() else 0)):
                    if not wanted[point]:
                        at += 1
                        continue
                    for s in range(states):
                        leaving[at] = point * states + s, point, int(s == states - 1)
                        at += 1
                at += 1
    found = stream(
        with_shared(Enclosed(Patch(parameters))), columns, OUTPUTS, 0, segments=[Segment(len(busy))], valid=None
    )
    # Outputs are sampled after the edge at which the operand is accepted.
    seen = {name: [0, *(int(word) for word in found[name])] for name in OUTPUTS}
    assert seen["busy"] == [*(int(flag) for flag in busy), 0]
    assert [t for t, flag in enumerate(seen["valid"]) if flag] == sorted(leaving)
    for t, (position, point, last) in leaving.items():
        assert (seen["position"][t], seen["point"][t], seen["last"][t]) == (position, point, last), t
