"""Whether a kept choice is still the best, from kept utilities: no evaluation of utility."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from amaranth.hdl import Const, Module, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.decision import Order, clamped
from beltline.hw.arithmetic.evaluator import OBJECTIVE_BITS
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM, WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Term, Timed

NEIGHBOURS = ("below", "here", "above")
"""The kept choice ``i`` is ``here``; ``below`` is ``i - 1`` and ``above`` is ``i + 1``."""


@dataclass(frozen=True)
class PeakParameters:
    """Whether ``O_i`` is the peak of ``O_j = U_j + EV_j``, lowest index first: ``j = i - 1, i, i + 1``, in 65 bits.

    ``i`` stays the choice where it is feasible, ``O_(i-1) < O_i`` and ``O_(i+1) <= O_i``; an infeasible neighbour is
    less than everything. With a single-peaked objective that is the lowest maximiser of all. ``rises`` says that
    ``i + 1`` is feasible, and better than ``i``; a choice that neither stays nor rises has its peak below.
    """

    @property
    def latency(self) -> int:
        """Clocks from operands to results; operands enter every clock."""
        return _latency()

    def model(self, u: list[int | None], ev: list[int]) -> tuple[bool, bool, int, bool]:
        """``(stays, rises, value, outside)``, ``value`` that of ``i`` cut to 64 bits where it had to be.

        Parameters
        ----------
        u
            Utilities of the three, ``None`` where infeasible.
        ev
            Their expected values.
        """
        below, here, above = (None if a is None else a + b for a, b in zip(u, ev, strict=True))
        stays = here is not None and (below is None or below < here) and (above is None or above <= here)
        rises = above is not None and (here is None or above > here)
        value = 0 if here is None else min(max(here, MINIMUM), MAXIMUM)
        return stays, rises, value, here is not None and value != here


def _build(p: Pipeline, u: list[Timed], ev: list[Timed], feasible: list[Timed]) -> tuple[Order, Timed]:
    objectives = [p.total([Term(a), Term(b)], OBJECTIVE_BITS, signed=True) for a, b in zip(u, ev, strict=True)]
    flags = [p.delay(flag, objectives[0].time) for flag in feasible]
    return Order(p, objectives, flags), objectives[1]


@functools.cache
def _latency() -> int:
    word, flag = Timed(Const(0, signed(WIDTH)), 0), Timed(Const(0, 1), 0)
    return _build(Pipeline(), [word] * 3, [word] * 3, [flag] * 3)[1].time + 3


class Peak(wiring.Component):
    """:class:`PeakParameters` in gateware. Fixed latency, operands every clock; carries no valid of its own.

    ``stays``, ``rises``, ``outside`` are flags, ``value`` is anything where ``i`` is infeasible.
    """

    def __init__(self, parameters: PeakParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                **{f"u_{name}": In(signed(WIDTH)) for name in NEIGHBOURS},
                **{f"feasible_{name}": In(1) for name in NEIGHBOURS},
                **{f"ev_{name}": In(signed(WIDTH)) for name in NEIGHBOURS},
                "stays": Out(1),
                "rises": Out(1),
                "value": Out(signed(WIDTH)),
                "outside": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        u, ev, feasible = (
            [p.input(getattr(self, f"{kind}_{name}")) for name in NEIGHBOURS] for kind in ("u", "ev", "feasible")
        )
        order, here = _build(p, u, ev, feasible)
        decided = self.parameters.latency - 1
        value, outside = clamped(p.delay(here, decided - here.time).value)
        m.d.sync += [
            self.stays.eq(order.wins(1)),
            self.rises.eq(order.above(2, 1)),
            self.value.eq(value),
            self.outside.eq(outside & p.delay(feasible[1], decided).value),
        ]
        return m
