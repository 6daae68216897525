"""What reports say of the machine that solved a problem."""

from __future__ import annotations

from beltline.hw.interface.parameters import CLOCK_HZ


def machine_rows(clocks: int, source: str, money_bits: int | None, value_bits: int | None) -> list[tuple[str, str]]:
    """Return rows of a report: clocks and where they come from, their time, and the number format."""
    seconds = clocks / CLOCK_HZ
    time = f"{seconds * 1e3:,.3f} ms" if seconds < 1 else f"{seconds:,.3f} s"
    return [
        ("clocks", f"{clocks:,} ({source})"),
        ("", f"= {time} at {CLOCK_HZ / 1e6:g} MHz (modelled, if timing closes)"),
        ("numbers", f"64-bit fixed point, {money_bits} fraction bits of money, {value_bits} of value"),
    ]
