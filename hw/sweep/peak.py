"""Decides from cached utilities whether a choice is still better than its neighbours; evaluates no utility."""

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
from beltline.hw.interface.parameters import Multiplier

NEIGHBOURS = ("below", "here", "above")
"""Names of the three candidates: ``here`` is the choice ``i``, ``below`` is ``i - 1``, ``above`` is ``i + 1``."""


@dataclass(frozen=True)
class PeakParameters:
    """Parameters of the test whether choice ``i`` is a peak of the objective ``O_j = U_j + EV_j``, ``j = i-1, i, i+1``.

    Choice ``i`` remains if it is feasible, ``O_(i-1) < O_i`` and ``O_(i+1) <= O_i``. An infeasible neighbour counts as
    less than everything. If the objective has a single peak, ``i`` is then its lowest maximiser.

    Objectives are exact, signed with 65 bits. The value is ``O_i``, saturated to signed 64 bits.

    Parameters
    ----------
    multiplier
        The chip's multiplier. Results and latency do not depend on it.
    """

    multiplier: Multiplier = Multiplier.DSP48E2

    @property
    def latency(self) -> int:
        """Clocks from operands to results."""
        return _latency()

    def model(self, u: list[int | None], ev: list[int]) -> tuple[bool, int, bool]:
        """Return the unit's results, bit by bit.

        Parameters
        ----------
        u
            Utilities of ``i - 1``, ``i``, ``i + 1``, in units of value; ``None`` for an infeasible candidate.
        ev
            Their expected values, in units of value.

        Returns
        -------
        stays, value, outside
            Whether ``i`` remains, the value of ``i`` (0 if infeasible), and whether it was
            saturated.
        """
        below, here, above = (None if a is None else a + b for a, b in zip(u, ev, strict=True))
        stays = here is not None and (below is None or below < here) and (above is None or above <= here)
        value = 0 if here is None else min(max(here, MINIMUM), MAXIMUM)
        return stays, value, here is not None and value != here


def _build(p: Pipeline, u: list[Timed], ev: list[Timed], feasible: list[Timed]) -> tuple[Order, list[Timed]]:
    objectives = [p.total([Term(a), Term(b)], OBJECTIVE_BITS, signed=True) for a, b in zip(u, ev, strict=True)]
    flags = [p.delay(flag, objectives[0].time) for flag in feasible]
    return Order(p, objectives, flags), objectives


@functools.cache
def _latency() -> int:
    word, flag = Timed(Const(0, signed(WIDTH)), 0), Timed(Const(0, 1), 0)
    return _build(Pipeline(), [word] * 3, [word] * 3, [flag] * 3)[1][1].time + 3


class Peak(wiring.Component):
    """Tests whether a choice is a peak, and computes its value.

    Latency: ``parameters.latency`` clocks. Throughput: one state in every clock. Contract: fixed latency, without
    ``valid``. Formula: :class:`PeakParameters`.

    Attributes
    ----------
    u_below, u_here, u_above : in, signed 64 bits
        Utilities of candidates ``i - 1``, ``i``, ``i + 1``, in units of value.
    feasible_below, feasible_here, feasible_above : in, 1 bit
        Whether each candidate is feasible.
    ev_below, ev_here, ev_above : in, signed 64 bits
        Their expected values, in units of value.
    stays : out, 1 bit
        Choice ``i`` remains.
    value : out, signed 64 bits
        Value of ``i``, in units of value. Undefined if ``i`` is infeasible.
    outside : out, 1 bit
        ``value`` was saturated; low if ``i`` is infeasible.
    """

    def __init__(self, parameters: PeakParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                **{f"u_{name}": In(signed(WIDTH)) for name in NEIGHBOURS},
                **{f"feasible_{name}": In(1) for name in NEIGHBOURS},
                **{f"ev_{name}": In(signed(WIDTH)) for name in NEIGHBOURS},
                "stays": Out(1),
                "value": Out(signed(WIDTH)),
                "outside": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m, self.parameters.multiplier)
        u, ev, feasible = (
            [p.input(getattr(self, f"{kind}_{name}")) for name in NEIGHBOURS] for kind in ("u", "ev", "feasible")
        )
        order, objectives = _build(p, u, ev, feasible)
        here = objectives[1]
        decided = self.parameters.latency - 1
        value, outside = clamped(p.delay(here, decided - here.time).value)
        m.d.sync += [
            self.stays.eq(order.wins(1)),
            self.value.eq(value),
            self.outside.eq(outside & p.delay(feasible[1], decided).value),
        ]
        return m
