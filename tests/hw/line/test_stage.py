# amaranth: UnusedElaboratable=no
"""Search stages against the rule in plain Python."""

from __future__ import annotations

import itertools

from beltline.hw.line.banks import BANKS
from beltline.hw.line.stage import StageParameters, next_position
from support.searches import Choice, decide


def test_rule_of_the_model() -> None:
    """The model's rule is right for all orders of three candidates, with all ties and infeasible candidates."""
    for objectives in itertools.product((-1, 0, 1), repeat=3):
        for feasible in itertools.product((False, True), repeat=3):
            choices = [Choice(o, f, False) for o, f in zip(objectives, feasible, strict=True)]
            flat = [item for o, f in zip(objectives, feasible, strict=True) for item in ((o, 0), f)]
            for h in (0, 1, 5):
                assert next_position(h, *flat) == 2 * h + decide(choices), choices


def test_parameters() -> None:
    for index_bits in (2, 4, 16):
        for number in range(1, index_bits):
            stage = StageParameters(index_bits, 4, number)
            assert stage.last == (number == index_bits - 1)
            assert stage.candidates == ((0, 1, 2, 3) if stage.last else (1, 2, 3))
            # The highest place that a search can reach: each stage maps place h to 2 h + 4 at most.
            h = 4 * (2 ** (number - 1) - 1)
            assert h + max(stage.candidates) == BANKS * stage.grid_memory.rows - 1 < 1 << stage.place_bits
            assert (h + max(stage.candidates)) << stage.step_bits < 1 << index_bits
    assert StageParameters(4, 1, 1).state_bits == 0
