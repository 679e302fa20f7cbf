"""FMI 1.0: model descriptions in the words of later versions, and instances that log and take every type."""

from pathlib import Path

import pytest

from ssptool.fmu.binary import load
from ssptool.fmu.description import Causality, UnusableFmu, Variability, unsupported_of_fmi1
from ssptool.fmu.instance import FmiError
from ssptool.fmu.read_description import description_problems, read_description
from tests.engine.carriers import build
from tests.fmu.starting import enter_initialization

RESOURCES = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator" / "resources"
NEEDS_FMUS = pytest.mark.skipif(not (RESOURCES / "fmi1/System1.fmu").exists(), reason="make setup builds the FMUs")
ALONE = "CoSimulation_StandAlone"


def describe(folder, variables="", *, before="", implementation=ALONE, capabilities=""):
    stated = (
        f"<Implementation><{implementation}><Capabilities {capabilities}/></{implementation}></Implementation>"
        if implementation
        else ""
    )
    (folder / "modelDescription.xml").write_text(
        '<fmiModelDescription fmiVersion="1.0" modelName="A.M" modelIdentifier="A_M" guid="{1}" '
        f'numberOfContinuousStates="0" numberOfEventIndicators="0">{before}'
        f"<ModelVariables>{variables}</ModelVariables>{stated}</fmiModelDescription>"
    )
    return read_description(folder)


def scalar(attributes, content="<Real/>", name="v"):
    return f'<ScalarVariable name="{name}" valueReference="1" {attributes}>{content}</ScalarVariable>'


@pytest.mark.parametrize(
    ("attributes", "start", "expected"),
    [
        ('causality="input"', "", ("input", "continuous", None)),
        ('causality="output"', "", ("output", "continuous", "calculated")),
        ('causality="output"', 'start="1"', ("output", "continuous", "exact")),
        ('causality="output" variability="discrete"', 'start="1" fixed="false"', ("output", "discrete", "approx")),
        ("", "", ("local", "continuous", "calculated")),
        ('causality="internal" variability="parameter"', 'start="1"', ("parameter", "fixed", "exact")),
        ('causality="internal" variability="parameter"', "", ("local", "fixed", "calculated")),
        ('causality="input" variability="parameter"', "", ("parameter", "fixed", "exact")),
        ('causality="output" variability="parameter"', "", ("calculatedParameter", "fixed", "calculated")),
        ('causality="output" variability="constant"', 'start="1"', ("output", "constant", "exact")),
        ('causality="none"', 'start="1"', ("none", "continuous", "exact")),
    ],
)
def test_variables_are_read_in_the_words_of_fmi2(tmp_path, attributes, start, expected):
    variable = describe(tmp_path, scalar(attributes, f"<Real {start}/>")).variables["v"]
    causality, variability, initial = expected
    assert (variable.causality, variable.variability, variable.initial) == (
        Causality(causality),
        Variability(variability),
        initial,
    )


def test_every_type_is_read_with_its_start_value(tmp_path):
    types = '<TypeDefinitions><Type name="Gear"><EnumerationType><Item name="a"/><Item name="b"/></EnumerationType>'
    rows = [
        ("Real", "2.5", "Float64", 2.5),
        ("Integer", "-3", "Int32", -3),
        ("Boolean", "true", "Boolean", True),
        ("String", "κ", "String", "κ"),
        ("Enumeration", "2", "Enumeration", 2),
    ]
    variables = "".join(
        scalar('causality="input"', f'<{kind} start="{start}"{_gear(kind)}/>', kind) for kind, start, *_ in rows
    )
    found = describe(tmp_path, variables, before=f"{types}</Type></TypeDefinitions>").variables
    for name, _, kind, start in rows:
        assert (found[name].type, found[name].start) == (kind, start)
        assert found[name].variability == ("continuous" if name == "Real" else "discrete")
    assert dict(found["Enumeration"].items) == {"a": 1, "b": 2}


def _gear(kind):
    return ' declaredType="Gear"' if kind == "Enumeration" else ""


def test_outputs_depend_on_what_they_name_and_without_a_list_on_all_inputs(tmp_path):
    variables = (
        scalar('causality="input"', name="u")
        + scalar('causality="output"', "<Real/><DirectDependency><Name>u</Name></DirectDependency>", "one")
        + scalar('causality="output"', "<Real/><DirectDependency/>", "none")
        + scalar('causality="output"', name="all")
    )
    description = describe(tmp_path, variables)
    assert description.outputs == {"one": frozenset({"u"}), "none": frozenset(), "all": None}
    assert description.initial_unknowns == description.outputs


def test_units_are_known_by_name_and_by_those_in_which_they_are_shown(tmp_path):
    before = (
        '<UnitDefinitions><BaseUnit unit="rad"><DisplayUnitDefinition displayUnit="deg" gain="57.2957795"/>'
        '</BaseUnit><BaseUnit unit="K"><DisplayUnitDefinition displayUnit="degC" offset="-273.15"/></BaseUnit>'
        "</UnitDefinitions>"
    )
    units = describe(tmp_path, before=before).units
    assert units["rad"].exponents is None
    assert units["rad"].display("deg") == ("deg", 57.2957795, 0.0, False)
    assert units["K"].display("degC") == ("degC", 1.0, -273.15, False)


def test_capabilities_are_read(tmp_path):
    flags = 'canHandleVariableCommunicationStepSize="true" canInterpolateInputs="1" maxOutputDerivativeOrder="2"'
    one = describe(tmp_path, capabilities=f'{flags} canBeInstantiatedOnlyOncePerProcess="true"')
    interface = one.co_simulation
    assert interface.model_identifier == "A_M" and one.model_exchange is None
    assert interface.variable_step and interface.input_derivatives and interface.once_per_process
    assert interface.output_derivative_order == 2 and not interface.saves_state
    other = describe(tmp_path).co_simulation
    assert not (other.variable_step or other.input_derivatives or other.once_per_process or other.needs_tool)


@pytest.mark.parametrize(
    ("implementation", "words"), [(None, "model exchange"), ("CoSimulation_Tool", "CoSimulation_Tool"), (ALONE, None)]
)
def test_what_cannot_be_run_is_named(tmp_path, implementation, words):
    description = describe(tmp_path, implementation=implementation)
    unsupported = unsupported_of_fmi1(description)
    assert (unsupported is None) if words is None else (words in unsupported)
    if words is not None:
        with pytest.raises(UnusableFmu, match=words):
            load(tmp_path, description)


def test_numbers_of_states_are_not_needed(tmp_path):
    (tmp_path / "modelDescription.xml").write_text(
        '<fmiModelDescription fmiVersion="1.0" modelName="M" modelIdentifier="M" guid="{1}"><ModelVariables/>'
        "<Implementation><CoSimulation_StandAlone><Capabilities/></CoSimulation_StandAlone></Implementation>"
        "</fmiModelDescription>"
    )
    assert read_description(tmp_path).co_simulation is not None
    assert any("numberOfContinuousStates" in problem.message for problem in description_problems(tmp_path))


def test_negated_aliases_are_marked(tmp_path):
    found = describe(tmp_path, scalar('alias="negatedAlias"') + scalar('alias="alias"', name="w")).variables
    assert found["v"].negated and not found["w"].negated


def test_dependencies_on_what_is_no_input_are_problems(tmp_path):
    describe(
        tmp_path,
        scalar('causality="output"', "<Real/><DirectDependency><Name>w</Name></DirectDependency>")
        + scalar('causality="internal"', "<Real/><DirectDependency/>", "x"),
    )
    messages = [problem.message for problem in description_problems(tmp_path)]
    assert any('"v": its DirectDependency "w" is not an input' in message for message in messages)
    assert any('"x": it has a DirectDependency, and is not an output' in message for message in messages)


@pytest.fixture(scope="module")
def carrier(tmp_path_factory):
    folder = tmp_path_factory.mktemp("carriers")
    build(folder)
    return folder / "carrier1.fmu"


def test_every_type_is_set_and_got(carrier):
    values = {"Real_u": 0.1, "Integer_u": -7, "Boolean_u": True, "String_u": "κ", "Enumeration_u": 2}
    with load(carrier, read_description(carrier)) as binary:
        instance = binary.instantiate("one")
        instance.set(values)
        enter_initialization(instance)
        assert instance.get(values) == values


def test_several_booleans_are_chars_in_one_call(carrier):
    """fmiBoolean is a char; FMPy sets one at a time."""
    description = read_description(carrier)
    with load(carrier, description) as binary:
        instance = binary.instantiate("one")
        enter_initialization(instance)
        instance.set({"Boolean_u": True, "Boolean_was": False})
        assert instance.get(["Boolean_u", "Boolean_was"]) == {"Boolean_u": True, "Boolean_was": False}


def test_messages_are_formatted_and_belong_to_their_instance(carrier):
    """While an instance is made, nobody knows its address yet."""
    with load(carrier, read_description(carrier)) as binary:
        one, other = binary.instantiate("one"), binary.instantiate("other")
        assert one.messages == ("ok (made): one of {carrier}", "ok (made): 100 %")
        assert other.messages[0] == "ok (made): other of {carrier}"


@NEEDS_FMUS
def test_refusals_have_the_names_of_fmi():
    path = RESOURCES / "fmi1" / "System1.fmu"
    with load(path, read_description(path)) as binary:
        instance = binary.instantiate("S")
        with pytest.raises(FmiError, match="S: fmiGetReal returned error"):
            instance.get(["a1"])  # not before fmiInitializeSlave
        with pytest.raises(FmiError, match=r"(?s)fmiInitializeSlave returned error.*stop time 0 is before"):
            enter_initialization(instance, 1.0, 0.0, None)
        enter_initialization(instance, 0.0, 1.0, None)
