"""Sessions, which transfer only changed tables, and checkpoints, from which a solve resumes with the same bits."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import beltline as bl
import beltline.host.solver.certificate
import beltline.host.solver.checked
import beltline.host.solver.complete
from beltline.host.devices import DEVICES
from beltline.host.devices.software_model import ModelDevice
from beltline.host.solver.driver import Driver
from beltline.host.solver.fixed_point import fixed_point
from beltline.host.solver.run import Checkpoint
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Status
from beltline.hw.line.model import LineSoftwareMachine
from support.compared import same
from support.fakes import BruteDevice, EndlessDevice, SlowDevice, backend, interrupt_main_after, problem, slow_model
from support.paths import ROOT

TABLES = {"X", "W", "Q", "V"}


@pytest.mark.parametrize("name", ["emulator", pytest.param("rtl", marks=pytest.mark.gateware)])
def test_five_etas_in_one_session(name: str) -> None:
    etas = (1.5, 2.0, 2.5, 3.0, 1.0)
    with bl.open(name) as device:
        for k, eta in enumerate(etas):
            given = bl.rbc(grid=16, states=2, eta=eta)
            result = device.solve(given, tol=1e-3)
            same(result, bl.solve(given, tol=1e-3, device="emulator"))
            assert ("open" in result.timing) == (k == 0)
            if k:
                assert TABLES & set(device.moved) == {"V"}, device.moved


def test_new_eta_moves_two_registers() -> None:
    """If only eta changes and number formats do not, only the constants of utility are written."""
    with bl.open("emulator") as device:
        first = device.solve(problem(eta=2.0), value_bits=40)
        second = device.solve(problem(eta=2.5), value_bits=40, start="last")
        assert device.moved == ("UTILITY_A", "UTILITY_B")
        assert second.success
        cold = bl.solve(problem(eta=2.5), value_bits=40, device="emulator")
        assert np.abs(second.value - cold.value).max() <= second.error_bound + cold.error_bound
        assert (second.policy == cold.policy).all()
        again = device.solve(problem(eta=2.5), value_bits=40, start="last")
        assert device.moved == ()
        assert again.sweeps == 1
        assert first.success


def test_last_value_in_other_formats() -> None:
    given = problem()
    with bl.open("emulator") as device:
        fine = device.solve(given, tol=1e-6, value_bits=44)
        for bits in (30, 44, 36):
            coarse = device.solve(given, tol=1e-6, value_bits=bits, start="last")
            assert "V" in device.moved
            assert coarse.success
            assert coarse.sweeps <= 20
            assert np.abs(coarse.value - fine.value).max() <= fine.error_bound + coarse.error_bound
        with pytest.raises(
            bl.ProblemError, match=r"^start='last' needs a problem of the shape of the last one, \(24, 3\), "
        ):
            device.solve(problem(20), start="last")


def test_only_dirty_tables_move() -> None:
    given = problem()
    with bl.open("emulator") as device:
        device.solve(given, value_bits=40)
        assert set(device.moved) >= TABLES
        device.solve(given, value_bits=40)
        assert device.moved == ("V",)
        device.solve(replace(given, beta=0.8), value_bits=40)
        assert device.moved == ("Q", "V")
        device.solve(replace(given, beta=0.8, wealth=given.wealth * 1.01), value_bits=40)
        assert device.moved == ("W", "V")
        device.solve(given, value_bits=40, max_sweeps=3)
        assert device.moved == ("W", "Q", "V", "SWEEP_LIMIT")


@pytest.mark.parametrize(("options", "moved"), [({}, ("V",)), ({"lanes": 2}, ("V", "MODE"))])
def test_a_horizon_solved_twice_is_the_same(options: dict[str, Any], moved: tuple[str, ...]) -> None:
    """A horizon solved twice has the same result: the value after the last age is written again before each solve."""
    given = problem(horizon=4)
    with bl.open("emulator", **options) as device:
        first = device.solve(given)
        assert first.success
        same(device.solve(given), first)
        assert device.moved == moved


def test_same_bits_as_alone_after_any_problem() -> None:
    """Random problems of all sizes in one session have the same bits as alone; the device grows and never shrinks."""
    rng = np.random.default_rng(5)
    with bl.open("emulator") as device:
        for seed in range(25):
            horizon = None if seed % 3 else 4
            given = problem(
                int(rng.integers(2, 60)),
                int(rng.integers(1, 5)),
                seed,
                eta=[0.5, 1.0, 2.0, 4.0][seed % 4],
                horizon=horizon,
            )
            limit = 7 if seed % 5 == 0 else 10_000
            same(
                device.solve(given, tol=1e-6, max_sweeps=limit),
                bl.solve(given, tol=1e-6, max_sweeps=limit, device="emulator"),
            )


def test_elastic_device_opens_again_for_a_larger_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[BruteDevice] = []

    def make(parameters: MachineParameters) -> BruteDevice:
        opened.append(BruteDevice(parameters.grid, parameters.states, parameters.results))
        return opened[-1]

    monkeypatch.setitem(DEVICES, "emulator", backend(make))
    with bl.open("emulator") as device:
        for points, states in ((20, 3), (10, 2), (24, 2), (40, 1), (30, 3)):
            assert device.solve(problem(points, states)).success
        assert [found.size[:2] for found in opened] == [(32, 3), (64, 3)]
        assert [found.closed for found in opened] == [True, False]
    assert opened[1].closed


def test_session_as_device_and_with_an_open_one() -> None:
    fake = BruteDevice()
    with bl.Session(fake) as device:
        same(bl.solve(problem(), device=device), bl.solve(problem(), device=BruteDevice()))
        assert device.device is fake
    assert not fake.closed
    with pytest.raises(bl.DeviceError, match="^the session is closed$"):
        device.solve(problem())
    device.close()


def test_two_threads_on_one_session() -> None:
    slow = SlowDevice()
    errors: list[BaseException] = []
    with bl.Session(slow, progress=lambda _: time.sleep(0.01)) as device:
        other = threading.Thread(target=lambda: device.solve(problem(), verify=False))
        other.start()
        while not slow.status:
            time.sleep(0.001)
        try:
            device.solve(problem())
        except bl.DeviceInUseError as error:
            errors.append(error)
        other.join()
    assert [str(error) for error in errors] == [
        "this session is solving another problem, in another thread or in a loop over solve_many"
    ]


def test_interrupt_and_then_the_same_bits() -> None:
    """After Ctrl-C in any phase the session can be used, and the next solve returns the same bits."""
    given = problem(60, 3)
    right = bl.solve(given, device="emulator")
    with bl.open("emulator") as device:
        device.solve(given, max_sweeps=1)

        def interrupted(seconds: float) -> None:
            timer = interrupt_main_after(seconds)
            device.solve(given)
            # If the solve ended earlier, the interrupt arrives here.
            timer.join()
            time.sleep(0.01)

        for k in range(12):
            with pytest.raises(KeyboardInterrupt):
                interrupted(0.002 * (k + 1))
            same(device.solve(given), right)


def test_second_ctrl_c_does_not_wait_for_the_sweep() -> None:
    class Deaf(EndlessDevice):
        """A device that ignores the command to stop."""

        def write_register(self, name: str, value: int) -> None:
            super().write_register(name, 0 if name == "COMMAND" and value == 2 else value)

        def wait(self, seconds: float) -> bool:
            time.sleep(min(seconds, 0.01))
            self.sweep()
            return not self.status & Status.BUSY

    device = Deaf()
    timers = [interrupt_main_after(0.3), interrupt_main_after(0.8)]
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        bl.solve(problem(), device=device)
    assert 0.7 < time.monotonic() - started < 5
    assert not device.status & Status.BUSY
    for timer in timers:
        timer.cancel()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_time_out_stops_the_device() -> None:
    device = EndlessDevice()
    started = time.monotonic()
    with pytest.raises(
        bl.DeviceTimeoutError,
        match=r"^the run on device 'brute' took more than 0\.4 seconds and was stopped after [\d,]+ sweeps$",
    ):
        bl.solve(problem(), device=device, timeout=0.4)
    assert 0.4 <= time.monotonic() - started < 5
    assert device.status == Status.DONE | Status.STOPPED


def test_device_that_does_not_stop_is_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    class Deaf(EndlessDevice):
        def write_register(self, name: str, value: int) -> None:
            super().write_register(name, 0 if name == "COMMAND" and value == 2 else value)

    monkeypatch.setattr(beltline.host.solver.checked, "STOP_SECONDS", 0.3)
    device = Deaf()
    with pytest.raises(
        bl.DeviceTimeoutError, match=r"^device 'brute' did not end its sweep within 0\.3 seconds and was reset$"
    ):
        bl.solve(problem(), device=device, timeout=0.2)
    assert not device.status & Status.BUSY


# Checkpoints.


def test_checkpoints_change_no_bit(tmp_path: Path) -> None:
    given = problem(50, 3)
    file = tmp_path / "run.npz"
    right = bl.solve(given, device="emulator")
    saved: list[int] = []

    class Watched(Checkpoint):
        def save(self, image: Any, run: Any) -> None:
            super().save(image, run)
            saved.append(run.sweeps)

    image = fixed_point(given, 1e-10)
    found = Driver(slow_model(50, 3)).run(image, 10_000, checkpoint=Watched(file, every=0.05))
    alone = Driver(slow_model(50, 3)).run(image, 10_000)
    assert len(saved) > 3, saved
    assert (found.value == alone.value).all()
    assert (found.policy == alone.policy).all()
    assert (found.sweeps, found.states_done, found.norm) == (alone.sweeps, alone.states_done, alone.norm)
    assert found.sweeps == right.sweeps
    # Each part begins with a prologue; the clocks of the resumed run count one prologue only.
    assert found.clocks == alone.clocks
    kept = Checkpoint(file).load(image)
    assert kept is not None, "the result is not verified yet"
    assert (kept.sweeps, kept.value.tobytes()) == (found.sweeps, found.value.tobytes())


def test_limit_resumes_to_the_same_bits(tmp_path: Path) -> None:
    given = problem(30, 2)
    file = tmp_path / "run.npz"
    right = bl.solve(given, device="emulator")
    for limit in (1, 40, 40, 90):
        part = bl.solve(given, max_sweeps=limit, checkpoint=file, device="emulator")
        assert (part.success, part.sweeps) == (False, limit)
        once = bl.solve(given, max_sweeps=limit, device="emulator")
        same(part, once)
        assert part.clocks == once.clocks
        assert file.exists()
    resumed = bl.solve(given, checkpoint=file, device="emulator")
    same(resumed, right)
    assert resumed.clocks == right.clocks
    assert not file.exists()


@pytest.mark.parametrize("options", [{"fold": 3, "evaluators": 1}, {"lanes": 2}])
def test_resumed_runs_count_one_prologue(options: dict[str, int], tmp_path: Path) -> None:
    given = problem(30, 2)
    file = tmp_path / "run.npz"
    parts = [
        bl.solve(given, max_sweeps=limit, checkpoint=file, device="emulator", **options).clocks
        for limit in (10, 11, 12)
    ]
    one, two = (bl.solve(given, max_sweeps=limit, device="emulator", **options).clocks for limit in (1, 2))
    if "fold" in options:
        assert parts == [one + k * (two - one) for k in (9, 10, 11)]
    else:
        # The first sweep of each part starts from a value without a policy.
        cold = [later - before for before, later in itertools.pairwise(parts)]
        assert max(cold) < one
        assert min(cold) > 0


def test_interrupt_saves(tmp_path: Path) -> None:
    given = problem(50, 3)
    file = tmp_path / "run.npz"
    timer = interrupt_main_after(0.3)
    with pytest.raises(KeyboardInterrupt):
        bl.solve(given, device=slow_model(50, 3), checkpoint=file)
    timer.cancel()
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.npz"]
    resumed = bl.solve(given, device=slow_model(50, 3), checkpoint=file)
    same(resumed, bl.solve(given, device="emulator"))


def test_interrupt_in_the_last_sweep_loses_nothing(tmp_path: Path) -> None:
    """After Ctrl-C in the last sweep the checkpoint stays, because the caller has not received the result."""
    given = problem(50, 3)
    file = tmp_path / "run.npz"
    presses: list[int] = []

    class Late(ModelDevice):
        def wait(self, seconds: float) -> bool:
            ended = super().wait(60.0)
            if not presses:
                presses.append(1)
                signal.raise_signal(signal.SIGINT)
            return ended

    device = Late(LineSoftwareMachine(MachineParameters(grid=64, states=3)))
    with pytest.raises(KeyboardInterrupt):
        bl.solve(given, device=device, checkpoint=file)
    assert device.read_register("STATUS") == Status.DONE | Status.CONVERGED
    assert file.exists()
    same(bl.solve(given, device=device, checkpoint=file), bl.solve(given, device="emulator"))
    assert not file.exists()


def test_kill_saves_what_was_done(tmp_path: Path) -> None:
    """After kill -9 in a solve, the same call in another process resumes from the checkpoint."""
    script = textwrap.dedent(
        """
        import sys
        sys.path[:0] = ["tests", "."]
        from support.fakes import problem, slow_model
        import beltline as bl
        bl.solve(problem(50, 3), device=slow_model(50, 3), checkpoint=sys.argv[1], checkpoint_every=0.02)
        """
    )
    file = tmp_path / "run.npz"
    process = subprocess.Popen([sys.executable, "-c", script, str(file)], cwd=ROOT)
    try:
        end = time.monotonic() + 120
        while not file.exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    assert file.exists(), process.returncode
    image = fixed_point(problem(50, 3), 1e-10)
    saved = Checkpoint(file).load(image)
    assert saved is not None
    assert saved.sweeps > 0
    same(bl.solve(problem(50, 3), checkpoint=file, device="emulator"), bl.solve(problem(50, 3), device="emulator"))


def test_checkpoint_of_another_problem(tmp_path: Path) -> None:
    file = tmp_path / "run.npz"
    bl.solve(problem(), max_sweeps=3, checkpoint=file, device="emulator")
    before = file.read_bytes()
    sentence = re.escape(f"checkpoint {str(file)!r} belongs to another problem, tolerance or number format")
    for other, options in ((problem(eta=3.0), {}), (problem(), {"tol": 1e-5}), (problem(), {"value_bits": 40})):
        with pytest.raises(bl.ProblemError, match=f"^{sentence}: delete it, or name another file$"):
            bl.solve(other, checkpoint=file, device="emulator", **options)  # type: ignore[arg-type]
    assert file.read_bytes() == before
    file.write_bytes(b"nothing of the kind")
    with pytest.raises(
        bl.ProblemError,
        match=r"is damaged or was not saved by Beltline: it is .*: delete it, or name another file$",
    ):
        bl.solve(problem(), checkpoint=file, device="emulator")
    with pytest.raises(bl.ProblemError, match="^checkpoint must be None for a problem with a horizon"):
        bl.solve(problem(horizon=3), checkpoint=tmp_path / "other.npz", device="emulator")


def test_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = problem(30, 2)
    file = tmp_path / "run.npz"
    bl.solve(given, max_sweeps=20, checkpoint=file, device="emulator")
    before = file.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    sentence = f" The checkpoint {str(file)!r} could not be written: No space left on device."
    assert bl.solve(given, max_sweeps=40, checkpoint=file, device="emulator").message.endswith(sentence)
    assert file.read_bytes() == before
    assert os.listdir(tmp_path) == ["run.npz"]
    found = bl.solve(given, checkpoint=file, checkpoint_every=1e-9, device="emulator")
    assert found.message.endswith(sentence)
    same(replace(found, message=found.message.removesuffix(sentence)), bl.solve(given, device="emulator"))


def test_saturated_run_leaves_no_checkpoint(tmp_path: Path) -> None:
    def fault(device: BruteDevice) -> None:
        device.status = Status.DONE | Status.SATURATED

    file = tmp_path / "run.npz"
    result = bl.solve(problem(), device=BruteDevice(fault=fault), checkpoint=file)
    assert result.status == "saturated"
    assert not file.exists()


def test_driver_moves_everything_after_an_error() -> None:
    device = BruteDevice()
    driver = Driver(device)
    image = fixed_point(problem(), 1e-8)
    driver.run(image, 10_000)
    write = device.write_block

    def lost(*_: object) -> None:
        raise bl.DeviceLostError("gone")

    device.write_block = lost  # type: ignore[method-assign]
    with pytest.raises(bl.DeviceLostError):
        driver.run(replace(image, wealth=image.wealth + 1), 10_000)
    device.write_block = write  # type: ignore[method-assign]
    assert "W" in driver.run(image, 10_000).moved


@pytest.mark.parametrize("verify", [True, False])
def test_timeout_covers_the_verification_of_ages(verify: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    ages = 400
    given = replace(bl.rbc(grid=24, states=2), horizon=ages)
    assert bl.solve(given, timeout=300.0, verify=verify, device="emulator").success
    # One second for each age that is verified.
    seconds = itertools.count()
    monkeypatch.setattr(beltline.host.solver.certificate, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    monkeypatch.setattr(beltline.host.solver.complete, "time", SimpleNamespace(monotonic=lambda: 0.0))
    sentence = f"^the run ended in time, but timeout was reached when only [0-9]+ of its {ages} ages were verified: "
    with pytest.raises(bl.DeviceTimeoutError, match=sentence):
        bl.solve(given, timeout=300.0, verify=verify, device="emulator")
