"""Measure the area and speed of every unit and of every board's machine.

Command: ``python -m beltline.constraints.area`` or ``make area``. Yosys synthesises for UltraScale+, 7-series and ECP5;
nextpnr places and routes the units for ECP5. The results are stored in ``constraints/area.json``, and as tables in
``docs/area.md`` (:mod:`beltline.constraints.area_page`). Stored results of the same Verilog and tools are not measured
again. Every result is stored immediately, so a run that was interrupted can be continued.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from amaranth.back.verilog import YosysError

from beltline.constraints import area_page
from beltline.constraints.area_figures import complaints, load, moved, save, stale
from beltline.constraints.area_jobs import Job, jobs
from beltline.constraints.boards import LINES
from beltline.constraints.netlist import NetlistError
from beltline.constraints.units import UNITS
from beltline.sim.cache import Progress, SimulationError
from beltline.sim.progress import reporting

COMMAND = "python -m beltline.constraints.area"
"""Name of the command."""


def _line(job: Job, entry: Mapping[str, Any]) -> str:
    """Return a line of output with the figures of a job."""
    fmax = f", {entry['fmax']} MHz" if "fmax" in entry else ""
    return (
        f"{job.title}: {entry['lut']} LUT, {entry['ff']} FF, {entry['dsp']} DSP, {entry['bram18'] / 2:g} BRAM, "
        f"{entry['uram']} URAM, {entry['levels']} levels{fmax}"
    )


def _of_content(machines: Mapping[str, Any], content: str) -> dict[str, Any] | None:
    """Return the stored entry of a machine with the hash ``content``, None if there is no such entry."""
    return next((entry for entry in machines.values() if entry["content"] == content), None)


def _run(
    chosen: list[Job], check: bool, everything: bool, progress: Progress | None
) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Yield each job with its entry. Jobs without an up-to-date entry are measured.

    New entries are stored immediately, unless ``check`` is set. With ``check`` or ``everything``, all are measured. An
    evaluator is measured before a unit that instantiates it.
    """
    fresh: dict[str, Any] = {}
    measured: dict[str, dict[str, Any]] = {}

    def entry_of(job: Job) -> dict[str, Any]:
        results = load()
        entry = job.entry_in(results)
        if entry is None or check or everything or stale(job, results):
            one = None
            if job.around_evaluators and job.name != "evaluator":
                evaluators = Job("evaluator", job.family)
                one = evaluators.entry_in(fresh) or entry_of(evaluators)
            # Boards with the same build share its figures.
            same = None if everything or check else _of_content(results.get("machines", {}), job.content)
            entry = dict(measured.get(job.content) or same or job.measure(one, progress))
            if job.board:
                measured[job.content] = entry
            if not check:
                # Read the file again, since another process may have stored results meanwhile.
                results = load()
                job.store_in(results, entry)
                save(results)
        job.store_in(fresh, entry)
        return entry

    for job in chosen:
        yield job, entry_of(job)


def main(argv: list[str] | None = None) -> int:
    """Measure and print the figures; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog=COMMAND,
        description="Synthesise every unit alone and the machine of every board, place and route the units for ECP5, "
        "and store the figures in constraints/area.json and docs/area.md. Figures that are up to date are not measured "
        "again.",
        epilog="Exit code 0: no complaint; 1: a path is too long, a multiplication is not in a multiplier, a table is "
        "not in RAM, a figure has changed, or a tool failed; 2: the options are wrong.",
        allow_abbrev=False,
    )
    parser.add_argument("--unit", default="", metavar="NAME", help=f"measure only this unit: {', '.join(UNITS)}")
    parser.add_argument(
        "--board", default="", metavar="NAME", help=f"measure only the machine of this board: {', '.join(LINES)}"
    )
    parser.add_argument(
        "--check", action="store_true", help="measure everything, compare it with the stored figures, and write nothing"
    )
    parser.add_argument("--all", action="store_true", help="also measure figures that are up to date")
    given = parser.parse_args(argv)
    if given.unit and given.board:
        parser.exit(2, "area: either a unit or a board can be given, not both\n")
    if given.unit and given.unit not in UNITS:
        parser.exit(2, f"area: unit must be one of {', '.join(UNITS)}, not '{given.unit}'\n")
    if given.board and given.board not in LINES:
        parser.exit(2, f"area: board must be one of {', '.join(LINES)}, not '{given.board}'\n")
    recorded = load()
    said: list[str] = []
    try:
        with reporting(None) as progress:
            for job, entry in _run(jobs(given.unit, given.board), given.check, given.all, progress):
                print(_line(job, entry), flush=True)
                said += complaints(job.title, entry)
                if given.check:
                    before = job.entry_in(recorded)
                    said += stale(job, recorded) if before is None else moved(job.title, before, entry)
        if not given.check:
            area_page.write(load())
    except (SimulationError, YosysError, NetlistError, OSError) as error:
        parser.exit(1, f"area: {error}\n")
    for sentence in said:
        print(f"area: {sentence}", file=sys.stderr)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
