"""All blocks of Python and all `beltline` commands in the pages run.

Blocks of a page share their names and a directory, as if a reader typed one after the other. An HTML comment just
before a block describes it:

- ``<!-- not run: why -->``: the block is not run.
- ``<!-- file: path -->``: the block must equal the file without its first docstring.
- ``<!-- output -->``, before a block of text: the block must equal the output of the Python block before it, except
  for numbers.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import pytest

import beltline as bl
from beltline.host.cli.main import main
from beltline.host.devices import DEVICES
from support.paths import ROOT
from support.texts import plain

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

SMALLER = {
    "grid=65536": "grid=256",
    "grid=4096": "grid=256",
    "bl.arellano())": "bl.arellano(bonds=61, incomes=9))",
    "bl.krusell_smith())": "bl.krusell_smith(), agents=1000, periods=400)",
}
"""Replacements that shorten code which would take a minute."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its page, its first line, its language, its text, and ``note``, the comment before it."""

    page: Path
    line: int
    language: str
    text: str
    note: str


def blocks(page: Path) -> list[Block]:
    found = []
    text = page.read_text()
    for match in re.finditer(
        r"^(?:<!-- (?P<note>(?:(?!-->).)*?) -->\n)?```(?P<language>\S*)\n(?P<text>.*?)^```$", text, re.M | re.S
    ):
        line = text.count("\n", 0, match.start("text")) + 1
        found.append(Block(page, line, match["language"], match["text"], match["note"] or ""))
    return found


def commands(page: Path) -> list[str]:
    lines = [line for block in blocks(page) if block.language == "" for line in block.text.splitlines()]
    return [line.partition("  #")[0] for line in lines if re.match(r"beltline \w", line)]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the files that pages assume to exist, once for all pages."""
    directory = tmp_path_factory.mktemp("kept")
    small = bl.solve(bl.rbc(grid=256), progress=False)
    for name in ("rbc.nc", "rbc.npz", "result.npz", "euler.nc"):
        small.save(directory / name)
    return directory


@pytest.fixture
def reader(stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change to an empty directory with those files, as a reader of a page would."""
    shutil.copytree(stored, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    matplotlib.use("agg")
    # The gateware returns the same bits, after minutes of compiling.
    monkeypatch.setitem(DEVICES, "rtl", DEVICES["emulator"])


def shorter(text: str) -> str:
    for long, short in SMALLER.items():
        text = text.replace(long, short)
    return text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.usefixtures("reader")
@pytest.mark.filterwarnings("ignore:.*is not solved.*")
def test_python(page: Path) -> None:
    # Names that pages assume to exist.
    problem = bl.rbc(grid=256)
    names: dict[str, object] = {"bl": bl, "problem": problem}
    names |= {"X": problem.grid, "W": problem.wealth, "Q": problem.transition, "V0": problem.start}
    printed = ""
    found = blocks(page)
    for block, following in itertools.zip_longest(found, found[1:]):
        if block.note == "output":
            assert plain(printed) == plain(block.text), f"{page.name}:{block.line} is not what is printed"
        if block.language != "python" or block.note.startswith("not run: "):
            continue
        if block.note.startswith("file: "):
            code = (ROOT / block.note.removeprefix("file: ")).read_text()
            assert re.sub(r'\A""".*?"""\n+', "", code, flags=re.S) == block.text, f"{page.name}:{block.line}"
        # Errors name the line of the page. A page has none of the future imports of this file.
        source = compile("\n" * (block.line - 1) + shorter(block.text), str(page), "exec", dont_inherit=True)
        names["__name__"] = "__main__" if following is not None and following.note == "output" else "page"
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(source, names)
        printed = out.getvalue()


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.name)
@pytest.mark.usefixtures("reader")
def test_commands(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in commands(page):
        words = shlex.split(re.sub(r"--grid \d+", "--grid 256", command))[1:]
        if words[:2] == ["solve", "krusell-smith"]:
            words += ["--agents", "100", "--periods", "120", "--discard", "20"]
        elif words[:2] == ["solve", "lumpy-investment"]:
            words += ["--steps", "2", "--states", "5"]
        elif words[:2] == ["solve", "arellano"]:
            # Machines are simulated for minutes; slow tests do that. A processor has none of their options.
            words = shlex.split(command)[1:]
            words = ["cpu" if word in ("emulator", "rtl") else word for word in words]
            words += ["--bonds", "61", "--incomes", "9"]
        elif words[0] == "solve" and "--grid" not in words:
            words += ["--grid", "256"]
        if words[0] != "bench":
            assert main(words) == 0, f"{page.name}: {command}: {capsys.readouterr().err}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_notes_are_understood(page: Path) -> None:
    for block in blocks(page):
        assert re.fullmatch(r"|output|not run: .+|file: .+", block.note), f"{page.name}:{block.line}: {block.note!r}"


def test_pages_have_code() -> None:
    assert sum(block.language == "python" for page in PAGES for block in blocks(page)) >= 10
    assert sum(len(commands(page)) for page in PAGES) >= 5
