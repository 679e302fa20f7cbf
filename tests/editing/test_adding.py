"""An FMU becomes a component: its connectors, types, units and enumerations, its place and its file."""

import re

import pytest

import ssptool
from ssptool.documents.archive import Archive
from ssptool.editing.changes import EditError
from ssptool.errors import UnknownName, WrongUsage
from ssptool.fmu.description import UnreadableFmu
from tests.editing.small_systems import FMUS, SOURCE, changed_lines, errors, fmu, model, nested, refused, snapshot

ENUMERATION = (
    '<SimpleType name="Gear"><Enumeration><Item name="first" value="1"/><Item name="second" value="2"/>'
    "</Enumeration></SimpleType>"
)
FMI3 = """<fmiModelDescription fmiVersion="3.0" modelName="M" instantiationToken="t">
<CoSimulation modelIdentifier="M"/>
<ModelVariables>
<Float64 name="time" valueReference="0" causality="independent" variability="continuous"/>
<Float32 name="f" valueReference="1" causality="input" start="0"/>
<UInt16 name="n" valueReference="2" causality="output" variability="discrete"/>
<Float64 name="v" valueReference="3" causality="output"><Dimension start="2"/><Dimension start="3"/></Float64>
<Binary name="b" valueReference="4" causality="input" variability="discrete"><Start value="00"/></Binary>
<UInt64 name="size" valueReference="5" causality="structuralParameter" variability="fixed" start="3"/>
</ModelVariables><ModelStructure/></fmiModelDescription>"""


def connectors(path, element, variant=None):
    """Name → (kind, type, unit) of the connectors of an element."""
    with Archive.open(path) as archive:
        system = archive.structure(variant).structure.system
        found = next(each for each in system.elements if each.name == element)
        return {each.name: (str(each.kind), each.type_name, each.unit) for each in found.connectors}


@pytest.mark.parametrize("name", ["made", "made.ssp", "made.ssd"])
def test_a_new_system_with_two_fmus_is_valid_in_every_form(tmp_path, name):
    with ssptool.new(tmp_path / name) as system:
        system.add(FMUS / "System1.fmu", FMUS / "System2.fmu")
    assert errors(tmp_path / name) == []
    assert connectors(tmp_path / name, "System1") == {
        "F": ("input", "Real", "N"),
        "x1": ("output", "Real", "m"),
        "v1": ("output", "Real", "m/s"),
        "a1": ("output", "Real", "m/s2"),
    }
    assert [component.name for component in ssptool.info(tmp_path / name).components] == ["System1", "System2"]


def test_a_new_system_is_ssp_1_and_states_what_each_component_is(tmp_path):
    with ssptool.new(tmp_path / "made") as system:
        system.add(FMUS / "System1.fmu", parameters=True)
        component = system.system.elements[0]
        assert system.document.version == "1.0"
        assert component.attrib["type"] == "application/x-fmu-sharedlibrary"
        assert component.attrib["implementation"] == "CoSimulation"
    assert connectors(tmp_path / "made", "System1")["F"] == ("input", "Real", "N")
    assert errors(tmp_path / "made") == []


@pytest.mark.parametrize(
    ("interface", "implementation"), [("ModelExchange", "ModelExchange"), ("ScheduledExecution", "ScheduledExecution")]
)
def test_the_interface_type_that_an_fmu_offers_is_stated(tmp_path, interface, implementation):
    with ssptool.new(tmp_path / "made") as system:
        system.add(fmu(tmp_path, "M", FMI3.replace("CoSimulation", interface)))
        assert system.system.elements[0].attrib["implementation"] == implementation


def test_a_system_becomes_ssp_2_with_the_first_fmu_of_fmi_3_and_says_so(tmp_path):
    with ssptool.new(tmp_path / "made") as system:
        system.add(FMUS / "System1.fmu").add(fmu(tmp_path, "M", FMI3))
        assert system.document.version == "2.0"
        said = "converted SystemStructure.ssd to SSP 2.0: the FMU of M is of FMI 3.0, which SSP 1.0 does not have"
        assert said in system.notes
    assert errors(tmp_path / "made") == []
    assert connectors(tmp_path / "made", "System1")["F"] == ("input", "Real", "N")
    assert connectors(tmp_path / "made", "M")["f"] == ("input", "Float32", None)


@pytest.mark.parametrize(
    ("connector", "version", "type_name"),
    [
        ({"kind": "input", "type": "Float64"}, "1.0", "Real"),
        ({"kind": "output", "type": "Int32"}, "1.0", "Integer"),
        ({"kind": "input", "type": "Float32"}, "2.0", "Float32"),
        ({"kind": "structuralParameter", "type": "UInt64"}, "2.0", "UInt64"),
    ],
)
def test_a_connector_makes_a_system_ssp_2_only_if_it_needs_that(tmp_path, connector, version, type_name):
    with ssptool.new(tmp_path / "made") as system:
        system.add_connector("c", **connector)
        assert system.document.version == version
        assert system.system.connectors[0].type_name == type_name
    assert errors(tmp_path / "made") == []


def test_parameters_become_connectors_if_asked_for(tmp_path):
    with ssptool.new(tmp_path / "made") as system:
        system.add(FMUS / "System1.fmu", parameters=True)
    found = connectors(tmp_path / "made", "System1")
    assert found["k1"] == ("parameter", "Real", "N/m")
    assert "time" not in found and "der(x1)" not in found


def test_the_types_and_dimensions_of_fmi_3_are_kept(tmp_path):
    with ssptool.new(tmp_path / "made") as system:
        system.add(fmu(tmp_path, "M", FMI3), parameters=True)
        made = system.system.elements[0]
        sizes = [dimension.size for each in made.connectors if each.name == "v" for dimension in each.dimensions]
    assert connectors(tmp_path / "made", "M") == {
        "f": ("input", "Float32", None),
        "n": ("output", "UInt16", None),
        "v": ("output", "Float64", None),
        "b": ("input", "Binary", None),
        "size": ("structuralParameter", "UInt64", None),
    }
    assert sizes == [2, 3]
    assert errors(tmp_path / "made") == []


def test_clocks_sizes_and_media_types_of_fmi_3_are_kept(tmp_path):
    variables = """<Clock name="c" valueReference="6" causality="input" variability="discrete"
      intervalVariability="constant" intervalDecimal="0.1" priority="2"/>
    <Float64 name="sampled" valueReference="7" causality="input" variability="discrete" clocks="6" start="0"/>
    <Binary name="img" valueReference="8" causality="output" variability="discrete" mimeType="image/png"/>
    <Float64 name="open" valueReference="9" causality="output"><Dimension valueReference="5"/></Float64>
    </ModelVariables>"""
    path = fmu(tmp_path, "M", FMI3.replace("</ModelVariables>", variables))
    with ssptool.new(tmp_path / "made") as system:
        system.add(path, parameters=True)
        found = {each.name: each for each in system.system.elements[0].connectors}
    assert dict(found["c"].type.attrib) == {
        "intervalVariability": "constant",
        "intervalDecimal": "0.1",
        "priority": "2",
    }
    assert [clock.name for clock in found["sampled"].clocks] == ["c"]
    assert found["img"].type.mime_type == "image/png"
    assert [(each.size, each.size_connector) for each in found["open"].dimensions] == [(None, "size")]
    assert errors(tmp_path / "made") == []


def test_units_without_a_base_unit_are_left_out(tmp_path):
    description = model('input u Real unit="odd" start="0"; output y Real unit="m"').replace(
        "<UnitDefinitions>", '<UnitDefinitions><Unit name="odd"/>'
    )
    with ssptool.new(tmp_path / "made") as system:
        system.add(fmu(tmp_path, "M", description))
    assert connectors(tmp_path / "made", "M") == {"u": ("input", "Real", None), "y": ("output", "Real", "m")}


def test_a_unit_of_the_same_name_and_another_meaning_gets_a_number(tmp_path):
    other = model('input u Real unit="m" start="0"').replace(
        '<Unit name="m"><BaseUnit m="1"/>', '<Unit name="m"><BaseUnit s="60"/>'
    )
    with ssptool.new(tmp_path / "made") as system:
        system.add(fmu(tmp_path, "A", model('output y Real unit="m"')), fmu(tmp_path, "B", other))
    assert connectors(tmp_path / "made", "B") == {"u": ("input", "Real", "m_2")}


def test_enumerations_come_from_the_type_definitions(tmp_path):
    description = model('output gear Enumeration declaredType="Gear"', types=ENUMERATION)
    with ssptool.new(tmp_path / "made") as system:
        system.add(fmu(tmp_path, "M", description))
        enumerations = {
            each.name: {item.name: item.value for item in each.items} for each in system.document.structure.enumerations
        }
    assert enumerations == {"Gear": {"first": 1, "second": 2}}
    assert errors(tmp_path / "made") == []


def test_only_the_lines_of_the_component_and_its_new_units_are_added(dual_mass):
    with ssptool.edit(dual_mass, save=False) as system:
        system.add(FMUS / "System1.fmu", name="Third")
        lines = changed_lines(system)
    removed = [line for line in lines if line.startswith("-")]
    assert [line.strip("- ") for line in removed] == ['<ssd:SystemGeometry x1="0" y1="0" x2="140" y2="60"/>']
    assert [line.strip("+ ") for line in lines if "SystemGeometry" in line][1:] == [
        '<ssd:SystemGeometry x1="0" y1="0" x2="220" y2="60"/>'
    ]
    assert not any("<ssc:Unit " in line for line in lines), "all units are defined already"


def test_removing_what_was_added_gives_back_the_bytes(dual_mass):
    before = snapshot(dual_mass)
    other = fmu(dual_mass.parent, "Other", model('input u Real unit="K" start="0"; output y Real unit="degC"'))
    with ssptool.edit(dual_mass) as system:
        system.add(other)
    assert snapshot(dual_mass) != before
    with ssptool.edit(dual_mass) as system:
        system.remove("Other", with_resource=True)
    assert snapshot(dual_mass) == before


def test_elements_of_a_new_system_are_laid_out_by_their_connections(tmp_path):
    """With the source first, although it was added last."""
    with ssptool.new(tmp_path / "made") as system:
        system.add(FMUS / "System2.fmu", name="Last").add(FMUS / "System1.fmu", name="First")
        system.connect("First.x1", "Last.x1")
        assert [each.geometry for each in system.system.elements] == [None, None]
    drawing = ssptool.draw(tmp_path / "made").svg
    left = {name: float(re.search(rf'<text [^>]*x="([\d.]+)"[^>]*>{name}<', drawing)[1]) for name in ("First", "Last")}
    assert left["First"] < left["Last"]
    assert drawing.count(">x1<") == 2


def test_elements_beside_one_with_a_place_get_boxes_that_do_not_overlap(tmp_path):
    with ssptool.new(tmp_path / "made") as system:
        for number in range(20):
            system.add(FMUS / f"System{number % 2 + 1}.fmu", name=f"S{number}")
            if number == 0:
                system.place("S0", 10, 10)
        boxes = [each.geometry for each in system.system.elements]
    for number, one in enumerate(boxes):
        for other in boxes[:number]:
            assert one.x2 <= other.x1 or other.x2 <= one.x1 or one.y2 <= other.y1 or other.y2 <= one.y1


def test_one_file_is_stored_once_and_another_of_its_name_beside_it(tmp_path):
    twin = fmu(tmp_path / "elsewhere", "System1", model("output y Real"))
    with ssptool.new(tmp_path / "made") as system:
        system.add(FMUS / "System1.fmu", name="A").add(FMUS / "System1.fmu", name="B").add(twin, name="C")
    assert sorted(snapshot(tmp_path / "made")) == [
        "SystemStructure.ssd",
        "resources/System1.fmu",
        "resources/System1_2.fmu",
    ]


def test_an_entry_of_the_archive_can_be_added_again(dual_mass):
    with ssptool.edit(dual_mass) as system:
        system.add("System1.fmu", name="Again").add(dual_mass / "resources" / "System2.fmu", name="Again2")
    assert errors(dual_mass) == []
    assert len(snapshot(dual_mass)) == 4


def test_a_name_that_is_no_uri_is_escaped(tmp_path):
    path = fmu(tmp_path, "ä b#c", model("output y Real"))
    with ssptool.new(tmp_path / "made.ssp") as system:
        system.add(path)
    assert errors(tmp_path / "made.ssp") == []
    assert ssptool.info(tmp_path / "made.ssp").components[0].name == "ä b#c"


def test_a_taken_name_is_refused_with_advice(dual_mass):
    with refused(dual_mass, "already an element 'System1' in the system: choose another with --name") as system:
        system.add(FMUS / "System1.fmu", name="System1")


def test_a_second_fmu_of_one_name_gets_the_next_number(dual_mass):
    with ssptool.edit(dual_mass) as system:
        system.add(FMUS / "System1.fmu", FMUS / "System1.fmu")
    assert [one.name for one in ssptool.info(dual_mass).components] == ["System1", "System2", "System3", "System4"]


def test_a_file_that_is_no_fmu_is_refused(dual_mass):
    path = dual_mass.parent / "text.fmu"
    path.write_text("not a zip")
    with refused(dual_mass, "text.fmu", UnreadableFmu) as system:
        system.add(path)
    with refused(dual_mass, "Missing.fmu", FileNotFoundError) as system:
        system.add("Missing.fmu")


def test_a_component_can_go_into_a_system_inside(tmp_path):
    path = nested(tmp_path / "s")
    with ssptool.edit(path) as system:
        system.add("Source.fmu", into="Sub", name="C").connect("Sub.C.y", "Sub.y")
    assert errors(path) == []
    with refused(path, "mean Sub", UnknownName) as system:
        system.add("Source.fmu", into="Subb")


def test_systems_and_their_connectors_can_be_made_and_wired_through(tmp_path):
    path = nested(tmp_path / "s")
    with ssptool.edit(path) as system:
        system.add_system("Outer").add_connector("in", "input", of="Outer", unit="m")
        system.add("Sink.fmu", into="Outer", name="S")
        system.connect("Outer.in", "Outer.S.u").connect("A.y", "Outer.in")
    assert errors(path) == []
    wires = {f"{wire.source} {wire.destination}" for wire in ssptool.flatten(path).wires}
    assert "A.y Outer.S.u" in wires


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("u", "input"), "already has a connector 'u'"),
        (("w", "inputt"), "did you mean input"),
        (("w", "input", "Sub", "Reall"), "did you mean Real"),
        (("w", "input", "Sub", "Boolean", "m"), "has no unit"),
        (("w", "input", "Sub", "Real", "furlong"), "no unit 'furlong'"),
    ],
)
def test_connectors_that_cannot_be_are_explained(tmp_path, arguments, hint):
    name, kind, *rest = arguments
    of, *more = rest or ["Sub"]
    with refused(nested(tmp_path / "s"), hint) as system:
        system.add_connector(name, kind, of, *more)


def test_a_new_system_does_not_take_the_place_of_anything(dual_mass):
    before = snapshot(dual_mass)
    with pytest.raises(FileExistsError, match="exists"), ssptool.new(dual_mass):
        pass
    assert snapshot(dual_mass) == before


@pytest.mark.parametrize(("options", "hint"), [({"ssp": "3.0"}, "no SSP 3.0"), ({"stop_time": -1.0}, "stop time -1")])
def test_a_new_system_that_cannot_be_is_explained(tmp_path, options, hint):
    with pytest.raises(EditError, match=hint), ssptool.new(tmp_path / "made", **options):
        pass
    assert not (tmp_path / "made").exists()


def test_a_csv_file_becomes_a_table_with_an_output_for_each_column(tmp_path):
    table = tmp_path / "push.csv"
    table.write_text("time,F [N],on,word,n\n0,0,true,a,1\n1,2.5,false,b,2\n")
    with ssptool.new(tmp_path / "made") as system:
        system.add(table, FMUS / "System2.fmu", FMUS / "System1.fmu")
        assert system.document.version == "1.0"
        assert system.system.elements[0].attrib["type"] == "text/csv"
        system.connect("push.F", "System1.F")
    assert connectors(tmp_path / "made", "push") == {
        "F": ("output", "Real", "N"),
        "on": ("output", "Boolean", None),
        "word": ("output", "String", None),
        "n": ("output", "Real", None),
    }
    assert errors(tmp_path / "made") == []
    assert (tmp_path / "made" / "resources" / "push.csv").read_bytes() == table.read_bytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t,F\n0,0\n", "the first column must be time"),
        ("time,F [wat]\n0,0\n", "wat"),
        ("time\n0\n", "no column besides"),
    ],
)
def test_a_file_that_is_no_table_is_refused_and_nothing_is_changed(tmp_path, text, message):
    (tmp_path / "push.csv").write_text(text)
    with ssptool.new(tmp_path / "made") as system, pytest.raises(WrongUsage, match=message):
        system.add(tmp_path / "push.csv")
    assert [one.name for one in ssptool.info(tmp_path / "made").components] == []


ON_ONE_LINE = {
    "an FMU": lambda made: made.add("System1.fmu", name="Third"),
    "a connector": lambda made: made.add_connector("u", "input", type="Real", unit="mm"),
    "an inline set": lambda made: made.bind(FMUS / "heavy_flange.ssv", to="System1", inline=True),
    "a new inline set": lambda made: made.unbind("dual_mass_oscillator.ssv").set("System1.m1", 4),
    "a transformation": lambda made: made.connect("System1.x1", "System2.x1", factor=2),
    "a dictionary": lambda made: made.add_dictionary("bus").add_signal("bus", "x", type="Real", unit="m"),
    "a mapping": lambda made: made.map("System1.m1", "System2.m2"),
}


@pytest.mark.parametrize("edit", ON_ONE_LINE.values(), ids=ON_ONE_LINE)
def test_what_is_new_in_a_document_on_one_line_stands_on_it(dual_mass, edit):
    path = dual_mass / "SystemStructure.ssd"
    before = re.sub(r"\s*\n\s*", " ", re.sub(r">\s+<", "><", path.read_text()))
    path.write_text(before)
    with ssptool.edit(dual_mass, force=True) as made:
        edit(made)
    after = path.read_text()
    assert len(after) > len(before) and "\n" not in after and not re.search(r">\s+<", after)


def test_fmus_of_one_name_that_are_added_together_get_numbers(tmp_path):
    files = [fmu(tmp_path / each, each[:1], SOURCE) for each in ("A", "B", "A3", "A1", "B2")]
    taken = fmu(tmp_path, "A2", SOURCE)
    with ssptool.new(tmp_path / "s", *files, taken) as made:
        assert [each.name for each in made.system.elements] == ["A", "B", "A3", "A4", "B2", "A2"]
        assert made.notes[2].startswith("added A3 to the system")
    assert errors(tmp_path / "s") == []
    with ssptool.edit(tmp_path / "s") as made:
        made.add(files[0], files[0])
        assert [each.name for each in made.system.elements][-2:] == ["A5", "A6"]


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        ("SystemStructure.ssd", r"make a package of it with `ssptool pack .*inner`, and add inner\.ssp"),
        ("modelDescription.xml", r"pack the unpacked FMU as a zip file inner\.fmu, and add that"),
        ("OspSystemStructure.xml", "name a file in it"),
        ("A.fmu", r"name the FMUs in it: .*inner/\*\.fmu"),
    ],
)
def test_a_folder_is_not_said_to_be_missing(tmp_path, dual_mass, content, advice):
    folder = tmp_path / "inner"
    folder.mkdir()
    (folder / content).touch()
    before = snapshot(dual_mass)
    with pytest.raises(EditError, match=f"inner is a folder: {advice}"), ssptool.edit(dual_mass) as made:
        made.add(folder)
    assert snapshot(dual_mass) == before
