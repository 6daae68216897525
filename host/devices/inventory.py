"""What there is to solve on here, and why the rest is not: quick, and without opening anything."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

from beltline.host.devices import DEVICES
from beltline.host.devices.base import DeviceError


@dataclass(frozen=True)
class Entry:
    """One line of the list.

    Parameters
    ----------
    name
        What ``device=`` takes.
    place
        Which of several, as in ``"slot 0"``; empty where there is only one.
    what
        What runs, and for one of several, what is known of it.
    missing
        Why it cannot be used here; empty if it can.
    """

    name: str
    place: str
    what: str
    missing: str


def inventory() -> list[Entry]:
    """Return all devices that can be named, those that are here and those that are not."""
    entries = [Entry("auto", "", "the default: a board that is free, else gpu where it pays, else cpu", "")]
    for name, backend in DEVICES.items():
        missing = backend.missing()
        places: list[tuple[str, str, str]] = []
        if not missing:
            try:
                places = backend.places()
            except DeviceError as error:
                missing = str(error)
        if places:
            entries += [Entry(name, place, f"{backend.description}: {what}", lacks) for place, what, lacks in places]
        else:
            entries.append(Entry(name, "", backend.description, missing))
    entries.append(Entry("cpu", "", "the reference solvers in double precision, on the processor", ""))
    entries.append(Entry("gpu", "", "the reference solvers in double precision, on a CUDA card", _no_gpu()))
    return entries


def _no_gpu() -> str:
    # First, because the module below takes a second to import.
    if importlib.util.find_spec("cupy") is None:
        return "package cupy not installed"
    from beltline.gpu_ref.cuda import solver as cuda

    return str(cuda.available())


def table(entries: list[Entry]) -> str:
    """``entries`` as lines with columns: name, what, and whether it is here."""
    rows = [(f"{e.name} {e.place}".rstrip(), e.what, e.missing or "here") for e in entries]
    first, second = (max(len(row[k]) for row in rows) + 2 for k in (0, 1))
    return "".join(f"{name:<{first}}{what:<{second}}{state}\n" for name, what, state in rows)
