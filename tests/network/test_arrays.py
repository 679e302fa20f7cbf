"""Arrays in the flat network: as their elements, of the sizes that FMUs and parameters give them."""

import pytest

import ssptool
from ssptool.documents.archive import Archive
from ssptool.errors import UnknownName
from ssptool.network.arrays import with_whole_arrays
from ssptool.network.conversion import InvalidValue
from ssptool.network.dependencies import Loop, evaluation_order
from ssptool.network.flatten import build_network
from ssptool.network.network import Signal
from ssptool.network.signal_graph import Stage
from tests.fmu.array_fmus import component, connector, pack, state_space, subsystem, values, write_system
from tests.network.packages import values as assigned
from tests.network.small import graph_at


@pytest.fixture
def flat(tmp_path):
    """A network of FMUs fixed(n=2, m=2, p=2), wide(n=2, m=3, p=3) and sized, which starts with sizes of 2."""

    def build(elements, connections=(), parameters="", connectors=(), mapping="", dictionaries="", **options):
        folder = tmp_path / "system"
        folder.mkdir()
        pack(folder / "fixed.fmu", state_space(2, 2, 2))
        pack(folder / "wide.fmu", state_space(2, 3, 3))
        pack(folder / "sized.fmu", state_space(2, 2, 2, sized=True))
        write_system(folder, elements, connections, parameters, connectors, mapping=mapping, dictionaries=dictionaries)
        with Archive.open(folder) as archive:
            return build_network(archive, archive.structure(), **options)

    return build


def part(name, source="fixed.fmu", m=2, p=2):
    return component(name, source, [connector("u", "input", m), connector("y", "output", p)])


def wires(network):
    return [f"{wire.source} → {wire.destination}" for wire in network.wires]


def refused(network):
    return [item.feature for item in network.unsupported]


def test_a_connection_of_arrays_is_one_of_their_elements(flat):
    network = flat([part("A"), part("B")], ["A.y -> B.u"])
    assert wires(network) == ["A.y[1] → B.u[1]", "A.y[2] → B.u[2]"]
    assert [str(port.signal) for port in network.components["A"].ports] == ["A.u[1]", "A.u[2]", "A.y[1]", "A.y[2]"]
    assert network.arrays[Signal("A", "A")] == (2, 2)
    assert not network.unsupported


def test_elements_are_numbered_row_by_row(flat):
    network = flat([part("A", "wide.fmu", 3, 3)])
    names = [name for name in network.components["A"].description.variables if name.startswith("B")]
    assert names == ["B[1,1]", "B[1,2]", "B[1,3]", "B[2,1]", "B[2,2]", "B[2,3]"]


def test_indices_connect_single_elements(flat):
    network = flat([part("A"), part("B")], ["A.y[2] -> B.u[1]", "A.y[1] -> B.u[2]"])
    assert wires(network) == ["A.y[2] → B.u[1]", "A.y[1] → B.u[2]"]


def test_an_array_can_be_filled_from_several_sources(flat):
    """AMB-09: one source is allowed for each element, not for the connector."""
    network = flat([part("A"), part("B"), part("C")], ["A.y[1] -> C.u[1]", "B.y[1] -> C.u[2]"])
    assert wires(network) == ["A.y[1] → C.u[1]", "B.y[1] → C.u[2]"]


def test_units_and_transformations_act_on_every_element(flat):
    more = '|<ssc:LinearTransformation factor="2" offset="1"/>'
    parts = [
        component("A", "fixed.fmu", [connector("y", "output", 2, unit="m")]),
        component("B", "fixed.fmu", [connector("u", "input", 2, unit="mm")]),
    ]
    network = flat(parts, [f"A.y -> B.u{more}"])
    assert [wire.conversion(0.003) for wire in network.wires] == [pytest.approx(2 * 3 + 1)] * 2


@pytest.mark.parametrize(
    ("wire", "feature"),
    [
        ("A.y -> B.u", "a connection of different shapes: A.y is an array [2], B.u is an array [3]"),
        ("A.y -> B.u[1]", "a connection of different shapes: A.y is an array [2], B.u is a scalar"),
        ("A.y[3] -> B.u[1]", "the indices '3' pick no element of A.y, which is an array [2]"),
        ("A.y[0] -> B.u[1]", "the indices '0' pick no element of A.y, which is an array [2]"),
        ("A.y[1,1] -> B.u[1]", "the indices '1 1' pick no element of A.y, which is an array [2]"),
    ],
)
def test_ends_that_do_not_fit_are_refused_by_name(flat, wire, feature):
    network = flat([part("A"), part("B", "wide.fmu", 3, 3)], [wire])
    assert refused(network) == [feature]
    assert network.unsupported[0].position.line > 0
    assert network.wires == ()


# -- sizes ---------------------------------------------------------------------------------------------------------


def test_structural_parameters_size_arrays(flat):
    parts = [part("A", "sized.fmu", None, None), part("B", "wide.fmu", 3, 3)]
    network = flat(parts, ["A.y -> B.u"], values("A.p", [3], type="UInt64"))
    assert len(network.wires) == 3
    assert network.arrays[Signal("A", "C")] == (3, 2)
    assert not network.unsupported


def test_each_component_has_its_own_sizes(flat):
    parts = [part(name, "sized.fmu", None, None) for name in "AB"]
    network = flat(parts, [], values("A.m", [1], type="UInt64"), start_values={"B.m": "5", "B.u": "1 2 3 4 5"})
    assert [network.arrays[Signal(name, "u")] for name in "AB"] == [(1,), (5,)]
    assert assigned(network)["B.u[5]"] == 5.0


def test_a_size_that_the_connector_states_otherwise_is_refused(flat):
    network = flat([part("A", "sized.fmu", 2, 2)], [], values("A.m", [3], type="UInt64"))
    assert refused(network) == ["the dimensions [2] of the connector A.u, whose variable is an array [3]"]


def test_a_number_of_elements_beyond_all_bounds_is_refused(flat):
    network = flat([part("A", "sized.fmu", None, None)], [], values("A.n", [10**6], type="UInt64"))
    assert refused(network) == ["arrays with 1000007000008 elements in total, more than the limit of 2000000"]


@pytest.mark.parametrize("size", [10**9, 2**64 - 1])
def test_a_connector_with_elements_beyond_all_bounds_is_refused(flat, size):
    network = flat([part("A")], [], connectors=[connector("u", "input", size), connector("v", "input", 3)])
    assert refused(network) == [
        f"the connector 'u' with its {size} elements (an array [{size}]): connectors may have 100000 in total"
    ]
    assert network.arrays[Signal("", "v")] == (3,)


def test_start_values_for_another_size_say_nothing(flat):
    network = flat([part("A", "sized.fmu", None, None)], [], values("A.n", [3], type="UInt64"))
    variables = network.components["A"].description.variables
    assert (variables["A[3,3]"].start, variables["x0[3]"].start) == (None, 1.0)


def test_connectors_of_systems_take_their_size_from_what_they_are_connected_to(flat):
    inner = subsystem(
        "S",
        [connector("u", "input", None), connector("y", "output", None)],
        [part("A")],
        ["u -> A.u", "A.y -> y"],
    )
    network = flat([inner, part("B")], ["S.y -> B.u", "u -> S.u"], connectors=[connector("u", "input", None)])
    assert sorted(wires(network)) == [
        *("S.A.y[1] → B.u[1]", "S.A.y[2] → B.u[2]"),
        *("u[1] → S.A.u[1]", "u[2] → S.A.u[2]"),
    ]
    assert not network.unsupported


def test_connectors_of_systems_are_sized_by_the_connector_beside_them(flat):
    size = connector("k", "structuralParameter", type="UInt64")
    inner = subsystem("S", [size, connector("u", "input", "k")], [part("A")], ["u -> A.u"])
    network = flat([inner, part("B")], ["B.y -> S.u"], values("S.k", [2], type="UInt64"))
    assert wires(network) == ["B.y[1] → S.A.u[1]", "B.y[2] → S.A.u[2]"]


def test_a_size_that_nothing_gives_is_refused(flat):
    network = flat([part("A")], [], connectors=[connector("u", "input", None)])
    assert refused(network) == ["the array 'u' of unknown size"]


# -- values --------------------------------------------------------------------------------------------------------


def test_an_array_of_a_parameter_set_gives_every_element_its_value(flat):
    network = flat([part("A")], [], values("A.A", [1, 2, 3, 4], 2, 2))
    assert assigned(network) == {"A.A[1,1]": 1, "A.A[1,2]": 2, "A.A[2,1]": 3, "A.A[2,2]": 4}
    chain = network.assignments[Signal("A", "A[2,1]")].chain
    assert [(step.kind, step.name, step.value) for step in chain] == [("binding", "A.A[2,1]", 3.0)]


@pytest.mark.parametrize(
    ("parameter", "feature"),
    [
        (values("A.x0", [1, 2, 3], 3), "the value of A.x0: found an array [3], expected an array [2]"),
        (values("A.x0", [1, 2], 1, 2), "the value of A.x0: found an array [1, 2], expected an array [2]"),
        (values("A.x0", [1]), "the value of A.x0: found a scalar, expected an array [2]"),
        (values("A.x0", [1, 2, 3], 2), "3 values for the parameter 'A.x0', an array [2]"),
        (values("A.x0", [True, False], 2, type="Boolean"), "the value of A.x0[1]: A.x0[1] cannot be True"),
    ],
)
def test_values_that_do_not_fit_an_array_are_refused_by_name(flat, parameter, feature):
    features = refused(flat([part("A")], [], parameter))
    assert features[0].startswith(feature)


def test_a_parameter_set_does_not_name_elements(flat):
    network = flat([part("A")], [], values("A.x0[1]", [1]))
    assert assigned(network) == {}
    assert [missed.name for missed in network.unmatched] == ["A.x0[1]"]


def test_the_command_line_sets_arrays_and_elements(flat):
    network = flat([part("A")], [], start_values={"A.A": "1 2 3 4", "A.A[1,2]": "7"})
    assert list(assigned(network).values()) == [1.0, 7.0, 3.0, 4.0]


@pytest.mark.parametrize("text", ["1 2 3", "1", "", "1 2 3 4 5"])
def test_the_command_line_gives_as_many_values_as_there_are_elements(flat, text):
    with pytest.raises(InvalidValue, match=r"expected 4 values for an array \[2, 2\]"):
        flat([part("A")], [], start_values={"A.A": text})


def test_an_element_that_there_is_not_is_unknown(flat):
    with pytest.raises(UnknownName, match=r"A\.x0\[3\]"):
        flat([part("A")], [], start_values={"A.x0[3]": "1"})


def test_a_mapping_renames_an_array_and_transforms_its_elements(flat):
    linear = '<ssc:LinearTransformation factor="2" offset="1"/>'
    mapping = f'<ssm:MappingEntry source="start" target="A.x0">{linear}</ssm:MappingEntry>'
    network = flat([part("A")], [], values("start", [1, 2], 2), mapping=mapping)
    assert assigned(network) == {"A.x0[1]": 3.0, "A.x0[2]": 5.0}


def test_units_of_arrays_in_parameter_sets_are_converted(flat):
    inner = subsystem("S", [connector("u", "input", 2, unit="m")], [part("A")], ["u -> A.u"])
    network = flat([inner], [], values("S.u", [1, 2], 2, unit="mm"))
    assert assigned(network) == pytest.approx({"S.A.u[1]": 0.001, "S.A.u[2]": 0.002})


def test_dictionaries_share_arrays(flat):
    entry = '<ssb:DictionaryEntry name="both"><ssc:Float64/><ssc:Dimension size="2"/></ssb:DictionaryEntry>'
    shared = f'<ssb:SignalDictionary version="2.0">{entry}</ssb:SignalDictionary>'
    references = [
        f'<ssd:SignalDictionaryReference name="{name}" dictionary="D"><ssd:Connectors>'
        f"{connector('both', 'inout', 2)}</ssd:Connectors></ssd:SignalDictionaryReference>"
        for name in ("Left", "Right")
    ]
    network = flat(
        [part("A"), part("B"), *references],
        ["A.y -> Left.both", "Right.both -> B.u"],
        dictionaries=f'<ssd:SignalDictionary name="D">{shared}</ssd:SignalDictionary>',
    )
    assert wires(network) == ["A.y[1] → B.u[1]", "A.y[2] → B.u[2]"]
    assert not network.unsupported


# -- the graph -----------------------------------------------------------------------------------------------------


def test_an_array_is_one_vertex_of_the_dependency_graph(flat):
    network = flat([part("A"), part("B")], ["A.y -> B.u", "B.y[1] -> A.u[2]"])
    graph = graph_at(network, Stage.COMMUNICATION)
    assert list(map(str, graph.signals)) == ["A.u", "A.y", "B.u", "B.y"]
    assert not any(isinstance(one, Loop) for one in evaluation_order(graph))


def test_for_people_a_connection_of_arrays_is_one_wire(flat):
    network = with_whole_arrays(flat([part("A"), part("B")], ["A.y -> B.u", "B.y[1] -> A.u[2]"]))
    assert sorted(wires(network)) == ["A.y → B.u", "B.y[1] → A.u[2]"]
    assert [str(port.signal) for port in network.components["A"].ports] == ["A.u", "A.y"]


def test_an_element_has_no_more_than_one_name(tmp_path):
    description = state_space(2, 2, 2).replace('name="x0"', 'name="u[1]"')
    folder = tmp_path / "system"
    folder.mkdir()
    pack(folder / "fixed.fmu", description)
    write_system(folder, [part("A")])
    with Archive.open(folder) as archive:
        features = refused(build_network(archive, archive.structure()))
    assert features == ["an element of u has the name of the variable u[1]"]


def test_a_whole_array_is_explained_by_its_elements(tmp_path):
    folder = tmp_path / "system"
    folder.mkdir()
    pack(folder / "fixed.fmu", state_space(2, 2, 2))
    write_system(folder, [part("A")], [], values("A.x0", [1, 2], 2))
    found = ssptool.explain(folder, "A.x0")
    assert [(str(one.signal), one.value) for one in found] == [("A.x0[1]", 1.0), ("A.x0[2]", 2.0)]
