"""CUDA kernels on the processor. The substitutes for CUDA (``cuda_on_cpu.h``) and CuPy have their calls and semantics.

All threads of a launch run at the same time and meet at barriers, and memory has arbitrary content at first.
"""

import contextlib
import ctypes
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")


class HostArray(np.ndarray):
    """An array of the device."""

    def get(self):
        return np.array(self)


def _passed(argument):
    if isinstance(argument, np.ndarray):
        assert argument.flags.c_contiguous
        return ctypes.c_void_p(argument.ctypes.data)
    kinds = {np.int32: ctypes.c_int, np.int64: ctypes.c_longlong, np.float64: ctypes.c_double}
    return kinds[type(argument)](argument.item())


class Kernel:
    """A compiled kernel; ``launches`` records blocks, threads and bytes of shared memory of each launch."""

    def __init__(self, run, launches):
        self.run, self.launches = run, launches
        self.max_dynamic_shared_size_bytes = 48 * 1024

    def __call__(self, grid, block, arguments, shared_mem):
        assert shared_mem <= self.max_dynamic_shared_size_bytes
        self.launches.append((grid[0], block[0], shared_mem))
        self.run(ctypes.c_uint(grid[0]), ctypes.c_uint(block[0]), *(_passed(argument) for argument in arguments))


class Compiler:
    """Compiles kernels with g++, each once for the same macros."""

    def __init__(self, directory):
        self.directory, self.compiled = directory, {}

    def __call__(self, code, options, kernel):
        key = code, options
        if key not in self.compiled:
            path = self.directory / f"kernel{len(self.compiled)}"
            # A runner has the kernel's parameter types.
            runner = (
                "template <class... P> static void pass(unsigned b, unsigned n, void (*f)(P...), P... p)"
                " { launch(b, n, f, p...); }\n"
                f'extern "C" void run(unsigned b, unsigned n, PARAMETERS) {{ pass(b, n, {kernel}, NAMES); }}\n'
            )
            parameters = code[code.index(f") {kernel}(") + len(f") {kernel}(") :]
            parameters = " ".join(parameters[: parameters.index(") {")].split())
            names = ", ".join(text.split()[-1].lstrip("*") for text in parameters.split(","))
            text = (Path(__file__).parent / "cuda_on_cpu.h").read_text() + code
            text += runner.replace("PARAMETERS", parameters).replace("NAMES", names)
            path.with_suffix(".cpp").write_text(text)
            macros = [option for option in options if option.startswith("-D")]
            command = ["g++", "-std=c++20", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "-pthread", *macros]
            command += [
                "-Wall",
                "-Werror",
                "-Wno-unused-function",
                "-Wno-unused-variable",
                "-Wno-sign-compare",
                "-Wno-unknown-pragmas",
            ]
            # Reading ahead must stay within the agents.
            command += ["-Wno-maybe-uninitialized", f"{path}.cpp", "-o", f"{path}.so"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            self.compiled[key] = ctypes.CDLL(f"{path}.so")
        return self.compiled[key].run


@contextlib.contextmanager
def in_small_blocks(monkeypatch, module, compile_kernel, kernel, every):
    """Do the same as :func:`stand_in`, with blocks of 8 threads and launches of ``every`` steps, so that there are
    many.
    """
    found = stand_in(monkeypatch, module, compile_kernel, kernel)
    monkeypatch.setattr(module, "THREADS", 8)
    monkeypatch.setattr(module, "EVERY", every)
    module._kernel.cache_clear()
    yield found
    module._kernel.cache_clear()


def stand_in(monkeypatch, module, compile_kernel, kernel):
    """Replace CuPy by NumPy in ``module``, and its kernel by the one that g++ compiles.

    Returns the device, of 3 multiprocessors, and its launches.
    """
    launches = []
    made = {}

    def raw_module(code, options, enable_cooperative_groups):
        assert enable_cooperative_groups
        made[options] = Kernel(compile_kernel(code, options, kernel), launches)
        return SimpleNamespace(get_function=lambda name: {kernel: made[options]}[name])

    device = SimpleNamespace(
        id=0,
        mem_info=(2**34, 2**34),
        attributes={
            "MultiProcessorCount": 3,
            "MaxSharedMemoryPerMultiprocessor": 228 * 1024,
            "MaxSharedMemoryPerBlockOptin": 227 * 1024,
        },
    )
    fake = SimpleNamespace(
        RawModule=raw_module,
        asarray=lambda table: np.array(table, order="C").view(HostArray),
        empty=lambda shape, kind=np.float64: np.full(shape, np.nan, kind).view(HostArray),
        zeros=lambda shape, kind=np.float64: np.zeros(shape, kind).view(HostArray),
        get_default_memory_pool=lambda: SimpleNamespace(free_bytes=lambda: 0),
        cuda=SimpleNamespace(
            Device=lambda: device, get_current_stream=lambda: SimpleNamespace(synchronize=lambda: None)
        ),
    )
    monkeypatch.setattr(module, "available", lambda: "")
    monkeypatch.setattr(module, "cupy_module", lambda: fake)
    return SimpleNamespace(device=device, launches=launches)
