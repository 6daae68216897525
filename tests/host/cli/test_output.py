"""Output that cannot be written: one sentence names it, and no result is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import beltline as bl
from support.paths import ROOT

SOLVE = "solve --grid 16 --device cpu --out a.npz"
FULL = "standard output cannot be written: No space left on device\n"
CLOSED = "standard output cannot be written: Bad file descriptor\n"

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")


def ended(command: str, folder: Path, **names: str) -> tuple[int, str, str]:
    """Run a command in a shell, which can close and redirect its streams."""
    line = command.replace("beltline", f"'{sys.executable}' -m beltline", 1)
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **names},
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("buffered", ["", "1"])
@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (f"beltline {SOLVE} >/dev/full", 1, f"beltline solve: {FULL}"),
        (f"beltline {SOLVE} >&-", 1, f"beltline solve: {CLOSED}"),
        (f"beltline {SOLVE} | true", 1, ""),
        ("beltline devices >/dev/full", 1, f"beltline devices: {FULL}"),
        ("beltline devices >&-", 1, f"beltline devices: {CLOSED}"),
        ("beltline --version >/dev/full", 1, f"beltline: {FULL}"),
        ("beltline solve --help >/dev/full", 1, f"beltline: {FULL}"),
        (f"beltline {SOLVE} --quiet >/dev/full", 0, ""),
        (f"beltline {SOLVE} --quiet >&-", 0, ""),
        (f"beltline {SOLVE} --quiet <&- >&- 2>&-", 0, ""),
        (f"beltline {SOLVE} --max-sweeps 1 --quiet 2>/dev/full", 1, ""),
        ("beltline solve --grid 1 2>&-", 2, ""),
    ],
)
def test_it_is_named_and_the_result_is_written(
    tmp_path: Path, command: str, code: int, said: str, buffered: str
) -> None:
    assert ended(command, tmp_path, PYTHONUNBUFFERED=buffered) == (code, "", said)
    written = os.listdir(tmp_path)
    assert written == (["a.npz"] if SOLVE in command else [])
    for name in written:
        bl.load(tmp_path / name)


def test_a_name_that_is_no_text_is_printed(tmp_path: Path) -> None:
    command = f"beltline {SOLVE}".replace("a.npz", r"$'\xff\xe2\x82\xac.npz'")
    code, out, said = ended(command, tmp_path, PYTHONIOENCODING="ascii")
    assert (code, said) == (0, "")
    assert out.endswith(r"\udcff\u20ac.npz" + "\n")
    assert os.listdir(os.fsencode(tmp_path)) == [b"\xff\xe2\x82\xac.npz"]
