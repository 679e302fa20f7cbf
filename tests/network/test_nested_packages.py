"""Components that are packages themselves (SSP 2.0 §5.4): `x.ssp` and `x.ssp#Variant.ssd`, to any depth."""

from itertools import pairwise

import pytest
from pytest import approx

from ssptool.documents.archive import Archive
from ssptool.documents.foreign_files import ArchiveLimits
from ssptool.network.flatten import build_network
from ssptool.network.network import Signal
from tests.network.packages import (
    bindings,
    component,
    content,
    flat,
    model,
    package,
    packed,
    ssd,
    ssm,
    ssv,
    values,
    wires,
)

M = model('parameter k Real start="1" unit="m"; input u Real start="0" unit="m"; output y Real unit="m"')


def plant(interface="input u Real mm, output y Real mm", bound="", name="A", gain=None):
    """An SSD with one FMU, whose `y` is `gain` times that of the FMU."""
    linear = "" if gain is None else f"||<ssc:LinearTransformation factor='{gain}'/>"
    inside = component(name, "m", "input u Real m, output y Real m", bound)
    return ssd(content(interface, [inside], [f"u -> {name}.u", f"{name}.y -> y{linear}"]))


def sub(structure, **files):
    return packed({"SystemStructure.ssd": structure, "resources/m.fmu": packed({"modelDescription.xml": M}), **files})


def nested(name, source, interface="input u, output y", bound=""):
    connectors = content(interface, [], []).partition("<ssd:Elements>")[0]
    return (
        f'<ssd:Component name="{name}" type="application/x-ssp-package" source="{source}">{connectors}{bound}'
        "</ssd:Component>"
    )


def chain(*parts):
    """A root system with components in a row, from `A` with output y in m to the last."""
    names = [part.split('name="')[1].split('"')[0] for part in parts]
    return ssd(content("", parts, [f"{a}.y -> {b}.u" for a, b in pairwise(names)]))


FIRST, LAST = component("A", "m", "output y Real m"), component("Z", "m", "input u Real m")


def test_a_package_inside_is_flattened_with_its_own_units_and_resources(tmp_path):
    text = chain(FIRST, nested("P", "resources/sub.ssp"), LAST)
    result = flat(package(tmp_path, text, {"m": M}, {"resources/sub.ssp": sub(plant(gain=2))}))
    assert result.unsupported == ()
    assert {c.name: c.source for c in result.components.values()} == {
        "A": "resources/m.fmu",
        "P.A": "resources/sub.ssp!resources/m.fmu",
        "Z": "resources/m.fmu",
    }
    assert wires(result) == {"A.y -> P.A.u": approx((1.0, 0.0)), "P.A.y -> Z.u": approx((2.0, 0.0))}


def test_positions_name_the_documents_inside(tmp_path):
    text = chain(FIRST, nested("P", "resources/sub.ssp"))
    result = flat(package(tmp_path, text, {"m": M}, {"resources/sub.ssp": sub(plant())}))
    (wire,) = result.wires
    assert [position.file for position in wire.origin] == [
        "SystemStructure.ssd",
        "resources/sub.ssp!SystemStructure.ssd",
    ]
    assert result.components["P.A"].position.file == "resources/sub.ssp!SystemStructure.ssd"


@pytest.mark.parametrize(
    ("source", "gain"),
    [
        ("resources/sub.ssp", 1.0),
        ("resources/sub.ssp#Variant%20B.ssd", 3.0),
        ("resources/sub.ssp#SystemStructure.ssd", 1.0),
    ],
)
def test_a_fragment_names_another_structure_of_the_package(tmp_path, source, gain):
    inside = sub(plant(), **{"Variant B.ssd": plant(gain=3)})
    text = chain(nested("P", source), LAST)
    result = flat(package(tmp_path, text, {"m": M}, {"resources/sub.ssp": inside}))
    assert wires(result) == {"P.A.y -> Z.u": approx((gain, 0.0))}


def test_packages_are_read_to_any_depth_and_their_binaries_are_at_hand(tmp_path):
    inner = sub(plant(gain=2))
    middle = ssd(content("input u, output y", [nested("Q", "deep/inner.ssp")], ["u -> Q.u", "Q.y -> y"]))
    outer = packed({"SystemStructure.ssd": middle, "deep/inner.ssp": inner})
    text = chain(FIRST, nested("P", "resources/outer.ssp"), LAST)
    archive = package(tmp_path, text, {"m": M}, {"resources/outer.ssp": outer})
    with archive:
        result = flat(archive)
        source = result.components["P.Q.A"].source
        assert source == "resources/outer.ssp!deep/inner.ssp!resources/m.fmu"
        assert archive.local_path(source).read_bytes() == packed({"modelDescription.xml": M})
    assert wires(result) == {"A.y -> P.Q.A.u": approx((1.0, 0.0)), "P.Q.A.y -> Z.u": approx((2.0, 0.0))}


def test_a_package_that_is_a_zip_reads_packages_inside(tmp_path):
    outer = chain(FIRST, nested("P", "resources/sub.ssp"))
    fmu = packed({"modelDescription.xml": M})
    whole = packed({"SystemStructure.ssd": outer, "resources/m.fmu": fmu, "resources/sub.ssp": sub(plant())})
    (tmp_path / "whole.ssp").write_bytes(whole)
    with Archive.open(tmp_path / "whole.ssp") as archive:
        assert list(flat(archive).components) == ["A", "P.A"]


def test_the_bindings_of_the_component_follow_those_of_the_package_and_lose_to_outer_ones(tmp_path):
    """SSD-PAR-015, with one set inside the package, relative to its root (`sourceBase="component"`, AMB-10)."""
    inner = bindings(ssv("k Real value='1'", "u Real value='1'"))
    own = bindings('sourceBase="component" source="resources/p.ssv"')
    inside = sub(plant(bound=inner), **{"resources/p.ssv": ssv("A.k Real value='2'", "A.u Real value='2'")})
    outer = bindings(ssv("P.A.k Real value='3'"))
    text = ssd(outer + content("", [nested("P", "resources/sub.ssp", "", own)], []))
    result = flat(package(tmp_path, text, {}, {"resources/sub.ssp": inside}))
    assert values(result) == {"P.A.k": 3.0, "P.A.u": 2.0}
    (step,) = result.assignments[Signal("P.A", "u")].chain
    assert step.position.file == "resources/sub.ssp!resources/p.ssv"


def test_a_mapping_may_be_inside_the_package(tmp_path):
    own = (
        '<ssd:ParameterBindings><ssd:ParameterBinding source="p.ssv">'
        '<ssd:ParameterMapping sourceBase="component" source="resources/m.ssm"/>'
        "</ssd:ParameterBinding></ssd:ParameterBindings>"
    )
    inside = sub(plant(), **{"resources/m.ssm": ssm("source='a' target='A.k'")})
    text = ssd(content("", [nested("P", "resources/sub.ssp", "", own)], []))
    result = flat(package(tmp_path, text, {}, {"resources/sub.ssp": inside, "p.ssv": ssv("a Real value='4'")}))
    assert values(result) == {"P.A.k": 4.0}


@pytest.mark.parametrize(
    ("inside", "what"),
    [
        (b"no zip", "PKG-001"),
        (packed({"Other.ssd": "<a/>"}), "has no entry 'SystemStructure.ssd'"),
        (packed({"SystemStructure.ssd": "<a"}), "XML-001"),
        (packed({"SystemStructure.ssd": ssm()}), "XML-003"),
        (packed({"SystemStructure.ssd": plant(), "../x": ""}), "PKG-020"),
        (packed({"SystemStructure.ssd": plant()}), "an FMU that cannot be read, resources/sub.ssp!resources/m.fmu"),
    ],
)
def test_what_cannot_be_read_inside_is_refused_by_name(tmp_path, inside, what):
    text = chain(nested("P", "resources/sub.ssp"))
    result = flat(package(tmp_path, text, {"m": M}, {"resources/sub.ssp": inside}))
    (refused,) = [refused for refused in result.unsupported if what in refused.feature]
    assert refused.feature.startswith(("'P': ", "'A': "))
    assert "resources/sub.ssp" in refused.feature
    assert "/tmp" not in refused.feature


@pytest.mark.parametrize("source", ["resources/none.ssp", "../sub.ssp", "resources/sub.ssp#../x.ssd"])
def test_references_that_lead_nowhere_are_left_to_the_rules(tmp_path, source):
    result = flat(package(tmp_path, chain(nested("P", source)), {}, {"resources/sub.ssp": sub(plant())}))
    assert (result.components, result.unsupported) == ({}, ())


def test_a_reference_may_not_leave_the_package_that_it_is_in(tmp_path):
    structure = ssd('<ssd:Elements><ssd:Component name="A" source="../m.fmu"/></ssd:Elements>')
    inside = packed({"SystemStructure.ssd": structure})
    result = flat(package(tmp_path, chain(nested("P", "resources/sub.ssp")), {"m": M}, {"resources/sub.ssp": inside}))
    assert result.components == {}


def test_packages_nested_too_deep_are_refused(tmp_path):
    """PKG-024: thirty packages, one in the other."""
    inside = sub(plant())
    shell = ssd(content("", [nested("Q", "q.ssp", "")], []))
    for _ in range(30):
        inside = packed({"SystemStructure.ssd": shell, "q.ssp": inside})
    text = ssd(content("", [nested("P", "resources/sub.ssp", "")], []))
    result = flat(package(tmp_path, text, {}, {"resources/sub.ssp": inside}))
    (refused,) = result.unsupported
    assert "PKG-024: packages are nested deeper than 8 levels" in refused.feature


def test_the_limits_hold_for_all_packages_together(tmp_path):
    """PKG-024: each of three packages has 11 entries, and 30 are allowed."""
    inside = sub(plant(), **{f"extra/{number}": "" for number in range(9)})
    text = ssd(content("", [nested(name, f"resources/{name}.ssp", "") for name in "PQR"], []))
    files = {f"resources/{name}.ssp": inside for name in "PQR"}
    package(tmp_path, text, {}, files)
    with Archive.open(tmp_path, ArchiveLimits(entries=30)) as archive:
        result = build_network(archive, archive.structure())
    (refused,) = result.unsupported
    assert "'R'" in refused.feature
    assert "PKG-024" in refused.feature
    assert list(result.components) == ["P.A", "Q.A"]
