"""The table of time and energy of an engine that fits a board, beside CPU and GPU."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from beltline.constraints.boards import BOARDS
from beltline.host.bench.energy import Counter, Meter
from beltline.host.models.rbc import rbc
from beltline.hw.sweep.parameters import SweepParameters
from docs.tables import fitting_engines
from docs.tables.engines import FAST, PLAIN
from docs.tables.fitting_engines import Measured, main, measured
from docs.tables.sweep_acceleration import solve

IDLE, BUSY = 100.0, 250.0
"""Watts of the card in the fake clock."""


class Clock:
    """A clock that moves during a wait or a solve, and a counter of the energy used meanwhile."""

    def __init__(self) -> None:
        self.now, self.joules = 0.0, 7.0

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.joules += IDLE * seconds

    def solve(self, *_: object, **given: object) -> SimpleNamespace:
        """A solve of 0.3 s, of 0.5 s from call to return."""
        assert not given["verify"]
        self.now += 0.5
        self.joules += BUSY * 0.5
        return SimpleNamespace(sweeps=29, timing={"solve": 0.3})


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(fitting_engines, "time", made)
    return made


def rows_of(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]


def test_calls_are_repeated_and_energy_is_that_of_a_call(clock: Clock) -> None:
    meter = Meter([Counter(lambda: clock.joules)])
    found = measured(lambda: clock.solve(verify=False), meter, 5.0)
    # The first of eleven calls is not counted.
    assert clock.now == 5.5
    assert found == Measured(sweeps=29, solve=0.3, call=0.5, joules=BUSY * 0.5)
    assert fitting_engines.idle_watts(meter, 5.0) == IDLE
    assert math.isnan(fitting_engines.idle_watts(Meter(), 5.0))


def test_rows_of_a_computer_with_a_counted_gpu(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fitting_engines, "CASES", ((1024, PLAIN), (1024, FAST)))
    monkeypatch.setattr(fitting_engines, "solve_on", clock.solve)
    here = {"cpu": ("2 cores", Meter()), "gpu": ("H200", Meter([Counter(lambda: clock.joules)]))}
    monkeypatch.setattr(fitting_engines, "devices", lambda: here)
    assert main(["--tol", "1e-3"]) == 0
    text = capsys.readouterr().out
    _, _, *found = rows_of(text)
    board = BOARDS["f2-sweep"]
    for way, rows in zip((PLAIN, FAST), (found[:4], found[4:]), strict=True):
        clocks = solve(rbc(grid=1024), SweepParameters.of(board.machine), way, 1e-3).clocks
        ms = clocks / 125e6 * 1e3
        assert rows[1][1:4:2] == ["`f2-sweep`: 32 lanes at 125 MHz, VU47P in F2", f"{clocks:,}"]
        assert (rows[1][5], rows[1][7], rows[1][9]) == (
            f"{ms:.3g}", f"{ms * 85e-3:.3g}", "time modelled, 85 W assumed"
        )  # fmt: skip
        assert rows[0][1].startswith("64 lanes at 250 MHz")
        assert (rows[0][7], rows[0][9]) == ("", "time modelled")
        assert rows[2][1:] == ["2 cores", "29", "", "in the solve", "300", "500", "", "", "measured"]
        assert rows[3][1:] == ["H200", "29", "", "in the solve", "300", "500", "125", "75", "measured"]
    assert [row[4] for row in found[:2]] == ["0", "0"]
    assert "The processors have no counter of energy that may be read.\n" in text
    assert "The GPU's card used 100 W idle, measured for 5 s before.\n" in text


def test_a_computer_without_a_gpu_says_why(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(fitting_engines, "CASES", ((1024, PLAIN),))
    monkeypatch.setattr(fitting_engines.cuda, "available", lambda: "No card was found.")
    assert main(["--tol", "1e-2", "--seconds", "0.01"]) == 0
    text = capsys.readouterr().out
    assert [row[9] for row in rows_of(text)[2:]] == ["time modelled", "time modelled, 85 W assumed", "measured"]
    assert text.endswith("\nNo GPU: No card was found.\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--tol", "0"], "error: --tol must be above 0, not 0\n"),
        (["--seconds", "0"], "error: --seconds must be a number of seconds above 0, not 0\n"),
        (["--seconds", "nan"], "error: --seconds must be a number of seconds above 0, not nan\n"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert capsys.readouterr().err.endswith(sentence)
