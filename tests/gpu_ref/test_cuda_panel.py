"""The panel's CUDA kernels: compiled for the processor and run there, with the host's code, and on a device if any.

What stands in for CUDA (``cuda_on_cpu.h``) and for CuPy (below) has their calls and their semantics: threads of a block
run at the same time and meet at barriers, and memory of a block begins as rubbish.
"""

import ctypes
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from test_panel import CHAIN, SHARES, surface

from gpu_ref import cuda_panel, panel
from gpu_ref.cuda_panel import near_bytes, options, simulate, source
from gpu_ref.panel import INTERPOLATIONS
from gpu_ref.shocks import draw_shocks

gpu = pytest.mark.skipif(bool(cuda_panel.available()), reason=cuda_panel.available() or "there is a device")
compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")

RUNNERS = """
extern "C" void run_begin(unsigned int b, unsigned int n, const double *policy, const double *grid,
    const double *means, int points, int columns, const signed char *aggregate, int t, int last, const double *sums,
    int blocks, double agents, double *capital, double *values, Cubic *cubics, unsigned long long *counts) {
    launch(b, n, begin, policy, grid, means, points, columns, aggregate, t, last, sums, blocks, agents, capital,
        values, cubics, counts);
}
extern "C" void run_move(unsigned int b, unsigned int n, Real *k, const unsigned long long *employed,
    const Cubic *cubics, const Cell *cells, const unsigned short *places, int points, int entries, long long base,
    int shift, long long agents, double *sums, unsigned long long *counts) {
    launch(b, n, move, k, employed, cubics, cells, places, points, entries, base, shift, agents, sums, counts);
}
"""


class HostArray(np.ndarray):
    def get(self):
        return np.array(self)


def passed(argument):
    if isinstance(argument, np.ndarray):
        assert argument.flags.c_contiguous
        return ctypes.c_void_p(argument.ctypes.data)
    kinds = {np.int32: ctypes.c_int, np.int64: ctypes.c_longlong, np.float64: ctypes.c_double}
    return kinds[type(argument)](argument.item())


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Libraries by the options that the kernels were compiled with."""
    directory, kept = tmp_path_factory.mktemp("cuda"), {}

    def compile_kernels(code, given):
        if given not in kept:
            text = (Path(__file__).parent / "cuda_on_cpu.h").read_text() + code + RUNNERS
            path = directory / f"panel{len(kept)}"
            path.with_suffix(".cpp").write_text(text)
            macros = [option for option in given if option.startswith("-D")]
            command = ["g++", "-std=c++20", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "-pthread", *macros]
            command += [
                "-Wall",
                "-Werror",
                "-Wno-unused-function",
                "-Wno-sign-compare",
                # The runner's barrier outlives all threads that see it.
                "-Wno-dangling-pointer",
                f"{path}.cpp",
                "-o",
                f"{path}.so",
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            kept[given] = ctypes.CDLL(f"{path}.so")
        return kept[given]

    return compile_kernels


@pytest.fixture
def on_cpu(monkeypatch, compiled):
    """Let CuPy be NumPy, and kernels those that g++ compiles; blocks small, so that there are many."""
    launches = []

    class Kernel:
        def __init__(self, name, run):
            self.name, self.run = name, run
            self.max_dynamic_shared_size_bytes = 48 * 1024

        def __call__(self, grid, block, arguments, shared_mem):
            assert shared_mem <= self.max_dynamic_shared_size_bytes
            launches.append((self.name, grid[0], block[0], shared_mem))
            self.run(ctypes.c_uint(grid[0]), ctypes.c_uint(block[0]), *(passed(argument) for argument in arguments))

    def module(code, options):
        library = compiled(code, options)
        return SimpleNamespace(get_function=lambda name: Kernel(name, library[f"run_{name}"]))

    device = SimpleNamespace(id=0, mem_info=(2**34, 2**34))
    fake = SimpleNamespace(
        RawModule=module,
        asarray=lambda table: np.array(table, order="C").view(HostArray),
        empty=lambda shape, kind=np.float64: np.full(shape, np.nan, kind).view(HostArray),
        zeros=lambda shape, kind=np.float64: np.zeros(shape, kind).view(HostArray),
        get_default_memory_pool=lambda: SimpleNamespace(free_bytes=lambda: 0),
        cuda=SimpleNamespace(
            Device=lambda: device, get_current_stream=lambda: SimpleNamespace(synchronize=lambda: None)
        ),
    )
    monkeypatch.setattr(cuda_panel, "available", lambda: "")
    monkeypatch.setattr(cuda_panel, "cupy_module", lambda: fake)
    monkeypatch.setattr(cuda_panel, "THREADS", 8)
    monkeypatch.setattr(cuda_panel, "AGENTS", 64)
    monkeypatch.setattr(cuda_panel, "options", lambda method, near: options(method, near, threads=8, agents=64))
    monkeypatch.setattr(
        cuda_panel, "near_bytes", lambda points, entries, kind: near_bytes(points, entries, kind, threads=8)
    )
    cuda_panel._kernels.cache_clear()
    yield SimpleNamespace(device=device, launches=launches)
    cuda_panel._kernels.cache_clear()


def agree(found, wanted, slack):
    assert found.wealth.dtype == wanted.wealth.dtype
    assert np.abs(found.capital - wanted.capital).max() <= slack
    assert np.abs(found.wealth - wanted.wealth).max() <= slack
    assert (found.below, found.above, found.outside) == (wanted.below, wanted.above, wanted.outside)


@compiler
@pytest.mark.parametrize("method", INTERPOLATIONS)
@pytest.mark.parametrize("near", [True, False])
def test_kernels_on_the_processor_do_what_numba_does(on_cpu, monkeypatch, method, near):
    if not near:
        monkeypatch.setattr(cuda_panel, "NEAR_LIMIT", 0)
    policy, x, m = surface()
    shocks = draw_shocks(150, 25, CHAIN, SHARES, seed=1)
    wanted = panel.simulate(policy, x, m, shocks, 38.0, method)
    # Sums in another order may move a wealth in single precision by a unit in its last place.
    agree(simulate(policy, x, m, shocks, 38.0, method), wanted, 1e-4 if method == "bicubic-single" else 1e-11)
    assert [(name, blocks) for name, blocks, *_ in on_cpu.launches] == [("begin", 1), ("move", 3)] * 25 + [("begin", 1)]
    assert (max(shared for *_, shared in on_cpu.launches) > 4096) == near


@compiler
def test_kernels_count_those_who_leave(on_cpu):
    policy, x, m = surface()
    shocks = draw_shocks(100, 3, CHAIN, SHARES)
    for table, start in ((policy * 0 + 201.0, 38.0), (policy * 0 - 1.0, 0.0)):
        agree(simulate(table, x, m, shocks, start), panel.simulate(table, x, m, shocks, start), 1e-12)


@compiler
def test_a_panel_too_large_for_the_device_is_refused(on_cpu):
    on_cpu.device.mem_info = (2**20, 2**34)
    policy, x, m = surface()
    with pytest.raises(MemoryError, match="the panel needs 0.06 GiB of device memory, and 0.00 GiB are free"):
        simulate(policy, x, m, draw_shocks(100, 3, CHAIN, SHARES), 38.0)


@pytest.mark.skipif(not cuda_panel.available(), reason="there is a device")
def test_without_a_device_it_says_so():
    policy, x, m = surface()
    with pytest.raises(RuntimeError, match="CU"):
        simulate(policy, x, m, draw_shocks(100, 3, CHAIN, SHARES), 38.0)


def test_kernels_of_every_method_are_told_apart():
    told = {options(method, near) for method in INTERPOLATIONS for near in (True, False)}
    assert len(told) == 6
    assert all(option.split("=")[0][2:] in source() for given in told for option in given if option[:2] == "-D")


@gpu
@pytest.mark.parametrize("method", INTERPOLATIONS)
@pytest.mark.parametrize("points", [60, 500, 4000])
def test_the_device_does_what_the_processor_does(method, points):
    policy, x, m = surface(points)
    shocks = draw_shocks(100_000, 50, CHAIN, SHARES)
    found = simulate(policy, x, m, shocks, 38.0, method)
    wanted = panel.simulate(policy, x, m, shocks, 38.0, method)
    slack = 1e-3 if method == "bicubic-single" else 1e-9
    assert np.abs(found.capital - wanted.capital).max() < slack
    assert np.abs(found.wealth - wanted.wealth).max() < 10 * slack
    again = simulate(policy, x, m, shocks, 38.0, method)
    assert (again.wealth == found.wealth).all()
    assert (again.capital == found.capital).all()
