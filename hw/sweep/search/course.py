"""The delay line of a search between its probe and its decision, while the evaluator works."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline, Timed
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.search.parameters import FOUND, SearchParameters, delay_long

_BESIDE = ("probe", "found", "nowhere", "exhausted", "exogenous")
"""Inputs that are delayed beside the search until its decision."""


class Course(wiring.Component):
    """Delays a search until its candidate is evaluated, and adds the state that it will search next.

    Latency: from clock :data:`FOUND` to clock :attr:`SearchParameters.decided` of a turn. Throughput: a turn in every
    clock. Contract: fixed latency, no ready; each port below belongs to the named clock of a turn.

    Attributes
    ----------
    sent : in, :attr:`SearchParameters.search`
        Clock ``FOUND``: the search.
    probe, found, nowhere : in, ``index_bits`` of the build, 1 bit, 1 bit
        Clock ``FOUND``: its candidate, see :class:`beltline.hw.sweep.search.probe.Probe`.
    hit, item, point, exhausted, exogenous : in
        Clock ``loaded``: the next state, see :class:`beltline.hw.sweep.search.next_state.NextState`.
    used : in, 1 bit
        Clock ``loaded``: the search takes ``move`` as the move of its previous state.
    move : in, signed ``index_bits + 1``
        Clock ``loaded``: from :class:`beltline.hw.sweep.search.moves.FirstMoves`.
    guesses : out, :attr:`SearchParameters.search`
        Clock ``guessed``: the search.
    compares : out, :attr:`SearchParameters.search`
        Clock ``evaluated``: the search.
    old_address : out, ``position_bits`` of the build
        The number of the search's state, early enough that a word read there is valid a clock after ``decided``.
    decides : out, :attr:`SearchParameters.search`
        Clock ``decided``: the search.
    decides_probe, decides_found, decides_nowhere, decides_exhausted, decides_exogenous : out
        Clock ``decided``: the inputs of those names.
    decides_last : out, 1 bit
        Clock ``decided``: see ``last`` of :class:`beltline.hw.sweep.search.commit.Commit`.
    """

    def __init__(self, parameters: SearchParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        super().__init__(
            {
                "sent": In(parameters.search),
                "probe": In(build.index_bits),
                "found": In(1),
                "nowhere": In(1),
                "hit": In(1),
                "item": In(parameters.item),
                "point": In(parameters.searched_bits),
                "exhausted": In(1),
                "exogenous": In(build.state_bits),
                "used": In(1),
                "move": In(parameters.index_bits),
                "guesses": Out(parameters.search),
                "compares": Out(parameters.search),
                "old_address": Out(build.position_bits),
                "decides": Out(parameters.search),
                "decides_probe": Out(build.index_bits),
                "decides_found": Out(1),
                "decides_nowhere": Out(1),
                "decides_exhausted": Out(1),
                "decides_exogenous": Out(build.state_bits),
                "decides_last": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m, self.parameters.build.multiplier)
        parameters, build = self.parameters, self.parameters.build
        loaded, joined, guessed = parameters.loaded, parameters.joined, parameters.guessed
        evaluated, decided = parameters.evaluated, parameters.decided

        def wait(names: tuple[str, ...], begin: int) -> dict[str, Value]:
            """Return the inputs ``names`` of clock ``begin``, delayed until clock ``joined``."""
            words = [Value.cast(getattr(self, name)) for name in names]
            late = delay_long(m, p, build, Timed(Cat(*words), begin), joined - begin).value
            return _parts(late, {name: len(word) for name, word in zip(names, words, strict=True)})

        found = wait(("sent", "probe", "found", "nowhere"), FOUND)
        came = wait(("hit", "item", "point", "used", "move", "exhausted", "exogenous"), loaded)
        search = Signal(parameters.search)
        m.d.comb += search.eq(found["sent"])
        with m.If(came["hit"]):
            m.d.comb += [search.waiting.eq(1), search.next.eq(came["item"])]
        m.d.comb += search.point.eq(came["point"])
        with m.If(came["used"]):
            m.d.comb += search.shift.eq(came["move"])
        beside = {name: word for name, word in (found | came).items() if name in _BESIDE}
        whole = p.delay(Timed(Cat(search, *beside.values()), joined), guessed - joined)
        widths = {name: len(word) for name, word in beside.items()}

        def at(time: int) -> Any:
            """Return the search in clock ``time`` of its turn, from ``guessed`` on."""
            then = Signal(parameters.search)
            m.d.comb += then.eq(p.delay(whole, time - guessed).value)
            return then

        m.d.comb += [
            self.guesses.eq(at(guessed)),
            self.compares.eq(at(evaluated)),
            self.old_address.eq(at(decided + 1 - READ_LATENCY).item.position),
            self.decides.eq(at(decided)),
        ]
        others = p.delay(whole, decided - guessed).value[parameters.search.size :]
        m.d.comb += Cat(*(getattr(self, f"decides_{name}") for name in widths)).eq(others)
        # The end of a search decides late in a clock, so what is known before the comparison is prepared.
        then = at(decided - 1)
        flags = _parts(p.delay(whole, decided - 1 - guessed).value[parameters.search.size :], widths)
        known = flags["found"] | flags["nowhere"]
        beyond = Mux(then.down, then.above_known, then.below_known)
        last = p.register(known & ~then.first & (then.exponent == 0) & beyond, decided - 1)
        m.d.comb += self.decides_last.eq(last.value)
        return m


def _parts(word: Value, widths: dict[str, int]) -> dict[str, Value]:
    """Return the parts of ``word`` by their names, from the lowest bit on."""
    parts = {}
    for name, width in widths.items():
        parts[name], word = word[:width], word[width:]
    return parts
