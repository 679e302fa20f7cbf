"""Elements are copied into other systems and mean there what they meant."""

import pytest

import ssptool
from ssptool.editing.changes import EditError
from ssptool.network.conversion import document_units
from tests.editing.small_systems import errors, refused, snapshot
from tests.network.packages import (
    bindings,
    component,
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

M = model(
    'parameter k Real start="1" unit="m"; input u Real start="0" unit="m"; '
    'output y Real unit="m"; parameter mode Enumeration declaredType="Mode" start="3"',
    types='<SimpleType name="Mode"><Enumeration><Item name="off" value="3"/><Item name="on" value="7"/></Enumeration>'
    "</SimpleType>",
)
INTERFACE = "input u Real m, output y Real m, parameter k Real m"
LINEAR = "||<ssc:LinearTransformation factor='3' offset='-2'/>"
VALUES = bindings(ssv("Sub.A.k Real value='5' unit='mm'", "Sub.B.k Real value='2' unit='m'"))
INSIDE = mapped(ssv("x Real value='4' unit='m'"), ssm("source='x' target='A.k'|<ssc:LinearTransformation factor='2'/>"))


def plant(folder, more: str = ""):
    """A and B in a system inside; the root system sets A.k to 5 mm, over 2 * 4 m of the system inside."""
    inner = [component("A", "m", INTERFACE, bindings(ssv("k Real value='9' unit='m'"))), component("B", "m", INTERFACE)]
    nested = system("Sub", "input i Real m", [*inner, more], ["i -> A.u", f"A.y -> B.u{LINEAR}"], INSIDE)
    package(folder, ssd(f"{VALUES}<ssd:Elements>{nested}</ssd:Elements>"), {"m": M})
    return folder


def other(folder, units: str = ""):
    """A system with an A of its own, and a file of the same name."""
    text = ssd(f"<ssd:Elements>{component('A', 'm', INTERFACE)}</ssd:Elements>")
    fmu = M.replace('modelName="M"', 'modelName="N"')
    package(folder, text.replace('<ssc:BaseUnit m="1"/>', units or '<ssc:BaseUnit m="1"/>'), {"m": fmu})
    return folder


def test_copies_have_their_values_files_and_connections(tmp_path):
    source, target = plant(tmp_path / "plant"), other(tmp_path / "other")
    before = snapshot(source)
    with ssptool.edit(target) as made:
        made.paste(source, "Sub.A", "Sub.B")
    assert errors(target) == []
    network = ssptool.flatten(target)
    assert values(network) == {"A2.k": 0.005, "B.k": 2.0}
    assert wires(network) == {"A2.y -> B.u": wires(ssptool.flatten(source))["Sub.A.y -> Sub.B.u"]}
    assert {one.source for one in network.components.values()} == {"resources/m.fmu", "resources/m_2.fmu"}
    assert (target / "resources" / "m_2.fmu").read_bytes() == (source / "resources" / "m.fmu").read_bytes()
    assert snapshot(source) == before


def test_a_copy_is_a_system_and_comes_back_the_same(tmp_path):
    source = plant(tmp_path / "plant")
    with ssptool.edit(source, save=False) as editor:
        editor.set("Sub.B.k", 2500, "mm")
        editor.copy(tmp_path / "part.ssp", "Sub.A", "Sub.B")
        with pytest.raises(FileExistsError):
            editor.copy(tmp_path / "part.ssp", "Sub.A")
    assert errors(tmp_path / "part.ssp") == []
    assert values(ssptool.flatten(tmp_path / "part.ssp")) == {"A.k": 0.005, "B.k": 2.5}, "with unsaved edits"
    with ssptool.edit(source) as editor:
        editor.paste(tmp_path / "part.ssp", into="Sub")
    network = ssptool.flatten(source)
    found = {name: one for name, one in values(network).items() if "2" in name}
    assert found == {"Sub.A2.k": 0.005, "Sub.B2.k": 2.5}
    assert len({one.source for one in network.components.values()}) == 1, "the same file is not copied again"


def test_a_unit_that_means_something_else_there_gets_another_name(tmp_path):
    source, target = plant(tmp_path / "plant"), other(tmp_path / "other", '<ssc:BaseUnit m="1" factor="0.01"/>')
    with ssptool.edit(target, force=True, save=False) as made:
        made.paste(source, "Sub.B")
        connector = made.system.elements[1].connectors[0]
        assert connector.type.get("unit") == "m_2"
        assert {name: one.factor for name, one in document_units(made.document.structure).items()}["m_2"] == 1.0


def test_elements_of_ssp_2_raise_the_version(tmp_path):
    source = plant(tmp_path / "plant")
    with ssptool.new(tmp_path / "new.ssp") as made:
        made.paste(source, "Sub")
        assert made.document.version == "2.0"
    assert values(ssptool.flatten(tmp_path / "new.ssp")) == values(ssptool.flatten(source))


def test_what_is_not_complete_is_refused(tmp_path):
    reference = (
        "<ssd:SignalDictionaryReference name='R' dictionary='D'><ssd:Connectors/></ssd:SignalDictionaryReference>"
    )
    source, target = plant(tmp_path / "plant", reference), other(tmp_path / "other")
    with refused(target, "signal dictionary 'D'") as made:
        made.paste(source, "Sub.R")
    document = source / "SystemStructure.ssd"
    text = document.read_text()
    document.write_text(text.replace("resources/m.fmu", "../m.fmu"))
    (tmp_path / "m.fmu").write_bytes((source / "resources" / "m.fmu").read_bytes())
    with refused(target, "../m.fmu, which is not a file of plant") as made:
        made.paste(source, "Sub.A")
    document.write_text(text)
    (source / "resources" / "m.fmu").unlink()
    with refused(target, "is not a file of plant") as made:
        made.paste(source, "Sub.A")
    with pytest.raises(EditError, match="one system"), ssptool.edit(target) as made:
        made.paste(source, "Sub", "Sub.B")
