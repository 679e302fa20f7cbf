"""Systems are compared by meaning: what only looks different does not count, what is different is not missed."""

import json
import random
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

import ssptool
from ssptool.cli.app import command as run_command
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.editing.diff import DifferenceKind
from ssptool.editing.meaning import Section
from tests.network.packages import bindings, component, content, mapped, model, package, ssd, ssm, ssv, system
from tests.network.test_signal_dictionaries import dictionaries, ssb

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
MODEL = model(
    'input u Real unit="m" start="0"; output y Real unit="m"; parameter k Real start="1";'
    'parameter l Real unit="m" start="1"'
)
TWO = [component("A", "M", "input u Real m, output y Real m"), component("B", "M", "input u Real m, output y Real m")]
WIRES = ["A.y -> B.u", "B.y -> A.u"]


@pytest.fixture
def differ(tmp_path):
    """The differences between two systems, given by the content of their root systems (or whole SSDs)."""

    def call(a: str, b: str, fmus=None, files_a=None, files_b=None):
        paths = []
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        for name, text, files in (("a", a, files_a), ("b", b, files_b)):
            structure = text if text.startswith("<ssd:SystemStructure") else ssd(text)
            paths.append(package(folder / name, structure, {"M": MODEL} if fmus is None else fmus, files).path)
        return ssptool.diff(*paths)

    return call


def told(comparison) -> list[tuple[str, str, str]]:
    return [(each.section.value, each.kind.value, each.name) for each in comparison.differences]


# --- What does not matter ---

SHUFFLED = ("Connectors", "Elements", "Connections", "Parameters", "Units", "Enumerations")


def reformatted(text: str, chance: random.Random) -> str:
    """The same system with its elements in another order, other prefixes, other spaces and quotes."""
    root = etree.fromstring(text.encode())
    for parent in root.iter("*"):
        if etree.QName(parent).localname in SHUFFLED:
            children = list(parent)
            chance.shuffle(children)
            parent[:] = children
        if etree.QName(parent).localname == "Connection" and chance.random() < 0.5 and not len(parent):
            ends = {key: parent.attrib.pop(key) for key in list(parent.attrib)}
            other = {"start": "end", "end": "start"}
            for key, value in ends.items():
                side = next((side for side in other if key.startswith(side)), None)
                parent.set(other[side] + key.removeprefix(side) if side else key, value)
    moved = etree.tostring(root, encoding="unicode")
    for prefix in ("ssd", "ssc", "ssv", "ssm"):
        new = f"p{chance.randrange(1000)}{prefix}"
        moved = moved.replace(f"<{prefix}:", f"<{new}:").replace(f"</{prefix}:", f"</{new}:")
        moved = moved.replace(f"xmlns:{prefix}=", f"xmlns:{new}=")
    space = chance.choice(["\n", "  ", "\t\n"])
    return moved.replace("><", f">{space}<").replace(" name=", f"{space} name=")


def rich() -> str:
    inner = system("Sub", "input u Real m, output y Real m", TWO, ["u -> A.u", "A.y -> B.u", "B.y -> y"])
    names = [f"C{number}" for number in range(4)]
    elements = [inner, *(component(name, "M", "input u Real m, output y Real m") for name in names)]
    wires = ["Sub.y -> C0.u", "C0.y -> C1.u", "C1.y -> C2.u", "C2.y -> C3.u", "C3.y -> Sub.u"]
    bound = bindings(ssv("C0.k Real value='2'", "C1.l Real value='5' unit='mm'", "Sub.A.k Real value='3'"))
    return ssd(content("output out Real m", elements, [*wires, "C0.y -> out"], bound))


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_order_formatting_and_prefixes_do_not_matter(tmp_path_factory, seed):
    folder = tmp_path_factory.mktemp("order")
    a = package(folder / "a", rich(), {"M": MODEL}).path
    b = package(folder / "b", reformatted(rich(), random.Random(seed)), {"M": MODEL}).path
    assert told(ssptool.diff(a, b)) == []


def test_descriptions_geometry_and_annotations_do_not_matter(differ):
    extra = (
        '<ssd:Connector name="u" kind="input" description="d"><ssc:Real/><ssd:ConnectorGeometry x="0" y="0"/>'
        '<ssd:Annotations><ssc:Annotation type="a.b"/></ssd:Annotations></ssd:Connector>'
    )
    plain = '<ssd:Connector name="u" kind="input"><ssc:Real/></ssd:Connector>'
    wrap = "<ssd:Connectors>{}</ssd:Connectors>".format
    assert differ(wrap(extra), wrap(plain)).equal


def test_a_type_that_the_fmu_states_need_not_be_stated(differ):
    assert differ(
        content("", [component("A", "M", "input u Real m")], []), content("", [component("A", "M", "input u")], [])
    ).equal


def test_real_is_float64(differ):
    assert differ(
        content("", [component("A", "M", "input u Float64 m")], []),
        content("", [component("A", "M", "input u Real m")], []),
    ).equal


def test_values_in_other_units_and_by_other_ways_are_equal_if_they_arrive_equal(differ):
    a = content("", TWO, WIRES, bindings(ssv("A.l Real value='2' unit='m'")))
    b = content("", TWO, WIRES, mapped(ssv("x Real value='2000' unit='mm'"), ssm("source='x' target='A.l'")))
    assert differ(a, b).equal


def test_a_zip_a_folder_and_a_lone_ssd_of_one_system_are_equal(tmp_path):
    folder = package(tmp_path / "a", ssd(content("", TWO, WIRES)), {"M": MODEL})
    folder.save(tmp_path / "a.ssp")
    for a in (folder.path, tmp_path / "a.ssp", folder.path / "SystemStructure.ssd"):
        for b in (folder.path, tmp_path / "a.ssp", folder.path / "SystemStructure.ssd"):
            assert ssptool.diff(a, b).equal


def test_a_downgraded_and_upgraded_system_means_the_same(tmp_path):
    folder = Path(shutil.copytree(SYSTEM, tmp_path / "p"))
    ssptool.downgrade(folder / "FMI3.ssd")
    assert [f.fact for d in ssptool.diff(SYSTEM / "FMI3.ssd", folder / "FMI3.ssd").differences for f in d.facts] == [
        "SSP version"
    ]
    ssptool.upgrade(folder / "FMI3.ssd")
    assert ssptool.diff(SYSTEM, folder).equal


# --- What does ---

BASE = content("", TWO, WIRES, bindings(ssv("A.k Real value='2'")))
ONE_WIRE = content("", TWO, WIRES[:1], bindings(ssv("A.k Real value='2'")))
CHANGES = [
    (BASE.replace('name="B"', 'name="C"').replace('Element="B"', 'Element="C"'), "components", "removed", "B"),
    (BASE.replace("</ssd:Elements>", component("C", "M") + "</ssd:Elements>"), "components", "added", "C"),
    (
        BASE.replace('<ssd:Component name="B"', '<ssd:Component implementation="ModelExchange" name="B"'),
        "components",
        "changed",
        "B",
    ),
    (BASE.replace('"input"', '"parameter"', 1), "connectors", "changed", "A.u"),
    (BASE.replace('unit="m"', 'unit="mm"', 1), "connectors", "changed", "A.u"),
    (BASE.replace('<ssc:Real unit="m"/>', "<ssc:Integer/>", 1), "connectors", "changed", "A.u"),
    (ONE_WIRE, "connections", "removed", "A.u – B.y"),
    (
        content(
            "",
            TWO,
            ["A.y -> B.u||<ssc:LinearTransformation factor='2'/>", WIRES[1]],
            bindings(ssv("A.k Real value='2'")),
        ),
        "connections",
        "changed",
        "A.y – B.u",
    ),
    (
        content("", TWO, ["A.y -> B.u|suppressUnitConversion='true'", WIRES[1]], bindings(ssv("A.k Real value='2'"))),
        "connections",
        "changed",
        "A.y – B.u",
    ),
    (BASE.replace("value='2'", "value='2.5'"), "parameters", "changed", "A.k"),
    (content("", TWO, WIRES), "parameters", "removed", "A.k"),
    (BASE.replace("A.k", "nothing.k"), "parameters", "added", "nothing.k"),
]


@pytest.mark.parametrize(
    ("b", "section", "kind", "name"), CHANGES, ids=lambda value: value if len(str(value)) < 20 else ""
)
def test_every_change_of_meaning_is_found(differ, b, section, kind, name):
    assert (section, kind, name) in told(differ(BASE, b))


def test_a_parameter_that_changes_is_told_with_both_places(differ):
    [difference] = differ(BASE, BASE.replace("value='2'", "value='2.5'")).differences
    assert [(f.fact, f.before, f.after) for f in difference.facts] == [("value", 2.0, 2.5)]
    assert difference.before.position.file == "SystemStructure.ssd"
    assert difference.before.position.line > 0
    assert "binding" in difference.before.origin


def test_units_experiment_enumerations_and_variants_are_compared(differ):
    enumeration = '<ssc:Enumeration name="E"><ssc:Item name="x" value="{}"/></ssc:Enumeration>'
    enumeration = f"<ssd:Enumerations>{enumeration}</ssd:Enumerations>"
    a = ssd(BASE, extra=enumeration.format(1))
    b = ssd(BASE, extra=enumeration.format(2)).replace('factor="0.001"', 'factor="0.002"')
    b = b.replace("</ssd:Units>", '</ssd:Units><ssd:DefaultExperiment stopTime="3"/>')
    other = ssd(BASE).replace('name="test"', 'name="other"')
    sections = {section for section, _, _ in told(differ(a, b, files_b={"Other.ssd": other}))}
    assert sections == {Section.UNIT, Section.STRUCTURE, Section.ENUMERATION, Section.VARIANT}


def test_a_change_in_another_variant_is_told(differ):
    other = ssd(BASE).replace('name="test"', 'name="other"')
    changed = {"Other.ssd": other.replace("value='2'", "value='3'")}
    comparison = differ(BASE, BASE, files_a={"Other.ssd": other}, files_b=changed)
    assert told(comparison) == [("variants", "changed", "other")]
    assert differ(BASE, BASE, files_a={"Other.ssd": other}, files_b={"Else.ssd": other}).equal


def test_another_fmu_of_the_same_name_is_told(tmp_path):
    a = package(tmp_path / "a", ssd(BASE), {"M": MODEL}).path
    b = package(tmp_path / "b", ssd(BASE), {"M": MODEL.replace('guid="g"', 'guid="h"')}).path
    differences = ssptool.diff(a, b).differences
    assert {difference.name for difference in differences} == {"A", "B"}
    assert all({"token", "content"} == {f.fact for f in difference.facts} for difference in differences)


def test_systems_without_their_fmus_are_compared_by_what_is_given(tmp_path, differ):
    changed = BASE.replace("value='2'", "value='2.5'")
    comparison = differ(BASE, changed, fmus={})
    assert told(comparison) == [("parameters", "changed", "A.k")]


def test_the_binding_that_wins_is_the_one_that_counts_without_fmus_too(differ):
    late = bindings(ssv("A.k Real value='1'"), ssv("A.k Real value='2'"))
    early = bindings(ssv("A.k Real value='2'"))
    for fmus in ({}, {"M": MODEL}):
        assert differ(content("", TWO, WIRES, late), content("", TWO, WIRES, early), fmus=fmus).equal


def test_a_change_inside_a_nested_structure_is_told(differ):
    host = content("", ['<ssd:Component name="S" type="application/x-ssp-definition" source="resources/s.ssd"/>'], [])
    a, b = ssd(BASE), ssd(ONE_WIRE)
    comparison = differ(host, host, files_a={"resources/s.ssd": a}, files_b={"resources/s.ssd": b})
    assert told(comparison) == [("connections", "removed", "A.u – B.y (in S)")]
    assert comparison.differences[0].before.position.file == "resources/s.ssd"
    assert differ(host, host, files_a={"resources/s.ssd": a}, files_b={"resources/s.ssd": a}).equal


def test_a_change_in_a_package_inside_a_package_is_told_where_it_is(tmp_path):
    paths = []
    for name, start in (("a", "B.y -> A.u"), ("b", "A.y -> A.u")):
        path = tmp_path / name
        package(path, ssd(content("", TWO, [start])), {"M": MODEL})
        for level in (1, 2):
            packed = tmp_path / f"{name}{level}.ssp"
            ssptool.pack(path, packed)
            path = tmp_path / f"{name}_{level}"
            inner = '<ssd:Component name="S" type="application/x-ssp-package" source="resources/s.ssp"/>'
            package(path, ssd(content("", [inner], [])), {}, {"resources/s.ssp": packed.read_bytes()})
        paths.append(path)
    assert told(ssptool.diff(*paths)) == [
        ("connections", "added", "A.u – A.y (in S.S)"),
        ("connections", "removed", "A.u – B.y (in S.S)"),
    ]
    assert ssptool.diff(paths[0], paths[0]).equal


def test_structures_that_refer_to_themselves_are_compared(differ):
    host = content("", ['<ssd:Component name="S" type="application/x-ssp-definition" source="resources/s.ssd"/>'], [])
    inner = ssd(host.replace("resources/s.ssd", "s.ssd"))
    assert differ(host, host, files_a={"resources/s.ssd": inner}, files_b={"resources/s.ssd": inner}).equal


def test_differences_are_symmetric(differ):
    there = differ(BASE, ONE_WIRE).differences
    back = differ(ONE_WIRE, BASE).differences
    opposite = {DifferenceKind.ADDED: DifferenceKind.REMOVED, DifferenceKind.REMOVED: DifferenceKind.ADDED}
    assert [(d.section, opposite.get(d.kind, d.kind), d.name) for d in there] == [
        (d.section, d.kind, d.name) for d in back
    ]


def test_a_system_that_cannot_be_read_is_refused_with_its_place(differ):
    with pytest.raises(InvalidDocument, match="kind"):
        differ(BASE, BASE.replace(' kind="input"', "", 1))


# --- The command ---


@pytest.fixture
def command(monkeypatch, capsys):
    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["ssptool", *map(str, arguments)])
        with pytest.raises(SystemExit) as ending:
            run_command()
        printed = capsys.readouterr()
        return int(ending.value.code or 0), printed.out, printed.err

    return call


def test_diff_exits_with_0_for_equal_systems_and_says_so(command):
    status, out, _ = command("diff", SYSTEM, SYSTEM)
    assert (status, "mean the same" in out) == (0, True)


def test_diff_tells_people_what_changed_and_where(command, tmp_path):
    folder = Path(shutil.copytree(SYSTEM, tmp_path / "p"))
    values = folder / "resources" / "dual_mass_oscillator.ssv"
    values.write_text(values.read_text().replace('value="1"', 'value="1.5"', 1))
    status, out, _ = command("diff", SYSTEM, folder)
    assert status == 1
    changed = next(line for line in out.splitlines() if line.lstrip().startswith("~") and "→" in line)
    assert "1 kg → 1.5 kg" in changed
    assert "resources/dual_mass_oscillator.ssv:" in changed


def test_a_value_of_zero_is_told_like_any_other(command, tmp_path):
    folder = Path(shutil.copytree(SYSTEM, tmp_path / "p"))
    values = folder / "resources" / "dual_mass_oscillator.ssv"
    lines = values.read_text().splitlines(keepends=True)
    values.write_text("".join(line for line in lines if "System1.x1_start" not in line))
    _, out, _ = command("diff", SYSTEM, folder, "--variant", "DualMassOscillator")
    assert "- System1.x1_start  0 m  (" in out


def test_diff_gives_json(command):
    status, out, _ = command(
        "diff", SYSTEM, SYSTEM, "--variant", "DualMassOscillator", "--variant", "NoFlange", "--format", "json"
    )
    content = json.loads(out)
    assert (status, content["equal"]) == (1, False)
    assert {difference["section"] for difference in content["differences"]} == {"structure", "components"}


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["nowhere.ssp"], "nowhere.ssp"),
        ([SYSTEM, "--variant", "No"], "DualMassOscillator"),
        ([SYSTEM, "--variant", "a", "--variant", "b", "--variant", "c"], "twice"),
    ],
)
def test_wrong_use_of_diff_is_explained(command, arguments, hint):
    status, out, err = command("diff", SYSTEM, *arguments)
    assert status in (1, 2)
    assert hint in out + err
    assert "Traceback" not in err


def test_an_fmu_is_the_same_packed_and_unpacked(tmp_path):
    packed = Path(shutil.copytree(SYSTEM, tmp_path / "packed"))
    unpacked = Path(shutil.copytree(SYSTEM, tmp_path / "unpacked"))
    for name in ("System1", "System2"):
        fmu = unpacked / "resources" / f"{name}.fmu"
        shutil.unpack_archive(fmu, tmp_path / name, "zip")
        fmu.unlink()
        shutil.move(tmp_path / name, fmu)
    assert ssptool.diff(packed, unpacked, variant="SystemStructure").differences == ()
    (unpacked / "resources" / "System1.fmu" / "more.txt").write_text("more")
    found = ssptool.diff(packed, unpacked, variant="SystemStructure").differences
    components = [each for each in found if each.section is Section.COMPONENT]
    assert [(each.name, [fact.fact for fact in each.facts]) for each in components] == [("System1", ["content"])]


def test_the_signals_of_a_dictionary_in_a_file_count(differ):
    root = content("", TWO, WIRES) + dictionaries(bus="resources/d.ssb")
    found = differ(
        root,
        root,
        files_a={"resources/d.ssb": ssb("x Real m")},
        files_b={"resources/d.ssb": ssb("x Real mm", "y Real")},
    )
    assert [(each.kind, each.name) for each in found.differences] == [
        (DifferenceKind.CHANGED, "bus.x"),
        (DifferenceKind.ADDED, "bus.y"),
    ]
