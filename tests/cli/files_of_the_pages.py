"""Files of the reader, by the names that all pages give them: FMUs, systems, tables, results and studies."""

import re
import shutil
import zipfile
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import ssptool
from tests.analysis.systems import plant
from tests.fmu import chatty_fmu
from tests.fmus import build as misbehaving_fmu
from tests.foreign.generators import python_fmu

ROOT = Path(__file__).parents[2]
OSCILLATOR = ROOT / "systems" / "dual_mass_oscillator"
MODELS = {"Motor": "Motor", "Load": "Load", "Sensor": "Half", "Gearbox": "Gearbox", "Brake": "Brake"}
"""Names of FMUs of another tool → models of `tests.foreign.generators`."""


def make_files(words: Sequence[str], folder: Path) -> None:
    """Put the files that commands or code name into a folder, but those that are there or that they make themselves."""
    for name in named(words):
        make(name, folder)


def named(words: Sequence[str]) -> list[str]:
    """Files by the words of commands or the texts of code; `a.study#1` and `a.fmu!b` are in `a.study` and `a.fmu`."""
    made = {after for before, after in pairwise(words) if before in ("new", "--output", "example")}
    made -= {
        after
        for group, verb, after in zip(words, words[1:], words[2:], strict=False)
        if (group, verb) == ("study", "new")
    }
    made |= {after.replace(".toml", ".study") for before, after in pairwise(words) if before == "study"}
    found = {re.split("[/#!]", word)[0] for word in words} - made
    return [name for name in FILES if name in found]


def make(name: str, folder: Path) -> Path:
    """A file of that name, which may need others."""
    if not (folder / name).exists():
        FILES[name](folder / name)
    return folder / name


# -- FMUs ---------------------------------------------------------------------------------------------------------


@cache
def _made_by_another_tool(model: str) -> bytes:
    with TemporaryDirectory() as folder:
        return python_fmu(model, 2, Path(folder)).read_bytes()


def _fmu_of_another_tool(path: Path) -> None:
    path.write_bytes(_made_by_another_tool(MODELS[path.stem]))


def _fmu_that_logs(path: Path) -> None:
    shutil.copy(chatty_fmu.build(path.parent) / "chatty2.fmu", path)


# -- systems ------------------------------------------------------------------------------------------------------


def _example_systems(path: Path) -> None:
    shutil.copytree(ROOT / "systems", path, ignore=shutil.ignore_patterns("models"))


def _oscillator(path: Path) -> None:
    shutil.copytree(OSCILLATOR, path)


def _with_a_misspelt_connector(path: Path) -> None:
    _oscillator(path)
    ssd = path / "SystemStructure.ssd"
    ssd.write_text(ssd.read_text(encoding="utf-8").replace('startConnector="x1"', 'startConnector="y1"'), "utf-8")


def _with_a_connection_that_stands_twice(path: Path) -> None:
    _oscillator(path)
    ssd = path / "SystemStructure.ssd"
    text = ssd.read_text(encoding="utf-8")
    (connection,) = re.findall(r".*startConnector=\"x1\".*/>\n", text)
    twice = connection + connection.replace("/>", ' suppressUnitConversion="true"/>')
    ssd.write_text(text.replace(connection, twice), encoding="utf-8")


def _one_dof_oscillator(path: Path) -> None:
    ssptool.pack(ROOT / "systems" / "one_dof_oscillator", path)


def _masses(path: Path) -> None:
    with ssptool.new(path, *sorted((OSCILLATOR / "resources").glob("System?.fmu"))) as masses:
        masses.connect("System1", "System2")


def _plant(path: Path) -> None:
    with ssptool.new(path, *(make(f"{name}.fmu", path.parent) for name in ("Motor", "Load")), stop_time=3) as system:
        system.connect("Motor", "Load")


def _vehicle(path: Path) -> None:
    fmus = [path.with_name(f"{name}.fmu") for name in ("Gearbox", "Brake")]
    for fmu in fmus:
        _fmu_of_another_tool(fmu)
    with ssptool.new(path, *fmus, stop_time=5) as vehicle:
        vehicle.add_connector("speed", "input", unit="m/s").connect("speed", "Gearbox.speed")
        vehicle.connect("Brake.force", "Gearbox.load")


def _with_a_parameter_set_in_an_fmu(path: Path) -> None:
    mass = ROOT / "systems" / "one_dof_oscillator" / "resources" / "Mass.fmu"
    fmu = Path(shutil.copy(mass, path.with_suffix(".fmu")))
    with zipfile.ZipFile(fmu, "a") as archive:
        archive.writestr("extra/org.example.sets/heavy.ssv", HEAVY)
    with ssptool.new(path, fmu):
        pass


def _with_a_crash(path: Path) -> None:
    """At 0.455 s."""
    misbehaving = misbehaving_fmu.build() / "fmi2" / "Misbehaving.fmu"
    with ssptool.new(path, stop_time=1) as crash:
        crash.add(misbehaving, name="Good").add(misbehaving, name="Bad").connect("Good.y", "Bad.u")
        crash.set("Bad.what", misbehaving_fmu.WRITE_TO_NULL).set("Bad.when", 0.455)


HEAVY = """<?xml version="1.0" encoding="UTF-8"?>
<ssv:ParameterSet xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues" version="1.0" name="Heavy">
  <ssv:Parameters>
    <ssv:Parameter name="m"><ssv:Real value="2"/></ssv:Parameter>
    <ssv:Parameter name="k"><ssv:Real value="2"/></ssv:Parameter>
  </ssv:Parameters>
</ssv:ParameterSet>
"""

# -- tables, results and studies ----------------------------------------------------------------------------------


def _table(text: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(text, encoding="utf-8") and None


def _results_of_the_oscillator(path: Path) -> None:
    ssptool.simulate(OSCILLATOR, stop_time=1, output=path)


def _plant_of_macro_steps(path: Path) -> None:
    plant(path.parent)
    ssd = path / "SystemStructure.ssd"
    ssd.write_text(ssd.read_text(encoding="utf-8").replace('name="test"', 'name="plant"'), encoding="utf-8")


def _results_of_the_plant(path: Path) -> None:
    ssptool.simulate(make("plant.ssp", path.parent), output=path)


def _measurement(path: Path) -> None:
    """Of an oscillator with other values, with noise of 1 mm."""
    values = {"System1.c1": 0.13, "System2.k2": 11.0}
    motion = ssptool.simulate(OSCILLATOR, stop_time=5, output_step=0.01, start_values=values)
    noise = np.random.default_rng(1).normal(0, 0.001, len(motion.t))
    table = np.column_stack([motion.t, motion["System1.x1"] + noise])
    np.savetxt(path, table, delimiter=",", header="time,System1.x1 [m]", comments="")


def _study_of_the_plant(path: Path) -> None:
    levels = [0.05 * k for k in range(1, 19)]
    definition = {
        "system": str(make("plant.ssp", path.parent)),
        "factors": {"Load.inertia": levels},
        "results": {"peak": 'max("Load.speed")'},
    }
    ssptool.study(definition, path)


def _study_with_two_mistakes(path: Path) -> None:
    make("systems", path.parent)
    path.with_suffix(".csv").write_text("System2.k2,System1.c1\n5,abc\n", encoding="utf-8")
    path.write_text(POINTS, encoding="utf-8")


POINTS = """system = "systems/dual_mass_oscillator"

[results]
peak = 'max("System1.x1")'

[design]
kind = "table"
file = "points.csv"

[factors]
"System1.m1" = {}
"""

OF_ANOTHER_TOOL: dict[str, Callable[[Path], None]] = {
    **{f"{name}.fmu": _fmu_of_another_tool for name in ("Motor", "Load", "Sensor")},
    "plant.ssp": _plant,
    "vehicle": _vehicle,
    "plant.csv": _results_of_the_plant,
    "yesterday.mat": _results_of_the_plant,
    "springs.study": _study_of_the_plant,
}
FILES: dict[str, Callable[[Path], None]] = {
    **OF_ANOTHER_TOOL,
    "plant": _plant_of_macro_steps,
    "B.fmu": _fmu_that_logs,
    "systems": _example_systems,
    "oscillators": _oscillator,
    "dual_mass_oscillator": _oscillator,
    "broken": _with_a_misspelt_connector,
    "twice": _with_a_connection_that_stands_twice,
    "oscillator.ssp": _one_dof_oscillator,
    "masses.ssp": _masses,
    "mass.ssp": _with_a_parameter_set_in_an_fmu,
    "crash.ssp": _with_a_crash,
    "push.csv": _table("time,F [N]\n0,0\n2,10\n"),
    "torque.csv": _table("time,Load.torque\n0,0\n1,50\n"),
    "points.toml": _study_with_two_mistakes,
    "results.csv": _results_of_the_oscillator,
    "reference.csv": _results_of_the_oscillator,
    "other.csv": _results_of_the_oscillator,
    "slow.csv": _results_of_the_oscillator,
    "b.parquet": _results_of_the_oscillator,
    "measured.csv": _measurement,
}
"""What makes the file or folder of that name, at a path that ends with it."""
