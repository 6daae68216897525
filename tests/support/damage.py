"""Damaged files: ways to damage one, and what must then be true of reading it."""

from __future__ import annotations

import contextlib
import io
import random
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import beltline as bl
from beltline.host.results import archive, netcdf
from support.files import content

SEALS = ("", "file", "content")
"""What was computed again after the damage: nothing; the checksums of the file's format; also that of its content."""


def flip(rng: random.Random, data: bytearray) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def flips(rng: random.Random, data: bytearray) -> None:
    for _ in range(rng.randrange(2, 20)):
        flip(rng, data)


def at_an_end(rng: random.Random, data: bytearray) -> None:
    """Change a byte near the beginning or the end, where directories and headers are."""
    reach = min(len(data), 400)
    place = rng.randrange(reach)
    data[place if rng.random() < 0.5 else -1 - place] = rng.randrange(256)


def cut(rng: random.Random, data: bytearray) -> None:
    del data[rng.randrange(len(data)) :]


def insert(rng: random.Random, data: bytearray) -> None:
    place = rng.randrange(len(data) + 1)
    data[place:place] = rng.randbytes(rng.randrange(1, 64))


def remove(rng: random.Random, data: bytearray) -> None:
    place = rng.randrange(len(data))
    del data[place : place + rng.randrange(1, 64)]


def blank(rng: random.Random, data: bytearray) -> None:
    place = rng.randrange(len(data))
    data[place : place + 512] = bytes(len(data[place : place + 512]))


def repeat(rng: random.Random, data: bytearray) -> None:
    place = rng.randrange(len(data))
    data[place:place] = data[place : place + 512]


WAYS: tuple[Callable[[random.Random, bytearray], None], ...] = (
    flip,
    flips,
    at_an_end,
    cut,
    insert,
    remove,
    blank,
    repeat,
)


def damaged(rng: random.Random, kind: str, whole: bytes, seal: str, way: Callable[..., None] | None = None) -> bytes:
    """Return ``whole``, a file of a kind of :data:`support.files.WRITERS`, damaged in one way, with a new ``seal``."""
    way = way or rng.choice(WAYS)
    data = bytearray(whole)
    if not seal:
        way(rng, data)
        return bytes(data)
    if kind == "nc":
        del data[-len(netcdf.seal(b"")) :]
        way(rng, data)
        return bytes(data) + netcdf.seal(data)
    with zipfile.ZipFile(io.BytesIO(whole)) as file:
        members = {name: bytearray(file.read(name)) for name in file.namelist()}
    way(rng, members[rng.choice(list(members))])
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        for name, member in members.items():
            file.writestr(name, bytes(member))
    return stream.getvalue()


def read(kind: str, path: Path, result: bl.Result, expected: Any, seal: str) -> str:
    """Read a file, and return ``refused``, ``harmless``, ``changed`` or ``raw: ...``, an error that is no sentence.

    A checksum of the content that was computed again is as good as one that is not checked.
    """
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("error")
            if seal == "content":
                stack.enter_context(mock.patch.object(archive, "checksum", return_value=mock.ANY))
            found = content(kind, path, result)
    except bl.ProblemError as error:
        sentence = str(error)
        return "refused" if repr(str(path)) in sentence and sentence.isprintable() else f"raw: {sentence!r}"
    except Exception as error:
        return f"raw: {error!r}"
    return "harmless" if found == expected else "changed"
