"""What refers to something that a downgrade drops is dropped and named, in whatever document; all of it comes back."""

from pathlib import Path

import pytest

import ssptool
from ssptool.documents.archive import Archive
from ssptool.editing.changes import Loss, RefusedEdit
from tests.editing.small_systems import errors
from tests.network.packages import component, content, mapped, model, package, ssd, ssm, ssv, system
from tests.network.test_signal_dictionaries import dictionaries, reference, ssb

MODEL = model(
    'parameter k Real start="1"; parameter m Real start="1"; input u Real start="0"; output y Real; '
    'input i Integer start="0"; output n Integer'
)
LINKED = (
    '<ssd:ParameterBindings><ssd:ParameterBinding source="resources/v.ssv">'
    '<ssd:ParameterMapping source="resources/m.ssm"/></ssd:ParameterBinding></ssd:ParameterBindings>'
)
WIDE = ssv("big Int64 value='5000000000'", "k Real value='2'")
NAMES = ssm("source='big' target='A.m'", "source='k' target='A.k'")


def dropped(path: Path) -> list[str]:
    """What a downgrade with `drop` says it dropped; it is valid then, and an upgrade brings all of it back."""
    texts = contents(path)
    changes = ssptool.downgrade(path, drop=True).changes
    assert errors(path) == []
    ssptool.upgrade(path)
    assert {name: meaning(text) for name, text in contents(path).items()} == {
        name: meaning(text) for name, text in texts.items()
    }
    return [f"{each.position.file}: {each.message}" for each in changes if each.loss is Loss.DROPPED]


def all_dropped(path: Path) -> list[str]:
    """The same of a system that was not without errors before; nothing is written."""
    changes = ssptool.downgrade(path, drop=True, force=True, save=False).changes
    return [f"{each.position.file}: {each.message}" for each in changes if each.loss is Loss.DROPPED]


def contents(path: Path) -> dict[str, bytes]:
    with Archive.open(path) as archive:
        return {name: archive.read(name) for name in archive.names() if not name.endswith(".fmu")}


def meaning(text: bytes) -> bytes:
    """Without what a removal and its return leave to taste: spaces between and in tags, and quotes."""
    return (
        b"".join(text.replace(b"'", b'"').split())
        .replace(b"></ssd:Connection>", b"/>")
        .replace(b"></ssm:MappingEntry>", b"/>")
        .replace(b'type="application/x-fmu-sharedlibrary"', b"")  # defaults, which a downgrade states
        .replace(b'implementation="any"', b"")
    )


@pytest.fixture
def made(tmp_path):
    def make(root: str, **files: str) -> Path:
        named = {f"resources/{name.replace('_', '.')}": text for name, text in files.items()}
        text = ssd(root).replace("<ssd:Connections>\n</ssd:Connections>", "")
        return package(tmp_path / "s", text, {"A": MODEL}, named).path

    return make


def test_the_entry_of_a_mapping_in_a_file_goes_with_its_parameter_in_another_file(made):
    root = content("", [component("A", "A", "output y Real")], [], LINKED)
    path = made(root, v_ssv=WIDE, m_ssm=NAMES)
    assert dropped(path) == [
        "resources/m.ssm: the mapping of 'big' to 'A.m' is dropped with that parameter",
        "resources/v.ssv: the parameter 'big' of type Int64 is 5000000000, which needs more than 32 bits",
    ]


def test_the_entry_stays_if_another_set_gives_the_parameter(made):
    other = LINKED.replace("resources/v.ssv", "resources/w.ssv")
    root = content("", [component("A", "A", "output y Real"), component("B", "A", "output y Real", other)], [], LINKED)
    root = root
    names = ssm("source='big' target='A.m'", "source='big' target='m'")
    path = made(root, v_ssv=WIDE, w_ssv=ssv("big Real value='3'"), m_ssm=names)
    assert dropped(path) == [
        "resources/v.ssv: the parameter 'big' of type Int64 is 5000000000, which needs more than 32 bits"
    ]


def test_an_inline_mapping_loses_its_entry_too(made):
    root = content("", [component("A", "A", "output y Real")], [], mapped(WIDE, NAMES))
    path = made(root)
    assert [each for each in dropped(path) if "mapping" in each] == [
        "SystemStructure.ssd: the mapping of 'big' to 'A.m' is dropped with that parameter"
    ]


def test_a_connector_of_a_nested_structure_takes_that_of_its_component_and_all_connections_along(made):
    """A clock of the nested system; the component that shows it states no type, and so is not a clock by itself."""
    inner = ssd(content("output tick Clock, input u Real", [component("A", "A", "input u Real")], ["u -> A.u"]))
    host = component("L", "A", "output tick, input u Real").replace(
        'source="resources/A.fmu"', 'type="application/x-ssp-definition" source="resources/l.ssd"'
    )
    sub = system("Sub", "output tick", [host], ["L.tick -> tick"])
    path = made(
        content("", [component("B", "A", "output y Real"), sub], []),
        l_ssd=inner.replace("resources/A.fmu", "A.fmu"),
    )
    assert all_dropped(path) == [
        "SystemStructure.ssd: the connector 'tick' of 'L' is dropped with the connector of its structure",
        "SystemStructure.ssd: the connection L.tick – tick is dropped with its connector",
        "resources/l.ssd: the connector 'tick' of 'root' is a clock",
    ]


def test_the_connectors_of_references_go_with_the_signal_of_the_dictionary(made):
    parts = [
        component("A", "A", "output n Integer"),
        component("B", "A", "input i Integer"),
        reference("Bus", "bus", "inout wide"),
    ]
    root = content("", parts, ["A.n -> Bus.wide", "Bus.wide -> B.i"]) + dictionaries(bus="resources/d.ssb")
    path = made(root, d_ssb=ssb("wide Int64", "x Real mm"))
    assert [each for each in all_dropped(path) if each.startswith("SystemStructure.ssd")] == [
        "SystemStructure.ssd: the connector 'wide' of 'Bus' is dropped with that signal of the dictionary",
        "SystemStructure.ssd: the connection A.n – Bus.wide is dropped with its connector",
        "SystemStructure.ssd: the connection Bus.wide – B.i is dropped with its connector",
    ]


def test_parameters_and_mappings_of_connectors_of_systems_go_with_them(made):
    """The clock `tick` of `Sub` is addressed from outside, through a mapping and by its name."""
    sub = system("Sub", "input tick Clock, input u Real", [component("A", "A", "input u Real")], ["u -> A.u"])
    bound = mapped(
        ssv("a Real value='1'", "k Real value='2'"), ssm("source='a' target='Sub.tick'", "source='k' target='Sub.A.k'")
    )
    path = made(content("", [sub], [], bound))
    assert "SystemStructure.ssd: the mapping to 'Sub.tick' is dropped with that connector" in all_dropped(path)


def test_nothing_is_dropped_without_being_asked_and_the_refusal_names_the_consequences(made):
    root = content("", [component("A", "A", "output y Real")], [], LINKED)
    path = made(root, v_ssv=WIDE, m_ssm=NAMES)
    before = contents(path)
    with pytest.raises(RefusedEdit, match="is dropped with that parameter"):
        ssptool.downgrade(path)
    assert contents(path) == before
