"""The queue in registers, clock by clock, against a list."""

from __future__ import annotations

import random

import pytest
from hw_streams import Segment, Stream

from hw.queue import Queue


@pytest.mark.gateware
@pytest.mark.parametrize("depth", [1, 5, 8])
def test_clock_by_clock(stream: Stream, depth: int) -> None:
    rng = random.Random(depth)
    count = 3000
    columns: dict[str, list[int]] = {"push": [], "data": [], "pop": []}
    # Of every clock: ready, whether there is a head, and which.
    expected: list[tuple[int, int, int]] = []
    words: list[int] = []
    head: int | None = None
    full = empty = 0
    for clock in range(count):
        filling = clock // 200 % 3
        push, pop = (rng.random() < (0.5, 0.8, 0.3)[filling]), (rng.random() < (0.5, 0.3, 0.8)[filling])
        data = rng.getrandbits(9)
        for name, value in zip(columns, (int(push), data, int(pop)), strict=True):
            columns[name].append(value)
        expected.append((int(len(words) < depth), int(head is not None), head or 0))
        full += len(words) == depth
        empty += head is None
        accepted = push and len(words) < depth
        if pop:
            head = None
        if head is None and words:
            head = words.pop(0)
        if accepted:
            words.append(data)
    found = stream(Queue(9, depth), columns, ["ready", "head_valid", "head"], 1, segments=[Segment(count)], valid=None)
    # Outputs are sampled at the end of their operand's clock: as the next clock finds them.
    for clock in range(count - 1):
        ready, valid, word = expected[clock + 1]
        assert int(found["ready"][clock]) == ready, clock
        assert int(found["head_valid"][clock]) == valid, clock
        assert not valid or int(found["head"][clock]) == word, clock
    assert full > 100
    assert empty > 100
