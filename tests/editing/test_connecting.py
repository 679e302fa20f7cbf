"""Connections: the table decides the direction, one source per destination, and undoing gives back the bytes."""

import pytest

import ssptool
from ssptool.documents.ssd import ConnectorKind as Kind
from ssptool.errors import AmbiguousName, WrongUsage
from ssptool.network.legality import LEGAL, Owner
from tests.editing.small_systems import (
    FMUS,
    SINK,
    SOURCE,
    changed_lines,
    errors,
    fmu,
    model,
    nested,
    refused,
    snapshot,
    ssd,
)
from tests.network.packages import component, content, package, system


@pytest.fixture
def pair(tmp_path):
    """`Source` and `Sink`, not connected."""
    with ssptool.new(tmp_path / "pair") as made:
        made.add(fmu(tmp_path, "Source", SOURCE), fmu(tmp_path, "Sink", SINK))
    return tmp_path / "pair"


def test_one_connection_adds_one_line(pair):
    with ssptool.edit(pair) as made:
        made.connect("Source.y", "Sink.u")
    with ssptool.edit(pair, save=False) as made:
        made.connect("Source.n", "Sink.i")
        assert changed_lines(made) == [
            '+      <ssd:Connection startElement="Source" startConnector="n" endElement="Sink" endConnector="i"/>'
        ]


@pytest.mark.parametrize("names", [("Source.y", "Sink.u"), ("Sink.u", "Source.y")])
def test_the_kinds_decide_which_one_is_the_source(pair, names):
    with ssptool.edit(pair) as made:
        made.connect(*names)
        assert made.notes == ("connected Source.y → Sink.u",)
    assert [str(wire.source) for wire in ssptool.flatten(pair).wires] == ["Source.y"]


def test_two_elements_are_connected_by_names_and_types(tmp_path):
    with ssptool.new(tmp_path / "made") as made:
        made.add(FMUS / "System1.fmu", FMUS / "System2.fmu").connect("System1", "System2")
        assert sorted(note for note in made.notes if note.startswith("connected")) == [
            "connected System1.a1 → System2.a1",
            "connected System1.v1 → System2.v1",
            "connected System1.x1 → System2.x1",
            "connected System2.F → System1.F",
        ]
    assert errors(tmp_path / "made") == []


def test_what_does_not_fit_by_name_is_skipped_with_the_reason(tmp_path):
    one = fmu(tmp_path, "One", model("output a Real; output b Real; output c Real; output d Real"))
    other = fmu(
        tmp_path,
        "Other",
        model('input a Real start="0"; input b Boolean start="0"; output c Real; input d Real start="0"'),
    )
    with ssptool.new(tmp_path / "made") as made:
        made.add(one, other).connect("One.a", "Other.d").connect("One", "Other")
        skipped = [note for note in made.notes if note.startswith("skipped")]
    assert len(skipped) == 3
    assert "One.b is Float64, Other.b Boolean" in skipped[0]
    assert "One.c is an output, Other.c an output" in skipped[1]
    assert "Other.d already has a source, One.a" in skipped[2]


def test_elements_without_a_common_name_are_refused_with_both_lists(pair):
    with refused(
        pair,
        "no connectors with equal names (Source: y, n, flag; Sink: u, i, force); name two connectors: Source.y Sink.u",
    ) as made:
        made.connect("Source", "Sink")


@pytest.mark.parametrize("names", [("Source.y", "Sink.u"), ("Sink.u", "Source.y"), ("Source", "Sink")])
def test_disconnecting_gives_back_the_bytes(pair, names):
    before = snapshot(pair)
    with ssptool.edit(pair) as made:
        made.connect("Source.y", "Sink.u")
    assert snapshot(pair) != before
    with ssptool.edit(pair) as made:
        made.disconnect(*names)
        assert made.notes == ("disconnected Source.y and Sink.u",)
    assert snapshot(pair) == before


def test_connecting_gives_back_the_bytes_after_disconnecting_the_last(dual_mass):
    before = snapshot(dual_mass)
    with ssptool.edit(dual_mass) as made:
        made.disconnect("System2.F", "System1.F")
    with ssptool.edit(dual_mass) as made:
        made.connect("System1.F", "System2.F")
    assert snapshot(dual_mass) == before


REFUSED = [
    (("Source.y", "Source.n"), "Source.y is an output, Source.n an output: only one can be the source"),
    (("Sink.u", "Sink.i"), "one of them has to be a source"),
    (("Source.flag", "Sink.u"), "Source.flag is Boolean, Sink.u Float64"),
    (("Source.y", "Sink.i"), "Source.y is Float64, Sink.i Int32: conversion may lose information"),
    (("Source.y", "Sink.force"), "Source.y is in m, Sink.force in N (kg·m·s^-2): these units do not convert"),
    (("Source.z", "Sink.u"), "Source has no connector 'z'; there are y, n, flag"),
    (("Sorce.y", "Sink.u"), "'Sorce.y'; did you mean Source.y"),
    (("Source", "Sink.u"), "Source is an element, Sink.u is a connector"),
    (("Source", "Source"), "cannot be matched with itself"),
]


@pytest.mark.parametrize(("names", "hint"), REFUSED)
def test_what_cannot_be_connected_is_explained_and_changes_nothing(pair, names, hint):
    with refused(pair, hint) as made:
        made.connect(*names)


def test_a_second_source_for_an_input_is_refused(pair):
    with ssptool.edit(pair) as made:
        made.add("Source.fmu", name="Second").connect("Source.y", "Sink.u")
    with refused(pair, "Sink.u already has a source, Source.y; disconnect that first") as made:
        made.connect("Second.y", "Sink.u")
    with refused(pair, "connected already") as made:
        made.connect("Source.y", "Sink.u")


def test_a_connection_across_the_boundary_of_a_system_is_refused_with_advice(tmp_path):
    with refused(
        nested(tmp_path), "not in one system: a connection cannot cross the boundary of a system; give"
    ) as made:
        made.connect("A.y", "Sub.B.u")


def test_what_is_not_connected_cannot_be_disconnected(tmp_path):
    path = nested(tmp_path)
    with refused(path, "not connected; connected are A.y and Sub.u, Sub.u and Sub.B.u") as made:
        made.disconnect("Sub.u", "Sub.y")
    with refused(path, "A has no connector 'q'") as made:
        made.disconnect("A.q", "Sub.u")


def test_the_two_sides_of_a_system_are_told_apart_by_the_first_name(tmp_path):
    inner = system("Sub", "input u Real, output y Real", [], [])
    for names, owner in ((("Sub.u", "Sub.y"), "Sub"), (("Sub.y", "Sub.u"), "root")):
        folder = tmp_path / owner
        package(folder, ssd(content("", [inner], [])), {})
        with ssptool.edit(folder) as made:
            made.connect(*names)
            place = next(iter(made.document.root.iter("{*}Connection"))).getparent().getparent()
        assert place.get("name") == owner


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_every_pair_of_kinds_is_connected_exactly_if_the_table_has_it(tmp_path, version):
    """All ordered pairs of connectors of a system and of its elements, against the table of the standard."""
    since_2 = (Kind.STRUCTURAL_PARAMETER, Kind.CONSTANT, Kind.LOCAL, Kind.UNSPECIFIED)
    kinds = [kind for kind in Kind if kind is not Kind.UNSPECIFIED and (version == "2.0" or kind not in since_2)]
    own = ", ".join(f"{kind} {kind}" for kind in kinds)
    elements = [system(f"{side}_{kind}", f"{kind} {kind}", [], []) for side in "EF" for kind in kinds]
    package(tmp_path, ssd(content(own, elements, []), version), {})
    legal = {
        frozenset({(row.source_owner, row.source_kind), (row.destination_owner, row.destination_kind)})
        for row in LEGAL
        if row.since <= version
    }
    for a in kinds:
        for b in kinds:
            for owner, name in ((Owner.SYSTEM, str(a)), (Owner.ELEMENT, f"E_{a}.{a}")):
                with ssptool.edit(tmp_path, save=False, force=True) as made:
                    try:
                        made.connect(name, f"F_{b}.{b}")
                        connected = True
                    except WrongUsage:
                        connected = False
                assert connected == (frozenset({(owner, a), (Owner.ELEMENT, b)}) in legal), (owner, a, b)


def test_an_ambiguous_end_is_refused_with_its_readings(tmp_path):
    elements = [component("A", "Source", "output B.y Real"), component("A.B", "Source", "output y Real")]
    package(tmp_path, ssd(content("output y Real", elements, [])), {"Source": model("output y Real; output B.y Real")})
    with refused(tmp_path, "'B.y' of A or the connector 'y' of A.B", AmbiguousName) as made:
        made.connect("A.B.y", "y")
    with ssptool.edit(tmp_path) as made:
        made.connect(("A", "B.y"), "y")
        assert made.notes == ("connected A.B.y → y",)
