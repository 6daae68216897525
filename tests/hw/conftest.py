"""What the tests of gateware share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from amaranth.hdl import Elaboratable
from numpy.typing import NDArray

from sim.bench import run_bench

Stream = Callable[..., dict[str, NDArray[np.uint64]]]


@pytest.fixture
def stream(tmp_path: Path) -> Stream:
    """Runs operands through a unit of fixed latency and returns its outputs, in the operands' order."""

    def run(
        design: Elaboratable | Mapping[str, str],
        operands: Mapping[str, NDArray[np.uint64]],
        outputs: Sequence[str],
        latency: int,
        *,
        constants: Mapping[str, int] | None = None,
        valid: tuple[str, str] | None = ("operand_valid", "result_valid"),
        gaps: float = 0.0,
        top: str = "top",
    ) -> dict[str, NDArray[np.uint64]]:
        stimulus, results = tmp_path / "stimulus.npz", tmp_path / "results.npz"
        np.savez(stimulus, **operands)  # type: ignore[arg-type]
        run_bench(
            design,
            "sim.benches.fixed_latency",
            top=top,
            parameters={
                "stimulus": str(stimulus),
                "results": str(results),
                "outputs": list(outputs),
                "constants": dict(constants or {}),
                "valid": valid,
                "latency": latency,
                "gaps": gaps,
            },
        )
        with np.load(results) as archive:
            return {name: archive[name] for name in outputs}

    return run
