"""What holds for every model: its parameters, its solution, and the files, datasets, reports and figures of this."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.cli.main import main
from beltline.host.models.model_result import ModelResult
from beltline.host.results import archive
from beltline.host.results.fields import table_of

LAW = ((0.127, 0.9647), (0.1385, 0.963))

MODELS: dict[str, tuple[Callable[..., Any], dict[str, Any], dict[str, Any]]] = {
    "aiyagari": (bl.aiyagari, {"grid": 400, "states": 3}, {}),
    "aiyagari-path": (bl.aiyagari_path, {"grid": 60, "states": 3, "shock": 0.01, "periods": 120}, {}),
    "aiyagari-types": (bl.aiyagari_types, {"grid": 60, "states": 3, "types": 2}, {}),
    "arellano": (bl.arellano, {"bonds": 41, "incomes": 7}, {}),
    "cohort": (bl.cohort, {"grid": 60, "states": 3, "first": 60, "retirement": 63, "last": 66, "high": 300.0}, {}),
    "hopenhayn-rogerson": (bl.hopenhayn_rogerson, {"grid": 40, "states": 7, "tau": 0.2}, {}),
    "krusell-smith": (bl.krusell_smith, {"points": 40}, {"agents": 100, "periods": 120, "discard": 20, "law": LAW}),
    "lumpy-investment": (bl.lumpy_investment, {"steps": 2, "states": 3}, {}),
    "lumpy-investment, convex": (bl.lumpy_investment, {"steps": 2, "states": 3, "convex": 0.2, "high": 6.0}, {}),
    "retirement": (bl.retirement, {"grid": 80, "ages": 6}, {}),
}
"""The function that makes each model, parameters of a small one, and options of its solve."""

FAILED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "aiyagari": ({"grid": 60, "high": 6.0}, {}),
    "aiyagari-path": ({"high": 3.0}, {}),
    "aiyagari-types": ({"high": 2.0}, {}),
    "krusell-smith": ({}, {"max_iterations": 1}),
    "retirement": ({"interest": 0.1, "high": 60.0}, {}),
}
"""Parameters and options with which some of them are not solved."""


@cache
def solved(name: str) -> Any:
    make, parameters, options = MODELS[name]
    return bl.solve(make(**parameters), progress=False, **options)


@cache
def unsolved(name: str) -> Any:
    make, parameters, options = MODELS[name]
    return bl.solve(make(**parameters | FAILED[name][0]), progress=False, **options | FAILED[name][1])


def model_of(found: ModelResult) -> Any:
    return getattr(found, found.names[0])


def resized(model: Any) -> Any:
    """Return the model with another number of grid points."""
    sizes = {"grid": 50, "bonds": 51, "steps": 3, "points": 50}
    if hasattr(model, "economy"):
        return replace(model, economy=resized(model.economy))
    (size,) = sizes.keys() & {each.name for each in fields(model)}
    return replace(model, **{size: sizes[size]})


@pytest.mark.parametrize("name", MODELS)
def test_a_solution_has_what_every_result_has(name: str) -> None:
    found = solved(name)
    assert found.success, found.message
    assert found.message.endswith(".")
    assert (found.sweeps > 0, type(found.method), bool(found.method)) == (True, str, True)
    assert len(found.timing) > 1
    assert min(found.timing.values()) >= 0.0
    assert 0.0 <= found.residual < 1e-6
    assert found.error_bound >= found.residual
    text, page = str(found), found._repr_html_()
    title, rest = text.split("\n", 1)
    assert rest.startswith(f"  status{' ' * (rest.index(found.status) - 8)}{found.status}: ")
    assert re.search(r"\n  this computer +\S.* s$", text)
    assert page.startswith(f"<table><caption>{title.replace(chr(39), '&#x27;')}</caption><tr><th>status</th><td>")
    assert repr(found) == text


@pytest.mark.parametrize("end", ["npz", "nc"])
@pytest.mark.parametrize(
    ("name", "find"), [*((name, solved) for name in MODELS), *((name, unsolved) for name in FAILED)]
)
def test_a_file_holds_the_solution(name: str, find: Callable[[str], Any], end: str, tmp_path: Path) -> None:
    if end == "nc":
        pytest.importorskip("h5netcdf")
    found = find(name)
    assert found.success == (find is solved)
    again = bl.load(found.save(tmp_path / f"a.{end}"))
    assert type(again) is type(found)
    assert again == found
    assert str(again) == str(found)
    assert again != solved("retirement" if name != "retirement" else "arellano")
    assert replace(again, **{found.names[0]: resized(model_of(found))}) != found
    with pytest.raises(bl.ProblemError, match=r"^out must end in \.npz or \.nc, not "):
        found.save(tmp_path / "a.csv")


@pytest.mark.parametrize("name", MODELS)
def test_a_dataset_has_names_and_units(name: str) -> None:
    pytest.importorskip("xarray")
    found = solved(name)
    data = found.to_xarray()
    for array, field in table_of(type(found)).items():
        if field.dims is not None:
            assert data[array].dims == field.dims
            assert data[array].attrs == {"long_name": field.text, "units": field.unit or "1"}
            np.testing.assert_array_equal(data[array], getattr(found, array))
    assert {"value", "policy"} & set(data)
    assert data.attrs["status"] == found.status or found.names[1]


@pytest.mark.parametrize("name", MODELS)
def test_every_kind_of_figure_is_drawn(name: str, tmp_path: Path) -> None:
    found = solved(name)
    model = model_of(found)
    assert tuple(found.figures) == model.kinds
    for kind in model.kinds:
        figure = found.plot(tmp_path / f"{kind}.png", kind)
        assert (tmp_path / f"{kind}.png").read_bytes().startswith(b"\x89PNG")
        assert figure.get_suptitle()
        assert all(axes.get_xlabel() or axes.get_ylabel() for axes in figure.axes)
    assert found.plot().get_suptitle() == found.plot(kind=model.kinds[0]).get_suptitle()
    known = ", ".join(map(repr, model.kinds))
    with pytest.raises(bl.ProblemError, match=f"^kind must be one of {known}, not 'irf'$"):
        found.plot(tmp_path / "b.png", "irf")
    assert not (tmp_path / "b.png").exists()


def content(found: ModelResult) -> tuple[dict[str, Any], dict[str, Any]]:
    facts, arrays = found._content()
    return json.loads(json.dumps(facts)), dict(arrays)


def holder(facts: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """Return the part of a file's facts that has all of these names."""
    inside = [facts, *(part for part in facts.values() if isinstance(part, dict))]
    inside += [part["model"] for part in inside if isinstance(part.get("model"), dict)]
    return next(part for part in inside if names <= part.keys())


def refused(found: ModelResult, facts: dict[str, Any], arrays: dict[str, Any], path: Path, reason: str) -> None:
    archive.write(path, found.archive_kind, facts, arrays)
    with pytest.raises(bl.ProblemError, match=f"^{re.escape(repr(str(path)))} is damaged or .*: {reason}"):
        bl.load(path)


@pytest.mark.parametrize("name", MODELS)
def test_files_that_no_solve_wrote(name: str, tmp_path: Path) -> None:
    found, path = solved(name), tmp_path / "a.npz"
    plain = {fact for fact, field in table_of(type(found)).items() if field.dims is None}
    for fact in plain:
        facts, arrays = content(found)
        holder(facts, plain)[fact] = None
        refused(found, facts, arrays, path, f"{fact} of its solution must be ")
        facts, arrays = content(found)
        del holder(facts, plain)[fact]
        if fact not in ("sweeps", "residual", *(["timing"] if name != "krusell-smith" else [])):
            refused(found, facts, arrays, path, f"its solution has no '{fact}'")
    model = model_of(found)
    parameters = {each for each, field in table_of(type(model)).items() if field.dims is None}
    for each in sorted(parameters):
        facts, arrays = content(found)
        holder(facts, parameters)[each] = "wrong"
        refused(found, facts, arrays, path, rf"({each}(\[\d\])?|its model\b.*|.* of its model) must be ")
    facts, arrays = content(found)
    holder(facts, parameters)["colour"] = 1
    refused(found, facts, arrays, path, "its model has an unknown entry 'colour'")
    for array, field in table_of(type(found)).items():
        if field.dims is not None:
            facts, arrays = content(found)
            arrays[array] = arrays[array][:-1]
            refused(found, facts, arrays, path, r"array '\w+' has shape ")
            facts, arrays = content(found)
            if arrays[array].dtype.kind == "f":
                arrays[array] = np.full_like(arrays[array], np.nan)
                refused(found, facts, arrays, path, f"({array} must be finite|.* must be finite and not negative)")
    with pytest.raises(bl.ProblemError, match="success of its (solution|result) must be false with status 'stopped'"):
        bl.load(stopped(found).save(path))


def stopped(found: Any) -> Any:
    """Return a solution that claims success although it was stopped."""
    if "status" in table_of(type(found)):
        return replace(found, status="stopped")
    return replace(found, solution=replace(found.solution, status="stopped"))


@pytest.mark.parametrize("name", [name for name in MODELS if name != "krusell-smith"])
def test_a_file_of_another_model_is_refused(name: str, tmp_path: Path) -> None:
    found = solved(name)
    other = resized(model_of(found))
    with pytest.raises(
        bl.ProblemError, match=r"(its solution does not fit its model, which has|has shape|pairs|action)"
    ):
        bl.load(replace(found, model=other).save(tmp_path / "a.npz"))


@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_is_checked_and_explained(name: str) -> None:
    model = model_of(solved(name))
    text = inspect.getdoc(type(model)) or ""
    for each in fields(model):
        field = each.metadata["field"]
        assert f"\n{each.name} : " in text
        assert " ".join(field.text.split()) in " ".join(text.split())
        value = getattr(model, each.name)
        if is_dataclass(value):
            continue
        with pytest.raises(bl.ProblemError, match=rf"^{each.name}(\[0\])? must be "):
            replace(model, **{each.name: ["wrong", "wrong"] if isinstance(value, tuple) else "wrong"})


COMMANDS: dict[str, tuple[str, str, tuple[str, str], tuple[str, str]]] = {
    "aiyagari": (
        "--grid 250 --tol 1e-6 --device cpu", "Aiyagari's economy, 250 grid points x 7 states, on device cpu",
        ("--grid 60 --high 6", "Just below 1/beta - 1 the supply of capital is"),
        ("--option slot=1", "device 'cpu' has no option 'slot'"),
    ),
    "aiyagari-path": (
        "--grid 40 --states 2 --sigma 0.4 --high 40 --shock 0.005 --periods 100",
        "A path of Aiyagari's economy, 100 dates, 40 grid points x 2 states, on device cpu",
        ("--periods 10", "After 10 dates the new steady state is not reached: "),
        ("--shock -2", "shock must be a number above -1, not -2.0"),
    ),
    "aiyagari-types": (
        "--grid 40 --states 2 --sigma 0.4 --types 2",
        "Aiyagari's economy with 2 types of households, 40 grid points x 2 states, on device cpu",
        ("--high 2", "Just below 1/beta - 1 of the most patient type the supply of capital is"),
        ("--spread 0.5", "spread must be a number from 0 and below 0.04"),
    ),
    "arellano": (
        "--bonds 41 --incomes 7 --tol 1e-6", "Arellano's economy, 41 bonds x 7 incomes, on device cpu",
        ("--limit 0.05", "A government that starts without debt chooses an end"),
        ("--bonds 30", "bonds must be an odd number from 3 to 1048575, so that 0 is one of them, not 30"),
    ),
    "cohort": (
        "--grid 60 --states 3 --first 60 --retirement 63 --last 66 --high 300 --education college",
        "A cohort from age 60 to 66, 60 grid points x 7 ages x 9 states, on device cpu",
        ("--high 5", "In "),
        ("--education phd", "education must be one of 'no high school', 'high school', 'college', not 'phd'"),
    ),
    "hopenhayn-rogerson": (
        "--grid 40 --states 7 --tau 0.2 --tol 1e-8",
        "Hopenhayn and Rogerson's economy, tau = 0.2, 40 grid points x 7 states, on device cpu",
        ("--high 50", ""),
        ("--tau -1", "tau must be a number from 0, not -1.0"),
    ),
    "lumpy-investment": (
        "--steps 2 --states 3 --tol 1e-8", "Lumpy investment, 217 grid points x 3 states, on device cpu",
        ("--high 1", "Firms reach an end of the grid of capital"),
        ("--convex -1", "convex must be a number from 0, not -1.0"),
    ),
    "retirement": (
        "--grid 80 --ages 6 --taste 0.1", "Retirement, 80 grid points x 6 ages, taste shocks of 0.1, on device cpu",
        ("--interest 0.1 --high 60", "Some people choose the highest wealth, 60"),
        ("--disutility -2", "disutility must be a number from 0, not -2.0"),
    ),
}  # fmt: skip
"""Words of a command, its report, words with which the model is not solved, and words that are refused; and why."""


@pytest.mark.parametrize("name", COMMANDS)
def test_on_the_command_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words, title, (fails, why), (wrong, sentence) = COMMANDS[name]
    out, plot = tmp_path / "a.npz", tmp_path / "b.png"
    command = ["solve", name, *words.split()]
    assert main([*command, "--out", str(out), "--plot", str(plot)]) == 0
    assert capsys.readouterr().out.startswith(f"{title}\n")
    assert plot.exists()
    kind = bl.load(out).model.kinds[-1]
    assert main(["plot", str(out), "--kind", kind]) == 0
    assert (tmp_path / f"a{'' if kind == 'policy' else f'-{kind}'}.png").exists()
    capsys.readouterr()
    assert main([*command, *fails.split()]) == 1
    assert f"not solved: {why}" in capsys.readouterr().err
    assert main([*command, *wrong.split()]) == 2
    assert capsys.readouterr().err.startswith(f"beltline solve: {sentence}")
    for more, reason in (
        (["--out", str(tmp_path / "a.csv")], "out must end in .npz or .nc, not "),
        (["--plot", str(plot), "--kind", "irf"], "kind must be one of "),
    ):
        assert main([*command, *more]) == 2
        assert capsys.readouterr().err.startswith(f"beltline solve: {reason}")
