"""Files of recorded answers: arrays of all problems end to end, and their facts as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .reading import Answer

TABLES = ("value", "policy", "alternative")


def write(path: Path, answers: Mapping[str, Answer]) -> None:
    """Write the answers by name, without loss; bytes of equal weight stand together, which compresses better."""
    found = {}
    for name in TABLES:
        whole = np.concatenate([getattr(answer, name).ravel() for answer in answers.values()])
        found[name] = whole.view(np.uint8).reshape(whole.size, -1).T
    about = {name: {"shape": answer.value.shape, **answer.facts} for name, answer in answers.items()}
    np.savez_compressed(path, about=json.dumps(about), **found)


def load(path: Path) -> dict[str, Answer]:
    with np.load(path) as file:
        about = json.loads(str(file["about"]))
        whole: list[Any] = [
            np.ascontiguousarray(file[name].T).reshape(-1).view(kind)
            for name, kind in zip(TABLES, (np.float64, np.int32, np.int32), strict=True)
        ]
    answers, begin = {}, 0
    for name, facts in about.items():
        shape = facts.pop("shape")
        end = begin + int(np.prod(shape))
        answers[name] = Answer(*(table[begin:end].reshape(shape) for table in whole), facts)
        begin = end
    return answers
