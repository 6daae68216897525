"""The command line of the long runs."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Run what the arguments say, print the counts, and return the exit code."""
    # As in tests, whose modules import each other by these names.
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]
    parser = argparse.ArgumentParser(prog="python -m tests.endurance")
    parser.add_argument("what", choices=("damage", "fuzz", "kills", "problems"))
    parser.add_argument("--kind", choices=("npz", "nc", "checkpoint", "store"), help="one kind of file; fuzz needs it")
    parser.add_argument("--count", type=int, default=20_000, help="number of files of each kind, or of kills")
    parser.add_argument("--seconds", type=int, default=3600, help="length of fuzz")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ways", nargs="+", default=["default"], help="ways to solve problems, or all")
    parser.add_argument("--jobs", type=int, default=2, help="processes that share the problems")
    given = parser.parse_args()
    if given.what == "problems":
        from endurance.problems import WAYS, problems

        ways = tuple(WAYS) if given.ways == ["all"] else tuple(given.ways)
        if unknown := set(ways) - set(WAYS):
            parser.error(f"--ways must be all or some of {', '.join(WAYS)}, not {', '.join(sorted(unknown))}")
        facts = problems(given.count, given.seed, ways, given.jobs)
        print(json.dumps(facts, indent=1))
        return int(bool(facts["wrong"]))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if given.what == "fuzz":
            from endurance.guided import fuzz

            return fuzz(folder, given.kind or parser.error("fuzz needs --kind"), given.seconds, given.seed)
        if given.what == "damage":
            from endurance.damage import damage
            from support.files import WRITERS

            kinds = [given.kind] if given.kind else list(WRITERS)
            found = {kind: damage(folder, kind, given.count, given.seed) for kind in kinds}
        else:
            from endurance.kills import kills

            found = {"kills": kills(folder, given.count, given.seed)}
        print(json.dumps(found, indent=1))
        return int(any(counts["wrong"] for counts in found.values()))


if __name__ == "__main__":
    sys.exit(main())
