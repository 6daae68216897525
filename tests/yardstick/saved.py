"""Files of every kind as they are written today, and what is in them: ``python -m tests.yardstick.saved`` writes both.

Only files that do not exist are written: those of earlier versions must stay as they are. A kind of file that is new
gets a name of its own.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import beltline as bl

from .problems import Entry
from .reading import read

FOLDER = Path(__file__).parent / "files"
FACTS = FOLDER.with_suffix(".json")

CHECKPOINT, STORE = "checkpoint-emulator.npz", "store"


def _of(name: str, **options: Any) -> Callable[[], Any]:
    kind, number = name.split("-")
    return lambda: bl.solve(Entry(kind, int(number)).solvable, progress=False, **options)


def _model(problem: Callable[[], Any], **options: Any) -> Callable[[], Any]:
    return lambda: bl.solve(problem(), progress=False, **options)


BOTH, NPZ, NETCDF = (".npz", ".nc"), (".npz",), (".nc",)

SAVES: dict[str, tuple[tuple[str, ...], Callable[[], Any]]] = {
    "rbc": (BOTH, _model(lambda: bl.rbc(grid=48))),
    "savings": (BOTH, _of("savings-4")),
    "savings-unverified": (NPZ, _of("savings-1", verify=False)),
    "savings-limit": (NPZ, _of("savings-2", max_sweeps=3)),
    "kinks": (NPZ, _of("kinks-1")),
    "horizon": (BOTH, _of("horizon-1")),
    "life_cycle": (BOTH, _model(lambda: bl.life_cycle(grid=30, states=3, ages=4))),
    "emulator": (BOTH, _model(lambda: bl.rbc(grid=32), device="emulator")),
    "emulator-horizon": (NPZ, _model(lambda: bl.life_cycle(grid=24, states=2, ages=3), device="emulator")),
    "life-by-age": (NPZ, _of("life-1")),
    "general": (NPZ, _of("general-1")),
    "general-ages": (BOTH, _of("general-3")),
    "default": (BOTH, _of("default-0")),
    "stopping": (NPZ, _of("stopping-1")),
    "stopping-ages": (NETCDF, _of("stopping-3")),
    "taste": (BOTH, _of("taste-3")),
    "linear": (NPZ, _of("linear-0")),
    "costs": (NETCDF, _of("costs-1")),
    "bounds": (NPZ, _of("bounds-5")),
    "product": (NPZ, _of("discrete-0")),
    "pairs": (NPZ, _of("discrete-1")),
    "factors": (NPZ, _of("factors-1")),
    "aiyagari": (NPZ, _model(lambda: bl.aiyagari(grid=60, states=3))),
    "aiyagari_types": (NPZ, _model(lambda: bl.aiyagari_types(grid=30, states=2, types=2))),
    "aiyagari_path": (NPZ, _model(lambda: bl.aiyagari_path(grid=30, states=2, periods=12))),
    "arellano": (BOTH, _model(lambda: bl.arellano(bonds=21, incomes=5))),
    "hopenhayn_rogerson": (BOTH, _model(lambda: bl.hopenhayn_rogerson(grid=20, states=4))),
    "retirement": (BOTH, _model(lambda: bl.retirement(grid=60, ages=4))),
    "lumpy_investment": (BOTH, _model(lambda: bl.lumpy_investment(steps=1, states=3))),
    "lumpy_investment-convex": (NPZ, _model(lambda: bl.lumpy_investment(steps=1, states=2, convex=0.1))),
    "cohort": (BOTH, _model(lambda: bl.cohort(grid=20, states=2, first=60, last=80))),
    "krusell_smith": (NPZ, _model(lambda: bl.krusell_smith(points=20, means=2), agents=200, periods=120)),
}
"""What is saved: the formats, and how to solve for it."""


def crc(*tables: Any) -> int:
    """Return the checksum of the bytes of arrays, whatever their shapes."""
    found = 0
    for table in tables:
        found = zlib.crc32(np.ascontiguousarray(table).tobytes(), found)
    return found


def facts_of(result: Any) -> dict[str, Any]:
    """Return what must be found in a file again: checksums of the arrays in one layout, and facts."""
    if hasattr(result, "law"):
        # The law of motion of Krusell and Smith: no result of a problem.
        return {"status": str(result.status), "arrays": crc(result.law, result.policy, result.capital, result.grid)}
    answer = read(result)
    found = {"shape": list(answer.value.shape), "value": crc(answer.value), **answer.facts}
    found |= {"policy": crc(answer.policy), "alternative": crc(answer.alternative)}
    if isinstance(answer.problem, bl.Problem):
        tables = [getattr(answer.problem, name) for name in ("grid", "wealth", "transition", "start")]
        found["problem"] = crc(*tables, np.float64(answer.problem.eta))
    return {name: None if value != value else value for name, value in found.items()}


def checkpoint_facts(path: Path) -> dict[str, Any]:
    """Return the facts of the run that continues from a checkpoint, which it deletes."""
    return facts_of(bl.solve(bl.rbc(grid=32), device="emulator", checkpoint=path, progress=False))


def store_facts(path: Path) -> dict[str, Any]:
    """Return the facts of every result of a store, by key."""
    store = bl.Store(path)
    return {str(line["key"]): facts_of(store.load(str(line["key"]))) for line in store.index()}


def write() -> None:
    """Write every file that does not exist, and its facts as they are after loading it."""
    FOLDER.mkdir(exist_ok=True)
    facts = json.loads(FACTS.read_text(encoding="utf-8")) if FACTS.exists() else {}
    for name, (suffixes, solve) in SAVES.items():
        paths = [FOLDER / f"{name}{suffix}" for suffix in suffixes]
        if not all(path.exists() for path in paths):
            result = solve()
            print(f"{name}: {result.status}", flush=True)
            for path in paths:
                facts[path.name] = facts_of(bl.load(result.save(path)))
    if not (FOLDER / CHECKPOINT).exists():
        bl.solve(bl.rbc(grid=32), device="emulator", checkpoint=FOLDER / CHECKPOINT, max_sweeps=40, progress=False)
        with tempfile.TemporaryDirectory() as folder:
            facts[CHECKPOINT] = checkpoint_facts(Path(shutil.copy(FOLDER / CHECKPOINT, folder)))
    if not (FOLDER / STORE).exists():
        problems = [Entry(kind, 4).made for kind in ("savings", "horizon", "taste")]
        list(bl.solve_many(problems, device="cpu", store=FOLDER / STORE))
        (FOLDER / STORE / "lock").unlink(missing_ok=True)
        facts[STORE] = store_facts(FOLDER / STORE)
    FACTS.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
