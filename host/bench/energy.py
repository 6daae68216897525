"""Joules that this computer says it used: of its processors by Linux's counters, and of NVIDIA's cards by their driver.

Counters are of whole packages and cards: what they take while idle, and what other programs make them do, is in it.
Linux lets nobody but root read the processors' (``/sys/class/powercap/intel-rapl:N/energy_uj``), and virtual machines
seldom have them.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

POWERCAP = Path("/sys/class/powercap")
"""Where Linux shows a folder for each package of processors, ``intel-rapl:0`` and so on; AMD's have the same name."""

NVML = "libnvidia-ml.so.1"
"""Library of NVIDIA's driver."""


@dataclass(frozen=True)
class Counter:
    """A counter of energy.

    Parameters
    ----------
    read
        Returns what it shows, in joules.
    wraps
        Joules at which it begins again at 0; infinite where it does not.
    """

    read: Callable[[], float]
    wraps: float = math.inf


def processor_counters(folder: Path = POWERCAP) -> list[Counter]:
    """Return a counter for each package of processors that can be read here; none where Linux refuses."""
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
    """Return a counter of an NVIDIA card, by its number; none where the driver or the card has none."""
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
    """Joules between two moments, of all the counters together.

    Parameters
    ----------
    counters
        By default none: :meth:`joules` is then nan.
    """

    counters: list[Counter] = field(default_factory=list)
    _begun: list[float] = field(default_factory=list)

    def start(self) -> None:
        """Begin anew."""
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
    """Return the meter of what a device works on: the processors, for ``"gpu"`` also the first card.

    A card without a counter leaves the meter empty, as processors alone would say too little.
    """
    processors = processor_counters()
    if device != "gpu":
        return Meter(processors)
    card = card_counters()
    return Meter(processors + card if card else [])
