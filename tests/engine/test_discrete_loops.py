"""Algebraic loops with discrete members: held while the real ones are solved for, and renewed until they stay.

The relay gives y = on ? a u + b : c u + d and is = (u > 1). With y wired to u and `is` to `on` there are at most two
solutions: u = b / (1 − a), if that is greater than 1, and u = d / (1 − c), if it is not.
"""

import zipfile
from pathlib import Path

import fmpy
import numpy as np
import pytest
from fmpy.fmi2 import FMU2Slave

import ssptool
from tests.engine.running import run
from tests.fmu.building import PLATFORM, build_model

SOURCE = Path(__file__).with_name("relay.c")
VARIABLES = (
    *(
        ("u", "Real", 0, "input"),
        ("y", "Real", 1, "output"),
        ("on", "Boolean", 0, "input"),
        ("is", "Boolean", 1, "output"),
    ),
    *((name, "Real", 2 + place, "parameter") for place, name in enumerate("abcd")),
)


@pytest.fixture(scope="module")
def relay(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("relay")
    library = build_model(folder / "relay.so", SOURCE, FMU2Slave).read_bytes()
    with zipfile.ZipFile(folder / "relay.fmu", "w") as archive:
        archive.writestr("modelDescription.xml", _description())
        archive.writestr(f"binaries/{PLATFORM[2]}/relay{fmpy.sharedLibraryExtension}", library)
    return folder / "relay.fmu"


def _description() -> str:
    rows = ""
    for name, kind, reference, causality in VARIABLES:
        variability = {"parameter": "fixed"}.get(causality, "continuous" if kind == "Real" else "discrete")
        start = "" if causality == "output" else f' start="{"0" if kind == "Real" else "false"}"'
        rows += (
            f'<ScalarVariable name="{name}" valueReference="{reference}" causality="{causality}" '
            f'variability="{variability}"><{kind}{start}/></ScalarVariable>\n'
        )
    unknowns = '<Unknown index="2" dependencies="1 3"/><Unknown index="4" dependencies="1"/>'
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<fmiModelDescription fmiVersion="2.0" modelName="relay" guid="{r}">\n'
        f'<CoSimulation modelIdentifier="relay"/>\n<ModelVariables>\n{rows}</ModelVariables>\n'
        f"<ModelStructure><Outputs>{unknowns}</Outputs><InitialUnknowns>{unknowns}</InitialUnknowns></ModelStructure>\n"
        "</fmiModelDescription>\n"
    )


@pytest.fixture
def system(relay, tmp_path):
    """A relay whose outputs are its inputs; parameters a, b, c, d, and the start values of `on` and u."""

    def write(*values: float, on: bool = False, u: float = 0.0) -> Path:
        with ssptool.new(tmp_path / "system", stop_time=1.0) as editor:
            editor.add(relay, name="R")
            editor.connect("R.y", "R.u")
            editor.connect("R.is", "R.on")
            for name, value in zip("abcd", values, strict=True):
                editor.set(f"R.{name}", str(value))
            editor.set("R.on", str(on).lower())
            editor.set("R.u", str(u))
        return tmp_path / "system"

    return write


def simulated(folder: Path, **settings):
    plan = ssptool.plan(folder, settings=ssptool.Settings(step_size=0.5, **settings))
    return run(plan, _Folder(folder))


class _Folder:
    def __init__(self, path: Path) -> None:
        self.local_path = path.joinpath


@pytest.mark.parametrize(
    ("values", "on", "u"),
    [
        ((0.5, 2.0, 0.5, 0.2), False, 0.4),  # both are solutions: the start value of `on` chooses
        ((0.5, 2.0, 0.5, 0.2), True, 4.0),
        ((0.5, 2.0, 0.5, 2.0), False, 4.0),  # off does not stay off
        ((0.5, 0.2, 0.5, 0.2), True, 0.4),
        ((-3.0, 8.0, 0.5, 2.0), False, 2.0),  # with a gain at which plain iteration diverges
    ],
)
def test_the_branch_that_agrees_with_its_switch_is_found(system, values, on, u):
    trace = simulated(system(*values, on=on)).unwrap()
    assert trace["R.u"] == pytest.approx(np.full(3, u), rel=1e-11)
    assert (trace["R.is"] == (u > 1)).all()
    assert (trace["R.on"] == trace["R.is"]).all()


def test_a_switch_that_contradicts_itself_is_reported_with_its_name(system):
    """On gives u = 0.4, which is off; off gives u = 4, which is on."""
    result = simulated(system(0.5, 0.2, 0.5, 2.0))
    assert not result.ok
    message = str(result.failure)
    assert "do not settle" in message
    assert "R.is" in message


def test_the_plan_says_what_is_held(system):
    (loop, *_) = ssptool.plan(system(0.5, 2.0, 0.5, 0.2)).loops
    assert [str(signal) for signal in loop.torn] == ["R.y"]
    assert [str(signal) for signal in loop.frozen] == ["R.is"]
