"""The candidate at which the next state of a search begins."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline, Timed
from beltline.hw.sweep.search.parameters import GUESS_CLOCKS, SearchParameters


class Guess(wiring.Component):
    """Guesses the next state's choice: its stored choice plus the move of the state before it, clamped to the grid.

    Latency ``GUESS_CLOCKS``; throughput a turn in every clock. Contract: fixed latency, no ready.

    Attributes
    ----------
    last_index : in, ``index_bits`` of the build
        The last candidate of the grid.
    least, most : in, ``index_bits`` of the build
        Only in general builds: the lowest and the highest candidate of the search's next state, to which its guesses
        are clamped in place of the grid.
    search : in, :attr:`SearchParameters.search`
        The search.
    exact : in, 1 bit
        The guess is the stored choice itself.
    move : out, signed ``index_bits + 1``
        The best candidate minus the stored choice of the search's present state.
    begin_done : out, ``index_bits + 1``
        The guess if the present state ends with its best candidate, so that the move is ``move``.
    begin_idle : out, ``index_bits + 1``
        The guess if the state before ended in an earlier turn, with the move ``shift`` of the search.
    """

    def __init__(self, parameters: SearchParameters) -> None:
        self.parameters = parameters
        bits = parameters.index_bits
        super().__init__(
            {
                "last_index": In(parameters.build.index_bits),
                "search": In(parameters.search),
                "move": Out(signed(bits)),
                "begin_done": Out(bits),
                "begin_idle": Out(bits),
                "exact": In(1),
                **({name: In(bits - 1) for name in ("least", "most")} if parameters.build.general else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m, self.parameters.build.multiplier)
        search = self.search
        operands = (search.index, search.item.choice, search.next.choice, search.shift.as_signed())
        index, choice, waits, shift = (p.input(value) for value in operands)
        moved_now = p.compute(lambda a, b: a - b, index, choice)

        def moved(choice: Value, by: Value) -> Value:
            return choice + Mux(self.exact, 0, by)

        guesses = [p.compute(moved, waits, moved_now), p.delay(p.compute(moved, waits, shift), 1)]

        def begin(guess: Value, least: Value, most: Value) -> Value:
            return Mux(guess < least, least, Mux(guess > most, most, guess))

        # The grid does not change during a pass, and the limits of a search are those of this turn.
        limits = [Timed(word, guesses[0].time) for word in (Const(0), self.last_index)]
        if self.parameters.build.general:
            limits = [p.input(word) for word in (self.least, self.most)]
        begins = [p.compute(begin, guess, *limits) for guess in guesses]
        assert begins[0].time == begins[1].time == GUESS_CLOCKS
        m.d.comb += [
            self.move.eq(p.delay(moved_now, GUESS_CLOCKS - moved_now.time).value),
            self.begin_done.eq(begins[0].value),
            self.begin_idle.eq(begins[1].value),
        ]
        return m
