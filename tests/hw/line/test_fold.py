"""Machines with a folded line return the software model's bits in the number of clocks of the formula."""

from __future__ import annotations

import pytest

from beltline.hw.interface.parameters import EVALUATORS, MachineParameters
from beltline.hw.line.clocks import line_of
from beltline.hw.line.fold import FoldedLineParameters
from beltline.hw.line.line import LineParameters


@pytest.mark.parametrize(("evaluators", "clocks"), [(1, 3 * 10 + 1), (2, 2 * 10), (4, 10)])
def test_clocks_of_a_state(evaluators: int, clocks: int) -> None:
    """The clocks of a state are those of docs/assembly-line.md, for one physical stage that does ten stages' work."""
    line = FoldedLineParameters(11, 4, 15, evaluators)
    assert len(line.stages) == 1
    assert line.round_clocks == clocks * line.round_states
    assert line.interval == 4 // evaluators
    whole = line.round_states * 100
    assert line.last_exit(whole + line.round_states) - line.last_exit(whole) == line.round_clocks


@pytest.mark.parametrize("fold", [1, 2, 3, 7, 15])
@pytest.mark.parametrize("evaluators", EVALUATORS)
def test_every_stage_is_served_once_and_tables_sit_once(fold: int, evaluators: int) -> None:
    line = FoldedLineParameters(16, 4, fold, evaluators)
    assert [number for stage in line.stages for number in stage.stages] == list(range(1, 16))
    assert max(len(stage.stages) for stage in line.stages) == fold
    assert line.round_clocks == line.round_states * max(stage.round_slots for stage in line.stages)
    words = [stage.grid_memory.banks << stage.grid_memory.row_bits for stage in line.stages]
    assert words[-1] == 65_536 * {1: 1, 2: 1.5, 4: 1.25}[evaluators]
    assert sum(words) <= 2 * words[-1]


@pytest.mark.parametrize("fold", [1, 2, 3, 7, 15])
@pytest.mark.parametrize("evaluators", EVALUATORS)
def test_a_place_is_read_after_it_was_written_and_no_later_than_need_be(fold: int, evaluators: int) -> None:
    """A state's next place, written ``decided`` clocks after its last slot, is read in the first possible round."""
    for stage in FoldedLineParameters(16, 4, fold, evaluators).stages:
        slots = [stage.slots(number) for number in stage.stages[:-1]]
        spare = [stage.least_round * count - (count - 1 + stage.decided) for count in slots]
        assert all(clocks > 0 for clocks in spare)
        assert not slots or min(spare) <= min(slots)


def test_a_fold_of_one_is_the_assembly_line() -> None:
    assert isinstance(line_of(MachineParameters(fold=1, evaluators=4)), LineParameters)
    assert isinstance(line_of(MachineParameters(fold=2)), FoldedLineParameters)
    assert isinstance(line_of(MachineParameters(evaluators=2)), FoldedLineParameters)
