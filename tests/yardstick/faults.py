"""Try a seeded sample of the inserted faults, and record which are found: ``python -m tests.yardstick.faults``."""

from __future__ import annotations

import json
import random
import tempfile
import time
from pathlib import Path

from ..mutants.fault import Fault
from ..mutants.faults import FAULTS
from ..mutants.runner import Workplace

COUNT, FOLDERS = 24, ("gpu_ref/", "host/solver/")
FILE = Path(__file__).with_name("faults.json")


def sample() -> list[Fault]:
    """Return ``COUNT`` faults of the solvers, the same as long as the list of faults is the same."""
    ours = sorted((fault for fault in FAULTS if fault.file.startswith(FOLDERS)), key=lambda fault: fault.what)
    return random.Random(61).sample(ours, COUNT)


def main() -> None:
    faults, found = sample(), {}
    with tempfile.TemporaryDirectory(prefix="beltline-faults-") as folder:
        workplace, begin = Workplace(Path(folder)), time.monotonic()
        tests = sorted({test for fault in faults for test in fault.tests})
        if said := workplace.sound(tests):
            raise SystemExit(f"the tests fail without a fault:\n{said}")
        print(f"{len(tests)} tests pass without a fault ({time.monotonic() - begin:.0f} s)", flush=True)
        for number, fault in enumerate(faults, 1):
            begin = time.monotonic()
            found[fault.what] = workplace.verdict(fault)
            spent = time.monotonic() - begin
            print(f"{number}/{COUNT} {fault.file}: {fault.what}: {found[fault.what]} ({spent:.0f} s)", flush=True)
            FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
