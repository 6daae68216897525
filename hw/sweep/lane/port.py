"""How the units of a lane share its port to the row buses."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux, Value

from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.row_buses import TAKEN_CLOCKS, RowBusesParameters


def share(m: Module, build: SweepParameters, port: Any, units: list[tuple[Any, Value]]) -> None:
    """Share ``port`` among ``units``, each in its pass; with ``hands``, each in the clocks in which it requests a row.

    A check that hands states to the local search is in progress while their first rows are requested.

    Parameters
    ----------
    m
        The module to add to.
    build
        Sizes of the engine.
    port
        The lane's :class:`beltline.hw.sweep.row_buses.RowPort`.
    units
        Ports of the units, each with the condition that its pass is in progress; the check first, then the search.
    """
    if build.hands:
        (check, _), (search, _) = units
        _share_by_request(m, RowBusesParameters(build, build.inner_bits), port, check, search)
    else:
        _share_by_pass(m, port, units)


def _share_by_pass(m: Module, port: Any, units: list[tuple[Any, Value]]) -> None:
    """Let each unit have ``port`` while its condition is high, and the first one while no other has it.

    A condition may change only while no request is in progress.
    """
    for number, (unit, active) in enumerate(units):
        with m.If(active if number else Const(1, 1)):
            m.d.comb += [
                port.request.eq(unit.request),
                port.row.eq(unit.row),
                port.inner.eq(unit.inner),
            ]
        m.d.comb += [
            unit.turn.eq(port.turn),
            unit.taken.eq(port.taken & active),
            unit.valid.eq(port.valid & active),
            unit.data.eq(port.data),
        ]


def _share_by_request(m: Module, buses: RowBusesParameters, port: Any, first: Any, second: Any) -> None:
    """Let ``first`` have ``port`` in each clock in which it requests a row, and ``second`` in all others.

    The latency of ``buses`` tells whose row arrives.
    """
    p = Pipeline(m)
    of_first = p.input(first.request)
    took, came = (p.delay(of_first, clocks).value for clocks in (TAKEN_CLOCKS, buses.latency))
    m.d.comb += [
        port.request.eq(first.request | second.request),
        port.row.eq(Mux(first.request, first.row, second.row)),
        port.inner.eq(Mux(first.request, first.inner, second.inner)),
    ]
    for unit, taken, valid in ((first, took, came), (second, ~took, ~came)):
        m.d.comb += [
            unit.turn.eq(port.turn),
            unit.taken.eq(port.taken & taken),
            unit.valid.eq(port.valid & valid),
            unit.data.eq(port.data),
        ]
