"""The objective of a probe, and how it compares with the best so far."""

from __future__ import annotations

from amaranth.hdl import Module, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.decision import Order
from beltline.hw.arithmetic.evaluator import OBJECTIVE_BITS, EvaluatorInstance, EvaluatorParameters
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Term, Timed
from beltline.hw.arithmetic.utility import CONSTANTS, UtilityPorts
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.walk.parameters import OPERANDS, WalkParameters

LENT = {
    "lent": In(1),
    "lent_x": In(WIDTH),
    "lent_ev": In(WIDTH),
    "lent_objective": Out(signed(OBJECTIVE_BITS)),
    "lent_feasible": Out(1),
    "lent_over": Out(1),
}
"""Ports by which others use the evaluator while nobody walks."""


class Compare(wiring.Component):
    """``O_j = U(W - X_j) + EV_j`` against the objective of the walker's best candidate.

    A turn of the ring a clock; results come :attr:`WalkParameters.decided` clocks behind the start of the turn.

    Attributes
    ----------
    a, b, negative, log, shift
        In: the utility's constants.
    position
        In: the number of the walker's state in the lane, in clock 0 of a turn.
    wealth_address, wealth_data
        Out, in: read port of the lane's wealth, of ``READ_LATENCY``.
    ev, x
        In: of the candidate, in clock ``OPERANDS``.
    best, best_feasible
        In: the best candidate's objective, and whether it is feasible, in clock :attr:`WalkParameters.evaluated`.
    objective, u, feasible, word_over
        Out: of the candidate: ``O_j``, ``U``, whether it is feasible, whether a word left its range.
    rises, keeps
        Out: the candidate is feasible, and better than the best; the best is feasible, and better than the candidate.
        Infeasible is worse than everything.
    lent, lent_x, lent_ev, lent_objective, lent_feasible, lent_over
        Of a build with ``proof``: with ``lent`` the evaluator's operands are these, beside the wealth, and its results
        come as they are.
    """

    def __init__(self, parameters: WalkParameters) -> None:
        self.parameters = parameters
        bits = parameters.build.position_bits
        super().__init__(
            {
                **CONSTANTS,
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
                **(LENT if parameters.build.proof else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        evaluated, decided = self.parameters.evaluated, self.parameters.decided
        of_evaluator = EvaluatorParameters(self.parameters.build.multiplier)
        m.submodules.evaluator = evaluator = EvaluatorInstance(UtilityPorts.of(self))
        ev = p.input(self.ev, OPERANDS)
        m.d.comb += [
            self.wealth_address.eq(p.delay(p.input(self.position), OPERANDS - READ_LATENCY).value),
            evaluator.wealth.eq(self.wealth_data),
            evaluator.x.eq(self.x),
            evaluator.ev.eq(p.delay(ev, of_evaluator.ev_time).value),
        ]
        if self.parameters.build.proof:
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
        ev_late = p.delay(ev, evaluated - ev.time)
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
