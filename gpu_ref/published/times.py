"""Print the published times beside those of this project, grid by grid.

``python -m beltline.gpu_ref.published.times RESULTS.json [CHECK.json]`` prints tables in Markdown, in seconds.
``RESULTS.json`` is written by ``beltline bench``, ``CHECK.json`` by ``python -m beltline.gpu_ref.cuda.headline``. The
columns of this project are total times: allocate, load, solve and read back. Nothing is solved here.

Published times: Aldrich, Fernandez-Villaverde, Gallant and Rubio-Ramirez (2011), tables 3 and 5 to 7 (one core of a
quad-core Xeon at 2.66 GHz, and a GeForce GTX 280; stop at ``(1 - beta) 1e-8``); the web page of their code (quad-core
Xeon at 2.4 GHz, and a Tesla C2075); Peri (2019), table 2 at 65,536 points.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

GRIDS = tuple(2**i for i in range(4, 17))

START = (1.13, 1.13, 1.13, 1.12, 1.13, 1.12, 1.12, 1.12, 1.12, 1.13, 1.12, 1.13, 1.13)
"""Table 3: seconds to allocate memory on the GPU, for each of :data:`GRIDS`, as are all tuples below."""

BINARY_GPU = (0.29, 0.32, 0.36, 0.4, 0.44, 0.57, 0.81, 1.33, 2.53, 5.24, 10.74, 22.43, 47.19)
BINARY_CPU = (0.03, 0.08, 0.19, 0.5, 1.36, 3.68, 10.77, 34.27, 117.32, 427.50, 1615.40, 6270.37, 24588.50)

HOWARD_START = (1.13, 1.13, 1.13, 1.13, 1.13, 1.13, 1.12, 1.13, 1.13, 1.11, 1.13, 1.12, 1.13)
HOWARD_GPU = (0.14, 0.16, 0.20, 0.25, 0.24, 0.53, 1.50, 4.29, 15.12, 57.83, 222.46, 875.26, 3469.78)
HOWARD_CPU = (0.02, 0.03, 0.07, 0.17, 0.40, 1.11, 3.52, 12.52, 42.85, 166.43, 639.89, 2527.32, 10056.00)

BEST_RATIO = (14.50, 10.667, 5.143, 2.353, 1.100, 0.514, 0.230, 0.106, 0.059, 0.031, 0.017, 0.009, 0.005)
"""Table 7: time on the GPU by binary search, divided by that on the processor by grid search with Howard steps."""

EXTRAPOLATED = {
    131_072: (195.767, 98362.384),
    262_144: (734.498, 392621.758),
    524_288: (2843.185, 1568832.79),
    1_048_576: (11185.46, 6272023.978),
    2_097_152: (44369.609, 25081482.86),
    4_194_304: (176736.311, 100312706.6),
}
"""Table 5: GPU and processor, extrapolated by a regression of the square root of time on the number of grid points."""

PAGE_GRIDS = GRIDS[3:]
PAGE_BINARY = {
    "C++": (0.547, 1.35, 3.41, 9.05, 25.73, 84.58, 297.32, 1114.95, 4653.81, 19421.90),
    "Matlab": (48.97, 98.36, 203.18, 426.57, 920.10, 2077.24, 5020.26, 16129.32, 45070.47, 140341.10),
    "OpenMP": (0.118, 0.241, 0.519, 1.10, 2.37, 5.04, 10.81, 23.10, 49.53, 106.66),
    "Thrust": (0.240, 0.273, 0.322, 0.392, 0.711, 1.20, 2.13, 4.26, 8.52, 17.21),
    "CUDA C": (0.144, 0.156, 0.258, 0.416, 0.731, 1.51, 3.09, 6.48, 13.82, 29.27),
}
"""Web page, binary search: time to solve, without the 6.6 to 7.0 s that CUDA takes to start."""

PAGE_HOWARD = {
    "C++": (0.137, 0.332, 0.900, 2.73, 9.17, 33.40, 126.72, 496.24, 1977.93, 7892.46),
    "Matlab": (11.18, 22.43, 45.23, 93.67, 204.50, 476.54, 1212.05, 3587.33, 11189.66, 37720.38),
    "OpenMP": (0.0607, 0.156, 0.490, 1.70, 6.37, 24.64, 96.95, 383.30, 1524.40, 6081.77),
    "Thrust": (0.173, 0.234, 0.348, 0.628, 1.53, 4.23, 13.71, 53.33, 191.99, 774.87),
    "CUDA C": (0.103, 0.134, 0.257, 0.664, 2.12, 7.81, 29.76, 116.80, 462.31, 1844.37),
}
"""Web page, grid search that maximises in every 20th sweep: time to solve only."""

PERI = {"K80, CUDA C": (13.69,), "VU9P at 250 MHz": (0.25, 1.42, 0.75)}
"""Table 2 at 65,536 points: send, solve and read back, where given separately."""

FASTEST = "shift start=coarse"

Times = dict[tuple[str, str, int], float]


def times(result: dict[str, Any], check: dict[str, Any] | None = None) -> Times:
    """Return total seconds by device, method and grid."""
    found = {(row["device"], row["method"], row["grid"]): row["total"] for row in result["rows"]}
    for row in check["by size"] if check else ():
        method = "warm" if row["method"].endswith("warm") else FASTEST
        found.setdefault(("gpu", method, row["points"]), row["ms"]["total"] / 1e3)
    return found


def _seconds(value: float | None) -> str:
    """Format seconds; empty if there is no measurement."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    lines = [head, ["---:"] * len(head), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines] + [""]


def _over(above: float | None, below: float | None) -> float | None:
    """Return a ratio, or ``None`` if one of the numbers is missing."""
    return above / below if above is not None and below is not None else None


def markdown(result: dict[str, Any], check: dict[str, Any] | None = None) -> str:
    """Return all tables as Markdown."""
    ours = times(result, check)
    lines = ["### Table 3: binary search", ""]
    rows = []
    for i, grid in enumerate(GRIDS):
        cpu, gpu = ours.get(("cpu", "binary", grid)), ours.get(("gpu", "binary", grid))
        rows.append(
            [
                f"{grid:,}",
                _seconds(BINARY_CPU[i]),
                _seconds(START[i] + BINARY_GPU[i]),
                _seconds((START[i] + BINARY_GPU[i]) / BINARY_CPU[i]),
                _seconds(cpu),
                _seconds(gpu),
                _seconds(_over(gpu, cpu)),
                _seconds(ours.get(("cpu", "warm", grid))),
                _seconds(ours.get(("gpu", "warm", grid))),
            ]
        )
    lines += _table(
        [
            "N_k",
            "CPU 2011",
            "GTX 280",
            "GPU/CPU",
            "`binary`, CPU",
            "`binary`, GPU",
            "GPU/CPU",
            "`warm`, CPU",
            "`warm`, GPU",
        ],
        rows,
    )
    lines += ["### Table 5: beyond 65,536 points", ""]
    rows = [
        [
            f"{grid:,}",
            _seconds(cpu_guess),
            _seconds(gpu_guess),
            *(
                _seconds(ours.get((device, method, grid)))
                for device, method in (
                    ("gpu", "binary"),
                    ("cpu", "warm"),
                    ("gpu", "warm"),
                    ("cpu", FASTEST),
                    ("gpu", FASTEST),
                )
            ),
        ]
        for grid, (gpu_guess, cpu_guess) in EXTRAPOLATED.items()
    ]
    lines += _table(
        [
            "N_k", "CPU, extrapolated", "GTX 280, extrapolated", "`binary`, GPU", "`warm`, CPU", "`warm`, GPU",
            "`shift`, coarse, CPU", "`shift`, coarse, GPU",
        ],
        rows,
    )  # fmt: skip
    lines += ["### Table 6: grid search with Howard, maximising every 20th sweep", ""]
    rows = []
    for i, grid in enumerate(GRIDS):
        cpu, gpu = ours.get(("cpu", "grid+howard", grid)), ours.get(("gpu", "grid+howard", grid))
        total = HOWARD_START[i] + HOWARD_GPU[i]
        rows.append(
            [
                f"{grid:,}",
                _seconds(HOWARD_CPU[i]),
                _seconds(total),
                _seconds(total / HOWARD_CPU[i]),
                _seconds(cpu),
                _seconds(gpu),
                _seconds(_over(gpu, cpu)),
            ]
        )
    lines += _table(["N_k", "CPU 2011", "GTX 280", "GPU/CPU", "ours, CPU", "ours, GPU", "GPU/CPU"], rows)
    lines += ["### Table 7: binary search on the graphics card over grid search with Howard on the processor", ""]
    rows = [
        [
            f"{grid:,}",
            _seconds(BEST_RATIO[i]),
            _seconds(_over(ours.get(("gpu", "binary", grid)), ours.get(("cpu", "grid+howard", grid)))),
            _seconds(_over(ours.get(("gpu", FASTEST, grid)), ours.get(("cpu", FASTEST, grid)))),
        ]
        for i, grid in enumerate(GRIDS)
    ]
    lines += _table(["N_k", "published", "ours", "`shift start=coarse`, GPU over CPU"], rows)
    for name, method, page in (
        ("binary search", "binary", PAGE_BINARY),
        ("grid search with Howard", "grid+howard", PAGE_HOWARD),
    ):
        lines += [f"### Web page: {name}", ""]
        rows = [
            [
                f"{grid:,}",
                *(_seconds(column[i]) for column in page.values()),
                _seconds(ours.get(("cpu", method, grid))),
                _seconds(ours.get(("gpu", method, grid))),
            ]
            for i, grid in enumerate(PAGE_GRIDS)
        ]
        lines += _table(["N_k", *page, f"`{method}`, CPU", f"`{method}`, GPU"], rows)
    lines += ["### Peri, table 2: 65,536 points", ""]
    rows = [
        [name, _seconds(sum(parts)), " + ".join(map(str, parts)) if len(parts) > 1 else ""]
        for name, parts in PERI.items()
    ]
    for device, method in (("fpga", "line"), ("gpu", "binary"), ("gpu", "warm"), ("cpu", "warm")):
        label = "the assembly line, modelled at 250 MHz" if device == "fpga" else f"`{method}`, {device.upper()}"
        rows.append([label, _seconds(ours.get((device, method, 65_536))), "solve alone" if device == "fpga" else ""])
    lines += _table(["", "seconds", "send + solve + read"], rows)
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m beltline.gpu_ref.published.times", description=__doc__)
    parser.add_argument("results", type=Path, help="bench.json of `beltline bench`")
    parser.add_argument(
        "check", type=Path, nargs="?", help="JSON of `python -m beltline.gpu_ref.cuda.headline`, for larger grids"
    )
    options = parser.parse_args(arguments)
    check = json.loads(options.check.read_text()) if options.check else None
    print(markdown(json.loads(options.results.read_text()), check), end="")


if __name__ == "__main__":
    main()
