"""A solve that ends with an error leaves no work on the device that could write to memory given back (no kernels)."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from beltline.gpu_ref.cuda import device_confirmation, sweeps
from beltline.gpu_ref.cuda.device_confirmation import Confirmation
from beltline.gpu_ref.methods import Arguments, check_arguments

SIDE = 1
"""Number of the stream of comparisons."""


class Memory(np.ndarray):
    """Memory of the device. Its address is no number that anything may read from."""

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.__array_interface__["data"][0])

    def set(self, table: Any) -> None:
        self[...] = table

    def __array_finalize__(self, other: Any) -> None:
        self.cuda: FakeCuda | None = getattr(other, "cuda", None)

    def get(self, **options: Any) -> Any:
        if self.cuda is not None:
            self.cuda.busy.discard(self.cuda.current[-1])
        return np.array(self)


class FakeCuda:
    """CuPy with two streams, whose work ends only when it is waited for.

    ``given_back`` has, for each allocation that ends, whether its stream or that of comparisons still had work that
    was not waited for.
    """

    def __init__(self, interrupt: str) -> None:
        self.interrupt = interrupt
        self.busy: set[int] = set()
        self.given_back: list[bool] = []
        self.current = [0]
        self.streams = self.events = 0
        self.waited: list[tuple[int, Any]] = []
        self.order: list[str] = []
        self.cuda = SimpleNamespace(
            Device=lambda: SimpleNamespace(id=0),
            Stream=self.stream,
            get_current_stream=lambda: SimpleNamespace(
                record=lambda: None, synchronize=lambda: self.busy.discard(self.current[-1])
            ),
        )

    def stream(self, non_blocking: bool = False) -> Any:
        assert non_blocking
        self.streams += 1
        fake, number = self, self.streams

        class Side:
            def __enter__(self) -> None:
                fake.current.append(number)

            def __exit__(self, *exception: object) -> None:
                fake.current.pop()

            def wait_event(self, event: object) -> None:
                fake.waited.append((number, event))

            def record(self) -> tuple[int, int]:
                fake.events += 1
                return number, fake.events

            def synchronize(self) -> None:
                fake.busy.discard(number)

        return Side()

    def empty(self, shape: Any, dtype: Any = np.float64) -> Any:
        owner = np.zeros(shape, dtype)
        users = {self.current[-1], SIDE}
        weakref.finalize(owner, lambda: self.given_back.append(bool(self.busy & users)))
        made = owner.view(Memory)
        made.cuda = self
        return made

    def reach(self, place: str) -> None:
        """Be interrupted if this is the place."""
        if place == self.interrupt:
            raise KeyboardInterrupt(place)

    def kernel(self, name: str) -> Callable[..., None]:
        def launch(*arguments: Any) -> None:
            self.busy.add(self.current[-1])
            self.order.append(name)
            self.reach(name)

        return launch


@pytest.fixture
def fake(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    """Replace CuPy, and compile no kernel."""
    made = FakeCuda(request.param)
    names = ("survey", "gather", "confirm", "mend", "conclude")
    for module in (sweeps, device_confirmation):
        monkeypatch.setattr(module, "confirm_kernels", lambda *_: {name: made.kernel(name) for name in names})
        monkeypatch.setattr(module, "refuse", lambda *_: None)
    side = made.stream(non_blocking=True)
    monkeypatch.setattr(device_confirmation, "cupy_module", lambda: made)
    monkeypatch.setattr(device_confirmation, "_side_stream", lambda device: side)
    monkeypatch.setattr(device_confirmation, "fetch", lambda table, least: np.asarray(table))
    return made


class FakeTables(dict[str, Any]):
    """Tables in the memory of the fake, with addresses that are zero."""

    def __init__(self, cuda: FakeCuda, problems: Any, *rest: Any) -> None:
        points, states = problems[0].W.shape
        shape = (len(problems), points, states)
        super().__init__({name: cuda.empty(shape) for name in ("value", "policy", "previous")})
        self["outcome"] = cuda.empty((len(problems), 10))
        self["outcome"][:] = [3.0, 1e-9, 1.0, 0.0, 1.0, 1e-9, 0.0, 0.0, 0.0, 0.0]
        self.problems, self.cuda = problems, cuda

    def pointers(self, name: str) -> Any:
        return np.zeros(len(self.problems), np.uint64)

    copied = pointers

    def load(self, made: None) -> None:
        self.cuda.order.append("load")
        self.cuda.reach("load")

    def copy(self) -> None:
        pass


def problems(count: int) -> list[Arguments]:
    X = np.linspace(1.0, 2.0, 8)
    W = 2.0 + X[:, None] + np.array([0.1, 0.2])
    Q = np.full((2, 2), 0.5)
    return [check_arguments(X, W, Q, np.zeros((8, 2)), 0.9, 2.0, 1e-8, 100, "shift", {}) for _ in range(count)]


def solve(fake: FakeCuda, monkeypatch: pytest.MonkeyPatch, count: int = 2, parts: int = 1) -> Any:
    """Solve with the host code of a launch (``gpu_ref/cuda/sweeps.py``) and all else of the device replaced."""

    class Clock:
        def __init__(self, cupy: Any) -> None:
            self.seconds: dict[str, float] = {}

        def restart(self) -> None:
            pass

        def lap(self, part: str) -> None:
            fake.cuda.get_current_stream().synchronize()
            fake.reach(part)

        def resume(self) -> None:
            fake.order.append("results")

    def fetch(table: Any) -> Any:
        fake.busy.add(fake.current[-1])
        fake.order.append("fetch")
        fake.reach("fetch")
        return np.asarray(table)

    start = SimpleNamespace(memory=lambda: 0, tables=dict, load=lambda _: None, work=lambda _: False)
    plan = SimpleNamespace(plan=SimpleNamespace(teams=1), near=False, paths=False)
    monkeypatch.setattr(sweeps, "Clock", Clock)
    monkeypatch.setattr(sweeps, "Tables", FakeTables)
    monkeypatch.setattr(sweeps, "fetch", fetch)
    monkeypatch.setattr(sweeps, "exact_kernels", lambda *_: None)
    monkeypatch.setattr(sweeps, "Start", lambda *_: start)
    monkeypatch.setattr(sweeps, "prepare", lambda *_: plan)
    monkeypatch.setattr(sweeps, "_launch_sweeps", lambda *_: fake.kernel("sweeps")())
    monkeypatch.setattr(sweeps, "groups", lambda *_: parts)
    monkeypatch.setattr(sweeps, "_streams", lambda _: (fake.stream(True), fake.stream(True)))
    return sweeps.solve_in_one_launch(fake, problems(count), None, False, [0.9] * count)


PLACES = ("sweeps", "survey", "gather", "confirm", "mend", "conclude", "solve", "fetch", "read", "verify")


@pytest.mark.parametrize("fake", PLACES, indirect=True)
def test_an_interrupted_solve_waits_before_it_gives_memory_back(
    fake: FakeCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached: tuple[Any, ...] = ()
    # Not `pytest.raises`, which would keep the error, and so the memory.
    try:
        solve(fake, monkeypatch)
    except KeyboardInterrupt as error:
        reached = error.args
    assert reached == (fake.interrupt,)
    assert not fake.busy
    # Four tables and, from the comparison on, its intermediate results.
    assert len(fake.given_back) == (4 if fake.interrupt == "sweeps" else 5)
    assert not any(fake.given_back)


@pytest.mark.parametrize("fake", PLACES, indirect=True)
def test_an_interrupted_batch_waits_for_all_groups(fake: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = 0

    def reach(place: str) -> None:
        """Be interrupted at the second time, when another group is at work too."""
        nonlocal turns
        turns += place == fake.interrupt
        if turns == 2:
            raise KeyboardInterrupt(place)

    fake.reach = reach  # type: ignore[method-assign]
    reached: tuple[Any, ...] = ()
    try:
        solve(fake, monkeypatch, 6, 3)
    except KeyboardInterrupt as error:
        reached = error.args
    assert reached == (fake.interrupt,)
    assert not fake.busy
    assert fake.given_back
    assert not any(fake.given_back)


@pytest.mark.parametrize("fake", ["nowhere"], indirect=True)
def test_groups_of_a_batch_compute_one_after_the_other(fake: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is loaded while the one before is solved, and waits on the device for its comparison."""
    assert len(solve(fake, monkeypatch, 7, 3)) == 7
    steps = [step for step in fake.order if step in ("load", "sweeps", "survey", "fetch", "results")]
    compute, finish = ["load", "sweeps"], ["survey", "fetch", "fetch"]
    assert steps == compute + finish + 2 * [*compute, "results", *finish] + ["results"]
    # Streams 2 and 3 are those of the groups; the comparison is in stream 1.
    assert [(number, event) for number, event in fake.waited if number > 1] == [(3, (1, 1)), (2, (1, 2))]


@pytest.mark.parametrize("fake", ["nowhere"], indirect=True)
def test_a_solve_that_is_not_interrupted_returns(fake: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [one.sweeps for one in solve(fake, monkeypatch)] == [3, 3]


@pytest.mark.parametrize("fake", ["survey", "conclude"], indirect=True)
def test_an_interrupted_verification_waits_before_it_gives_memory_back(fake: FakeCuda) -> None:
    try:
        (one,) = problems(1)
        card = Confirmation(one.X, one.W, one.Q, one.beta, one.eta)
        card.compare(one.V0, one.V0, np.zeros((8, 2), np.int32), 0.0)
    except KeyboardInterrupt:
        del card
    assert fake.given_back
    assert not any(fake.given_back)
