"""The bench's table as a figure: total time by grid, a line for each device and method."""

from __future__ import annotations

from typing import Any

from beltline.host.bench.rows import Row


def figure_of(result: dict[str, Any]) -> Any:
    """Return a Matplotlib figure of what :func:`beltline.host.bench.suite.bench` returned."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 6), layout="constrained")
    axes = figure.add_subplot()
    rows = [Row(**row) for row in result["rows"]]
    styles = {"cpu": "-", "gpu": "--", "emulator": ":", "rtl": ":", "fpga": "-."}
    # A method has one colour on every device; where colours are used up, another marker.
    methods = list(dict.fromkeys(row.method for row in rows))
    for device, method in dict.fromkeys((row.device, row.method) for row in rows):
        turn, colour = divmod(methods.index(method), 10)
        points = sorted(
            (r.grid, r.total) for r in rows if (r.device, r.method) == (device, method) and "epsilon" not in r.note
        )
        if points:
            name = f"{device} {method}" + (" (modelled)" if device == "fpga" else "")
            axes.loglog(
                *zip(*points, strict=True), styles[device], color=f"C{colour}", marker=".^s"[turn], ms=5, label=name
            )
    axes.set_xlabel("grid points $N_k$")
    axes.set_ylabel("total time, seconds")
    axes.grid(True, which="major", alpha=0.4)
    # Outside the axes, where it hides no line.
    figure.legend(loc="outside right upper", fontsize=8)
    return figure
