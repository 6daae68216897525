"""The page of ``docs/results/`` that shows times of the models, from the file that ``model_rows --out`` writes."""

from __future__ import annotations

from typing import Any

COMMAND = "python -m docs.tables.model_rows"

HEAD = """| model | size | {} | difference |
|---|---|{}---:|
"""

NOTES = """
Seconds are from call to return with verification, once the code is compiled: the median of the number of solves in
brackets. Every model is solved, with `success` true. The difference is the largest from the processor's solution,
relative to its largest absolute value: of the values, or of the price that clears the market. `-` stands where a
device does not solve the model, or no other one does.
"""


def page(content: dict[str, Any], name: str) -> str:
    """Return the page of a file of rows, as Markdown.

    Parameters
    ----------
    content : dict
        Content of the file: ``machine``, ``repeats`` and ``rows``.
    name : str
        Name of the file without its suffix.
    """
    about, rows = content["machine"], content["rows"]
    cores = about["cores"]
    where = f"{cores} core{'' if cores == 1 else 's'}" + (f" and {about['gpu']}" if "gpu" in about else "")
    parts = [f"# Models on {about['date']}: {where}\n", f"\n`{COMMAND} --out {name}.json` measured these times.\n\n"]
    parts += [f"- {key}: {value}\n" for key, value in about.items() if value is not None]
    devices = list(dict.fromkeys(row["device"] for row in rows))
    parts += ["\n", HEAD.format(" | ".join(f"`{device}`, s" for device in devices), "---:|" * len(devices))]
    for model, size in dict.fromkeys((row["model"], row["size"]) for row in rows):
        found = {row["device"]: row for row in rows if (row["model"], row["size"]) == (model, size)}
        times = [_time(found.get(device)) for device in devices]
        apart = [row["difference"] for row in found.values() if row["difference"] is not None]
        parts.append(f"| {' | '.join([model, size, *times, f'{max(apart):.1e}' if apart else '-'])} |\n")
    return "".join([*parts, NOTES])


def _time(row: dict[str, Any] | None) -> str:
    return "-" if row is None else f"{row['seconds']:.3g} ({row['solves']})"
