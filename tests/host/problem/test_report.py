"""Reports of problems, results and economies in notebooks."""

from __future__ import annotations

from dataclasses import replace

import pytest

import beltline as bl
from beltline.host.problem.report import REPORT_WIDTH, as_html

LONGEST = 3000
"""Largest number of characters of a report."""

GIVEN = bl.rbc(grid=256)


def test_a_problem_is_printed_in_a_few_lines() -> None:
    text = str(GIVEN)
    assert text == repr(GIVEN)
    assert text.startswith("RBC\n  grid          capital k, 256 points from ")
    assert "\n  beta          0.984\n" in text
    assert "horizon       3 ages" in str(replace(GIVEN, horizon=3))
    assert all(len(line) <= REPORT_WIDTH for line in text.splitlines())
    assert "form          general, alternatives work, retire, rest" in str(bl.retirement(grid=60, ages=3).problem())


def test_html_says_what_the_text_says() -> None:
    result = bl.solve(replace(GIVEN, name="<b> & co"), progress=False)
    shown = result._repr_html_()
    assert shown.startswith("<table><caption>&lt;b&gt; &amp; co, 256 grid points x 4 states, on device cpu</caption>")
    assert shown.count("<tr>") == len([line for line in str(result).splitlines()[1:] if line[2] != " "])
    assert f"<th>sweeps</th><td>{result.sweeps:,}</td>" in shown
    assert as_html("a < b") == "<pre>a &lt; b</pre>"


@pytest.mark.parametrize("kind", ["problem", "result", "attempt", "failure", "general", "economy", "moments"])
def test_nothing_prints_thousands_of_characters(kind: str) -> None:
    made = {
        "problem": lambda: GIVEN,
        "result": lambda: bl.solve(GIVEN, progress=False),
        "attempt": lambda: next(bl.solve_many([GIVEN], progress=False)),
        "failure": lambda: next(bl.solve_many([lambda: bl.rbc(grid=16, beta=2.0)], progress=False)),
        "general": lambda: bl.solve(bl.retirement(grid=60, ages=3), progress=False),
        "economy": lambda: bl.solve(bl.aiyagari(grid=64, states=2), tol=1e-5, progress=False),
        "moments": lambda: bl.moments(bl.solve(GIVEN, progress=False)),
    }[kind]()
    # Tools that pass text on, such as pytest-xdist, know no subclass of it.
    assert type(repr(made)) is type(str(made)) is type(f"{made}") is str
    assert len(repr(made)) < LONGEST
    assert len(made._repr_html_()) < LONGEST
    assert made._repr_html_().startswith(("<table>", "<pre>"))
    if kind == "failure":
        assert "ProblemError: beta must be a number above 0 and below 1, not 2.0" in repr(made)
