"""The command that times problems with several peaks, and that its problems have them."""

from __future__ import annotations

import numpy as np
import pytest

from docs.tables import several_peaks


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert several_peaks.main(["--repeats", "1", "--problems", "5", "--points", "200"]) == 0
    out = capsys.readouterr().out
    for method in several_peaks.METHODS:
        assert f"{method:9} 200 x 5: concave " in out
    assert out.endswith("all verified\nrandom grids: 5 of 5 problems solved and verified\n")


def test_only_the_first_problem_is_concave() -> None:
    bends = [np.diff(wealth, n=2, axis=0).max() for wealth in several_peaks.wealths().values()]
    assert bends[0] < 1e-12
    assert min(bends[1:]) > 1e-6


@pytest.mark.parametrize(("name", "least"), [("problems", 1), ("repeats", 1), ("points", 50)])
def test_a_wrong_number_is_refused(name: str, least: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        several_peaks.main([f"--{name}", str(least - 1)])
    assert f"--{name} must be at least {least}, not {least - 1}" in capsys.readouterr().err
