"""The command: see :mod:`tests.yardstick`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.yardstick", description="Record or compare answers.")
    parser.add_argument("task", choices=("record", "compare"))
    parser.add_argument("--device", choices=("cpu", "emulator", "gpu"), help="by default cpu, then emulator")
    parser.add_argument("--to", type=Path, default=FOLDER, metavar="FOLDER", help="where record writes, if not here")
    parser.add_argument("--only", default="", metavar="KIND", help="compare one kind of problems only")
    parser.add_argument("--no-time", action="store_true", help="compare no times")
    given = parser.parse_args()
    os.environ["NUMBA_NUM_THREADS"] = "1"
    if given.device != "gpu":
        # Default arguments would take a GPU for large problems.
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    devices = (given.device,) if given.device else ("cpu", "emulator")
    return max([_record(device, given.to) if given.task == "record" else _compare(device, given) for device in devices])


def _solve(device: str, only: str = "", timed: bool = True) -> list[Any]:
    """Return every problem of a device with its answer, and print progress every 20 seconds."""
    from .measure import solved
    from .problems import entries

    found: list[Any] = []
    todo, begin, said = list(entries(device, only)), time.monotonic(), time.monotonic()
    for entry in todo:
        try:
            found.append((entry, solved(entry, device, timed)))
        except Exception as error:
            found.append((entry, error))
        if time.monotonic() - said > 20.0:
            said = time.monotonic()
            print(f"{device}: {len(found)} of {len(todo)}, {said - begin:.0f} s, {entry.name}", flush=True)
    print(f"{device}: {len(todo)} problems, {time.monotonic() - begin:.0f} s", flush=True)
    return found


def _record(device: str, folder: Path) -> int:
    from .records import write

    answers = {}
    for entry, answer in _solve(device):
        if isinstance(answer, Exception):
            print(f"{entry.name} is not recorded: {type(answer).__name__}: {answer}")
        else:
            answers[entry.name] = answer
    if not answers:
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / f"{device}.npz", answers)
    failed = sum(not answer.facts["success"] for answer in answers.values())
    print(f"{device}: {len(answers)} answers recorded, {failed} of them without success")
    return 0


def _compare(device: str, given: argparse.Namespace) -> int:
    from .compare import too_slow, violations
    from .reading import Answer
    from .records import load

    recorded = load(FOLDER / f"{device}.npz")
    rows, wrong = [], []
    counts: dict[str, list[int]] = {}
    for entry, answer in _solve(device, given.only, not given.no_time):
        old = recorded.get(entry.name)
        if old is None:
            continue
        count = counts.setdefault(entry.kind, [0, 0])
        count[0] += 1
        found = [f"{type(answer).__name__}: {answer}"]
        if not isinstance(answer, Exception):
            rows.append((entry, old, answer))
            found = violations(entry, old, answer)
        count[1] += bool(found)
        wrong += [f"{entry.name}: {one}" for one in found]
    medians: dict[str, float] = {}
    if not given.no_time:
        medians, slow = too_slow(rows)
        if slow:
            # Once more, when the computer may be less busy: the lower time counts.
            kinds = {name.partition("-")[0] for name in slow}
            again = {entry.name: answer for kind in kinds for entry, answer in _solve(device, kind)}
            for entry, _, answer in rows:
                if isinstance(other := again.get(entry.name), Answer):
                    answer.facts |= min((answer.facts, other.facts), key=lambda facts: facts["time"])
            medians, slow = too_slow(rows)
        wrong += [f"{name}: {one}" for name, one in slow.items()]
    print(f"{'kind':<12} {'problems':>8} {'worse':>6} {'CPU time, median ratio':>23}")
    for kind, (total, worse) in counts.items():
        print(f"{kind:<12} {total:>8} {worse:>6} {medians.get(kind, float('nan')):>23.2f}")
    print("\n".join(wrong) or f"{device}: no violation")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
