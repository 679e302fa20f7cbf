"""Whatever addresses an element or a connector follows its new name, and the values stay what they were."""

import pytest

import ssptool
from tests.editing.small_systems import SOURCE, changed_lines, errors, model, nested, refused, snapshot, ssd
from tests.editing.test_setting import PLANT, value_of
from tests.network.packages import bindings, component, content, mapped, package, ssm, ssv, system


def meaning(path, variant=None):
    """The wires and values of a system."""
    network = ssptool.flatten(path, variant=variant)
    wires = {f"{wire.source} → {wire.destination}" for wire in network.wires}
    return wires | {f"{signal} = {each.value}" for signal, each in network.assignments.items()}


def renamed(texts, old, new):
    return {text.replace(old, new) for text in texts}


def test_connections_and_parameters_follow_an_element(dual_mass):
    before = meaning(dual_mass)
    with ssptool.edit(dual_mass) as made:
        made.rename("System1", "Mass")
        lines = changed_lines(made)
        assert made.notes == ("renamed System1 to Mass", "4 parameter names follow")
    assert len(lines) == 2 * (1 + 4 + 4), "one element, four connections, four parameters"
    assert all("System1" in line for line in lines if line[0] == "-" and "source=" not in line)
    assert meaning(dual_mass) == renamed(before, "System1.", "Mass.")
    assert errors(dual_mass) == []


def test_renaming_back_gives_back_the_bytes(dual_mass):
    before = snapshot(dual_mass)
    for names in (("System1", "Mass.1"), ("Mass.1", "System1")):
        with ssptool.edit(dual_mass) as made:
            made.rename(*names)
    assert snapshot(dual_mass) == before


def test_a_set_that_other_variants_use_stays_and_is_mapped(variants):
    before, other = meaning(variants), meaning(variants, "FMI3.ssd")
    with ssptool.edit(variants) as made:
        made.rename("System1", "Mass")
        assert [edit.name for edit in made.archive.edits()] == ["SystemStructure.ssd"]
    assert meaning(variants) == renamed(before, "System1.", "Mass.")
    assert meaning(variants, "FMI3.ssd") == other
    assert errors(variants) == []


def values(tmp_path, bound, files=None):
    """`P`, and `P` in `Sub`, with bindings of the root system."""
    sub = system("Sub", "", [component("P", "Plant")], [])
    package(tmp_path, ssd(content("", [component("P", "Plant"), sub], [], bound)), {"Plant": PLANT}, files)
    return tmp_path


PARAMETERS = ssv("P.k Real value='2' unit='m'", "Sub.P.k Real value='3' unit='m'", "Sub.P.n Integer value='4'")


@pytest.mark.parametrize(
    "bound",
    [
        bindings(PARAMETERS),
        mapped(
            ssv("a Real value='2'", "b Real value='3'", "c Integer value='4'"),
            ssm("source='a' target='P.k'", "source='b' target='Sub.P.k'", "source='c' target='Sub.P.n'"),
        ),
        bindings(ssv("P.k Real value='2'"))[: -len("</ssd:ParameterBindings>")]
        + "<ssd:ParameterBinding prefix='Sub.'><ssd:ParameterValues>"
        + ssv("P.k Real value='3'", "P.n Integer value='4'")
        + "</ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings>",
        bindings(ssv("P.k Real value='2'"))[: -len("</ssd:ParameterBindings>")]
        + "<ssd:ParameterBinding prefix='Sub.P.'><ssd:ParameterValues>"
        + ssv("k Real value='3'", "n Integer value='4'")
        + "</ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings>",
    ],
    ids=["plain", "mapped", "prefix before the name", "prefix with the name"],
)
@pytest.mark.parametrize(("old", "new"), [("Sub.P", "Q"), ("Sub", "Other"), ("P", "Q")])
def test_names_in_sets_prefixes_and_mappings_follow(tmp_path, bound, old, new):
    path = values(tmp_path, bound)
    with ssptool.edit(path) as made:
        made.rename(old, new)
    first, second = {"Sub.P": ("P", "Sub.Q"), "Sub": ("P", "Other.P"), "P": ("Q", "Sub.P")}[old]
    assert [value_of(path, f"{first}.k"), value_of(path, f"{second}.k"), value_of(path, f"{second}.n")] == [2.0, 3.0, 4]
    assert errors(path) == []


def test_an_external_mapping_follows(tmp_path):
    files = {"resources/v.ssv": ssv("a Real value='2'"), "resources/m.ssm": ssm("source='a' target='Sub.P.k'")}
    bound = (
        "<ssd:ParameterBindings><ssd:ParameterBinding source='resources/v.ssv'>"
        "<ssd:ParameterMapping source='resources/m.ssm'/></ssd:ParameterBinding></ssd:ParameterBindings>"
    )
    path = values(tmp_path, bound, files)
    with ssptool.edit(path) as made:
        made.rename("Sub.P", "Q")
        assert len([line for line in changed_lines(made) if "MappingEntry" in line]) == 2
    assert value_of(path, "Sub.Q.k") == 2.0


def test_an_external_mapping_of_several_structures_is_not_changed_for_one(tmp_path):
    files = {"resources/v.ssv": ssv("a Real value='2'"), "resources/m.ssm": ssm("source='a' target='Sub.P.k'")}
    bound = (
        "<ssd:ParameterBindings><ssd:ParameterBinding source='resources/v.ssv'>"
        "<ssd:ParameterMapping source='resources/m.ssm'/></ssd:ParameterBinding></ssd:ParameterBindings>"
    )
    path = values(tmp_path, bound, files)
    (path / "Other.ssd").write_text((path / "SystemStructure.ssd").read_text().replace('name="test"', 'name="other"'))
    with refused(path, "the mapping resources/m.ssm maps the name that changes, and Other.ssd uses it as well") as made:
        made.rename("Sub.P", "Q")


def test_a_prefix_that_cuts_the_name_is_refused(tmp_path):
    bound = (
        "<ssd:ParameterBindings><ssd:ParameterBinding prefix='Su'><ssd:ParameterValues>"
        + ssv("b.P.k Real value='3'")
        + "</ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings>"
    )
    path = values(tmp_path, bound)
    with ssptool.edit(path) as made:
        made.rename("Sub", "Such")
    assert value_of(path, "Such.P.k") == 3.0
    with refused(path, "the prefix 'Su' of the binding of the inline set of the system ends inside the name") as made:
        made.rename("Such", "Other")


def test_a_name_that_addresses_two_variables_cannot_follow_one_of_them(tmp_path):
    elements = [component("A", "Dotted"), component("A.B", "Plain")]
    bound = bindings(ssv("A.B.y Real value='1'"))
    dotted, plain = (model(f"parameter {name} Real start='0'") for name in ("B.y", "y"))
    package(tmp_path, ssd(content("", elements, [], bound)), {"Dotted": dotted, "Plain": plain})
    with refused(tmp_path, "sets both A.B and something else of the same name") as made:
        made.rename("A.B", "C")


def test_connections_on_both_sides_follow_the_connector_of_a_system(tmp_path):
    path = nested(tmp_path)
    before = meaning(path)
    with ssptool.edit(path) as made:
        made.rename("Sub.u", "w")
        assert len(changed_lines(made)) >= 2
    assert meaning(path) == before
    assert errors(path) == []


def test_sizes_of_arrays_follow_the_connector_that_gives_them(tmp_path):
    text = ssd(
        "<ssd:Connectors>"
        '<ssd:Connector name="n" kind="structuralParameter"><ssc:UInt64/></ssd:Connector>'
        '<ssd:Connector name="u" kind="input"><ssc:Float64/><ssc:Dimension sizeConnector="n"/>'
        '<ssc:Dimension size="3"/></ssd:Connector>'
        "</ssd:Connectors>"
    )
    (tmp_path / "SystemStructure.ssd").write_text(text)
    with ssptool.edit(tmp_path) as made:
        made.rename("n", "rows")
    assert (tmp_path / "SystemStructure.ssd").read_text() == text.replace('"n"', '"rows"')
    assert errors(tmp_path) == []


def test_parameters_follow_the_connector_of_a_system(tmp_path):
    sub = system("Sub", "parameter q Real m", [component("P", "Plant", "parameter k Real m")], ["q -> P.k"])
    package(tmp_path, ssd(content("", [sub], [], bindings(ssv("Sub.q Real value='7' unit='m'")))), {"Plant": PLANT})
    with ssptool.edit(tmp_path) as made:
        made.rename("Sub.q", "length")
        assert "Sub.length" in made.diff()
    assert value_of(tmp_path, "Sub.P.k") == 7.0


def test_the_root_system_can_be_renamed(dual_mass):
    with ssptool.edit(dual_mass) as made:
        made.rename("", "Oscillator")
        assert len(changed_lines(made)) == 2


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        (("System1", "System2"), "already an element 'System2'"),
        (("System1", "System1"), "has that name already"),
        (("System1", ""), "needs a name"),
        (("System3", "System4"), "'System3'; did you mean"),
        (("System1.x1", "x2"), "and the FMU has no variable 'x2'"),
        (("System1.x1", "v1"), "already has a connector 'v1'"),
    ],
)
def test_names_that_cannot_be_are_explained(dual_mass, names, hint):
    with refused(dual_mass, hint) as made:
        made.rename(*names)


@pytest.mark.parametrize(("first", "second"), [("Fan", "Wheel"), ("Motor", "Load")])
def test_an_error_of_before_does_not_keep_an_element_from_a_new_name(tmp_path, first, second):
    """The message names the element, and the file that is missing has its old name."""
    root = content("", [component("Load", "Load", "input u Real"), component("Pump", "Source", "output y Real")], [])
    package(path := tmp_path / "k", ssd(root), {"Source": SOURCE})
    before = errors(path)
    assert len(before) == 1
    assert "there is no file 'resources/Load.fmu' (the source of component 'Load')" in before[0]
    with ssptool.edit(path) as made:
        made.rename("Load", first)
    with ssptool.edit(path) as made:
        made.rename("Pump", "T").rename(first, "U").rename("T", second).rename("U", "Z")
    assert len(errors(path)) == 1
    assert "there is no file 'resources/Load.fmu' (the source of component 'Z')" in errors(path)[0]


def test_an_error_that_the_new_name_brings_is_new(tmp_path):
    """An error elsewhere in the system is not taken for it."""
    root = content("", [component("Load", "Load", "input u Real"), component("Pump", "Source", "output y Real")], [])
    package(path := tmp_path / "k", ssd(root), {"Source": SOURCE})
    before = snapshot(path)
    with pytest.raises(ssptool.exceptions.BrokenEdit) as caught, ssptool.edit(path) as made:
        made.rename("Load", "Fan")
        made.system.elements[1].set("source", "resources/Pump.fmu")
    assert [one.code for one in caught.value.diagnostics] == ["URI-002"]
    assert snapshot(path) == before
