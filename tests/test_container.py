"""The container file installs exactly what README requires and runs its two commands; and what containers lack."""

from __future__ import annotations

import json
import re
import sys

import pytest

from support import containers
from support.paths import ROOT

LINES = re.sub(r"\\\n", "", (ROOT / "Dockerfile").read_text(encoding="ascii")).splitlines()


def instruction(name: str) -> str:
    (found,) = [line.split(" ", 1)[1] for line in LINES if line.startswith(f"{name} ")]
    return found


def test_it_runs_the_two_commands_of_the_readme() -> None:
    (block,) = re.findall(r"^Two commands .*?^```\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.M | re.S)
    commands = [line.split("#")[0].strip() for line in block.splitlines()]
    assert commands == ["make sim", "make test"]
    assert json.loads(instruction("CMD")) == ["sh", "-c", " && ".join(commands)]


def test_it_installs_what_the_set_up_asks_for() -> None:
    packages = re.search(r"--no-install-recommends ([\w +.-]+?) +&&", instruction("RUN"))
    assert packages is not None
    asked = (ROOT / "sim" / "check_system.py").read_text("utf-8") + (ROOT / "Makefile").read_text("utf-8")
    named = {"make", "g++", "python3", "python3-venv", "python3-dev"}
    assert all(name in asked for name in named)
    # pip checks the certificate of PyPI.
    assert set(packages[1].split()) == named | {"ca-certificates"}


def test_it_needs_no_root_and_takes_nothing_that_was_built() -> None:
    names = [line.split(" ", 1)[0] for line in LINES if line and not line.startswith("#")]
    assert names == ["FROM", "RUN", "USER", "WORKDIR", "COPY", "CMD"]
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert {".venv", "build", "dist"} <= set(ignored)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=() if case in ("any user", "no /dev/shm") else pytest.mark.slow, id=case)
        for case in containers.CASES
    ],
)
def test_it_solves_saves_and_loads_in_what_containers_lack(case: str) -> None:
    ended = containers.run(case, sys.executable)
    if ended.startswith("skipped: "):
        pytest.skip(ended.removeprefix("skipped: "))
    assert ended.startswith("solved, saved and loaded"), ended
