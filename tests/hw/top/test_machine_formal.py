# amaranth: UnusedElaboratable=no
"""Proofs about the whole machine's control: the two halves of the expectations' memories, and the host's writes.

The machine is the real one, with its sequencer and expectation unit. The host may write tables, run, stop and reset in
any clock. Only arithmetic is left out: memories return 0, the norm is arbitrary, and the line is replaced by a delay.
The sizes of the problem are constants, so that the solver does not have to multiply.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assume, Const, Module, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In

import beltline.hw.arithmetic.expectation
import beltline.hw.control.sequencer
import beltline.hw.line.datapath
import beltline.hw.top.machine
from beltline.hw.arithmetic.norm import Norm
from beltline.hw.arithmetic.pipeline import Pipeline, Term, Timed
from beltline.hw.bus.ports import TablePort
from beltline.hw.control.register_file import RegisterFile
from beltline.hw.control.sequencer import SequencerParameters
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Command, Table
from beltline.hw.interface.windows import WORD_BYTES, WindowParameters
from beltline.hw.line.line import Line
from beltline.hw.memory.ram import Ram
from beltline.hw.top.machine import Machine
from support.formal import before, check_sequences, formal_module, must

pytestmark = [pytest.mark.gateware, pytest.mark.slow]

PARAMETERS = MachineParameters(grid=4, states=2)

LINE, EXPECTATION, DRAIN = 2, 4, 4
"""Clocks of the line, of the expectation unit and of the drain after it, all shorter than in real builds, so that a
proof covers more passes. The proof concerns the order of events; a longer drain only increases the time between them.
"""


class Seen:
    """The machine under proof, to which the claims in its parts refer."""

    machine: Machine
    registers: RegisterFile
    rams: list[EmptyRam]


class Commands(RegisterFile):
    """A register file that sends any command in any clock, with fixed settings and an infinite or finite horizon."""

    given: ClassVar[dict[str, int]] = {}
    resets: ClassVar[bool] = True

    def __init__(self, reports: Any) -> None:
        super().__init__(reports)
        Seen.registers = self

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [self.settings[name].eq(value) for name, value in self.given.items()]
        m.d.comb += [self.settings["MODE"].eq(AnyConst(1)), self.command.eq(AnySeq(len(self.command)))]
        if not self.resets:
            m.d.comb += Assume(~self.command[int(Command.RESET).bit_length() - 1])
        return m


class KnownProducts(Pipeline):
    """Replaces products of settings by constants, available in the same clock as the real products."""

    def products(self, a: Timed, b: Timed) -> list[Term]:
        given = Commands.given
        work = given["GRID"] * given["STATES"]
        # The first product is the number of words of a sweep, the second that of all sweeps.
        product = work * given["SWEEP_LIMIT"] if b.shape.width == 32 else work
        time = max(term.value.time for term in Pipeline().products(a, b))
        return [Term(Timed(Const(product), time))]


class AnyNorm(Norm):
    """A norm that may have any value in any clock."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.norm.eq(AnySeq(len(self.norm)))
        return m


class EmptyLine(Line):
    """A line in which each state stays for ``LINE`` clocks, and may read memories of stages in any of them."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        settings = Seen.registers.settings
        # As in a stage, a write takes effect a clock after its request.
        writes = before(m, self.ev_write)
        into = before(m, ~self.half)
        place = before(m, self.ev_write_index * settings["STATES"][:2] + self.ev_write_state)
        toggles = self.half != before(m, self.half)

        # The number of words written into the half that is not read, and its value at the last exchange of the halves.
        count, complete = Signal(8), Signal(8)
        m.d.sync += count.eq(count + writes)
        with m.If(toggles):
            m.d.sync += [complete.eq(count), count.eq(writes)]
        work = Signal(8)
        m.d.comb += work.eq(settings["GRID"][:3] * settings["STATES"][:2])

        valid, half = self.in_valid, self.half
        reads_one_half, reads_the_other = [], []
        for k in range(LINE):
            reads_one_half.append(~valid | (half == self.half))
            reads_the_other.append(~(valid & writes) | (half != into))
            inside, entered_with = Signal(name=f"inside{k}"), Signal(name=f"entered_with{k}")
            m.d.sync += [inside.eq(valid), entered_with.eq(half)]
            valid, half = inside, entered_with
        m.d.comb += self.out_valid.eq(valid)
        must(
            m,
            read_one_half=_all(reads_one_half),
            read_the_other_half=_all(reads_the_other),
            read_what_is_complete=~self.in_valid | (_since(m, toggles, complete, count) == work),
            write_in_order=~writes | (place == count),
            write_no_more=~writes | (count < work),
        )
        return m


def _since(m: Module, toggles: Value, complete: Signal, count: Signal) -> Value:
    """Return ``complete``, with its new value already in the clock of the exchange."""
    words = Signal.like(complete)
    m.d.comb += words.eq(complete)
    with m.If(toggles):
        m.d.comb += words.eq(count)
    return words


def _all(claims: list[Value]) -> Value:
    whole: Value = claims[0]
    for claim in claims[1:]:
        whole = whole & claim
    return whole


class EmptyRam(Ram):
    """A RAM that returns 0 and checks writes. The machine builds those of ``W``, ``V`` and the policy in this order."""

    def __init__(self, width: int, depth: int, lanes: int = 1) -> None:
        super().__init__(width, depth, lanes)
        Seen.rams.append(self)

    def elaborate(self, platform: object) -> Module:  # type: ignore[override]
        m = Module()
        table = (Table.W, Table.V, Table.POLICY)[Seen.rams.index(self)]
        port, busy = Seen.machine.tables, Seen.machine.busy
        # Even in a reset, the host's write takes effect a clock later.
        asked = Signal(WORD_BYTES, reset_less=True)
        address = Signal.like(port.write_address, reset_less=True)
        data = Signal.like(port.write_data, reset_less=True)
        m.d.sync += [address.eq(port.write_address), data.eq(port.write_data), asked.eq(0)]
        with m.If((port.write_table == table) & ~busy):
            m.d.sync += asked.eq(port.write)
        runs = Signal(reset_less=True)
        m.d.sync += runs.eq(busy)
        there = (self.write_address == address[: len(self.write_address)]) & (self.write_data == data[: self.width])
        if table is Table.POLICY:
            must(m, policy_is_written_by_runs=~self.write.any() | runs)
        elif table is Table.W:
            must(m, write_w_once=self.write == asked, write_w_there=~asked.any() | there)
        else:
            must(
                m,
                write_v_once=~asked.any() | (self.write == asked),
                write_v_there=~asked.any() | there,
                write_v_by_runs=asked.any() | ~self.write.any() | (self.write.all() & runs),
            )
        return m


class Proof(wiring.Component):
    """The machine with any access of the host in any clock."""

    def __init__(self, tables: bool) -> None:
        ports = {"tables": In(TablePort(WindowParameters(PARAMETERS)))} if tables else {}
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = formal_module()
        Seen.machine = machine = Machine(PARAMETERS)
        Seen.rams = []
        m.submodules.machine = machine
        if hasattr(self, "tables"):
            wiring.connect(m, wiring.flipped(self.tables), machine.tables)
        return m


@pytest.fixture(autouse=True)
def empty_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build the machine from the replacements above."""

    def nothing(*_: object) -> tuple[Timed, Timed]:
        return Timed(Const(0, signed(64)), EXPECTATION), Timed(Const(0), EXPECTATION)

    monkeypatch.setattr(beltline.hw.arithmetic.expectation, "_build", nothing)
    # This property counts the clocks of real products, so it is computed before they are replaced.
    assert SequencerParameters(PARAMETERS).check
    monkeypatch.setattr(beltline.hw.control.sequencer, "Pipeline", KnownProducts)
    monkeypatch.setattr(beltline.hw.control.sequencer, "DRAIN", DRAIN)
    for name, replacement in {"Ram": EmptyRam, "Line": EmptyLine, "Norm": AnyNorm}.items():
        monkeypatch.setattr(beltline.hw.line.datapath, name, replacement)
    # The only other instance in the machine is the hash of the build.
    for name, other in {"RegisterFile": Commands, "Instance": lambda *_, **__: Module()}.items():
        monkeypatch.setattr(beltline.hw.top.machine, name, other)


def settings(monkeypatch: pytest.MonkeyPatch, grid: int, states: int) -> None:
    monkeypatch.setattr(Commands, "given", {"GRID": grid, "STATES": states, "SWEEP_LIMIT": 2, "EPSILON": 1})


@pytest.mark.parametrize(
    ("grid", "states", "resets", "depth"),
    [
        # The prologue and a sweep, with a reset in any clock.
        (2, 1, True, 46),
        # The prologue and two sweeps, without resets.
        (2, 1, False, 66),
        (3, 2, False, 60),
    ],
)
def test_no_half_is_read_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grid: int, states: int, resets: bool, depth: int
) -> None:
    settings(monkeypatch, grid, states)
    monkeypatch.setattr(Commands, "resets", resets)
    check_sequences(tmp_path, Proof(tables=False), depth=depth)


def test_no_write_of_the_host_is_lost_or_doubled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings(monkeypatch, 2, 1)
    check_sequences(tmp_path, Proof(tables=True), depth=24)


@pytest.mark.parametrize(
    ("mistake", "broken"),
    [
        # "early": the halves are exchanged with the first and last states of a pass, before its last expectation.
        ("early", "read_"),
        ("never", "read_what_is_complete"),
    ],
)
def test_proof_notices_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mistake: str, broken: str) -> None:
    settings(monkeypatch, 2, 1)
    right = beltline.hw.line.datapath.LineDatapath.elaborate

    def wrong(self: beltline.hw.line.datapath.LineDatapath, platform: object) -> Module:
        # The line reads this wrong signal instead of the sequencer's half.
        real, seen = self.half, Signal(name="wrong_half")
        self.half = seen
        m = right(self, platform)
        m.d.comb += seen.eq((real ^ self.stream) if mistake == "early" else 0)
        return m

    monkeypatch.setattr(beltline.hw.line.datapath.LineDatapath, "elaborate", wrong)
    with pytest.raises(AssertionError, match=broken):
        check_sequences(tmp_path, Proof(tables=False), depth=40)
