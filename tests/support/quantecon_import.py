"""QuantEcon's module ``markov``, imported by a test only after processes of their own have imported it.

QuantEcon compiles functions with Numba while it is imported, and stores them beside its files. Two processes of pytest
that did so at the same time, with nothing stored yet, have ended in a crash of the compiler, and all tests with them.
"""

from __future__ import annotations

import fcntl
import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

IMPORT = "import quantecon.markov"


@pytest.fixture(scope="session")
def markov(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> ModuleType:
    """Return ``quantecon.markov``.

    One process of pytest after another lets a process of its own compile and store the functions, and a second one load
    them. Where either of the two crashes, the test is skipped and the signal named; any other failure is an error.
    """
    folder = tmp_path_factory.getbasetemp()
    several = hasattr(request.config, "workerinput")
    with Path(folder.parent if several else folder, "quantecon.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for _ in ("compile", "load"):
            run_import()
    return importlib.import_module("quantecon.markov")


def run_import(*, run: Any = subprocess.run) -> None:
    """Import QuantEcon in a process of its own; skip the test if that process crashes."""
    done = run([sys.executable, "-c", IMPORT], capture_output=True, text=True, timeout=300)
    if done.returncode < 0:
        pytest.skip(f"QuantEcon cannot be imported here: '{IMPORT}' was ended by signal {-done.returncode}")
    assert done.returncode == 0, done.stderr
