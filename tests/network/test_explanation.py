"""Explanations: where values come from, step by step, and where signals go."""

import pytest
from pytest import approx

from ssptool.errors import UnknownName
from ssptool.network.explanation import Origin, explain, explain_all
from ssptool.network.network import Unmatched
from tests.network.packages import (
    bindings,
    component,
    connectors,
    content,
    flat,
    mapped,
    model,
    package,
    ssd,
    ssm,
    ssv,
    system,
)

M = model(
    'parameter k Real start="1" unit="m"; parameter n Integer start="0"; input u Real start="0.5" unit="m";'
    'input v Real; output y Real unit="mm"; local w Real; calculatedParameter c Real'
)


def a(interface="input u Real m, parameter k Real m, output y Real m", bound="", name="A"):
    return component(name, "m", interface, bound)


def network(folder, root, **options):
    return flat(package(folder, ssd(root), {"m": M}), **options)


def line_of(folder, text):
    lines = (folder / "SystemStructure.ssd").read_text().splitlines()
    return next(number for number, line in enumerate(lines, start=1) if text in line)


LINEAR = "||<ssc:LinearTransformation factor='2' offset='1'/>"
ROOT = content(
    "output Y Real mm",
    [
        system(
            "S",
            "input u Real mm, output y Real m, output z Real",
            [a()],
            ["u -> A.u", f"A.y -> y{LINEAR}"],
        ),
        a(name="B"),
    ],
    ["B.y -> S.u", "S.y -> B.u", "S.y -> Y"],
)


def test_a_signal_is_followed_through_boundaries_units_and_transformations(tmp_path):
    """A.y in mm is stated in m (0.001·v), transformed (2·v + 1), and given to the system in mm (1000·v)."""
    (Y,) = explain(network(tmp_path, ROOT), "Y")
    wire = Y.arriving
    assert (Y.origin, str(wire.source)) == (Origin.CONNECTION, "S.A.y")
    assert (wire.conversion.factor, wire.conversion.offset) == approx((2.0, 1000.0))
    steps = [(leg.kind, str(leg.destination), leg.units, leg.transformation.offset) for leg in wire.legs]
    assert steps == [
        ("variable", "S.A.y", ("mm", "m"), 0.0),
        ("connection", "S.y", None, 1.0),
        ("connection", "Y", ("m", "mm"), 0.0),
    ]
    assert wire.legs[1].position.line == line_of(tmp_path, 'startElement="A"')


def test_a_connector_of_a_system_inside_has_its_part_of_the_way_before_and_after(tmp_path):
    (y,) = explain(network(tmp_path, ROOT), "S.y")
    assert (str(y.arriving.source), str(y.arriving.destination)) == ("S.A.y", "S.y")
    assert (y.arriving.conversion.factor, y.arriving.conversion.offset) == approx((0.002, 1.0))
    after = {str(wire.destination): wire.conversion.factor for wire in y.leaving}
    assert after == {"B.u": 1.0, "Y": 1000.0}


def test_before_and_after_compose_to_the_wire(tmp_path):
    flat_network = network(tmp_path, ROOT)
    (boundary,) = explain(flat_network, "S.u")
    (wire,) = (wire for wire in flat_network.wires if str(wire.destination) == "S.A.u")
    (after,) = boundary.leaving
    assert boundary.arriving.legs + after.legs == wire.legs
    assert boundary.arriving.conversion.then(after.conversion) == wire.conversion


def test_dangling_connectors_are_followed_as_far_as_they_lead(tmp_path):
    inner = system("S", "input u Real, output y Real, output z Real", [a()], ["u -> A.u", "A.y -> y"])
    result = network(tmp_path, content("", [inner], []))
    y, z, u, target = explain(result, "S.y", "S.z", "S.u", "S.A.u")
    assert result.wires == ()
    assert str(y.arriving.source) == "S.A.y"
    assert (z.origin, z.arriving, z.leaving) == (Origin.NOTHING, None, ())
    assert (u.origin, [str(wire.destination) for wire in u.leaving]) == (Origin.NOTHING, ["S.A.u"])
    assert target.arriving is not None


def test_defaults_are_said_to_be_the_start_values_of_the_fmu(tmp_path):
    k, u, v, w, c = explain(
        network(tmp_path, content("", [a("input u, input v")], [])), "A.k", "A.u", "A.v", "A.w", "A.c"
    )
    assert (k.origin, k.value, k.unit, k.kind) == (Origin.DEFAULT, 1.0, "m", "parameter")
    assert k.default.position.file == "resources/m.fmu!modelDescription.xml"
    assert k.default.position.line > 0
    assert (u.origin, u.value) == (Origin.DEFAULT, 0.5)
    assert (v.origin, v.value) == (Origin.NOTHING, None)
    assert (w.origin, w.kind, c.origin) == (Origin.CALCULATED, "local", Origin.CALCULATED)


def test_an_unpacked_fmu_is_named_by_the_file_that_can_be_opened(tmp_path):
    """Its `resources/m.fmu` is a folder."""
    path = package(tmp_path, ssd(content("", [a()], [])), {})
    fmu = tmp_path / "resources" / "m.fmu"
    fmu.mkdir(parents=True)
    (fmu / "modelDescription.xml").write_text(M)
    (k,) = explain(flat(path), "A.k")
    assert k.default.position.file == "resources/m.fmu/modelDescription.xml"
    assert "k" in (tmp_path / k.default.position.file).read_text().splitlines()[k.default.position.line - 1]


def test_a_connection_wins_over_a_binding_and_the_binding_is_told(tmp_path):
    """AMB-12."""
    root = bindings(ssv("A.u Real value='3'")) + content("", [a(), a(name="B")], ["B.y -> A.u"])
    (u,) = explain(network(tmp_path, root), "A.u")
    assert (u.origin, u.value, u.assignment.value) == (Origin.CONNECTION, None, 3.0)


def test_what_the_root_system_is_given_is_known_at_the_other_end(tmp_path):
    root = content("parameter K Real mm", [a()], ["K -> A.k"], bindings(ssv("K Real value='250'")))
    K, k = explain(network(tmp_path, root), "K", "A.k")
    assert (K.origin, K.value, [str(wire.destination) for wire in K.leaving]) == (Origin.ASSIGNMENT, 250.0, ["A.k"])
    assert (k.origin, k.value) == (Origin.CONNECTION, approx(0.25))
    assert k.brought.chain[0].position.line == line_of(tmp_path, 'name="K"><ssv')


def test_a_value_that_a_connector_inside_was_given_is_followed_to_the_variable(tmp_path):
    inner = system("S", "parameter p Real mm", [a()], ["p -> A.k"], bindings(ssv("p Real value='250'")))
    p, k = explain(network(tmp_path, content("", [inner], [])), "S.p", "S.A.k")
    assert (p.origin, p.value) == (Origin.ASSIGNMENT, 250.0)
    assert (k.origin, k.value, k.assignment.value) == (Origin.CONNECTION, approx(0.25), approx(0.25))
    assert [(step.kind, step.name, step.value) for step in k.assignment.chain] == [
        ("binding", "p", 250.0),
        ("connection", "S.A.k", approx(0.25)),
    ]


def test_a_name_of_several_variables_gives_all(tmp_path):
    fmu = model('parameter x.y Real start="1"; parameter y Real start="2"')
    root = content("", [component("A", "m"), component("A.x", "m")], [])
    found = explain(flat(package(tmp_path, ssd(root), {"m": fmu})), "A.x.y")
    assert [(each.signal.component, each.value) for each in found] == [("A", 1.0), ("A.x", 2.0)]


def test_a_parameter_that_matched_nothing_is_found_by_its_name_with_near_misses(tmp_path):
    (missed,) = explain(network(tmp_path, bindings(ssv("A.kk Real value='1'")) + content("", [a()], [])), "A.kk")
    assert isinstance(missed, Unmatched)
    assert missed.near[0] == "A.k"
    assert missed.position.line == line_of(tmp_path, "A.kk")


@pytest.mark.parametrize(("name", "near"), [("A.uu", "A.u"), ("k", "A.k"), ("S.A.k", "A.k")])
def test_an_unknown_name_is_refused_with_near_misses(tmp_path, name, near):
    with pytest.raises(UnknownName) as caught:
        explain(network(tmp_path, content("", [a()], [])), name)
    assert near in caught.value.near


def test_a_name_in_other_case_is_that_of_the_only_variable_like_it(tmp_path):
    (found,) = explain(network(tmp_path, content("", [a()], [])), "a.W")
    assert str(found.signal) == "A.w"


def test_everything_is_explained_once(tmp_path):
    result = network(tmp_path, ROOT)
    names = [str(each.signal) for each in explain_all(result)]
    assert len(names) == len(set(names))
    assert {"Y", "S.u", "S.y", "S.z", "S.A.k", "S.A.n", "S.A.u", "B.y"} <= set(names)
    assert "S.A.w" not in names  # a local variable that is neither given a value nor a connector


def test_mapped_integers_are_followed_too(tmp_path):
    """2 at the connector of S is 40 in A by the connection's table; what is not in the table passes unchanged."""
    table = (
        "||<ssc:IntegerMappingTransformation><ssc:MapEntry source='2' target='40'/></ssc:IntegerMappingTransformation>"
    )
    parts = [a("parameter n Integer"), a("parameter n Integer", name="B")]
    bound = bindings(ssv("p Integer value='2'", "q Integer value='3'"))
    inner = system(
        "S", "parameter p Integer, parameter q Integer", parts, [f"p -> A.n{table}", f"q -> B.n{table}"], bound
    )
    mapped, same = explain(network(tmp_path, content("", [inner], [])), "S.A.n", "S.B.n")
    assert [(each.value, each.assignment.value) for each in (mapped, same)] == [(40, 40), (3, 3)]
    assert [step.value for step in mapped.assignment.chain] == [2, 40]


def test_a_connector_of_a_component_that_leads_nowhere_inside_has_no_source(tmp_path):
    """Component and inner system have a connector of one name, which is not a wire from it to itself."""
    inner = system("S", "input u Real m", [a()], []).replace("<ssd:System ", '<ssd:System id="s" ')
    again = f'<ssd:Component name="R" type="application/x-ssp-definition" source="#s">{connectors("input u Real m")}'
    result = network(tmp_path, content("", [inner, again + "</ssd:Component>"], []))
    (u,) = explain(result, "R.u")
    assert (u.origin, u.arriving, u.leaving) == (Origin.NOTHING, None, ())
    assert "R.u" in {str(each.signal) for each in explain_all(result)}


ARRAY = ssv("n Float64 value='1 2'", "m Real value='3'").replace("'1 2'/>", "'1 2'/><ssc:Dimension size='2'/>")


def test_what_a_variable_is_given_but_cannot_take_is_told(tmp_path):
    """Where it would arrive: after prefix and mapping."""
    result = network(tmp_path, mapped(ARRAY, ssm("source='n' target='A.k'")) + content("", [a()], []))
    (k,) = explain(result, "A.k")
    assert k.origin is Origin.DEFAULT
    (refused,) = k.refused
    assert "expected a scalar" in refused.feature
    assert refused.position.line == line_of(tmp_path, "target='A.k'")
    assert explain(result, "A.u")[0].refused == ()


def test_an_array_that_a_mapping_leaves_out_keeps_nothing_from_running(tmp_path):
    result = network(tmp_path, mapped(ARRAY, ssm("source='m' target='A.k'")) + content("", [a()], []))
    assert result.unsupported == ()
    assert explain(result, "A.k")[0].value == 3.0
