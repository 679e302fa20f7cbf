"""Verdicts on model descriptions, beside those of FMPy."""

from pathlib import Path

import pytest
from fmpy.model_description import ModelDescription, ModelVariable
from fmpy.validation import _validate_variable_names as _by_fmpy
from fmpy.validation import validate_fmu
from hypothesis import given, settings
from hypothesis import strategies as st

from ssptool.fmu.consistency import is_structured
from ssptool.fmu.read_description import description_problems
from tests.fmu.test_description import fmu

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
    (VALID2, 'name="c"', 'name="n"', '"n": another variable has this name'),
    (VALID2, "name=\"a.'y z'\"", 'name="a. y"', '"a. y": the name does not obey'),
    (VALID2, 'name="x[1]"', 'name="x[a]"', '"x[a]": the name does not obey'),
    (VALID2, '<Integer start="1"/>', "<Integer/>", '"n": it has no start value'),
    (VALID2, 'start="0" unit', "unit", '"u": it has no start value'),
    (VALID2, "      <Real/>", '<Real start="1"/>', '"c": it has initial="calculated", and a start value'),
    (
        VALID2,
        'initial="exact"',
        'variability="fixed" initial="exact"',
        '"x[1]": causality="local", variability="fixed" and initial="exact" is not a combination',
    ),
    (
        VALID2,
        'causality="output"><Real/>',
        'causality="output"><Boolean/>',
        "of type Boolean cannot be continuous",
    ),
    (VALID2, 'unit="m" displayUnit="mm"', 'unit="km"', '"u": the unit "km" is not defined'),
    (VALID2, 'displayUnit="mm"', 'displayUnit="cm"', '"u": the displayUnit "cm" is not defined'),
    (VALID2, '<Unknown index="6"/>', "", "ModelStructure/InitialUnknowns lacks c"),
    (
        VALID2,
        '<Unknown index="6"/>',
        '<Unknown index="6"/><Unknown index="5"/>',
        "ModelStructure/InitialUnknowns must not list n",
    ),
    (
        VALID2,
        'index="4" dependencies="1 2" d',
        'index="3" dependencies="1 2" d',
        "Outputs lacks a.'y z' and must not list der(x[1])",
    ),
    (VALID2, '<Real derivative="2"/>', "<Real/>", '"der(x[1])" has no attribute derivative'),
    (VALID2, 'Kind="dependent constant"', 'Kind="dependent"', "has 2 dependencies and 1 kinds"),
    (VALID2, 'dependencies="1 2" ', "", "has dependenciesKind without dependencies"),
    (VALID3, 'valueReference="3"', 'valueReference="1"', '"s": it has the valueReference 1 of variable "u"'),
    (VALID3, '<Start value="a"/>', "", '"s": it has no start value'),
    (VALID3, 'name="t"', 'name="t" start="1"', '"t": the independent variable has no start value'),
    (
        VALID3,
        'independent" variability="continuous"',
        'output" variability="continuous"',
        "there are 0 independent variables",
    ),
]


def judged(path: Path) -> list[str]:
    return [problem.message for problem in description_problems(path)]


@pytest.mark.parametrize("text", [VALID2, VALID3], ids=["FMI 2.0", "FMI 3.0"])
def test_a_valid_model_description_has_no_problems(tmp_path, text):
    path = fmu(tmp_path, text)
    assert judged(path) == [] == validate_fmu(str(path))


@pytest.mark.parametrize(("text", "found", "replaced", "expected"), MUTATIONS, ids=[one[3] for one in MUTATIONS])
def test_each_problem_is_named(tmp_path, text, found, replaced, expected):
    assert found in text
    path = fmu(tmp_path, text.replace(found, replaced, 1))
    assert any(expected in message for message in judged(path))
    assert validate_fmu(str(path))


def test_an_alias_of_an_output_is_none_of_the_initial_unknowns(tmp_path):
    """FMPy demands it, but the standard lists variables, of which an alias is another name (FMI 3.0 §2.4.8)."""
    text = VALID3.replace('causality="output"/>', 'causality="output"><Alias name="also y"/></Float64>')
    assert judged(fmu(tmp_path, text)) == []


def test_of_many_initial_unknowns_only_the_first_wrong_ones_are_named(tmp_path):
    """Model descriptions of real machines list thousands of them."""
    outputs = "".join(
        f'<ScalarVariable name="o{n:02}" valueReference="{100 + n}" causality="output"><Real/></ScalarVariable>'
        for n in range(40)
    )
    first = VALID2.count("<ScalarVariable ") + 1
    listed = "".join(f'<Unknown index="{first + n}"/>' for n in range(40))
    text = VALID2.replace("</ModelVariables>", f"{outputs}</ModelVariables>")
    (message,) = judged(fmu(tmp_path, text.replace("</Outputs>", f"{listed}</Outputs>")))
    assert message == "ModelStructure/InitialUnknowns lacks o00, o01, o02, o03, o04 and 35 more"


QUOTED = st.text("ab_ 1!\"'\\.,[](){}|~?&;nvé\n\t", max_size=4).map("'{}'".format)
PARTS = st.one_of(st.text("abZ_09", min_size=1, max_size=3), st.just("der"), QUOTED)
INDICES = st.lists(st.sampled_from(["0", "7", "12", "", "a", " 1"]), max_size=2).map(lambda some: f"[{','.join(some)}]")
IDENTIFIERS = st.lists(st.tuples(PARTS, st.one_of(st.just(""), INDICES)).map("".join), min_size=1, max_size=3).map(
    ".".join
)
NAMES = st.recursive(
    IDENTIFIERS,
    lambda inside: st.tuples(inside, st.sampled_from(["", ",2", ", 2", ",x"])).map("der({0[0]}{0[1]})".format),
    max_leaves=2,
)


@st.composite
def mutated(draw):
    """A name with a character that is taken away, doubled or replaced."""
    name = draw(NAMES)
    place = draw(st.integers(0, len(name) - 1))
    return name[:place] + draw(st.sampled_from(["", name[place] * 2, *"'.\\[]() 1aé`"])) + name[place + 1 :]


@settings(max_examples=10, deadline=None)
@given(st.lists(st.one_of(NAMES, mutated()), min_size=12, max_size=12, unique=True))
def test_names_are_legal_where_fmpy_finds_them_so(names):
    """FMPy's parser of the grammar of FMI is the oracle."""
    variables = [ModelVariable(name=name, valueReference=0, type="Real", sourceline=7) for name in names]
    raw = ModelDescription(variableNamingConvention="structured", modelVariables=variables)
    legal = {name for name in names if not any(message.startswith(f'"{name}" (line 7)') for message in _by_fmpy(raw))}
    assert {name for name in names if is_structured(name)} == legal


@pytest.mark.parametrize("name", ["der(der(x))", "der(x, 2)", "x.der(y)", "a b", "x[1][2]", "x[]", "''", "x."])
def test_a_name_beyond_the_convention_is_named_with_its_line(tmp_path, name):
    (problem,) = description_problems(fmu(tmp_path, VALID2.replace("name=\"a.'y z'\"", f'name="{name}"')))
    assert problem.line == 10
    assert f'"{name}"' in problem.message and '"structured"' in problem.message
