"""Refuse what does not fit into the memory of this computer, as other wrong input."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from beltline.gpu_ref.memory import check_memory
from beltline.host.problem.checks import ProblemError


@contextlib.contextmanager
def memory_as_problem_error() -> Iterator[None]:
    """Raise a :class:`ProblemError` in place of a ``MemoryError`` of the block."""
    try:
        yield
    except MemoryError as error:
        raise ProblemError(str(error) or "the problem does not fit in the memory of this computer") from error


def check_tables(entries: int, **sizes: int) -> None:
    """Check that the tables of a model can be allocated.

    Parameters
    ----------
    entries
        Number of ``float64`` entries of all tables that the model makes and holds at the same time, or fewer.
    **sizes
        The parameters on which this number depends, for the message.

    Raises
    ------
    ProblemError
        The tables need more memory than this process can have.
    """
    first, *others = (f"{name} = {size:,}" for name, size in sizes.items())
    with memory_as_problem_error():
        check_memory(8 * entries, first + (f" with {' and '.join(others)}" if others else ""))
