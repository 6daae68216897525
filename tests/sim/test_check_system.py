"""What the check of the computer reports for each thing that can be missing."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from types import SimpleNamespace

import pytest

from beltline.sim import check_system

VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    lacking: set[str] = set()
    find_spec, which = importlib.util.find_spec, shutil.which
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in lacking else find_spec(name))
    monkeypatch.setattr(shutil, "which", lambda name: None if name in lacking else which(name) or f"/usr/bin/{name}")
    monkeypatch.setattr(check_system, "has_shared_library", lambda: "library" not in lacking)
    monkeypatch.setattr(sys, "base_prefix", "/usr")

    def run(*names: str) -> tuple[int, list[str]]:
        lacking.update(names)
        code = check_system.main()
        return code, capsys.readouterr().out.splitlines()

    return SimpleNamespace(without=run)


@pytest.mark.parametrize(
    ("lacking", "what", "packages"),
    [
        (("c++",), "a C++ compiler", "g++"),
        (
            ("make", "c++", "ensurepip", "library"),
            "make, a C++ compiler, Python's venv module and Python's shared library",
            f"make g++ python{VERSION}-venv python{VERSION}-dev",
        ),
    ],
)
def test_what_is_missing(said: SimpleNamespace, lacking: tuple[str, ...], what: str, packages: str) -> None:
    assert said.without() == (0, [])
    sentence = f"Beltline needs {what}, which this computer lacks. On Debian and Ubuntu:"
    assert said.without(*lacking) == (1, [sentence, f"    sudo apt install {packages}"])


def test_this_computer_has_a_shared_library() -> None:
    assert check_system.has_shared_library()


def test_old_python(said: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")
    assert said.without() == (
        1,
        [
            "Beltline needs Python 3.11 or newer, and /usr/bin/python3 is 3.9.",
            "    sudo apt install python3.11 python3.11-venv python3.11-dev g++",
            "and then add PYTHON=python3.11 to the make command.",
        ],
    )


def test_python_of_ones_own_without_shared_library(said: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "base_prefix", "/opt/python")
    monkeypatch.setattr(sys, "executable", "/opt/python/bin/python3")
    code, lines = said.without("library")
    assert code == 1
    assert lines == [
        "/opt/python/bin/python3 was built without a shared library, which cocotb needs: "
        "build it with --enable-shared, or add PYTHON=/usr/bin/python3 to the make command."
    ]
