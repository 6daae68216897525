"""Fixtures of the tests of gateware."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.lib import wiring

from beltline.hw.interface.parameters import Multiplier
from beltline.hw.top import verilog
from beltline.sim.cocotb_runner import run_bench, to_verilog
from beltline.sim.yosys import use_yosys
from support.streams import Clocks, Enclosed, Segment, Stream, with_gaps


@pytest.fixture
def stream(tmp_path: Path) -> Stream:
    """Return a function that sends operands through a unit of fixed latency and returns its outputs in their order.

    Operands and outputs are unsigned words; an output is a uint64 array, or one of Python integers where it is wider.
    Ports named in ``late`` get their word this many clocks after the others. Without ``segments``, half of the operands
    enter back to back and half with gaps.
    """

    def run(
        design: wiring.Component | Mapping[str, str],
        operands: Mapping[str, Sequence[int] | np.ndarray],
        outputs: Sequence[str],
        latency: int,
        *,
        segments: Sequence[Segment] | None = None,
        valid: tuple[str, str] | None = ("operand_valid", "result_valid"),
        late: Mapping[str, int] | None = None,
        blocks: Sequence[str] = (),
    ) -> dict[str, Any]:
        stimulus, results = tmp_path / "stimulus.json", tmp_path / "results.json"
        words = {name: [int(word) for word in column] for name, column in operands.items()}
        count = len(next(iter(words.values())))
        stimulus.write_text(json.dumps(words))
        results.unlink(missing_ok=True)
        run_bench(
            design if isinstance(design, Mapping) else Enclosed(design),
            "beltline.sim.benches.fixed_latency",
            parameters={
                "stimulus": str(stimulus),
                "results": str(results),
                "outputs": list(outputs),
                "valid": valid,
                "latency": latency,
                "late": dict(late or {}),
                "segments": [
                    {"count": s.count, "gaps": s.gaps, "constants": dict(s.constants)}
                    for s in segments or with_gaps(count)
                ],
            },
            blocks=blocks,
        )
        found = json.loads(results.read_text())
        return {
            name: np.array(column, dtype=np.uint64 if max(column) < 2**64 else object) for name, column in found.items()
        }

    return run


@pytest.fixture
def clocks(tmp_path: Path, with_shared: Callable[..., dict[str, str]]) -> Clocks:
    """Return a function that drives all inputs of a unit every clock, and returns all outputs before each clock's edge.

    The unit may read the RAM and the evaluator, which are instances. Words are unsigned Python integers.
    """

    def run(unit: wiring.Component, inputs: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
        flat = {"__".join(map(str, path)): member.flow for path, member, _ in unit.signature.flatten(unit)}
        assert set(inputs) == {name for name, flow in flat.items() if flow is wiring.In}, "an input is not driven"
        stimulus, results = tmp_path / "stimulus.json", tmp_path / "results.json"
        stimulus.write_text(json.dumps({name: [int(word) for word in column] for name, column in inputs.items()}))
        results.unlink(missing_ok=True)
        run_bench(
            with_shared(unit),
            "beltline.sim.benches.every_clock",
            parameters={
                "stimulus": str(stimulus),
                "results": str(results),
                "outputs": [name for name, flow in flat.items() if flow is wiring.Out],
            },
        )
        found: dict[str, list[int]] = json.loads(results.read_text())
        return found

    return run


@functools.cache
def _shared_modules(multiplier: Multiplier, linear: bool) -> dict[str, str]:
    use_yosys()
    return verilog.shared_modules(multiplier, linear)


@pytest.fixture(scope="session")
def with_shared() -> Callable[..., dict[str, str]]:
    """Return a function for the Verilog of a component, module ``top``, and of the modules that it instantiates."""

    def files(component: wiring.Component, multiplier: Multiplier = Multiplier.DSP48E2) -> dict[str, str]:
        text = to_verilog(Enclosed(component), "top")
        shared = _shared_modules(multiplier, ".linear(" in text["top.v"])
        used = {name: module for name, module in shared.items() if name.removesuffix(".v") in text["top.v"]}
        return {**used, **text}

    return files
