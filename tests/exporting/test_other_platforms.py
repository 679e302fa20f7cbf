"""Exported FMUs run on other platforms, with wine and qemu: the same bits as here, in all that the driver prints."""

import functools
import os
import re
import zipfile

import pytest

from tests.engine.event_mode.systems import write_system as write_typed_system
from tests.engine.systems import write_system
from tests.exporting.emulation import EMULATED, Unpacked, bits, emulator, numbers, with_parts_for
from tests.exporting.fmus import SYSTEMS, exported
from tests.exporting.test_derivatives import connected
from tests.exporting.test_event_mode import SYSTEMS as EVENTFUL
from tests.exporting.test_events_beside_exchange import ONE_STEP
from tests.exporting.test_events_beside_exchange import SYSTEMS as EVENTS_OF_BOTH
from tests.exporting.test_exchange_beside_simulation import mixed

pytestmark = pytest.mark.skipif("SSPTOOL_CROSS" not in os.environ, reason="make cross runs other platforms")
HERE = "linux64"
COSIMULATED = ["dual_mass_oscillator", "mass_spring_damper", "one_dof_oscillator", "rotational_spring_mass_damper"]
OSCILLATOR = "dual_mass_oscillator"
MOVED = {"tank": {"Plant.v": "3"}}
"""Start values of systems in which nothing happens else."""
WITH_CLOCKS = ["sampled loop", "ball beside a mass", "counted bounces", "tank"]
ENUMERATION = r'<ssd:Connector name="\w+" kind="\w+"><ssc:Enumeration/></ssd:Connector>'


@pytest.fixture(params=EMULATED)
def platform(request):
    """Another platform that can be run here."""
    emulator(request.param)
    return request.param


@pytest.fixture(scope="session")
def fmus(tmp_path_factory, fmi):
    """Exports a system for this platform and another one; what was exported already is not exported again."""
    folder = tmp_path_factory.mktemp(f"exported{fmi}")

    @functools.cache
    def for_both(system, platform):
        return with_parts_for(platform, SYSTEMS / system, folder / platform / system)

    @functools.cache
    def made(system, platform, expose=()):
        target = folder / f"{platform}-{system}-{len(expose)}"
        target.mkdir()
        return exported(for_both(system, platform), target, fmi=fmi, platforms=[HERE, platform], expose=expose)

    return made


def on_both(fmu, folder, platform, commands):
    """What the driver prints here and on another platform; `commands` follow from an unpacked FMU."""
    both = [Unpacked(fmu, folder / one, one) for one in (HERE, platform)]
    return [one.drive(*commands(one)) for one in both]


def get(fmu, *names):
    return ("get", *(fmu.references[name] for name in names))


def outputs(fmu):
    """Floating-point numbers."""
    variables = fmu.description.modelVariables
    return [one.name for one in variables if one.causality == "output" and one.type in ("Real", "Float64")][:60]


def steps(fmu, begin, end, size=0.01):
    """Steps between two numbers of communication points, with all outputs after each."""
    for number in range(begin, end):
        yield ("step", bits(number * size), bits(size))
        yield get(fmu, *outputs(fmu))


def initialized(fmu, number=0, *, events=False, **values):
    """An instance, initialized with values of parameters."""
    yield fmu.instantiate(number, events=events)
    for name, value in values.items():
        yield ("set", fmu.references[name.replace("__", ".")], bits(value))
    yield ("initialize", bits(0.0))
    yield ("initialized",)


@pytest.mark.parametrize("system", COSIMULATED)
def test_example_systems(system, fmus, platform, tmp_path):
    def commands(fmu):
        ends = [("terminate",), ("release",), ("unload",)]
        return [*initialized(fmu), get(fmu, *outputs(fmu)), *steps(fmu, 0, 100), *ends]

    here, there = on_both(fmus(system, platform), tmp_path, platform, commands)
    assert len([line for line in here if line.startswith("get")]) == 101
    assert not any(line.startswith("status") for line in here)
    assert there == here


def test_two_instances_at_once_and_one_after_a_reset(fmus, platform, tmp_path):
    """Of different masses, step by step in turn."""

    def commands(fmu):
        yield from initialized(fmu, 0)
        yield from initialized(fmu, 1, System1__m1=2.0)
        for number in range(20):
            for which in (0, 1):
                yield ("use", which)
                yield from steps(fmu, number, number + 1)
        yield ("reset",)
        yield ("initialize", bits(0.0))
        yield ("initialized",)
        yield from steps(fmu, 0, 20)

    fmu = fmus(OSCILLATOR, platform, expose=("System1.m1", "System1.x1", "System2.F"))
    here, there = on_both(fmu, tmp_path, platform, lambda one: list(commands(one)))
    assert there == here
    values = [line for line in here if line.startswith("get")]
    alone, heavier, after_reset = values[:40:2], values[1:40:2], values[40:]
    assert alone == after_reset
    assert alone != heavier


def test_states_are_restored_and_go_on_from_their_bytes(fmus, platform, tmp_path):
    def commands(fmu):
        return [
            *initialized(fmu),
            *steps(fmu, 0, 10),
            ("save", 0),
            ("pack", 0),
            *steps(fmu, 10, 20),
            ("restore", 0),
            *steps(fmu, 10, 20),
            ("forget", 0),
        ]

    fmu = fmus("rotational_spring_mass_damper", platform)
    here, there = on_both(fmu, tmp_path, platform, commands)
    assert there == here
    values = [line for line in there if line.startswith("get")]
    assert values[10:20] == values[20:30]
    (state,) = (line.split("\t")[1] for line in there if line.startswith("pack"))
    again = Unpacked(fmu, tmp_path / "again", platform)
    went_on = again.drive(*initialized(again), ("unpack", 1, state), ("restore", 1), *steps(again, 10, 20))
    assert [line for line in went_on if line.startswith("get")] == values[10:20]


def test_directional_derivatives(models, fmi, platform, tmp_path):
    """A.y = a B.y + b r and B.y = k A.y, so that dy/dr = b / (1 - a k)."""
    system = write_system(tmp_path / "loop", models, {"A": "Affine", "B": "Affine"}, [("A.y", "B.u"), ("B.y", "A.u")])
    connected(system, {"r": "input", "y": "output"}, [("r", "A.w"), ("A.y", "y")])
    system = with_parts_for(platform, system, tmp_path / "for_both")
    values = {"A.a": 0.5, "A.b": 1.5, "B.a": 0.5}
    options = {"start_values": values, "step_size": 0.1, "stop_time": 1.0, "platforms": [HERE, platform]}

    def commands(fmu):
        y, r = fmu.references["y"], fmu.references["r"]
        return [*initialized(fmu, r=2.0), get(fmu, "y"), ("derivative", y, r, bits(1.0))]

    here, there = on_both(exported(system, tmp_path, fmi=fmi, **options), tmp_path, platform, commands)
    assert there == here
    assert numbers(there[-2]) == pytest.approx([2.0 * 1.5 / 0.75], rel=1e-12)
    assert numbers(there[-1]) == pytest.approx([1.5 / 0.75], rel=1e-12)


ONE_ODE = {"step_size": 0.01, "stop_time": 2.5, "tolerance": 1e-9}
EXCHANGE = pytest.mark.parametrize("integrator", ["dormand-prince", "rosenbrock"])


def assert_same_steps(fmu, folder, platform, count, size):
    """And values that change."""

    def commands(one):
        return [*initialized(one), get(one, *outputs(one)), *steps(one, 0, count, size), ("terminate",), ("release",)]

    here, there = on_both(fmu, folder, platform, commands)
    values = [line for line in here if line.startswith("get")]
    assert len(values) == count + 1
    assert len(set(values)) > count // 3
    assert not any(line.startswith("status") for line in here)
    assert there == here


@EXCHANGE
def test_a_ball_and_a_lag_are_integrated_inside(integrator, exchange_models, fmi, platform, tmp_path):
    """One ODE with six bounces, which are located inside of steps."""
    components = {"Ball": "BouncingBall", "Lag": "Lag"}
    system = write_system(tmp_path / "system", exchange_models, components, [("Ball.h", "Lag.u")])
    system = with_parts_for(platform, mixed(system, *components), tmp_path / "for_both")
    options = ONE_ODE | {"integrator": integrator, "accept": "UNIT-006", "platforms": [HERE, platform]}
    assert_same_steps(exported(system, tmp_path, fmi=fmi, **options), tmp_path, platform, 25, 0.1)


@pytest.mark.parametrize("exchange", ["System1", "System2"])
def test_model_exchange_beside_co_simulation(exchange, fmi, platform, tmp_path):
    """The algebraic loop of the oscillator leads through both."""
    system = with_parts_for(platform, SYSTEMS / OSCILLATOR, tmp_path / "for_both")
    options = ONE_ODE | {"master": "iterated", "platforms": [HERE, platform]}
    fmu = exported(mixed(system, exchange), tmp_path, fmi=fmi, **options)
    assert_same_steps(fmu, tmp_path, platform, 40, 0.01)


@pytest.mark.parametrize("name", EVENTS_OF_BOTH)
def test_events_of_model_exchange_beside_co_simulation(name, models, fmi, platform, tmp_path):
    components, exchange, connections, values = EVENTS_OF_BOTH[name]
    fmus = models if fmi == 2 and "Valve" in components else models.parent / "fmi3"
    system = mixed(write_typed_system(tmp_path / "system", fmus, components, connections), *exchange)
    ssd = system / "SystemStructure.ssd"
    ssd.write_text(re.sub(ENUMERATION, "", ssd.read_text()))
    system = with_parts_for(platform, system, tmp_path / "for_both")
    options = {"start_values": values, "step_size": 0.1, "platforms": [HERE, platform]} | ONE_STEP
    assert_same_steps(exported(system, tmp_path, fmi=fmi, **options), tmp_path, platform, 15, 0.1)


def with_events(name, models, platform, folder, fmi):
    """The FMU of a system with event mode and clocks."""
    components, connections, values = EVENTFUL[name]
    values = {**values, **MOVED.get(name, {})}
    system = write_typed_system(folder / "system", models.parent, components, connections)
    system = with_parts_for(platform, system, folder / "for_both")
    options = {"start_values": values, "step_size": 0.25, "stop_time": 2.0, "platforms": [HERE, platform]}
    return exported(system, folder, fmi=fmi, **options)


@pytest.mark.parametrize("name", WITH_CLOCKS)
def test_events_and_clocks_are_handled_inside(name, models, fmi, platform, tmp_path):
    assert_same_steps(with_events(name, models, platform, tmp_path, fmi), tmp_path, platform, 20, 0.1)


@pytest.mark.parametrize("name", WITH_CLOCKS)
def test_an_importer_handles_the_events(name, models, platform, tmp_path):
    """Those of FMI 3.0, at the same times."""

    def commands(fmu):
        yield from initialized(fmu, events=True)
        yield ("settle",)
        for number in range(20):
            yield ("advance", bits(number * 0.1), bits((number + 1) * 0.1))
            yield get(fmu, *outputs(fmu))
        yield ("release",)

    fmu = with_events(name, models, platform, tmp_path, 3)
    here, there = on_both(fmu, tmp_path, platform, lambda one: list(commands(one)))
    assert not any(line.startswith("status") for line in here)
    assert len([line for line in here if line.startswith("settled")]) > 1
    assert there == here


FOLDERS = ["with blanks and 100%25", "Größe 漢字 č", "/".join(["long" * 15] * 5)]


@pytest.mark.parametrize("name", FOLDERS, ids=["blanks", "letters", "long"])
def test_folders_with_any_name(name, fmus, platform, tmp_path):
    fmu = fmus("one_dof_oscillator", platform)
    here = Unpacked(fmu, tmp_path / "here", HERE)
    there = Unpacked(fmu, tmp_path / "there" / name, platform)
    if len(name) > 200:
        there.load = lambda: Unpacked(fmu, tmp_path / "short", platform).load()  # the driver's own path is a short one
    both = [one.drive(*initialized(one), *steps(one, 0, 5)) for one in (here, there)]
    assert both[1] == both[0]
    assert sum(line.startswith("get") for line in both[1]) == 5


def test_a_part_without_its_library_is_named_and_there_is_no_instance(fmus, platform, tmp_path):
    fmu = fmus("one_dof_oscillator", platform)
    with zipfile.ZipFile(fmu) as whole, zipfile.ZipFile(tmp_path / "without.fmu", "w") as less:
        for name in whole.namelist():
            if not name.startswith("resources/parts/") or "/Mass." not in name:
                less.writestr(name, whole.read(name))
    unpacked = Unpacked(tmp_path / "without.fmu", tmp_path / "unpacked", platform)
    *said, made = unpacked.drive(unpacked.instantiate())
    assert made == "instance\t0\tnull"
    (text,) = (line.split("\t")[-1] for line in said if line.startswith("log"))
    assert "Mass." in text
    assert "there is no such file" in text or "No such file" in text


def test_messages_of_a_failing_part(fmus, platform, tmp_path):
    """A mass of zero has no finite acceleration."""

    def commands(fmu):
        return [
            fmu.instantiate(logging=True),
            ("set", fmu.references["System1.m1"], bits(0.0)),
            ("initialize", bits(0.0)),
            ("initialized",),
            ("step", bits(0.0), bits(0.01)),
            ("release",),
        ]

    fmu = fmus(OSCILLATOR, platform, expose=("System1.m1", "System1.x1", "System2.F"))
    here, there = on_both(fmu, tmp_path, platform, commands)
    assert there == here
    assert any(line.startswith("status") for line in there)
    assert any(line.startswith("log\tinstance0\t3") and "System1" in line for line in there)
