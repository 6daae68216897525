"""Solve, save and load as in containers: with each Python and NumPy, and in surroundings that lack something.

Run ``python -m tests.support.containers`` for all, which installs packages in ``build/containers``, or with ``--here``
for the Python that runs it alone; ``make test`` has a part. What this computer cannot make is skipped, with the reason.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]

PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
OLDEST = {"3.13": {"numpy": "2.1"}, "3.14": {"numpy": "2.3", "numba": "0.63"}}
"""Oldest NumPy and Numba with wheels for a Python, where they are newer than those of ``pyproject.toml``."""

SECONDS = 600
STRANGER = 54321
"""User that no list of users has."""

PROGRAM = """
import os, sys, tempfile
{first}
import beltline as bl
result = bl.solve(bl.rbc(grid=64), progress=False)
assert result.success
with tempfile.TemporaryDirectory() as folder:
    again = bl.load(result.save(os.path.join(folder, "a.npz")))
assert (again.value == result.value).all() and (again.policy == result.policy).all()
import numpy, numba
print("solved, saved and loaded", sys.version.split()[0], numpy.__version__, numba.__version__)
"""

NO_SHARED_MEMORY = "; ".join(
    [
        "mkdir -p $0/dev; mount --rbind /dev $0/dev; mount -t tmpfs none /dev",
        *(
            f"touch /dev/{name}; mount --bind $0/dev/{name} /dev/{name}"
            for name in ("null", "zero", "random", "urandom")
        ),
    ]
)
READ_ONLY = "mkdir -p $0; mount -o remount,bind,ro /; mount -t tmpfs none $0; export TMPDIR=$0"


class Case(NamedTuple):
    """Surroundings of a program.

    Parameters
    ----------
    first
        What the program begins with: a condition that proves the case, for instance.
    mounts
        What a shell does before, with mounts of its own; ``$0`` is a directory for it.
    bare
        Whether variables that name folders are absent.
    unknown
        Whether it runs as :data:`STRANGER`, who can write nowhere but in ``/tmp``.
    """

    first: str
    mounts: str = ""
    bare: bool = False
    unknown: bool = False


CASES = {
    "links absent": Case(
        "assert not any(each.is_symlink() for each in os.scandir(os.environ['PYTHONPATH'] + '/beltline'))"
    ),
    "fcntl absent": Case("sys.modules['fcntl'] = None"),
    "no HOME": Case("assert 'HOME' not in os.environ", bare=True),
    "any user": Case("assert os.path.expanduser('~') == '~'", bare=True, unknown=True),
    "no /dev/shm": Case("assert not os.path.exists('/dev/shm')", NO_SHARED_MEMORY),
    "read-only root": Case("assert not os.access('/etc', os.W_OK)", READ_ONLY, bare=True),
}


def command_of(case: str, python: str, sources: Path) -> tuple[list[str], dict[str, str]]:
    """Return a command, and its environment.

    Raises
    ------
    OSError
        This computer cannot make the case; the message says why.
    """
    first, mounts, bare, unknown = CASES[case]
    names = ("PATH", "LD_LIBRARY_PATH") if bare else tuple(os.environ)
    environment = {name: os.environ[name] for name in names if name in os.environ}
    environment |= {"PYTHONPATH": str(sources), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [python, "-c", PROGRAM.format(first=first)]
    root = os.geteuid() == 0
    before: list[str] = []
    if mounts:
        before = ["unshare", "--mount", *([] if root else ["--user", "--map-root-user"])]
        command = ["sh", "-ec", f'{mounts}; cd /; exec "$@"', str(sources / "mounts"), *command]
    if unknown and root:
        # Can read the interpreter wherever that is, and write nothing.
        before = ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups"]
        before += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    elif unknown:
        before = ["unshare", "--user", f"--map-user={STRANGER}", f"--map-group={STRANGER}"]
    if before and shutil.which(before[0]) is None:
        raise OSError(f"{before[0]} is not installed")
    # Not in the sources, which may be read-only.
    with tempfile.TemporaryDirectory() as scratch:
        trial = [*before, "sh", "-ec", f"{mounts or ':'}; : > /dev/null", f"{scratch}/mounts"]
        if before and subprocess.run(trial, capture_output=True, check=False).returncode:
            raise OSError(f"{before[0]} is refused")
    return [*before, *command], environment


def interpreter(version: str) -> str:
    """Return the path of a Python of this version; empty if no such one runs."""
    found = [shutil.which(f"python{version}"), *Path.home().glob(f".pyenv/versions/{version}.*/bin/python")]
    for each in filter(None, found):
        if not subprocess.run([str(each), "-c", ""], capture_output=True, check=False).returncode:
            return str(each)
    return ""


def installed(version: str, newest: bool) -> str:
    """Return a Python with the packages that Beltline needs, the newest or the oldest NumPy and Numba of its range.

    Raises
    ------
    OSError
        There is no such Python, or a package cannot be installed.
    """
    base = interpreter(version)
    if not base:
        raise OSError(f"there is no Python {version}")
    folder = ROOT / "build" / "containers" / f"{version}-{'newest' if newest else 'oldest'}"
    python = folder / "bin" / "python"
    wanted = re.findall(r'^    "((?:amaranth|matplotlib|mpmath|numba|numpy|scipy)[>=][^;"]+)', _dependencies(), re.M)
    if not newest:
        least = {name: re.search(rf"^    \"{name}>=([\d.]+)", _dependencies(), re.M) for name in ("numpy", "numba")}
        bounds = {name: at[1] for name, at in least.items() if at} | OLDEST.get(version, {})
        wanted += [f"{name}=={at}.*" for name, at in bounds.items()]
    if not (folder / "ready").exists():
        subprocess.run([base, "-m", "venv", "--clear", str(folder)], check=True, capture_output=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--only-binary", ":all:", *wanted]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(f"pip: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
        (folder / "ready").touch()
    return str(python)


def _dependencies() -> str:
    return (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("dependencies = [")[1].split("\n]")[0]


def run(case: str, python: str) -> str:
    """Run a case with new sources; return what it printed last, or a line that begins with "skipped" or "FAILED"."""
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    # Readable for every user and writable for none, as an installation is.
    with tempfile.TemporaryDirectory(prefix="container-", dir=build) as name:
        sources = Path(name)
        # As a wheel has it: folders in place of links.
        shutil.copytree(
            ROOT / "beltline", sources / "beltline", ignore=shutil.ignore_patterns("__pycache__", "written")
        )
        for each in (sources, *(sources.rglob("*") if CASES[case].unknown else ())):
            each.chmod(0o555 if each.is_dir() and each != sources else 0o755)
        try:
            command, environment = command_of(case, python, sources)
        except OSError as error:
            return f"skipped: {error}"
        try:
            done = subprocess.run(
                command, env=environment, cwd="/", capture_output=True, text=True, check=False, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            return f"FAILED: it took more than {SECONDS} seconds"
        finally:
            # So that another user than root can delete them.
            for each in sources.rglob("*"):
                if each.is_dir():
                    each.chmod(0o755)
    lines = (done.stdout if not done.returncode else done.stderr).strip().splitlines() or ["no output"]
    return f"FAILED, exit code {done.returncode}: {lines[-1]}" if done.returncode else lines[-1]


def main() -> int:
    """Run all cases, and return 1 if one failed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.containers", description="Solve, save, load as in containers."
    )
    parser.add_argument("--here", action="store_true", help="the present Python alone")
    here = parser.parse_args().here
    failed = False
    for version, newest in [("", True)] if here else list(itertools.product(PYTHONS, (False, True))):
        label = f"{version or 'this Python'}, {'newest' if newest else 'oldest'} NumPy"
        try:
            python = installed(version, newest) if version else sys.executable
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{label:<28} skipped: {error}", flush=True)
            continue
        for case in CASES:
            ended = run(case, python)
            failed = failed or ended.startswith("FAILED")
            print(f"{label:<28} {case:<16} {ended}", flush=True)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
