"""The options of a solve: one object, checked once."""

from __future__ import annotations

import pickle
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import beltline as bl
from beltline.host.devices import ARGUMENTS, REFERENCES
from beltline.host.solver.options import MACHINE_ONLY, SolveOptions, machine_method, start_named
from support.batches import tiny


@pytest.mark.parametrize("device", REFERENCES)
@pytest.mark.parametrize("name", MACHINE_ONLY)
def test_what_only_machines_have(device: str, name: str) -> None:
    sentence = (
        f"{name} is not supported by device '{device}': leave it out, or name a device of the accelerator, such as "
    )
    with pytest.raises(bl.ProblemError, match=f"^{sentence}device='emulator'$"):
        SolveOptions(**{name: 3}, device=device)


def test_options_are_stored_as_numbers_and_can_be_pickled(tmp_path: Path) -> None:
    given = SolveOptions(tol=1, checkpoint=tmp_path / "a.npz", checkpoint_every=2, device="emulator")
    assert isinstance(given.tol, float)
    saving = given.saving()
    assert saving is not None
    assert (saving.path, saving.every) == (tmp_path / "a.npz", 2.0)
    assert pickle.loads(pickle.dumps(given)) == replace(given, verify=True) == given


def test_a_misspelt_option_is_compared_with_all_arguments() -> None:
    arguments = {field.name for field in fields(SolveOptions)} - {"lowers_tol"} | {"device", "progress"}
    assert sorted(ARGUMENTS) == sorted(arguments)
    for device in ("emulator", "cpu"):
        with pytest.raises(
            bl.ProblemError, match=r"has no option 'max_sweep': it takes .*; did you mean 'max_sweeps'\?$"
        ):
            bl.solve(tiny(0), max_sweep=3, device=device)
    with pytest.raises(
        bl.ProblemError, match=r"^household 'euler' has no options, but .*; did you mean 'max_iterations'\?$"
    ):
        bl.solve(bl.krusell_smith(), max_iteration=3)
    with pytest.raises(bl.ProblemError, match=r"^device 'emulator' has no option 'colour': it takes [^?]*$"):
        bl.solve(tiny(0), colour=3, device="emulator")


@pytest.mark.parametrize("device", ["auto", "cpu", "emulator"])
def test_a_former_name_is_refused_with_the_current_one(device: str) -> None:
    for solve, given in ((bl.solve, tiny(0)), (bl.solve_many, [tiny(0)])):
        with pytest.raises(bl.ProblemError, match=r"option 'money_bits'.* is now called 'amount_bits'$"):
            list(solve(given, device=device, money_bits=40))


def test_a_former_name_is_refused_by_sessions_and_discrete_problems() -> None:
    with bl.open("emulator") as session:
        with pytest.raises(bl.ProblemError, match=r"^option 'money_bits' is now called 'amount_bits'$"):
            session.solve(tiny(0), money_bits=40)
        with pytest.raises(bl.ProblemError, match=r"^option 'money_bits' is now called 'amount_bits'$"):
            bl.solve(tiny(0), device=session, money_bits=40)
        with pytest.raises(bl.ProblemError, match=r"^option 'tolerance' can be set only when a device is opened"):
            session.solve(tiny(0), tolerance=1)
    choices = bl.from_discrete_dp(R=[[5, 10], [-1, 2]], Q=[[(0.5, 0.5), (0, 1)], [(0, 1), (0.5, 0.5)]], beta=0.95)
    with pytest.raises(bl.ProblemError, match=r"no option 'money_bits': .* verify; it is now called 'amount_bits'$"):
        bl.solve(choices, money_bits=40)


def test_utility_that_is_nearly_log() -> None:
    for eta, said in ((1.0000001, "-1e+07"), (0.9999999, "1e+07")):
        sentence = f"; utility of eta = {eta} is near {re.escape(said)} whatever is consumed: use eta = 1, log$"
        with pytest.raises(bl.ProblemError, match=sentence):
            bl.solve(bl.rbc(grid=16, eta=eta), tol=1e-10, device="emulator")
    with pytest.raises(bl.ProblemError, match=r"four units of a value with \d+ fraction bits \(V can reach [^)]*\)$"):
        bl.solve(bl.rbc(grid=16), tol=1e-18, device="emulator")


def test_one_start_has_two_words() -> None:
    assert start_named("problem") == start_named("given") == SolveOptions(start="problem").start == "given"
    assert machine_method("emulator", "shift", {"lanes": 2, "start": "problem"}) == ("shift", "given")
    with bl.open("emulator", lanes=2) as device:
        runs = [device.solve(tiny(0), 1e-3, start=start) for start in ("given", "problem", "last")]
        assert [run.sweeps for run in runs[:2]] == [runs[0].sweeps] * 2
        again = bl.solve(tiny(0), 1e-3, device=device, method="shift", start="last")
    # start='last' takes the last value, computed by any method.
    assert max(runs[2].sweeps, again.sweeps) < runs[0].sweeps / 10


class Twice:
    """A model that is no subclass of Model: it only needs a method ``solve``."""

    def solve(self, **options: Any) -> Any:
        self.options = options
        return bl.solve(tiny(0), **options)


def test_whatever_solves_itself_is_a_model() -> None:
    model = Twice()
    result = bl.solve(model, 1e-3, device="cpu", method="shift", start="stay", progress=False)
    assert result.success
    # Only options that were given are passed on: a model has defaults of its own.
    given = {"tol": 1e-3, "device": "cpu", "method": "shift", "start": "stay", "progress": False}
    assert model.options == given


def test_a_class_of_models_is_no_model() -> None:
    with pytest.raises(bl.ProblemError, match=r"^problem must be a Problem, not <class '.*Twice'>$"):
        bl.solve(Twice)  # type: ignore[call-overload]
