"""``run_bench`` accepts a right running sum and refuses wrong ones."""

from __future__ import annotations

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.sim.cache import SimulationError
from beltline.sim.cocotb_runner import BenchFailure, run_bench

pytestmark = pytest.mark.gateware

BENCH = "beltline.sim.benches.sample"


class RunningSum(wiring.Component):
    """``total`` is the sum of all ``step`` inputs with ``valid``, one clock later."""

    def __init__(self, width: int, fault: int = 0) -> None:
        self.fault = fault
        super().__init__({"valid": In(1), "step": In(width), "total": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with m.If(self.valid):
            m.d.sync += self.total.eq(self.total + self.step + self.fault)
        return m


@pytest.mark.parametrize("width", [8, 72])
def test_component(width: int) -> None:
    run_bench(RunningSum(width), BENCH, parameters={"width": width})


def test_failure_names_test_and_assertion() -> None:
    with pytest.raises(BenchFailure) as failure:
        run_bench(RunningSum(8, fault=1), BENCH, parameters={"width": 8}, seed=7)
    message = str(failure.value)
    assert message.startswith(f"1 of 2 tests of {BENCH} failed (seed 7)")
    assert "running sum is" in message


def test_chosen_test_only() -> None:
    run_bench(RunningSum(8), BENCH, tests=["reset_clears_the_sum"])


def test_bench_without_tests_fails() -> None:
    with pytest.raises(BenchFailure, match=r"^beltline\.sim\.benches\.sample ran 0 tests named no_such_test$"):
        run_bench(RunningSum(8), BENCH, tests=["no_such_test"], parameters={"width": 8})


def test_module_without_tests_fails() -> None:
    with pytest.raises((BenchFailure, SimulationError)):
        run_bench(RunningSum(8), "beltline.sim.benches", parameters={"width": 8})


def test_verilog_that_does_not_compile() -> None:
    with pytest.raises(SimulationError, match=r"(?s)does not compile:\n%Error.*whole log and the Verilog are in"):
        run_bench({"broken.v": "module broken(input clk); assign x = ; endmodule\n"}, BENCH, top="broken")
