"""Precedence and provenance of values: the algorithm of SSP 2.0 §5.2.3, case by case."""

import zipfile

import pytest
from pytest import approx

import ssptool
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.errors import UnknownName
from ssptool.network.conversion import InvalidValue
from ssptool.network.network import Signal, StepKind
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.systems import write_system
from tests.network.packages import (
    MODE,
    bindings,
    component,
    content,
    flat,
    mapped,
    model,
    package,
    ssd,
    ssm,
    ssv,
    system,
    values,
    wires,
)

PLANT = model(
    'parameter k Real start="1" unit="m" min="-4" max="1e3";'
    'parameter dT Real start="0" unit="K" relativeQuantity="true";'
    'parameter T Real start="0" unit="K"; parameter n Integer start="0"; parameter b Boolean start="false";'
    'parameter s String start=""; parameter mode Enumeration start="3" declaredType="Mode";'
    'parameter x.y Real start="0"; input u Real start="0"; output z Real; calculatedParameter c Real',
    types=MODE,
)
FMUS = {"plant": PLANT}


def network(folder, root, files=None, **options):
    return flat(package(folder, ssd(root), FMUS, files), **options)


def plant(bound="", interface="", name="A"):
    return component(name, "plant", interface, bound)


def root(bound="", component_bound=""):
    return bound + content("", [plant(component_bound)], [])


def test_inline_values_reach_every_type_of_variable(tmp_path):
    parameters = ssv(
        "A.k Real value='2.5'",
        "A.n Integer value='-4'",
        "A.b Boolean value='1'",
        "A.s String value='a b'",
        "A.mode Enumeration value='on'",
        "A.u Real value='9'",
    )
    assert values(network(tmp_path, root(bindings(parameters)))) == {
        "A.k": 2.5,
        "A.n": -4,
        "A.b": True,
        "A.s": "a b",
        "A.mode": 7,
        "A.u": 9.0,
    }


def test_external_values_say_from_which_file_and_line_they_come(tmp_path):
    result = network(
        tmp_path,
        root(bindings('source="resources/p.ssv"')),
        {"resources/p.ssv": ssv("other Real value='1'", "A.k Real value='2'")},
    )
    assignment = result.assignments[Signal("A", "k")]
    (step,) = assignment.chain
    assert (assignment.value, assignment.unit) == (2.0, "m")
    assert (step.kind, step.name, step.value) == (StepKind.BINDING, "A.k", 2.0)
    assert (step.position.file, step.position.line) == ("resources/p.ssv", 4)


def test_later_bindings_of_an_element_win(tmp_path):
    result = network(tmp_path, root(bindings(ssv("A.k Real value='1'"), ssv("A.k Real value='2'"))))
    assert values(result) == {"A.k": 2.0}


def test_external_and_inline_bindings_keep_document_order(tmp_path):
    bound = bindings(ssv("A.k Real value='1'"), 'source="resources/p.ssv"')
    assert values(network(tmp_path, root(bound), {"resources/p.ssv": ssv("A.k Real value='2'")})) == {"A.k": 2.0}


def test_outer_bindings_win_over_inner_ones_variable_by_variable(tmp_path):
    inner = bindings(ssv("k Real value='1'", "n Integer value='1'", "b Boolean value='true'"))
    middle = bindings(ssv("A.k Real value='2'", "A.n Integer value='2'"))
    outer = bindings(ssv("S.A.k Real value='3'"))
    text = outer + content("", [system("S", "", [plant(inner)], [], middle)], [])
    assert values(network(tmp_path, text)) == {"S.A.k": 3.0, "S.A.n": 2, "S.A.b": True}


def test_the_bindings_of_a_component_that_is_an_ssd_follow_those_of_its_system(tmp_path):
    sub = ssd(bindings(ssv("A.k Real value='1'", "A.n Integer value='1'")) + content("", [plant()], []))
    host = (
        '<ssd:Component name="P" type="application/x-ssp-definition" source="Sub.ssd">'
        + bindings(ssv("A.k Real value='2'"))
        + "</ssd:Component>"
    )
    assert values(network(tmp_path, content("", [host], []), {"Sub.ssd": sub})) == {"P.A.k": 2.0, "P.A.n": 1}


def test_a_prefix_is_prepended_verbatim(tmp_path):
    bound = bindings('source="resources/p.ssv" prefix="A."')
    result = network(tmp_path, root(bound), {"resources/p.ssv": ssv("k Real value='2'")})
    assert values(result) == {"A.k": 2.0}
    assert [(step.kind, step.name) for step in result.assignments[Signal("A", "k")].chain] == [
        (StepKind.BINDING, "k"),
        (StepKind.PREFIX, "A.k"),
    ]


def test_a_mapping_renames_and_hides_what_it_does_not_name(tmp_path):
    parameters = ssv("a Real value='2'", "A.n Integer value='5'")
    result = network(tmp_path, root(mapped(parameters, ssm("source='a' target='A.k'"))))
    assert values(result) == {"A.k": 2.0}


def test_the_sources_of_a_mapping_carry_the_prefix(tmp_path):
    parameters = ssv("a Real value='2'")
    bound = mapped(parameters, ssm("source='p_a' target='A.k'", "source='a' target='A.T'"), 'prefix="p_"')
    assert values(network(tmp_path, root(bound))) == {"A.k": 2.0}


def test_an_empty_mapping_disables_the_binding(tmp_path):
    assert values(network(tmp_path, root(mapped(ssv("A.k Real value='2'"), ssm())))) == {}


def test_one_source_feeds_many_targets_each_from_its_original_value(tmp_path):
    """2 → 10·2 + 1 = 21, and 2 → 100·2 = 200."""
    mapping = ssm(
        "source='a' target='A.k'|<ssc:LinearTransformation factor='10' offset='1'/>",
        "source='a' target='A.T'|<ssc:LinearTransformation factor='100'/>",
        "source='a' target='A.u'",
    )
    result = network(tmp_path, root(mapped(ssv("a Real value='2'"), mapping)))
    assert values(result) == {"A.k": 21.0, "A.T": 200.0, "A.u": 2.0}


def test_a_mapping_may_be_in_a_file(tmp_path):
    bound = (
        '<ssd:ParameterBindings><ssd:ParameterBinding source="resources/p.ssv">'
        '<ssd:ParameterMapping source="resources/m.ssm"/></ssd:ParameterBinding></ssd:ParameterBindings>'
    )
    files = {"resources/p.ssv": ssv("a Real value='2'"), "resources/m.ssm": ssm("source='a' target='A.k'")}
    result = network(tmp_path, root(bound), files)
    assert values(result) == {"A.k": 2.0}
    assert [step.position.file for step in result.assignments[Signal("A", "k")].chain] == [
        "resources/p.ssv",
        "resources/m.ssm",
    ]


def test_units_are_converted_to_those_of_the_variable(tmp_path):
    """250 mm = 0.25 m; 20 °C = 293.15 K; a difference of 20 °C is one of 20 K."""
    parameters = ssv(
        "A.k Real value='250' unit='mm'", "A.T Real value='20' unit='degC'", "A.dT Real value='20' unit='degC'"
    )
    result = network(tmp_path, root(bindings(parameters)))
    assert values(result) == {"A.k": approx(0.25), "A.T": approx(293.15), "A.dT": 20.0}
    chain = result.assignments[Signal("A", "k")].chain
    assert [(step.kind, step.detail) for step in chain[1:]] == [(StepKind.UNIT, "mm → m")]


@pytest.mark.parametrize(
    ("interface", "value"), [("parameter L Real m", 0.25), ("parameter L Real", 250.0), ("", 250.0)]
)
def test_the_unit_of_a_variable_without_one_is_that_of_its_connector(tmp_path, interface, value):
    """250 mm = 0.25 m; where neither states a unit the number passes unchanged."""
    text = bindings(ssv("A.L Real value='250' unit='mm'")) + content("", [component("A", "coil", interface)], [])
    result = flat(package(tmp_path, ssd(text), {"coil": model("parameter L Real start='1'")}))
    assert values(result) == {"A.L": approx(value)}


def test_a_transformation_acts_after_units_or_instead_of_them(tmp_path):
    """250 mm = 0.25 m → 2·0.25 + 1 = 1.5; suppressed: 2·250 + 1 = 501."""
    linear = "|<ssc:LinearTransformation factor='2' offset='1'/>"
    mapping = ssm(f"source='a' target='A.k'{linear}", f"source='a' target='B.k' suppressUnitConversion='true'{linear}")
    text = mapped(ssv("a Real value='250' unit='mm'"), mapping) + content("", [plant(), plant(name="B")], [])
    result = network(tmp_path, text)
    assert values(result) == {"A.k": approx(1.5), "B.k": 501.0}
    kinds = [step.kind for step in result.assignments[Signal("A", "k")].chain]
    assert kinds == [StepKind.BINDING, StepKind.MAPPING, StepKind.UNIT, StepKind.TRANSFORMATION]


@pytest.mark.parametrize(
    ("parameter", "target", "transformation", "expected"),
    [
        ("a Boolean value='true'", "A.b", "Boolean true false", False),
        ("a Boolean value='false'", "A.b", "Boolean true false", False),
        ("a Integer value='1'", "A.n", "Integer 1 40", 40),
        ("a Integer value='2'", "A.n", "Integer 1 40", 2),
        ("a Enumeration value='off'", "A.mode", "Enumeration off on", 7),
        ("a Enumeration value='off'", "A.mode", "Integer 3 7", 7),
        ("a Integer value='1'", "A.mode", "Integer 1 7", 7),
    ],
)
def test_mapping_transformations_pass_on_what_they_do_not_list(tmp_path, parameter, target, transformation, expected):
    kind, source, image = transformation.split()
    entry = (
        f"source='a' target='{target}'|<ssc:{kind}MappingTransformation>"
        f"<ssc:MapEntry source='{source}' target='{image}'/></ssc:{kind}MappingTransformation>"
    )
    assert values(network(tmp_path, root(mapped(ssv(parameter), ssm(entry))))) == {target: expected}


def test_integers_become_floating_point_where_the_variable_is(tmp_path):
    result = values(network(tmp_path, root(bindings(ssv("A.k Integer value='2'")))))
    assert result == {"A.k": 2.0}
    assert type(result["A.k"]) is float


def test_names_are_compared_whole(tmp_path):
    """A variable x.y of A, and a variable k of a component named A.x."""
    bound = bindings(ssv("A.x.y Real value='1'", "A.x.k Real value='2'"))
    text = bound + content("", [plant(), plant(name="A.x")], [])
    assert values(network(tmp_path, text)) == {"A.x.y": 1.0, "A.x.k": 2.0}


def test_a_name_of_several_variables_sets_all(tmp_path):
    """`A.x.y` is x.y of A, and y of the system A.x."""
    other = system("A.x", "parameter y Real", [plant(interface="parameter k")], ["y -> A.k"])
    text = bindings(ssv("A.x.y Real value='4'")) + content("", [plant(), other], [])
    assert values(network(tmp_path, text)) == {"A.x.y": 4.0, "A.x.A.k": 4.0}


def test_values_of_parameters_of_the_root_system_go_on_and_stay_the_source_of_its_wires(tmp_path):
    text = content(
        "parameter k Real mm", [plant(interface="parameter k")], ["k -> A.k"], bindings(ssv("k Real value='250'"))
    )
    result = network(tmp_path, text)
    assert values(result) == {"k": 250.0, "A.k": 0.25}
    assert wires(result) == {"k -> A.k": approx((0.001, 0.0))}


def test_values_of_inner_systems_go_on_to_what_they_are_connected_to(tmp_path):
    """250 mm at the boundary of S are 0.25 m in A; the connection wins over A's own binding."""
    inner = plant(bindings(ssv("k Real value='9'")), "parameter k")
    sub = system("S", "parameter k Real mm", [inner], ["k -> A.k"], bindings(ssv("k Real value='250'")))
    result = network(tmp_path, content("", [sub], []))
    assert values(result) == {"S.A.k": approx(0.25)}


def test_values_of_inner_systems_that_are_connected_outside_give_way(tmp_path):
    sub = system(
        "S", "parameter k Real", [plant(interface="parameter k")], ["k -> A.k"], bindings(ssv("k Real value='2'"))
    )
    result = network(tmp_path, content("parameter K Real", [sub], ["K -> S.k"]))
    assert values(result) == {}
    assert list(wires(result)) == ["K -> S.A.k"]


def test_parameter_files_win_over_bindings_and_the_last_of_them_wins(tmp_path):
    first, second = tmp_path / "first.ssv", tmp_path / "second.ssv"
    first.write_text(ssv("A.k Real value='2'", "A.n Integer value='2'"))
    second.write_text(ssv("A.k Real value='3'"))
    bound = bindings(ssv("A.k Real value='1'", "A.n Integer value='1'", "A.b Boolean value='1'"))
    result = network(tmp_path / "ssp", root(bound), parameter_files=[first, second])
    assert values(result) == {"A.k": 3.0, "A.n": 2, "A.b": True}
    assert result.assignments[Signal("A", "k")].chain[0].position.file == str(second)


def test_a_parameter_file_that_is_none_is_refused(tmp_path):
    wrong = tmp_path / "wrong.ssv"
    wrong.write_text(ssm())
    with pytest.raises(InvalidDocument, match=r"wrong\.ssv"):
        network(tmp_path / "ssp", root(), parameter_files=[wrong])


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        (("A.k", "2"), 2.0),
        (("A.k", " -2.5e-3 "), -0.0025),
        (("A.n", "-7"), -7),
        (("A.b", "true"), True),
        (("A.b", "False"), False),
        (("A.s", "x=1"), "x=1"),
        (("A.mode", "on"), 7),
        (("A.mode", "3"), 3),
        (("A.u", "1"), 1.0),
        (("A.x.y", "6"), 6.0),
    ],
)
def test_overrides_win_over_everything(tmp_path, override, expected):
    name, text = override
    bound = bindings(ssv("A.k Real value='1'", "A.n Integer value='1'"))
    result = network(tmp_path, root(bound), start_values={name: text})
    component_, _, variable = name.partition(".")
    assignment = result.assignments[Signal(component_, variable)]
    assert (assignment.value, type(assignment.value)) == (expected, type(expected))
    assert [step.kind for step in assignment.chain] == [StepKind.OVERRIDE]


def test_an_override_of_nothing_names_near_misses(tmp_path):
    with pytest.raises(UnknownName, match=r"no variable 'A\.mod'; did you mean A\.mode") as caught:
        network(tmp_path, root(), start_values={"A.mod": "2"})
    assert caught.value.near[0] == "A.mode"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("A.k", "two", "a number"),
        ("A.k", "-5", "a number from -4 to 1000, as its FMU says"),
        ("A.k", "NaN", "a number from -4 to 1000, as its FMU says"),
        ("A.k", "1_000", "a number"),
        ("A.n", "2.5", "an integer from -2147483648 to 2147483647"),
        ("A.n", "3000000000", "an integer from -2147483648 to 2147483647"),
        ("A.b", "maybe", "true or false"),
        ("A.mode", "middle", "one of off, on"),
        ("A.mode", "4", "one of off, on"),
        ("A.z", "1", "the FMU calculates this variable"),
        ("A.c", "1", "the FMU calculates this variable"),
    ],
)
def test_an_override_of_the_wrong_type_says_what_is_expected(tmp_path, name, text, expected):
    with pytest.raises(InvalidValue) as caught:
        network(tmp_path, root(), start_values={name: text})
    assert expected in str(caught.value)
    assert caught.value.name == name


def test_parameters_that_match_nothing_are_listed_with_near_misses(tmp_path):
    result = network(tmp_path, root(bindings(ssv("A.k Real value='1'", "A.moed Integer value='1'"))))
    (unmatched,) = result.unmatched
    assert (unmatched.name, unmatched.near[0]) == ("A.moed", "A.mode")
    assert unmatched.position.line > 0


def test_a_shared_set_is_matched_if_any_of_its_bindings_is(tmp_path):
    bound = bindings('source="resources/p.ssv"')
    text = content("", [plant(bound), system("S", "", [plant(name="B")], [], bound)], [])
    assert network(tmp_path, text, {"resources/p.ssv": ssv("k Real value='1'")}).unmatched == ()


@pytest.mark.parametrize(
    ("parameter", "feature"),
    [
        ("A.k String value='2'", "the value of A.k: A.k cannot be '2': expected a number"),
        ("A.n Real value='2'", "the value of A.n: A.n cannot be 2.0: expected an integer"),
        ("A.mode Enumeration value='middle'", "expected one of off, on"),
        ("A.k Real value='2' unit='K'", "the value of A.k: a value in K cannot be converted to m"),
        ("A.z Real value='2'", "a value for A.z, which its FMU calculates"),
        ("A.k Real value='1 2'", "2 values for the parameter 'A.k', a scalar"),
    ],
)
def test_values_that_do_not_suit_their_variable_are_refused_by_name(tmp_path, parameter, feature):
    result = network(tmp_path, root(bindings(ssv(parameter))))
    (refused,) = result.unsupported
    assert feature in refused.feature
    assert refused.position.line > 0
    assert values(result) == {}


@pytest.mark.parametrize(
    "binding",
    [
        'source="resources/none.ssv"',
        'source="../p.ssv"',
        'source="resources/bad.ssv"',
        'type="text/csv" source="p.csv"',
    ],
)
def test_bindings_that_cannot_be_read_are_left_to_the_rules(tmp_path, binding):
    result = network(tmp_path, root(bindings(binding)), {"resources/bad.ssv": "<ssv:"})
    assert values(result) == {}


def test_a_set_inside_the_fmu_is_read_from_there(tmp_path):
    """`sourceBase="component"`: the root of the FMU is the base (AMB-10)."""
    archive = package(tmp_path, ssd(root("", bindings('sourceBase="component" source="extra/p.ssv"'))), FMUS)
    with zipfile.ZipFile(tmp_path / "resources" / "plant.fmu", "a") as fmu:
        fmu.writestr("extra/p.ssv", ssv("k Real value='2'"))
    result = flat(archive)
    assert (values(result), result.unsupported) == ({"A.k": 2.0}, ())
    (step,) = result.assignments[Signal("A", "k")].chain
    assert (step.position.file, step.position.line) == ("resources/plant.fmu!extra/p.ssv", 3)


def test_a_set_inside_an_unpacked_fmu_is_read_from_there(tmp_path):
    fmu = tmp_path / "resources" / "plant.fmu"
    fmu.mkdir(parents=True)
    (fmu / "modelDescription.xml").write_text(PLANT)
    (fmu / "p.ssv").write_text(ssv("k Real value='2'"))
    archive = package(tmp_path, ssd(root("", bindings('sourceBase="component" source="p.ssv"'))), {})
    assert values(flat(archive)) == {"A.k": 2.0}


@pytest.mark.parametrize(
    ("source", "what"),
    [("p.ssv", "resources/plant.fmu has no entry 'p.ssv'"), ("../p.ssv", "it lies outside the archive")],
)
def test_a_set_that_is_not_inside_the_fmu_is_refused(tmp_path, source, what):
    text = root("", bindings(f'sourceBase="component" source="{source}"'))
    (refused,) = network(tmp_path, text).unsupported
    assert refused.feature.startswith(f"the source {source!r} inside the component: ")
    assert what in refused.feature


def test_a_system_has_no_inside_for_its_sets(tmp_path):
    """SSD-PAR-005."""
    (refused,) = network(tmp_path, root(bindings('sourceBase="component" source="p.ssv"'))).unsupported
    assert "sourceBase='component' on an element that is not a component" in refused.feature


def test_a_mapping_that_maps_nothing_of_its_set_is_named_by_a_run(tmp_path):
    """The set is without effect then, which is not a mapping's purpose; one that maps some may leave the others out."""
    make_fmu(
        tmp_path / "Gain.fmu",
        [Var("k", "parameter", start=0.5), Var("y", "output", needs=[])],
        me=None,
        calc="v->y = 4 * v->k;",
    )
    system = write_system(tmp_path / "system", tmp_path, {"G": "Gain"}, [])
    (system / "resources" / "v.ssv").write_text(
        '<ssv:ParameterSet xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues" '
        'version="1.0" name="v">'
        '<ssv:Parameters><ssv:Parameter name="gain"><ssv:Real value="2.5"/></ssv:Parameter>'
        '<ssv:Parameter name="other"><ssv:Real value="1"/></ssv:Parameter></ssv:Parameters></ssv:ParameterSet>'
    )
    ssd, mapping = system / "SystemStructure.ssd", system / "resources" / "m.ssm"
    bindings = (
        '<ssd:ParameterBindings><ssd:ParameterBinding source="resources/v.ssv"><ssd:ParameterMapping '
        'source="resources/m.ssm"/></ssd:ParameterBinding></ssd:ParameterBindings>'
    )
    ssd.write_text(ssd.read_text().replace("<ssd:Elements>", f"{bindings}<ssd:Elements>"))
    for source, y, without in (("gaim", 2.0, ["gain", "other"]), ("gain", 10.0, [])):
        mapping.write_text(
            '<ssm:ParameterMapping xmlns:ssm="http://ssp-standard.org/SSP1/SystemStructureParameterMapping" '
            'version="1.0">'
            f'<ssm:MappingEntry source="{source}" target="G.k"/></ssm:ParameterMapping>'
        )
        result = ssptool.simulate(system)
        assert result["G.y"][-1] == y
        notes = [note for note in result.notes if "no effect" in note]
        assert len(notes) == bool(without)
        assert all(name in notes[0] and "v.ssv" in notes[0] for name in without)
