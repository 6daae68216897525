"""Tables by age in gateware against the software model: every word and every clock of each age."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from beltline.host.devices.base import Device
from beltline.host.devices.software_model import ModelDevice
from beltline.host.solver.driver import Driver
from beltline.host.solver.fixed_point import Image
from beltline.host.solver.product_image import product_image
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Engine, Mode, Status
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters
from support.ages import with_ages, with_cost_by_age
from support.alternatives import KINDS
from support.machines import assert_same, opened

pytestmark = pytest.mark.gateware

AGES = 3
KIND = {"proof": True, "costs": True, "alternatives": True}
SIZES = [
    pytest.param((2, 32, 8, KIND), id="2-lanes"),
    pytest.param((2, 32, 4, KIND | {"alternatives": False}), id="2-lanes-costs"),
    pytest.param((1, 16, 8, KIND), id="1-lane", marks=pytest.mark.slow),
    pytest.param((4, 64, 16, KIND), id="4-lanes", marks=pytest.mark.slow),
    pytest.param((2, 32, 4, KIND | {"multipliers": 1}), id="2-lanes-turns", marks=pytest.mark.slow),
    pytest.param((4, 32, 64, KIND | {"multipliers": 16}), id="4-lanes-turns", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=SIZES)
def devices(request: pytest.FixtureRequest) -> Iterator[tuple[MachineParameters, Device, Device]]:
    lanes, grid, states, kinds = request.param
    build = MachineParameters(grid, states, engine=Engine.SWEEP, lanes=lanes, **kinds)
    for device in opened(build):
        yield build, device, ModelDevice(SweepSoftwareMachine(SweepParameters.of(build), logged=True))


def images(build: MachineParameters) -> Iterator[Image]:
    """Yield problems that fit, with lanes that are full, nearly full and nearly empty."""
    for number, points in enumerate((build.grid, build.grid - 5, 7)):
        yield product_image(with_cost_by_age(number, points, 2, AGES), 1e-6)
        for kind in KINDS if build.alternatives else ():
            image = product_image(with_ages(kind, number, points, 2 if build.states > 4 else 1, AGES), 1e-6)
            if image.start.shape[1] <= build.states:
                yield image


def test_every_age(devices: tuple[MachineParameters, Device, Device]) -> None:
    """Runs age by age have equal bits and clocks; every age is proven, and begins from choices of the age after it."""
    build, *both = devices
    drivers = [Driver(device) for device in both]
    kinds = 0
    for image in images(build):
        gateware, model = (driver.run(image, 1, horizon=AGES) for driver in drivers)
        assert_same(gateware, model)
        assert gateware.sweeps == AGES
        assert Status.PROVEN in gateware.status
        assert all(device.read_register("MODE") == Mode.HORIZON | Mode.CHOICES for device in both)
        kinds += 1
    assert kinds >= 3 + (2 * len(KINDS) if build.alternatives else 0)
