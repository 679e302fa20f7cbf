"""Model descriptions are read and judged as FMPy does it, which is another implementation of the standard."""

import zipfile
from io import BytesIO
from pathlib import Path

import fmpy
import pytest
from fmpy.model_description import read_model_description
from fmpy.validation import validate_model_description
from lxml import etree

from ssptool.fmu.description import read_description
from ssptool.fmu.platforms import library, this_platform
from ssptool.fmu.validity import description_problems
from tests.fmu.test_description import FMI2, FMI3, fmu

ROOT = Path(__file__).parents[2]
FMUS = sorted([*(ROOT / "build").glob("*-fmus/**/*.fmu"), *(ROOT / "systems").rglob("*.fmu")])
FMUS += sorted((ROOT / "build").glob("*-test-models/**/*.fmu"))
TYPES = {"Real": "Float64", "Integer": "Int32"}
NEEDS_FMUS = pytest.mark.skipif(not FMUS, reason="the FMUs are not built: make setup")


def by_fmpy(path: Path):
    """With white space in lists as FMPy can read it."""
    with zipfile.ZipFile(path) as archive:
        root = etree.fromstring(archive.read("modelDescription.xml"))
    for node in root.iter("*"):
        for name in ("dependencies", "dependenciesKind"):
            if name in node.attrib:
                node.set(name, " ".join(node.get(name).split()))
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("modelDescription.xml", etree.tostring(root))
    return read_model_description(file, validate=False)


def facts(variable) -> tuple[object, ...]:
    """Of a variable of ours, what FMPy knows too."""
    return (
        variable.name,
        variable.reference,
        variable.type,
        variable.causality,
        variable.variability,
        variable.initial,
        variable.shape,
        variable.description,
        variable.declared_type,
        variable.derivative_of,
        variable.clocks,
        dict(variable.items),
    )


def facts_of_fmpy(variable) -> tuple[object, ...]:
    declared = variable.declaredType
    return (
        variable.name,
        variable.valueReference,
        TYPES.get(variable.type, variable.type),
        variable.causality,
        variable.variability,
        variable.initial,
        variable.shape,
        variable.description or "",
        None if declared is None else declared.name,
        None if variable.derivative is None else variable.derivative.name,
        tuple(clock.name for clock in variable.clocks or ()),
        {} if declared is None else {item.name: int(item.value) for item in declared.items},
    )


def dependencies(unknowns) -> dict[str, set[str] | None]:
    return {
        one.variable.name: None if one.dependencies is None else {v.name for v in one.dependencies} for one in unknowns
    }


def same(path: Path) -> None:
    ours, theirs = read_description(path), by_fmpy(path)
    assert (ours.fmi_version, ours.model_name, ours.token) == (theirs.fmiVersion, theirs.modelName, theirs.guid)
    assert ours.event_indicators == theirs.numberOfEventIndicators
    assert (ours.scheduled_execution, ours.co_simulation is None, ours.model_exchange is None) == (
        theirs.scheduledExecution is not None,
        theirs.coSimulation is None,
        theirs.modelExchange is None,
    )
    if ours.fmi_major > 1:  # of FMI 1.0 it knows less
        assert [facts(one) for one in ours.variables.values()] == [facts_of_fmpy(one) for one in theirs.modelVariables]
        base = {one.name for one in theirs.modelVariables if not one.alias}
        for own, other in (
            (ours.outputs, theirs.outputs),
            (ours.derivatives, theirs.derivatives),
            (ours.initial_unknowns, theirs.initialUnknowns),
        ):
            known = {name: None if of is None else of & base for name, of in own.items() if name in base}
            assert known == dependencies(other)
    starts = {one.name: one.start for one in theirs.modelVariables if one.type not in ("String", "Binary")}
    assert {name for name, start in starts.items() if start} == {
        one.name for one in ours.variables.values() if one.starts and one.type not in ("String", "Binary")
    }


@NEEDS_FMUS
@pytest.mark.parametrize("path", FMUS, ids=lambda path: "/".join(path.parts[-3:]))
def test_every_fmu_is_read_as_fmpy_reads_it(path):
    same(path)


@pytest.mark.parametrize("text", [FMI2, FMI3], ids=["FMI 2.0", "FMI 3.0"])
def test_what_is_written_in_unusual_ways_is_read_as_fmpy_reads_it(tmp_path, text):
    same(fmu(tmp_path, text))


@NEEDS_FMUS
@pytest.mark.parametrize("path", FMUS, ids=lambda path: "/".join(path.parts[-3:]))
def test_every_fmu_is_judged_as_fmpy_judges_it(path):
    theirs = validate_model_description(by_fmpy(path), validate_variable_names=True, validate_model_structure=True)
    ours = [problem for problem in description_problems(path) if "DirectDependency" not in problem.message]
    assert bool(ours) == bool(theirs), [*ours, *theirs]


VALID2 = """<fmiModelDescription fmiVersion="2.0" modelName="M" guid="{1}" variableNamingConvention="structured">
  <CoSimulation modelIdentifier="m"/>
  <UnitDefinitions><Unit name="m"><DisplayUnit name="mm" factor="1000"/></Unit></UnitDefinitions>
  <ModelVariables>
    <ScalarVariable name="u" valueReference="1" causality="input">
      <Real start="0" unit="m" displayUnit="mm"/>
    </ScalarVariable>
    <ScalarVariable name="x[1]" valueReference="2" initial="exact"><Real start="1"/></ScalarVariable>
    <ScalarVariable name="der(x[1])" valueReference="3"><Real derivative="2"/></ScalarVariable>
    <ScalarVariable name="a.'y z'" valueReference="4" causality="output"><Real/></ScalarVariable>
    <ScalarVariable name="n" valueReference="5" causality="parameter" variability="fixed">
      <Integer start="1"/>
    </ScalarVariable>
    <ScalarVariable name="c" valueReference="6" causality="calculatedParameter" variability="fixed">
      <Real/>
    </ScalarVariable>
  </ModelVariables>
  <ModelStructure>
    <Outputs><Unknown index="4" dependencies="1 2" dependenciesKind="dependent constant"/></Outputs>
    <Derivatives><Unknown index="3" dependencies="1"/></Derivatives>
    <InitialUnknowns><Unknown index="3"/><Unknown index="4"/><Unknown index="6"/></InitialUnknowns>
  </ModelStructure>
</fmiModelDescription>
"""
VALID3 = """<fmiModelDescription fmiVersion="3.0" modelName="M" instantiationToken="{1}">
  <CoSimulation modelIdentifier="m"/>
  <ModelVariables>
    <Float64 name="t" valueReference="0" causality="independent" variability="continuous"/>
    <Float64 name="u" valueReference="1" causality="input" start="0"/>
    <Float64 name="y" valueReference="2" causality="output"/>
    <String name="s" valueReference="3" causality="parameter" variability="fixed"><Start value="a"/></String>
  </ModelVariables>
  <ModelStructure><Output valueReference="2" dependencies="1"/><InitialUnknown valueReference="2"/></ModelStructure>
</fmiModelDescription>
"""
MUTATIONS = [
    (VALID2, 'name="c"', 'name="n"', 'Variable "n" has the name of another one'),
    (VALID2, "name=\"a.'y z'\"", 'name="a. y"', 'Variable "a. y" has no legal name'),
    (VALID2, 'name="x[1]"', 'name="x[a]"', 'Variable "x[a]" has no legal name'),
    (VALID2, '<Integer start="1"/>', "<Integer/>", 'Variable "n" has no start value'),
    (VALID2, 'start="0" unit', "unit", 'Variable "u" has no start value'),
    (VALID2, "      <Real/>", '<Real start="1"/>', 'Variable "c" has a start value'),
    (
        VALID2,
        'initial="exact"',
        'variability="fixed" initial="exact"',
        'Variable "x[1]" must not have causality="local"',
    ),
    (
        VALID2,
        'causality="output"><Real/>',
        'causality="output"><Boolean/>',
        "of type Boolean and must not be",
    ),
    (VALID2, 'unit="m" displayUnit="mm"', 'unit="km"', 'the unit "km", which is not defined'),
    (VALID2, 'displayUnit="mm"', 'displayUnit="cm"', 'the display unit "cm"'),
    (VALID2, '<Unknown index="6"/>', "", "lacks among the initial unknowns: c."),
    (VALID2, '<Unknown index="6"/>', '<Unknown index="6"/><Unknown index="5"/>', "where they do not belong: n."),
    (VALID2, 'index="4" dependencies="1 2" d', 'index="3" dependencies="1 2" d', "lacks among the outputs: a.'y z'."),
    (VALID2, '<Real derivative="2"/>', "<Real/>", '"der(x[1])" is listed as a state derivative'),
    (VALID2, 'Kind="dependent constant"', 'Kind="dependent"', "has 2 dependencies, but kinds of 1"),
    (VALID2, 'dependencies="1 2" ', "", "has kinds of dependencies, but no dependencies"),
    (VALID3, 'valueReference="3"', 'valueReference="1"', 'the value reference 1, which is that of "u"'),
    (VALID3, '<Start value="a"/>', "", 'Variable "s" has no start value'),
    (VALID3, 'name="t"', 'name="t" start="1"', "is the independent one and has a start value"),
    (VALID3, 'independent" variability="continuous"', 'output" variability="continuous"', "there are 0."),
]


def judged(path: Path) -> list[str]:
    return [problem.message for problem in description_problems(path)]


@pytest.mark.parametrize("text", [VALID2, VALID3], ids=["FMI 2.0", "FMI 3.0"])
def test_a_valid_model_description_has_no_problems(tmp_path, text):
    path = fmu(tmp_path, text)
    assert not validate_model_description(by_fmpy(path), True, True)
    assert judged(path) == []


@pytest.mark.parametrize(("text", "found", "replaced", "expected"), MUTATIONS, ids=[one[3] for one in MUTATIONS])
def test_each_problem_is_named_and_is_one_to_fmpy(tmp_path, text, found, replaced, expected):
    assert found in text
    path = fmu(tmp_path, text.replace(found, replaced, 1))
    assert any(expected in message for message in judged(path)), judged(path)
    assert validate_model_description(by_fmpy(path), True, True)


def test_an_alias_of_an_output_is_none_of_the_initial_unknowns(tmp_path):
    """FMPy demands it, but the standard lists variables, of which an alias is another name (FMI 3.0 §2.4.7.6)."""
    text = VALID3.replace('causality="output"/>', 'causality="output"><Alias name="also y"/></Float64>')
    assert judged(fmu(tmp_path, text)) == []


@pytest.mark.parametrize("major", [2, 3])
def test_this_machine_is_called_as_fmpy_calls_it(major):
    name = fmpy.platform_tuple if major == 3 else fmpy.platform
    assert this_platform(major) == name
    assert library(major, "m") == f"binaries/{name}/m{fmpy.sharedLibraryExtension}"
