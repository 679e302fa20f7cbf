"""Signal dictionaries from nothing: made, filled, reached by connections, and taken away again."""

import pytest

import ssptool
from ssptool.errors import UnknownName
from tests.editing.small_systems import SINK, SOURCE, errors, fmu, refused, snapshot
from tests.network.test_signal_dictionaries import ssb


@pytest.fixture
def bus(tmp_path):
    """`Source` and, in the system `Sub`, `Sink`; a dictionary with one signal in mm, and a reference on each level."""
    with ssptool.new(tmp_path / "bus") as made:
        made.add(fmu(tmp_path, "Source", SOURCE)).add_system("Sub")
        made.add(fmu(tmp_path, "Sink", SINK), into="Sub")
        made.add_dictionary("bus").add_signal("bus", "x", unit="m")
        made.add_reference("Out", "bus").add_reference("In", "bus", into="Sub")
    return tmp_path / "bus"


def test_a_signal_goes_from_system_to_system_without_connectors_of_these(bus):
    with ssptool.edit(bus) as made:
        made.connect("Source.y", "Out.x").connect("Sub.In.x", "Sub.Sink.u")
        assert made.notes == (
            "added the connector x (inout) to Out",
            "connected Source.y → Out.x",
            "added the connector x (inout) to Sub.In",
            "connected Sub.In.x → Sub.Sink.u",
        )
    assert errors(bus) == []
    assert [(str(wire.source), str(wire.destination)) for wire in ssptool.flatten(bus).wires] == [
        ("Source.y", "Sub.Sink.u")
    ]


def test_everything_can_be_taken_away_again_and_leaves_the_bytes_as_they_were(tmp_path):
    with ssptool.new(tmp_path / "s") as made:
        made.add(fmu(tmp_path, "Source", SOURCE))
    before = snapshot(tmp_path / "s")
    with ssptool.edit(tmp_path / "s") as made:
        made.add_dictionary("bus").add_signal("bus", "x", unit="m").add_signal("bus", "on", type="Boolean")
        made.add_reference("Bus", "bus").connect("Source.y", "Bus.x")
    with ssptool.edit(tmp_path / "s") as made:
        made.remove("Bus").remove_dictionary("bus", signal="x").remove_dictionary("bus")
    assert snapshot(tmp_path / "s") == before


def test_a_dictionary_can_be_a_file(bus, tmp_path):
    (tmp_path / "more.ssb").write_text(ssb("speed Real mm"))
    with ssptool.edit(bus) as made:
        made.add_dictionary("more", file=tmp_path / "more.ssb").add_reference("More", "more")
        made.connect("Source.y", "More.speed").add_signal("more", "flag", type="Boolean")
    assert 'name="flag"' in (bus / "resources" / "more.ssb").read_text()
    assert errors(bus) == []


def test_two_dictionaries_of_one_name_are_told_apart_by_where_they_are_seen_from(bus):
    """Of a dictionary of `Sub` and one of the root system with the same name, `Sub` sees its own (SSP 2.0 §5.3.3)."""
    with ssptool.edit(bus) as made:
        made.add_dictionary("bus", into="Sub").add_signal("bus", "inner", of="Sub", type="Boolean")
    outer, inner = signals_of_both(bus)
    assert (outer, inner) == (["x"], ["inner"])


def signals_of_both(path):
    with ssptool.edit(path, save=False) as made:
        root = made.system
        systems = (root, next(each for each in root.elements if each.name == "Sub"))
        return [[entry.name for entry in system.signal_dictionaries[0].inline.entries] for system in systems]


@pytest.mark.parametrize(
    ("edit", "hint"),
    [
        (lambda made: made.add_dictionary("bus"), "already has a signal dictionary 'bus'"),
        (lambda made: made.add_dictionary(""), "needs a name"),
        (lambda made: made.add_signal("bus", "x"), "already has a signal 'x'"),
        (lambda made: made.add_signal("bus", " "), "needs a name"),
        (lambda made: made.add_signal("bus", "y", type="Float"), "'Float' is not a type of SSP; did you mean Float"),
        (lambda made: made.add_signal("bus", "y", type="Boolean", unit="m"), "of type Boolean has no unit"),
        (lambda made: made.add_signal("bus", "y", unit="furlong"), "there is no unit 'furlong'"),
        (lambda made: made.add_signal("bsu", "y"), "signal dictionary 'bsu'"),
        (lambda made: made.add_reference("R", "bsu"), "did you mean bus?"),
        (lambda made: made.add_reference("Source", "bus"), "already an element 'Source'"),
        (lambda made: made.connect("Source.y", "Out.z"), "Out reaches no signal 'z'"),
        (lambda made: made.connect("Source.flag", "Out.x"), "Source.flag is Boolean, Out.x Float64"),
        (lambda made: made.remove_dictionary("bus"), "is used by Sub.In, Out: remove that first"),
        (lambda made: made.remove_dictionary("bus", signal="q"), "has no signal 'q'; there are x"),
        (lambda made: made.remove_dictionary("bus", of="Sub"), "Sub has no signal dictionary 'bus'"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(bus, edit, hint):
    with refused(bus, hint) as made:
        edit(made)


def test_a_signal_that_a_connector_reaches_stays(bus):
    with ssptool.edit(bus) as made:
        made.connect("Source.y", "Out.x")
    with refused(bus, "the signal x is used by the connector Out.x: remove that first") as made:
        made.remove_dictionary("bus", signal="x")


def test_a_refused_connection_leaves_no_connector_behind(bus):
    with ssptool.edit(bus, save=False) as made:
        before = made.diff()
        with pytest.raises(Exception, match="is Boolean"):
            made.connect("Source.flag", "Out.x")
        assert made.diff() == before


def test_a_file_that_is_no_dictionary_is_refused(bus, tmp_path):
    (tmp_path / "no.ssb").write_text("<no/>")
    with refused(bus, "XML-003", Exception) as made:
        made.add_dictionary("more", file=tmp_path / "no.ssb")
    with refused(bus, "nowhere.ssb does not exist", FileNotFoundError) as made:
        made.add_dictionary("more", file="nowhere.ssb")


def test_a_signal_of_a_type_of_2_0_makes_a_system_of_1_0_one_of_2_0(tmp_path):
    with ssptool.new(tmp_path / "old") as made:
        made.add_dictionary("bus").add_signal("bus", "x").add_signal("bus", "y", type="Float64")
        assert made.document.version == "1.0"
    assert (tmp_path / "old" / "SystemStructure.ssd").read_text().count("<ssc:Real/>") == 2
    with ssptool.edit(tmp_path / "old") as made:
        made.add_signal("bus", "z", type="Float32")
        assert made.document.version == "2.0"
    assert errors(tmp_path / "old") == []


def test_unknown_names_are_errors_of_their_own_kind(bus):
    with refused(bus, "bsu", UnknownName) as made:
        made.add_signal("bsu", "y")
