"""The list of single faults: each applies to the present source, and the tests that it names find it."""

from __future__ import annotations

import ast
import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mutants.fault import Fault
from mutants.faults import FAULTS
from mutants.runner import FOUND, chosen, main, run
from support.paths import ROOT

LEAST = 60


@functools.cache
def functions_of(path: Path) -> dict[str, bool]:
    """Return the tests of a file, and whether the default suite leaves each out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    left_out = ("pytest.mark.slow", "pytest.mark.speed")
    return {
        function.name: any(ast.unparse(mark).startswith(left_out) for mark in function.decorator_list)
        for function in functions
    }


def test_there_are_enough_faults_and_none_twice() -> None:
    assert len(FAULTS) >= LEAST
    assert len({fault.what for fault in FAULTS}) == len(FAULTS)
    assert len({(fault.file, fault.before, fault.after) for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("file", sorted({fault.file for fault in FAULTS}))
def test_every_fault_is_a_change_that_can_run(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    for fault in FAULTS:
        if fault.file != file:
            continue
        assert text.count(fault.before) == 1, fault
        changed = text.replace(fault.before, fault.after)
        assert changed != text, fault
        if file.endswith(".py"):
            assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text)), fault
        else:
            assert file.endswith(".md") or json.loads(changed)


def test_every_fault_names_tests_of_the_default_suite() -> None:
    for fault in FAULTS:
        assert fault.tests, fault
        for test in fault.tests:
            file, _, name = test.partition("::")
            assert functions_of(ROOT / file)[name.partition("[")[0]] is False, fault


def test_faults_are_chosen_by_their_text() -> None:
    assert chosen(FAULTS, first=3) == list(FAULTS[:3])
    some = chosen(FAULTS, "NORM")
    assert 2 < len(some) < len(FAULTS)
    assert all("norm" in f"{fault.what} {fault.file}".lower() for fault in some)
    shares = [chosen(FAULTS, "NORM", share=(number, 3)) for number in (1, 2, 3)]
    assert sorted(map(len, shares))[0] >= len(some) // 3
    assert {fault for share in shares for fault in share} == set(some)
    assert sum(map(len, shares)) == len(some)


SOURCE = "def double(x):\n    return x + x\n"
TEST = "def test_double():\n    import source\n    assert source.double(0) == 0\n    assert source.double(3) == 6\n"


def fault_of(what: str, after: str) -> Fault:
    return Fault(what, "source.py", "return x + x", after, ("test_source.py::test_double",))


def test_a_fault_is_found_where_a_test_fails_and_nowhere_else(tmp_path: Path) -> None:
    root, folder = tmp_path / "root", tmp_path / "folder"
    root.mkdir()
    folder.mkdir()
    (root / "source.py").write_text(SOURCE)
    (root / "test_source.py").write_text(TEST)
    wrong, same, broken = (
        fault_of("wrong", "return x * x"),
        fault_of("the same", "return 2 * x"),
        fault_of("no such name", "return x + y"),
    )
    lines: list[str] = []
    survivors = run([wrong, same, broken], folder, lines.append, root)
    assert survivors == {same: "not found", broken: survivors[broken]}
    assert survivors[broken].startswith("no test failed, exit code 1: E ")
    assert "NameError" in survivors[broken]
    assert lines[0] == "3 faults; 1 tests, first without a fault"
    assert lines[2].startswith(f"1/3 source.py: wrong: {FOUND} (")
    assert lines[-1] == "1 of 3 faults were found"
    assert (folder / "project" / "source.py").read_text() == (root / "source.py").read_text() == SOURCE
    (root / "test_source.py").write_text(TEST.replace("== 6", "== 7"))
    (tmp_path / "other").mkdir()
    with pytest.raises(RuntimeError, match=r"^the tests fail without a fault:\n"):
        run([wrong], tmp_path / "other", lines.append, root)


def test_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    for words, sentence in (
        (["--first", "0"], "mutants: --first must be at least 1, not 0\n"),
        (["--only", "no such"], "mutants: no description or file of a fault has the text 'no such'\n"),
    ):
        with pytest.raises(SystemExit, match="2"):
            main(words)
        assert capsys.readouterr().err == sentence
    for share in ("0/3", "4/3", "2", "-1/2"):
        with pytest.raises(SystemExit, match="2"):
            main([f"--share={share}"])
        assert f"must be I/N with 1 <= I <= N, as in 2/8, not {share!r}" in capsys.readouterr().err


def test_an_interrupt_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.mutants", "--only", FAULTS[0].what]
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"1 faults; ")
    assert list(tmp_path.iterdir())
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, b"mutants: interrupted; nothing is left behind\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_every_fault_is_found(tmp_path: Path) -> None:
    assert run(FAULTS, tmp_path) == {}
