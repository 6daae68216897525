"""Every public function is called with bad values, and what is not an error is the right answer."""

from __future__ import annotations

import inspect
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beltline as bl
from support.bad_arguments import calls, cases, fault
from support.bad_values import Labelled

PARTS = 4

RECORDS = {
    "Attempt", "Certificate", "CohortResult", "DefaultEconomy", "DeviceError", "DeviceInUseError", "DeviceLostError",
    "DeviceTimeoutError", "Economy", "Equilibrium", "FirmEconomy", "LumpyInvestmentResult", "MarketEquilibrium",
    "MarketPath", "Prices", "ProblemError", "Refined", "Result", "RetirementResult", "SequenceJacobian", "Solutions",
    "TransitionPath", "TypesEconomy",
}  # fmt: skip
"""Classes of what functions return or raise: users do not make them."""

INTERNAL = {
    "DiscreteProblem", "Model", "krusell_smith",  # made by functions, derived from, and the same as KrusellSmith
    "Result.of", "Session.prepare", "Session.run", "Session.solve_with",  # between parts of a solve
    "solution", "variables",  # of models: a class, and a method that is called with their own results
    "Store.put", "Workers.map", "Workers.submit", "Workers.shutdown",  # of other classes, or for one only
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("calls")


@pytest.mark.filterwarnings("ignore:moments of a result that is not solved")
@pytest.mark.parametrize("part", range(PARTS))
def test_no_bad_value_gets_through(part: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    found = list(cases(folder))
    assert len(found) > 20_000
    faults = [(*each, text) for each in found[part::PARTS] if (text := fault(folder, each[0], {each[1]: each[2]}))]
    assert not faults


def test_every_function_is_called(folder: Path) -> None:
    """Each public name, and each public method with arguments, is among the calls or is left out for a reason."""
    called = {inspect.unwrap(getattr(call.function, "__func__", call.function)) for call in calls(folder).values()}
    named = {name.partition(",")[0] for name in calls(folder)}
    missing = []
    for name in set(bl.__all__) - {"__version__"}:
        made = getattr(bl, name)
        if name not in named | RECORDS | INTERNAL:
            missing.append(name)
        for method, function in inspect.getmembers(made, callable) if inspect.isclass(made) else ():
            if method.startswith("_") or issubclass(made, BaseException | tuple):
                continue
            takes = [each for each in arguments(function) if each != "self"]
            same = getattr(function, "__func__", function) in called
            if takes and not same and not {f"{name}.{method}", method} & (named | INTERNAL):
                missing.append(f"{name}.{method}")
    assert sorted(missing) == []


def test_every_argument_is_passed(folder: Path) -> None:
    """Each named argument of each function is in one of its calls, so that it gets the bad values."""
    functions, passed = {}, defaultdict[str, set[str]](lambda: {"self", "cls"})
    for name, call in calls(folder).items():
        function, _, _ = name.partition(",")
        functions[function] = getattr(bl, function, call.function)
        passed[function] |= set(call.arguments)
    missing = {
        name: left
        for name, function in functions.items()
        if (left := {n for n, each in inspect.signature(function).parameters.items() if each.kind != each.VAR_KEYWORD}
            - passed[name])
    }  # fmt: skip
    assert missing == {}


def arguments(function: Any) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except ValueError:
        return []


def test_labels_that_would_be_ignored_are_refused() -> None:
    """An array with named axes, in whatever order, and a frame whose rows and columns are in different order."""
    R, Q = np.array([[5.0, 10.0], [-1.0, 2.0]]), np.full((2, 2, 2), 0.5)
    for arguments in ({"R": Labelled(R), "Q": Q}, {"R": R, "Q": Labelled(Q)}):
        with pytest.raises(bl.ProblemError, match=r"^[RQ] must be .*, not one with axes named \('a', 'b'.*transpose"):
            bl.from_discrete_dp(**arguments, beta=0.9)
    xarray = pytest.importorskip("xarray")
    with pytest.raises(bl.ProblemError, match=r"axes named \('a', 's'\), whose order would be ignored"):
        bl.from_discrete_dp(xarray.DataArray(R.T, dims=("a", "s")), Q, 0.9)
    assert bl.gini(xarray.DataArray([0.0, 1.0], dims="person")) == 0.5
    pandas = pytest.importorskip("pandas")
    chain = pandas.DataFrame([[0.1, 0.9], [0.8, 0.2]], index=["low", "high"], columns=["high", "low"])
    with pytest.raises(bl.ProblemError, match="^exog_chain must be .* same names in different order"):
        bl.from_factors(2, chain, reward=np.zeros((2, 2, 2)), beta=0.9)
    right = bl.from_factors(2, chain[["low", "high"]], reward=np.zeros((2, 2, 2)), beta=0.9)
    np.testing.assert_array_equal(right.program.chances.toarray()[::2, 0], [0.9, 0.2])


def test_numbers_that_were_wrong_without_an_error() -> None:
    with pytest.raises(bl.ProblemError, match=r"^values must be .*, not one whose entry \[3\] is masked$"):
        bl.gini(np.ma.masked_equal([1.0, 2.0, 3.0, 900.0], 900.0))
    for great in (1e308, 5e-324):
        assert bl.gini([great] * 3) == bl.gini([1.0] * 3)
        assert bl.gini([0.0, 0.0, great], [great, great, great]) == bl.gini([0.0, 0.0, 1.0])
    with pytest.raises(bl.ProblemError, match=r"^shift must be so large that .*, not 5e-324$"):
        bl.grid_log(0.0, 2.0, 5, shift=5e-324)
    with pytest.raises(bl.ProblemError, match="^n must be a whole number from 1 to 1024, not "):
        bl.rouwenhorst(np.timedelta64(1), 0.5, 0.1)  # type: ignore[arg-type]
    with pytest.raises(bl.ProblemError, match=r"^high - low must be finite, and 1e\+308 - -1e\+308 is too large"):
        bl.grid_uniform(-1e308, 1e308, 3)
