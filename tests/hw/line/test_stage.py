# amaranth: UnusedElaboratable=no
"""Search stages against the rule in plain Python."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Callable, Mapping

import pytest
from amaranth.hdl import Module, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.interface.parameters import Multiplier
from beltline.hw.line.banks import BANKS
from beltline.hw.line.stage import Stage, StageParameters, next_position, shared_ports
from support import gates
from support.searches import Choice, Entry, decide, last, phase, timeline
from support.streams import MULTIPLIERS, Segment, Stream

INDEX_BITS = 4
STATES = 2
STAGES = [StageParameters(INDEX_BITS, STATES, number) for number in range(1, INDEX_BITS)]
SHARED = (*shared_ports(INDEX_BITS, STATES), "in_valid", "in_wealth", "in_state")
KINDS = ["random", "level", "extreme", "level", "level", "concave", "level", "over"] * 2


class Probe(wiring.Component):
    """All stages of a line in parallel: tables and states are the same for all, and each has its own place."""

    def __init__(self, multiplier: Multiplier) -> None:
        self.stages = [Stage(dataclasses.replace(parameters, multiplier=multiplier)) for parameters in STAGES]
        ports = {name: member for name, member in self.stages[0].signature.members.items() if name in SHARED}
        for k, stage in enumerate(self.stages):
            for name, member in stage.signature.members.items():
                if name not in SHARED:
                    ports[f"{name}_{k}"] = (In if member.flow is wiring.In else Out)(member.shape)
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for k, stage in enumerate(self.stages):
            m.submodules[f"stage{k}"] = stage
            for name, member in stage.signature.members.items():
                outer = getattr(self, name if name in SHARED else f"{name}_{k}")
                inner = getattr(stage, name)
                m.d.comb += outer.eq(inner) if member.flow is wiring.Out else inner.eq(outer)
        return m


def places(entry: Entry) -> list[int]:
    """Return a random ``h`` for each stage, within its memory."""
    return [entry.place % (BANKS * stage.grid_memory.rows - BANKS + 1) for stage in STAGES]


def enter(entry: Entry) -> dict[str, int]:
    ports = {"in_wealth": entry.wealth % 2**64, "in_state": entry.state}
    return ports | {f"in_h_{k}": h for k, h in enumerate(places(entry))}


def compare(stream: Stream, probe: Probe, design: Mapping[str, str]) -> None:
    rng = random.Random(1)
    latency = max(stage.parameters.latency for stage in probe.stages)
    phases = [phase(rng, INDEX_BITS, STATES, kind, 100) for kind in KINDS]
    columns, entered = timeline(rng, phases, latency, enter)
    outputs = [
        f"{name}_{k}"
        for k, stage in enumerate(probe.stages)
        for name, member in stage.signature.members.items()
        if member.flow is wiring.Out
    ]
    clocks = len(columns["half"])
    found = stream(
        design,
        columns,
        outputs,
        latency,
        segments=[Segment(clocks)],
        valid=None,
        blocks=("beltline_evaluator",),
    )
    moves: dict[tuple[int, int], int] = {}
    flags = {"over": 0, "infeasible": 0, "saturated": 0, "nothing": 0}
    for k, stage in enumerate(probe.stages):
        parameters = stage.parameters
        # Outputs are sampled with the largest latency; a faster stage returns a later operand then.
        ahead = latency - parameters.latency
        out = {name.removesuffix(f"_{k}"): found[name] for name in outputs if name.endswith(f"_{k}")}
        expected_valid = columns["in_valid"][ahead:]
        assert out["out_valid"][: clocks - ahead].tolist() == expected_valid
        raised = {name: set() for name in ("over", "infeasible", "saturated")}
        for clock, now, entry in entered:
            h = places(entry)[k]
            at = clock - ahead
            choices = now.choices(entry.wealth, entry.state)
            candidates = [choices[(h + j) << parameters.step_bits] for j in parameters.candidates]
            assert bool(out["over"][at]) == any(choice.over for choice in candidates), (k, clock)
            flags["over"] += any(choice.over for choice in candidates)
            if parameters.last:
                result = last(h, candidates)
                assert bool(out["infeasible"][at]) == result.infeasible, clock
                assert bool(out["saturated"][at]) == result.saturated, clock
                assert int(out["value"][at]) == result.value % 2**64, clock
                assert int(out["index"][at]) == result.index, clock
                flags["infeasible"] += result.infeasible
                flags["saturated"] += result.saturated
            else:
                move = decide(candidates)
                assert int(out["out_h"][at]) == 2 * h + move, (k, clock)
                assert int(out["out_wealth"][at]) == entry.wealth % 2**64
                assert int(out["out_state"][at]) == entry.state
                moves[k, move] = moves.get((k, move), 0) + 1
                flags["nothing"] += not any(choice.feasible for choice in candidates)
            for name in raised:
                if name in out and out[name][at]:
                    raised[name].add(at)
        # Flags are low in clocks in which nothing entered.
        for name, clocks_up in raised.items():
            if name in out:
                up = {at for at in range(clocks - ahead) if out[name][at]}
                assert up == clocks_up, (k, name)
    assert min(flags.values()) > 20, flags
    assert len(moves) == 5 * (len(STAGES) - 1), moves


@pytest.mark.gateware
@pytest.mark.parametrize("multiplier", MULTIPLIERS)
def test_gateware(stream: Stream, with_shared: Callable[..., dict[str, str]], multiplier: Multiplier) -> None:
    probe = Probe(multiplier)
    compare(stream, probe, with_shared(probe, multiplier))


@pytest.mark.gateware
@pytest.mark.slow
def test_gates(stream: Stream) -> None:
    """The netlists of 7-series cells that synthesis makes of stages and evaluator return the same bits."""
    probe = Probe(gates.MULTIPLIER)
    compare(stream, probe, gates.gates(probe))


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


def test_ports() -> None:
    first, final = (Stage(parameters).signature.members for parameters in (STAGES[0], STAGES[-1]))
    assert first["out_wealth"].shape == signed(64)
    assert "index" not in first
    assert final["index"].shape == INDEX_BITS
    assert "out_h" not in final
