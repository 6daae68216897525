"""Generated faults: what they change, which tests are run, and what is said of each."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mutants.generate import Fault, changed_lines, faults_of, importing_tests
from mutants.runner import FOUND, NOT_FOUND, chosen, main, run
from support.paths import ROOT

EVERY_KIND = '''
def f(x: list[3], m, ä=1):
    """Give 1 + 2."""
    if x[ä] < 0.5 and not m:
        x[0] = min(x[1:ä])
        m.d.comb += x
        m.note(f"{1 + 2}")
    with m.If(x == ä): pass
    assert x > 3
    raise ValueError("a" + "b")
'''


def test_faults_of_every_kind() -> None:
    faults = faults_of("f.py", EVERY_KIND, ("t",))
    assert [fault.what.replace(" becomes ", " -> ") for fault in faults] == [
        "line 2: 1 -> 2",
        "line 4: x[ä] < 0.5 and not m -> (not (x[ä] < 0.5 and (not m)))",
        "line 4: x[ä] < 0.5 and not m -> (x[ä] < 0.5 or not m)",
        "line 4: x[ä] < 0.5 -> (x[ä] <= 0.5)",
        "line 4: x[ä] < 0.5 -> (x[ä] > 0.5)",
        "line 4: ä -> ((ä) + 1)",
        "line 4: 0.5 -> 1.5",
        "line 5: x[0] = min(x[1:ä]) -> pass",
        "line 5: 0 -> 1",
        "line 5: min -> max",
        "line 5: 1 -> 2",
        "line 5: ä -> ((ä) + 1)",
        "line 6: m.d.comb += x -> pass",
        'line 7: m.note(f"{1 + 2}") -> pass',
        "line 8: x == ä -> ((x == ä) == 0)",
        "line 8: x == ä -> (x != ä)",
    ]
    assert len({fault.after for fault in faults}) == len(faults)
    assert faults[5].after == EVERY_KIND.replace("x[ä] <", "x[((ä) + 1)] <")
    assert faults[12].after == EVERY_KIND.replace("m.d.comb += x", "pass")
    assert [fault.what for fault in faults_of("f.py", EVERY_KIND, (), {2, 6})] == [faults[0].what, faults[12].what]


def test_tests_are_those_that_import_the_file() -> None:
    tests = importing_tests(ROOT, "hw/sweep/peak.py")
    assert tests[0] == "tests/hw/sweep/test_peak.py"
    assert "tests/hw/sweep/test_check.py" in tests
    assert importing_tests(ROOT, "host/results/files.py")
    assert importing_tests(ROOT, "no/such.py") == ()


def test_a_random_few_of_the_faults_of_a_file() -> None:
    every = chosen("hw/sweep/peak.py", ["t"], 0, 0)
    some = chosen("hw/sweep/peak.py", ["t"], 5, 1)
    assert len(every) > len(some) == 5
    assert set(some) < set(every)
    assert set(chosen("hw/sweep/peak.py", ["t"], 5, 2)) != set(some)


def test_lines_that_changed_since_a_commit(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *words], cwd=tmp_path, check=True)

    (tmp_path / "hw").mkdir()
    file = tmp_path / "hw" / "a.py"
    file.write_text("a = 1\nb = 2\nc = 3\n")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "Begin")
    file.write_text("a = 1\nb = 3\nc = 3\nd = 4\n")
    assert changed_lines(tmp_path, "HEAD") == {"hw/a.py": {2, 4}}


SOURCE = "def double(x):\n    return x + x\n"
TEST = """
import pytest

@pytest.fixture
def double():
    import source
    assert source.double(0) == 0
    return source.double

def test_double(double):
    assert double(3) == 6
"""


def fault_of(what: str, after: str) -> Fault:
    return Fault(what, "source.py", SOURCE, SOURCE.replace("return x + x", after), ("test_source.py::test_double",))


def test_a_fault_is_found_where_a_test_fails_and_nowhere_else(tmp_path: Path) -> None:
    root, folder = tmp_path / "root", tmp_path / "folder"
    root.mkdir()
    folder.mkdir()
    (root / "source.py").write_text(SOURCE)
    (root / "test_source.py").write_text(TEST)
    wrong, worse, same, broken = (
        fault_of("wrong", "return x * x"),
        fault_of("worse", "return x + 1"),
        fault_of("the same", "return 2 * x"),
        fault_of("no such name", "return x + y"),
    )
    lines: list[str] = []
    verdicts = run([wrong, worse, same, broken], folder, lines.append, root)
    assert verdicts == {wrong: FOUND, worse: FOUND, same: NOT_FOUND, broken: verdicts[broken]}
    assert verdicts[broken].startswith("no test failed, exit code 1: E ")
    assert "NameError" in verdicts[broken]
    assert lines[0] == "4 faults; 1 tests or files, first without a fault"
    assert lines[2].startswith(f"1/4 source.py: wrong: {FOUND} (")
    assert lines[-1] == "2 faults were found, 1 not; 1 could not run"
    assert (folder / "project" / "source.py").read_text() == (root / "source.py").read_text() == SOURCE
    (root / "test_source.py").write_text(TEST.replace("== 6", "== 7"))
    (tmp_path / "other").mkdir()
    with pytest.raises(RuntimeError, match=r"^the tests fail without a fault:\n"):
        run([wrong], tmp_path / "other", lines.append, root)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["docs/api.md"], "docs/api.md must be a Python file of the project, as in hw/sweep/peak.py"),
        (["hw/none.py"], "hw/none.py must be a Python file of the project, as in hw/sweep/peak.py"),
        ([], "no fault can be made: name Python files, or a commit with --since"),
    ],
)
def test_refusals(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert capsys.readouterr().err == f"mutants: {sentence}\n"


def test_an_interrupt_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.mutants", "hw/sweep/peak.py", "--count", "1"]
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
