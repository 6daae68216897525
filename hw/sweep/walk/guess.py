"""Where the next state of a walker will begin."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.sweep.walk.parameters import GUESS_CLOCKS, WalkParameters


class Guess(wiring.Component):
    """The last choice of the state that waits, moved by as much as that of the state before it, cut to the grid.

    A turn of the ring a clock; latency ``GUESS_CLOCKS``.

    Attributes
    ----------
    last_index, seek
        In: as those of :class:`beltline.hw.sweep.walk.walk.Walk`. With ``seek`` the guess is the walker's candidate.
    walker
        In: the walker.
    exact
        In, of a build with ``proof``: the guess is the last choice itself.
    move
        Out: by how much the candidate differs from the choice of the walker's state.
    begin_done
        Out: the guess, if the walker's state ends with its candidate.
    begin_idle
        Out: the guess, if its last state has ended before, and has moved by ``shift``.
    """

    def __init__(self, parameters: WalkParameters) -> None:
        self.parameters = parameters
        bits = parameters.index_bits
        super().__init__(
            {
                "last_index": In(parameters.build.index_bits),
                "seek": In(1),
                "walker": In(parameters.walker),
                "move": Out(signed(bits)),
                "begin_done": Out(bits),
                "begin_idle": Out(bits),
                **({"exact": In(1)} if parameters.build.proof else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        walker, top = self.walker, self.last_index
        operands = (walker.index, walker.item.choice, walker.next.choice, walker.shift.as_signed())
        index, choice, waits, shift = (p.input(value) for value in operands)
        moved_now = p.compute(lambda a, b: a - b, index, choice)

        def moved(choice: Value, by: Value) -> Value:
            return choice + (Mux(self.exact, 0, by) if self.parameters.build.proof else by)

        guesses = [p.compute(moved, waits, moved_now), p.delay(p.compute(moved, waits, shift), 1)]

        def begin(guess: Value, at: Value) -> Value:
            return Mux(self.seek, at, Mux(guess < 0, 0, Mux(guess > top, top, guess)))

        begins = [p.compute(begin, guess, index) for guess in guesses]
        assert begins[0].time == begins[1].time == GUESS_CLOCKS
        m.d.comb += [
            self.move.eq(p.delay(moved_now, GUESS_CLOCKS - moved_now.time).value),
            self.begin_done.eq(begins[0].value),
            self.begin_idle.eq(begins[1].value),
        ]
        return m
