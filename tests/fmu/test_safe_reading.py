"""Flaws of model descriptions: one entry is read safely or left out, the others as before, and it is told."""

from math import inf, isinf

import pytest

from ssptool.fmu.description import Causality, Variability
from ssptool.fmu.read_description import description_problems, read_description
from tests.fmu.test_description import fmu

FMI2 = """<fmiModelDescription fmiVersion="2.0" modelName="M" guid="{1}">
  <CoSimulation modelIdentifier="m" canGetAndSetFMUstate="true"/>
  <UnitDefinitions><Unit name="m"><DisplayUnit name="mm" factor="1000"/></Unit></UnitDefinitions>
  <TypeDefinitions><SimpleType name="Length"><Real unit="m" min="-7" max="9"/></SimpleType></TypeDefinitions>
  <DefaultExperiment stopTime="3" stepSize="0.5"/>
  <ModelVariables>
    <ScalarVariable name="u" valueReference="1" causality="input"><Real start="2.5" unit="m"/></ScalarVariable>
    <ScalarVariable name="y" valueReference="2" causality="output"><Real displayUnit="mm" unit="m"/></ScalarVariable>
    <ScalarVariable name="k" valueReference="3"
      causality="parameter" variability="tunable"><Real start="1.5" declaredType="Length"/></ScalarVariable>
    <ScalarVariable name="n" valueReference="4" causality="parameter" variability="fixed">
      <Integer start="3" min="-8" max="12"/>
    </ScalarVariable>
    <ScalarVariable name="on" valueReference="5" causality="parameter" variability="fixed">
      <Boolean start="true"/>
    </ScalarVariable>
    <ScalarVariable name="x" valueReference="6" initial="exact"><Real start="4"/></ScalarVariable>
    <ScalarVariable name="v" valueReference="7"><Real derivative="6"/></ScalarVariable>
  </ModelVariables>
  <ModelStructure>
    <Outputs><Unknown index="2" dependencies="1" dependenciesKind="dependent"/></Outputs>
    <Derivatives><Unknown index="7" dependencies="1"/></Derivatives>
    <InitialUnknowns><Unknown index="2" dependencies="1"/><Unknown index="7"/></InitialUnknowns>
  </ModelStructure>
</fmiModelDescription>
"""
FMI3 = """<fmiModelDescription fmiVersion="3.0" modelName="M" instantiationToken="{1}">
  <CoSimulation modelIdentifier="m" canGetAndSetFMUState="true" hasEventMode="true"/>
  <UnitDefinitions><Unit name="m"><DisplayUnit name="mm" factor="1000"/></Unit></UnitDefinitions>
  <TypeDefinitions><Float64Type name="Length" unit="m" min="-7" max="9"/></TypeDefinitions>
  <DefaultExperiment stopTime="3" stepSize="0.5"/>
  <ModelVariables>
    <Float64 name="t" valueReference="0" causality="independent" variability="continuous"/>
    <Float64 name="u" valueReference="1" causality="input" start="2.5" unit="m"/>
    <Float64 name="y" valueReference="2" causality="output" displayUnit="mm" unit="m"/>
    <Float64 name="k" valueReference="3" causality="parameter" variability="tunable" declaredType="Length" start="1.5"/>
    <Int32 name="n" valueReference="4" causality="parameter" variability="fixed" start="3" min="-8" max="12"/>
    <Boolean name="on" valueReference="5" causality="parameter" variability="fixed" start="true"/>
    <Float64 name="x" valueReference="6" causality="local" start="4" initial="exact"/>
    <Float64 name="v" valueReference="7" causality="local" derivative="6"/>
    <Float64 name="w" valueReference="8" causality="parameter" variability="fixed" start="1 2 5">
      <Dimension start="3"/>
    </Float64>
    <Binary name="b" valueReference="9" causality="parameter" variability="fixed"><Start value="0aff"/></Binary>
    <Clock name="c" valueReference="10" causality="input" intervalVariability="triggered"/>
    <Float64 name="s" valueReference="11" causality="input" variability="discrete" clocks="10" start="1"/>
  </ModelVariables>
  <ModelStructure>
    <Output valueReference="2" dependencies="1" dependenciesKind="dependent"/>
    <ContinuousStateDerivative valueReference="7" dependencies="1"/>
    <InitialUnknown valueReference="2" dependencies="1"/><InitialUnknown valueReference="7"/>
  </ModelStructure>
</fmiModelDescription>
"""


def variable(name, attribute, value):
    return lambda read: getattr(read.variables[name], attribute) == value


ANY = [
    ('start="1.5"', 'start="1,5"', "k", variable("k", "start", 1.5)),
    ('start="1.5"', 'start="1.5D0"', "k", variable("k", "start", 1.5)),
    ('start="1.5"', 'start="-inf"', "k", lambda read: isinf(read.variables["k"].start)),
    ('start="1.5"', 'start="much"', "k", variable("k", "start", None)),
    ('start="1.5"', 'start="11"', "k", variable("k", "start", 11.0)),
    ('min="-7"', 'min="-7,0"', "Length", variable("k", "minimum", -7.0)),
    ('min="-7"', 'min="19"', "Length", lambda read: read.variables["k"].minimum == -inf),
    ('start="3" m', 'start="3.0" m', "n", variable("n", "start", 3)),
    ('start="3" m', 'start="3.5" m', "n", variable("n", "start", None)),
    ('min="-8"', 'min="18"', "n", variable("n", "maximum", inf)),
    ('start="true"', 'start="True"', "on", variable("on", "start", True)),
    ('start="true"', 'start="yes"', "on", variable("on", "start", None)),
    ('displayUnit="mm" unit="m"', 'displayUnit="mm"', "y", variable("y", "unit", None)),
    ('displayUnit="mm" unit="m"', 'displayUnit="mm" unit="furlong"', "y", variable("y", "unit", "furlong")),
    ('declaredType="Length"', 'declaredType="Width"', "k", variable("k", "declared_type", None)),
    ('variability="tunable"', 'variability="constant"', "k", variable("k", "causality", Causality.LOCAL)),
    ('variability="tunable"', 'variability="continuous"', "k", variable("k", "variability", Variability.TUNABLE)),
    ('causality="output"', 'causality="Output"', "y", variable("y", "causality", Causality.OUTPUT)),
    ('derivative="6"', 'derivative="66"', "v", variable("v", "derivative_of", None)),
    ('stepSize="0.5"', 'stepSize="0,5"', "DefaultExperiment", lambda read: read.experiment.step_size == 0.5),
    ('stopTime="3"', 'stopTime="late"', "DefaultExperiment", lambda read: read.experiment.stop is None),
    ('UState="true"', 'UState="TRUE"', "CoSimulation", lambda read: read.co_simulation.saves_state),
    ('Ustate="true"', 'Ustate="TRUE"', "CoSimulation", lambda read: read.co_simulation.saves_state),
]
OF_FMI2 = [
    ('variability="tunable"', "", "k", variable("k", "variability", Variability.TUNABLE)),
    ('variability="tunable"', 'variability="never"', "k", variable("k", "variability", Variability.TUNABLE)),
    ('index="2" dependencies="1" d', 'index="2" dependencies="1 77" d', "y", lambda read: read.outputs["y"] is None),
    ('<Unknown index="2" dependencies="1" d', '<Unknown index="0" d', "0", lambda read: "y" not in read.outputs),
    ('<Unknown index="2" dependencies="1" d', '<Unknown index="22" d', "22", lambda read: "y" not in read.outputs),
]
OF_FMI3 = [
    ('variability="tunable"', 'variability="never"', "k", variable("k", "variability", Variability.FIXED)),
    ('ce="2" dependencies="1" d', 'ce="2" dependencies="1 77" d', "y", lambda read: read.outputs["y"] is None),
    ('<Output valueReference="2" d', '<Output valueReference="77" d', "77", lambda read: "y" not in read.outputs),
    (
        'Int32 name="n" valueReference="4" causality="parameter" variability="fixed" start="3" min="-8" max="12"',
        'Int64 name="n" valueReference="4" causality="parameter" variability="fixed" start="9007199254740993.0"',
        "n",
        variable("n", "start", 9007199254740993),
    ),
    ('start="1 2 5"', 'start="1 2"', "w", variable("w", "starts", (1.0, 2.0))),
    ('start="1 2 5"', 'start="1 2,5 5"', "w", variable("w", "starts", (1.0, 2.5, 5.0))),
    ('value="0aff"', 'value="0x0aff"', "b", variable("b", "start", b"\x0a\xff")),
    ('value="0aff"', 'value="0x0"', "b", variable("b", "start", b"\x00")),
    ('clocks="10"', 'clocks="10 33"', "s", variable("s", "clocks", ())),
]
FLAWS = [(xml, *flaw) for xml in (FMI2, FMI3) for flaw in ANY if flaw[0] in xml]
FLAWS += [(FMI2, *flaw) for flaw in OF_FMI2] + [(FMI3, *flaw) for flaw in OF_FMI3]


@pytest.mark.parametrize("xml", [FMI2, FMI3], ids=["FMI 2", "FMI 3"])
def test_without_a_flaw_nothing_is_told(tmp_path, xml):
    assert description_problems(fmu(tmp_path, xml)) == ()


@pytest.mark.parametrize(("xml", "right", "wrong", "named", "holds"), FLAWS)
def test_one_flaw_is_told_and_costs_nothing_else(tmp_path, xml, right, wrong, named, holds):
    assert xml.count(right) == 1
    flawed = xml.replace(right, wrong)
    path = fmu(tmp_path, flawed)
    read = read_description(path)
    assert holds(read)
    line = 1 + xml[: xml.index(right)].count("\n")
    told = [one.message for one in description_problems(path) if one.line == line]
    assert any(named in one for one in told)
    (tmp_path / "right").mkdir()
    whole = read_description(fmu(tmp_path / "right", xml))
    others = [name for name in whole.variables if name not in (named, "k")]
    assert [read.variables[name] for name in others] == [whole.variables[name] for name in others]


@pytest.mark.parametrize("stated", ["2.0.3", "2.0.4"])
def test_a_patch_release_is_read_as_its_version(tmp_path, stated):
    path = fmu(tmp_path, FMI2.replace('fmiVersion="2.0"', f'fmiVersion="{stated}"'))
    assert read_description(path).fmi_version == "2.0"
    (told,) = description_problems(path)
    assert told.line == 1 and stated in told.message


def test_every_flaw_at_once_is_told(tmp_path):
    """Each of them at its line; one per line."""
    flawed = FMI3
    for right, wrong in (('start="1.5"', 'start="1,5"'), ('start="3" m', 'start="3.0" m'), ('"1 2 5"', '"1 2"')):
        flawed = flawed.replace(right, wrong)
    assert len({one.line for one in description_problems(fmu(tmp_path, flawed))}) == 3
