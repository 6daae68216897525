"""Rows of reports on the machine that solved a problem: clocks, time and number format."""

from __future__ import annotations

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
