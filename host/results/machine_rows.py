"""Rows of reports on a result, and on the machine that solved its problem: clocks, time and number format."""

from __future__ import annotations

import math
from typing import Any

from beltline.host.problem.report import Report, report
from beltline.hw.interface.parameters import CLOCK_HZ


def machine_rows(
    clocks: int, source: str, amount_bits: int | None, value_bits: int | None, proven: bool = False
) -> list[tuple[str, str]]:
    """Return the rows of a report on a machine.

    Parameters
    ----------
    clocks
        Clock cycles of the solve.
    source
        Where ``clocks`` comes from: counted by hardware, counted in simulation, or computed by a formula.
    amount_bits, value_bits
        Fraction bits of amounts of the good, and of values.
    proven
        Whether the machine proved its choices.

    Returns
    -------
    list of (str, str)
        Label and text of each row.
    """
    seconds = clocks / CLOCK_HZ
    time = f"{seconds * 1e3:,.3f} ms" if seconds < 1 else f"{seconds:,.3f} s"
    return [
        ("clocks", f"{clocks:,} ({source})"),
        ("", f"= {time} at {CLOCK_HZ / 1e6:g} MHz (modelled, if timing closes)"),
        *([("proof", "the machine has proven every choice of its last sweep")] if proven else []),
        ("numbers", f"64-bit fixed point, {amount_bits} fraction bits for amounts, {value_bits} for values"),
    ]


def report_of(result: Any) -> Report:
    """Return the report of a :class:`~beltline.host.results.result.Result`."""
    problem = result.problem
    rows = [("status", f"{result.status}: {result.message}"), ("sweeps", f"{result.sweeps:,}")]
    if not math.isnan(result.change) and problem.horizon is None:
        rule = "by the method's stopping rule" if result.method else "max |V_n - V_(n-1)|"
        rows.append(("last change", f"{rule} = {result.change:.3g} (tolerance {result.tol:g})"))
    rows.append(("residual", f"max |TV - V| = {result.residual:.3g} ({result.measured_by})"))
    if result.prices is not None:
        rows.append(
            ("prices", f"last change {result.price_change:.3g}; the error bound is for the prices of the last sweep")
        )
    rows.append(("error bound", result.bound))
    if result.alternative is not None:
        shares = ", ".join(f"{name} in {result.taken(name).mean():.1%}" for name in result.alternatives)
        rows.append(("taken", f"{shares} of the states of its regime"))
    rows += result.machine_rows()
    rows += [
        *([("chosen", result.chosen)] if result.chosen else []),
        ("this computer", ", ".join(f"{name} {spent:.2f} s" for name, spent in result.timing.items())),
    ]
    ages = "" if problem.horizon is None else f", {problem.horizon} ages"
    return report(f"{problem.name}, {problem.size}{ages}, on device {result.device}", rows)
