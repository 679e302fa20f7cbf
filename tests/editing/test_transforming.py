"""Transformations of connections: what is asked for stands there, means what it says, and comes off without a trace."""

import pytest

import ssptool
from tests.editing.small_systems import changed_lines, errors, fmu, model, refused, snapshot, ssd
from tests.network.packages import component, content, package

TYPES = (
    '<SimpleType name="Gear"><Enumeration><Item name="first" value="1"/><Item name="second" value="2"/></Enumeration>'
    '</SimpleType><SimpleType name="Speed"><Enumeration><Item name="slow" value="1"/><Item name="fast" value="2"/>'
    "</Enumeration></SimpleType>"
)
SOURCE = model(
    'output y Real unit="m"; output n Integer; output flag Boolean; output gear Enumeration declaredType="Gear"',
    types=TYPES,
)
SINK = model(
    'input u Real unit="m" start="0"; input v Real start="0"; input force Real unit="N" start="0"; '
    'input i Integer start="0"; input on Boolean start="false"; input speed Enumeration declaredType="Speed" start="1"',
    types=TYPES,
)


@pytest.fixture
def pair(tmp_path):
    """`Source` and `Sink`; only `y` and `u` are connected."""
    with ssptool.new(tmp_path / "pair") as made:
        made.add(fmu(tmp_path, "Source", SOURCE), fmu(tmp_path, "Sink", SINK)).connect("Source.y", "Sink.u")
    return tmp_path / "pair"


def wire(path, destination="Sink.u"):
    return next(wire for wire in ssptool.flatten(path).wires if str(wire.destination) == destination)


def test_a_factor_and_an_offset_are_what_the_destination_gets(pair):
    with ssptool.edit(pair) as made:
        made.connect("Source.y", "Sink.u", factor=2, offset=-0.5)
        assert changed_lines(made)[-3:] == [
            '+      <ssd:Connection startElement="Source" startConnector="y" endElement="Sink" endConnector="u">',
            '+        <ssc:LinearTransformation factor="2" offset="-0.5"/>',
            "+      </ssd:Connection>",
        ]
        assert made.notes == ("Source.y → Sink.u: 2 · value − 0.5",)
    assert (wire(pair).conversion.factor, wire(pair).conversion.offset) == (2.0, -0.5)
    assert errors(pair) == []


def test_a_new_connection_can_have_one_at_once_and_the_order_of_names_does_not_matter(pair):
    with ssptool.edit(pair) as made:
        made.connect("Sink.v", "Source.y", factor=3)
        assert made.notes == ("connected Source.y → Sink.v", "Source.y → Sink.v: 3 · value")
    assert wire(pair, "Sink.v").conversion.factor == 3.0


def test_one_number_of_a_transformation_changes_alone(pair):
    with ssptool.edit(pair) as made:
        made.connect("Source.y", "Sink.u", factor=2, offset=1)
    with ssptool.edit(pair) as made:
        made.connect("Source.y", "Sink.u", offset=5)
        assert [line.strip("+- ") for line in changed_lines(made)] == [
            '<ssc:LinearTransformation factor="2" offset="1"/>',
            '<ssc:LinearTransformation factor="2" offset="5"/>',
        ]


@pytest.mark.parametrize(
    "treatment",
    [{"factor": 2}, {"offset": 1}, {"suppress_unit_conversion": True}, {"factor": 2, "suppress_unit_conversion": True}],
    ids=str,
)
def test_taking_everything_off_gives_the_bytes_back(pair, treatment):
    before = snapshot(pair)
    with ssptool.edit(pair) as made:
        made.connect("Source.y", "Sink.u", **treatment)
    assert snapshot(pair) != before
    with ssptool.edit(pair) as made:
        linear = len(treatment) > 1 or "suppress_unit_conversion" not in treatment
        made.connect("Source.y", "Sink.u", plain=linear, suppress_unit_conversion=False)
    assert snapshot(pair) == before


def test_values_without_an_entry_pass_the_table_unchanged(pair):
    with ssptool.edit(pair) as made:
        made.connect("Source.n", "Sink.i", table={"1": "10", "-2": "0"})
        made.connect("Source.flag", "Sink.on", table={"true": "false"})
        assert "<ssc:IntegerMappingTransformation>" in made.diff()
        assert '<ssc:MapEntry source="1" target="10"/>' in made.diff()
        assert "<ssc:BooleanMappingTransformation>" in made.diff()
    assert errors(pair) == []


def test_items_of_enumerations_are_mapped_by_name_and_make_different_ones_go_together(pair):
    with refused(pair, "Source.gear has the items first, second, Sink.speed slow, fast: map them") as made:
        made.connect("Source.gear", "Sink.speed")
    with ssptool.edit(pair) as made:
        made.connect("Source.gear", "Sink.speed", table={"first": "slow", "second": "fast"})
        assert "<ssc:EnumerationMappingTransformation>" in made.diff()
    assert errors(pair) == []


def test_items_become_numbers_where_the_other_side_is_an_integer(pair):
    with ssptool.edit(pair) as made:
        made.connect("Source.gear", "Sink.i", table={"first": "7", "2": "8"})
        assert '<ssc:MapEntry source="1" target="7"/>' in made.diff()
    assert errors(pair) == []


def test_units_that_do_not_convert_are_connected_as_bare_numbers_if_asked_for(pair):
    with refused(pair, "these units do not convert") as made:
        made.connect("Source.y", "Sink.force")
    with ssptool.edit(pair) as made:
        made.connect("Source.y", "Sink.force", suppress_unit_conversion=True)
    assert errors(pair) == []
    with refused(pair, "UNIT-006", ssptool.exceptions.BrokenEdit) as made:
        made.connect("Source.y", "Sink.force", suppress_unit_conversion=False)


@pytest.mark.parametrize(
    ("ends", "treatment", "hint"),
    [
        (("Source.n", "Sink.i"), {"factor": 2}, "Source.n is of type Int32: a factor and an offset are for floating"),
        (("Source.y", "Sink.u"), {"table": {"1": "2"}}, "Source.y is Float64 and Sink.u is Float64: tables are for"),
        (("Source.flag", "Sink.on"), {"table": {"yes": "no"}}, "'yes' is neither true nor false"),
        (("Source.gear", "Sink.speed"), {"table": {"frist": "slow"}}, "no item 'frist'; did you mean first"),
        (
            ("Source.gear", "Sink.speed"),
            {"table": {"first": "slo"}},
            "Sink.speed has no item 'slo'; did you mean slow",
        ),
        (("Source.n", "Sink.i"), {"table": {"a": "1"}}, "Source.n has no value 'a': expected an integer"),
        (("Source.n", "Sink.i"), {"table": {"1": "2"}, "factor": 2}, "one transformation"),
        (("Source.y", "Sink.u"), {"plain": True}, "has no transformation"),
        (("Source", "Sink"), {"factor": 2}, "2 · value: a transformation is for one connection; name two connectors"),
        (("Source.y", "Sink.u"), {}, "connected already"),
    ],
)
def test_what_the_standard_does_not_have_is_refused_by_name(pair, ends, treatment, hint):
    with refused(pair, hint) as made:
        made.connect(*ends, **treatment)


def test_comments_and_the_way_of_the_line_stay(tmp_path):
    inside = '||<!-- why --><ssd:ConnectionGeometry pointsX="1 2" pointsY="3 4"/>'
    parts = [component("A", "Source", "output y Real m"), component("B", "Sink", "input u Real m")]
    package(tmp_path / "s", ssd(content("", parts, [f"A.y -> B.u{inside}"])), {"Source": SOURCE, "Sink": SINK})
    before = snapshot(tmp_path / "s")
    with ssptool.edit(tmp_path / "s") as made:
        made.connect("A.y", "B.u", factor=2)
    text = (tmp_path / "s" / "SystemStructure.ssd").read_text()
    assert '<!-- why --><ssc:LinearTransformation factor="2"/><ssd:ConnectionGeometry' in text or "<!-- why -->" in text
    assert text.index("LinearTransformation") < text.index("ConnectionGeometry")
    with ssptool.edit(tmp_path / "s") as made:
        made.connect("A.y", "B.u", plain=True)
    assert snapshot(tmp_path / "s") == before
