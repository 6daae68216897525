"""Solvers on CUDA devices, in double precision: the iteration of a solve, or of a batch of them, is one launch.

:func:`solve` takes the arguments of every solver and returns the same :class:`~beltline.gpu_ref.methods.Solution`.
:func:`solve_batch` solves many problems of one shape side by side, on one device or on several. Both need CuPy, which
is imported when it is first needed; :func:`available` says why if there is none, or no device.

How a solve runs (``sweeps.cu``): the thread blocks stay on the device until the stopping rule is met. Each thread
owns whole grid points, with the values of all exogenous states, and keeps the utilities of its choices and of their
neighbours, so a sweep in which a choice stays evaluates no utility. Only discounted expectations pass between threads,
through the second-level cache, with one barrier a sweep; the barrier also tells whether some value still moves.

What is certain. ``warm`` and the methods built on it search locally, which is exact where objectives have a single
peak. That is checked on the device for the last sweep, from the curvature of the expectations that it read: where
``curvature of EV < curvature of U`` at the largest wealth, by more than rounding, the objective of every state is
single-peaked also as computed, and the policy is that of full search, bit by bit. The stopping rules speak of the last
sweep alone, so what they promise then holds however the sweeps before went. Where the check fails, the last sweep is
repeated by divide and conquer, which needs no single peak (``gpu_ref/exact.py``), and, if that shows the rule not met
after all, the solve goes on with such sweeps: :attr:`~beltline.gpu_ref.methods.Solution.exact_sweeps` counts them.
"""

from __future__ import annotations

import functools
import importlib
import math
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from beltline.gpu_ref.coarse import FEWEST, INNER, LIMIT, MOST, SHARE, spacing
from beltline.gpu_ref.methods import Arguments, Solution, check_arguments, error_bound, shifts

METHODS = ("grid", "binary", "grid+howard", "interp", "monotone", "warm", "mpi", "macqueen", "shift")
"""Those of ``beltline.gpu_ref.methods`` that run here."""

AGES = ("monotone", "warm")
"""Those that :func:`solve_ages` knows: the same search, which starts from no last policy."""

BATCHED = ("grid", "binary", "grid+howard", "monotone", "warm", "macqueen", "shift")
"""Those that :func:`solve_batch` knows."""

STATES_LIMIT = 64
"""Largest ``N_z``: a thread keeps the values of all states of a grid point."""

_ROWS_OF_BLOCKS = 2**16 - 1
"""What CUDA allows in the second dimension of a launch."""

_PIECE, _COPIERS = 2**25, 4
"""Bytes of pinned memory that a piece of a large table comes through, and threads that put pieces in place."""

WARM, PLAIN, GRID, CORRECTED, PUBLISHED, COARSE = range(6)

_SEARCH = {
    "grid": GRID,
    "grid+howard": GRID,
    "interp": COARSE,
    "monotone": PLAIN,
    "warm": WARM,
    "macqueen": WARM,
    "shift": WARM,
}
_RULE = {"change": 0, "own": 0, "span": 1, "spans": 1}

_POINTERS = ("X", "W", "Q", "V0", "value", "previous", "policy", "outcome")

_PROBLEM = np.dtype(
    [(name, np.uint64) for name in _POINTERS] + [(name, np.float64) for name in ("beta", "eta", "epsilon")]
)
"""``struct Problem`` of ``common.cu``."""


@functools.cache
def available() -> str:
    """Return ``""`` if there is a CUDA device that can be used, and otherwise the reason why not, in a sentence."""
    try:
        cupy = _cupy()
    except ImportError as error:
        return f"CuPy, through which CUDA devices are used, is missing ({error}): install cupy-cuda13x or its like."
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # CuPy raises an error class of its own for each layer below it.
        return f"CUDA finds no device on this computer ({error})."
    if count == 0:
        return "CUDA finds no device on this computer."
    if not cupy.cuda.Device(0).attributes.get("CooperativeLaunch", 1):
        return "The CUDA device of this computer cannot launch cooperative kernels."
    return ""


def _cupy() -> Any:
    return importlib.import_module("cupy")


def device_name(device: int = 0) -> str:
    """Name of a CUDA device."""
    properties = _cupy().cuda.runtime.getDeviceProperties(device)
    return str(properties["name"].decode())


@dataclass(frozen=True)
class Layout:
    """How problems are spread over a device.

    Attributes
    ----------
    threads
        Of a block.
    resident
        Blocks that share a multiprocessor.
    blocks
        Of a team, which solves one problem at a time.
    teams
        Side by side.
    points
        Grid points a thread owns at most.
    span
        Grid points of a block.
    """

    threads: int
    resident: int
    blocks: int
    teams: int
    points: int
    span: int


def layout(
    points: int,
    states: int,
    problems: int,
    processors: int,
    *,
    local: bool = True,
    blocks: int | None = None,
    threads: int | None = None,
    resident: int = 1,
) -> Layout:
    """Choose a :class:`Layout`.

    A single problem is spread over all multiprocessors, but for small grids, where a barrier between blocks would cost
    more than it brings. In a batch, the fewer blocks a problem has, the less it waits for others.

    Parameters
    ----------
    points, states
        ``N_k`` and ``N_z``.
    problems
        How many.
    processors
        Multiprocessors of the device.
    local
        Whether a sweep looks at the neighbours of the last choice only, which takes little time.
    blocks, threads, resident
        To choose these by hand.
    """
    most = threads or (512 if states <= 8 else 256 if states <= 24 else 128)
    room = processors * resident
    if blocks is None:
        if not local:
            blocks = math.ceil(points / 32) if problems == 1 else math.ceil(points / most)
        elif problems == 1:
            blocks = 1 if points <= 2 * most else math.ceil(points / (most // 2))
        else:
            blocks = math.ceil(points / (2 * most))
    blocks = max(1, min(blocks, room, points))
    span = math.ceil(points / blocks)
    blocks = math.ceil(points / span)
    # Powers of two, and not too small ones, so that few kernels serve all sizes.
    used = min(most, max(256 if local else 32, 1 << (span - 1).bit_length()))
    return Layout(used, resident, blocks, max(1, min(problems, room // blocks)), math.ceil(span / used), span)


@functools.cache
def _source(name: str) -> str:
    return (Path(__file__).parent / name).read_text()


_compiling = threading.Lock()


def _module(name: str, cooperative: bool = False, **macros: int) -> Any:
    options = ("-std=c++17", "-fmad=false", *(f"-D{name}={value}" for name, value in macros.items()))
    code = _source("common.cu") + _source(name)
    return _cupy().RawModule(code=code, options=options, enable_cooperative_groups=cooperative)


@functools.cache
def _kernel(
    device: int, search: int, rule: int, eta: int, states: int, points: int, threads: int, resident: int
) -> Any:
    with _compiling:
        module = _module(
            "sweeps.cu",
            cooperative=True,
            SEARCH=search,
            RULE=rule,
            ETA=eta,
            NZ=states,
            POINTS=points,
            THREADS=threads,
            BLOCKS=resident,
            RESERVE=int(_reserve(search, states, points, threads, resident) > 0),
        )
        kernel = module.get_function("sweeps")
    kernel.max_dynamic_shared_size_bytes = _room()
    return kernel


def _room() -> int:
    """Bytes of shared memory that a block may have."""
    return int(_cupy().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])


def _shared(search: int, states: int, points: int, threads: int, resident: int) -> int:
    square = (states * states + 1) // 2 * 2
    common = 8 * (square + threads // 32 * 2 * states + 2 * states + states * (states + 1))
    return common + _reserve(search, states, points, threads, resident)


def _reserve(search: int, states: int, points: int, threads: int, resident: int) -> int:
    """Bytes of shared memory for utilities two choices away: none where they do not fit."""
    size = 16 * points * states * threads
    return size if search == WARM and points * states <= 32 and size * resident <= 2**17 else 0


@functools.cache
def _pieces(device: int, eta: int) -> tuple[Any, Any, Any]:
    with _compiling:
        module = _module("exact.cu", ETA=eta)
        return module.get_function("expectation"), module.get_function("level"), module.get_function("hold")


@functools.cache
def _starters(device: int, eta: int, states: int, per: int) -> tuple[Any, Any, Any]:
    with _compiling:
        module = _module("coarse.cu", ETA=eta, NZ=states, PER=per)
        smooth = module.get_function("smooth")
    smooth.max_dynamic_shared_size_bytes = _room()
    return module.get_function("stay"), smooth, module.get_function("draw")


@dataclass(frozen=True)
class _Launch:
    """The kernel that sweeps, compiled, and how it is laid out."""

    kernel: Any
    plan: Layout
    shared: int
    near: bool


def _prepare(cupy: Any, problems: Sequence[Arguments], search: int, plan: Layout | None) -> _Launch:
    points, states = problems[0].W.shape
    if plan is None:
        plan = layout(points, states, len(problems), _processors(cupy), local=search in (WARM, PLAIN))
    rule, eta = _RULE[problems[0].rule], _kind([problem.eta for problem in problems])
    kernel = _kernel(cupy.cuda.Device().id, search, rule, eta, states, plan.points, plan.threads, plan.resident)
    shared = _shared(search, states, plan.points, plan.threads, plan.resident)
    tables = 16 * states * (points + 2)
    near = plan.blocks == 1 and (shared + tables + 1024) * plan.resident <= _room()
    return _Launch(kernel, plan, shared + tables * near, near)


def _kind(etas: Sequence[float]) -> int:
    kinds = {2 if eta == 2.0 else 1 if eta == 1.0 else 0 for eta in etas}
    return kinds.pop() if len(kinds) == 1 else 3


def _search(arguments: Arguments) -> int:
    if arguments.method == "binary":
        return CORRECTED if arguments.options["tie"] == "corrected" else PUBLISHED
    return _SEARCH[arguments.method]


def _processors(cupy: Any) -> int:
    return int(cupy.cuda.Device().attributes["MultiProcessorCount"])


def _refuse(cupy: Any, needed: int) -> None:
    free = cupy.cuda.Device().mem_info[0] + cupy.get_default_memory_pool().free_bytes()
    if needed > free:
        raise MemoryError(
            f"the solve needs {needed / 2**30:.2f} GiB of device memory, and {free / 2**30:.2f} GiB are free"
        )


def memory(points: int, states: int, problems: int = 1, *, previous: bool = True, teams: int = 1) -> int:
    """Bytes of device memory that a solve of ``problems`` problems takes; proportional to ``N_k N_z``."""
    size = points * states
    tables = 8 * (points + 3 * size + states * states) + 4 * size + (8 * size if previous else 0) + 256
    return problems * tables + teams * 16 * states * (points + 2) + 2**22


class _Tables:
    """Tables of problems of one shape on the current device, and where results go. ``load`` fills them."""

    def __init__(self, cupy: Any, problems: Sequence[Arguments], plan: Layout, previous: bool, near: bool) -> None:
        self.problems = problems
        count = len(problems)
        points, states = problems[0].W.shape
        shape = (count, points, states)
        self.X = cupy.empty((count, points))
        self.Q = cupy.empty((count, states, states))
        self.W = cupy.empty(shape)
        self.V0 = cupy.empty(shape)
        self.value = cupy.empty(shape)
        self.previous: Any = cupy.empty(shape) if previous else None
        self.policy = cupy.empty(shape, dtype=np.int32)
        self.outcome = cupy.zeros((count, 4))
        self.words = cupy.zeros((plan.teams, 32), dtype=np.uint64)
        self.expectations = cupy.zeros((1,) if near else (plan.teams, 2, states, points + 2))
        self.parts = cupy.empty((plan.teams, 2, plan.blocks, 2 * states))
        rows = np.zeros(count, dtype=_PROBLEM)
        for name in _POINTERS:
            table = getattr(self, name)
            if table is not None:
                rows[name] = table.data.ptr + np.arange(count, dtype=np.uint64) * np.uint64(table[0].nbytes)
        for name in ("beta", "eta", "epsilon"):
            rows[name] = [getattr(problem, name) for problem in problems]
        self.rows = cupy.empty(rows.nbytes, dtype=np.uint8)
        self._rows = rows

    def load(self) -> None:
        """Copy the problems to the device, but for the starts that it works out itself."""
        self.rows.set(self._rows.view(np.uint8))
        for i, problem in enumerate(self.problems):
            self.X[i].set(problem.X)
            self.Q[i].set(problem.Q)
            self.W[i].set(problem.W)
            if problem.start == "given":
                self.V0[i].set(problem.V0)


class _Start:
    """What the device does for problems that leave the start to it."""

    def __init__(self, cupy: Any, problems: Sequence[Arguments]) -> None:
        self.cupy = cupy
        self.problems = problems
        self.asked = any(problem.start != "given" for problem in problems)
        one = problems[0]
        self.points, self.states = one.W.shape
        self.coarse = self.asked and one.options["start"] == "coarse" and self.points >= FEWEST
        self.stride, self.rows = spacing(self.points, self._fits(_room()) if self.coarse else MOST)
        self.threads = min(512, 32 * math.ceil(self.rows * self.states / 32))
        if self.asked:
            eta = _kind([problem.eta for problem in problems])
            per = math.ceil(self.rows * self.states / self.threads) if self.coarse else 1
            self.stay, self.smooth, self.draw = _starters(cupy.cuda.Device().id, eta, self.states, per)

    def _shared(self, rows: int) -> int:
        return 8 * (5 * rows + self.states * (self.states + 1) + 3 * rows * self.states)

    def _fits(self, room: int) -> int:
        rows = MOST
        while self._shared(rows) > room:
            rows -= 1
        return rows

    def memory(self) -> int:
        """Bytes of device memory."""
        return 16 * self.rows * self.states * len(self.problems) if self.coarse else 0

    def allocate(self) -> None:
        count = len(self.problems)
        if self.asked:
            self.given = self.cupy.empty(count, dtype=np.int32)
        if self.coarse:
            self.values, self.choices = (self.cupy.empty((count, self.rows, self.states)) for _ in range(2))

    def load(self) -> None:
        if self.asked:
            self.given.set(np.array([problem.start == "given" for problem in self.problems], dtype=np.int32))

    def work(self, tables: _Tables) -> bool:
        """Fill ``V0``; whether the policy is guessed, too."""
        if not self.asked:
            return False
        count = len(self.problems)
        over = (math.ceil(self.points / 128), min(count, _ROWS_OF_BLOCKS)), (128,)
        if not self.coarse:
            self.stay(*over, (tables.rows, self.given, np.int32(count), np.int32(self.points)))
            return False
        sizes = np.int32(self.points), np.int32(self.rows), np.int32(self.stride)
        limits = np.float64(SHARE), np.int32(LIMIT), np.int32(INNER)
        self.smooth(
            (count,),
            (self.threads,),
            (tables.rows, self.given, *sizes, *limits, self.values, self.choices),
            shared_mem=self._shared(self.rows),
        )
        self.draw(*over, (tables.rows, self.given, np.int32(count), *sizes, self.values, self.choices))
        return True


class _Coarse:
    """Equidistant choices, the grid points below them and weights of the next ones."""

    def __init__(self, X: np.ndarray[Any, np.dtype[np.float64]], count: int) -> None:
        self.choices = np.linspace(X[0], X[-1], count)
        self.left = np.clip(np.searchsorted(X, self.choices, side="right") - 1, 0, max(X.size - 2, 0)).astype(np.int32)
        if X.size > 1:
            self.weight = (self.choices - X[self.left]) / (X[self.left + 1] - X[self.left])
        else:
            self.weight = np.zeros(count)


def _fetch(table: Any) -> np.ndarray[Any, Any]:
    """A table of the device in ordinary memory.

    A large one comes in pieces through pinned memory, and several threads put them in place: most of the time is that
    of the first touch of new memory.
    """
    if table.nbytes < 4 * _PIECE:
        found: np.ndarray[Any, Any] = table.get()
        return found
    found = np.empty(table.shape, table.dtype)
    source, target = table.reshape(-1), found.reshape(-1)
    size = _PIECE // table.itemsize
    pinned = [importlib.import_module("cupyx").empty_pinned((size,), table.dtype) for _ in range(_COPIERS)]
    with ThreadPoolExecutor(_COPIERS) as pool:
        under_way: list[Future[None]] = []
        for i, begin in enumerate(range(0, target.size, size)):
            if i >= _COPIERS:
                under_way[i - _COPIERS].result()
            end = min(begin + size, target.size)
            piece = pinned[i % _COPIERS][: end - begin]
            source[begin:end].get(out=piece)
            under_way.append(pool.submit(np.copyto, target[begin:end], piece))
        for last in under_way[-_COPIERS:]:
            last.result()
    return found


class Clock:
    """Seconds of the parts of a solution, each from the end of all work before it to the end of its own."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self.seconds: dict[str, float] = {}
        self._since = time.perf_counter()

    def restart(self) -> None:
        self._cupy.cuda.get_current_stream().synchronize()
        self._since = time.perf_counter()

    def lap(self, part: str) -> None:
        self._cupy.cuda.get_current_stream().synchronize()
        now = time.perf_counter()
        self.seconds[part] = self.seconds.get(part, 0.0) + now - self._since
        self._since = now


def solve(
    X: ArrayLike,
    W: ArrayLike,
    Q: ArrayLike,
    V0: ArrayLike,
    beta: float,
    eta: float,
    epsilon: float,
    max_sweeps: int = 100_000,
    method: str = "warm",
    *,
    device: int = 0,
    **options: Any,
) -> Solution:
    """Solve one table problem on a CUDA device.

    Parameters
    ----------
    X, W, Q, V0, beta, eta
        See :mod:`beltline.gpu_ref`.
    epsilon, max_sweeps, method, options
        See :mod:`beltline.gpu_ref.methods`; ``method`` is one of :data:`METHODS`. ``monotone`` starts from the last
        policy here, as ``warm`` does, but keeps no utilities: a climb from the neighbouring state has no order to run
        in.
    device
        Number of the CUDA device.

    Returns
    -------
    Solution
        ``seconds["solve"]`` holds the launch, the whole iteration and the exact sweep, if one was needed; no table
        crosses to or from the host in it.

    Raises
    ------
    ValueError
        An argument is wrong, or the method does not run here.
    MemoryError
        The problem does not fit the device; nothing was allocated.
    RuntimeError
        There is no CUDA device.
    """
    arguments = check_arguments(X, W, Q, V0, beta, eta, epsilon, max_sweeps, method, options)
    _check_method(method, METHODS, arguments.W.shape[1])
    cupy = _ready()
    with cupy.cuda.Device(device):
        if method == "mpi":
            return _solve_mpi(cupy, arguments)
        return _solve_here(cupy, [arguments], None, True)[0]


def solve_batch(
    problems: Sequence[Sequence[Any]],
    epsilon: float,
    max_sweeps: int = 100_000,
    method: str = "shift",
    *,
    devices: Sequence[int] | None = None,
    plan: Layout | None = None,
    previous: bool = False,
    **options: Any,
) -> list[Solution]:
    """Solve many problems of one shape, on each device in one launch.

    Parameters
    ----------
    problems
        Of ``(X, W, Q, V0, beta, eta)``, see :mod:`beltline.gpu_ref`; all of the same ``N_k`` and ``N_z``.
    epsilon, max_sweeps, options
        As in :func:`solve`, the same for all.
    method
        One of :data:`BATCHED`.
    devices
        Numbers of the CUDA devices to share the batch, by default all. Problems are dealt out in turn.
    plan
        How to spread problems over a device, by default chosen by :func:`layout`.
    previous
        Whether to return :attr:`~beltline.gpu_ref.methods.Solution.previous` too.

    Returns
    -------
    list of Solution
        In the order of ``problems``. ``seconds`` are each problem's equal share of its device's, and the devices work
        at the same time.

    Raises
    ------
    ValueError, MemoryError, RuntimeError
        As :func:`solve`.
    """

    def check(problem: Sequence[Any]) -> Arguments:
        X, W, Q, V0, beta, eta = problem
        return check_arguments(X, W, Q, V0, beta, eta, epsilon, max_sweeps, method, options)

    # NumPy lets other threads run while it works on a table.
    with ThreadPoolExecutor() as pool:
        checked = list(pool.map(check, problems))
    if not checked:
        return []
    shape = checked[0].W.shape
    for i, arguments in enumerate(checked):
        if arguments.W.shape != shape:
            raise ValueError(f"problems of a batch must have one shape, but {arguments.W.shape} of {i} is not {shape}")
    _check_method(method, BATCHED, shape[1])
    cupy = _ready()
    numbers = list(devices) if devices is not None else list(range(cupy.cuda.runtime.getDeviceCount()))
    if not numbers:
        raise ValueError("devices must name at least one device")
    results: list[Solution | None] = [None] * len(checked)
    failures: list[BaseException] = []

    def work(turn: int) -> None:
        try:
            own = range(turn, len(checked), len(numbers))
            if own:
                with cupy.cuda.Device(numbers[turn]):
                    for i, solution in zip(
                        own, _solve_here(cupy, [checked[i] for i in own], plan, previous), strict=True
                    ):
                        results[i] = solution
        except BaseException as error:  # Raised again below, in the caller's thread.
            failures.append(error)

    threads = [threading.Thread(target=work, args=(turn,)) for turn in range(len(numbers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return [solution for solution in results if solution is not None]


def solve_ages(
    X: ArrayLike,
    W: ArrayLike,
    Q: ArrayLike,
    V0: ArrayLike,
    beta: float,
    eta: float,
    ages: int,
    method: str = "warm",
    *,
    device: int = 0,
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.int32]], dict[str, float]]:
    """Solve a finite horizon on a CUDA device, all ages in one launch (``ages.cu``); ``V0`` follows the last age.

    Returns ``value`` and ``policy``, ``(ages, N_k, N_z)``, the first age first, and the seconds by part. Where single
    peaks are in doubt at some age, all ages are solved once more by divide and conquer. ``method`` is one of
    :data:`AGES`; other arguments and errors as of :func:`solve`.
    """
    arguments = check_arguments(X, W, Q, V0, beta, eta, 0.0, ages, method, {})
    points, states = arguments.W.shape
    _check_method(method, AGES, states)
    cupy = _ready()
    with cupy.cuda.Device(device):
        span = math.ceil(points / min(_processors(cupy), points))
        blocks = math.ceil(points / span)
        shared = 8 * ((states * states + 1) // 2 * 2 + span * states)
        if shared > _room():
            raise ValueError(
                f"a CUDA device solves ages of at most {_room() // 8 * blocks} states, not {points * states}"
            )
        threads = min(512, 32 * math.ceil(span * states / 32))
        kernel = _ages_kernel(device, _kind([eta]), states, threads)
        _pieces(device, _kind([eta]))
        _refuse(cupy, memory(points, states) + (12 * ages + 8) * points * states)
        clock = Clock(cupy)
        clock.restart()
        tables = _Tables(cupy, [arguments], Layout(threads, 1, blocks, 1, 1, span), previous=False, near=True)
        expectations = cupy.empty((3, states, points))
        values = cupy.empty((ages, points, states))
        policies = cupy.empty((ages, points, states), dtype=np.int32)
        clock.lap("allocate")
        tables.load()
        clock.lap("load")
        sizes = np.int32(points), np.int32(span), np.int32(blocks), np.int32(ages)
        kernel(
            (blocks,),
            (threads,),
            (tables.rows, *sizes, tables.words, expectations, values, policies),
            shared_mem=shared,
        )
        clock.lap("solve")
        in_doubt = bool(tables.outcome.get()[0, 3])
        clock.lap("read")
        if in_doubt:
            exact = _Exact(cupy, arguments, tables.X[0], tables.W[0], tables.Q[0])
            following = tables.V0[0]
            for age in range(ages - 1, -1, -1):
                values[age], policies[age] = exact.maximise(following)
                following = values[age]
            clock.lap("solve")
        found = _fetch(values), _fetch(policies)
        clock.lap("read")
    return *found, clock.seconds


@functools.cache
def _ages_kernel(device: int, eta: int, states: int, threads: int) -> Any:
    with _compiling:
        module = _module("ages.cu", cooperative=True, ETA=eta, NZ=states, THREADS=threads)
        kernel = module.get_function("ages")
    kernel.max_dynamic_shared_size_bytes = _room()
    return kernel


def _check_method(method: str, known: Sequence[str], states: int) -> None:
    if method not in known:
        raise ValueError(
            f"method {method!r} does not run on a CUDA device: choose one of {', '.join(map(repr, known))}"
        )
    if states > STATES_LIMIT:
        raise ValueError(f"a CUDA device solves problems of at most {STATES_LIMIT} exogenous states, not {states}")


def _ready() -> Any:
    reason = available()
    if reason:
        raise RuntimeError(reason)
    return _cupy()


def _solve_here(cupy: Any, problems: Sequence[Arguments], plan: Layout | None, previous: bool) -> list[Solution]:
    one = problems[0]
    points, states = one.W.shape
    search = _search(one)
    local = search in (WARM, PLAIN)
    launch = _prepare(cupy, problems, search, plan)
    plan = launch.plan
    start = _Start(cupy, problems)
    # Doubt about single peaks is settled by a sweep from the values before the last, so the search that may leave
    # doubt keeps them.
    keeps = previous or local
    _refuse(cupy, memory(points, states, len(problems), previous=keeps, teams=plan.teams) + start.memory())
    device = cupy.cuda.Device().id
    for kind in {_kind([problem.eta]) for problem in problems} if local else ():
        _pieces(device, kind)

    clock = Clock(cupy)
    clock.restart()
    tables = _Tables(cupy, problems, plan, keeps, launch.near)
    start.allocate()
    coarse = _Coarse(one.X, one.options["choices"]) if search == COARSE else None
    extra: tuple[Any, ...] = (np.int32(0), np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0))
    if coarse is not None:
        room = cupy.empty((states, coarse.choices.size))
        extra = (
            np.int32(coarse.choices.size),
            cupy.asarray(coarse.choices),
            cupy.asarray(coarse.left),
            cupy.asarray(coarse.weight),
            room,
        )
    clock.lap("allocate")
    tables.load()
    start.load()
    clock.lap("load")
    guessed = start.work(tables)
    launch.kernel(
        (plan.blocks * plan.teams,),
        (plan.threads,),
        (
            tables.rows,
            np.int32(points),
            np.int32(plan.span),
            np.int32(plan.blocks),
            np.int32(len(problems)),
            np.int32(min(one.max_sweeps, 2**31 - 1)),
            np.int32(one.options.get("interval", 1)),
            tables.words,
            tables.expectations,
            tables.parts,
            np.int32(one.rule == "spans"),
            np.int32(guessed),
            np.int32(launch.near),
            *extra,
        ),
        shared_mem=launch.shared,
    )
    outcomes = tables.outcome.get()
    settled: dict[int, Solution] = {}
    for i, problem in enumerate(problems):
        if local and outcomes[i, 3]:
            settled[i] = _settle(cupy, problem, tables, i, outcomes[i])
    clock.lap("solve")
    values = _fetch(tables.value)
    policies = _fetch(tables.policy)
    befores = _fetch(tables.previous) if previous else None
    clock.lap("read")
    seconds = {part: spent / len(problems) for part, spent in clock.seconds.items()}
    solutions = []
    for i, problem in enumerate(problems):
        if i in settled:
            solutions.append(replace(settled[i], seconds=seconds))
            continue
        sweeps, residual, converged, doubt = outcomes[i]
        interval = int(problem.options.get("interval", 1))
        bound = float("inf")
        if problem.rule != "own" and not doubt and search != PUBLISHED:
            bound = error_bound(float(residual), values[i], problem.Q, problem.beta, problem.eta)
        solutions.append(
            Solution(
                value=values[i],
                policy=policies[i],
                sweeps=int(sweeps),
                maximising_sweeps=(int(sweeps) + interval - 1) // interval,
                residual=float(residual),
                error_bound=bound,
                converged=bool(converged),
                seconds=seconds,
                method=problem.method,
                previous=befores[i] if befores is not None else None,
                choices=coarse.choices if coarse is not None else None,
            )
        )
    return solutions


class _Exact:
    """Sweeps of one problem, launch by launch, on arrays of the current device."""

    def __init__(self, cupy: Any, problem: Arguments, X: Any, W: Any, Q: Any) -> None:
        self.cupy = cupy
        self.points, self.states = problem.W.shape
        self.beta, self.eta = problem.beta, problem.eta
        self.X, self.W, self.Q = X, W, Q
        self.ev = cupy.empty((self.states, self.points))
        self.expectation, self.level, self.hold = _pieces(cupy.cuda.Device().id, _kind([problem.eta]))

    def _sizes(self) -> tuple[np.int32, np.int32]:
        return np.int32(self.points), np.int32(self.states)

    def expect(self, V: Any) -> None:
        grid = (math.ceil(self.points * self.states / 256),)
        self.expectation(grid, (256,), (self.Q, V, np.float64(self.beta), *self._sizes(), self.ev))

    def maximise(self, V: Any) -> tuple[Any, Any]:
        """``TV`` and its policy by divide and conquer."""
        self.expect(V)
        value = self.cupy.empty((self.points, self.states))
        policy = self.cupy.empty((self.points, self.states), dtype=np.int32)
        step = 1 << (self.points.bit_length() - 1)
        while step:
            warps = (self.points // step + 1) // 2 * self.states
            self.level(
                (math.ceil(warps / 4),),
                (128,),
                (self.X, self.W, self.ev, np.float64(self.eta), *self._sizes(), np.int32(step), value, policy),
            )
            step //= 2
        return value, policy

    def keep(self, V: Any, policy: Any) -> Any:
        """A sweep with the policy held fixed."""
        self.expect(V)
        value = self.cupy.empty((self.points, self.states))
        grid = (math.ceil(self.points * self.states / 256),)
        self.hold(grid, (256,), (self.X, self.W, self.ev, policy, np.float64(self.eta), *self._sizes(), value))
        return value

    def measure(self, value: Any, V: Any, rule: str) -> tuple[float, np.ndarray[Any, np.dtype[np.float64]]]:
        """What the rule compares with epsilon, and what it adds to each state's values in the end."""
        cupy = self.cupy
        change = cupy.where(value == V, 0.0, value - V)
        high, low = change.max(axis=0).get(), change.min(axis=0).get()
        if rule == "change":
            return float(np.maximum(high, -low).max()), np.zeros(self.states)
        if rule == "span":
            middle = np.full(self.states, (high.max() + low.min()) / 2)
            return float((high.max() - low.min()) / 2), shifts(middle, self.Q.get(), self.beta)
        return float(((high - low) / 2).max()), shifts((high + low) / 2, self.Q.get(), self.beta)


def _settle(cupy: Any, problem: Arguments, tables: _Tables, i: int, outcome: Any) -> Solution:
    """Repeat the last sweep by a search that needs no single peak, and go on with it if need be."""
    exact = _Exact(cupy, problem, tables.X[i], tables.W[i], tables.Q[i])
    if outcome[2]:
        V, sweeps = tables.previous[i], int(outcome[0]) - 1
    else:
        # The local search may have gone astray for good.
        V, sweeps = tables.V0[i], 0
    first = sweeps
    while True:
        value, policy = exact.maximise(V)
        sweeps += 1
        measured, shift = exact.measure(value, V, problem.rule)
        if measured < problem.epsilon or sweeps >= problem.max_sweeps:
            break
        V = value
    return _finish(problem, value, policy, V, shift, sweeps, sweeps, measured, sweeps - first)


def _finish(
    problem: Arguments,
    value: Any,
    policy: Any,
    V: Any,
    shift: np.ndarray[Any, np.dtype[np.float64]],
    sweeps: int,
    maximising: int,
    measured: float,
    exact_sweeps: int,
) -> Solution:
    values = value.get() + shift
    return Solution(
        value=values,
        policy=policy.get(),
        sweeps=sweeps,
        maximising_sweeps=maximising,
        residual=measured,
        error_bound=error_bound(measured, values, problem.Q, problem.beta, problem.eta),
        converged=measured < problem.epsilon,
        method=problem.method,
        previous=V.get(),
        exact_sweeps=exact_sweeps,
    )


def _solve_mpi(cupy: Any, problem: Arguments) -> Solution:
    """Modified policy iteration. Fixed-policy sweeps do not keep values concave, so it always searches exactly."""
    points, states = problem.W.shape
    start = _Start(cupy, [problem])
    _refuse(cupy, memory(points, states) + 8 * 4 * points * states + start.memory())
    _pieces(cupy.cuda.Device().id, _kind([problem.eta]))
    clock = Clock(cupy)
    clock.restart()
    tables = _Tables(cupy, [problem], Layout(32, 1, 1, 1, 1, points), previous=False, near=True)
    start.allocate()
    exact = _Exact(cupy, problem, tables.X[0], tables.W[0], tables.Q[0])
    clock.lap("allocate")
    tables.load()
    start.load()
    clock.lap("load")
    start.work(tables)
    V = tables.V0[0]
    sweeps = maximising = 0
    while True:
        value, policy = exact.maximise(V)
        sweeps += 1
        maximising += 1
        measured, shift = exact.measure(value, V, problem.rule)
        if measured < problem.epsilon or sweeps >= problem.max_sweeps:
            break
        V = value
        for _ in range(min(problem.options["inner"], problem.max_sweeps - sweeps - 1)):
            V = exact.keep(V, policy)
            sweeps += 1
    clock.lap("solve")
    solution = _finish(problem, value, policy, V, shift, sweeps, maximising, measured, maximising)
    clock.lap("read")
    return replace(solution, seconds=clock.seconds)
