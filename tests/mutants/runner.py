"""Put one fault after the other into a copy of the project, and run the tests that must find them.

``python -m tests.mutants`` from the root, with ``--only TEXT`` for the faults whose description or file has ``TEXT``,
``--first N`` for the first few of them, and ``--share I/N`` for every Nth, so that N processes or computers together
try them all. First the named tests run without a fault, and must pass. A fault is found if a test fails; an error of
import or collection, an undefined name, and a run past its time limit do not count. Exit code 0: every fault was found;
1: one was not, or the tests fail without a fault; 2: refused.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from .fault import Fault
from .faults import FAULTS

ROOT = Path(__file__).resolve().parents[2]

LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "*.egg-info", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache",
    ".hypothesis", "shared",
)  # fmt: skip
"""Files and folders that are not copied: what is built or cached, and what is not part of the project."""

FOUND = "found"

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
            return "not found"
        broken = BROKEN.search(output)
        if broken is None and code == 1 and re.search(r"\b\d+ failed\b", output):
            return FOUND
        lines = REASON.findall(output) or output.splitlines()[-3:] or ["nothing was said"]
        return f"no test failed, exit code {code}: {broken.group(0) if broken else lines[0]}"

    @contextlib.contextmanager
    def _with(self, fault: Fault) -> Iterator[None]:
        path = self.root / fault.file
        text = path.read_text(encoding="utf-8")
        if text.count(fault.before) != 1:
            raise ValueError(f"{fault.file} must have {fault.before!r} once, not {text.count(fault.before)} times")
        times = path.stat()
        try:
            path.write_text(text.replace(fault.before, fault.after), encoding="utf-8")
            # Python would use its cached bytecode for a file of the same size and time stamp.
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 10**10))
            yield
        finally:
            path.write_text(text, encoding="utf-8")
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


def chosen(
    faults: Sequence[Fault], only: str = "", first: int | None = None, share: tuple[int, int] = (1, 1)
) -> list[Fault]:
    """Select faults whose description or file contains ``only``, in any letter case, and of these the ``share``.

    Shares ``(1, n)`` to ``(n, n)`` together are all of them.
    """
    found = [fault for fault in faults if only.lower() in f"{fault.what} {fault.file}".lower()]
    return (found if first is None else found[:first])[share[0] - 1 :: share[1]]


def _share(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text)
    number, count = (int(part) for part in found.groups()) if found else (0, 0)
    if not 1 <= number <= count:
        raise argparse.ArgumentTypeError(f"must be I/N with 1 <= I <= N, as in 2/8, not {text!r}")
    return number, count


def run(
    faults: Sequence[Fault], folder: Path, report: Callable[[str], None] = print, root: Path = ROOT
) -> dict[Fault, str]:
    """Try every fault in ``folder``, which must be empty, and report progress; return the faults not found, with
    reasons.

    Raises
    ------
    RuntimeError
        The tests fail without a fault.
    """
    workplace = Workplace(folder, root)
    tests = list(dict.fromkeys(test for fault in faults for test in fault.tests))
    report(f"{len(faults)} faults; {len(tests)} tests, first without a fault")
    begin = time.monotonic()
    if said := workplace.sound(tests):
        raise RuntimeError(f"the tests fail without a fault:\n{said}")
    report(f"they pass ({time.monotonic() - begin:.0f} s)")
    survivors: dict[Fault, str] = {}
    for number, fault in enumerate(faults, 1):
        begin = time.monotonic()
        verdict = workplace.verdict(fault)
        report(f"{number}/{len(faults)} {fault.file}: {fault.what}: {verdict} ({time.monotonic() - begin:.0f} s)")
        if verdict != FOUND:
            survivors[fault] = verdict
    report(f"{len(faults) - len(survivors)} of {len(faults)} faults were found")
    return survivors


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; see the module's docstring."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants",
        description="Put single faults into a copy of the project, and run the tests that must find them.",
        epilog="Exit code 0: every fault was found; 1: one was not, or the tests fail without a fault; 2: refused.",
        allow_abbrev=False,
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="faults whose description or file has TEXT")
    parser.add_argument("--first", type=int, metavar="N", help="no more than the first N of them")
    parser.add_argument(
        "--share", type=_share, default=(1, 1), metavar="I/N", help="of these, every Nth from the Ith on"
    )
    given = parser.parse_args(argv)
    if given.first is not None and given.first < 1:
        parser.exit(2, f"mutants: --first must be at least 1, not {given.first}\n")
    faults = chosen(FAULTS, given.only, given.first, given.share)
    if not faults:
        parser.exit(2, f"mutants: no description or file of a fault has the text '{given.only}'\n")
    try:
        with tempfile.TemporaryDirectory(prefix="beltline-mutants-") as folder:
            survivors = run(faults, Path(folder), lambda line: print(line, flush=True))
    except RuntimeError as error:
        parser.exit(1, f"mutants: {error}\n")
    except KeyboardInterrupt:
        parser.exit(130, "mutants: interrupted; nothing is left behind\n")
    for fault, why in survivors.items():
        print(f"not found: {fault.file}: {fault.what}: {why}")
    return 1 if survivors else 0
