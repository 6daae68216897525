"""The comparison by turns with an earlier commit, of packages that take as long as their sources say."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from docs.tables.against import ROOT, main

PACKAGE = """
import numpy as np
class Result:
    value, policy = np.full((2, 1), {value}), np.zeros((2, 1), np.int32)
    sweeps, success, timing = {sweeps}, {success}, {{"solve": {seconds}, "verify": 0.25}}
class Unverified(Result):
    timing = {{"solve": {seconds} / 10.0}}
rbc = int
def solve(problem, device, method, verify):
    assert (problem, device, method) == (8, "cpu", "warm")
    return Result() if verify else Unverified()
"""


def write(root: Path, value: float = 1.0, sweeps: int = 9, success: bool = True, seconds: float = 0.5) -> None:
    (root / "beltline").mkdir(exist_ok=True)
    text = PACKAGE.format(value=value, sweeps=sweeps, success=success, seconds=seconds)
    (root / "beltline" / "__init__.py").write_text(text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a repository whose only commit has a package that takes 0.5 s."""
    write(tmp_path)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=A", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], check=True)
    return tmp_path


def compared(root: Path, *options: str) -> int:
    return main(["HEAD", "--grid", "8", "--turns", "1", "--repeats", "2", *options], root)


@pytest.mark.parametrize(
    ("change", "status", "says"),
    [
        ({"seconds": 0.4}, 0, "solve      500.00 ms   400.00 ms  0.800"),
        ({}, 0, "verify     250.00 ms   250.00 ms  1.000"),
        ({"seconds": 0.6}, 1, "the solve takes 1.200 times as long as at "),
        ({"value": 1.5}, 1, "the two versions differ"),
        ({"sweeps": 10}, 1, "this: 10 sweeps, bits "),
    ],
)
def test_both_versions_are_timed_and_compared(
    root: Path, change: dict[str, float], status: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(root, **change)  # type: ignore[arg-type]
    assert compared(root) == status
    assert says in capsys.readouterr().out


def test_the_accepted_ratio_can_be_set(root: Path) -> None:
    write(root, seconds=0.6)
    assert compared(root, "--at-most", "1.3") == 0


def test_verification_can_be_left_out(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compared(root, "--no-verify") == 0
    printed = capsys.readouterr().out
    assert "solve       50.00 ms    50.00 ms  1.000" in printed
    assert "verify       0.00 ms     0.00 ms  nan" in printed


def test_a_solve_that_fails_is_not_timed(root: Path) -> None:
    write(root, success=False)
    with pytest.raises(RuntimeError, match="did not succeed"):
        compared(root)
    (root / "beltline" / "__init__.py").write_text("raise OSError('out of paper')")
    with pytest.raises(RuntimeError, match="OSError: out of paper"):
        compared(root)


def test_a_version_without_the_package_is_not_taken_for_an_installed_one(root: Path) -> None:
    (root / "beltline" / "__init__.py").unlink()
    (root / "beltline").rmdir()
    with pytest.raises(RuntimeError):
        compared(root)


def test_this_version_is_that_of_the_repository() -> None:
    assert (ROOT / "pyproject.toml").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nothing"], "commit 'nothing': the repository in"),
        (["HEAD", "--grid", "7"], "--grid must be at least 8, not 7"),
        (["HEAD", "--turns", "0"], "--turns must be at least 1, not 0"),
        (["HEAD", "--repeats", "0"], "--repeats must be at least 1, not 0"),
    ],
)
def test_wrong_words_are_refused_in_a_sentence(
    root: Path, words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(words, root)
    assert says in capsys.readouterr().err
