"""The arguments of a solve as one object, checked once."""

from __future__ import annotations

import importlib.util
import math
import os
from dataclasses import InitVar, dataclass
from typing import Any, Literal, cast, get_args

import numpy as np

from beltline.host.devices import DEVICES, REFERENCES, known
from beltline.host.problem.checks import ProblemError, real, shown, whole
from beltline.host.solver.checkpoint import Checkpoint
from beltline.host.solver.driver import SWEEP_LIMIT_MAX
from beltline.host.solver.fixed_point import FRACTION_LIMIT, MONEY_LIMIT

Start = Literal["given", "last", "stay", "coarse", "problem"]
"""What a run of a machine begins with. ``"given"``: ``problem.start``. ``"last"``: the last solution of the session.
``"stay"``, ``"coarse"``: those of :func:`beltline.host.solver.starts.start_value`. ``"problem"`` is another word for
``"given"``."""

MachineMethod = Literal["shift"]
"""How a sweep engine can be told to iterate, besides plain sweeps."""

UNNAMED = "auto"
"""As a device: none is named, and rules choose it (:mod:`beltline.host.solver.rules`)."""

MACHINE_ONLY = ("value_bits", "money_bits", "timeout", "checkpoint", "checkpoint_every")
"""Options that the solvers in double precision lack."""


@dataclass(frozen=True)
class SolveOptions:
    """The options of a solve.

    Parameters
    ----------
    tol, max_sweeps, verify, value_bits, money_bits, timeout, checkpoint, checkpoint_every
        As of :func:`beltline.host.solver.solve.solve`.
    method
        Of a solver in double precision, None for its default; of a machine ``"shift"``, or None for plain sweeps. That
        the device has such a method is checked by who knows the device.
    start
        What a run of a machine begins with, a :data:`Start`.
    device
        What the options are for; not kept. A solver in double precision takes none of ``MACHINE_ONLY``.

    Raises
    ------
    ProblemError
        An option is not what its sentence says.

    Examples
    --------
    >>> SolveOptions(tol=1e-6, start="problem").start
    'given'
    """

    tol: float = 1e-10
    max_sweeps: int = 10_000
    verify: bool = True
    value_bits: int | None = None
    money_bits: int | None = None
    timeout: float | None = None
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_every: float | None = None
    method: str | None = None
    start: Start = "given"
    device: InitVar[object] = None

    def __post_init__(self, device: object) -> None:
        if importlib.util.find_spec("numba") is None:
            raise ProblemError(
                "solving needs the Python package numba, which is not installed here: results are checked by compiled "
                "code; `beltline selftest` makes most of its checks without it"
            )
        if isinstance(device, str) and device in REFERENCES:
            for name in MACHINE_ONLY:
                if getattr(self, name) is not None:
                    raise ProblemError(f"{name} is for machines, and device {device!r} is none")
        if isinstance(device, str) and device == UNNAMED:
            for name in MACHINE_ONLY:
                if getattr(self, name) is not None:
                    raise ProblemError(f"{name} is for machines: name one with it, as in device='emulator'")
        checked: dict[str, object] = {
            "start": start_named(self.start),
            "max_sweeps": _sweep_limit(self.max_sweeps),
            "verify": flag("verify", self.verify),
            "timeout": _seconds_limit(self.timeout),
            "tol": real("tol", self.tol, "a number above 0", lambda v: 0 < v < math.inf),
            "value_bits": _fraction_bits("value_bits", self.value_bits, FRACTION_LIMIT),
            "money_bits": _fraction_bits("money_bits", self.money_bits, MONEY_LIMIT),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        self.saving()

    def saving(self) -> Checkpoint | None:
        """The file to save to, None where none was named.

        Raises
        ------
        ProblemError
            It is no place for such a file.
        """
        if self.checkpoint is None:
            if self.checkpoint_every is not None:
                raise ProblemError("checkpoint_every needs a checkpoint, the file to save to")
            return None
        every = {} if self.checkpoint_every is None else {"every": self.checkpoint_every}
        return Checkpoint(self.checkpoint, **every)

    @property
    def shift(self) -> bool:
        """Whether a machine is to shift values between its sweeps."""
        return self.method == "shift"


def start_named(start: object) -> Start:
    """Return ``start`` by its own name.

    Raises
    ------
    ProblemError
        There is no such start.
    """
    if not isinstance(start, str) or start not in get_args(Start):
        *names, last = (repr(name) for name in get_args(Start) if name != "problem")
        raise ProblemError(f"start must be {', '.join(names)} or {last}, not {shown(start)}")
    return cast(Start, "given" if start == "problem" else start)


def machine_method(device: object, method: object, options: dict[str, Any]) -> tuple[MachineMethod | None, Start]:
    """Return the method of a machine and its start, which is taken out of ``options``.

    Parameters
    ----------
    device
        Name, session or device.
    method
        ``"shift"`` or None.
    options
        With ``start``, of method ``"shift"`` only: a :data:`Start`.

    Raises
    ------
    ProblemError
        No such method or start, or the device is made as an assembly line.
    """
    if method is None:
        return None, "given"
    if method != "shift":
        raise ProblemError(f"method can be chosen on the devices {' and '.join(map(repr, REFERENCES))} only")
    if isinstance(device, str) and DEVICES[known(device)].elastic and "lanes" not in options:
        raise no_lanes(device)
    return "shift", start_named(options.pop("start", "given"))


def no_lanes(device: str | None) -> ProblemError:
    """What is wrong with method ``"shift"`` on a device that is made as an assembly line."""
    return ProblemError(f"method 'shift' is for sweep engines, and device {device!r} without lanes is none")


def flag(name: str, value: object) -> bool:
    """Return ``value`` as a bool.

    Raises
    ------
    ProblemError
        It is neither True nor False.
    """
    if not isinstance(value, bool | np.bool_):
        raise ProblemError(f"{name} must be True or False, not {shown(value)}")
    return bool(value)


def _sweep_limit(max_sweeps: object) -> int:
    """``max_sweeps`` if it is a limit that the register holds."""
    wanted = f"a whole number from 1 to {SWEEP_LIMIT_MAX}"
    return whole("max_sweeps", max_sweeps, wanted, lambda v: 1 <= v <= SWEEP_LIMIT_MAX)


def _seconds_limit(timeout: object) -> float | None:
    if timeout is None:
        return None
    return real("timeout", timeout, "a number of seconds above 0, or None", lambda v: 0 < v < math.inf)


def _fraction_bits(name: str, bits: object, most: int) -> int | None:
    if bits is None:
        return None
    return whole(name, bits, f"a whole number from 0 to {most}, or None", lambda b: 0 <= b <= most)
