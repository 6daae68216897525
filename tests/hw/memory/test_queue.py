"""Queues, clock by clock, against a list."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from beltline.hw.memory.queue import DEEP_CLOCKS, DeepQueue, Queue
from support.streams import Segment, Stream


@pytest.mark.gateware
@pytest.mark.parametrize(
    ("kind", "depth", "pushes", "pops"),
    [
        (Queue, 1, (0.5, 0.8, 0.3), (0.5, 0.3, 0.8)),
        (Queue, 5, (0.5, 0.8, 0.3), (0.5, 0.3, 0.8)),
        (DeepQueue, 2, (0.2, 0.8, 0.05), (0.5, 0.1, 0.8)),
        (DeepQueue, 64, (0.2, 0.8, 0.05), (0.5, 0.1, 0.8)),
    ],
)
def test_clock_by_clock(
    stream: Stream,
    with_shared: Callable[..., dict[str, str]],
    kind: type[Queue] | type[DeepQueue],
    depth: int,
    pushes: Sequence[float],
    pops: Sequence[float],
) -> None:
    rng = random.Random(depth)
    count = 6000
    clocks = DEEP_CLOCKS if kind is DeepQueue else 1
    columns: dict[str, list[int]] = {"push": [], "data": [], "pop": []}
    # For each clock: ready, whether there is a head, and its word.
    expected: list[tuple[int, int, int]] = []
    # Words with the clocks in which they were pushed; the clock of the last move to the head.
    words: list[tuple[int, int]] = []
    head: int | None = None
    moved = -clocks
    full = empty = 0
    for clock in range(count):
        filling = clock // 500 % 3
        push, pop = rng.random() < pushes[filling], rng.random() < pops[filling]
        data = rng.getrandbits(9)
        for name, value in zip(columns, (int(push), data, int(pop)), strict=True):
            columns[name].append(value)
        expected.append((int(len(words) < depth), int(head is not None), head or 0))
        full += len(words) == depth
        empty += head is None
        accepted = push and len(words) < depth
        if pop:
            head = None
        if head is None and words and clock >= max(words[0][1], moved) + clocks:
            head, moved = words.pop(0)[0], clock
        if accepted:
            words.append((data, clock))
    found = stream(
        with_shared(kind(9, depth)), columns, ["ready", "head_valid", "head"], 1, segments=[Segment(count)], valid=None
    )
    # Outputs are sampled at the end of their operand's clock, so they are those of the next clock.
    for clock in range(count - 1):
        ready, valid, word = expected[clock + 1]
        assert int(found["ready"][clock]) == ready, clock
        assert int(found["head_valid"][clock]) == valid, clock
        assert not valid or int(found["head"][clock]) == word, clock
    assert full > 100
    assert empty > 100


def test_a_depth_that_no_address_counts() -> None:
    with pytest.raises(ValueError, match="depth of a queue in memory must be a power of two of at least 2, not 12"):
        DeepQueue(9, 12)
