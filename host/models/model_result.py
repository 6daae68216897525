"""What results of models of the general form have in common: a file, and rows of the report."""

from __future__ import annotations

import math
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from beltline.host.results import archive, general_record
from beltline.host.results.files import check_target
from beltline.host.results.general_result import GeneralResult

SUFFIXES = (".npz",)
"""File types that such results are saved as."""


class ModelResult:
    """A model and its solution. Subclass it as a frozen dataclass with these two fields first."""

    archive_kind: ClassVar[str]
    """Of its archive."""

    model: Any
    solution: GeneralResult

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything to ``path`` (``.npz``), whole or not at all, for :func:`beltline.load`; return the path.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file.
        OSError
            The disk refused; nothing is left behind.
        """
        target = check_target("out", path, SUFFIXES)
        facts, arrays = general_record.parts_of(self.solution)
        archive.write(target, self.archive_kind, {**self._parts(), "solution": facts}, arrays)
        return target

    def _parts(self) -> dict[str, Any]:
        """What a file holds beside the solution."""
        return {"model": asdict(self.model)}

    def _bound(self) -> str:
        """The error bound, in the report."""
        bound = self.solution.error_bound
        if not math.isfinite(bound):
            return "none: max |V - V*| is not known"
        return f"max |V - V*| <= {bound:.3g}, V* exact on the same grid (roundings counted)"

    def _spent(self) -> list[tuple[str, str]]:
        """Rows of the report on the work."""
        found = self.solution
        return [
            ("sweeps", f"{found.sweeps:,}, {found.evaluations:,} evaluations"),
            ("this computer", ", ".join(f"{name} {spent:.2f} s" for name, spent in found.timing.items())),
        ]
