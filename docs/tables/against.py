"""Time a solve by turns with an earlier commit: ``python -m docs.tables.against COMMIT``.

The commit's files are taken out of the repository into a temporary folder, so this needs a clone of it and Git. Fresh
processes solve the growth model, one of the commit and one of this version in turn, each once to compile and then some
times more, of which the median counts. The command prints the medians of these over all turns, in milliseconds of the
solve and of its verification, and the ratio of the two versions. Its exit status is 1 if the two versions differ in a
bit of value or policy or in the number of sweeps, or if the solve takes more than ``--at-most`` times as long as it
did.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from beltline.host.bench.options import require_least

ROOT = Path(__file__).resolve().parents[2]
"""Folder of this version's files."""

PARTS = ("solve", "verify")
"""Parts of a solve that are timed, as in ``timing`` of a result."""

LINES = """
import hashlib, json, sys
import beltline as bl
grid, device, method, repeats, verify = int(sys.argv[1]), *sys.argv[2:4], int(sys.argv[4]), sys.argv[5] == "True"
problem = bl.rbc(grid)
found = [bl.solve(problem, device=device, method=method, verify=verify) for _ in range(repeats + 1)]
last = found[-1]
bits = hashlib.sha256(last.value.tobytes() + last.policy.astype("int64").tobytes()).hexdigest()[:12]
timing = [dict(result.timing) for result in found[1:]]
print(json.dumps({"timing": timing, "sweeps": int(last.sweeps), "bits": bits, "success": bool(last.success),
    "file": bl.__file__}))
"""


@dataclass(frozen=True)
class Turn:
    """What one process printed: medians of its solves, in seconds by part, and what it found."""

    seconds: Mapping[str, float]
    sweeps: int
    bits: str


def take_out(commit: str, folder: Path, root: Path = ROOT) -> str:
    """Write the files of a commit of the repository at ``root`` into ``folder``; return the commit's short name.

    Raises
    ------
    ValueError
        There is no repository, or it has no such commit.
    """
    name = subprocess.run(
        ["git", "-C", root, "rev-parse", "--short", "--verify", "--quiet", f"{commit}^{{commit}}"],
        capture_output=True,
        text=True,
    )
    if name.returncode:
        raise ValueError(f"commit {commit!r}: the repository in {root} has no such commit")
    archive = subprocess.run(["git", "-C", root, "archive", commit], capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
    return name.stdout.strip()


def turn(root: Path, grid: int, device: str, method: str, repeats: int, verify: bool) -> Turn:
    """Solve in a fresh process with the version in folder ``root``.

    Raises
    ------
    RuntimeError
        The process failed, it imported another version, or the solve did not succeed.
    """
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", LINES, str(grid), device, method, str(repeats), str(verify)],
        capture_output=True,
        text=True,
        cwd=root,
        env=environment,
    )
    if done.returncode:
        raise RuntimeError(f"the version in {root} failed: {done.stderr.strip().splitlines()[-1]}")
    found = json.loads(done.stdout.splitlines()[-1])
    if root not in Path(found["file"]).parents:
        raise RuntimeError(f"expected the version in {root}, but {found['file']} was imported")
    if not found["success"]:
        raise RuntimeError(f"the solve of the version in {root} did not succeed")
    seconds = {part: statistics.median(spent.get(part, 0.0) for spent in found["timing"]) for part in PARTS}
    return Turn(seconds, found["sweeps"], found["bits"])


def compare(old: Sequence[Turn], new: Sequence[Turn], name: str, at_most: float) -> int:
    """Print the comparison of the turns of two versions, and return the exit status."""
    print(f"{'':<8}{name:>12}{'this':>12}  ratio")
    ratios = {}
    for part in PARTS:
        before, after = (statistics.median(one.seconds[part] for one in turns) for turns in (old, new))
        ratios[part] = after / before if before else float("nan")
        print(f"{part:<8}{before * 1e3:9.2f} ms{after * 1e3:9.2f} ms  {ratios[part]:.3f}")
    findings = [{(one.sweeps, one.bits) for one in turns} for turns in (old, new)]
    for title, found in zip((name, "this"), findings, strict=True):
        print(f"{title}: " + ", ".join(f"{sweeps:,} sweeps, bits {bits}" for sweeps, bits in sorted(found)))
    if findings[0] != findings[1]:
        print("the two versions differ")
        return 1
    if not ratios["solve"] <= at_most:
        print(f"the solve takes {ratios['solve']:.3f} times as long as at {name}; at most {at_most:g} was asked")
        return 1
    return 0


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables.against", description=__doc__)
    parser.add_argument("commit", help="the earlier version, by its name in Git")
    parser.add_argument("--grid", type=int, default=65_536, help="grid points (default: %(default)s)")
    parser.add_argument("--device", default="cpu", help="device of both (default: %(default)s)")
    parser.add_argument("--method", default="warm", help="method of both (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=5, help="processes of each version (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=7, help="timed solves of a process (default: %(default)s)")
    parser.add_argument("--at-most", type=float, default=1.0, help="largest accepted ratio (default: %(default)s)")
    parser.add_argument("--no-verify", action="store_true", help="solve without verification")
    asked = parser.parse_args(arguments)
    require_least(parser, asked, grid=8, turns=1, repeats=1)
    with tempfile.TemporaryDirectory() as folder:
        try:
            name = take_out(asked.commit, Path(folder), root)
        except ValueError as problem:
            parser.error(str(problem))
        turns: dict[Path, list[Turn]] = {Path(folder): [], root: []}
        for number in range(asked.turns):
            for version, found in turns.items():
                done = turn(version, asked.grid, asked.device, asked.method, asked.repeats, not asked.no_verify)
                found.append(done)
                print(f"turn {number + 1} of {asked.turns}: {done.seconds['solve'] * 1e3:.1f} ms", file=sys.stderr)
        old, new = turns.values()
        return compare(old, new, name, asked.at_most)


if __name__ == "__main__":
    sys.exit(main())
