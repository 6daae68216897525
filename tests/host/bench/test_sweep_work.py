"""The command that counts the operations of proven sweeps: its counts are right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from docs.tables import sweep_work


def test_the_command(tmp_path: Path) -> None:
    """The command runs in a new process without compiled code; compiled functions cannot call all interpreted ones."""
    command = [sys.executable, "-m", "docs.tables.sweep_work", "--points", "60"]
    fresh = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=fresh)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == [*sweep_work.problems(60)]
    late = [float(line.split("sweeps, ")[1].split()[0]) for line in lines]
    assert all(0.0 <= work < 1.0 for work in late)
    assert any(late)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("--points=49", "--points must be from 50 to 100,000, not 49"),
        ("--tol=nan", "--tol must be a number above 0, not"),
    ],
)
def test_a_wrong_number_is_refused(wrong: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        sweep_work.main([wrong])
    assert says in capsys.readouterr().err
