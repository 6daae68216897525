"""Put one generated fault after the other into a copy of the project, and run the tests that must find them.

``python -m tests.mutants FILE...`` from the root, or ``--since COMMIT`` for the lines changed since. First the tests
run without a fault, and must pass. A fault is found if a test fails, or what it needs cannot be built; an error of
import or collection, an undefined name, and a run past its time limit do not count. A fault that is not found either
changes nothing that can be observed, or shows a property that no test holds. Exit code 0: every fault that could run
was found; 1: one was not, or the tests fail without a fault; 2: refused.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence, Set
from pathlib import Path

from .generate import Fault, changed_lines, faults_of, importing_tests

ROOT = Path(__file__).resolve().parents[2]

LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "*.egg-info", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache",
    ".hypothesis", "shared",
)  # fmt: skip
"""Files and folders that are not copied: what is built or cached, and what is not part of the project."""

FOUND, NOT_FOUND = "found", "not found"

SECONDS = 600.0
"""Time limit for the tests of one fault."""

BROKEN = re.compile(
    r"^E\s+(?:\w+\.)*(\w*(?:Import|ModuleNotFound|Name|Syntax|Indentation|Typing)Error)\b", re.MULTILINE
)
"""Errors of a program that cannot run, which show nothing about the tests."""

REASON = re.compile(r"^(?:FAILED|ERROR|E  ) .*", re.MULTILINE)


class Workplace:
    """A copy of the project in which one fault after the other is tried.

    Parameters
    ----------
    folder
        An empty folder; the caller deletes it.
    root
        The project to copy.
    """

    def __init__(self, folder: Path, root: Path = ROOT) -> None:
        self.root = folder / "project"
        shutil.copytree(root, self.root, symlinks=True, ignore=LEFT_OUT)
        self._compiled = folder / "compiled"
        self._changed = folder / "changed"
        self._caches = folder / "caches"

    def sound(self, tests: Sequence[str], seconds: float = 4 * 3600.0) -> str:
        """Run ``tests`` without a fault; return an empty string if they pass, otherwise the output of pytest."""
        code, output = self._pytest(tests, {"NUMBA_CACHE_DIR": str(self._compiled)}, seconds)
        if code is None:
            return f"no end in {seconds:.0f} seconds"
        return "" if code == 0 else output

    def verdict(self, fault: Fault, seconds: float = SECONDS) -> str:
        """Run the tests of a fault with it; return ``FOUND``, or why it was not found."""
        with self._with(fault), self._own_caches() as caches:
            code, output = self._pytest(fault.tests, caches, seconds)
        if code is None:
            return f"no verdict in {seconds:.0f} seconds"
        if code == 0:
            return NOT_FOUND
        broken = BROKEN.search(output)
        if broken is None and code == 1 and re.search(r"\b\d+ (failed|errors?)\b", output):
            return FOUND
        lines = REASON.findall(output) or output.splitlines()[-3:] or ["nothing was said"]
        return f"no test failed, exit code {code}: {broken.group(0) if broken else lines[0]}"

    @contextlib.contextmanager
    def _with(self, fault: Fault) -> Iterator[None]:
        path = self.root / fault.file
        times = path.stat()
        try:
            path.write_text(fault.after, encoding="utf-8")
            # Python would use its cached bytecode for a file of the same size and time stamp.
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 10**10))
            yield
        finally:
            path.write_text(fault.before, encoding="utf-8")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    @contextlib.contextmanager
    def _own_caches(self) -> Iterator[dict[str, str]]:
        """Provide copies of the caches of code compiled without the fault, for one run only."""
        numba, gateware = self._caches / "numba", self._caches / "gateware"
        try:
            gateware.mkdir(parents=True)
            if self._compiled.exists():
                shutil.copytree(self._compiled, numba, copy_function=os.link)
            stored = Path(os.environ.get("BELTLINE_CACHE") or _user_cache() / "beltline")
            for entry in stored.iterdir() if stored.is_dir() else ():
                if entry.is_dir() and not entry.name.endswith(".building"):
                    (gateware / entry.name).symlink_to(entry.resolve())
            yield {"NUMBA_CACHE_DIR": str(numba), "BELTLINE_CACHE": str(gateware), "PYTHONDONTWRITEBYTECODE": "1"}
        finally:
            shutil.rmtree(self._caches, ignore_errors=True)

    def _pytest(self, tests: Sequence[str], more: dict[str, str], seconds: float) -> tuple[int | None, str]:
        """Return exit code and output of pytest; ``None`` after ``seconds``. All processes that it started are ended
        with it.
        """
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow and not speed"]
        environment = {**os.environ, "PYTHONPATH": str(self.root), "COLUMNS": "200", **more}
        process = subprocess.Popen(
            [*command, *tests],
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return process.returncode, output


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def chosen(file: str, tests: Sequence[str], count: int, seed: int, lines: Set[int] | None = None) -> list[Fault]:
    """Make the faults of a file in ``lines``, or a random ``count`` of them, with ``tests`` or those that import it.

    Raises
    ------
    ValueError
        The file does not exist, is not Python, or no test imports it.
    """
    path = ROOT / file
    if path.suffix != ".py" or not path.is_file():
        raise ValueError(f"{file} must be a Python file of the project, as in hw/sweep/peak.py")
    names = tuple(tests) or importing_tests(ROOT, file)
    if not names:
        raise ValueError(f"no test imports {file}: name test files with --test")
    faults = faults_of(file, path.read_text(encoding="utf-8"), names, lines)
    if not 0 < count < len(faults):
        return faults
    return [faults[index] for index in sorted(random.Random(seed).sample(range(len(faults)), count))]


def run(
    faults: Sequence[Fault],
    folder: Path,
    report: Callable[[str], None] = print,
    root: Path = ROOT,
    seconds: float = SECONDS,
) -> dict[Fault, str]:
    """Try every fault in ``folder``, which must be empty, and report progress; return the verdict on each.

    Raises
    ------
    RuntimeError
        The tests fail without a fault.
    """
    workplace = Workplace(folder, root)
    tests = list(dict.fromkeys(test for fault in faults for test in fault.tests))
    report(f"{len(faults)} faults; {len(tests)} tests or files, first without a fault")
    begin = time.monotonic()
    if said := workplace.sound(tests):
        raise RuntimeError(f"the tests fail without a fault:\n{said}")
    report(f"they pass ({time.monotonic() - begin:.0f} s)")
    verdicts: dict[Fault, str] = {}
    for number, fault in enumerate(faults, 1):
        begin = time.monotonic()
        verdicts[fault] = workplace.verdict(fault, seconds)
        spent = time.monotonic() - begin
        report(f"{number}/{len(faults)} {fault.file}: {fault.what}: {verdicts[fault]} ({spent:.0f} s)")
    counts = [list(verdicts.values()).count(verdict) for verdict in (FOUND, NOT_FOUND)]
    report(f"{counts[0]} faults were found, {counts[1]} not; {len(faults) - sum(counts)} could not run")
    return verdicts


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; see the module's docstring."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants",
        description="Put single faults into a copy of the project, and run the tests that must find them.",
        epilog="Exit code 0: every fault that ran was found; 1: one was not, or tests fail without any; 2: refused.",
        allow_abbrev=False,
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="Python files, as in hw/sweep/peak.py")
    parser.add_argument(
        "--since", metavar="COMMIT", help="also files changed since COMMIT, in their changed lines only"
    )
    parser.add_argument("--test", action="append", default=[], help="a test file; by default those that import FILE")
    parser.add_argument("--count", type=int, default=20, metavar="N", help="faults of each file, 20 by default; 0: all")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="which faults are taken, 0 by default")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"limit of each run, {SECONDS:.0f} by default")
    given = parser.parse_args(argv)
    try:
        wanted: dict[str, Set[int] | None] = {**(changed_lines(ROOT, given.since) if given.since else {})}
        wanted |= dict.fromkeys(given.files)
        faults = [
            fault
            for file, lines in wanted.items()
            for fault in chosen(file, given.test, given.count, given.seed, lines)
        ]
    except (ValueError, subprocess.CalledProcessError) as error:
        parser.exit(2, f"mutants: {error}\n")
    if not faults:
        parser.exit(2, "mutants: no fault can be made: name Python files, or a commit with --since\n")
    try:
        with tempfile.TemporaryDirectory(prefix="beltline-mutants-") as folder:
            verdicts = run(faults, Path(folder), lambda line: print(line, flush=True), seconds=given.seconds)
    except RuntimeError as error:
        parser.exit(1, f"mutants: {error}\n")
    except KeyboardInterrupt:
        parser.exit(130, "mutants: interrupted; nothing is left behind\n")
    left = [fault for fault, verdict in verdicts.items() if verdict == NOT_FOUND]
    for fault in left:
        print(f"{NOT_FOUND}: {fault.file}: {fault.what}")
    return 1 if left else 0
