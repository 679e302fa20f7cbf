"""Systems of the Open Simulation Platform: what becomes of each of their statements."""

import zipfile
from copy import deepcopy
from pathlib import Path

import pytest
from fmpy import simulate_fmu
from fmpy.validation import validate_fmu
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree
from pytest import approx

import ssptool as api
from ssptool.cli.app import command
from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.ssd import Connector
from ssptool.documents.sums import Sum
from ssptool.errors import PartialSystem, is_own
from ssptool.network.annotations import read_annotated
from tests.engine.dual_mass import RESOURCES

CORPUS = Path(__file__).parents[2] / "../shared/corpus/libcosim/tests/data"
FLANGE = """
<VariableGroupConnection>
  <VariableGroup simulator="System2" name="flange"/>
  <VariableGroup simulator="System1" name="flange"/>
</VariableGroupConnection>"""
POSITION = """
<VariableConnection>
  <Variable simulator="System2" name="x1"/>
  <Variable simulator="System1" name="x1"/>
</VariableConnection>"""
THROUGH = """
<SignalConnection>
  <Variable simulator="System1" name="a1"/>
  <Signal function="scale" name="in"/>
</SignalConnection>
<SignalConnection>
  <Signal function="scale" name="out"/>
  <Variable simulator="System2" name="a1"/>
</SignalConnection>"""
SUMMED = """
<SignalConnection>
  <Variable simulator="System1" name="x1"/>
  <Signal function="both" name="in[0]"/>
</SignalConnection>
<SignalConnection>
  <Signal function="both" name="in[1]"/>
  <Variable simulator="System1" name="v1"/>
</SignalConnection>
<SignalConnection>
  <Signal function="both" name="out"/>
  <Variable simulator="System2" name="x1"/>
</SignalConnection>"""
SUM = '<Sum name="both" inputCount="2"/>'
MOTIONS = """
<SignalGroupConnection>
  <VariableGroup simulator="System1" name="motion"/>
  <SignalGroup function="both" name="in[{first}]"/>
</SignalGroupConnection>
<SignalGroupConnection>
  <VariableGroup simulator="Other" name="motion"/>
  <SignalGroup function="both" name="in[{second}]"/>
</SignalGroupConnection>
<SignalGroupConnection>
  <SignalGroup function="both" name="out"/>
  <VariableGroup simulator="System2" name="motion"/>
</SignalGroupConnection>
<VariableConnection>
  <Variable simulator="System2" name="F"/>
  <Variable simulator="System1" name="F"/>
</VariableConnection>
<VariableConnection>
  <Variable simulator="System2" name="F"/>
  <Variable simulator="Other" name="F"/>
</VariableConnection>"""
VECTORS = '<VectorSum name="both" inputCount="2" dimension="{dimension}"/>'
OTHER = f"""<Simulator name="Other" source="{RESOURCES}/System1.fmu">
<InitialValues><InitialValue variable="x1_start"><Real value="-0.125"/></InitialValue></InitialValues></Simulator>"""
SCALE = '<LinearTransformation name="scale" factor="{factor}" offset="0"/>'
SAME = SCALE.format(factor=1)
GROUPS = """<OspModelDescription xmlns="http://opensimulationplatform.com/MSMI/OSPModelDescription" version="0.1">
  <VariableGroups>
    <LinearMechanicalPort name="flange">
      <Force name="force"><Variable ref="F"/></Force>
      <LinearVelocity name="velocity"><Variable ref="v1"/></LinearVelocity>
    </LinearMechanicalPort>
    <Generic name="motion"><Variable ref="x1"/><Variable ref="v1"/><Variable ref="a1"/></Generic>
  </VariableGroups>
</OspModelDescription>"""


@pytest.fixture
def written(tmp_path):
    """The dual-mass oscillator as a system of the platform."""

    def write(functions=SAME, connections=FLANGE + POSITION + THROUGH, algorithm="fixedStep", more=""):
        for name in ("System1", "System2"):
            (tmp_path / f"{name}_OspModelDescription.xml").write_text(GROUPS)
        path = tmp_path / "OspSystemStructure.xml"
        path.write_text(
            f"""<?xml version="1.0" encoding="utf-8"?>
<OspSystemStructure xmlns="http://opensimulationplatform.com/MSMI/OSPSystemStructure" version="0.1">
<StartTime>0.0</StartTime>
<EndTime>0.5</EndTime>
<BaseStepSize>0.002</BaseStepSize>
<Algorithm>{algorithm}</Algorithm>
<Simulators>
<Simulator name="System1" source="{RESOURCES}/System1.fmu" stepSize="0.004">
<InitialValues><InitialValue variable="x1_start"><Real value="0.25"/></InitialValue></InitialValues>
</Simulator>
<Simulator name="System2" source="{RESOURCES}/System2.fmu"/>{more}
</Simulators>
<Functions>{functions}</Functions>
<Connections>{connections}</Connections>
<EccoConfiguration><RelativeTolerance>1e-5</RelativeTolerance></EccoConfiguration>
</OspSystemStructure>
"""
        )
        return path

    return write


def test_it_runs_like_the_same_system_in_ssp(written):
    result = api.simulate(written())
    same = api.simulate(RESOURCES.parent, stop_time=0.5, step_size=0.002, start_values={"System1.x1_start": 0.25})
    assert result.ok
    for name in ("System1.x1", "System1.a1", "System2.F"):
        assert list(result.trace[name]) == list(same.trace[name])


def test_places_are_those_of_its_own_lines(written):
    path = written()
    lines = path.read_text().splitlines()
    plan = api.plan(path.parent)
    step = next(choice for choice in plan.choices if choice.setting == "step_size")
    file, _, line = step.place.partition(":")
    assert (file, lines[int(line) - 1]) == (path.name, "<BaseStepSize>0.002</BaseStepSize>")
    assert any("0.004 s for System1" in note for note in plan.notes)
    broken = api.validate(written(functions="", connections=POSITION.replace('name="x1"', 'name="x9"')))
    position = next(one.position for one in broken.errors)
    assert position.file == path.name and "VariableConnection" in path.read_text().splitlines()[position.line - 1]


def test_a_linear_transformation_is_one_of_the_connection(written):
    with Archive.open(written(functions=SCALE.format(factor=3))) as archive:
        connections = archive.structure().structure.system.connections
        transformed = [each for each in connections if each.transformation is not None]
        assert [each.start_connector for each in transformed] == ["a1"]
        assert transformed[0].transformation.factor == 3


def test_power_bonds_of_connected_ports_choose_adaptive_steps(written):
    network = api.flatten(written())
    assert network.annotated.power_bonds == (("System2.F", "System1.v1"),)


def test_ecco_is_named_as_not_followed_with_the_option_that_comes_nearest(written):
    plan = api.plan(written(algorithm="ecco"))
    assert plan.interval.step == approx(0.002)
    assert any("osp:EccoAlgorithm is ignored" in note and "--adaptive 1e-5" in note for note in plan.notes)


def test_a_sum_adds_at_every_point_and_in_loops(written):
    """The sum of x1 and v1 goes to System2, and the acceleration back to System1 depends on it at once."""
    result = api.simulate(written(SUM + SAME, FLANGE + SUMMED + THROUGH))
    trace = result.trace
    assert result.ok and max(abs(trace["System1.v1"])) > 0.1
    assert list(trace["both.out"]) == list(trace["System1.x1"] + trace["System1.v1"]) == list(trace["System2.x1"])


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("implementation", ["auto", "cs", "me"])
def test_a_vector_sum_adds_element_by_element(written, first, implementation):
    """Two masses at one spring: System2 moves with the sum of their motions."""
    path = written(VECTORS.format(dimension=3), MOTIONS.format(first=first, second=1 - first), more=OTHER)
    result = api.simulate(path, implementation=implementation)
    trace = result.trace
    assert result.ok and max(abs(trace["System1.x1"] - trace["Other.x1"])) > 0.1
    for name in ("x1", "v1", "a1"):
        assert trace[f"System2.{name}"] == approx(trace[f"System1.{name}"] + trace[f"Other.{name}"], abs=1e-12)


def test_sums_are_fmus_of_the_converted_package(written, tmp_path):
    path = written(VECTORS.format(dimension=3), MOTIONS.format(first=0, second=1), more=OTHER)
    converted = api.convert(path, tmp_path / "sums.ssp")
    assert "resources/sums/VectorSum2x3.fmu" in converted.names
    assert not api.validate(converted.path).errors
    assert list(api.simulate(converted.path).trace["System2.F"]) == list(api.simulate(path).trace["System2.F"])


def test_the_fmu_of_a_sum_agrees_with_fmpy(tmp_path):
    file = tmp_path / "sum.fmu"
    file.write_bytes(Sum(terms=3, dimension=2).fmu())
    assert validate_fmu(file) == []
    start = {"in[0][1]": 1.5, "in[1][1]": -4.0, "in[2][1]": 0.25, "in[2][0]": 7.0}
    for interface in ("CoSimulation", "ModelExchange"):
        found = simulate_fmu(file, fmi_type=interface, start_values=start, stop_time=0.1, output_interval=0.1)
        assert (found["out[0]"][-1], found["out[1]"][-1]) == (7.0, -2.25)


@pytest.mark.parametrize(
    ("functions", "connections", "message"),
    [
        (SUM, SUMMED.replace("in[1]", "in[0]"), r"in\[1\] of the Sum 'both' is not connected"),
        (SUM, SUMMED.replace("in[1]", "in[2]"), r"Sum 'both' has no Signal 'in\[2\]'"),
        (VECTORS.format(dimension=3), SUMMED, r"VectorSum 'both' has no Signal 'in\[0\]'"),
        (
            VECTORS.format(dimension=2),
            MOTIONS.format(first=0, second=1),
            "has 3 variables, and 'both' sums",
        ),
        (SUM.replace('"2"', '"0"'), SUMMED, "inputCount of the Sum 'both' is 0"),
        ('<VectorSum name="both" inputCount="2"/>', MOTIONS, "dimension of the VectorSum 'both' is missing"),
        (SUM.replace("both", "System1"), "", "a second simulator or function has the name 'System1'"),
    ],
)
def test_sums_that_lack_something_are_refused(written, functions, connections, message):
    path = written(functions, connections, more=OTHER)
    with pytest.raises(InvalidDocument, match=rf"OspSystemStructure.xml:\d+.*{message}"):
        api.simulate(path)


@pytest.mark.parametrize("function", ['<Product name="s" inputCount="2"/>', '<VectorProduct name="s"/>'])
def test_functions_without_a_counterpart_are_refused_by_name_and_line(written, function):
    path = written(functions=function, connections="")
    with pytest.raises(InvalidDocument, match=rf"OspSystemStructure.xml:\d+.*{function.split()[0][1:]} 's'"):
        api.simulate(path)
    assert [one.code for one in api.validate(path).errors] == ["OSP-101"]


@pytest.mark.parametrize(
    ("connections", "message"),
    [
        (FLANGE.replace("flange", "shaft"), "defines no variable group 'shaft'"),
        (POSITION.replace("System2", "System3"), "there is no simulator 'System3'"),
        (THROUGH.replace("scale", "other"), "there is no function 'other'"),
        (POSITION.replace("VariableConnection", "SignalGroupConnection"), "the connection SignalGroupConnection"),
        (SUMMED, "there is no function 'both'"),
    ],
)
def test_what_leads_nowhere_is_an_error_and_never_dropped(written, connections, message):
    with pytest.raises(InvalidDocument, match=message):
        Archive.open(written(functions="", connections=connections))


def test_a_look_at_it_leaves_out_and_names(written, capsys, monkeypatch):
    """`info`, `draw` and `explain` show what can be read; a run is refused."""
    path = written(functions="", connections=FLANGE.replace("flange", "shaft") + POSITION)
    with pytest.warns(PartialSystem, match=r"left out: OspSystemStructure.xml:\d+: .*OSP-101: .*'shaft'"):
        assert "x1" in str(api.explain(path, "System2.x1")[0])
    with pytest.raises(InvalidDocument):
        api.plan(path)
    monkeypatch.setattr("sys.argv", ["ssptool", "info", str(path)])
    with pytest.raises(SystemExit, match="0"):
        command()
    told = capsys.readouterr()
    assert "System1" in told.out and "left out: OspSystemStructure.xml:" in told.err and ".py" not in told.err


def test_a_file_of_another_kind_is_refused_by_its_root(tmp_path):
    (tmp_path / "other.xml").write_text("<other/>")
    with pytest.raises(InvalidDocument, match="the root element is other, not OspSystemStructure"):
        Archive.open(tmp_path / "other.xml")


def test_converted_it_is_a_valid_package_with_its_fmus_and_the_same_results(written, tmp_path):
    path = written()
    converted = api.convert(path, tmp_path / "oscillator.ssp")
    assert converted.names == ("SystemStructure.ssd", "resources/System1.fmu", "resources/System2.fmu")
    assert any("2 connections of variables" in note for note in converted.notes)
    assert not api.validate(converted.path).errors
    assert list(api.simulate(converted.path).trace["System1.x1"]) == list(api.simulate(path).trace["System1.x1"])
    with pytest.raises(FileExistsError):
        api.convert(path, converted.path)


OF_FMI1 = """<fmiModelDescription fmiVersion="1.0" modelName="Spring" modelIdentifier="Spring" guid="{1}"
  numberOfContinuousStates="0" numberOfEventIndicators="0">
<ModelVariables>
<ScalarVariable name="k" valueReference="0" causality="input" variability="parameter"><Real start="8"/></ScalarVariable>
<ScalarVariable name="x" valueReference="1" causality="input"><Real start="0"/></ScalarVariable>
<ScalarVariable name="f" valueReference="2" causality="output"><Real/></ScalarVariable>
<ScalarVariable name="rate" valueReference="3" causality="output" variability="parameter"><Real/></ScalarVariable>
</ModelVariables>
<Implementation><CoSimulation_StandAlone><Capabilities/></CoSimulation_StandAlone></Implementation>
</fmiModelDescription>"""


@pytest.fixture
def spring(tmp_path):
    """An FMU of FMI 1.0, whose parameters are inputs of variability parameter, and a system of the platform with it."""
    (tmp_path / "parts").mkdir()
    with zipfile.ZipFile(tmp_path / "parts" / "Spring.fmu", "w") as packed:
        packed.writestr("modelDescription.xml", OF_FMI1)
    (tmp_path / "OspSystemStructure.xml").write_text(
        """<OspSystemStructure xmlns="http://opensimulationplatform.com/MSMI/OSPSystemStructure" version="0.1">
<Simulators>
<Simulator name="spring" source="parts/Spring.fmu">
<InitialValues><InitialValue variable="k"><Real value="18"/></InitialValue></InitialValues>
</Simulator>
</Simulators>
</OspSystemStructure>"""
    )
    return tmp_path / "parts" / "Spring.fmu"


def test_inputs_of_fmi1_that_are_parameters_are_no_connectors(spring, tmp_path):
    alone, osp = spring, spring.parent.parent
    converted = [api.convert(system, tmp_path / f"{number}.ssp").path for number, system in enumerate((alone, osp))]
    for system in (alone, osp, *converted):
        found = api.validate(system)
        assert {one.code for one in found.errors} <= {"FMU-101", "FMU-010"}, found.errors
        with Archive.open(system) as archive:
            connectors = list(archive.structure().structure.every(Connector))
        kinds = {one.name: one.kind for one in connectors if one.kind != "parameter"}
        assert kinds.keys() >= {"x", "f"} and "k" not in kinds
    (told,) = api.explain(osp, "spring.k")
    assert told.value == 18.0


@pytest.mark.parametrize("form", ["alone", "unpacked", "osp"])
def test_findings_on_a_made_system_are_about_files_that_the_user_has(spring, tmp_path, form):
    """Their lines too: the input x, which no connection drives, is in line 5 of the model description."""
    system, description, line = spring, "Spring.fmu!modelDescription.xml", 5
    if form == "unpacked":
        system, description = tmp_path / "unpacked", "modelDescription.xml"
        with zipfile.ZipFile(spring) as packed:
            packed.extractall(system)
    if form == "osp":
        system, description, line = tmp_path / "OspSystemStructure.xml", "OspSystemStructure.xml", 3
    report = api.validate(system)
    known = {description, "Spring.fmu", "parts/Spring.fmu", "parts/Spring.fmu!modelDescription.xml", ""}
    assert {one.position.file for one in report.diagnostics} <= known, report.diagnostics
    assert set(report.files) <= known
    assert not report.fixable
    with Archive.open(system) as archive:
        (x,) = [one for one in archive.structure().structure.every(Connector) if one.name == "x"]
        assert x.position.line == line


def test_a_missing_fmu_is_named_as_the_file_states_it(written):
    path = written()
    stated = path.read_text().replace((RESOURCES / "System1.fmu").as_posix(), "fmus/one/System.fmu")
    path.write_text(stated.replace((RESOURCES / "System2.fmu").as_posix(), "../fmus/two/System.fmu"))
    found = [one.message for one in api.validate(path).errors if one.code == "URI-002"]
    assert found == [
        f"there is no file '{source}' (the source of component '{name}')"
        for name, source in (("System1", "fmus/one/System.fmu"), ("System2", "../fmus/two/System.fmu"))
    ]


def test_a_converted_fmu_is_a_valid_package_with_its_default_experiment(tmp_path):
    converted = api.convert(RESOURCES / "System1.fmu", tmp_path / "one.ssp")
    assert not api.validate(converted.path).diagnostics
    assert api.simulate(converted.path).trace.t[-1] == 10.0
    assert any("step size 0.001 stays in the FMU" in note for note in converted.notes)


@pytest.mark.parametrize(
    ("file", "elements", "connections"),
    [
        ("msmi/OspSystemStructure_Bond.xml", 4, 9),
        ("msmi/OspSystemStructure_Dahlquist.xml", 1, 0),
        ("msmi/OspSystemStructure_Dahlquist_proxyfmu.xml", 1, 0),
        ("msmi/OspSystemStructure_StateInitExample.xml", 1, 0),
        ("fmi2/quarter_truck/OspSystemStructure.xml", 2, 2),
    ],
)
def test_systems_of_libcosim_are_read_whole(file, elements, connections, monkeypatch):
    if not CORPUS.exists():
        pytest.skip("the documents of other tools are not here")
    monkeypatch.chdir(CORPUS)
    with Archive.open(CORPUS / file) as archive:
        system = archive.structure().structure.system
        assert (len(system.elements), len(system.connections)) == (elements, connections)


@pytest.mark.parametrize(
    ("file", "step", "by"),
    [
        ("libcosim/tests/data/ssp/demo/SystemStructure.ssd", 1e-4, "osp:FixedStepAlgorithm"),
        ("OMSimulator/testsuite/tests/resources/LOC/SystemStructure.ssd", 1e-5, "oms:FixedStepMaster"),
    ],
)
def test_step_sizes_of_other_tools_are_found_in_their_documents(file, step, by):
    path = CORPUS.parents[2] / file
    if not path.exists():
        pytest.skip("the documents of other tools are not here")
    with Archive.open(path) as archive:
        stated = read_annotated(archive.structure()).step_size
    assert (stated.value, stated.by) == (step, by)


@pytest.mark.parametrize("change", [api.upgrade, api.downgrade])
@pytest.mark.parametrize("output", [None, "made.ssp"])
def test_it_has_no_version_of_ssp_to_change(written, tmp_path, change, output):
    path = written()
    before = path.read_bytes()
    target = None if output is None else tmp_path / output
    with pytest.raises(
        api.exceptions.WrongUsage, match="is not an SSP file and cannot be changed; make one with `ssptool convert "
    ):
        change(path.parent, output=target)
    assert path.read_bytes() == before
    assert target is None or not target.exists()


def test_hints_on_it_name_no_command_that_it_refuses(written):
    found = api.validate(written(functions="", connections=POSITION)).diagnostics
    advice = {one.advice for one in found if one.code == "SSD-CONN-101"}
    assert advice == {"connect it in OspSystemStructure.xml, or drive it with --inputs"}


@pytest.mark.parametrize("simulator", ["", "System9", "../x"])
def test_groups_of_unknown_simulators_are_named_with_their_line(written, simulator):
    path = written(connections=FLANGE.replace('simulator="System2"', f'simulator="{simulator}"'))
    report = api.validate(path)
    found = [one for one in report.errors if f"there is no simulator {simulator!r}" in one.message]
    assert [path.read_text().splitlines()[one.position.line - 1] for one in found] == ["<VariableGroupConnection>"]
    assert "System1, System2" in found[0].advice


@given(st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_changed_file_of_the_platform_is_read_or_refused_with_a_message_of_ours(written, data):
    """Attributes, elements and texts that are changed, removed, repeated, or called otherwise."""
    path = written(functions=SAME + '<Sum name="s" inputCount="2"/>')
    root = etree.fromstring(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        node = data.draw(st.sampled_from(list(root.iter("*"))))
        around = node.getparent()
        kind = data.draw(st.sampled_from(["attribute", "no attribute", "remove", "repeat", "tag", "text"]))
        names = sorted(node.keys())
        if kind.endswith("attribute") and names:
            name = data.draw(st.sampled_from(names))
            node.set(
                name, data.draw(st.sampled_from(["", "nan", "System9", "../x", "/", ".", "a/b.fmu", "p://h?file=x"]))
            )
            if kind == "no attribute":
                del node.attrib[name]
        elif kind == "text":
            node.text = data.draw(st.sampled_from(["", "nan", "1e400", "x"]))
        elif around is not None and kind == "remove":
            around.remove(node)
        elif around is not None and kind == "repeat":
            around.append(deepcopy(node))
        elif around is not None and kind == "tag":
            node.tag = data.draw(st.sampled_from([one.tag for one in root.iter("*")]))
    path.write_bytes(etree.tostring(root))
    assert "INTERNAL" not in {one.code for one in api.validate(path).diagnostics}
    try:
        api.plan(path)
    except Exception as error:
        assert is_own(error), repr(error)
