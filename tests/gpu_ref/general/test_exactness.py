"""The command that compares sweeps with full search, and that it finds differences."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from beltline.gpu_ref.general import exactness
from beltline.gpu_ref.general.form import Form
from beltline.gpu_ref.general.operator import sweep


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert exactness.main(["--problems", "5", "--seed", "3", "--grid", "12"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("5 problems, ")
    assert " 0 differences beyond ties of 1e-13, " in out


@pytest.mark.parametrize("name", ["values", "policy", "value", "choice", "probabilities"])
def test_a_difference_is_found(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(form: Form, *rest: Any) -> Any:
        found = sweep(form, *rest)
        table = np.array(getattr(found, name))
        if name == "policy":
            table = np.where(table > 0, table - 1, table)
        elif name == "choice":
            own = form.of_regime(0)
            table[0] = own[0] + own[-1] - table[0]
        else:
            table *= 1.0 + 1e-9
        seen = ("value", "values", "policy", "choice", "probabilities", "evaluations", "searched")
        return SimpleNamespace(**{attribute: getattr(found, attribute) for attribute in seen} | {name: table})

    monkeypatch.setattr(exactness, "sweep", wrong)
    assert exactness.main(["--problems", "12", "--grid", "12"]) == 1
    assert "differs in" in capsys.readouterr().out


@pytest.mark.parametrize(("option", "least"), [("problems", 1), ("seed", 0), ("grid", 1)])
def test_numbers_out_of_range_are_refused(option: str, least: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        exactness.main([f"--{option}", str(least - 1)])
    assert f"--{option} must be at least {least}, not {least - 1}" in capsys.readouterr().err
