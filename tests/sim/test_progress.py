"""The line of progress on a terminal, with a substitute for the terminal."""

from __future__ import annotations

import io
import time

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
