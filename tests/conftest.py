"""Set-up of all tests: Ctrl-C is handled, durations are recorded, and tests can be chosen by how long they take."""

from __future__ import annotations

import gc
import json
import signal
from collections import defaultdict
from pathlib import Path

import pytest

pytest.register_assert_rewrite("support")

DURATIONS = Path(__file__).with_name("durations.json")
"""Seconds of every test that took 0.1 s or more, set-up included, as ``make durations`` recorded them."""

SHORTEST = 0.1
QUICK_SECONDS = 0.1
"""Limit for ``--quick``, measured on two busy cores; alone on them a test takes about a third."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help=f"only tests recorded as shorter than {QUICK_SECONDS} s")
    parser.addoption(
        "--within", type=float, metavar="SECONDS", help="only the shortest tests of each file, in all so long"
    )
    parser.addoption("--record-durations", action="store_true", help=f"write {DURATIONS.name}")


# Last: after the option -m has deselected tests.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that ``--quick`` or ``--within`` do not choose."""
    quick, within = config.getoption("--quick"), config.getoption("--within")
    recorded = json.loads(DURATIONS.read_text(encoding="utf-8")) if DURATIONS.exists() else {}
    seconds = {item: recorded.get(item.nodeid, 0.0) for item in items}
    chosen = set(items)
    if quick:
        chosen = {item for item in items if "gateware" not in item.keywords and seconds[item] < QUICK_SECONDS}
    if within is not None:
        chosen = set(shortest({item: seconds[item] for item in items if item in chosen}, within))
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def pytest_collection_finish() -> None:
    """Search for reference cycles less often, and not among the modules and tests. Elaborating gateware allocates
    millions of objects, so the search takes almost half of its time by default.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


def shortest(seconds: dict[pytest.Item, float], within: float) -> list[pytest.Item]:
    """Choose tests that take at most ``within`` seconds in all: of every file its shortest test, then its second
    shortest, and so on. ``seconds`` are those of each test; one that takes a tenth of ``within`` is not chosen.
    """
    files: dict[Path, list[pytest.Item]] = defaultdict(list)
    for item in sorted(seconds, key=lambda item: seconds[item]):
        if seconds[item] < within / 10:
            files[item.path].append(item)
    turns = sorted(
        (turn, seconds[item], item.nodeid, item) for tests in files.values() for turn, item in enumerate(tests)
    )
    chosen, total = [], 0.0
    for _, spent, _, item in turns:
        total += spent
        if total <= within:
            chosen.append(item)
    return chosen


class Recorder:
    """Add up the time that each test takes, and write it at the end of a session without failures."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.exitstatus == 0:
            long = {test: round(t, 1) for test, t in sorted(self._seconds.items()) if round(t, 1) >= SHORTEST}
            DURATIONS.write_text(json.dumps(long, indent=0) + "\n", encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    # With several processes, only the one to which the others report.
    if config.getoption("--record-durations") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder())


@pytest.fixture(scope="session", autouse=True)
def heard_interrupts() -> None:
    """Handle SIGINT in a test, because a shell without job control ignores it in the processes that it starts in the
    background.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
