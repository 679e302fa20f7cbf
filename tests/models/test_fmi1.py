"""The FMI 1.0 co-simulation FMUs: what they say, and that they do what those of FMI 2.0 do."""

import ctypes
import zipfile

import fmpy
import numpy as np
import pytest
from fmpy import read_model_description, simulate_fmu
from fmpy.validation import validate_fmu
from lxml import etree

NAMES = ("System1", "System2")


@pytest.mark.parametrize("name", NAMES)
def test_fmpy_finds_no_problem(fmus, name):
    assert validate_fmu(str(fmus[name, 1])) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_variables_are_those_of_fmi2_but_for_time(fmus, name):
    def facts(version):
        variables = read_model_description(fmus[name, version]).modelVariables
        found = [(v.name, v.valueReference, v.causality, v.start, v.unit, v.nominal) for v in variables]
        return [fact for fact in found if fact[0] != "time"]

    assert facts(1) == facts(2)


def test_outputs_name_the_inputs_that_they_need_at_once(fmus):
    found = {}
    for name in NAMES:
        with zipfile.ZipFile(fmus[name, 1]) as archive:
            root = etree.fromstring(archive.read("modelDescription.xml"))
        for output in root.iterfind("ModelVariables/ScalarVariable[@causality='output']"):
            found[name, output.get("name")] = {one.text for one in output.iterfind("DirectDependency/Name")}
    assert found == {
        ("System1", "x1"): set(),
        ("System1", "v1"): set(),
        ("System1", "a1"): {"F"},
        ("System2", "F"): {"x1", "v1", "a1"},
    }


def test_fmpy_simulates_it_as_it_does_that_of_fmi2(fmus):
    """A constant force of 5 N; the same integrator, so that the bits are the same."""
    settings = {"stop_time": 2.0, "output_interval": 0.1, "start_values": {"F": 5.0}, "output": ["x1", "v1", "a1"]}
    one = simulate_fmu(fmus["System1", 1], **settings)
    other = simulate_fmu(fmus["System1", 2], fmi_type="CoSimulation", **settings)
    assert len(one) == 21
    assert np.array_equal(one, other)


def test_every_function_begins_with_the_name_of_the_model(fmus, tmp_path):
    fmpy.extract(fmus["System2", 1], tmp_path)
    library = ctypes.CDLL(tmp_path / "binaries" / fmpy.platform / f"System2{fmpy.sharedLibraryExtension}")
    assert hasattr(library, "System2_fmiDoStep")
    assert not any(hasattr(library, name) for name in ("fmiDoStep", "fmi2DoStep", "fmi3DoStep", "instance_step"))
