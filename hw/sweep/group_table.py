"""Registers with the groups of exogenous states, which the host writes and all lanes read."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.log_sum import CONSTANTS
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.interface.groups import HIGHEST_SHIFT, LOWEST_SHIFT, Mark
from beltline.hw.interface.windows import WORD_BYTES
from beltline.hw.sweep.parameters import SweepParameters

_MARKED = {Mark.BEGINS: "begins", Mark.ENDS: "ends", Mark.KEEPS: "keeps"}

_LIMITS = {"lowest": LOWEST_SHIFT, "highest": HIGHEST_SHIFT}


class GroupTable(wiring.Component):
    """Stores rows 0 and 1 of the second matrix of window ``Q`` (:class:`beltline.hw.interface.groups.Groups`), and the
    first words of row 2, the constants of the log-sum.

    Latency: 1 clock from a write to the outputs. Contract: nothing is written during a run. The registers have no
    reset, because the host's tables must survive a run that is aborted.

    Parameters
    ----------
    build
        Sizes of the engine.

    Attributes
    ----------
    write : in, 8 bits
        Byte strobes of a write.
    row, column : in, ``state_bits`` bits
        Row and column of the word in the matrix. Other rows are not stored.
    data : in, 64 bits
        The word.
    kappa : out, 64 bits for each exogenous state
        Amount that each state adds to its value, signed 64 bits in units of value, state 0 in the lowest bits.
    begins, ends, keeps : out, ``states`` bits
        Marks of the states (:class:`beltline.hw.interface.groups.Mark`), bit ``s`` for state ``s``.
    lowest, highest : out, ``index_bits`` for each of ``2**state_bits`` exogenous states
        The lowest and the highest candidate of each state, state 0 in the lowest bits.
    forced : out, ``states`` bits
        Whether a state has a single candidate, a clock after these two.
    slope, unit, lift : out; 63, 64 and 6 bits
        Constants of the log-sum.
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
                **{name: Out(build.index_bits << build.state_bits) for name in _LIMITS},
                "forced": Out(build.states),
                **{name: Out(member.shape) for name, member in CONSTANTS.items()},
            }
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Outputs that are inputs of the same name of every lane."""
        return (*_MARKED.values(), *_LIMITS, *CONSTANTS, "forced")

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = self.build.index_bits
        for s in range(self.build.states):
            added = Signal(WIDTH, reset_less=True, name=f"kappa{s}")
            marks = Signal(len(_MARKED), reset_less=True, name=f"marks{s}")
            with m.If((self.row == 0) & (self.column == s)):
                for byte in range(WORD_BYTES):
                    with m.If(self.write[byte]):
                        part = slice(8 * byte, 8 * (byte + 1))
                        m.d.sync += added[part].eq(self.data[part])
            with m.If((self.row == 1) & (self.column == s) & self.write[0]):
                m.d.sync += marks.eq(self.data)
            m.d.comb += self.kappa.word_select(s, WIDTH).eq(added)
            for name, shift in _LIMITS.items():
                limit = Signal(bits, reset_less=True, name=f"{name}{s}")
                with m.If((self.row == 1) & (self.column == s)):
                    for byte in range(WORD_BYTES):
                        first, last = max(8 * byte, shift), min(8 * byte + 8, shift + bits)
                        if first < last:
                            with m.If(self.write[byte]):
                                m.d.sync += limit[first - shift : last - shift].eq(self.data[first:last])
                m.d.comb += getattr(self, name).word_select(s, bits).eq(limit)
            candidates = (getattr(self, name).word_select(s, bits) for name in _LIMITS)
            m.d.sync += self.forced[s].eq(next(candidates) == next(candidates))
            for mark, name in _MARKED.items():
                m.d.comb += getattr(self, name)[s].eq(marks[int(mark).bit_length() - 1])
        for column, name in enumerate(CONSTANTS):
            word = Signal(WIDTH, reset_less=True, name=f"word_{name}")
            with m.If((self.row == 2) & (self.column == column)):
                for byte in range(WORD_BYTES):
                    with m.If(self.write[byte]):
                        part = slice(8 * byte, 8 * (byte + 1))
                        m.d.sync += word[part].eq(self.data[part])
            m.d.comb += getattr(self, name).eq(word)
        return m
