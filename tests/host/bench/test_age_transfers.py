"""The table of what loading during a run could save: words by age, and the share that follows from them."""

from __future__ import annotations

import numpy as np
import pytest

from beltline.host.devices.software_model import ModelDevice
from beltline.hw.interface.registers import Table
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters
from docs.tables.age_transfers import Ages, Counted, main, measured


def test_words_are_counted_by_age() -> None:
    device = Counted(ModelDevice(SweepSoftwareMachine(SweepParameters(32, 2, 2))))
    words = np.arange(6)
    device.write_block(Table.W, 0, words)
    device.write_block(Table.V, 0, words[:4])
    assert device.read_block(Table.V, 0, 3).tolist() == [0, 1, 2]
    device.read_block(Table.V, 3, 1)
    device.write_block(Table.W, 0, words[:2])
    assert (device.written, device.read) == ([10, 2], [4, 0])
    assert device.name == "emulator"


@pytest.mark.parametrize(("clocks", "written", "saved"), [(100, 300, 0.1), (500, 300, 0.2142857142857143)])
def test_the_shorter_of_run_and_writes_is_saved(clocks: int, written: int, saved: float) -> None:
    assert Ages(4, clocks, written, 600).saved == pytest.approx(saved)


def test_reads_are_the_results_of_an_age() -> None:
    one = measured(32, 2, 4)
    # Values and choices of each state that counts: three transitory shocks in two persistent states, and the dead.
    assert one.read % (2 * 32) == 0
    assert 2 * 32 * 7 <= one.read <= 2 * 32 * 16
    assert 32 < one.written < one.read
    assert one.clocks > 32


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--grid", "16", "--states", "2"]) == 0
    rows = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [int(row[0]) for row in rows[2:]] == [1]


def test_a_grid_that_is_too_small_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--grid", "4"])
    assert "16" in capsys.readouterr().err
