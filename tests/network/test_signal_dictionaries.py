"""Signals that elements share by name: from the writer through the entry of the dictionary to every reader (§1.8)."""

import pytest
from pytest import approx

from ssptool.network.explanation import explain
from tests.network.packages import (
    NAMESPACES,
    SSP,
    UNITS,
    bindings,
    component,
    connectors,
    content,
    flat,
    model,
    package,
    ssd,
    ssv,
    system,
    values,
    wires,
)

M = model('input u Real start="0" unit="m"; output y Real unit="m"; output n Integer; input k Integer start="0"')


def ssb(*entries):
    """A dictionary, each entry like `speed Real mm`."""
    lines = []
    for entry in entries:
        name, kind, *unit = entry.split()
        stated = f' unit="{unit[0]}"' if unit else ""
        lines.append(f'<ssb:DictionaryEntry name="{name}"><ssc:{kind}{stated}/></ssb:DictionaryEntry>')
    start = f'<ssb:SignalDictionary xmlns:ssb="{SSP}SignalDictionary" {NAMESPACES} version="2.0">'
    return "\n".join((start, *lines, f"<ssb:Units>{UNITS}</ssb:Units></ssb:SignalDictionary>"))


def dictionaries(**named):
    """Dictionaries of a system: inline as text, or a file by its name."""
    parts = (
        f'<ssd:SignalDictionary name="{name}" source="{what}"/>'
        if what.endswith(".ssb")
        else f'<ssd:SignalDictionary name="{name}">{what}</ssd:SignalDictionary>'
        for name, what in named.items()
    )
    return f"<ssd:SignalDictionaries>{''.join(parts)}</ssd:SignalDictionaries>"


def reference(name, dictionary, interface):
    return (
        f'<ssd:SignalDictionaryReference name="{name}" dictionary="{dictionary}">{connectors(interface)}'
        "</ssd:SignalDictionaryReference>"
    )


def a(interface="input u Real m, output y Real m", name="A"):
    return component(name, "m", interface)


BUS = dictionaries(bus=ssb("x Real mm"))
WRITER = a("output y Real m")
READER = a("input u Real m", "B")


def flat_of(folder, root, files=None):
    return flat(package(folder, ssd(root), {"m": M}, files))


def test_a_signal_goes_from_writer_to_reader_through_the_entry(tmp_path):
    """m → mm at the entry → m: twice converted, once there and once back."""
    parts = [WRITER, READER, reference("in", "bus", "inout x"), reference("out", "bus", "inout x")]
    result = flat_of(tmp_path, content("", parts, ["A.y -> in.x", "out.x -> B.u"]) + BUS)
    assert result.unsupported == ()
    assert wires(result) == {"A.y -> B.u": approx((1.0, 0.0))}
    (wire,) = result.wires
    assert [(leg.kind, str(leg.destination), leg.units) for leg in wire.legs] == [
        ("connection", "in.x", ("m", "mm")),
        ("dictionary", "bus.x", None),
        ("dictionary", "out.x", None),
        ("connection", "B.u", ("mm", "m")),
    ]


def test_the_entry_stores_its_own_unit_whatever_connectors_and_transformations_do(tmp_path):
    """y in m → 2·y + 1 in m at the reference → mm in the entry → unconverted to the reader, which states no unit."""
    linear = "||<ssc:LinearTransformation factor='2' offset='1'/>"
    parts = [WRITER, READER, reference("in", "bus", "inout x Real m"), reference("out", "bus", "inout x")]
    flows = [f"A.y -> in.x{linear}", "out.x -> B.u|suppressUnitConversion='true'"]
    result = flat_of(tmp_path, content("", parts, flows) + BUS)
    assert wires(result) == {"A.y -> B.u": approx((2000.0, 1000.0))}


def test_one_reference_is_written_and_read(tmp_path):
    parts = [WRITER, READER, a("input u Real m", "C"), reference("r", "bus", "inout x")]
    result = flat_of(tmp_path, content("", parts, ["A.y -> r.x", "r.x -> B.u", "r.x -> C.u"]) + BUS)
    assert list(wires(result)) == ["A.y -> B.u", "A.y -> C.u"]


def test_references_anywhere_below_share_the_values(tmp_path):
    """The writer is two levels down, readers are one level down and at the top; connectors of all kinds."""
    deep = system("T", "", [WRITER, reference("r", "bus", "input x")], ["A.y -> r.x"])
    middle = system("S", "", [deep, READER, reference("r", "bus", "output x")], ["r.x -> B.u"])
    parts = [middle, a("input u Real m", "C"), reference("r", "bus", "inout x")]
    result = flat_of(tmp_path, content("output Y", parts, ["r.x -> C.u", "r.x -> Y"]) + BUS)
    assert set(wires(result)) == {"S.T.A.y -> S.B.u", "S.T.A.y -> C.u", "S.T.A.y -> Y"}


def test_the_system_writes_and_reads_through_its_connectors(tmp_path):
    parts = [READER, reference("r", "bus", "inout x"), reference("q", "bus", "inout x")]
    result = flat_of(
        tmp_path, content("input U Real m, output Y Real m", parts, ["U -> r.x", "q.x -> B.u", "q.x -> Y"]) + BUS
    )
    assert wires(result) == {"U -> B.u": approx((1.0, 0.0)), "U -> Y": approx((1.0, 0.0))}


def test_the_nearest_dictionary_of_a_name_is_meant(tmp_path):
    """SSD-DICT-005: the inner `bus` hides the outer one."""
    inner = system("S", "", [WRITER, READER, reference("r", "bus", "inout x")], ["A.y -> r.x", "r.x -> B.u"])
    inner = inner.replace("</ssd:Connections>", "</ssd:Connections>" + dictionaries(bus=ssb("x Real m")))
    parts = [inner, a("input u Real m", "C"), reference("r", "bus", "inout x")]
    result = flat_of(tmp_path, content("", parts, ["r.x -> C.u"]) + BUS)
    assert list(wires(result)) == ["S.A.y -> S.B.u"]


def test_two_instances_of_a_system_have_dictionaries_of_their_own(tmp_path):
    inside = content("", [WRITER, READER, reference("r", "bus", "inout x")], ["A.y -> r.x", "r.x -> B.u"]) + BUS
    hosts = [
        f'<ssd:Component name="{name}" type="application/x-ssp-definition" source="Sub.ssd"/>' for name in ("P", "Q")
    ]
    result = flat_of(tmp_path, content("", hosts, []), {"Sub.ssd": ssd(inside)})
    assert list(wires(result)) == ["P.A.y -> P.B.u", "Q.A.y -> Q.B.u"]


def test_dictionaries_are_not_seen_from_another_document(tmp_path):
    """AMB-21."""
    inside = content("", [WRITER, reference("r", "bus", "inout x")], ["A.y -> r.x"])
    host = '<ssd:Component name="P" type="application/x-ssp-definition" source="Sub.ssd"/>'
    parts = [host, READER, reference("r", "bus", "inout x")]
    result = flat_of(tmp_path, content("", parts, ["r.x -> B.u"]) + BUS, {"Sub.ssd": ssd(inside)})
    assert wires(result) == {}


def test_a_dictionary_of_a_sibling_is_not_seen(tmp_path):
    other = system("T", "", [READER], []).replace("</ssd:Connections>", "</ssd:Connections>" + BUS)
    inner = system("S", "", [WRITER, READER, reference("r", "bus", "inout x")], ["A.y -> r.x", "r.x -> B.u"])
    assert wires(flat_of(tmp_path, content("", [other, inner], []))) == {}


def test_a_dictionary_may_be_in_a_file(tmp_path):
    parts = [WRITER, READER, reference("in", "bus", "inout x"), reference("out", "bus", "inout x")]
    root = content("", parts, ["A.y -> in.x", "out.x -> B.u"]) + dictionaries(bus="resources/bus.ssb")
    result = flat_of(tmp_path, root, {"resources/bus.ssb": ssb("x Real mm")})
    (wire,) = result.wires
    assert (wire.legs[1].position.file, wire.legs[1].position.line) == ("resources/bus.ssb", 2)


def test_values_that_are_no_numbers_with_units_are_shared_too(tmp_path):
    parts = [a("output n Integer"), a("input k Integer", "B"), reference("r", "bus", "inout n")]
    root = content("", parts, ["A.n -> r.n", "r.n -> B.k"]) + dictionaries(bus=ssb("n Integer"))
    assert wires(flat_of(tmp_path, root)) == {"A.n -> B.k": (1.0, 0.0)}


def test_the_first_writer_of_several_is_taken(tmp_path):
    """The rule SSD-DICT-008 refuses the second."""
    parts = [
        WRITER,
        a("output y Real m", "C"),
        READER,
        reference("r", "bus", "inout x"),
        reference("q", "bus", "inout x"),
    ]
    result = flat_of(tmp_path, content("", parts, ["A.y -> r.x", "C.y -> q.x", "q.x -> B.u"]) + BUS)
    assert list(wires(result)) == ["A.y -> B.u"]


def test_what_nobody_writes_leaves_readers_with_their_own_value(tmp_path):
    parts = [READER, reference("r", "bus", "inout x")]
    result = flat_of(tmp_path, content("", parts, ["r.x -> B.u"]) + BUS)
    assert result.wires == ()
    assert result.unsupported == ()


@pytest.mark.parametrize(
    "declared",
    ["", dictionaries(bus="resources/none.ssb"), dictionaries(bus="../bus.ssb"), dictionaries(bus=ssb("other Real"))],
)
def test_references_without_entry_carry_nothing(tmp_path, declared):
    """Left to the rules SSD-DICT-004, -006 and URI-002."""
    parts = [WRITER, READER, reference("r", "bus", "inout x Real m")]
    result = flat_of(tmp_path, content("", parts, ["A.y -> r.x"]) + declared)
    assert (result.wires, result.unsupported) == ((), ())


def test_a_dictionary_of_another_format_is_refused_by_name(tmp_path):
    declared = dictionaries(bus="bus.csv.ssb").replace('name="bus"', 'name="bus" type="text/csv"')
    (refused,) = flat_of(tmp_path, content("", [WRITER], []) + declared).unsupported
    assert refused.feature == "the signal dictionary 'bus' of type text/csv"


def test_references_and_entries_take_no_parameters(tmp_path):
    parts = [WRITER, READER, reference("r", "bus", "inout x")]
    bound = bindings(ssv("r.x Real value='1'", "bus.x Real value='1'"))
    text = content("", parts, ["A.y -> r.x", "r.x -> B.u"], bound) + BUS
    result = flat_of(tmp_path, text)
    assert values(result) == {}
    assert {missed.name for missed in result.unmatched} == {"r.x", "bus.x"}


def test_entries_and_references_are_explained(tmp_path):
    parts = [WRITER, READER, reference("in", "bus", "inout x"), reference("out", "bus", "inout x")]
    result = flat_of(tmp_path, content("", parts, ["A.y -> in.x", "out.x -> B.u"]) + BUS)
    entry, read = explain(result, "bus.x", "out.x")
    assert (entry.kind, entry.unit) == ("dictionary entry", "mm")
    assert (str(entry.arriving.source), entry.arriving.conversion.factor) == ("A.y", approx(1000.0))
    assert [(str(wire.destination), wire.conversion.factor) for wire in entry.leaving] == [("B.u", approx(0.001))]
    assert [str(leg.destination) for leg in read.arriving.legs] == ["in.x", "bus.x", "out.x"]
