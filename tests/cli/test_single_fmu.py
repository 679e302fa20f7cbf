"""One FMU as a system, and times and steps that documents state for other tools."""

import zipfile
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from pytest import approx

import ssptool as api
from tests.engine.dual_mass import RESOURCES

FMUS = {"fmi1": "fmi1/System1.fmu", "fmi2": "System1.fmu", "fmi3": "fmi3/System1.fmu"}
SYSTEM1 = RESOURCES / "System1.fmu"
K, C, X0 = 10.0, 0.2, 0.5


def free_oscillation(t):
    """x'' + C x' + K x = 0 (mass 1), x(0) = X0, x'(0) = 0."""
    w = sqrt(K - C * C / 4)
    return X0 * np.exp(-C / 2 * t) * (np.cos(w * t) + C / (2 * w) * np.sin(w * t))


@pytest.mark.parametrize("version", FMUS)
def test_a_single_fmu_runs_its_default_experiment(ssptool, tmp_path, version):
    status, _, err = ssptool("run", RESOURCES / FMUS[version], "--set", "System1.x1_start=0.5")
    assert (status, err) == (0, "")
    trace = api.read_trace(tmp_path / "System1.csv")
    assert trace.t[-1] == 10.0
    assert [str(column.signal) for column in trace.columns] == ["F", "x1", "v1", "a1"]
    assert trace["System1.x1"] == approx(free_oscillation(trace.t), abs=1e-5)


def test_model_exchange_of_a_single_fmu_meets_the_closed_form():
    settings = api.Settings(implementation="me", tolerance=1e-10)
    trace = api.simulate(SYSTEM1, settings=settings, start_values={"System1.x1_start": X0}).trace
    assert trace["System1.x1"] == approx(free_oscillation(trace.t), abs=1e-7)


def test_inputs_of_a_single_fmu_are_driven_from_a_file(ssptool, tmp_path):
    """A force of K keeps the mass at 1 m, where it starts at rest."""
    (tmp_path / "force.csv").write_text("time,System1.F\n0,10\n10,10\n")
    status, _, err = ssptool("run", SYSTEM1, "--inputs", "force.csv", "--set", "System1.x1_start=1")
    assert (status, err) == (0, "")
    assert api.read_trace(tmp_path / "System1.csv")["System1.x1"] == approx(1.0, abs=1e-12)


def test_every_command_that_reads_systems_takes_an_fmu(ssptool, tmp_path):
    for arguments in (["info"], ["graph"], ["explain", "System1.k1"], ["draw"], ["validate"], ["plan"]):
        command, *rest = arguments
        status, out, err = ssptool(command, SYSTEM1, *rest)
        assert (status, err) == (0, ""), command
        assert "System1" in out or command == "validate"
    with api.Simulation(SYSTEM1) as simulation:
        simulation.step(10)
        assert simulation.time == approx(0.01)


def test_an_unpacked_fmu_is_one_as_well(ssptool, tmp_path):
    with zipfile.ZipFile(SYSTEM1) as packed:
        packed.extractall(tmp_path / "spring.v2")
    status, _, err = ssptool("run", "spring.v2", "--set", "spring_v2.x1_start=0.5")
    assert (status, err) == (0, "")
    trace = api.read_trace(tmp_path / "spring.csv")
    assert trace["spring_v2.x1"] == approx(free_oscillation(trace.t), abs=1e-5)


@pytest.mark.parametrize("process", [(), ("--in-process",)])
@pytest.mark.parametrize("what", ["library", "content"])
def test_messages_name_an_fmu_as_the_user_does(ssptool, tmp_path, what, process):
    """And no temporary folder: of a folder the folder, in a package the entry."""
    with zipfile.ZipFile(SYSTEM1) as packed:
        packed.extractall(tmp_path / "Spring")
    for library in (tmp_path / "Spring" / "binaries").rglob("*.*"):
        library.unlink() if what == "library" else library.write_text("x")
    api.convert(tmp_path / "Spring", tmp_path / "spring.ssp")
    told = "no binaries/" if what == "library" else "the binary cannot be loaded"
    for system, name in (("Spring", "Spring"), ("spring.ssp", "spring.ssp!resources/Spring.fmu")):
        status, _, err = ssptool("run", system, *process)
        assert (status, err.startswith(f"error: {name}: {told}")) == (1, True), err


def test_plan_names_the_line_of_the_fmu_that_states_times_and_step(ssptool):
    status, out, _ = ssptool("plan", SYSTEM1)
    place = "System1.fmu!modelDescription.xml:"
    assert status == 0
    assert f"default experiment of the FMU of System1, {place}" in out
    assert f"recommended by the FMU of System1, {place}" in out


def test_an_fmu_is_never_edited(ssptool):
    before = SYSTEM1.read_bytes()
    status, _, err = ssptool("set", SYSTEM1, "System1.k1=3")
    assert status != 0 and "ssptool convert" in err
    assert SYSTEM1.read_bytes() == before


def test_a_name_without_the_component_is_that_of_its_variable(ssptool, tmp_path):
    for name in ("k1", "System1.k1"):
        status, _, _ = ssptool("run", SYSTEM1, "--set", f"{name}=3", "--record", name, "--output", f"{name}.csv")
        assert status == 0
    short, full = ((tmp_path / f"{name}.csv").read_text() for name in ("k1", "System1.k1"))
    assert short == full and ",3" in short.splitlines()[1]


def test_a_name_that_is_none_is_refused_with_a_similar_one(ssptool):
    status, _, err = ssptool("run", SYSTEM1, "--set", "k11=3")
    assert status == 2 and "did you mean k1" in err


def test_an_fmu_whose_model_description_is_no_xml_is_a_finding(ssptool, tmp_path):
    with zipfile.ZipFile(tmp_path / "broken.fmu", "w") as packed:
        packed.writestr("modelDescription.xml", "<fmiModelDescription")
    status, out, _ = ssptool("validate", "broken.fmu")
    assert status == 1 and "modelDescription.xml" in out


def test_a_system_takes_the_default_experiment_of_the_first_fmu_that_is_added(ssptool):
    ssptool("new", "plant")
    status, out, _ = ssptool("add", "plant", SYSTEM1)
    assert status == 0 and "stop time of the default experiment to 10 s" in out
    ssptool("new", "short", "--stop-time", "2")
    assert "stop time" not in ssptool("add", "short", SYSTEM1)[1]


# -- annotations of other tools ------------------------------------------------------------------------------------

OSP = """<ssc:Annotation type="com.opensimulationplatform"><osp:Algorithm
    xmlns:osp="http://opensimulationplatform.com/SSP/OSPAnnotations">
  <osp:FixedStepAlgorithm baseStepSize="{step}" numWorkerThreads="4"/></osp:Algorithm></ssc:Annotation>"""
OMS = """<ssc:Annotation type="org.openmodelica"><oms:Annotations
    xmlns:oms="https://raw.githubusercontent.com/OpenModelica/OMSimulator/master/schema/oms.xsd">
  <oms:SimulationInformation>{content}</oms:SimulationInformation></oms:Annotations></ssc:Annotation>"""


@pytest.fixture
def annotated(ssptool, tmp_path):
    """A system of System1 whose default experiment has an annotation."""

    def make(annotation):
        ssptool("new", "plant", "--stop-time", "1")
        ssptool("add", "plant", SYSTEM1)
        path = tmp_path / "plant" / "SystemStructure.ssd"
        text = path.read_text()
        old = '<ssd:DefaultExperiment startTime="0" stopTime="1"/>'
        assert old in text
        new = old.replace("/>", f">\n<ssd:Annotations>\n{annotation}\n</ssd:Annotations></ssd:DefaultExperiment>")
        path.write_text(text.replace(old, new))
        return "plant"

    return make


def test_the_step_size_of_an_osp_annotation_is_followed_and_what_is_not_is_named(ssptool, annotated):
    plan = api.plan(annotated(OSP.format(step="1e-4")))
    step = next(choice for choice in plan.choices if choice.setting == "step_size")
    assert (plan.interval.step, step.reason) == (approx(1e-4), "stated by osp:FixedStepAlgorithm")
    file, _, line = step.place.partition(":")
    assert "FixedStepAlgorithm" in Path("plant", file).read_text().splitlines()[int(line) - 1]
    assert any('numWorkerThreads="4" is ignored (--threads sets it)' in note for note in plan.notes)
    assert api.plan("plant", settings=api.Settings(step_size=0.01)).interval.step == 0.01


def test_the_fixed_step_master_of_omsimulator_gives_the_step_size(annotated):
    content = '<oms:FixedStepMaster description="oms-ma" stepSize="0.005" relativeTolerance="1e-4"/>'
    plan = api.plan(annotated(OMS.format(content=content)))
    assert plan.interval.step == approx(0.005)
    assert any('relativeTolerance="1e-4" is ignored' in note for note in plan.notes)


def test_the_solver_of_omsimulator_gives_the_tolerance_of_model_exchange(annotated):
    content = '<oms:VariableStepSolver description="euler" relativeTolerance="1e-5" maximumStepSize="0.1"/>'
    system = annotated(OMS.format(content=content))
    plan = api.plan(system, settings=api.Settings(implementation="me"))
    tolerance = next(choice for choice in plan.choices if choice.setting == "tolerance")
    assert (tolerance.value, tolerance.reason) == ("1e-05", "stated by oms:VariableStepSolver")
    assert any("the solver euler is not available" in note for note in plan.notes)
    assert any('maximumStepSize="0.1" is ignored' in note for note in plan.notes)
    assert any("no component is run as model exchange" in note for note in api.plan(system).notes)


def test_a_step_size_that_is_no_number_is_named_and_not_followed(annotated):
    plan = api.plan(annotated(OSP.format(step="fast")))
    assert plan.interval.step == approx(1e-3)
    assert any('baseStepSize="fast", which is not a positive number' in note for note in plan.notes)
