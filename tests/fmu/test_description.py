"""Model descriptions: FMI 2.0 and 3.0 arrive as the same values, and bad files say what is bad."""

import zipfile
from pathlib import Path

import pytest

from ssptool.fmu.description import Causality, UnreadableFmu, Variability
from ssptool.fmu.read_description import read_description
from ssptool.fmu.units import Exponents

FMI2 = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="Mass" guid="{1}">
  <ModelExchange modelIdentifier="mass_me" providesDirectionalDerivative="true"/>
  <CoSimulation modelIdentifier="mass_cs" canHandleVariableCommunicationStepSize="true"
    canGetAndSetFMUstate="true" canInterpolateInputs="1" maxOutputDerivativeOrder="2"/>
  <UnitDefinitions>
    <Unit name="mm"><BaseUnit m="1" factor="1e-3"/></Unit>
    <Unit name="furlong"/>
  </UnitDefinitions>
  <TypeDefinitions>
    <SimpleType name="Length">
      <Real unit="mm" min="-5" max="5" nominal="-2" relativeQuantity="true"/>
    </SimpleType>
    <SimpleType name="Mode">
      <Enumeration><Item name="off" value="0"/><Item name="on" value="7"/></Enumeration>
    </SimpleType>
  </TypeDefinitions>
  <DefaultExperiment stepSize="1e-3"/>
  <ModelVariables>
    <!-- a comment is not a variable -->
    <ScalarVariable name="u" valueReference="1" causality="input">
      <Real start="1.5" unit="mm"/>
    </ScalarVariable>
    <ScalarVariable name="v" valueReference="2" causality="input">
      <Real start="0" declaredType="Length"/>
    </ScalarVariable>
    <ScalarVariable name="y" valueReference="3" causality="output"><Real/></ScalarVariable>
    <ScalarVariable name="z" valueReference="4" causality="output" description="free"><Real/></ScalarVariable>
    <ScalarVariable name="w" valueReference="5" causality="output"><Real derivative="3"/></ScalarVariable>
    <ScalarVariable name="n" valueReference="1" causality="parameter" variability="fixed">
      <Integer start="-3" max="12"/>
    </ScalarVariable>
    <ScalarVariable name="b" valueReference="1" causality="parameter" variability="tunable">
      <Boolean start="1"/>
    </ScalarVariable>
    <ScalarVariable name="s" valueReference="1" causality="parameter" variability="fixed">
      <String start="a b"/>
    </ScalarVariable>
    <ScalarVariable name="m" valueReference="2" causality="parameter" variability="fixed">
      <Enumeration start="7" declaredType="Mode"/>
    </ScalarVariable>
  </ModelVariables>
  <ModelStructure>
    <Outputs>
      <Unknown index="3" dependencies="1  2"/>
      <Unknown index="4" dependencies=""/>
      <Unknown index="5"/>
    </Outputs>
    <InitialUnknowns><Unknown index="3" dependencies="6"/></InitialUnknowns>
  </ModelStructure>
</fmiModelDescription>
"""

FMI3 = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="Mass" instantiationToken="{1}">
  <CoSimulation modelIdentifier="mass" canGetAndSetFMUState="true" canSerializeFMUState="true"
    hasEventMode="true" canHandleVariableCommunicationStepSize="true" providesDirectionalDerivatives="true"
    providesIntermediateUpdate="true" maxOutputDerivativeOrder="1"/>
  <ModelVariables>
    <Float64 name="u" valueReference="1" causality="input" start="1 2 3" intermediateUpdate="true">
      <Dimension start="3"/>
    </Float64>
    <Float64 name="y" valueReference="2" causality="output" relativeQuantity="true">
      <Alias name="y_alias"/>
    </Float64>
    <UInt8 name="count" valueReference="3" causality="parameter" variability="fixed" start="4" max="9"/>
    <String name="label" valueReference="4" causality="parameter" variability="fixed">
      <Dimension start="2"/><Start value="a b"/><Start value="c"/>
    </String>
    <Binary name="blob" valueReference="5" causality="parameter" variability="fixed">
      <Start value="00FF"/>
    </Binary>
    <Float32 name="f" valueReference="6" causality="local" initial="exact" start="0.5"/>
    <Boolean name="flag" valueReference="7" causality="parameter" variability="fixed" start="false"/>
  </ModelVariables>
  <ModelStructure>
    <Output valueReference="2" dependencies="1&#10;6"/>
    <InitialUnknown valueReference="2" dependencies=""/>
  </ModelStructure>
</fmiModelDescription>
"""


def fmu(folder: Path, text: str, name: str = "m.fmu") -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", text)
    return path


def reason(path: Path) -> str:
    with pytest.raises(UnreadableFmu) as caught:
        read_description(path)
    assert caught.value.path == path
    return caught.value.reason


def test_fmi2_variables_arrive_with_types_attributes_and_lines(tmp_path):
    description = read_description(fmu(tmp_path, FMI2))
    variables = description.variables
    assert (description.fmi_major, description.model_name, description.token) == (2, "Mass", "{1}")
    assert list(variables) == ["u", "v", "y", "z", "w", "n", "b", "s", "m"]
    assert [variables[n].type for n in "unbsm"] == ["Float64", "Int32", "Boolean", "String", "Enumeration"]
    assert [variables[n].start for n in "unbsm"] == [1.5, -3, True, "a b", 7]
    assert variables["u"].causality is Causality.INPUT
    assert variables["b"].variability is Variability.TUNABLE
    assert variables["u"].line == FMI2[: FMI2.index('name="u"')].count("\n") + 1
    assert variables["n"].maximum == 12
    assert dict(variables["m"].items) == {"off": 0, "on": 7}
    assert variables["w"].derivative_of == "y"
    assert variables["z"].description == "free"
    assert description.experiment.step_size == 1e-3


def test_a_variable_inherits_from_its_declared_type_what_it_does_not_state(tmp_path):
    v = read_description(fmu(tmp_path, FMI2)).variables["v"]
    assert (v.unit, v.minimum, v.maximum, v.nominal, v.relative_quantity) == ("mm", -5.0, 5.0, 2.0, True)


def test_fmi2_dependencies_are_resolved_to_names_and_undeclared_is_none(tmp_path):
    description = read_description(fmu(tmp_path, FMI2))
    assert dict(description.outputs) == {"y": {"u", "v"}, "z": frozenset(), "w": None}
    assert dict(description.initial_unknowns) == {"y": {"n"}}


def test_fmi2_capabilities_belong_to_their_interface_type(tmp_path):
    description = read_description(fmu(tmp_path, FMI2))
    co_simulation, model_exchange = description.co_simulation, description.model_exchange
    assert co_simulation.model_identifier == "mass_cs"
    assert co_simulation.saves_state and co_simulation.variable_step and co_simulation.input_derivatives
    assert co_simulation.output_derivative_order == 2
    assert not co_simulation.serializes_state and not co_simulation.directional_derivatives
    assert model_exchange.directional_derivatives and not model_exchange.saves_state


def test_units_carry_exponents_and_a_bare_name_carries_none(tmp_path):
    units = read_description(fmu(tmp_path, FMI2)).units
    assert units["mm"].exponents == Exponents(m=1)
    assert (units["mm"].factor, units["mm"].offset) == (1e-3, 0.0)
    assert units["furlong"].exponents is None


def test_fmi3_capabilities_arrive_under_their_new_names(tmp_path):
    co_simulation = read_description(fmu(tmp_path, FMI3)).co_simulation
    assert co_simulation.directional_derivatives
    assert co_simulation.saves_state and co_simulation.serializes_state
    assert co_simulation.event_mode and co_simulation.intermediate_update
    assert co_simulation.output_derivative_order == 1


def test_fmi3_arrays_keep_their_shape_and_every_start_value(tmp_path):
    variables = read_description(fmu(tmp_path, FMI3)).variables
    assert variables["u"].shape == (3,)
    assert (variables["u"].start, variables["u"].starts) == (1.0, (1.0, 2.0, 3.0))
    assert variables["label"].starts == ("a b", "c")
    assert variables["blob"].starts == (b"\x00\xff",)
    assert variables["y"].starts == () and variables["y"].start is None


def test_fmi3_attributes_that_fmpy_does_not_copy_are_read(tmp_path):
    variables = read_description(fmu(tmp_path, FMI3)).variables
    assert (variables["count"].minimum, variables["count"].maximum) == (-float("inf"), 9.0)
    assert variables["u"].intermediate_update and not variables["y"].intermediate_update
    assert variables["y"].relative_quantity
    assert variables["flag"].start is False


def test_an_alias_has_the_dependencies_of_its_variable(tmp_path):
    description = read_description(fmu(tmp_path, FMI3))
    assert description.variables["y_alias"].reference == description.variables["y"].reference
    assert description.outputs["y_alias"] == description.outputs["y"] == {"u", "f"}
    assert description.initial_unknowns["y_alias"] == frozenset()


def test_an_unpacked_folder_reads_like_its_zip(tmp_path):
    folder = tmp_path / "unpacked"
    folder.mkdir()
    (folder / "modelDescription.xml").write_text(FMI2, encoding="utf-8")
    assert read_description(folder).outputs == read_description(fmu(tmp_path, FMI2)).outputs


def test_a_missing_file_says_so(tmp_path):
    assert reason(tmp_path / "none.fmu") == "no such file"


def test_a_file_that_is_no_zip_says_so(tmp_path):
    path = tmp_path / "m.fmu"
    path.write_text("MZ")
    assert reason(path).startswith("not an intact zip archive")


def test_a_truncated_zip_says_so(tmp_path):
    path = fmu(tmp_path, FMI2)
    path.write_bytes(path.read_bytes()[:300])
    assert reason(path).startswith("not an intact zip archive")


def test_a_zip_whose_content_was_damaged_says_so(tmp_path):
    path = tmp_path / "m.fmu"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", FMI2)
    content = bytearray(path.read_bytes())
    content[100:140] = bytes(40)
    path.write_bytes(content)
    assert reason(path).startswith("not an intact zip archive")


def test_an_archive_without_model_description_says_so(tmp_path):
    path = tmp_path / "m.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "")
    assert reason(path) == "the archive holds no modelDescription.xml"
    (tmp_path / "folder").mkdir()
    assert reason(tmp_path / "folder") == "the folder holds no modelDescription.xml"


@pytest.mark.parametrize(
    ("found", "replaced", "expected"),
    [
        (
            "</ModelStructure>",
            "</ModelStructur>",
            f"modelDescription.xml, line {FMI2[: FMI2.index('</ModelStructure>')].count(chr(10)) + 1}: ",
        ),
        (
            'fmiVersion="2.0"',
            'fmiVersion="4.0"',
            'fmiVersion "4.0" is newer than the versions that ssptool knows: 1.0, 2.0 and 3.x',
        ),
        ('fmiVersion="2.0"', "", "has no attribute fmiVersion"),
        ('name="n" valueReference="1"', 'name="n"', 'variable "n" has no valueReference'),
        ('value="7"', f'value="{2**63}"', f'enumeration "Mode": on="{2**63}" is not an integer of 64 bits'),
        ('<BaseUnit m="1"', '<BaseUnit m="4294967296"', 'unit "mm": m="4294967296" is not an integer of 32 bits'),
    ],
)
def test_a_bad_model_description_names_what_is_bad(tmp_path, found, replaced, expected):
    assert found in FMI2
    assert expected in reason(fmu(tmp_path, FMI2.replace(found, replaced)))


def test_a_document_type_declaration_is_refused(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    text = FMI2.replace(
        "<fmiModelDescription",
        f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]><fmiModelDescription description="d"',
    ).replace("<!-- a comment is not a variable -->", "&e;")
    assert "document type declaration" in reason(fmu(tmp_path, text))


def test_an_fmi1_fmu_is_read_with_its_internal_variables_as_local(tmp_path):
    text = """<fmiModelDescription fmiVersion="1.0" modelName="M" modelIdentifier="m" guid="{1}"
        numberOfContinuousStates="0" numberOfEventIndicators="0"><ModelVariables>
        <ScalarVariable name="p" valueReference="1" variability="parameter"><Real start="2"/></ScalarVariable>
        <ScalarVariable name="x" valueReference="2"><Real/></ScalarVariable>
        </ModelVariables></fmiModelDescription>"""
    description = read_description(fmu(tmp_path, text))
    assert description.fmi_major == 1
    assert description.variables["p"].causality is Causality.PARAMETER
    assert description.variables["x"].causality is Causality.LOCAL


@pytest.mark.parametrize(
    ("found", "replaced", "expected"),
    [
        ('<Dimension start="2"/>', '<Dimension start="-2"/>', 'variable "a": a dimension has -2 elements'),
        ('<Dimension start="2"/>', f'<Dimension start="{2**64}"/>', f'variable "a": a dimension has {2**64} elements'),
        ("<Float32", "<CoSimulation", 'variable "a": <CoSimulation> is not a type of FMI'),
    ],
)
def test_a_bad_variable_of_fmi3_is_named(tmp_path, found, replaced, expected):
    text = """<fmiModelDescription fmiVersion="3.0" modelName="M" instantiationToken="{1}">
        <CoSimulation modelIdentifier="m"/><ModelVariables>
        <Float32 name="a" valueReference="1" causality="local"><Dimension start="2"/></Float32>
        </ModelVariables><ModelStructure/></fmiModelDescription>"""
    assert read_description(fmu(tmp_path, text)).variables["a"].shape == (2,)
    altered = text.replace(found, replaced).replace(
        "</Float32>", f"</{replaced.strip('<')}>" if replaced[1] == "C" else "</Float32>"
    )
    assert expected in reason(fmu(tmp_path, altered))
