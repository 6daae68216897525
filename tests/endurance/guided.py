"""A search by Atheris, guided by the code that inputs reach, for files that are not refused in one sentence."""

from __future__ import annotations

import inspect
import random
import sys
import zipfile
from pathlib import Path
from typing import Any

from beltline.host.results import archive, facts, fields, netcdf, record
from beltline.host.solver import run
from support.damage import SEALS, damaged, read
from support.files import WRITERS, content, small

SECONDS = 60
"""Longest time for a file, also on a busy computer, after which libFuzzer ends the run."""


def fuzz(folder: Path, kind: str, seconds: int, seed: int) -> int:
    """Search for ``seconds``; ends the process with libFuzzer's exit code, which is 0 if nothing was found."""
    import atheris

    for module in (archive, facts, fields, netcdf, record, run, zipfile):
        for owner in (module, *(kind for kind in vars(module).values() if inspect.isclass(kind))):
            for function in vars(owner).values():
                if inspect.isfunction(function) and function.__module__ == module.__name__:
                    # In place. Not when they are imported, because Numba compiles some modules.
                    atheris.instrument_func(function)
    result = small()
    path = WRITERS[kind](result, folder)
    whole, expected = path.read_bytes(), content(kind, path, result)
    rng = random.Random(seed)
    corpus = folder / "corpus"
    corpus.mkdir()
    for number in range(40):
        (corpus / str(number)).write_bytes(damaged(rng, kind, whole, SEALS[number % 2]) if number else whole)
    # Otherwise hardly an input would pass the checksums of the members of a zip file.
    zipfile.ZipExtFile._update_crc = lambda self, data: None  # type: ignore[attr-defined,method-assign]

    def target(given: Any) -> None:
        data = bytes(given)
        path.write_bytes(data + netcdf.seal(data) if kind == "nc" else data)
        end = read(kind, path, result, expected, "content")
        if end.startswith("raw"):
            raise AssertionError(end)

    options = [f"-max_total_time={seconds}", f"-timeout={SECONDS}", f"-seed={seed}", "-rss_limit_mb=2048"]
    found = Path("build", "fuzz")
    found.mkdir(parents=True, exist_ok=True)
    options += [f"-max_len={2 * len(whole)}", f"-artifact_prefix={found}/", f"-report_slow_units={SECONDS}"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], target)
    atheris.Fuzz()
    return 0
