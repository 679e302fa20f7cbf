"""Fixes reach every document of a system, also inside packages, and nothing else."""

import zipfile
from pathlib import Path

import pytest

import ssptool
from tests.editing.small_systems import errors, snapshot
from tests.network.packages import bindings, component, content, model, package, packed, ssd, ssv

M = model('parameter k Real start="1" unit="m"; input u Real start="0" unit="m"; output y Real unit="m"')
FMU = packed({"modelDescription.xml": M})
INTERFACE = "input u Real m, output y Real m"


def part(fmu: str = "resources/m.fmu", broken: bool = True) -> str:
    """A system whose second connection names its element with a blank in front, which has one right answer."""
    inside = component("A", "m", INTERFACE, bindings(ssv("k Real value='5' unit='m'")))
    text = ssd(content(INTERFACE, [inside], ["u -> A.u", "A.y -> y"])).replace("resources/m.fmu", fmu)
    return text.replace('startElement="A"', 'startElement=" A"') if broken else text


def host(name: str, source: str, interface: str = INTERFACE) -> str:
    kind = "definition" if source.endswith(".ssd") else "package"
    connectors = content(interface, [], []).partition("<ssd:Elements>")[0]
    return (
        f'<ssd:Component name="{name}" type="application/x-ssp-{kind}" source="{source}">{connectors}</ssd:Component>'
    )


def around(*hosts: str) -> str:
    return ssd(content("", hosts, [])).replace("<ssd:Connections>\n</ssd:Connections>", "")


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """A nested structure, a package, and a package in a package, each with the same mistake."""
    inner = packed({"SystemStructure.ssd": part(), "resources/m.fmu": FMU})
    middle = packed({"SystemStructure.ssd": around(host("I", "resources/in.ssp")), "resources/in.ssp": inner})
    text = around(host("L", "resources/l.ssd"), host("P", "resources/p.ssp"), host("Q", "resources/q.ssp", ""))
    files = {"resources/l.ssd": part("m.fmu"), "resources/p.ssp": inner, "resources/q.ssp": middle}
    package(tmp_path / "s", text, {"m": M}, files)
    return tmp_path / "s"


def inside(path: Path, *names: str) -> dict[str, bytes]:
    """The files of a package, or of one inside it."""
    with zipfile.ZipFile(path) as archive:
        if not names:
            return {name: archive.read(name) for name in archive.namelist()}
        target = path.with_name(f"{path.stem}-{names[0].replace('/', '-')}")
        target.write_bytes(archive.read(names[0]))
    return inside(target, *names[1:])


def test_nested_structures_and_packages_of_any_depth_are_mended(system):
    assert len(errors(system)) == 3
    mended = ssptool.fix(system)
    assert [each.position.file for each in mended.fixed] == [
        "resources/l.ssd",
        "resources/p.ssp!SystemStructure.ssd",
        "resources/q.ssp!resources/in.ssp!SystemStructure.ssd",
    ]
    assert mended.report.errors == () and errors(system) == []


def test_only_the_mistaken_words_change(system):
    resources = system / "resources"
    before = inside(resources / "q.ssp")
    ssptool.fix(system)
    deep = inside(resources / "q.ssp", "resources/in.ssp")
    assert (resources / "l.ssd").read_text() == part("m.fmu", broken=False)
    assert deep == {"SystemStructure.ssd": part(broken=False).encode(), "resources/m.fmu": FMU}
    after = inside(resources / "q.ssp")
    assert [name for name in before if before[name] != after[name]] == ["resources/in.ssp"]


def test_a_diff_names_the_documents_inside_and_writes_nothing(system):
    before = snapshot(system)
    diff = ssptool.fix(system, save=False).diff
    assert snapshot(system) == before
    changed = [line for line in diff.splitlines() if line.startswith(("--- ", "- ", "-<"))]
    assert [line[6:] for line in changed if line.startswith("--- ")] == [
        "resources/l.ssd",
        "resources/p.ssp!SystemStructure.ssd",
        "resources/q.ssp!resources/in.ssp!SystemStructure.ssd",
    ]
    assert len(changed) == 6


def test_the_report_counts_what_can_be_fixed_inside(system):
    assert len(ssptool.validate(system).fixable) == 3


def test_a_package_that_cannot_be_opened_is_reported_and_the_rest_mended(system):
    (system / "resources" / "q.ssp").write_bytes(b"no zip")
    mended = ssptool.fix(system)
    assert len(mended.fixed) == 2
    assert {each.position.file for each in mended.report.errors} == {"resources/q.ssp"}
    assert (system / "resources" / "q.ssp").read_bytes() == b"no zip"
