"""The table of the clock cycles that proofs take."""

from __future__ import annotations

import re

import numpy as np
import pytest

from beltline.host.models.rbc import rbc
from beltline.host.solver.fixed_point import fixed_point
from beltline.hw.interface.registers import Mode, Status
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters
from docs.tables import sweep_proof
from support.machines import begun
from support.peaks import savings


def test_rows_are_what_the_model_did(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    problems = {"concave": savings("none", points=40), "jumps": savings("jumps", points=40)}
    monkeypatch.setattr(sweep_proof, "wealths", lambda: {name: given.wealth for name, given in problems.items()})
    by_wealth = {given.wealth.tobytes(): given for given in problems.values()}
    monkeypatch.setattr(sweep_proof, "savings", lambda wealth: by_wealth[wealth.tobytes()])
    assert sweep_proof.main(["--grid", "64", "--lanes", "4", "--few", "2"]) == 0
    *lines, blank, measure = capsys.readouterr().out.splitlines()
    assert lines[0] == sweep_proof.HEADER
    assert len({line.count("|") for line in lines}) == 1
    assert blank == ""
    assert re.match(
        r"measure  clocks of a sweep with several peaks .* asked at most 2: measured [.\d]+, holds", measure
    )
    first, concave, jumps = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:])
    build, image = SweepParameters(64, 4, 4, 4, proof=True), fixed_point(rbc(grid=64), 1e-10)
    machine, every = (
        begun(SweepSoftwareMachine(build, logged=True), image, mode=mode) for mode in (Mode.SPARSE, Mode(0))
    )
    for one in (machine, every):
        while not one.step():
            pass
        assert Status.PROVEN in one.status
    proofs = np.array(machine.proven_by)
    spent = proofs[:, -1].sum()
    assert first == [
        "64 x 4: RBC",
        "4",
        f"{machine.sweeps:,}",
        f"{(proofs[:, 0] > 0).sum()}",
        "yes",
        f"{np.mean(machine.evaluations) / 256:.2g}",
        f"{proofs[:, 3].mean() / 256:.2g}",
        "2",
        "0",
        f"{machine.clocks:,}",
        f"{spent / machine.clocks:.1%}",
        f"{machine.clocks / (machine.clocks - spent):.2f}",
        f"{every.clocks:,}",
    ]
    assert [row[0] for row in (concave, jumps)] == ["40 x 3: concave", "40 x 3: jumps"]
    assert float(jumps[-2]) > float(concave[-2]) > 1.0
    assert int(jumps[7]) > 2 == int(concave[7])


@pytest.mark.parametrize("words", [["--lanes", "3"], ["--grid", "100"], ["--few", "512"]])
def test_bad_input_is_refused_in_a_sentence(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        sweep_proof.main(words)
    assert caught.value.code == 2
    assert re.search(r"error: .* must be .*, not", capsys.readouterr().err)
