"""Energy that this computer uses, in joules: of processors by Linux's counters, of NVIDIA cards by their driver.

Counters are of whole processor packages and cards, so that energy used while idle and by other programs is included.
Only root may read the counters of processors (``/sys/class/powercap/intel-rapl:N/energy_uj``), and virtual machines
seldom have them.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

POWERCAP = Path("/sys/class/powercap")
"""Folder in which Linux has one folder for each processor package, ``intel-rapl:0`` and so on, of AMD, too."""

NVML = "libnvidia-ml.so.1"
"""Library of NVIDIA's driver."""


@dataclass(frozen=True)
class Counter:
    """A counter of energy.

    Parameters
    ----------
    read
        Function that returns the present value of the counter, in joules.
    wraps
        Value in joules at which the counter starts again at 0; infinity (default) if it never does.
    """

    read: Callable[[], float]
    wraps: float = math.inf


def processor_counters(folder: Path = POWERCAP) -> list[Counter]:
    """Return a counter for each package of processors that can be read here; an empty list if none can be read."""
    found = []
    for package in sorted(folder.glob("intel-rapl:*")):
        # Parts of a package, as in intel-rapl:0:1, are counted with it.
        if package.name.count(":") > 1:
            continue
        try:
            wraps = int((package / "max_energy_range_uj").read_text()) * 1e-6
            counter = Counter(lambda file=package / "energy_uj": int(file.read_text()) * 1e-6, wraps)  # type: ignore[misc]
            counter.read()
        except (OSError, ValueError):
            continue
        found.append(counter)
    return found


def card_counters(library: str = NVML, card: int = 0) -> list[Counter]:
    """Return the energy counter of NVIDIA card number ``card``; an empty list if the driver or the card has none."""
    try:
        nvml = ctypes.CDLL(library)
        handle, joules = ctypes.c_void_p(), ctypes.c_ulonglong()
        if nvml.nvmlInit_v2() or nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(card), ctypes.byref(handle)):
            return []
        # Millijoules since the driver was loaded; cards before Volta do not count.
        ask = nvml.nvmlDeviceGetTotalEnergyConsumption
        if ask(handle, ctypes.byref(joules)):
            return []
    except (OSError, AttributeError):
        return []

    def read() -> float:
        ask(handle, ctypes.byref(joules))
        return joules.value * 1e-3

    return [Counter(read)]


@dataclass
class Meter:
    """Measures the energy used since :meth:`start`, in joules, as the sum over all counters.

    Parameters
    ----------
    counters
        By default none: :meth:`joules` is then nan.
    """

    counters: list[Counter] = field(default_factory=list)
    _begun: list[float] = field(default_factory=list)

    def start(self) -> None:
        """Start measuring from 0."""
        self._begun = [counter.read() for counter in self.counters]

    def joules(self) -> float:
        """Return the joules since :meth:`start`; nan without counters."""
        if not self.counters:
            return math.nan
        total = 0.0
        for counter, before in zip(self.counters, self._begun, strict=True):
            spent = counter.read() - before
            total += spent if spent >= 0 else spent + counter.wraps
        return total


def meter(device: str) -> Meter:
    """Return the meter for solves on ``device``: of the processors, and for ``"gpu"`` also of the first card.

    For a card without a counter the meter has no counters, as the energy of the processors alone would be too small.
    """
    processors = processor_counters()
    if device != "gpu":
        return Meter(processors)
    card = card_counters()
    return Meter(processors + card if card else [])
