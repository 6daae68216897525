"""Every model on every device that solves it, and whether they agree: ``python -m docs.tables.model_rows``.

Prints one table for all models: what was solved, seconds from call to return once the code is compiled, and how far the
solution is from that of the processor. If every model is solved and all solutions are equal, ``--out FILE.json`` also
writes the rows, with the computer that they were measured on, and ``FILE.md``, the page of ``docs/results/`` that shows
them. ``--page FILE.json`` writes that page again.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from beltline.gpu_ref.cuda.device import available, device_name
from beltline.host.bench.suite import finite, machine
from beltline.host.models.aiyagari.model import aiyagari
from beltline.host.models.aiyagari_path.model import aiyagari_path
from beltline.host.models.aiyagari_types.model import aiyagari_types
from beltline.host.models.arellano.model import arellano
from beltline.host.models.base import Model
from beltline.host.models.cohort.model import cohort
from beltline.host.models.hopenhayn_rogerson.model import hopenhayn_rogerson
from beltline.host.models.life_cycle import life_cycle
from beltline.host.models.lumpy_investment.model import lumpy_investment
from beltline.host.models.retirement.model import retirement
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.problem import Problem
from beltline.host.results.files import check_target, replacing
from beltline.host.solver.solve import solve

DEVICES = ("cpu", "gpu")
"""Devices of the rows; solutions of the others are compared with those of the first."""

BOTH = DEVICES

COMMAND = "python -m docs.tables.model_rows"

HEAD = """| model | size | {} | difference |
|---|---|{}---:|
"""

NOTES = """
Seconds are from call to return with verification, once the code is compiled: the median of the number of solves in
brackets. Every model is solved, with `success` true. The difference is the largest from the processor's solution,
relative to its largest absolute value: of the values, or of the price that clears the market. `-` stands where a
device does not solve the model, or no other one does.
"""

PAGE = COMMAND + " --page {}"
"""Command that writes the page of a file."""

AGREE = 1e-6
"""Largest difference, relative to the processor's solution, at which two solutions count as equal."""


@dataclass(frozen=True)
class Case:
    """A model that is timed.

    Parameters
    ----------
    name : str
    size : str
        Size of the full model, as text for the table.
    make
        A function that returns the small model if its argument is true, and else the full one.
    figure
        A function of a solution that returns what is compared: its values, or the price that clears its market.
    devices : tuple of str
        Devices that solve it.
    """

    name: str
    size: str
    make: Callable[[bool], Problem | Model]
    figure: Callable[[Any], Any]
    devices: tuple[str, ...] = BOTH


def _value(found: Any) -> Any:
    return found.solution.value


CASES = (
    Case("arellano", "251 x 51", lambda small: arellano(41, 7) if small else arellano(), _value),
    Case("arellano", "1,001 x 21", lambda small: arellano(61, 9) if small else arellano(1_001, 21), _value),
    Case(
        "hopenhayn-rogerson",
        "4,096 x 20",
        lambda small: hopenhayn_rogerson(grid=40 if small else 4_096, states=7 if small else 20),
        lambda found: found.price,
    ),
    Case("retirement", "20,000 x 20 ages", lambda small: retirement(60 if small else 20_000), _value),
    Case(
        "retirement, taste shocks",
        "20,000 x 20 ages",
        lambda small: retirement(60 if small else 20_000, taste=0.05),
        _value,
    ),
    Case(
        "lumpy-investment",
        "3,452 x 11",
        lambda small: lumpy_investment(steps=1 if small else 32, states=3 if small else 11),
        _value,
    ),
    Case(
        "lumpy-investment, convex cost",
        "433 x 11",
        lambda small: lumpy_investment(steps=1 if small else 4, states=3 if small else 11, convex=0.05),
        _value,
        ("cpu",),
    ),
    Case(
        "life-cycle",
        "1,500 x 15 x 10 ages",
        lambda small: life_cycle(60 if small else 1_500, 3 if small else 15, 10),
        lambda found: found.value,
    ),
    Case("cohort", "1,000 x 21 x 80 ages", lambda small: cohort(60 if small else 1_000), _value),
    Case(
        "aiyagari",
        "2,000 x 7",
        lambda small: aiyagari(grid=400 if small else 2_000, states=3 if small else 7),
        lambda found: found.interest,
    ),
    Case(
        "aiyagari-path",
        "200 x 7 x 200 dates",
        lambda small: aiyagari_path(grid=30 if small else 200, periods=150 if small else 200),
        lambda found: found.interest,
        ("cpu",),
    ),
    Case(
        "aiyagari-types",
        "200 x 7 x 3 types",
        lambda small: aiyagari_types(grid=30 if small else 200),
        lambda found: found.interest,
        ("cpu",),
    ),
)
"""The models that are timed, in the order of the table."""


@dataclass(frozen=True)
class ModelRow:
    """A row of the table.

    Parameters
    ----------
    model, size, device : str
    seconds : float
        Median time from call to return, with verification, without compilation; nan if no solve returned.
    solves : int
        Number of solves whose median this is.
    success : bool
    status : str
    difference : float
        Largest difference from the processor's solution, relative to its largest absolute value; nan for the processor.
    """

    model: str
    size: str
    device: str
    seconds: float
    solves: int
    success: bool
    status: str
    difference: float


def row(
    case: Case, device: str, repeats: int, small: bool, reference: Any = None, seconds: float = math.inf
) -> tuple[ModelRow, Any]:
    """Solve a case on a device, and return its row and the values or the price that are compared.

    The first solve compiles, and does not count. At least one more is timed, and up to ``repeats`` until they have
    taken ``seconds`` together.
    """
    model, size = case.make(small), "small" if small else case.size
    spent: list[float] = []
    try:
        while len(spent) < 2 or (len(spent) <= repeats and sum(spent[1:]) < seconds):
            begin = time.perf_counter()
            found: Any = solve(model, device=device, progress=False)
            spent.append(time.perf_counter() - begin)
    except (ProblemError, RuntimeError, MemoryError, ValueError) as error:
        # The other rows are worth having, and this one prevents success.
        return ModelRow(case.name, size, device, math.nan, 0, False, f"{type(error).__name__}: {error}", math.nan), None
    figure = np.asarray(case.figure(found), np.float64)
    difference = float("nan")
    if reference is not None:
        finite = np.isfinite(reference)
        same = bool((figure[~finite] == reference[~finite]).all())
        scale = float(np.abs(reference[finite]).max(initial=0.0)) or 1.0
        apart = np.abs(figure - reference)[finite]
        difference = float(apart.max(initial=0.0)) / scale if same and np.isfinite(apart).all() else float("inf")
    made = ModelRow(
        case.name,
        size,
        device,
        statistics.median(spent[1:]),
        len(spent) - 1,
        bool(found.success),
        str(found.status),
        difference,
    )
    return made, figure


def rows(
    devices: Sequence[str], repeats: int, small: bool, only: Sequence[str] = (), seconds: float = math.inf
) -> list[ModelRow]:
    """Solve every case on every device, printing each row of the table as soon as it is measured."""
    print("| model | size | device | from call to return, s | status | differs from cpu by |")
    print("|---|---|---|---:|---|---:|", flush=True)
    done: list[ModelRow] = []
    for case in CASES:
        if only and case.name.partition(",")[0] not in only:
            continue
        reference = None
        for device in (each for each in devices if each in case.devices):
            made, figure = row(case, device, repeats, small, reference, seconds)
            reference = figure if device == DEVICES[0] else reference
            gap = "-" if np.isnan(made.difference) else f"{made.difference:.1e}"
            cells = (made.model, made.size, device, f"{made.seconds:.4g}", made.status, gap)
            print(f"| {' | '.join(cells)} |", flush=True)
            done.append(made)
    return done


def good(done: Sequence[ModelRow]) -> bool:
    """Return whether every row is solved and equals the processor's solution within ``AGREE``."""
    return all(each.success and not each.difference > AGREE for each in done)


def page(content: dict[str, Any], name: str) -> str:
    """Return the page of a file of rows, as Markdown.

    Parameters
    ----------
    content : dict
        Content of the file: ``machine``, ``repeats`` and ``rows``.
    name : str
        Name of the file without its suffix.
    """
    about, rows = content["machine"], content["rows"]
    cores = about["cores"]
    where = f"{cores} core{'' if cores == 1 else 's'}" + (f" and {about['gpu']}" if "gpu" in about else "")
    parts = [f"# Models on {about['date']}: {where}\n", f"\n`{COMMAND} --out {name}.json` measured these times.\n\n"]
    parts += [f"- {key}: {value}\n" for key, value in about.items() if value is not None]
    devices = list(dict.fromkeys(row["device"] for row in rows))
    parts += ["\n", HEAD.format(" | ".join(f"`{device}`, s" for device in devices), "---:|" * len(devices))]
    for model, size in dict.fromkeys((row["model"], row["size"]) for row in rows):
        found = {row["device"]: row for row in rows if (row["model"], row["size"]) == (model, size)}
        times = [_time(found.get(device)) for device in devices]
        apart = [row["difference"] for row in found.values() if row["difference"] is not None]
        parts.append(f"| {' | '.join([model, size, *times, f'{max(apart):.1e}' if apart else '-'])} |\n")
    return "".join([*parts, NOTES])


def _time(row: dict[str, Any] | None) -> str:
    return "-" if row is None else f"{row['seconds']:.3g} ({row['solves']})"


def write_page(source: Path, content: dict[str, Any]) -> None:
    """Write the page of the rows beside their file, and print both names."""
    with replacing(source.with_suffix(".md")) as out:
        out.write(page(content, source.stem).encode())
    print(f"\n{source} and {source.with_suffix('.md')}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 0 if every row is solved and all solutions are equal within ``AGREE``, else 1."""
    parser = argparse.ArgumentParser(
        prog="model_rows", description="Time every model on every device, and compare them."
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help="models to time (default: all)")
    parser.add_argument(
        "--devices", nargs="+", choices=DEVICES, metavar="NAME", help="cpu, gpu (default: those of this computer)"
    )
    parser.add_argument(
        "--repeats",
        type=int,
        default=5,
        help="largest number of timed solves, of which the median is reported (default %(default)s)",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=3.0,
        help="no further timed solve of a model on a device once they have taken this long (default %(default)s)",
    )
    parser.add_argument("--small", action="store_true", help="small sizes, to test that the command runs")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE.json",
        help="write the rows and a description of this computer to FILE.json, and FILE.md, if every row is right",
    )
    parser.add_argument("--page", type=Path, metavar="FILE.json", help="only write FILE.md from this file of --out")
    given = parser.parse_args(arguments)
    if given.page is not None:
        write_page(given.page, json.loads(given.page.read_text(encoding="utf-8")))
        return 0
    names = dict.fromkeys(case.name.partition(",")[0] for case in CASES)
    for name in given.models:
        if name not in names:
            parser.error(f"model must be one of {', '.join(map(repr, names))}, not {name!r}")
    if given.repeats < 1:
        parser.error(f"--repeats must be from 1, not {given.repeats}")
    if not given.seconds > 0:
        parser.error(f"--seconds must be above 0, not {given.seconds:g}")
    if given.out is not None:
        try:
            check_target("out", given.out, (".json",))
        except ProblemError as error:
            parser.error(str(error))
    missing = available()
    devices = given.devices or [each for each in DEVICES if each != "gpu" or not missing]
    if "gpu" in devices and missing:
        parser.error(f"device 'gpu' cannot be used: {missing}")
    done = rows(devices, given.repeats, given.small, given.models, given.seconds)
    if not good(done):
        wrong = [f"{each.model} on {each.device}" for each in done if not good([each])]
        text = "" if given.out is None else f"; {given.out} is not written"
        print(f"\nnot solved, or another solution than the processor's: {', '.join(wrong)}{text}")
        return 1
    if given.out is not None:
        about = machine() | ({"gpu": device_name()} if "gpu" in devices else {})
        content = finite({"machine": about, "repeats": given.repeats, "rows": [asdict(each) for each in done]})
        with replacing(given.out) as out:
            out.write((json.dumps(content, indent=1, allow_nan=False) + "\n").encode())
        write_page(given.out, content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
