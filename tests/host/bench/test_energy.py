"""Joules: counters of packages are added up, wrap around, and are left out where they cannot be read."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from beltline.host.bench import energy
from beltline.host.bench.energy import Counter, Meter, card_counters, meter, processor_counters


@pytest.fixture
def powercap(tmp_path: Path) -> Path:
    """Write counters of two packages in microjoules, one with a counter of a part."""
    for name, joules in (("intel-rapl:0", 5.0), ("intel-rapl:0:0", 3.0), ("intel-rapl:1", 9.0), ("dtpm", 1.0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "max_energy_range_uj").write_text("10000000\n")
        (tmp_path / name / "energy_uj").write_text(f"{int(joules * 1e6)}\n")
    return tmp_path


def test_packages_are_added_up_and_wrap_around(powercap: Path) -> None:
    metered = Meter(processor_counters(powercap))
    assert len(metered.counters) == 2
    metered.start()
    (powercap / "intel-rapl:0" / "energy_uj").write_text("6500000")
    (powercap / "intel-rapl:1" / "energy_uj").write_text("500000")
    assert metered.joules() == pytest.approx(1.5 + 1.5)


def test_what_cannot_be_read_is_no_counter(powercap: Path) -> None:
    (powercap / "intel-rapl:0" / "energy_uj").unlink()
    (powercap / "intel-rapl:1" / "energy_uj").write_text("none")
    assert processor_counters(powercap) == []
    assert processor_counters(powercap / "nowhere") == []
    assert card_counters("no-such-library.so") == []


def test_a_card_without_a_counter_has_no_joules(monkeypatch: pytest.MonkeyPatch) -> None:
    processors, card = [Counter(lambda: 1.0)], [Counter(lambda: 2.0)]
    monkeypatch.setattr(energy, "processor_counters", lambda: processors)
    monkeypatch.setattr(energy, "card_counters", lambda: card)
    assert meter("cpu").counters == processors
    assert meter("gpu").counters == processors + card
    monkeypatch.setattr(energy, "card_counters", list)
    assert meter("cpu").counters == processors
    assert math.isnan(meter("gpu").joules())
