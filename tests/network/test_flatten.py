"""Nested systems come down to wires from component to component, whose conversions are known in closed form."""

import pytest
from pytest import approx

from ssptool.network.network import Conversion
from tests.network.packages import component, content, flat, model, package, ssd, system, wires

SOURCE = model('output y Real unit="degC"; output n Integer; output s String; parameter k Real start="1"')
SINK = model('input u Real unit="K" start="0"; input i Integer start="0"; input t String start=""')
MILLIMETRES = model('output y Real unit="mm"; input u Real unit="mm" start="0"')
METRES = model('output y Real unit="m"; input u Real unit="m" start="0"')
PLAIN = model('output y Real; input u Real start="0"; parameter p Real start="1"')
FMUS = {"source": SOURCE, "sink": SINK, "mm": MILLIMETRES, "m": METRES, "plain": PLAIN}
EXACT = 1e-14  # a few roundings


def network(folder, structure, **options):
    return flat(package(folder, structure, FMUS), **options)


def test_a_wire_converts_from_the_unit_of_one_variable_to_that_of_the_other(tmp_path):
    system = content("", [component("A", "source", "output y"), component("B", "sink", "input u")], ["A.y -> B.u"])
    (wire,) = network(tmp_path, ssd(system)).wires
    assert wire.conversion(20.0) == approx(293.15, rel=EXACT)


def test_start_and_end_give_no_direction(tmp_path):
    system = content("", [component("A", "mm", "output y"), component("B", "m", "input u")], ["B.u -> A.y"])
    assert wires(network(tmp_path, ssd(system))) == {"A.y -> B.u": (0.001, 0.0)}


def test_a_transformation_acts_after_the_conversion_of_units(tmp_path):
    """20 mm = 0.02 m, then 2·0.02 + 3 = 3.04."""
    linear = '||<ssc:LinearTransformation factor="2" offset="3"/>'
    system = content("", [component("A", "mm", "output y"), component("B", "m", "input u")], [f"A.y -> B.u{linear}"])
    (wire,) = network(tmp_path, ssd(system)).wires
    assert wire.conversion(20.0) == approx(3.04, rel=EXACT)


def test_suppressed_conversion_leaves_the_transformation_alone(tmp_path):
    """2·20 + 3 = 43; a missing factor is 1."""
    parts = [component("A", "mm", "output y"), component("B", "m", "input u"), component("C", "m", "input u")]
    flows = [
        'A.y -> B.u|suppressUnitConversion="true"|<ssc:LinearTransformation factor="2" offset="3"/>',
        'A.y -> C.u|suppressUnitConversion="1"|<ssc:LinearTransformation offset="3"/>',
    ]
    assert wires(network(tmp_path, ssd(content("", parts, flows)))) == {
        "A.y -> B.u": (2.0, 3.0),
        "A.y -> C.u": (1.0, 3.0),
    }


def test_the_unit_of_a_connector_may_differ_from_that_of_its_variable(tmp_path):
    """y in mm is stated as m; u in m is stated as mm: what arrives is y in m after all."""
    parts = [component("A", "mm", "output y Real m"), component("B", "m", "input u Real mm")]
    (wire,) = network(tmp_path, ssd(content("", parts, ["A.y -> B.u"]))).wires
    assert wire.conversion(20.0) == approx(0.02, rel=EXACT)


def two_levels(inner_unit="", outer_unit=""):
    """Plant holds Inner holds B; the value enters through both boundaries and leaves again."""
    inner = system(
        "Inner",
        f"input u Real{inner_unit}, output y Real{inner_unit}",
        [component("B", "m", "input u, output y")],
        ["u -> B.u", "B.y -> y"],
    )
    plant = system(
        "Plant",
        f"input u Real{outer_unit}, output y Real{outer_unit}",
        [inner],
        ["u -> Inner.u", "Inner.y -> y"],
    )
    return content(
        "output y Real mm",
        [component("A", "mm", "output y"), plant, component("C", "mm", "input u")],
        ["A.y -> Plant.u", "Plant.y -> C.u", "Plant.y -> y"],
    )


@pytest.mark.parametrize(("inner", "outer"), [("", ""), (" m", " mm"), (" mm", ""), ("", " m")])
def test_boundaries_of_two_levels_vanish_and_their_conversions_compose(tmp_path, inner, outer):
    result = network(tmp_path, ssd(two_levels(inner, outer)))
    assert list(result.components) == ["A", "Plant.Inner.B", "C"]
    flat_wires = wires(result)
    assert list(flat_wires) == ["A.y -> Plant.Inner.B.u", "Plant.Inner.B.y -> C.u", "Plant.Inner.B.y -> y"]
    assert flat_wires["A.y -> Plant.Inner.B.u"] == approx((0.001, 0.0), rel=EXACT)
    assert flat_wires["Plant.Inner.B.y -> C.u"] == approx((1000.0, 0.0), rel=EXACT)
    assert flat_wires["Plant.Inner.B.y -> y"] == approx((1000.0, 0.0), rel=EXACT)


def test_a_wire_remembers_every_connection_it_came_through(tmp_path):
    text = ssd(two_levels())
    result = network(tmp_path, text)
    lines = text.splitlines()
    origin = [lines[position.line - 1].split(" end")[0] for position in result.wires[0].origin]
    assert origin == [
        '<ssd:Connection startElement="A" startConnector="y"',
        '<ssd:Connection startConnector="u"',
        '<ssd:Connection startConnector="u"',
    ]
    assert all(position.file == "SystemStructure.ssd" for position in result.wires[0].origin)


def test_ports_of_the_root_system_deduce_type_and_unit_from_inside(tmp_path):
    parts = [component("A", "mm", "input u, output y"), component("B", "mm", "input u")]
    result = network(tmp_path, ssd(content("input u, output y", parts, ["u -> A.u", "u -> B.u", "A.y -> y"])))
    assert [(str(p.signal), p.kind, p.type, p.unit) for p in result.ports] == [
        ("u", "input", "Float64", "mm"),
        ("y", "output", "Float64", "mm"),
    ]
    assert wires(result)["u -> A.u"] == (1.0, 0.0)


def test_an_ambiguous_unit_is_not_deduced(tmp_path):
    parts = [component("A", "mm", "input u"), component("B", "m", "input u")]
    result = network(tmp_path, ssd(content("input u", parts, ["u -> A.u", "u -> B.u"])))
    assert result.ports[0].unit is None


def test_ports_of_components_take_type_and_unit_from_the_fmu(tmp_path):
    parts = [component("A", "source", "output y Real K, output n, unspecified k")]
    result = network(tmp_path, ssd(content("", parts, [])))
    assert [(p.kind, p.type, p.unit) for p in result.components["A"].ports] == [
        ("output", "Float64", "degC"),
        ("output", "Int32", None),
        ("parameter", "Float64", None),
    ]


def test_parameters_of_the_system_are_wired_to_those_of_components(tmp_path):
    parts = [component("A", "plain", "parameter p")]
    result = network(tmp_path, ssd(content("parameter k Real", parts, ["k -> A.p"])))
    assert wires(result) == {"k -> A.p": (1.0, 0.0)}


def test_an_empty_start_element_is_the_enclosing_system(tmp_path):
    text = ssd(content("input u Real", [component("A", "plain", "input u")], ["u -> A.u"]))
    text = text.replace("<ssd:Connection startC", '<ssd:Connection startElement="" startC')
    assert 'startElement=""' in text
    assert wires(network(tmp_path, text)) == {"u -> A.u": (1.0, 0.0)}


def test_names_with_dots_are_kept_whole(tmp_path):
    parts = [component("A.x", "plain", "output y"), component("B", "plain", "input u")]
    (wire,) = network(tmp_path, ssd(content("", parts, ["A.x.y -> B.u"]))).wires
    assert (wire.source.component, wire.source.variable) == ("A.x", "y")


def test_what_is_illegal_or_missing_is_left_out(tmp_path):
    parts = [
        component("A", "plain", "output y, output nothing"),
        component("B", "plain", "output y, input u"),
        component("Lost", "no_such_file", "output y, input u"),
    ]
    flows = ["A.y -> B.y", "A.nothing -> B.u", "A.undeclared -> B.u", "Lost.y -> B.u", "Nobody.y -> B.u", "A.y -> B.u"]
    result = network(tmp_path, ssd(content("", parts, flows)))
    assert list(result.components) == ["A", "B"]
    assert list(wires(result)) == ["A.y -> B.u"]
    assert result.unsupported == ()


def test_a_destination_has_one_wire(tmp_path):
    parts = [component("A", "plain", "output y"), component("B", "plain", "output y, input u")]
    result = network(tmp_path, ssd(content("", parts, ["A.y -> B.u", "B.y -> B.u"])))
    assert list(wires(result)) == ["A.y -> B.u"]


def test_connections_in_a_circle_of_boundaries_end(tmp_path):
    loops = [system(name, "input u Real, output y Real", [component("C", "plain")], ["u -> y"]) for name in "PQ"]
    assert network(tmp_path, ssd(content("", loops, ["P.y -> Q.u", "Q.y -> P.u"]))).wires == ()


def test_connectors_of_2_0_make_no_wires_in_a_document_of_1_0(tmp_path):
    parts = [component("A", "source", "constant y"), component("B", "sink", "input u")]
    text = content("", parts, ["A.y -> B.u"])
    assert len(network(tmp_path, ssd(text, "2.0")).wires) == 1
    assert network(tmp_path, ssd(text, "1.0")).wires == ()


def refused(result):
    return [item.feature for item in result.unsupported]


@pytest.mark.parametrize(
    ("more", "feature"),
    [
        ('|startIndices="1"', "the indices '1' pick no element of A.n, which is a scalar"),
    ],
)
def test_connections_that_are_not_supported_are_refused_by_name(tmp_path, more, feature):
    parts = [component("A", "source", "output n"), component("B", "sink", "input i")]
    result = network(tmp_path, ssd(content("", parts, [f"A.n -> B.i{more}"])))
    assert refused(result) == [feature]
    assert result.unsupported[0].position.line > 0


def test_a_table_on_a_connection_maps_what_it_lists_and_nothing_else(tmp_path):
    more = (
        '||<ssc:IntegerMappingTransformation><ssc:MapEntry source="1" target="2"/><ssc:MapEntry source="3" target="3"/>'
        "</ssc:IntegerMappingTransformation>"
    )
    parts = [component("A", "source", "output n"), component("B", "sink", "input i")]
    result = network(tmp_path, ssd(content("", parts, [f"A.n -> B.i{more}"])))
    (wire,) = result.wires
    assert not result.unsupported
    assert [wire.conversion(value) for value in (0, 1, 2, 3)] == [0, 2, 2, 3]


def test_tables_along_the_way_act_one_after_the_other():
    first, second = Conversion(table=((1, 2), (5, 6))), Conversion(table=((2, 3), (4, 7)))
    both = first.then(second)
    assert [both(value) for value in range(7)] == [second(first(value)) for value in range(7)] == [0, 3, 3, 3, 7, 6, 6]


def test_units_that_do_not_fit_are_refused(tmp_path):
    parts = [component("A", "source", "output y"), component("C", "m", "input u")]
    result = network(tmp_path, ssd(content("", parts, ["A.y -> C.u"])))
    assert refused(result) == ["a value in degC cannot be converted to m"]


@pytest.mark.parametrize(
    ("element", "feature"),
    [
        (
            '<ssd:Component name="M" type="text/x-modelica; path=P.M" source="resources/P.mo"/>',
            "'M': a component of type text/x-modelica",
        ),
        ('<ssd:Component name="M"/>', "'M': a component without an implementation"),
        (
            '<ssd:Component name="M" type="application/x-ssp-definition" source="Other.ssd#part"/>',
            "'M': a reference into another SSD",
        ),
        (
            '<ssd:Component name="M" source="resources/plain.fmu" implementation="ScheduledExecution"/>',
            "'M': scheduled execution",
        ),
    ],
)
def test_elements_that_are_not_supported_are_refused_by_name(tmp_path, element, feature):
    result = network(tmp_path, ssd(f"<ssd:Elements>{element}</ssd:Elements>"))
    assert refused(result) == [feature]


@pytest.mark.parametrize(
    ("implementation", "refusals"),
    [
        ("", ["'A': model exchange of FMI 1.0"]),
        ("CoSimulation_Tool", ["'A': co-simulation of FMI 1.0 with another tool (CoSimulation_Tool)"]),
        ("CoSimulation_StandAlone", []),
    ],
)
def test_of_fmi_1_all_but_co_simulation_is_refused(tmp_path, implementation, refusals):
    stated = f"<Implementation><{implementation}><Capabilities/></{implementation}></Implementation>"
    text = model('input u Real start="0"', version="1.0").replace('<CoSimulation modelIdentifier="M"/>', "")
    text = text.replace("</fmiModelDescription>", (stated if implementation else "") + "</fmiModelDescription>")
    old = package(tmp_path, ssd(content("", [component("A", "old")], [])), {"old": text})
    assert refused(flat(old)) == refusals


def test_two_components_with_one_full_name_are_refused(tmp_path):
    inner = system("A", "", [component("B.C", "plain")], [])
    other = system("A.B", "", [component("C", "plain")], [])
    result = network(tmp_path, ssd(content("", [inner, other], [])))
    assert refused(result) == ["a second component with the full name 'A.B.C'"]


SUBSYSTEM = content(
    "input u Real m, output y Real m", [component("B", "m", "input u, output y")], ["u -> B.u", "B.y -> y"]
)
USED_TWICE = content(
    "",
    [
        component("A", "mm", "output y"),
        '<ssd:Component name="P" type="application/x-ssp-definition" source="Sub.ssd"><ssd:Connectors>'
        '<ssd:Connector name="u" kind="input"><ssc:Real unit="mm"/></ssd:Connector>'
        '<ssd:Connector name="y" kind="output"/></ssd:Connectors></ssd:Component>',
        component("C", "mm", "input u"),
    ],
    ["A.y -> P.u", "P.y -> C.u"],
)


def test_a_component_may_be_another_ssd_of_the_archive(tmp_path):
    archive = package(tmp_path, ssd(USED_TWICE), FMUS, {"Sub.ssd": ssd(SUBSYSTEM)})
    result = flat(archive)
    assert refused(result) == []
    assert list(result.components) == ["A", "P.B", "C"]
    assert wires(result) == {"A.y -> P.B.u": approx((0.001, 0.0)), "P.B.y -> C.u": approx((1000.0, 0.0))}


def test_a_component_may_be_a_system_of_the_same_document(tmp_path):
    """The system itself is instantiated as well (AMB-19)."""
    template = f'<ssd:System id="template" name="T">{SUBSYSTEM}</ssd:System>'
    text = ssd(USED_TWICE.replace("</ssd:Elements>", f"{template}</ssd:Elements>").replace("Sub.ssd", "#template"))
    result = network(tmp_path, text)
    assert list(result.components) == ["A", "P.B", "C", "T.B"]
    assert list(wires(result)) == ["A.y -> P.B.u", "P.B.y -> C.u"]


def test_a_system_that_contains_itself_ends(tmp_path):
    inside = ssd(
        '<ssd:Elements><ssd:Component name="S" type="application/x-ssp-definition" '
        'source="SystemStructure.ssd"/></ssd:Elements>'
    )
    assert flat(package(tmp_path, inside, {})).components == {}


def test_systems_that_multiply_by_reference_are_refused(tmp_path, monkeypatch):
    """Ten systems, each of which refers to the next twice: 2¹⁰ places."""
    monkeypatch.setattr("ssptool.network.tree.MOST_PLACES", 100)
    twice = "".join(
        f'<ssd:System id="s{i}" name="s{i}"><ssd:Elements>'
        f'<ssd:Component name="A" type="application/x-ssp-definition" source="#s{i + 1}"/>'
        f'<ssd:Component name="B" type="application/x-ssp-definition" source="#s{i + 1}"/></ssd:Elements></ssd:System>'
        for i in range(10)
    )
    result = network(tmp_path, ssd(f"<ssd:Elements>{twice}</ssd:Elements>"))
    assert set(refused(result)) == {"more than 100 systems and components"}


def test_a_long_chain_of_systems_that_only_pass_on_is_one_wire(tmp_path):
    """Each doubles the value: 2¹⁵⁰⁰ is too much for a float, so each halves it again."""
    number = 1500
    linear = '||<ssc:LinearTransformation factor="2"/>'
    parts = [
        system(f"S{i}", "input u Real, output y Real", [component("C", "plain")], [f"u -> y{linear}"])
        for i in range(number)
    ]
    parts += [component("A", "plain", "output y"), component("B", "plain", "input u")]
    half = '||<ssc:LinearTransformation factor="0.5"/>'
    flows = [f"A.y -> S0.u{half}", f"S{number - 1}.y -> B.u"]
    flows += [f"S{i}.y -> S{i + 1}.u{half}" for i in range(number - 1)]
    (wire,) = network(tmp_path, ssd(content("", parts, flows))).wires
    assert (wire.conversion.factor, len(wire.origin)) == (1.0, 2 * number + 1)


def test_the_experiment_is_that_of_the_document_or_open(tmp_path):
    text = ssd("")
    experiment = network(tmp_path / "silent", text).experiment
    assert (experiment.start, experiment.stop) == (None, None)
    stated = text.replace("</ssd:SystemS", '<ssd:DefaultExperiment stopTime="10"/></ssd:SystemS')
    experiment = network(tmp_path / "stated", stated).experiment
    assert (experiment.start, experiment.stop) == (None, 10.0)
