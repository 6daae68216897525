"""The command line: what it prints, writes and returns."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.cli.main import main
from beltline.host.devices import DEVICES, Backend, Device, DeviceError
from beltline.host.models.catalogue import MODELS
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Status
from support.fakes import BruteDevice, EndlessDevice, backend, interrupt_main_after
from support.paths import ROOT


@pytest.fixture
def brute(monkeypatch: pytest.MonkeyPatch) -> list[BruteDevice]:
    """Replace ``--device emulator`` by the brute-force device; return the list of opened devices."""
    opened: list[BruteDevice] = []

    def make(parameters: MachineParameters) -> BruteDevice:
        opened.append(BruteDevice(parameters.grid, parameters.states, parameters.results))
        return opened[-1]

    monkeypatch.setitem(DEVICES, "emulator", backend(make))
    return opened


SMALL = ["solve", "--grid", "32", "--tol", "1e-3", "--device", "emulator"]


def test_solves_and_writes(brute: list[BruteDevice], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, plot = tmp_path / "a.npz", tmp_path / "a.png"
    assert main([*SMALL, "--out", str(out), "--plot", str(plot)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    lines = printed.out.splitlines()
    assert lines[0] == "RBC, 32 grid points x 4 states, on device brute"
    assert lines[-2:] == [f"  written       {out}", f"  written       {plot}"]
    assert bl.load(out).success
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert sorted(os.listdir(tmp_path)) == ["a.npz", "a.png"]


def test_options_reach_the_problem(brute: list[BruteDevice], tmp_path: Path) -> None:
    options = {"beta": 0.97, "eta": 3.0, "alpha": 0.3, "delta": 0.02, "rho": 0.9, "sigma": 0.01, "states": 2}
    given = [f"--{name}={value}" for name, value in options.items()]
    out = tmp_path / "a.npz"
    assert main(["solve", "rbc", "--grid=16", *given, "--tol=1e-4", f"--out={out}", "--quiet", "--no-verify"]) == 0
    result, same = bl.load(out), bl.rbc(grid=16, **options)  # type: ignore[arg-type]
    for name in ("grid", "wealth", "transition", "start"):
        assert (getattr(result.problem, name) == getattr(same, name)).all()
    assert (result.problem.beta, result.problem.eta, result.tol, result.verified) == (0.97, 3.0, 1e-4, False)


def test_sweep_limit_is_exit_code_1_and_still_written(
    brute: list[BruteDevice], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "a.npz"
    assert main([*SMALL, "--max-sweeps", "5", "--out", str(out)]) == 1
    printed = capsys.readouterr()
    assert re.fullmatch(
        r"beltline solve: not solved: The largest change of V is still .*: increase max_sweeps\.\n", printed.err
    )
    assert printed.err.count("\n") == 1
    assert f"written       {out}" in printed.out
    assert bl.load(out).status == "sweep limit reached"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--grid", "1"], "grid must be a whole number from 2 to 1048576, not 1"),
        (["--grid", "1e3"], "argument --grid: invalid int value: '1e3'"),
        (["--out", "a.txt"], "out must end in .npz or .nc, not 'a.txt'"),
        (["--out", "no/such/a.npz"], "out 'no/such/a.npz' is in a directory that does not exist"),
        (["--plot", "a.npz"], "plot must end in .png or .pdf or .svg, not 'a.npz'"),
        (["--plot", "no/such/a.png"], "plot 'no/such/a.png' is in a directory that does not exist"),
        (["--out", ""], "argument --out: '' is not the name of a file"),
        (["--out", "/proc/a.npz"], "out '/proc/a.npz' cannot be written: "),
        (["--plot", f"{'a' * 400}.png"], f"argument --plot: '{'a' * 56}... is a name of 404 bytes, longer than "),
        (["--checkpoint", f"{'a' * 400}.npz"], f"argument --checkpoint: '{'a' * 56}... is a name of 404 bytes, "),
        (["--kind", "euler"], "--kind needs --plot, whose figure it selects"),
        (["--kind", "a/b", "--plot"], "argument --kind: 'a/b' is not a kind of figure"),
        (["--option", "slot"], "option must be NAME=VALUE, not 'slot'"),
        (["--option", "marginal=1"], "bl.solve without a named device has no option 'marginal': it takes start, "),
        (["--option", "choices=1"], "'choices' is an option in Python only: "),
        (["--option", "a=1", "--option", "a=2"], "option 'a' is given twice"),
        (["--option", "tol=1"], "'tol' is not an option of a device or method: use --tol"),
        (["--gird", "5"], "unrecognized arguments: --gird"),
        (["--one\ntwo\x1b[31m"], r"unrecognized arguments: --one\ntwo\x1b[31m"),
        ([f"--{'a' * 1000}"], f"unrecognized arguments: --{'a' * 371}..."),
        (["huggett"], "model must be one of 'rbc', "),
        (["a" * 400], f"model must be one of {', '.join(map(repr, (*MODELS, 'krusell-smith')))}, not 'aaa"),
    ],
)
def test_refused_before_any_work(
    brute: list[BruteDevice], capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert main(["solve", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.fullmatch(r"beltline( solve)?: " + re.escape(sentence) + r".*\n", printed.err)
    assert len(printed.err) < 450
    assert brute == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--seconds", "nan"], "seconds must be a number of seconds above 0, not nan"),
        (["--seconds", "-1"], "seconds must be a number of seconds above 0, not -1.0"),
        (["--seconds", "0"], "seconds must be a number of seconds above 0, not 0.0"),
        (["--seconds", "inf"], "seconds must be a number of seconds above 0, not inf"),
        (["--budget", "nan"], "budget must be a number of seconds above 0, not nan"),
        (["--budget", "0"], "budget must be a number of seconds above 0, not 0.0"),
        (["--grids", ""], "grids must be whole numbers with commas between, not ''"),
        (["--grids", "x" * 400], f"grids must be whole numbers with commas between, not '{'x' * 56}..."),
        (["--out", ""], "argument --out: '' is not the name of a file"),
    ],
)
def test_bench_is_refused(capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str) -> None:
    assert main(["bench", *arguments]) == 2
    assert capsys.readouterr() == ("", f"beltline bench: {sentence}\n")


def test_plot_without_a_name(
    brute: list[BruteDevice], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*SMALL, "--plot"]) == 0
    assert [entry.name for entry in tmp_path.iterdir()] == ["policy.png"]
    assert "policy.png" in capsys.readouterr().out


def test_device_that_cannot_be_opened(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def missing(*_: object) -> Any:
        raise DeviceError("there is no Verilator")

    monkeypatch.setitem(DEVICES, "rtl", backend(missing))
    assert main([*SMALL, "--device", "rtl"]) == 2
    assert capsys.readouterr() == ("", "beltline solve: there is no Verilator\n")


def test_device_that_is_lost(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Lost(BruteDevice):
        def wait(self, seconds: float) -> bool:
            raise bl.DeviceLostError("device 'brute' does not answer")

    monkeypatch.setitem(DEVICES, "emulator", backend(lambda p: Lost(p.grid, p.states, p.results)))
    assert main(SMALL) == 1
    sentence = "beltline solve: device 'brute' does not answer; it has not responded in this run\n"
    assert capsys.readouterr() == ("", sentence)


def test_options_reach_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, object]] = []

    def opened(parameters: MachineParameters, progress: object, **options: object) -> Device:
        seen.append(options)
        return BruteDevice(parameters.grid, parameters.states)

    names = dict.fromkeys(("slot", "address", "download", "bitstream", "patience"), "")
    monkeypatch.setitem(DEVICES, "emulator", Backend("invented", lambda: "", opened, names, elastic=True))
    options = ("slot=3", "address=0xA0000000", "download=false", "bitstream=a=b.bit", "patience=0.25")
    assert main([*SMALL, "--quiet", *(word for option in options for word in ("--option", option))]) == 0
    values = {"slot": 3, "address": 0xA0000000, "download": False, "bitstream": "a=b.bit", "patience": 0.25}
    assert seen == [values]


def test_checkpoint_and_timeout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "run.npz"
    assert main([*SMALL, "--quiet", "--max-sweeps", "3", "--checkpoint", str(file)]) == 1
    assert file.exists()
    assert main([*SMALL, "--quiet", "--checkpoint", str(file)]) == 0
    assert not file.exists()
    capsys.readouterr()
    assert (
        main(
            [
                "solve",
                "--grid",
                "4096",
                "--device",
                "emulator",
                "--timeout",
                "0.2",
                "--quiet",
                "--checkpoint",
                str(file),
            ]
        )
        == 1
    )
    assert "took more than 0.2 seconds and was stopped after " in capsys.readouterr().err


def test_interrupt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Endless(EndlessDevice):
        def wait(self, seconds: float) -> bool:
            # Before the run, while other code may handle Ctrl-C, the signal could be lost.
            if not timers:
                timers.append(interrupt_main_after(0.3))
            return super().wait(seconds)

    timers: list[threading.Timer] = []
    monkeypatch.setitem(DEVICES, "emulator", backend(lambda p: Endless(p.grid, p.states, p.results)))
    code = main([*SMALL, "--max-sweeps", "4000000000", "--out", str(tmp_path / "a.npz")])
    timers[0].cancel()
    assert code == 130
    assert capsys.readouterr() == ("", "beltline solve: interrupted\n")
    assert os.listdir(tmp_path) == []


def test_interrupt_says_what_the_checkpoint_holds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupted(BruteDevice):
        def wait(self, seconds: float) -> bool:
            waits.append(seconds)
            if len(waits) == 3:
                signal.raise_signal(signal.SIGINT)
            self.sweep()
            return not self.status & Status.BUSY

    waits: list[float] = []
    monkeypatch.setitem(DEVICES, "emulator", backend(lambda p: Interrupted(p.grid, p.states, p.results)))
    file = tmp_path / "run.npz"
    assert main([*SMALL, "--checkpoint", str(file)]) == 130
    said = re.fullmatch(
        f"beltline solve: interrupted; checkpoint {str(file)!r} holds the ([0-9]+) sweeps so far, "
        "and the same call continues from there\n",
        capsys.readouterr().err,
    )
    assert said is not None
    with np.load(file) as saved:
        assert json.loads(str(saved["about"]))["sweeps"] == int(said[1]) >= 3


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    given = bl.rbc(grid=120, states=3, delta=0.9, sigma=0.2, rho=0.5, width=1.5)
    return bl.solve(given, tol=1e-6, device="cpu", progress=False).save(tmp_path / "a.npz")


def test_solve_writes_netcdf(brute: list[BruteDevice], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--out", str(tmp_path / "a.nc")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"  written       {tmp_path / 'a.nc'}"
    assert bl.load(tmp_path / "a.nc").success


def test_netcdf_without_its_packages_is_refused_before_any_work(
    brute: list[BruteDevice], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "h5netcdf", None)
    assert main([*SMALL, "--out", str(tmp_path / "a.nc")]) == 2
    sentence = "a netCDF file needs the Python package h5netcdf, which is not installed"
    assert capsys.readouterr().err.startswith(f"beltline solve: {sentence}")
    assert brute == []


def test_a_figure_is_not_a_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figure = tmp_path / "a.png"
    figure.write_bytes(b"\x89PNG")
    assert main(["plot", str(figure)]) == 2
    sentence = f"beltline plot: FILE must be a saved result, such as rbc.npz, not a figure, {str(figure)!r}\n"
    assert capsys.readouterr() == ("", sentence)
    assert os.listdir(tmp_path) == ["a.png"]


def test_a_reader_that_ends_early_leaves_no_message() -> None:
    command = f"{shlex.quote(sys.executable)} -m beltline devices --options | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] in ("0", "1")


@pytest.mark.parametrize("kind", ["policy", "euler", "distribution", "irf"])
def test_plot_of_a_saved_result(saved: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    drawn = saved.with_name("a.png" if kind == "policy" else f"a-{kind}.png")
    assert main(["plot", str(saved), "--kind", kind]) == 0
    assert capsys.readouterr() == (f"{drawn}\n", "")
    assert drawn.read_bytes().startswith(b"\x89PNG")
    assert sorted(os.listdir(saved.parent)) == sorted([drawn.name, "a.npz"])
    before = drawn.read_bytes()
    assert main(["plot", str(saved), "--kind", kind]) == 2
    sentence = f"beltline plot: {str(drawn)!r} exists already: pass it as --out to replace it\n"
    assert capsys.readouterr() == ("", sentence)
    drawn.write_text("old")
    assert main(["plot", str(saved), "--kind", kind, "--out", str(drawn), "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert len(drawn.read_bytes()) == len(before)


@pytest.mark.parametrize("kind", ["policy", "irf"])
def test_plot_of_a_result_that_is_not_solved(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    result = bl.solve(
        bl.rbc(grid=120, states=3, delta=0.9, sigma=0.2, rho=0.5),
        tol=1e-9,
        max_sweeps=50,
        method="warm",
        progress=False,
    )
    path = result.save(tmp_path / "a.npz")
    assert main(["plot", str(path), "--kind", kind, "--out", str(tmp_path / "b.png")]) == 1
    printed = capsys.readouterr()
    assert printed.out == f"{tmp_path / 'b.png'}\n"
    assert printed.err == f"beltline plot: {str(path)!r} is not solved: {result.message}\n"


def test_an_unknown_kind_is_answered_with_the_kinds_of_the_result(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    career = bl.solve(bl.retirement(grid=40, ages=3), progress=False).save(tmp_path / "b.npz")
    own = {saved: "'policy', 'regions', 'consumption', 'euler', 'distribution', 'irf', 'ages', 'life'"}
    own[career] = "'consumption', 'threshold', 'probability'"
    for path, kinds in own.items():
        assert main(["plot", str(path), "--kind", "zzz"]) == 2
        assert capsys.readouterr() == ("", f"beltline plot: kind must be one of {kinds}, not 'zzz'\n")
    assert sorted(os.listdir(tmp_path)) == ["a.npz", "b.npz"]


EVERY_KIND = (
    "'policy', 'regions', 'consumption', 'euler', 'distribution', 'irf', 'ages', 'life', 'path', 'market', 'lorenz', "
    "'inequality', 'shares', 'default', 'prices', 'paths', 'law', 'wealth', 'band', 'hazard', 'investment', "
    "'threshold', 'probability'"
)


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ([], 2, "the following arguments are required: FILE"),
        ([""], 2, "argument FILE: '' is not the name of a file"),
        (["a.npz", "--kind", "x/y"], 2, "argument --kind: 'x/y' is not a kind of figure"),
        (["none.npz"], 2, "FILE '{}/none.npz' cannot be read: No such file or directory"),
        (["none.nc"], 2, "FILE '{}/none.nc' cannot be read: No such file or directory"),
        (["a.csv"], 2, "path must end in .npz or .nc, not '{}/a.csv'"),
        (
            ["text.npz"],
            2,
            "'{}/text.npz' is damaged or was not saved by Beltline: it is not a complete zip archive "
            "(File is not a zip file)",
        ),
        (["text.nc"], 2, "'{}/text.nc' is damaged or was not saved by Beltline: it is not a netCDF-4 file"),
        (
            ["a.npz", "--kind", "hazard"],
            2,
            "kind must be one of 'policy', 'regions', 'consumption', 'euler', 'distribution', 'irf', 'ages', 'life', "
            "not 'hazard'",
        ),
        (["text.npz", "--kind", "x"], 2, f"kind must be one of {EVERY_KIND} that the result has, not 'x'"),
        (["a.npz", "--out", "a.npz"], 2, "out must end in .png or .pdf or .svg, not 'a.npz'"),
        (["none.npz", "--out", "no/a.png"], 2, "out 'no/a.png' is in a directory that does not exist"),
        (["a.npz", "--quite"], 2, "unrecognized arguments: --quite"),
    ],
)
def test_plot_is_refused(
    saved: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, sentence: str
) -> None:
    for name in ("text.npz", "text.nc"):
        saved.with_name(name).write_text("hello")
    before = sorted(os.listdir(saved.parent))
    # The file is an absolute path; values of options do not change.
    given = [str(saved.with_name(text)) if text and i == 0 else text for i, text in enumerate(arguments)]
    assert main(["plot", *given]) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.fullmatch(f"beltline( plot)?: {re.escape(sentence.format(saved.parent))}\n", printed.err)
    assert sorted(os.listdir(saved.parent)) == before


def test_plot_of_what_the_result_has_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    coarse = bl.solve(bl.rbc(grid=16, states=1), tol=1e-4, device="cpu", progress=False).save(tmp_path / "a.npz")
    assert main(["plot", str(coarse), "--kind", "irf"]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("beltline plot: an impulse response needs at least 2 exogenous states")
    assert os.listdir(tmp_path) == ["a.npz"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "beltline", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_as_a_program() -> None:
    version = run("--version")
    assert (version.returncode, version.stdout) == (0, f"beltline {bl.__version__}\n")
    refused = run("solve", "--beta", "1.2")
    assert refused.returncode == 2
    assert refused.stderr == "beltline solve: beta must be a number above 0 and below 1, not 1.2\n"
    nothing = run()
    assert nothing.returncode == 2
    assert nothing.stderr.count("\n") == 1


def test_files_that_cannot_be_replaced_are_refused_before_any_work(
    brute: list[BruteDevice], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Names are relative, because messages shorten long ones.
    monkeypatch.chdir(tmp_path)
    out, plot = Path("a.npz"), Path("a.png")
    plot.write_text("old")
    opened = os.open

    def immutable(path: Any, *given: Any, **more: Any) -> int:
        if Path(path) == plot:
            raise PermissionError(errno.EPERM, "Operation not permitted")
        return opened(path, *given, **more)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", immutable)
        assert main([*SMALL, "--out", str(out), "--plot", str(plot)]) == 2
    sentence = f"beltline solve: plot {str(plot)!r} cannot be written: "
    assert capsys.readouterr().err == f"{sentence}Operation not permitted\n"
    # As in /tmp, a directory of all users in which each replaces only files of their own.
    tmp_path.chmod(0o1777)
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: os.getuid() + 12345)
        assert main([*SMALL, "--out", str(out), "--plot", str(plot)]) == 2
    assert capsys.readouterr().err == f"{sentence}only its owner can replace it in this directory\n"
    assert (os.listdir(tmp_path), plot.read_text(), brute) == (["a.png"], "old", [])
    plot.chmod(0o444)
    assert main([*SMALL, "--quiet", "--out", str(out), "--plot", str(plot)]) == 0
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_two_outputs_in_one_file_are_refused(
    brute: list[BruteDevice], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*SMALL, "--out", str(tmp_path / "a.npz"), "--checkpoint", "a.npz"]) == 2
    printed = capsys.readouterr().err
    assert printed == "beltline solve: checkpoint 'a.npz' is the same file as out: give each a name of its own\n"
    assert (os.listdir(tmp_path), brute) == ([], [])


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("rbc --grid 1048576 --states 1024", "grid = 1,048,576 with states = 1,024 needs 56.00 GiB"),
        ("arellano --bonds 1048575 --incomes 1024", "bonds = 1,048,575 with incomes = 1,024 needs 192.00 GiB"),
    ],
)
def test_what_does_not_fit_into_the_memory_is_refused(
    model: str, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("beltline.gpu_ref.memory.available", lambda: 2**34)
    assert main(["solve", *model.split()]) == 2
    rest = ", more than the 15.75 GiB that this process can have"
    assert capsys.readouterr().err == f"beltline solve: {sentence}{rest}\n"


@pytest.mark.parametrize("text", ["", "Unable to allocate 8.00 GiB"])
def test_memory_that_runs_out_is_reported_in_a_sentence(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*given: Any, **more: Any) -> None:
        raise MemoryError(text)

    monkeypatch.setattr("beltline.host.solver.solve.solve", fails)
    assert main(["solve", "--grid", "32"]) == 2
    sentence = text or "the problem does not fit in the memory of this computer"
    assert capsys.readouterr().err == f"beltline solve: {sentence}\n"
