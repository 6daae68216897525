"""The table of sovereign default on a machine."""

from __future__ import annotations

import pytest

from beltline.host.models.arellano.model import arellano
from docs.tables import default_clocks


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert default_clocks.main(["--small", "--lanes", "4"]) == 0
    header, _, *rows = capsys.readouterr().out.splitlines()
    assert header == default_clocks.HEADER
    assert len(rows) == 2
    for row, start in zip(rows, ("coarse", "given"), strict=True):
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[:5] == ["61 x 7", "14", "4", "14", start]
        assert cells[-1] == "0 of 427"
        sweeps, clocks, each = (int(cell.replace(",", "")) for cell in cells[5:8])
        assert each == clocks // sweeps > default_clocks.expectation_clocks(arellano(61, 7), 4, 16)


def test_what_is_refused() -> None:
    with pytest.raises(SystemExit):
        default_clocks.main(["--small", "--lanes", "3"])
