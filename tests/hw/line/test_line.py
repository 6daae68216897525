"""Small assembly lines against brute force, against the rule in plain Python, and against the software model."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Status
from beltline.hw.line.line import Line, LineParameters
from beltline.hw.line.model import line_sweep
from support.memories import SideBySide
from support.searches import Entry, Phase, phase, search, timeline
from support.streams import Segment, Stream

LINES = [LineParameters(4, 2), LineParameters(3, 1), LineParameters(2, 3)]
KINDS = ["concave", "concave", "level", "concave", "random", "extreme", "over", "concave", "level", "level"]
OUTPUTS = ("out_valid", "index", "value", "infeasible", "saturated", "over")


def enter(entry: Entry) -> dict[str, int]:
    return {"in_wealth": entry.wealth % 2**64, "in_state": entry.state}


def brute_force(now: Phase, entry: Entry) -> tuple[int, int] | None:
    """Return the lowest best index of all candidates and its objective."""
    choices = now.choices(entry.wealth, entry.state)
    feasible = [(choice.objective, -i) for i, choice in enumerate(choices) if choice.feasible]
    return (-max(feasible)[1], max(feasible)[0]) if feasible else None


@pytest.mark.gateware
def test_gateware(stream: Stream, with_shared: Callable[..., dict[str, str]]) -> None:
    rng = random.Random(1)
    latency = max(line.latency for line in LINES)
    runs = []
    for line in LINES:
        phases = [phase(rng, line.index_bits, line.states, kind, 70) for kind in KINDS]
        runs.append(timeline(rng, phases, latency, enter))
    clocks = max(len(columns["half"]) for columns, _ in runs)
    operands = {}
    for k, (columns, _) in enumerate(runs):
        for name, column in columns.items():
            # A shorter run is followed by clocks in which nothing is written or enters.
            quiet = 0 if name.endswith(("write", "valid")) else column[-1]
            operands[f"{name}_{k}"] = column + [quiet] * (clocks - len(column))
    outputs = [f"{name}_{k}" for k in range(len(LINES)) for name in OUTPUTS]
    found = stream(
        with_shared(SideBySide([Line(parameters) for parameters in LINES])),
        operands,
        outputs,
        latency,
        segments=[Segment(clocks)],
        valid=None,
        blocks=("beltline_evaluator",),
    )
    for k, (line, (_, entered)) in enumerate(zip(LINES, runs, strict=True)):
        # Outputs are sampled with the latency of the longest line; a shorter line returns a later operand then.
        ahead = latency - line.latency
        out = {name: found[f"{name}_{k}"] for name in OUTPUTS}
        assert out["out_valid"][: clocks - ahead].tolist() == operands[f"in_valid_{k}"][ahead:]
        up: set[int] = set()
        seen = {"concave": 0, "ties": 0, "over": 0, "infeasible": 0, "saturated": 0}
        for clock, now, entry in entered:
            at = clock - ahead
            if at < 0:
                continue
            choices = now.choices(entry.wealth, entry.state)
            result, over = search(choices, line.index_bits)
            assert bool(out["infeasible"][at]) == result.infeasible, (k, clock)
            assert bool(out["saturated"][at]) == result.saturated, (k, clock)
            assert int(out["value"][at]) == result.value % 2**64, (k, clock)
            assert int(out["index"][at]) == result.index, (k, clock)
            # Each stage reports the flag when the state leaves it, which is before the state leaves the line.
            leaves = clock - latency
            for stage, flag in zip(line.stages, over, strict=True):
                leaves += stage.latency
                if flag and leaves >= 0:
                    up.add(leaves)
            if now.concave:
                best = brute_force(now, entry)
                assert (best is None) == result.infeasible
                if best is not None:
                    assert best == (result.index, result.value), (k, clock)
                    seen["concave"] += 1
                    seen["ties"] += [choice.objective for choice in choices if choice.feasible].count(best[1]) > 1
            seen["over"] += any(over)
            seen["infeasible"] += result.infeasible
            seen["saturated"] += result.saturated
        assert min(seen.values()) > 20, (k, seen)
        # After the last entry the bench sends further states, whose flags soon leave the first stage.
        end = clocks - latency + line.stages[0].latency
        assert {at for at in range(end) if out["over"][at]} == {at for at in up if at < end}, k


@pytest.mark.parametrize("line", LINES)
def test_model(line: LineParameters) -> None:
    """The model returns the bits of the stages for objectives with peaks, ties and infeasible candidates."""
    rng = random.Random(line.index_bits)
    raised = Status(0)
    for kind in KINDS:
        now = phase(rng, line.index_bits, line.states, kind, 150)
        wealth = [[entry.wealth] * line.states for entry in now.entries if entry is not None]
        value, policy, status = line_sweep(np.array(now.x), np.array(wealth), np.array(now.ev), now.constants)
        wanted = Status(0)
        for i, row in enumerate(wealth):
            for state, of_state in enumerate(row):
                result, over = search(now.choices(of_state, state), line.index_bits)
                assert (value[i, state], policy[i, state]) == (result.value, result.index), (kind, i, state)
                wanted |= Status.SATURATED if result.saturated or any(over) else Status(0)
                wanted |= Status.INFEASIBLE if result.infeasible else Status(0)
        assert status == wanted
        raised |= status
    assert raised == Status.SATURATED | Status.INFEASIBLE


def test_utilities_out_of_range_are_flagged_where_no_value_is() -> None:
    """The model flags the utility of a choice and that of a candidate that is not chosen."""
    # 2**53 sqrt(c) reaches 2**63 at c = 2**20.
    constants = UtilityConstants.of(0.5, 0, 52)
    x = np.array([0, 2**21 - 100, 2**21 - 50, MAXIMUM])
    w = np.array([[2**21]])
    for ev, choice, top in (((-(2**62), MINIMUM, MINIMUM, 0), 0, MAXIMUM), ((MINIMUM, 0, MINIMUM, 0), 1, 10 * 2**53)):
        value, policy, status = line_sweep(x, w, np.array(ev)[:, None], constants)
        assert (value[0, 0], policy[0, 0]) == (top + ev[choice], choice)
        assert status == Status.SATURATED
    _, _, status = line_sweep(x, np.array([[2**20 - 1]]), np.zeros((4, 1), np.int64), constants)
    assert status == Status(0)


def test_latency_is_the_sum_of_the_stages() -> None:
    line = LineParameters.of(MachineParameters())
    assert len(line.stages) == 15
    assert line.latency == sum(stage.latency for stage in line.stages) <= 1000
    assert sum(len(stage.candidates) for stage in line.stages) == 46
