"""The results of the bench as a figure: total time by grid, for the most important methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from beltline.host.bench.rows import OTHER, PUBLISHED, Row

LINES = 6
"""Most lines of a figure: more cannot be told apart."""

PLAIN = "warm"
"""Value function iteration with the same rule as the machine's, on processors and graphics cards."""


def comparable(row: Row) -> bool:
    """Return whether a row measures a single solve, to the common tolerance and exact on the grid."""
    return not any(word in row.note for word in ("epsilon", OTHER)) and "batch" not in row.method


def chosen(rows: Sequence[Row], most: int = LINES) -> list[tuple[str, str]]:
    """Return the devices and methods to draw, the most important first.

    They are the published algorithm and the fastest one of each device at the largest grid that both reached, the
    machine's engines, and plain value function iteration.
    """
    drawn = [row for row in rows if row.agrees and comparable(row)]
    found: list[tuple[str, str]] = []

    def take(device: str, method: str | None = None) -> None:
        """Add a method of a device to ``found``; by default the fastest remaining one at the largest grid."""
        left = [r for r in drawn if r.device == device and (device, r.method) not in found]
        if method is None and left:
            grid = max(row.grid for row in left)
            method = min((row for row in left if row.grid == grid), key=lambda row: row.total).method
        if any(row.method == method for row in left) and len(found) < most:
            assert method is not None
            found.append((device, method))

    for device in ("cpu", "gpu"):
        take(device, PUBLISHED)
        take(device)
    take("fpga", "line")
    take("fpga")
    for device in ("cpu", "gpu"):
        take(device, PLAIN)
    take("fpga")
    return found


def figure_of(result: dict[str, Any]) -> Any:
    """Return a Matplotlib figure of the results of :func:`beltline.host.bench.suite.bench`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6), layout="constrained")
    axes = figure.add_subplot()
    rows = [Row(**row) for row in result["rows"]]
    for number, (device, method) in enumerate(chosen(rows)):
        points = sorted(
            (row.grid, row.total) for row in rows if (row.device, row.method) == (device, method) and comparable(row)
        )
        modelled = device == "fpga"
        axes.loglog(
            *zip(*points, strict=True),
            "--" if modelled else "-",
            color=f"C{number}",
            marker="osD^vP"[number % 6],
            ms=5,
            label=f"{device} {method}" + (" (modelled)" if modelled else ""),
        )
    axes.set_xlabel("grid points $N_k$")
    axes.set_ylabel("total time, seconds")
    axes.grid(True, which="major", alpha=0.4)
    # Outside the axes, where it hides no line.
    figure.legend(loc="outside lower center", ncols=3, fontsize=9)
    return figure
