"""The candidates among which a search chooses."""

from __future__ import annotations

from amaranth.hdl import Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.search.parameters import PROBED, SearchParameters


class Limits(wiring.Component):
    """Selects the lowest and the highest candidate of the exogenous state of the search that has its turn.

    Only a build with alternatives and without bounds has this unit. Latency: as the ports say. Throughput: a turn in
    every clock. Contract: fixed latency, no ready; ``lowest`` and ``highest`` do not change during a pass.

    Attributes
    ----------
    lowest, highest : in, ``index_bits`` for each of ``2**state_bits`` exogenous states
        The lowest and the highest candidate of each exogenous state, state 0 in the lowest bits.
    context : in, ``context_bits``
        Clock 0 of a turn: the number of the search, from :class:`beltline.hw.sweep.search.ring.Ring`.
    probed_least, probed_most : out, ``index_bits`` each
        Clock :data:`PROBED` of a turn: the lowest and the highest candidate of its exogenous state.
    guessed_least, guessed_most : out, ``index_bits`` each
        The same in clock :attr:`SearchParameters.guessed`.
    """

    def __init__(self, parameters: SearchParameters) -> None:
        self.parameters = parameters
        names = (f"{time}_{side}" for time in ("probed", "guessed") for side in ("least", "most"))
        super().__init__(
            {
                **self.vectors(parameters.build),
                "context": In(parameters.context_bits),
                **{name: Out(parameters.build.index_bits) for name in names},
            }
        )

    @staticmethod
    def vectors(build: SweepParameters) -> dict[str, wiring.Member]:
        """Return the two inputs with the candidates of all exogenous states."""
        return {name: In(build.index_bits << build.state_bits) for name in ("lowest", "highest")}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        for side, words in (("least", self.lowest), ("most", self.highest)):
            probed = p.register(self._word(words), PROBED - 1)
            guessed = p.delay(probed, self.parameters.guessed - PROBED)
            m.d.comb += [
                getattr(self, f"probed_{side}").eq(probed.value),
                getattr(self, f"guessed_{side}").eq(guessed.value),
            ]
        return m

    def _word(self, words: Value) -> Value:
        """Return the candidate of the exogenous state of ``context``."""
        build = self.parameters.build
        return words.word_select(self.context[: build.state_bits], build.index_bits)
