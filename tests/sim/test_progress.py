"""The line of progress on a terminal, with a substitute for the terminal."""

from __future__ import annotations

import io
import sys
import time
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from beltline.sim import progress


class Terminal(io.StringIO):
    """Text that was written to a terminal."""

    def isatty(self) -> bool:
        return True


def _terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Let lines of progress appear after 0.05 seconds, and return what is written to the terminal."""
    # Not in a fixture: pytest sets standard error again after fixtures.
    written = Terminal()
    monkeypatch.setattr("sys.stderr", written)
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.05)
    return written


def test_the_first_line_is_shown_if_no_other_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    """As during a compilation, which reports nothing."""
    terminal = _terminal(monkeypatch)
    with progress.reporting(None) as report:
        assert report is not None
        report("solving")
        assert terminal.getvalue() == ""
        for _ in range(200):
            if terminal.getvalue():
                break
            time.sleep(0.01)
        assert terminal.getvalue() == "\r\x1b[Ksolving"
        report("verifying")
    assert terminal.getvalue() == "\r\x1b[Ksolving\r\x1b[Kverifying\r\x1b[K"


def test_short_work_shows_nothing_even_later(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    with progress.reporting(None) as report:
        assert report is not None
        report("solving")
    time.sleep(0.15)
    assert terminal.getvalue() == ""


class Cell:
    """The text that a cell displays."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def display(self, data: dict[str, str], *, raw: bool, display_id: bool) -> Cell:
        assert raw
        assert display_id
        assert not self.texts
        self.texts.append(data["text/plain"])
        return self

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.texts.append(data["text/plain"])


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Cell:
    cell = Cell()
    ipython: Any = ModuleType("IPython")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())
    shown: Any = ModuleType("IPython.display")
    shown.display = cell.display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    return cell


def test_a_line_of_progress_replaces_the_last_and_is_erased(
    cell: Cell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.0)
    with progress.reporting(None) as report:
        assert report is not None
        report("sweep 1")
        report("sweep 2")
    assert cell.texts == ["sweep 1", "sweep 2", ""]
    assert capsys.readouterr().err == ""


def test_short_work_shows_nothing(cell: Cell) -> None:
    with progress.reporting(None) as report:
        assert report is not None
        report("sweep 1")
    assert cell.texts == []


def test_a_terminal_in_ipython_is_no_notebook(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: SimpleNamespace())
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.0)
    with progress.reporting(None) as report:
        assert report is not None
        report("sweep 1")
    assert cell.texts == []
