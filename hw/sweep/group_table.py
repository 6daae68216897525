"""Which exogenous states belong together, as the host has written it, for all lanes."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.interface.groups import Mark
from beltline.hw.interface.windows import WORD_BYTES
from beltline.hw.sweep.parameters import SweepParameters

_MARKED = {Mark.BEGINS: "begins", Mark.ENDS: "ends", Mark.KEEPS: "keeps"}


class GroupTable(wiring.Component):
    """Registers with rows 0 and 1 of the second matrix of window ``Q``: :class:`beltline.hw.interface.groups.Groups`.

    A word that is written shows in the clock behind. Nothing is written during a run. Registers have no reset: the
    tables of the host stay where a run is broken off.

    Attributes
    ----------
    write
        In: a bit for each byte of ``data``.
    row, column
        In: the place of the word in the matrix; rows from 2 on are not kept.
    data
        In: the word, 64 bits.
    kappa
        Out: what each exogenous state adds to its value, signed 64 bits each, the first in the lowest bits.
    begins, ends, keeps
        Out, a bit for each exogenous state: its marks.
    """

    def __init__(self, build: SweepParameters) -> None:
        self.build = build
        super().__init__(
            {
                "write": In(WORD_BYTES),
                "row": In(build.state_bits),
                "column": In(build.state_bits),
                "data": In(WIDTH),
                "kappa": Out(build.states * WIDTH),
                **{name: Out(build.states) for name in _MARKED.values()},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for s in range(self.build.states):
            added = Signal(WIDTH, reset_less=True, name=f"kappa{s}")
            marks = Signal(len(Mark), reset_less=True, name=f"marks{s}")
            with m.If((self.row == 0) & (self.column == s)):
                for byte in range(WORD_BYTES):
                    with m.If(self.write[byte]):
                        part = slice(8 * byte, 8 * (byte + 1))
                        m.d.sync += added[part].eq(self.data[part])
            with m.If((self.row == 1) & (self.column == s) & self.write[0]):
                m.d.sync += marks.eq(self.data)
            m.d.comb += self.kappa.word_select(s, WIDTH).eq(added)
            for mark, name in _MARKED.items():
                m.d.comb += getattr(self, name)[s].eq(marks[int(mark).bit_length() - 1])
        return m
