"""The table of clock cycles of the sweep engine for problems with a cost of choices."""

from __future__ import annotations

import numpy as np
import pytest

import beltline as bl
from beltline.host.solver.costs import costs_of
from docs.tables import sweep_costs, sweep_proof


def test_a_line_for_each_problem(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    small = sweep_costs.problems(60)
    monkeypatch.setattr(sweep_costs, "problems", lambda: small)
    assert sweep_costs.main(["--lanes", "2"]) == 0
    header, _, *lines, blank, measure = capsys.readouterr().out.splitlines()
    assert not blank
    assert measure.endswith("holds")
    assert header == sweep_proof.HEADER
    assert [line.split(" | ")[0] for line in lines] == [f"| 60 x 5: {name}" for name in small]
    for line, problem in zip(lines, small.values(), strict=True):
        cells = line.strip("| ").split(" | ")
        assert cells[1] == "2"
        assert cells[4] == "yes"
        if problem.cost is not None:
            found = bl.solve(problem, tol=sweep_costs.TOL, device="emulator", lanes=2, proof=1, costs=1)
            assert found.success
            assert (f"{found.sweeps:,}", f"{found.clocks:,}") == (cells[2], cells[9])


def test_what_shapes_the_costs() -> None:
    given = sweep_costs.problems(60)
    plain, *others = given.values()
    assert plain.cost is None
    dominated = {name for name, one in given.items() if (costs := costs_of(one)) is not None and costs.dominated}
    assert dominated == {"bonds, price falls with debt"}
    bends = [np.diff(np.asarray(one.cost).reshape(60, -1)[:, 0], 2) for one in others[:2]]
    assert bends[0].min() > -1e-12 < 1e-3 < bends[0].max()
    assert bends[1].max() < 1e-12


def test_lanes_that_cannot_be_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        sweep_costs.main(["--lanes", "3"])
    assert "lanes of a build must be a power of two from 1 to 256, not 3" in capsys.readouterr().err
