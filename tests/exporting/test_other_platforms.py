"""Exported FMUs run on other platforms, with wine and qemu: the same bits as here, in all that the driver prints."""

import functools
import os
import zipfile

import pytest

from tests.engine.systems import write_system
from tests.exporting.emulation import EMULATED, Unpacked, bits, emulator, numbers, with_parts_for
from tests.exporting.fmus import SYSTEMS, exported
from tests.exporting.test_derivatives import connected

pytestmark = pytest.mark.skipif("SSPTOOL_CROSS" not in os.environ, reason="make cross runs other platforms")
HERE = "linux64"
COSIMULATED = ["dual_mass_oscillator", "mass_spring_damper", "one_dof_oscillator", "rotational_spring_mass_damper"]
OSCILLATOR = "dual_mass_oscillator"


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
    return [one.name for one in fmu.description.modelVariables if one.causality == "output"][:60]


def steps(fmu, begin, end, size=0.01):
    """Steps between two numbers of communication points, with all outputs after each."""
    for number in range(begin, end):
        yield ("step", bits(number * size), bits(size))
        yield get(fmu, *outputs(fmu))


def initialized(fmu, number=0, **values):
    """An instance, initialized with values of parameters."""
    yield fmu.instantiate(number)
    for name, value in values.items():
        yield ("set", fmu.references[name.replace("__", ".")], bits(value))
    yield ("initialize", bits(0.0))
    yield ("initialized",)


@pytest.mark.parametrize("system", COSIMULATED)
def test_example_systems(system, fmus, platform, tmp_path):
    def commands(fmu):
        return [*initialized(fmu), get(fmu, *outputs(fmu)), *steps(fmu, 0, 100), ("terminate",), ("release",)]

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
