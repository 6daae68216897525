"""What a device is to the driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hw.registers import Table

Progress = Callable[[str], None]
"""Called with a short line about what is going on; a later line replaces an earlier one."""


class DeviceError(RuntimeError):
    """A device that cannot be opened, or that does not behave as its register map says."""


@runtime_checkable
class Device(Protocol):
    """Registers by name, table windows in blocks, and time to run. Nothing here knows of problems."""

    @property
    def name(self) -> str:
        """What reports call the device."""

    @property
    def clocks_source(self) -> str:
        """Where ``CLOCKS`` comes from, as in "... clocks (modelled by formula)"."""

    def read_register(self, name: str) -> int:
        """Return a whole quantity, however many 32-bit registers it takes."""

    def write_register(self, name: str, value: int) -> None:
        """Write a whole quantity, however many 32-bit registers it takes."""

    def write_block(self, table: Table, first: int, words: NDArray[np.int64]) -> None:
        """Write contiguous 64-bit ``words`` to a table window from word ``first``."""

    def read_block(self, table: Table, first: int, count: int) -> NDArray[np.int64]:
        """Return ``count`` 64-bit words of a table window from word ``first``."""

    def wait(self, seconds: float) -> bool:
        """Let the device go on for about ``seconds``, less when it finishes; true when it is not busy."""

    def close(self) -> None:
        """Let go of the device. Closing twice is no error."""
