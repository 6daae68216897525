"""The windows of the gather unit: for each exogenous state, which rows of expected values its lane holds."""

from __future__ import annotations

from amaranth.hdl import Array, Module, Mux, Signal, Value

SELECTED = 16
"""Largest number of exogenous states whose windows are selected in the clock that uses them."""


class Stored:
    """Registers that store the elements of an array at some indexes, to be read in place of the array.

    Parameters
    ----------
    registers
        Pairs of an index, a signal that is recognised by identity, and the register that stores the element there.
    """

    def __init__(self, *registers: tuple[Signal, Signal]) -> None:
        self._registers = registers

    def __getitem__(self, index: Signal) -> Signal:
        """Return the register that stores the element at ``index``."""
        return next(register for at, register in self._registers if at is index)


class RowWindows:
    """The window of each exogenous state, for the two states on which the gather unit works.

    One has *entered* and waits to be compared with its window. The other is *present*: it was compared, and requests
    its rows. A window ends with row ``last``. Rows from ``newest`` on, that of the newest state, may be used; rows from
    ``base`` on, that of the last state that left, must not be overwritten. ``known`` is low for a window without rows.

    With more than :data:`SELECTED` exogenous states, the selection of one takes many levels of logic. Then it is made a
    clock before, and registers beside the two states store their windows and follow every change. Clocks and results do
    not depend on it.

    :meth:`enter`, :meth:`change`, :meth:`leave` and :meth:`discard` are to be called once each, in this order: of two
    changes in a clock the later one counts.

    Parameters
    ----------
    states
        Number of exogenous states.
    row_bits, base_bits
        Bits of a row, and of its lowest bits that are stored in ``base``.
    entered, present
        Registers with the exogenous states of the two.

    Attributes
    ----------
    newest, last, base
        Arrays to be read at ``entered`` (``newest`` and ``last``; valid if the present state is of another exogenous
        state, or has been pushed) or at ``present`` (``last`` and ``base``).
    """

    def __init__(self, states: int, row_bits: int, base_bits: int, entered: Signal, present: Signal) -> None:
        self._entered, self._present = entered, present
        self._known = known = Signal(states, name="known")
        newest = Array(Signal(row_bits, name=f"newest{k}") for k in range(states))
        last = Array(Signal(row_bits, name=f"last{k}") for k in range(states))
        base = Array(Signal(base_bits, name=f"base{k}") for k in range(states))
        self._arrays = known, newest, last, base
        self.stored = states > SELECTED
        self.newest: Array[Signal] | Stored = newest
        self.last: Array[Signal] | Stored = last
        self.base: Array[Signal] | Stored = base
        if not self.stored:
            return
        self._entered_known = Signal()
        self._entered_newest, self._entered_last = Signal(row_bits), Signal(row_bits)
        self._present_last, self._present_base = Signal(row_bits), Signal(base_bits)
        self.newest = Stored((entered, self._entered_newest))
        self.last = Stored((entered, self._entered_last), (present, self._present_last))
        self.base = Stored((present, self._present_base))

    def known(self) -> Value:
        """Return whether the window of the state that has entered has rows; valid as ``last`` there is."""
        return self._entered_known if self.stored else self._known.bit_select(self._entered, 1)

    def enter(self, m: Module, coming: Value, enters: Value, compare: Value) -> None:
        """Let a state of exogenous state ``coming`` enter in clocks with ``enters``, and make the one that has entered
        the present one in clocks with ``compare``.
        """
        if not self.stored:
            return
        known, newest, last, base = self._arrays
        with m.If(enters):
            m.d.sync += [
                self._entered_known.eq(known.bit_select(coming, 1)),
                self._entered_newest.eq(newest[coming]),
                self._entered_last.eq(last[coming]),
            ]
        # No other change of this window is possible in this clock, except of `base`.
        with m.If(compare):
            m.d.sync += [self._present_last.eq(self._entered_last), self._present_base.eq(base[self._entered])]
        self._next_entered = Mux(enters, coming, self._entered)
        self._next_present = Mux(compare, self._entered, self._present)
        self._stays = ~compare

    def change(self, m: Module, ask: Value, follows: Value, push: Value, following: Value, row: Value) -> None:
        """Change the window of the present state in clocks in which it asks for a row or is pushed.

        If it asks, the window grows by row ``following`` if ``follows`` is high, and otherwise begins again at ``row``,
        that of the present state.
        """
        s, (known, newest, last, base) = self._present, self._arrays
        if not self.stored:
            with m.If(ask & follows):
                m.d.sync += last[s].eq(following)
            with m.Elif(ask):
                m.d.sync += [last[s].eq(row), base[s].eq(row), newest[s].eq(row), known.bit_select(s, 1).eq(1)]
            with m.If(push):
                m.d.sync += newest[s].eq(row)
            return
        # Explicit decoding takes less logic. Other builds have the form above, with which their hashes are recorded.
        begins = ask & ~follows
        for k in range(len(known)):
            with m.If(s == k):
                with m.If(ask):
                    m.d.sync += last[k].eq(Mux(follows, following, row))
                with m.If(begins):
                    m.d.sync += [base[k].eq(row), known[k].eq(1)]
                with m.If(begins | push):
                    m.d.sync += newest[k].eq(row)
        with m.If(self._next_entered == s):
            with m.If(ask):
                m.d.sync += self._entered_last.eq(Mux(follows, following, row))
            with m.If(begins):
                m.d.sync += self._entered_known.eq(1)
            with m.If(begins | push):
                m.d.sync += self._entered_newest.eq(row)
        with m.If(self._stays):
            with m.If(ask):
                m.d.sync += self._present_last.eq(Mux(follows, following, row))
            with m.If(begins):
                m.d.sync += self._present_base.eq(row)

    def leave(self, m: Module, pop: Value, state: Value, row: Value) -> None:
        """Note in clocks with ``pop`` that a state of exogenous state ``state`` leaves, whose row ends in ``row``."""
        _, _, _, base = self._arrays
        with m.If(pop):
            m.d.sync += base[state].eq(row)
        if self.stored:
            with m.If(pop & (state == self._next_present)):
                m.d.sync += self._present_base.eq(row)

    def discard(self, m: Module, clear: Value) -> None:
        """Discard all windows in clocks with ``clear``."""
        with m.If(clear):
            m.d.sync += self._known.eq(0)
            if self.stored:
                m.d.sync += self._entered_known.eq(0)
