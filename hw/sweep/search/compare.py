"""The objective of a search's candidate, compared with its best candidate so far."""

from __future__ import annotations

from amaranth.hdl import Module, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.decision import Order
from beltline.hw.arithmetic.evaluator import OBJECTIVE_BITS, EvaluatorInstance, EvaluatorParameters
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Term, Timed
from beltline.hw.arithmetic.utility import UtilityPorts, constant_ports
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.search.parameters import OPERANDS, SearchParameters, delay_long

LENT = {
    "lent": In(1),
    "lent_x": In(WIDTH),
    "lent_ev": In(WIDTH),
    "lent_objective": Out(signed(OBJECTIVE_BITS)),
    "lent_feasible": Out(1),
    "lent_over": Out(1),
}
"""Ports by which a scan uses the evaluator while no local search is in progress."""


class Compare(wiring.Component):
    """Computes ``O_j = U(W - X_j) + EV_j`` of a candidate, and compares it with the best one of its search.

    Latency: results in clock :attr:`SearchParameters.decided` of a turn. Throughput: a turn in every clock. Contract:
    fixed latency, no ready; inputs belong to the clock of the turn that is given with them.

    Attributes
    ----------
    a, b, negative, log, shift : in
        Constants of the utility, :data:`beltline.hw.arithmetic.utility.CONSTANTS`.
    linear : in, 1 bit
        Only in general builds: utility is linear, :data:`beltline.hw.arithmetic.utility.LINEAR`.
    position : in, ``position_bits`` of the build
        The number of the search's state in the lane, in clock 0.
    wealth_address, wealth_data : out and in, ``position_bits`` and signed 64 bits
        Read port of the lane's cash on hand, with latency ``READ_LATENCY``.
    ev, x : in, 64 bits each
        Expected value and grid point (or cost) of the candidate, in clock :data:`OPERANDS`.
    best, best_feasible : in, signed 65 bits and 1 bit
        The best candidate's objective, and whether it is feasible, in clock :attr:`SearchParameters.evaluated`.
    objective : out, signed 65 bits
        ``O_j``.
    u : out, 64 bits
        ``U(W - X_j)``.
    feasible : out, 1 bit
        The candidate is feasible: it leaves positive consumption.
    word_over : out, 1 bit
        A word of the evaluation left its range.
    rises : out, 1 bit
        The candidate is feasible, and better than the best one. An infeasible candidate is worse than every feasible
        one.
    keeps : out, 1 bit
        The best one is feasible, and better than the candidate.
    lent : in, 1 bit
        The evaluator takes ``lent_x`` and ``lent_ev`` as operands.
    lent_x, lent_ev : in, 64 bits each
        Grid point (or cost) and expected value, in the same clock as cash on hand.
    lent_objective, lent_feasible, lent_over : out, signed 65 bits, 1 bit, 1 bit
        Results of the evaluator, without further delay.
    """

    def __init__(self, parameters: SearchParameters) -> None:
        self.parameters = parameters
        bits = parameters.build.position_bits
        super().__init__(
            {
                **constant_ports(parameters.build.general),
                "position": In(bits),
                "wealth_address": Out(bits),
                "wealth_data": In(signed(WIDTH)),
                "ev": In(WIDTH),
                "x": In(WIDTH),
                "best": In(signed(OBJECTIVE_BITS)),
                "best_feasible": In(1),
                "objective": Out(signed(OBJECTIVE_BITS)),
                "u": Out(WIDTH),
                "feasible": Out(1),
                "word_over": Out(1),
                "rises": Out(1),
                "keeps": Out(1),
                **LENT,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m, self.parameters.build.multiplier)
        evaluated, decided = self.parameters.evaluated, self.parameters.decided
        of_evaluator = EvaluatorParameters(self.parameters.build.multiplier)
        m.submodules.evaluator = evaluator = EvaluatorInstance(UtilityPorts.of(self))
        ev = p.input(self.ev, OPERANDS)
        ev_then = delay_long(m, p, self.parameters.build, ev, of_evaluator.ev_time)
        m.d.comb += [
            self.wealth_address.eq(p.delay(p.input(self.position), OPERANDS - READ_LATENCY).value),
            evaluator.wealth.eq(self.wealth_data),
            evaluator.x.eq(self.x),
            evaluator.ev.eq(ev_then.value),
        ]
        lent_ev = p.delay(p.input(self.lent_ev), of_evaluator.ev_time)
        with m.If(self.lent):
            m.d.comb += [evaluator.x.eq(self.lent_x), evaluator.ev.eq(lent_ev.value)]
        m.d.comb += [
            getattr(self, f"lent_{name}").eq(getattr(evaluator, name)) for name in ("objective", "feasible", "over")
        ]
        objective, feasible, over = (
            Timed(word, evaluated) for word in (evaluator.objective, evaluator.feasible, evaluator.over)
        )
        order = Order(
            p,
            [p.input(self.best, evaluated), objective],
            [p.input(self.best_feasible, evaluated), feasible],
        )
        ev_late = p.delay(ev_then, evaluated - ev_then.time)
        u = p.total([Term(objective), Term(ev_late, negative=True)], WIDTH)
        assert u.time == decided
        m.d.comb += [
            self.objective.eq(p.delay(objective, decided - evaluated).value),
            self.u.eq(u.value),
            self.feasible.eq(p.delay(feasible, decided - evaluated).value),
            self.word_over.eq(p.delay(over, decided - evaluated).value),
            self.rises.eq(order.above(1, 0)),
            self.keeps.eq(order.above(0, 1)),
        ]
        return m
