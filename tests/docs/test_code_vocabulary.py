"""Docstrings, comments, messages and names use the terms of the two fields, as the pages do.

``vocabulary.md`` lists the phrases, and ``code_vocabulary.md`` words of names and the files that are not searched for
phrases.
"""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from support.paths import ROOT
from support.terms import load, matches

LIST = Path(__file__).with_name("code_vocabulary.md")

TERMS = load(LIST.with_name("vocabulary.md"))

LEFT_OUT = re.findall(r"^```text\n(.*?)^```", LIST.read_text(), re.M | re.S)[0].split()
"""Files that are not searched for phrases, relative to the root of the repository."""

FOLDERS = ["beltline", "constraints", "docs", "examples", "gpu_ref", "host", "hw", "sim", "tests"]
"""Folders of sources. The links in ``beltline`` are not followed."""

COMMENTS = {
    ".cpp": r"//[^\n]*|/\*.*?\*/",
    ".cu": r"//[^\n]*|/\*.*?\*/",
    ".v": r"//[^\n]*|/\*.*?\*/",
    ".sv": r"//[^\n]*|/\*.*?\*/",
    ".vh": r"//[^\n]*|/\*.*?\*/",
    ".tcl": r"(?<![^\s;])#[^\n]*",
    ".sh": r"(?<!\S)#[^\n]*",
    ".xdc": r"(?<!\S)#[^\n]*",
    ".yml": r"(?<!\S)#[^\n]*",
    ".yaml": r"(?<!\S)#[^\n]*",
    ".h": r"//[^\n]*|/\*.*?\*/",
    "": r"(?<!\S)#[^\n]*",
}
"""Patterns of comments in files that are not Python, by suffix."""

NOT_WORDS = (
    r"(?P<ticks>`+)[^`].*?(?P=ticks)",
    r"^[ \t]*(?:>>>|\.\.\.)[^\n]*$",
    r"^(?P<indent>[ \t]*)[\w*]+(?:, [\w*]+)*(?: : [^\n]*)?$(?=\n(?P=indent)[ \t]+\S)",
    r"\$[^$\n]+\$",
    r"(?<=[a-z] )None\b",
)
"""Patterns of code in strings and comments: text between backticks, doctests, names of parameters, equations, None."""

FILES = sorted(
    file
    for folder in FOLDERS
    for file in (ROOT / folder).rglob("*")
    if (file.suffix == ".py" or (file.suffix and file.suffix in COMMENTS))
    and not file.relative_to(ROOT / folder).parts[0].startswith(".")
    and str(file.relative_to(ROOT)) not in LEFT_OUT
)

OTHERS = [ROOT / name for name in ("Makefile", "Dockerfile", ".ci/run", ".github/workflows/ci.yml")]
"""Files outside of these folders."""


def words_of_names() -> dict[str, str]:
    """Return the term to use for each word that names must not contain."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in LIST.read_text().splitlines()[7:]]
    table = [row for row in rows if len(row) == 2 and not row[0].startswith(("-", "word"))]
    return {word: use for words, use in table for word in words.split("; ")}


NAMES = words_of_names()


def hidden(text: str) -> str:
    """Return ``text`` with dots for all but spaces, so that lines keep their numbers and words do not join."""
    return re.sub(r"\S", ".", text)


def words_of(text: str) -> str:
    """Return a string or comment with dots in place of the code in it."""
    for pattern in NOT_WORDS:
        text = re.sub(pattern, lambda match: hidden(match[0]), text, flags=re.M | re.S)
    return text


def prose_of_literal(literal: str) -> str:
    """Return the words of a string literal, with spaces in place of its prefix, quotes and escapes.

    A literal without a space is a name or a key; it is replaced by dots.
    """
    match = re.fullmatch(r"([a-zA-Z]*)('''|\"\"\"|'|\")(.*)\2", literal, re.S)
    assert match is not None, literal
    prefix, quotes, body = match.groups()
    if not re.search(r"\s", body.strip()) and not body.startswith(" ") and not body.endswith(" "):
        return hidden(literal)
    if "f" in prefix.lower():
        body = re.sub(r"\{[^{}]*\}", lambda field: hidden(field[0]), body)
    body = re.sub(r"\\[a-z\\'\"]", "  ", body)
    return " " * len(prefix + quotes) + words_of(body) + " " * len(quotes)


def prose(text: str) -> str:
    """Return the words of strings and comments of a Python file, with dots in place of code.

    Lines keep their numbers. Only spaces separate the parts of a message and the lines of a comment, so that phrases
    are found across them.
    """
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    found, end = "", 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING:
            words = prose_of_literal(token.string)
        elif token.type == tokenize.COMMENT:
            words = words_of(re.sub("^#:?", " ", token.string))
        elif tokenize.tok_name[token.type] == "FSTRING_MIDDLE":  # From Python 3.12 on, an f-string has parts.
            words = words_of(token.string)
        else:
            continue
        start = starts[token.start[0] - 1] + token.start[1]
        stop = starts[token.end[0] - 1] + token.end[1]
        found += hidden(text[end:start]) + words[: stop - start].ljust(stop - start)
        end = stop
    return found + hidden(text[end:])


def prose_of_comments(text: str, comment: str) -> str:
    """Return the words of the comments, which match ``comment``, of a file in another language."""
    found, end = "", 0
    for match in re.finditer(comment, text, re.S):
        words = re.sub(r"(?m)^[ \t]*[/*#]+|[*]/", lambda mark: " " * len(mark[0]), match[0])
        found += hidden(text[end : match.start()]) + words_of(words)
        end = match.end()
    return found + hidden(text[end:])


def faults(name: str, text: str) -> list[str]:
    """Return the replaced phrases that a file contains, with their lines."""
    suffix = Path(name).suffix
    return matches(name, prose(text) if suffix == ".py" else prose_of_comments(text, COMMENTS[suffix]), TERMS)


def names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield functions, classes, arguments, attributes and module variables that code defines, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
            yield from ((node.lineno, node.id) for node in stored if isinstance(node.ctx, ast.Store))


@functools.cache
def names_of(file: Path) -> tuple[tuple[int, str], ...]:
    """Return the names that a Python file defines, with their lines, and for any file its own name."""
    own = ((1, file.stem),)
    return own if file.suffix != ".py" else (*own, *names(ast.parse(file.read_text(encoding="utf-8"))))


@functools.cache
def parts(name: str) -> list[str]:
    """Return the words of a name such as ``WalkParameters`` or ``walk_all``, in lower case.

    >>> parts("WalkParameters"), parts("_next_held")
    (['walk', 'parameters'], ['next', 'held'])
    """
    return [word.lower() for word in re.split(r"[^A-Za-z]+|(?<=[a-z])(?=[A-Z])", name) if word]


def faults_of_names(path: str, defined: Iterable[tuple[int, str]]) -> list[str]:
    """Return the names with replaced words in a file, with their lines."""
    return [
        f"{path}:{line}: in the name '{name}' write instead of '{word}': {NAMES[word]}"
        for line, name in defined
        for word in parts(name)
        if word in NAMES
    ]


def files_of(folder: str) -> list[tuple[str, Path]]:
    """Return the sources of a folder, each after its name in the project."""
    return [(str(file.relative_to(ROOT)), file) for file in FILES if file.is_relative_to(ROOT / folder)]


def test_files_are_found() -> None:
    for folder in FOLDERS:
        assert any(file.is_relative_to(ROOT / folder) for file in FILES), folder
    assert all(file.is_file() for file in OTHERS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_folder_uses_the_terms(folder: str) -> None:
    found = [fault for name, file in files_of(folder) for fault in faults(name, file.read_text(encoding="utf-8"))]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("file", OTHERS, ids=lambda file: file.name)
def test_other_file_uses_the_terms(file: Path) -> None:
    assert not faults(str(file.relative_to(ROOT)), file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("folder", FOLDERS)
def test_names_use_the_terms(folder: str) -> None:
    found = [fault for name, file in files_of(folder) for fault in faults_of_names(name, names_of(file))]
    assert not found, "\n" + "\n".join(found)


def test_message_names_the_name() -> None:
    found = faults_of_names("host/a.py", names(ast.parse("def f(money):\n    x = 1\n    self.nextHeld = x\n")))
    assert found == [
        "host/a.py:1: in the name 'money' write instead of 'money': amount, cash on hand",
        "host/a.py:3: in the name 'nextHeld' write instead of 'held': evaluates, locked, stored",
    ]
    assert not faults_of_names("hw/a.py", names(ast.parse("class Worker:\n    def f(self):\n        walk = 1\n")))


def test_message_names_file_line_phrase_and_term() -> None:
    text = 'def f():\n    """Count.\n\n    After each sweep, held\n    sweeps follow.\n    """\n'
    assert faults("hw/file.py", text) == ["hw/file.py:4: instead of 'held sweeps' write: policy evaluation step"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.cpp", "int a;\n// They walk here.\n"),
        ("a.sv", "wire a;\n/* They\n   walk here. */\n"),
        ("a.tcl", "set a 1\nset b 2 ;# They walk here.\n"),
    ],
)
def test_comments_of_other_languages_are_read(name: str, text: str) -> None:
    assert [fault.partition(" instead")[0] for fault in faults(name, text)] == [
        f"{name}:{text.count(chr(10), 0, text.index('walk')) + 1}:"
    ]
